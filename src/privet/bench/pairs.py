"""Every way to tell a cause from its effect on the same pairs: how often is it right at what
epsilon?

Simulated pairs of a run are drawn with its number and theirs of rows as the seed, so all methods
and epsilons see the same ones; noise is fresh. In the Tübingen pairs, A is always the cause, so a
coin decides for each pair and run which column is named first. No answer counts one half.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import privet
from privet.bench.runner import collect
from privet.errors import MethodError, PrivetError
from privet.networks import tuebingen
from privet.networks.pairs import ADDITIVE, EITHER_WAY, OTHER, random_pair
from privet.privacy.ledger.conversion import check_asked
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
ROWS = (500, 1000, 2000, 5000, 10_000, 20_000)
PAIRS = 150
METHODS = (
    "table-collisions",
    "table-both",
    "table-entropy",
    "table-ghsic",
    "table-reci",
    "table-cds",
    "table-igci",
    "loss-difference",
    "anm-sqrt-hsic",
    "anm-hsic",
    "anm-iqr",
    "anm-spearman",
    "anm-kendall",
    "anm",
    "reci",
    "reci-cube",
    "igci",
    "igci-gaussian",
    "igci-slope",
    "igci-slope-gaussian",
    "cds",
)
KUSNER = ("anm-sqrt-hsic", "anm-hsic", "anm-iqr")  # theirs, with people in both halves protected
KINDS: Mapping[str, tuple[str, ...]] = {
    "additive": ADDITIVE,
    "other": OTHER,
    "gaussian": EITHER_WAY,
}
DIRECTIONS = {"-->": 1, "<--": -1}  # all else is undecided


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One method on all pairs of one source, once. Without epsilon it is without privacy."""

    source: str  # a kind of simulated pairs, or the folder of the Tübingen pairs
    rows: int  # of each simulated pair; 0 for real ones, which have their own
    pairs: int
    run: int
    method: str
    epsilon: float | None = None
    delta: float | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended. Shares are over all pairs, or those that had an answer."""

    right: float | None = None  # no answer counts one half
    weighted: float | None = None  # the same with the weights of the pairs
    decided: float | None = None
    right_if_decided: float | None = None
    size: int | None = None  # pairs that were asked about
    seconds: float | None = None
    refused: str | None = None


Results = dict[Cell, Result]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What to run: every method at every epsilon and without privacy, ``runs`` times."""

    methods: tuple[str, ...] = METHODS
    epsilons: tuple[float, ...] = EPSILONS
    rows: tuple[int, ...] = ROWS
    pairs: int = PAIRS
    runs: int = 1
    delta: float = 0.0
    folder: str | None = None  # of the Tübingen pairs

    def __post_init__(self) -> None:
        for epsilon in self.epsilons:
            check_asked(epsilon, self.delta)
        for what, values in (("runs", (self.runs,)), ("pairs", (self.pairs,)), ("rows", self.rows)):
            for value in values:
                if value < 1:
                    raise MethodError(f"{what} is {value!r}; give a whole number of at least 1")
        for what in ("methods", "epsilons", "rows"):
            if len(set(getattr(self, what))) != len(getattr(self, what)):
                raise MethodError(f"the {what} name one of them twice; name each once")
        if self.folder is not None:
            tuebingen.load(self.folder)

    def sources(self) -> Iterator[tuple[str, int, int]]:
        """Source, rows and pairs."""
        if self.folder is not None:
            yield self.folder, 0, 0
        for source in KINDS:
            yield from ((source, rows, self.pairs) for rows in self.rows)

    def cells(self) -> Iterator[Cell]:
        """Run by run of each source, so that the pairs are drawn once."""
        for source, rows, pairs in self.sources():
            for run in range(1, self.runs + 1):
                cell = Cell(source=source, rows=rows, pairs=pairs, run=run, method="")
                for method in self.methods:
                    yield replace(cell, method=method)
                    for epsilon in self.epsilons:
                        yield replace(cell, method=method, epsilon=epsilon, delta=self.delta)

    def command(self, output: str) -> str:
        """What to type to get this grid."""
        epsilons = ",".join(f"{epsilon:g}" for epsilon in self.epsilons)
        folder = "" if self.folder is None else f" --tuebingen {self.folder}"
        return (
            f"privet bench pairs{folder} --epsilons {epsilons} --delta {self.delta:g} --methods "
            f"{','.join(self.methods)} --rows {','.join(map(str, self.rows))} "
            f"--pairs {self.pairs} --runs {self.runs} --output {output}"
        )


