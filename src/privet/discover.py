"""The front door: a table, what is public about it and a budget; out comes a graph.

Everything public is checked first, so a refusal costs nothing. Then the budget is reserved on
disk, the method measures, what it did not spend goes back, and the search runs on what was
measured. ``measure`` and ``search`` are the two halves: the first costs privacy and is done once,
the second is free and may be repeated on saved evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet import certificate as certificates
from privet.accounting import check_budget
from privet.certificate import Certificate
from privet.errors import BudgetError, DataError, EvidenceError, MethodError, SchemaError
from privet.evidence import file as evidence_file
from privet.evidence.file import Saved
from privet.graph.graph import Edge, Graph
from privet.graph.knowledge import Knowledge
from privet.ledger import Ledger, Run
from privet.methods import registry
from privet.methods.registry import Method, Settings
from privet.output import NOTE, Stage
from privet.schema import Schema
from privet.trust.central import Curator

OnStep = Callable[[str, float], None]


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """A graph with its confidence, what was promised for it, and the evidence behind it."""

    graph: Graph
    certificate: Certificate
    evidence: Saved
    method: str
    notes: tuple[str, ...] = ()

    @property
    def confidence(self) -> dict[Edge, float]:
        """How sure each edge is, from 0 to 1."""
        return {e: e.confidence for e in self.graph.edges if e.confidence is not None}

    def save(self, folder: str | Path, *, force: bool = False) -> tuple[Path, ...]:
        """Write graph.json, certificate.json, evidence.json, graph.svg and report.html."""
        with Stage(folder, force=force) as stage:
            return self.write(stage)

    def write(self, stage: Stage) -> tuple[Path, ...]:
        """The files, into a folder in the making; returns where they will be."""
        from privet.graph.io import to_json
        from privet.report import html

        stage.write("evidence.json", evidence_file.to_json(self.evidence))
        stage.write("graph.json", to_json(self.graph))
        stage.write("certificate.json", self.certificate.to_json())
        stage.write("graph.svg", str(self.plot()))
        stage.write("report.html", html.report(self))
        return stage.files()

    def plot(self) -> Picture:
        """The graph as SVG; a notebook shows it as a picture."""
        from privet.graph.picture import svg

        return Picture(svg(self.graph))

    def to_networkx(self) -> Any:
        from privet.graph.io import to_networkx

        return to_networkx(self.graph)

    def __str__(self) -> str:
        lines = [
            str(e) + (f"  ({e.confidence:.2f})" if e.confidence is not None else "")
            for e in self.graph.edges
        ]
        return "\n".join([*(lines or ["no edges"]), "", str(self.certificate)])


class Picture(str):
    """SVG text that a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def discover(
    data: object = None,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float | None = None,
    delta: float = 1e-6,
    method: str = "auto",
    alpha: float | None = None,
    max_order: int = 2,
    seed: int = 0,
    private: bool = True,
    evidence: Saved | str | Path | None = None,
    ledger: Ledger | str | Path | None = None,
    on_step: OnStep | None = None,
) -> Discovery:
    """The causal graph of a table, with (epsilon, delta) differential privacy for its people.

    ``data`` is a CSV or Parquet file, a DataFrame (pandas, polars), an Arrow or Ibis table or a
    dict of columns. The budget is charged to the schema's name in ``ledger`` (a file; by default
    the one in the user's data directory). ``private=False`` computes without privacy and takes
    no epsilon. With ``evidence``, the saved release of an earlier run is searched again: no data
    are read and nothing is spent; a schema given beside it may bring other knowledge.

    ``on_step(what, share)`` is told what is being done and how much of the work is behind.
    """
    settings = make_settings(alpha=alpha, max_order=max_order, seed=seed, on_step=on_step)
    if evidence is not None:
        return reuse(evidence, settings, data=data, schema=schema, epsilon=epsilon, method=method)
    saved = measure(
        data, schema, settings,
        epsilon=epsilon, delta=delta, method=method, private=private, ledger=ledger,
    )  # fmt: skip
    return search(saved, settings)


