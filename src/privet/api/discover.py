"""The front door: a table, what is public about it and a budget; out comes a graph.

Everything public is checked first, so a refusal costs nothing. Then the budget is reserved on
disk, the method measures, what it did not spend goes back, and the search runs on what was
measured. ``measure`` and ``search`` are the two halves: the first costs privacy and is done once,
the second is free and may be repeated on saved evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.api.checks import (
    check_budget_options,
    check_data,
    open_evidence,
    paid,
    read_schema,
    same_table,
    told,
)
from privet.api.choice import (
    best_delta,
    check_evidence,
    check_options,
    check_shared,
    check_told,
    choose,
    names_of,
    published_by,
)
from privet.arrays import OnStep
from privet.errors import BudgetError, DataError, EvidenceError, MethodError
from privet.local.collector.collect import collect
from privet.local.device.protocol import Protocol
from privet.methods import catalogue
from privet.methods.method import Method
from privet.methods.options import Settings, make_settings
from privet.methods.sources import reports as local
from privet.pairs import edges
from privet.pairs import way as ways
from privet.pairs.measure import numeric
from privet.pairs.way import pair_of
from privet.privacy.ledger.book import Ledger, Run
from privet.privacy.queries.base import Release
from privet.results import certificate as certificates
from privet.results.certificate import Certificate
from privet.results.discovery import Discovery
from privet.results.saved import Saved
from privet.schema.model import Schema
from privet.trust.central import Curator


def discover(
    data: object = None,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    method: str | Sequence[str] = "auto",
    private: bool = True,
    evidence: Saved | str | Path | None = None,
    protocol: Protocol | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    as_published: bool = False,
    on_step: OnStep | None = None,
    **options: Any,
) -> Discovery:
    """The causal graph of a table, with (epsilon, delta) differential privacy for its people.

    ``data`` is a CSV or Parquet file, a DataFrame (pandas, polars), an Arrow or Ibis table or a
    dict of columns. The budget is charged to the schema's name in ``ledger`` (a file; by default
    the one in the user's data directory). A run that names no ``delta`` promises the one that
    serves its method best: 1e-6, or 0 for small tables, unless a cap in the ledger has a delta.
    ``private=False`` computes without privacy and takes no epsilon. With ``evidence``, the saved
    release of an earlier run is searched again: no data are read and nothing is spent; a schema
    given beside it may bring other knowledge.

    With ``protocol`` (a protocol.json), ``data`` are reports that devices have randomised by it:
    they were private when they left, so nothing is spent; a schema given beside it may bring
    other knowledge.

    ``as_published`` runs a method as its paper has it, to compare with: epsilon and delta are
    then what the paper would claim, nothing is charged and the certificate says why the claim
    does not hold.

    Several methods share one measurement: the result is that of the first, with the others in
    ``.others`` and ``.agreement()``. ``options`` of the search: see
    ``methods.options.make_settings``.

    ``on_step(what, share)`` is told what is being done and how much of the work is behind.
    """
    settings = make_settings(on_step=on_step, **options)
    if evidence is not None:
        if not private or ledger is not None or as_published:
            raise EvidenceError(
                "evidence was given together with private=False, as_published or a ledger, but a "
                "search on saved evidence is as private as its run and spends nothing; leave them "
                "away"
            )
        return reuse(evidence, settings, data=data, schema=schema, epsilon=epsilon, method=method)
    if protocol is not None:
        if epsilon is not None or not private or ledger is not None or as_published:
            raise BudgetError(
                "a protocol was given together with epsilon, private=False, as_published or a "
                "ledger, but reports were private when they left their devices, with the epsilon "
                "of their protocol, and nothing more is spent; leave them away"
            )
        saved = receive(data, protocol, settings, schema=schema, method=method)
        return search(saved, settings, method=method)
    saved = measure(
        data,
        schema,
        settings,
        epsilon=epsilon,
        delta=delta,
        method=method,
        private=private,
        ledger=ledger,
        as_published=as_published,
    )
    with paid(saved):
        return search(saved, settings, method=method)


def measure(
    data: object,
    schema: Schema | str | Path | None,
    settings: Settings,
    *,
    epsilon: float | None,
    delta: float | None = None,
    method: str | Sequence[str] = "auto",
    private: bool = True,
    ledger: Ledger | str | Path | None = None,
    as_published: bool = False,
) -> Saved:
    """The half that reads the data and costs privacy; all that is public is checked before."""
    known = read_schema(schema)
    check_budget_options(epsilon, delta, private)
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    if delta is None:
        cap = book.account(known.name) if private and not as_published else None
        delta = best_delta(names_of(method), known, epsilon, None if cap is None else cap.delta)
    all_chosen = [choose(name, known, delta, private) for name in names_of(method)]
    check_options(all_chosen, settings)
    for each in all_chosen:
        each.serve(known, delta, settings)
    chosen = all_chosen[0]
    share = _check_pairs(all_chosen, known, settings, as_published)
    check_data(data)
    if as_published:
        paper = published_by(all_chosen, private, ledger)
        curator = Curator.open(data, known, None)
        releases = paper.measure(curator, settings, float(epsilon or 0), float(delta))
        claim = certificates.Claim(epsilon=float(epsilon or 0), delta=float(delta), why=paper.why)
        promise = certificates.without_privacy(known, chosen.name, releases, claim)
        return Saved(schema=known, releases=releases, certificate=dict(promise))
    if not private or epsilon is None:
        curator = Curator.open(data, known, None)
        parts = {each.measure: each.measure(curator, settings) for each in all_chosen}
        every = (release for part in parts.values() for release in part)
        releases = tuple({release.query: release for release in every}.values())
        more = _pairs(curator, chosen, releases, share, settings) if share else ()
        promise = certificates.without_privacy(known, chosen.name, releases + more)
        return Saved(schema=known, releases=releases + _kept(more), certificate=dict(promise))
    check_shared(all_chosen)
    Curator.open(data, known, None)  # holds the header against the schema; reads no row
    run = book.begin(known.name, epsilon=epsilon, delta=delta, method=chosen.name, unit=known.unit)
    releases = more = ()
    try:
        with told(run), run:
            releases = chosen.measure(Curator.open(data, known, run, 1 - share), settings)
            if share:
                whole = Curator.open(data, known, run)
                more = _pairs(whole, chosen, releases, share, settings)
    except BaseException as error:
        if releases:  # which were paid for
            error.evidence = _of_run(known, run, releases, (), book)  # type: ignore[attr-defined]
        raise
    return _of_run(known, run, releases, more, book)


def receive(
    reports: object,
    protocol: Protocol | str | Path,
    settings: Settings,
    *,
    schema: Schema | str | Path | None = None,
    method: str | Sequence[str] = "auto",
) -> Saved:
    """What reports say that devices have randomised by this protocol; costs nobody anything."""
    known = Protocol.load(protocol) if isinstance(protocol, str | Path) else protocol
    if not isinstance(known, Protocol):
        raise DataError(
            f"the protocol is a {type(known).__name__}; give a privet.local.Protocol or the path "
            f"of the protocol.json beside the reports"
        )
    table = known.schema if schema is None else same_table(known.schema, read_schema(schema))
    chosen = [catalogue.get(local.DEFAULT if name == "auto" else name) for name in names_of(method)]
    for each in chosen:
        if each.evidence != local.REPORTS:
            raise MethodError(
                f"{each.name} searches {each.evidence}, not reports that devices have randomised; "
                f"use one of {', '.join(catalogue.on_evidence(local.REPORTS))}"
            )
        each.check(table, settings)
    check_options(chosen, settings)
    if settings.orient_pairs is not None:
        raise MethodError("--orient-pairs asks rows, and here are reports only; leave it away")
    check_data(reports)
    settings.on_step("reading the reports", 0.1)
    release = collect(reports, known)
    promise = certificates.of_reports(table, chosen[0].name, release, local.facts(release))
    return Saved(schema=table, releases=(release,), certificate=dict(promise))


def _of_run(
    schema: Schema,
    run: Run,
    releases: tuple[Release, ...],
    more: tuple[Release, ...],
    book: Ledger,
) -> Saved:
    """What a run that is closed by now has released, and more of it about pairs."""
    account = book.account(schema.name)
    assert account is not None  # the run is in it
    promise = certificates.of_run(schema, run, releases + more, account, durable=book.durable)
    return Saved(schema=schema, releases=releases + _kept(more), certificate=dict(promise))


def _kept(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Those about pairs; a number of rows was only needed to measure them."""
    return tuple(release for release in releases if pair_of(release) is not None)


