"""Evidence of several sites as one: what is held against what before, and what is promised after.

Each site has measured its own rows with noise of its own, and has sent its evidence. Nobody has to
be believed here: that the files speak of the same columns, that the noise covers what each site
promises to its people, and that nobody is counted twice, is checked from the files alone. Whether
a file is the one that its site has sent, the site finds out by its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from privet.errors import EvidenceError, PrivetError
from privet.evidence.whole_table import interactions, is_whole
from privet.pairs.way import pair_of
from privet.privacy.ledger.conversion import NAMES, Currency, budget_for, check_asked
from privet.privacy.queries.base import Release
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.tables import Components
from privet.results import certificate as certificates
from privet.results.joint_promise import joint_certificate
from privet.results.saved import Saved, kind
from privet.schema.born import knowing
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.schema.names import SITE, SITE_RULE, clean_name
from privet.trust.noise import is_as_stated, price

KINDS = ("tables", "moments")  # which say the same of any rows, whoever measured them
COLUMN = ("kind", "levels", "bounds", "cuts", "missing", "missing_value")


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What a site has sent, and what to call it in an error: the name of its file."""

    origin: str
    saved: Saved

    @property
    def label(self) -> str:
        return str(self.saved.certificate["site"])

    @property
    def releases(self) -> tuple[Release, ...]:
        """Those that can be put together; about pairs each site has asked for itself."""
        return tuple(r for r in self.saved.releases if pair_of(r) is None)

    @property
    def kinds(self) -> set[str]:
        return {kind(release, self.saved.schema) for release in self.releases}


def combined(sent: Sequence[Sent], schema: Schema | None = None) -> Saved:
    """The evidence of all sites, or a refusal. A schema may bring other knowledge."""
    if len(sent) < 2:
        raise EvidenceError(
            f"{len(sent)} file(s) of evidence were given, but at least 2 sites can be put "
            "together; name the evidence.json of each site"
        )
    for each in sent:
        _check_promise(each)
    _check_kinds(sent)
    _check_columns(sent, schema)
    _check_knowledge(sent, schema)
    for each in sent:
        _check_noise(each)
    _check_doubles(sent)
    _check_labels(sent)
    for each in sent:
        _check_cuts(each)
    joint = _schema(sent, schema)
    sites = [each.saved for each in sent]
    return Saved(
        schema=joint,
        releases=tuple(release for each in sent for release in _labelled(each)),
        certificate=joint_certificate(joint, sites),
        sites=tuple(sites),
    )


# -- what each file must be


def _check_promise(each: Sent) -> None:
    if each.saved.sites:
        raise EvidenceError(
            f"{each.origin!r} is the evidence of several sites already; give the files that the "
            "sites themselves have sent"
        )
    try:
        facts = certificates.of_evidence(each.saved.certificate)
    except PrivetError as error:
        raise EvidenceError(f"{each.origin!r}: {error.said}") from None
    if not facts.private:
        raise EvidenceError(
            f"{each.origin!r} is not private ({facts['reason']}), so it must not leave its site; "
            "let the site run discover with ⟦epsilon⟧ and ⟦site⟧"
        )
    if facts.get("trust") != "central":
        raise EvidenceError(
            f"{each.origin!r} has the trust {facts.get('trust')!r}, but only sites that hold rows "
            "(trust 'central') are put together; leave it out"
        )
    texts = [*facts["assumptions"], *facts.warnings]
    try:
        check_asked(facts["epsilon"], facts["delta"])
    except PrivetError as error:
        raise EvidenceError(f"{each.origin!r} promises nothing: {error.said}") from None
    if not all(isinstance(text, str) for text in texts):
        raise EvidenceError(
            f"{each.origin!r} has a certificate that is not whole; take a fresh copy of the "
            "evidence.json that the site's run wrote"
        )
    other = sorted(each.kinds - set(KINDS))
    if other or not each.kinds:
        raise EvidenceError(
            f"{each.origin!r} holds {' and '.join(other) or 'pairs only'}, measured by "
            f"{facts['method']}, which cannot be put together; let the site measure tables or "
            "moments, such as with ⟦method='interaction-pc'⟧ or moment-pc"
        )


