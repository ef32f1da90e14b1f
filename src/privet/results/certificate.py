"""What is promised, to whom, at what price and under which assumptions.

A certificate says nothing about the data beyond what was paid for: no path, no number of rows,
no hash, and no time but the day on which a run began whose evidence is handed out again. Its
figures are those of the ledger, where the run stands under the same id.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from privet.errors import EvidenceError
from privet.privacy.ledger.conversion import NAMES, UNITS, Currency, shorten, weak_delta
from privet.results.promise import assumptions, promise
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.privacy.queries.base import Release
    from privet.trust.statement import Charge, Statement


TRUSTS = ("central", "local", "sites", "together")
AGAIN = "To measure again, and to pay: the same call with reuse=False (--no-reuse)."


@dataclass(frozen=True, repr=False)
class Certificate(Mapping[str, Any]):
    """The facts of certificate.json, read like a dict; as text, a summary in plain words.

    >>> found.certificate["epsilon"], found.certificate.private
    (1.0, True)
    """

    facts: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.facts)

    def __len__(self) -> int:
        return len(self.facts)

    @property
    def private(self) -> bool:
        return bool(self["private"])

    @property
    def local(self) -> bool:
        """Whether the promise was kept by each person's own device."""
        return self.facts.get("trust") == "local"

    @property
    def of_sites(self) -> bool:
        """Whether several sites have kept the promise, each for its own people."""
        return self.facts.get("trust") == "sites"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the promise weak."""
        return tuple(self.facts.get("warnings", ()))

    @property
    def not_measured(self) -> str | None:
        """What whoever sees the numbers must know, if an identical run had asked for them."""
        if (run := self.facts.get("identical_run")) is None:
            return None
        day, label = self.facts.get("measured_on"), self.facts.get("as_of")
        return (
            f"REUSED, NOT MEASURED. These are the numbers of run {run}"
            + (f" of {day}" if day else "")
            + f" about {self['schema']!r}"
            + (f" as of {label}" if label else "")
            + ". No row was read and nothing was spent now. If the table has changed since, this "
            "does not show it."
        )

    def to_json(self) -> str:
        """The text of certificate.json.

        >>> '"epsilon": 1.0' in found.certificate.to_json()
        True
        """
        return json.dumps(dict(self.facts), indent=2, ensure_ascii=False) + "\n"

    def lines(self) -> tuple[str, ...]:
        """The promise, the price and the budget in plain words, without the assumptions.

        >>> found.certificate.lines()[1][:36]
        'Promised: epsilon 1, delta 0. Spent:'
        """
        if not self.private:
            return (f"NOT PRIVATE. {self['promise']}", f"Why: {self['reason']}.")
        if self.local:
            return self._lines_of_reports()
        if self.of_sites:
            return self._lines_of_sites()
        if self.facts.get("trust") == "together":  # by a sum that alone was seen
            return self._lines_of_sum()
        spent, kept = self["spent"], self["ledger"]
        lines = [
            self["promise"],
            f"Promised: epsilon {self['epsilon']:g}, delta {self['delta']:g}. "
            f"Spent: epsilon {spent['epsilon']:.6g}"
            + (f" (rho {spent['rho']:.6g})" if spent["rho"] is not None else "")
            + f" on {len(self['queries'])} question(s), method {self['method']}. "
            f"Accounting: {NAMES[accounting_of(self)]}.",
        ]
        if tested := spent.get("test_delta"):
            lines.append(
                f"Noisy tests of stability, which mislead with a small probability, have used "
                f"{tested:g} of that delta, whether they passed or not."
            )
        if not_measured := self.not_measured:
            lines.append(f"{not_measured} {AGAIN}")
        elif self.facts.get("reused"):
            lines.append("This search reuses evidence that was paid for earlier: it cost nothing.")
        elif kept["durable"]:
            lines.append(
                f"Ledger: all runs on data set {self['schema']!r} together are capped at epsilon "
                f"{kept['cap_epsilon']:g}, delta {kept['cap_delta']:g}{_left(kept)}."
            )
        else:
            lines.append("Ledger: in memory only, so later runs will not know of this one.")
        if words := self.facts.get("words"):
            lines.append(
                f"Words of this evidence: {words}. Compare them with the line of {self['site']} in "
                f"the joint certificate."
            )
        return (*lines, *(f"Careful: {text}" for text in self.warnings))

    def _lines_of_reports(self) -> tuple[str, ...]:
        told, levels = self["reports"], self["levels"]
        left = [f"{n:,} {_REASONS[why]}" for why, n in told["left_out"].items() if n]
        worth = float(f"{told['worth']:.2g}")
        return (
            self["promise"],
            f"Promised: epsilon {self['epsilon']:g} for all that one person sends (true value "
            f"{levels['epsilon_ldp']:.6g}, delta 0), by the protocol {told['protocol']}. Whoever "
            f"takes all answers for equally likely guesses a person's with probability "
            f"{levels['success']:.3g} (without a report {levels['by_chance']:.3g}).",
            f"{told['people']:,} reports were counted"
            + (f"; left out: {', '.join(left)}" if left else "")
            + f". On a pair of columns they tell as much as about {worth:,.15g} people without "
            f"noise. Nothing was spent here, and any further search costs nothing.",
            *([_FURTHER] if told["left_out"]["further"] else []),
        )

    def _lines_of_sites(self) -> tuple[str, ...]:
        lines = [
            f"{site['label']}: has promised its people epsilon {site['epsilon']:g}, delta "
            f"{site['delta']:g} ({NAMES[accounting_of(site)]}); spent epsilon "
            f"{site['spent']['epsilon']:.6g} on {site['releases']} question(s). Words: "
            f"{site['words']}."
            for site in self["sites"]
        ]
        return (
            self["promise"] + self._at_one_site(),
            *lines,
            "Each site looks for its own line. If the words are those that its run printed, its "
            "numbers are here as it sent them; if not, somebody has changed them.",
            "Nothing was spent here, and any further search costs nothing.",
            *(f"Careful: {text}" for text in self.warnings),
        )

    def _at_one_site(self) -> str:
        most, alone = self["sites_per_person"], self["epsilon_at_one_site"]
        return f" To a person at one site only, it is epsilon {alone:g}." if most > 1 else ""

    def _lines_of_sum(self) -> tuple[str, ...]:
        lines = [
            f"{site['label']}: has charged its people rho {site['rho']:.6g} for "
            f"{len(site['questions'])} question(s)."
            for site in self["sites"]
        ]
        return (
            self["promise"] + self._at_one_site(),
            f"If every other site and the coordinator colluded, the guarantee to a person at the "
            f"last site would weaken to epsilon {self['alone_epsilon']:.6g}.",
            *lines,
            f"The code of the study, which the sites have compared: {self['code']}.",
            "Any further search of these sums costs nothing.",
            *(f"Careful: {text}" for text in self.warnings),
        )

    def __repr__(self) -> str:
        return f"Certificate of {self['schema']!r}: {self.told()}"

    def told(self) -> str:
        """The promise in a few words, and whether it was paid for just now.

        >>> found.certificate.told()
        'private, epsilon 1, delta 0'
        """
        if not self.private:
            return "NOT PRIVATE"
        paid = "; reused, nothing was spent" if self.facts.get("reused") else ""
        return f"private, epsilon {self['epsilon']:g}, delta {self['delta']:g}{paid}"

    def _repr_html_(self) -> str:
        from privet.results.report.notebook import certificate_html

        return certificate_html(self)

    def __str__(self) -> str:
        assumed = [f"  - {assumption}" for assumption in self["assumptions"]]
        return "\n".join([*self.lines(), *(["It assumes that:", *assumed] if assumed else [])])


def of_run(
    schema: Schema, run: Statement, releases: Sequence[Release], site: str | None = None
) -> Certificate:
    """The certificate of a run that has been closed. That of a ``site`` travels in its evidence,
    so what is left of the site's cap does not stand in it."""
    cap = run.cap
    left = {"left_epsilon": cap.left_epsilon} if site is None else {}
    return Certificate(
        {
            "private": True,
            "promise": promise(schema, run.epsilon, run.delta),
            "epsilon": run.epsilon,
            "delta": run.delta,
            "accounting": run.currency,
            "adjacency": schema.adjacency.value,
            "rows_per_person": schema.rows_per_person,
            **({} if schema.person is None else {"person": schema.person}),
            "trust": "central",
            "site": site,
            "schema": schema.name,
            **({} if schema.as_of is None else {"as_of": schema.as_of}),
            "spent": _spent(run),
            "method": run.method,
            "queries": _queries(run, releases),
            "ledger": {
                "durable": cap.durable,
                "run": run.run,
                "people": run.people,
                "cap_epsilon": cap.epsilon,
                "cap_delta": cap.delta,
                "cap_test_delta": cap.test_delta,
                "cap_set_by_this_run": cap.set_by_this_run,
                **left,
            },
            "reused": False,
            "warnings": list(weak_delta(run.delta, schema.rows)),
            "assumptions": assumptions(schema, cap.durable, site, run.engine),
        }
    )