def _check_pairs(
    chosen: Sequence[Method], schema: Schema, settings: Settings, as_published: bool
) -> Fraction:
    """The share of the budget for pairs, or a refusal."""
    if settings.orient_pairs is None:
        return Fraction(0)
    problem = ""
    if as_published or settings.subsample is not None:
        problem = "goes neither with --as-published nor with --subsample, which have no share left"
    elif chosen[0].graph != "cpdag":
        problem = f"is for undirected edges, and {chosen[0].name} finds a {chosen[0].graph.upper()}"
    elif len(numeric(schema)) < 2:
        problem = "needs two numeric columns, and there are fewer in the schema"
    if problem:
        raise MethodError(f"--orient-pairs {problem}; leave it away")
    return Fraction(repr(settings.orient_pairs))


def _pairs(
    curator: Curator,
    chosen: Method,
    releases: tuple[Release, ...],
    share: Fraction,
    settings: Settings,
) -> tuple[Release, ...]:
    """What is asked of the pairs that a search on these releases leaves without a direction."""
    found = chosen.search(curator.schema, releases, settings)
    return edges.ask(curator, found.graph, share, settings.on_step)


def reuse(
    evidence: Saved | str | Path,
    settings: Settings,
    *,
    data: object = None,
    schema: Schema | str | Path | None = None,
    epsilon: float | None = None,
    method: str | Sequence[str] = "auto",
) -> Discovery:
    """Search saved evidence again; a schema may bring other knowledge, but no other columns."""
    saved = open_evidence(evidence, data=data, schema=schema, epsilon=epsilon)
    if settings.orient_pairs is not None:
        raise EvidenceError(
            f"orient_pairs {settings.orient_pairs!r} was given together with evidence, but pairs "
            "are measured on data; leave it away: pairs that are in the evidence are used"
        )
    if saved.certificate.get("method") in {way.name for way in ways.available()}:
        raise EvidenceError(
            "this evidence holds pairs of columns and nothing to search; judge them again with "
            "`privet orient --evidence FILE`"
        )
    check_told(saved, settings)
    return search(saved, settings, method=method, reused=True)