def _check_kinds(sent: Sequence[Sent]) -> None:
    for one, other in pairwise(sent):
        if one.kinds != other.kinds:
            raise EvidenceError(
                f"{other.origin!r} holds {' and '.join(sorted(other.kinds))}, but {one.origin!r} "
                f"holds {' and '.join(sorted(one.kinds))}; let all sites use methods that measure "
                "the same"
            )


# -- what all files must have in common


def _check_columns(sent: Sequence[Sent], schema: Schema | None) -> None:
    """The first difference, if there is one. Names of data sets, rows per person, adjacency and
    budgets may differ."""
    first, known = sent[0].origin, sent[0].saved.schema
    if schema is not None:
        first, known = "the schema", schema
    for each in sent:
        found = each.saved.schema
        if found.names != known.names:
            raise EvidenceError(
                f"{each.origin!r} has the columns {', '.join(found.names)}, but {first!r} has "
                f"{', '.join(known.names)}; all sites need the same columns in the same order: "
                "let them use one schema"
            )
        for a, b in zip(known.columns, found.columns, strict=True):
            _check_column(a, b, first, each.origin)


def _check_column(known: Column, found: Column, first: str, origin: str) -> None:
    for fact in COLUMN:
        a, b = getattr(known, fact), getattr(found, fact)
        if a != b:
            raise EvidenceError(
                f"{origin!r} has {fact.replace('_', ' ')} {_shown(b)} in column {found.name!r}, "
                f"but {first!r} has {_shown(a)}; what is counted must mean the same at all sites "
                "(levels in the same order): let them use one schema"
            )


def _shown(value: object) -> str:
    return repr(list(value) if isinstance(value, tuple) else value)


def _check_cuts(each: Sent) -> None:
    if any(isinstance(release.query, Cut) for release in each.saved.releases):
        raise EvidenceError(
            f"{each.origin!r} has cut numbers where its own rows suggest it, so that its groups "
            "are not those of other sites; let the site measure with ⟦site⟧, by which the cuts of "
            "the schema stay"
        )


def _check_knowledge(sent: Sequence[Sent], schema: Schema | None) -> None:
    if schema is not None:
        return
    for each in sent[1:]:
        if each.saved.schema.knowledge != sent[0].saved.schema.knowledge:
            raise EvidenceError(
                f"{each.origin!r} has other knowledge of what may cause what than "
                f"{sent[0].origin!r}; say which holds with ⟦schema='FILE'⟧"
            )


# -- what each site promises


def _check_noise(each: Sent) -> None:
    """From the schema and the named mechanisms alone: is the noise what it is said to be, and does
    it cover the promise?"""
    schema, facts = each.saved.schema, each.saved.certificate
    currency = certificates.accounting_of(facts)
    if (currency == "pure") != (facts["delta"] == 0):
        raise EvidenceError(
            f"{each.origin!r} was counted in {NAMES[currency]}, which does not go with its delta "
            f"of {facts['delta']!r}: the file was changed or damaged; ask the site for a fresh copy"
        )
    for release in each.saved.releases:  # pairs too: whoever has the file has seen them
        if not _holds(lambda r=release: is_as_stated(r, schema, currency)):  # type: ignore[misc]
            raise EvidenceError(
                f"{each.origin!r} gives the noise of {release.query} the variance "
                f"{release.variance!r}, which is not that of its mechanism "
                f"{release.mechanism[:80]!r}: the file was changed or damaged; ask the site for a "
                "fresh copy"
            )
    spent = _spent(each, currency)
    promised = budget_for(facts["epsilon"], facts["delta"], currency)
    if spent is None or spent > promised:
        cost = "more" if spent is None else f"{float(spent):.6g}"
        raise EvidenceError(
            f"{each.origin!r} promises epsilon {facts['epsilon']!r} at delta {facts['delta']!r}, "
            f"which is a budget of {float(promised):.6g}, but its releases cost {cost}: their "
            "noise does not cover the promise; leave it out, and ask the site what it has run"
        )


