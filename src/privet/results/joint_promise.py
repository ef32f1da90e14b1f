"""The certificate of several sites: who has promised what to whom, and what it means for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from privet.privacy.ledger.conversion import Currency, budget_for, epsilon_of, exchange
from privet.results.certificate import accounting_of
from privet.results.promise import at_most, factor
from privet.results.saved import Saved, to_json
from privet.results.words import words
from privet.schema.model import Adjacency, Schema

SHARED = (
    "no two sites have measured the same people under two ledgers, which nobody can find out from "
    "their files",
    "each site has found the words that its own run printed in its line of this certificate; until "
    "then, a file may have been changed on its way",
)


def joint_certificate(schema: Schema, sites: Sequence[Saved]) -> dict[str, Any]:
    """The facts, of files that have passed all checks."""
    facts = [site.certificate for site in sites]
    most = min(schema.sites_per_person, len(sites))
    alone = max(fact["epsilon"] for fact in facts), max(fact["delta"] for fact in facts)
    epsilon, delta = alone if most == 1 else at_several(sites, most)
    return {
        "private": True,
        "promise": _promise(sites, epsilon, delta, most),
        "epsilon": epsilon,
        "delta": delta,
        "accounting": shared_currency(facts),
        "epsilon_at_one_site": alone[0],
        "adjacency": " or ".join(dict.fromkeys(site.schema.adjacency.value for site in sites)),
        "rows_per_person": schema.rows_per_person,
        "sites_per_person": schema.sites_per_person,
        "trust": "sites",
        "site": None,
        "sites": [_line(site) for site in sites],
        "schema": schema.name,
        "spent": None,
        "method": facts[0]["method"],
        "queries": [],
        "ledger": None,
        "reused": False,
        "warnings": [f"{f['site']}: {text}" for f in facts for text in f.get("warnings", ())],
        "assumptions": _assumptions(schema, facts),
    }


def at_several(sites: Sequence[Saved], most: int) -> tuple[float, float]:
    """What is promised to a person at so many sites, whichever these are: each has noise of its
    own, so that what they cost adds up."""
    facts = [site.certificate for site in sites]
    delta, into = max(one["delta"] for one in facts), shared_currency(facts)
    costs = []
    for one in facts:
        paid = accounting_of(one)
        costs.append(exchange(budget_for(one["epsilon"], one["delta"], paid), paid, into))
    total = sum(sorted(costs)[-most:], Fraction(0))
    return epsilon_of(total, delta, "gdp" if into == "pure" else into), delta


def shared_currency(facts: Sequence[Mapping[str, Any]]) -> Currency:
    """In which what the sites have paid can be added up: from pure to GDP to zCDP there is a way,
    but none back."""
    found = {accounting_of(one) for one in facts}
    return next(one for one in ("zcdp", "gdp", "pure") if one in found)


def _line(site: Saved) -> dict[str, Any]:
    facts = site.certificate
    return {
        "label": facts["site"],
        "words": words(to_json(site)),
        "people": facts["ledger"]["people"],
        "run": facts["ledger"]["run"],
        "epsilon": facts["epsilon"],
        "delta": facts["delta"],
        "accounting": accounting_of(facts),
        "adjacency": site.schema.adjacency.value,
        "rows_per_person": site.schema.rows_per_person,
        "method": facts["method"],
        "spent": facts["spent"],
        "releases": len(site.releases),
    }


def _promise(sites: Sequence[Saved], epsilon: float, delta: float, most: int) -> str:
    several = f", who is at up to {most} of them," if most > 1 else ""
    fixed = [
        site.certificate["site"] for site in sites if site.schema.adjacency is Adjacency.REPLACE_ONE
    ]
    other = "has given these data or any others"
    change = "is in their data or not" + (f" ({', '.join(fixed)}: {other})" if fixed else "")
    beyond = f", plus {delta:g}" if delta else ""
    return (
        f"Each of {len(sites)} sites has blurred its own numbers before it sent them. Whether any "
        f"one person{several} {change} changes the probability of anything that can be concluded "
        f"from these results, or from all that the sites have sent, by at most "
        f"{factor(epsilon)} (epsilon {epsilon:.6g}){beyond}."
    )


def _assumptions(schema: Schema, facts: Sequence[dict[str, Any]]) -> list[str]:
    """Those of all sites once, those of some with their names."""
    said = [text for fact in facts for text in fact["assumptions"]]
    mine = at_most(schema.sites_per_person)
    shared = [text for text in dict.fromkeys(said) if said.count(text) == len(facts)]
    own = [
        f"{fact['site']}: {text}"
        for fact in facts
        for text in fact["assumptions"]
        if text not in shared and text != mine
    ]
    return [*(text for text in shared if text != mine), *own, mine, *SHARED]