def search(
    saved: Saved,
    settings: Settings,
    *,
    method: str | Sequence[str] = "auto",
    reused: bool = False,
) -> Discovery:
    """The half that costs nothing: a graph from evidence, or one for each of several methods."""
    measured = certificates.of_evidence(saved.certificate)
    chosen = [
        catalogue.get(measured["method"] if name == "auto" else name) for name in names_of(method)
    ]
    check_options(chosen, settings)
    for each in chosen:
        check_evidence(each, saved, measured)
        each.check(saved.schema, settings)
    first, *others = (_search_one(saved, settings, each, measured, reused) for each in chosen)
    return replace(first, others=tuple(others))


def _search_one(
    saved: Saved, settings: Settings, chosen: Method, measured: Certificate, reused: bool
) -> Discovery:
    searched = tuple(release for release in saved.releases if pair_of(release) is None)
    found = chosen.search(saved.schema, searched, settings)
    graph, notes = found.graph, found.notes
    if graph.kind == "cpdag" and len(searched) < len(saved.releases):
        graph, more = edges.orient(graph, saved.schema, saved.releases, settings.seed)
        notes = (*notes, *more)
    return Discovery(
        graph=graph,
        certificate=certificates.of_search(
            measured,
            chosen.name,
            chosen.options(settings, len(saved.schema.columns)),
            reused=reused,
        ),
        evidence=saved,
        method=chosen.name,
        tests=found.tests,
        notes=notes,
    )