def _holds(ask: Callable[[], bool]) -> bool:
    try:
        return ask()
    except PrivetError:  # noise of a scale that no mechanism has
        return False


def _spent(each: Sent, currency: Currency) -> Fraction | None:
    """What the releases cost in the currency of the promise; None if it has no such price."""
    try:
        return sum((price(release, currency) for release in each.saved.releases), Fraction(0))
    except PrivetError:  # Gaussian noise for a promise without delta
        return None


# -- who is counted twice


def _check_doubles(sent: Sequence[Sent]) -> None:
    facts = [each.saved.certificate for each in sent]
    kept = [fact["ledger"] for fact in facts]
    for what, values in {
        "run": [ledger.get("run") for ledger in kept],
        "site": [fact.get("site") for fact in facts],
        "people id": [ledger.get("people") for ledger in kept],
    }.items():
        for i, value in enumerate(values):
            if value is not None and value in values[:i]:
                raise EvidenceError(
                    f"{sent[values.index(value)].origin!r} and {sent[i].origin!r} have the same "
                    f"{what} {value!r}, so the same people would be measured twice: leave one out"
                )


def _check_labels(sent: Sequence[Sent]) -> None:
    for each in sent:
        facts = each.saved.certificate
        if facts.get("site") is None:
            raise EvidenceError(
                f"{each.origin!r} has no site, so nobody could say which line of the joint "
                "certificate is whose; let the site run discover with ⟦site='LABEL'⟧, such "
                "as hospital-a"
            )
        if not isinstance(facts["site"], str) or not SITE.fullmatch(facts["site"]):
            raise EvidenceError(
                f"{each.origin!r} has the site {facts['site']!r}, but a label {SITE_RULE}; let the "
                "site run discover with ⟦site='LABEL'⟧, such as hospital-a"
            )
        if not all(isinstance(facts["ledger"].get(key), str) for key in ("people", "run")):
            raise EvidenceError(
                f"{each.origin!r} has no people id or no run, so nobody could see whether the same "
                "people were measured twice; take a fresh copy of the evidence.json that the "
                "site's run wrote"
            )


# -- what comes out


def _schema(sent: Sequence[Sent], schema: Schema | None) -> Schema:
    """The columns of all. How many rows a site has stands in its releases, so that none need be
    public for all of them together."""
    schemas = [each.saved.schema for each in sent]
    names = [schema.name] if schema else [one.name for one in schemas]
    unconfirmed = dict.fromkeys(fact for one in schemas for fact in one.unconfirmed)
    joint = replace(
        schemas[0],
        name=clean_name(" and ".join(dict.fromkeys(names))),
        adjacency=Adjacency.ADD_REMOVE,
        rows=None,
        rows_per_person=max(one.rows_per_person for one in schemas),
        person=None,  # each site's certificate says whether it enforces the number
        most_rows=max(one.most_rows for one in schemas),
        sites_per_person=max(one.sites_per_person for one in schemas),
        as_of=None,  # each site has its own
        unconfirmed=tuple(unconfirmed),
    )
    return joint if schema is None else knowing(joint, schema)


def _labelled(each: Sent) -> Iterator[Release]:
    """A site's releases under its label. Where the number of its rows is public, it stands among
    them as an exact answer."""
    schema = each.saved.schema
    known = schema.rows_are_public and each.kinds == {"tables"}
    if known:
        yield Release(
            query=Components(((),)),
            values=np.array([schema.rows], dtype=np.int64),
            variance=0.0,
            mechanism="public number of rows",
            site=each.label,
        )
    for release in each.releases:
        parts = interactions(schema, release) if known and is_whole(release, schema) else [release]
        yield from (replace(part, site=each.label) for part in parts)