_REASONS = {
    "other_protocol": "made by another protocol",
    "malformed": "that do not fit the protocol",
    "repeated": "that repeat a person's first",
    "further": "beyond a person's first, with other contents",
}


_FURTHER = (
    "Careful: some people have sent more than one report, with different contents. To them no more "
    "is promised than the sum of the epsilons of all that they sent; that all but the first were "
    "left out here does not take the others back."
)


def of_evidence(facts: Mapping[str, Any]) -> Certificate:
    """The certificate that an evidence file carries; the file may come from anywhere."""
    kinds: dict[str, tuple[type, ...]] = {
        "private": (bool,),
        "promise": (str,),
        "epsilon": (int, float),
        "delta": (int, float),
        "schema": (str,),
        "spent": (dict,),
        "method": (str,),
        "queries": (list,),
        "ledger": (dict,),
        "assumptions": (list,),
    }
    if facts.get("private") is False:
        kinds = {key: (*kind, type(None)) for key, kind in kinds.items()} | {"reason": (str,)}
    elif facts.get("trust") in TRUSTS[1:]:
        kinds |= {"spent": (type(None),), "ledger": (type(None),)}
    elif facts.get("trust") != TRUSTS[0]:
        raise EvidenceError(
            f"the certificate in this evidence has the trust {str(facts.get('trust'))[:40]!r}, by "
            f"which nobody promises; it is one of {', '.join(TRUSTS)}: take a fresh copy of the "
            "evidence.json that the run wrote"
        )
    for key, kind in kinds.items():
        if key not in facts or not isinstance(facts[key], kind):
            raise EvidenceError(
                f"the certificate in this evidence has no proper {key!r}; take a fresh copy of "
                f"the evidence.json that the run wrote"
            )
    try:
        Certificate(facts).lines()
        _check_listed(facts)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise EvidenceError(
            "the certificate in this evidence is not whole; take a fresh copy of the evidence.json "
            "that the run wrote"
        ) from None
    return Certificate(facts)


