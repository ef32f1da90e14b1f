"""Saved evidence at the front doors: how it is made, opened and held against what is asked of it,
and how an error that stops a run or a search says what was spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from privet.api.checks import read_schema
from privet.api.methods import sharing
from privet.errors import NOTE, EvidenceError, MethodError, expect
from privet.graph.knowledge import Knowledge
from privet.methods import catalogue
from privet.methods.method import Finding, Method
from privet.methods.options import Settings
from privet.pairs.way import all_ways
from privet.results import certificate as certificates
from privet.results.certificate import Certificate
from privet.results.no_promise import Claim, not_private
from privet.results.saved import Saved, kind, load, step_by_step
from privet.schema.born import knowing
from privet.schema.model import Schema
from privet.schema.names import same_name

if TYPE_CHECKING:
    from privet.privacy.queries.base import Release
    from privet.trust.statement import Statement

Releases = tuple["Release", ...]


def saved_run(schema: Schema, run: Statement, releases: Releases, site: str | None = None) -> Saved:
    """What a run that is closed by now has released."""
    promise = certificates.of_run(schema, run, releases, site)
    return Saved(schema=schema, releases=releases, certificate=dict(promise))


def saved_without_privacy(
    schema: Schema, name: str, releases: Releases, claim: Claim | None = None
) -> Saved:
    """Exact answers, or those of a paper, which claims something for them."""
    promise = not_private(schema, name, releases, claim)
    return Saved(schema=schema, releases=releases, certificate=dict(promise))


def open_evidence(evidence: Saved | str | Path, schema: Schema | str | Path | None = None) -> Saved:
    """Saved evidence; a schema may bring other knowledge, but no other columns."""
    if not isinstance(evidence, Saved | str | Path):
        raise EvidenceError(
            f"the evidence is a {type(evidence).__name__}; give the .evidence of a result, or "
            f"the path of an evidence.json"
        )
    kinds = (Saved, str, Path)
    expect(evidence, kinds, "evidence", "give the path of an evidence.json", EvidenceError)
    saved = evidence if isinstance(evidence, Saved) else load(evidence)
    if schema is not None:
        known = same_table(saved.schema, read_schema(schema))
        if known.knowledge != saved.schema.knowledge and step_by_step(saved):
            raise EvidenceError(
                "this evidence holds the answers of a search that knew what could not be an edge "
                "and asked nothing about that, so other knowledge would need other answers; leave "
                "the schema away, or run the method on the data with this one"
            )
        saved = replace(saved, schema=known, played=())
    return saved


def played(saved: Saved, chosen: Method, settings: Settings) -> Finding | None:
    """What this method has found with these settings, if it was played to measure the evidence."""
    asked = chosen.name, settings
    return next((p.finding for p in saved.played if (p.method, p.settings) == asked), None)


def same_table(old: Schema, new: Schema) -> Schema:
    """The old schema with the knowledge and the questions of the new one, which must not differ in
    anything else (in the name not more than one data set's may) but labels and facts to confirm."""

    def table(schema: Schema) -> Schema:
        same = replace(schema, name=old.name, knowledge=Knowledge())
        return replace(same, unconfirmed=(), as_of=None)

    if table(old) != table(new) or not same_name(old.name, new.name):
        raise EvidenceError(
            f"the schema {new.name!r} is not the one that this was measured with "
            f"({old.name!r}), apart from its knowledge; use that one, or leave the schema away"
        )
    return knowing(old, new)


def check_evidence(chosen: Method, saved: Saved, measured: Certificate) -> None:
    """Whether this method can search this evidence; if not, what it lacks and what would serve."""
    held = {kind(release, saved.schema) for release in saved.releases}
    by = catalogue.get(measured["method"])
    if chosen.evidence == "exact" and measured["private"]:
        raise MethodError(
            f"{chosen.name} searches exact evidence ({chosen.reason}), but this was measured with "
            f"privacy by {by.name}; use one of {', '.join(sharing(by))}, which know the noise"
        )
    if chosen.evidence not in ("exact", *held):
        fits = all(column.kind in chosen.kinds for column in saved.schema.columns)
        again = f", or run {chosen.name} on the data, for a budget of its own" if fits else ""
        if fits and measured["spent"]:
            spent = measured["spent"]["epsilon"]
            again += f" (as much again would make it epsilon {2 * spent:.3g} at most together)"
        raise MethodError(
            f"{chosen.name} searches {chosen.evidence}, which this evidence does not hold (it has "
            f"{' and '.join(sorted(held))}, measured by {by.name}); use one of "
            f"{', '.join(sharing(by))}{again}"
        )
    if step_by_step(saved) and chosen is not by:
        raise MethodError(
            f"this evidence holds the answers that {by.name} was told step by step, of which "
            f"{chosen.name} can make nothing; use ⟦method={by.name!r}⟧, or run "
            f"{chosen.name} on the "
            "data, for a budget of its own"
        )


def check_searchable(saved: Saved, settings: Settings) -> None:
    """Refuse evidence that no graph can be made of, and options of what is not asked again."""
    if settings.features != Settings.features:
        raise EvidenceError(
            f"⟦features={settings.features!r}⟧ was given together with evidence, but in which "
            "features rows are measured is decided before; leave it away"
        )
    if settings.orient_pairs is not None:
        raise EvidenceError(
            f"⟦orient_pairs={settings.orient_pairs!r}⟧ was given together with evidence, but pairs "
            "are measured on data; leave it away: pairs that are in the evidence are used"
        )
    if saved.certificate.get("method") in {way.name for way in all_ways()}:
        raise EvidenceError(
            "this evidence holds pairs of columns and nothing to search; judge them again with "
            "⟦privet.orient(evidence=…)¦`privet orient --evidence FILE`⟧"
        )
    _check_no_new_questions(saved, settings)


def _check_no_new_questions(saved: Saved, settings: Settings) -> None:
    """Refuse options of questions that were asked long ago."""
    given = {**settings.special(), "alpha": settings.alpha, "max_order": settings.max_order}
    free = {"threshold", "steps", "sparsity"}  # of weights, which check these themselves
    named = [name for name, value in given.items() if value is not None and name not in free]
    if step_by_step(saved) and named:
        raise MethodError(
            f"⟦{named[0]}⟧ is {given[named[0]]!r}, but this evidence holds the answers "
            "to questions "
            f"that were asked without it; leave it away, or run the method on the data with it"
        )


@contextmanager
def hold_evidence(saved: Saved) -> Iterator[None]:
    """Whatever stops a search, its error holds the evidence and says what that has cost."""
    try:
        yield
    except BaseException as error:
        note_cost(error, saved)
        raise


def note_cost(error: BaseException, saved: Saved) -> None:
    """The error holds the evidence and says, once, what that has cost."""
    if not hasattr(error, "evidence"):
        error.evidence = saved  # type: ignore[attr-defined]
        if spent := saved.certificate["spent"]:
            error.add_note(_spent(spent["epsilon"], saved.schema.name))


def _spent(epsilon: float, name: str) -> str:
    return f"{NOTE}epsilon {epsilon:.6g} of data set {name!r} was spent before that"
