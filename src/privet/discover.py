"""The front door: a table, what is public about it and a budget; out comes a graph.

Everything public is checked first, so a refusal costs nothing. Then the budget is reserved on
disk, the method measures, what it did not spend goes back, and the search runs on what was
measured. ``measure`` and ``search`` are the two halves: the first costs privacy and is done once,
the second is free and may be repeated on saved evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from privet import certificate as certificates
from privet.accounting import check_budget
from privet.certificate import Certificate
from privet.discovery import Discovery
from privet.errors import BudgetError, DataError, EvidenceError, MethodError, SchemaError
from privet.evidence import file as evidence_file
from privet.evidence.file import Saved
from privet.graph.knowledge import Knowledge
from privet.ledger import Ledger, Run
from privet.methods import registry
from privet.methods.registry import Method, Published, Settings
from privet.options import OnStep, make_settings
from privet.output import NOTE
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


@contextmanager
def paid(saved: Saved) -> Iterator[None]:
    """Whatever stops a search, its error holds the evidence and says what that has cost."""
    try:
        yield
    except BaseException as error:
        error.evidence = saved  # type: ignore[attr-defined]
        if saved.certificate["private"]:
            spent, name = saved.certificate["spent"]["epsilon"], saved.schema.name
            error.add_note(f"{NOTE}epsilon {spent:.6g} of data set {name!r} was spent before that")
        raise


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
    _check_budget_options(epsilon, delta, private)
    all_chosen = [_choose(name, known, delta, private) for name in _names(method)]
    _check_options(all_chosen, settings)
    for each in all_chosen:
        each.serve(known, delta, settings)
    chosen = all_chosen[0]
    _check_data(data)
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
        promise = certificates.without_privacy(known, chosen.name, releases)
        return Saved(schema=known, releases=releases, certificate=dict(promise))
    _check_shared(all_chosen)
    Curator.open(data, known, None)  # holds the header against the schema; reads no row
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    run = book.begin(known.name, epsilon=epsilon, delta=delta, method=chosen.name, unit=known.unit)
    with _told(run), run:
        releases = chosen.measure(Curator.open(data, known, run), settings)
    account = book.account(known.name)
    assert account is not None  # the run is in it
    promise = certificates.of_run(known, run, releases, account, durable=book.durable)
    return Saved(schema=known, releases=releases, certificate=dict(promise))


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
            f"{' and '.join(method.name for method in chosen)} cannot be run as published; "
            f"choose one of {', '.join(named)}"
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
    if data is not None or epsilon is not None:
        given = "data" if data is not None else f"epsilon {epsilon!r}"
        raise EvidenceError(
            f"evidence was given together with {given}, but a search on saved evidence reads no "
            f"data and spends nothing; leave one of the two away"
        )
    if not isinstance(evidence, Saved | str | Path):
        raise EvidenceError(
            f"the evidence is a {type(evidence).__name__}; give the .evidence of a discovery, or "
            f"the path of an evidence.json"
        )
    saved = evidence if isinstance(evidence, Saved) else evidence_file.load(evidence)
    if schema is not None:
        saved = replace(saved, schema=_same_table(saved.schema, read_schema(schema)))
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
    found = chosen.search(saved.schema, saved.releases, settings)
    return Discovery(
        graph=found.graph,
        certificate=certificates.of_search(
            measured,
            chosen.name,
            settings.options(len(saved.schema.columns), chosen.uses),
            reused=reused,
        ),
        evidence=saved,
        method=chosen.name,
        tests=found.tests,
        notes=found.notes,
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
                f"{other.name} measures {other.evidence}, but {first.name} measures "
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


def read_schema(schema: Schema | str | Path | None) -> Schema:
    """The schema, which must be there and have two columns to compare."""
    if schema is None:
        raise SchemaError(
            "there is no schema, and what is public about the data must not be learnt from them; "
            "propose one with `privet schema draft DATA > schema.toml`, correct it, and give it "
            "with --schema schema.toml"
        )
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"the schema is a {type(schema).__name__}; give a privet.Schema or the path of a "
            f"TOML file"
        )
    if len(schema.columns) < 2:
        raise SchemaError(
            f"schema {schema.name!r} has 1 column, {schema.names[0]!r}; a graph needs at least 2: "
            f"add a [columns.NAME] section"
        )
    return schema


def _same_table(old: Schema, new: Schema) -> Schema:
    def table(schema: Schema) -> Schema:
        return replace(schema, knowledge=Knowledge(), unconfirmed=())

    if table(old) != table(new):
        raise EvidenceError(
            f"the schema {new.name!r} is not the one that this evidence was measured with "
            f"({old.name!r}), apart from its knowledge; use that one, or leave the schema away"
        )
    return replace(old, knowledge=new.knowledge)


def _check_budget_options(epsilon: float | None, delta: float, private: bool) -> None:
    if not private:
        if epsilon is not None:
            raise BudgetError(
                f"epsilon {epsilon!r} was given together with --no-privacy (private=False), which "
                f"spends nothing and promises nothing; leave one of the two away"
            )
        return
    if epsilon is None:
        raise BudgetError(
            "there is no epsilon; give one, such as --epsilon 1 (smaller is more private), or "
            "--no-privacy to compute without protection"
        )
    check_budget(epsilon, delta)


def _choose(name: str, schema: Schema, delta: float, private: bool) -> Method:
    chosen = registry.auto(schema, delta, private) if name == "auto" else registry.get(name)
    if private and not chosen.private:
        raise MethodError(
            f"{chosen.name} is not private ({chosen.reason}), but an epsilon was given; add "
            f"--no-privacy and leave epsilon away, or use --method auto"
        )
    return chosen


def _check_data(data: object) -> None:
    if data is None:
        raise DataError("there are no data; give a CSV or Parquet file, a DataFrame or a table")
    if isinstance(data, str | Path):
        path = Path(data)
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DataError(
                f"{str(data)!r} is a pipe or a device, which can be read only once; save the "
                f"table as a file first"
            )


@contextmanager
def _told(run: Run) -> Iterator[None]:
    """Whatever stops a run, its error says what had been spent by then."""
    try:
        yield
    except BaseException as error:
        if run.entries:
            error.add_note(
                f"{NOTE}epsilon {run.spent_epsilon:.6g} of data set {run.dataset!r} was spent "
                f"before that (run {run.id} in the ledger)"
            )
        raise