def run(grid: Grid, folder: str | Path, **options: Any) -> Results:
    """All runs of the grid; the options are those of ``runner.collect``."""
    return collect(list(grid.cells()), one, folder, (Cell, Result), **options)


def one(cell: Cell) -> tuple[Cell, Result]:
    """One run; a method that refuses, as one without privacy does an epsilon, has that as its
    result."""
    asked = _asked(cell.source, cell.rows, cell.pairs, cell.run)
    began = time.perf_counter()
    try:
        answers = [_answer(cell, question) for question in asked]
    except PrivetError as error:
        return cell, Result(refused=str(error))
    seconds = time.perf_counter() - began
    return cell, scored(answers, [question.weight for question in asked], seconds)


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """Two columns, and 1 if the first one causes the second, otherwise -1."""

    data: Mapping[str, Any]
    schema: Schema
    first: str
    second: str
    truth: int
    weight: float = 1.0


def _answer(cell: Cell, question: Question) -> int:
    """1 if right, -1 if wrong, 0 if undecided."""
    options: dict[str, Any] = {"method": cell.method}
    if cell.epsilon is None:
        options |= {"private": False}
    else:
        options |= {"epsilon": cell.epsilon, "delta": cell.delta, "ledger": ":memory:"}
    (found,) = privet.orient(
        question.data, question.schema, cause_effect=(question.first, question.second), **options
    )
    return DIRECTIONS.get(found.direction, 0) * question.truth


def scored(answers: Sequence[int], weights: Sequence[float], seconds: float) -> Result:
    values, heavy = np.asarray(answers, dtype=float), np.asarray(weights, dtype=float)
    decided = values != 0
    credit = (1 + values) / 2
    return Result(
        right=float(credit.mean()),
        weighted=float(credit @ heavy / heavy.sum()),
        decided=float(decided.mean()),
        right_if_decided=float((values[decided] > 0).mean()) if decided.any() else None,
        size=len(values),
        seconds=round(seconds, 3),
    )


@lru_cache(maxsize=2)
def _asked(source: str, rows: int, pairs: int, run: int) -> tuple[Question, ...]:
    """The same questions for every method and epsilon of a run."""
    if source in KINDS:
        rng = np.random.default_rng([run, rows])
        kinds = KINDS[source]
        return tuple(_simulated(kinds[i % len(kinds)], rows, rng) for i in range(pairs))
    rng = np.random.default_rng(run)
    return tuple(_real(pair, rng) for pair in tuebingen.load(source))


def _simulated(kind: str, rows: int, rng: np.random.Generator) -> Question:
    pair = random_pair(kind, rows, rng)
    columns = (
        Column(name=name, kind="numeric", bounds=bounds)
        for name, bounds in zip("xy", pair.bounds(), strict=True)
    )
    schema = Schema(name=kind, columns=tuple(columns), adjacency=Adjacency.REPLACE_ONE, rows=rows)
    data = {"x": pair.x, "y": pair.y}
    truth = 1 if pair.forward else -1
    return Question(data=data, schema=schema, first="x", second="y", truth=truth)


def _real(pair: tuebingen.RealPair, rng: np.random.Generator) -> Question:
    first, second = tuebingen.CAUSE, tuebingen.EFFECT
    truth = 1
    if rng.random() < 0.5:
        first, second, truth = second, first, -1
    data = {tuebingen.CAUSE: pair.cause, tuebingen.EFFECT: pair.effect}
    return Question(
        data=data,
        schema=pair.schema(),
        first=first,
        second=second,
        truth=truth,
        weight=pair.weight,
    )


def publish(grid: Grid, found: Results, folder: str | Path) -> tuple[Path, ...]:
    """The tables and pictures, beside the runs."""
    from privet.bench import kusner, pairs_pages
    from privet.bench.publish import publish as written

    place = Path(folder)
    both = dict.fromkeys((grid.folder, None))  # real pairs, if there are any, and simulated ones
    pages = {
        "summary.md": pairs_pages.summary(grid, found),
        "pairs.md": pairs_pages.tables(grid, found, place.name),
        "pairs.svg": pairs_pages.picture(grid, found),
        "kusner.md": "\n".join(kusner.table(pairs) for pairs in both),
        "kusner.svg": kusner.figure(),
    }
    return written(place, pages)
