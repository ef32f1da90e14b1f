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

from privet import certificate as certificates
from privet.certificate import Certificate
from privet.discovery import Discovery
from privet.errors import EvidenceError, MethodError
from privet.evidence import file as evidence_file
from privet.evidence.file import Saved
from privet.front import check_budget_options, check_data, open_evidence, paid, read_schema, told
from privet.ledger import Ledger, Run
from privet.methods import registry
from privet.methods.registry import Method, Published, Settings
from privet.options import OnStep, make_settings
from privet.orientation import edges
from privet.orientation.asking import numeric
from privet.orientation.registry import pair_of
from privet.queries import Release
from privet.schema import Schema
from privet.trust.central import Curator


def discover(
    data: object = None,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float | None = None,
    delta: float = 1e-6,
    method: str | Sequence[str] = "auto",
    private: bool = True,
    evidence: Saved | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    as_published: bool = False,
    on_step: OnStep | None = None,
    **options: Any,
) -> Discovery:
    """The causal graph of a table, with (epsilon, delta) differential privacy for its people.

    ``data`` is a CSV or Parquet file, a DataFrame (pandas, polars), an Arrow or Ibis table or a
    dict of columns. The budget is charged to the schema's name in ``ledger`` (a file; by default
    the one in the user's data directory). ``private=False`` computes without privacy and takes
    no epsilon. With ``evidence``, the saved release of an earlier run is searched again: no data
    are read and nothing is spent; a schema given beside it may bring other knowledge.

    ``as_published`` runs a method as its paper has it, to compare with: epsilon and delta are
    then what the paper would claim, nothing is charged and the certificate says why the claim
    does not hold.

    Several methods share one measurement: the result is that of the first, with the others in
    ``.others`` and ``.agreement()``. ``options`` of the search: see ``options.make_settings``.

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
    saved = measure(
        data, schema, settings,
        epsilon=epsilon, delta=delta, method=method, private=private, ledger=ledger,
        as_published=as_published,
    )  # fmt: skip
    with paid(saved):
        return search(saved, settings, method=method)


def measure(
    data: object,
    schema: Schema | str | Path | None,
    settings: Settings,
    *,
    epsilon: float | None,
    delta: float,
    method: str | Sequence[str] = "auto",
    private: bool = True,
    ledger: Ledger | str | Path | None = None,
    as_published: bool = False,
) -> Saved:
    """The half that reads the data and costs privacy; all that is public is checked before."""
    known = read_schema(schema)
    check_budget_options(epsilon, delta, private)
    all_chosen = [_choose(name, known, delta, private) for name in _names(method)]
    _check_options(all_chosen, settings)
    for each in all_chosen:
        each.serve(known, delta, settings)
    chosen = all_chosen[0]
    share = _check_pairs(all_chosen, known, settings, as_published)
    check_data(data)
    if as_published:
        paper = _published(all_chosen, private, ledger)
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
    _check_shared(all_chosen)
    Curator.open(data, known, None)  # holds the header against the schema; reads no row
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
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


def _published(
    chosen: Sequence[Method], private: bool, ledger: Ledger | str | Path | None
) -> Published:
    """The one method as its paper has it, or a refusal."""
    if not private or ledger is not None:
        raise MethodError(
            "a method as published was asked for together with --no-privacy or a ledger, but it "
            "has a claimed epsilon of its own and is never charged; leave them away"
        )
    paper = chosen[0].published
    if len(chosen) > 1 or paper is None:
        named = [method.name for method in registry.available() if method.published]
        raise MethodError(
            f"{' and '.join(method.name for method in chosen)} cannot be run as published, or not "
            f"together; choose one of {', '.join(named)}"
        )
    return paper


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
    if all(pair_of(release) is not None for release in saved.releases):
        raise EvidenceError(
            "this evidence holds pairs of columns and nothing to search; judge them again with "
            "`privet orient --evidence FILE`"
        )
    _check_told(saved, settings)
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
        registry.get(measured["method"] if name == "auto" else name) for name in _names(method)
    ]
    _check_options(chosen, settings)
    for each in chosen:
        _check_evidence(each, saved, measured)
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
            settings.options(len(saved.schema.columns), chosen),
            reused=reused,
        ),
        evidence=saved,
        method=chosen.name,
        tests=found.tests,
        notes=notes,
    )


def _names(method: str | Sequence[str]) -> tuple[str, ...]:
    names = (method,) if isinstance(method, str) else method
    if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
        raise MethodError(f"the method is {method!r}; give its name, or a list of names")
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        what = f"{twice[0]!r} twice" if names else "none"
        raise MethodError(f"the methods name {what}; name each method once, at least one")
    if len(names) > 1 and "auto" in names:
        raise MethodError(
            "auto stands for one method and cannot be one of several; name it, such as "
            "interaction-pc"
        )
    return names


def _check_options(chosen: Sequence[Method], settings: Settings) -> None:
    """Refuse an option that none of the methods uses."""
    for name, value in settings.special().items():
        if not any(name in method.uses for method in chosen):
            users = [method.name for method in registry.available() if name in method.uses]
            raise MethodError(
                f"{name} is {value!r}, but {' and '.join(m.name for m in chosen)} has no such "
                f"option; leave it away, or use one of {', '.join(users)}"
            )


def _check_shared(chosen: Sequence[Method]) -> None:
    """Several methods on one budget must live on one measurement."""
    first = chosen[0]
    for other in chosen[1:]:
        if other.measure is not first.measure:
            raise MethodError(
                f"{other.name} measures {other.evidence} of its own, and {first.name} measures "
                f"{first.evidence}; methods that are run together share one measurement: name "
                f"some of {', '.join(_sharing(first))}, or make two runs, each with its own budget"
            )


def _sharing(method: Method) -> list[str]:
    return [m.name for m in registry.available() if m.measure is method.measure]


def _check_evidence(chosen: Method, saved: Saved, measured: Certificate) -> None:
    """Whether this method can search this evidence; if not, what it lacks and what would serve."""
    held = {kind for release in saved.releases for kind in [evidence_file.kind(release)]}
    by = registry.get(measured["method"])
    if chosen.evidence == "exact" and measured["private"]:
        raise MethodError(
            f"{chosen.name} searches exact evidence ({chosen.reason}), but this was measured with "
            f"privacy by {by.name}; use one of {', '.join(_sharing(by))}, which know the noise"
        )
    if chosen.evidence not in ("exact", *held):
        fits = all(column.kind in chosen.kinds for column in saved.schema.columns)
        again = f", or run {chosen.name} on the data, for a budget of its own" if fits else ""
        if fits and measured["private"]:
            spent = measured["spent"]["epsilon"]
            again += f" (as much again would make it epsilon {2 * spent:.3g} at most together)"
        raise MethodError(
            f"{chosen.name} searches {chosen.evidence}, which this evidence does not hold (it has "
            f"{' and '.join(sorted(held))}, measured by {by.name}); use one of "
            f"{', '.join(_sharing(by))}{again}"
        )
    if evidence_file.told(saved) and chosen is not by:
        raise MethodError(
            f"this evidence holds the answers that {by.name} was told step by step, of which "
            f"{chosen.name} can make nothing; use --method {by.name}, or run {chosen.name} on the "
            "data, for a budget of its own"
        )


def _check_told(saved: Saved, settings: Settings) -> None:
    """Refuse options of questions that were asked long ago."""
    given = {**settings.special(), "alpha": settings.alpha}
    given["max_order"] = None if settings.max_order == Settings.max_order else settings.max_order
    free = {"threshold", "steps", "sparsity"}  # of weights, which check these themselves
    named = [name for name, value in given.items() if value is not None and name not in free]
    if evidence_file.told(saved) and named:
        raise MethodError(
            f"{named[0]} is {given[named[0]]!r}, but this evidence holds the answers to questions "
            f"that were asked without it; leave it away, or run the method on the data with it"
        )


def _choose(name: str, schema: Schema, delta: float, private: bool) -> Method:
    chosen = registry.auto(schema, delta, private) if name == "auto" else registry.get(name)
    if private and not chosen.private:
        raise MethodError(
            f"{chosen.name} is not private ({chosen.reason}), but an epsilon was given; add "
            f"--no-privacy and leave epsilon away, or use --method auto"
        )
    return chosen