def _check_listed(facts: Mapping[str, Any]) -> None:
    """What pages show of it is there."""
    for asked in facts["queries"] or ():
        for key in ("what", "mechanism"):
            str.strip(asked[key])
        for key in ("cost", "noise_sd"):
            float(0 if asked[key] is None else asked[key])
        str.strip(asked["currency"] or "")
    for assumed in facts["assumptions"] or ():
        str.strip(assumed)


def accounting_of(facts: Mapping[str, Any]) -> Currency:
    """How a promise was counted. Evidence from before there was a choice does not say so."""
    usual: Currency = "pure" if facts["spent"]["rho"] is None else "zcdp"
    found: Currency = facts.get("accounting", usual)
    return found


def of_search(
    measured: Certificate, method: str, options: Mapping[str, Any], **more: Any
) -> Certificate:
    """The certificate of the evidence, with the search that was made on it."""
    made = {"method": method, "options": options, "version": version("privet")}
    return Certificate({**measured.facts, **made, **more})


def _left(kept: Mapping[str, Any]) -> str:
    """What this run has left of the cap; the certificate of a site does not tell."""
    after = f"; after this one (run {kept['run']})"
    if "left_epsilon" not in kept:
        return f"{after} `privet ledger show` tells what is left"
    return f"{after} epsilon {shorten(kept['left_epsilon'], ROUND_FLOOR):g} is left"


def _spent(run: Statement) -> dict[str, Any]:
    """What was spent, at the delta that the currency takes; tests add their own to that."""
    amount, unit = run.spent, UNITS[run.currency]
    return {
        "epsilon": run.spent_epsilon,
        "delta": run.spent_delta,
        "test_delta": run.spent_test_delta,
        "rho": float(amount) if unit == "rho" else None,
        f"{unit}_exact": f"{amount.numerator}/{amount.denominator}",
    }


def _queries(run: Statement, releases: Sequence[Release]) -> list[dict[str, Any]]:
    """Every charge; one that gave numbers has the law of their noise beside it."""
    waiting = list(releases)
    listed = []
    for charge in run.charges:
        at = next((i for i, r in enumerate(waiting) if str(r.query) == charge.what), None)
        release = None if at is None else waiting.pop(at)
        listed.append(
            {
                "what": charge.what,
                "cost": charge.cost,
                "currency": UNITS[run.currency],
                "test_delta": charge.test_delta,
                "mechanism": _door(charge) if release is None else _noise(charge, release),
                "noise_sd": math.sqrt(release.variance) if release else None,
            }
        )
    return listed


def _noise(charge: Charge, release: Release) -> str:
    return mechanism_of(release) + (" after a test" if charge.test_delta else "")


def _door(charge: Charge) -> str:
    """Which door of the vault an answer came through that is not kept as numbers."""
    if charge.test_delta:
        return "no answer: the test did not pass"
    doors = {"largest of": "selection", "sieve at": "sieve"}
    return next((door for start, door in doors.items() if charge.what.startswith(start)), "noise")


def mechanism_of(release: Release) -> str:
    return release.mechanism.partition("(")[0]  # without its price, which has its own place
