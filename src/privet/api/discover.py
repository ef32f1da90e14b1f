"""The front door: a table, what is public about it and a budget; out comes a graph.

Everything public is checked first, so a refusal costs nothing. Then the budget is reserved on
disk, the method measures, what it did not spend goes back, and the search runs on what was
measured. ``measure`` and ``search`` are the two halves: the first costs privacy and is done once,
the second is free and may be repeated on saved evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from privet.api import reuse as reuses
from privet.api.checks import (
    check_data,
    check_flags,
    check_free,
    check_site,
    read_protocol,
    read_schema,
)
from privet.api.evidence import (
    check_evidence,
    check_searchable,
    hold_evidence,
    open_evidence,
    played,
    same_table,
    saved_run,
    saved_without_privacy,
)
from privet.api.methods import (
    check_no_pairs,
    check_options,
    choose_for_reports,
    names_of,
)
from privet.api.prepare import Request, prepare
from privet.api.progress import heard
from privet.arrays import OnStep
from privet.graph.classes import CLASSES
from privet.local.collector.collect import collect
from privet.local.device.protocol import Protocol
from privet.methods import catalogue
from privet.methods.method import Method, Published
from privet.methods.options import Settings, make_settings
from privet.methods.sources.reports import facts
from privet.pairs import edges
from privet.pairs.way import pair_of
from privet.privacy.queries.base import Release
from privet.results import certificate as certificates
from privet.results.birth import questioned
from privet.results.certificate import Certificate
from privet.results.discovery import Discovery
from privet.results.local_promise import of_reports
from privet.results.no_promise import Claim
from privet.results.saved import Played, Saved, to_json
from privet.results.words import words
from privet.schema.model import Schema
from privet.trust.curator import Curator
from privet.trust.session import LedgerLike, Session, without_privacy


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
    ledger: LedgerLike = None,
    reuse: bool | None = None,
    as_of: str | None = None,
    as_published: bool = False,
    site: str | None = None,
    on_step: OnStep | None = None,
    on_measured: Callable[[Saved], None] | None = None,
    **options: Any,
) -> Discovery:
    """The causal graph of a table, with (epsilon, delta) differential privacy for its people.

    ``data`` is a CSV or Parquet file (or a folder or pattern of these), a DataFrame (pandas,
    polars, Spark), an Arrow or Ibis table, a DuckDB file or relation, the address of a PostgreSQL
    table or a dict of columns; what is large is counted where it is (docs/engines.md). The budget
    is charged to the schema's name in ``ledger`` (a file; by default the one in the user's data
    directory). ``delta`` is the largest that the guarantee may have, 1e-6 unless it is named; small
    tables get the guarantee (epsilon, 0), unless a cap in the ledger has a delta.
    ``private=False`` computes without privacy and takes no epsilon. With ``evidence``, the saved
    release of an earlier run is searched again: no data are read and nothing is spent; a schema
    given beside it may bring other knowledge.

    With ``protocol`` (a protocol.json), ``data`` are reports that devices have randomised by it:
    they were private when they left, so nothing is spent; a schema given beside it may bring
    other knowledge.

    ``as_of`` labels the snapshot, such as "2026-10-31", in place of the schema's label. A run that
    was made before on a table of this label (same data set name, schema, method, options, budget
    and ledger) is not made again: its evidence lies beside the ledger, nothing is spent and no row
    is read. The result is ``.reused`` and says so. Without a label, such a run on the same file or
    database is refused until ``reuse`` is True or False (measure, and pay), and a frame is always
    measured. Whether the table has changed is never looked at.

    ``as_published`` runs a method as its paper has it, to compare with: epsilon and delta are
    then what the paper would claim, nothing is charged and the certificate says why the claim
    does not hold.

    ``site`` is a label, such as "hospital-a", for results that are put together with those of
    other sites by ``combine``; the certificate has the words of the evidence to compare.

    Several methods share one measurement: the result is that of the first, with the others in
    ``.others`` and ``.agreement()``. ``options`` of the search: see ``methods.options.Settings``.

    ``on_step(what, share)`` is told what is being done and how much of the work is behind,
    ``on_measured(evidence)`` what was measured on the data, before it is searched. In a notebook a
    run that takes longer than two seconds shows by itself how far it is.

    >>> asked = {"epsilon": 1, "delta": 0, "ledger": "book.sqlite", "as_of": "2026-10-31"}
    >>> found = privet.discover(data, schema, **asked)
    >>> found.graph.nodes
    ('smoke', 'cancer', 'cough')
    >>> privet.discover(data, schema, **asked).reused
    True
    """
    check_flags(private=private, as_published=as_published)
    reuses.check_reuse(reuse)
    with heard(on_step) as listener:
        settings = make_settings(on_step=listener, **options)
        check_site(site)
        spending = {
            "a site": site is not None,
            "private=False": not private,
            "a ledger": ledger is not None,
            "as_of": as_of,
            "as_published": as_published,
        }
        if evidence is not None:
            given = {**spending, "data": data is not None, "epsilon": epsilon}
            check_free("evidence", given)
            return again(evidence, settings, schema=schema, method=method)
        if protocol is not None:
            check_free("a protocol", {"epsilon": epsilon, **spending})
            saved = receive(data, protocol, settings, schema=schema, method=method)
            return search(saved, settings, method=method)
        request = prepare(
            data,
            schema,
            settings,
            epsilon=epsilon,
            delta=delta,
            method=method,
            private=private,
            ledger=ledger,
            as_published=as_published,
            site=site,
            as_of=as_of,
        )
        if request.paying and (
            same := reuses.find(request.session, request.key, request.schema, reuse)
        ):
            return search(same.saved, settings, method=method, reused=same.facts)
        saved = take(request)
        with hold_evidence(saved):
            if on_measured is not None:
                on_measured(saved)
            return search(saved, settings, method=method)


def measure(
    data: object, schema: Schema | str | Path | None, settings: Settings, **asked: Any
) -> Saved:
    """The half that reads the data and costs privacy; all that is public is checked before."""
    return take(prepare(data, schema, settings, **asked))


def take(request: Request) -> Saved:
    """What the rows answer: by a paper, without privacy, or for the budget."""
    if request.paper is not None:
        claimed = float(request.epsilon or 0), float(request.delta)
        return _measure_as_published(request, request.paper, *claimed)
    if request.epsilon is None:
        return _measure_exactly(request)
    saved = _measure_privately(request, request.session)
    with hold_evidence(saved):
        reuses.keep(request.session, request.key, saved)
    return saved


def _measure_as_published(
    request: Request, paper: Published, epsilon: float, delta: float
) -> Saved:
    """As a paper would measure, for an epsilon that it claims: nothing is charged or promised."""
    curator = without_privacy(request.data, request.schema)
    releases = paper.measure(curator, request.settings, epsilon, delta)
    claim = Claim(epsilon=epsilon, delta=delta, why=paper.why)
    return saved_without_privacy(request.schema, request.methods[0].name, releases, claim)


def _measure_exactly(request: Request) -> Saved:
    """What each method asks for, without noise; what two ask for is kept once."""
    curator = without_privacy(request.data, request.schema)
    parts: dict[object, tuple[Release, ...]] = {}
    known = []
    for each in request.methods:
        if each.play is None:
            parts[each.measure] = each.measure(curator, request.settings)
            continue
        parts[each.play], found = each.play(curator, request.settings)
        if found is not None:
            known.append(
                Played(
                    method=each.name, settings=request.settings, finding=replace(found, record=None)
                )
            )
    every = (release for part in parts.values() for release in part)
    releases = tuple({release.query: release for release in every}.values())
    more = _ask_pairs(request, curator, releases) if request.share else ()
    saved = saved_without_privacy(request.schema, request.methods[0].name, releases + more)
    return replace(saved, releases=releases + _about_pairs(more), played=tuple(known))


def _measure_privately(request: Request, session: Session) -> Saved:
    """What the first method asks for, which the others share, paid from the ledger."""
    schema, chosen = request.schema, request.methods[0]
    releases: tuple[Release, ...] = ()
    more: tuple[Release, ...] = ()
    try:
        with session:
            releases = chosen.measure(session.curator(1 - request.share), request.settings)
            if request.share:
                more = _ask_pairs(request, session.curator(), releases)
    except BaseException as error:
        if releases:  # which were paid for
            paid = saved_run(schema, session.statement(), releases, request.site)
            error.evidence = paid  # type: ignore[attr-defined]
        raise
    saved = saved_run(schema, session.statement(), releases + more, request.site)
    return replace(saved, releases=releases + _about_pairs(more))


def _ask_pairs(
    request: Request, curator: Curator, releases: tuple[Release, ...]
) -> tuple[Release, ...]:
    """What is asked of the pairs that a search on these releases leaves without a direction."""
    found = request.methods[0].search(request.schema, releases, request.settings)
    return edges.ask(curator, found.graph, request.share, request.settings.on_step)


def _about_pairs(releases: tuple[Release, ...]) -> tuple[Release, ...]:
    """Those about pairs; a number of rows was only needed to measure them."""
    return tuple(release for release in releases if pair_of(release) is not None)


def receive(
    reports: object,
    protocol: Protocol | str | Path,
    settings: Settings,
    *,
    schema: Schema | str | Path | None = None,
    method: str | Sequence[str] = "auto",
) -> Saved:
    """What reports say that devices have randomised by this protocol; costs nobody anything."""
    known = read_protocol(protocol)
    table = known.schema if schema is None else same_table(known.schema, read_schema(schema))
    chosen = [choose_for_reports(name) for name in names_of(method)]
    for each in chosen:
        each.check(table, settings)
    check_options(chosen, settings)
    check_no_pairs(settings)
    check_data(reports)
    settings.on_step("reading the reports", 0.1)
    release = collect(reports, known)
    promise = of_reports(table, chosen[0].name, release, facts(release))
    return Saved(schema=table, releases=(release,), certificate=dict(promise))


def again(
    evidence: Saved | str | Path,
    settings: Settings,
    *,
    schema: Schema | str | Path | None = None,
    method: str | Sequence[str] = "auto",
) -> Discovery:
    """Search saved evidence again; a schema may bring other knowledge, but no other columns."""
    saved = open_evidence(evidence, schema)
    check_searchable(saved, settings)
    return search(saved, settings, method=method, reused={})


def search(
    saved: Saved,
    settings: Settings,
    *,
    method: str | Sequence[str] = "auto",
    reused: Mapping[str, Any] | None = None,
) -> Discovery:
    """The half that costs nothing: a graph from evidence, or one for each of several methods.
    ``reused`` says of evidence that was not measured just now whose it is."""
    return with_questions(searched(saved, settings, method=method, reused=reused))


def with_questions(found: Discovery) -> Discovery:
    """The same, where arrows into what people are born with are questions to whoever reads it."""
    schema = found.evidence.schema
    others = tuple(replace(each, graph=questioned(each.graph, schema)) for each in found.others)
    return replace(found, graph=questioned(found.graph, schema), others=others)


def searched(
    saved: Saved,
    settings: Settings,
    *,
    method: str | Sequence[str] = "auto",
    reused: Mapping[str, Any] | None = None,
) -> Discovery:
    """The same before anybody looks at names."""
    measured = certificates.of_evidence(saved.certificate)
    usual = catalogue.for_sites(measured["method"]) if saved.sites else measured["method"]
    chosen = [catalogue.get(usual if name == "auto" else name) for name in names_of(method)]
    check_options(chosen, settings)
    for each in chosen:
        check_evidence(each, saved, measured)
        each.check(saved.schema, settings)
    facts = {"reused": reused is not None, **(reused or {}), **_words(saved)}
    if len(chosen) > 1:
        facts["methods"] = [each.name for each in chosen]
    first, *others = (_search_one(saved, settings, each, measured, facts) for each in chosen)
    return replace(first, others=tuple(others)) if others else first


def _words(saved: Saved) -> dict[str, str]:
    """The words of a site's evidence, by which the site finds it again where it is combined."""
    return {"words": words(to_json(saved))} if saved.certificate.get("site") else {}


def _search_one(
    saved: Saved,
    settings: Settings,
    chosen: Method,
    measured: Certificate,
    facts: Mapping[str, Any],
) -> Discovery:
    searched = tuple(release for release in saved.releases if pair_of(release) is None)
    found = played(saved, chosen, settings) or chosen.search(saved.schema, searched, settings)
    graph, notes = found.graph, found.notes
    same = found.order in (None, settings.order)
    used = settings if same else replace(settings, max_order=found.order)
    if graph.kind in CLASSES and len(searched) < len(saved.releases):
        graph, more = edges.orient(graph, saved.schema, saved.releases, settings.seed)
        notes = (*notes, *more)
    return Discovery(
        graph=graph,
        certificate=certificates.of_search(
            measured,
            chosen.name,
            chosen.options(used, len(saved.schema.columns)),
            **facts,
        ),
        evidence=replace(saved, played=()) if saved.played else saved,
        method=chosen.name,
        tests=found.tests,
        notes=notes,
        absences=found.absences,
        record=found.record,
    )