def make_settings(
    *, alpha: float | None, max_order: int, seed: int, on_step: OnStep | None = None
) -> Settings:
    """The options of a search, or a refusal."""
    if alpha is not None and (_not_number(alpha) or not 0 < alpha < 1):
        raise MethodError(
            f"alpha is {alpha!r}, but it must lie between 0 and 1; 0.1 is usual, smaller "
            f"keeps fewer edges"
        )
    for what, value in (("max_order", max_order), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise MethodError(f"{what} is {value!r}, but it must be a whole number from 0 on")
    more: dict[str, Any] = {} if on_step is None else {"on_step": on_step}
    level = None if alpha is None else float(alpha)
    return Settings(alpha=level, max_order=max_order, seed=seed, **more)


def measure(
    data: object,
    schema: Schema | str | Path | None,
    settings: Settings,
    *,
    epsilon: float | None,
    delta: float,
    method: str = "auto",
    private: bool = True,
    ledger: Ledger | str | Path | None = None,
) -> Saved:
    """The half that reads the data and costs privacy; all that is public is checked before."""
    known = read_schema(schema)
    _check_budget_options(epsilon, delta, private)
    chosen = _choose(method, known, delta, private)
    chosen.serve(known, delta, settings)
    _check_data(data)
    if not private or epsilon is None:
        releases = chosen.measure(Curator.open(data, known, None), settings)
        promise = certificates.without_privacy(known, chosen.name, releases)
        return Saved(schema=known, releases=releases, certificate=dict(promise))
    Curator.open(data, known, None)  # holds the header against the schema; reads no row
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    run = book.begin(known.name, epsilon=epsilon, delta=delta, method=chosen.name, unit=known.unit)
    with _told(run), run:
        releases = chosen.measure(Curator.open(data, known, run), settings)
    account = book.account(known.name)
    assert account is not None  # the run is in it
    promise = certificates.of_run(known, run, releases, account, durable=book.durable)
    return Saved(schema=known, releases=releases, certificate=dict(promise))


def reuse(
    evidence: Saved | str | Path,
    settings: Settings,
    *,
    data: object = None,
    schema: Schema | str | Path | None = None,
    epsilon: float | None = None,
    method: str = "auto",
) -> Discovery:
    """Search saved evidence again; a schema may bring other knowledge, but no other columns."""
    if data is not None or epsilon is not None:
        given = "data" if data is not None else f"epsilon {epsilon!r}"
        raise EvidenceError(
            f"evidence was given together with {given}, but a search on saved evidence reads no "
            f"data and spends nothing; leave one of the two away"
        )
    saved = evidence if isinstance(evidence, Saved) else evidence_file.load(evidence)
    if schema is not None:
        saved = replace(saved, schema=_same_table(saved.schema, read_schema(schema)))
    return search(saved, settings, method=method, reused=True)


def search(
    saved: Saved, settings: Settings, *, method: str = "auto", reused: bool = False
) -> Discovery:
    """The half that costs nothing: a graph from evidence."""
    measured = certificates.of_evidence(saved.certificate)
    chosen = registry.get(measured["method"] if method == "auto" else method)
    by = registry.get(measured["method"])
    if chosen.evidence != by.evidence:
        raise MethodError(
            f"{chosen.name} searches {chosen.evidence}, but this evidence holds {by.evidence} "
            f"(measured by {by.name}); use --method {by.name}"
        )
    chosen.check(saved.schema, settings)
    found = chosen.search(saved.schema, saved.releases, settings)
    alpha = settings.level(len(saved.schema.columns))
    options = {"alpha": alpha, "max_order": settings.max_order, "seed": settings.seed}
    return Discovery(
        graph=found.graph,
        certificate=certificates.of_search(measured, chosen.name, options, reused=reused),
        evidence=saved,
        method=chosen.name,
        notes=found.notes,
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
            f"{chosen.name} is not private, but an epsilon was given; add --no-privacy and leave "
            f"epsilon away, or use --method auto"
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


def _not_number(value: object) -> bool:
    return isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value)


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
