"""Local privacy side by side: the experiments of Binkyte et al. (2023) in form, and Privet's
protocols on networks.

The paper sets mechanisms equal by an attacker's success, which leaves their epsilons far apart.
So everything is done twice: at equal success, with the true epsilon of each beside it, and at
equal epsilon. The data of a run are drawn with its number as the seed (real ones are what they
are), and everything that looks at one kind of reports in a run looks at the same ones; the noise is
fresh. Nothing is chosen by looking at the truth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.api.discover import discover
from privet.bench.local_data import (
    FETCHED,
    PAPER,
    Question,
    Source,
    check_source,
    questions,
    source,
)
from privet.bench.local_published import (
    KRR_EACH,
    KRR_ROWS,
    MECHANISMS,
    Noised,
    as_data,
    coded,
    direction,
    noised,
)
from privet.bench.runner import collect
from privet.errors import MethodError, PrivetError
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.local import Randomizer, plan_protocol
from privet.local.collector.counts import LARGEST_SET, LeftOut, as_release, largest_set
from privet.local.collector.tables import ORDERS, planned_worth
from privet.local.collector.tally import tallies_of
from privet.local.device.channel import check_epsilon
from privet.local.device.protocol import check_name
from privet.local.device.recipes import probability
from privet.methods import catalogue
from privet.methods.options import make_settings
from privet.networks import load, tuebingen

NETWORKS = ("cancer", "survey", "asia", "sachs", "child", "earthquake", "alarm", "insurance")
SUCCESSES = (0.05, 0.1, 0.5)
PAPER_EPSILONS = (4.0, 8.0, 20.0, 40.0, 80.0)  # at the paper's successes it is 5 to 300
EPSILONS = (1.0, 2.0, 4.0, 8.0)
PROTOCOLS = ("planned-block", "one-pair", "one-triple", "parity", "combined", "component-wise")
SEARCHES = ("pc", "fci", "ges", "mcmc", "mmhc")
PAIR_METHODS = ("reci", "igci-gaussian", "cds", "anm")
NAIVE = (KRR_EACH, KRR_ROWS)  # of the networks: reports taken for answers
OURS = "local-pc"
NO_NOISE, AUTO = "no noise", "auto"
SHUFFLED = "shuffled"  # of pairs: each column by itself, so that no relation is left
BY_SUCCESS, BY_EPSILON = "success", "epsilon"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One search on one set of reports. ``mechanism`` is one of the paper's four, whose reports
    are taken for answers, a protocol of Privet's, or no noise or shuffled, which have no level."""

    source: str
    rows: int  # 0: as many as the source has
    run: int
    mechanism: str
    method: str
    by: str | None = None
    level: float | None = None


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended: scores of a graph, or of the directions of pairs (no answer counts one
    half); true epsilon and success of a report (of pairs, their means); or why it was refused."""

    skeleton_f1: float | None = None
    directed_f1: float | None = None
    shd: int | None = None
    right: float | None = None
    weighted: float | None = None
    pairs: int | None = None
    epsilon: float | None = None
    success: float | None = None
    seconds: float | None = None
    refused: str | None = None


Results = dict[Cell, Result]
Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """What to run. ``folder`` is where `privet datasets fetch` wrote; without it the real tables
    are left away, unless they are named."""

    folder: str | None = None
    sources: tuple[str, ...] | None = None
    networks: tuple[str, ...] = NETWORKS
    successes: tuple[float, ...] = SUCCESSES
    paper_epsilons: tuple[float, ...] = PAPER_EPSILONS
    searches: tuple[str, ...] = SEARCHES
    epsilons: tuple[float, ...] = EPSILONS
    protocols: tuple[str, ...] = PROTOCOLS
    runs: int = 5
    rows: int = 100_000

    def __post_init__(self) -> None:
        for name in self.paper:
            check_source(name, self.folder)
        for name in self.networks:
            load(name)
        for protocol in self.protocols:
            check_name(protocol)
        for search in self.searches:
            catalogue.get(search)
        for epsilon in (*self.epsilons, *self.paper_epsilons):
            check_epsilon(epsilon)
        for success in self.successes:
            if not 0 < probability(success) < 1:
                raise MethodError(f"a success is {success!r}; give probabilities, such as 0.5")
        for what, value in (("runs", self.runs), ("rows", self.rows)):
            if value < 1:
                raise MethodError(f"{what} is {value!r}; give a whole number of at least 1")

    @property
    def paper(self) -> tuple[str, ...]:
        """The rows of the paper's experiments."""
        if self.sources is not None:
            return self.sources
        return tuple(name for name in PAPER if self.folder is not None or name not in FETCHED)

    def methods(self, name: str) -> tuple[str, ...]:
        return PAIR_METHODS if name == tuebingen.FOLDER else self.searches

    @property
    def levels(self) -> tuple[tuple[str, float], ...]:
        return (
            *((BY_SUCCESS, success) for success in self.successes),
            *((BY_EPSILON, epsilon) for epsilon in self.paper_epsilons),
        )

    def cells(self) -> Iterator[Cell]:
        """Run by run, and all that looks at the same reports one after another."""
        for run in range(1, self.runs + 1):
            for name in self.paper:
                yield from self._of_paper(name, run)
            for name in self.networks:
                yield from self._of_network(name, run)

    def _of_paper(self, name: str, run: int) -> Iterator[Cell]:
        cell = Cell(source=name, rows=0, run=run, mechanism=NO_NOISE, method="")
        for method in self.methods(name):
            yield replace(cell, method=method)
            if name == tuebingen.FOLDER:
                yield replace(cell, method=method, mechanism=SHUFFLED)
        for by, level in self.levels:
            for mechanism in MECHANISMS:
                noisy = replace(cell, mechanism=mechanism, by=by, level=level)
                yield from (replace(noisy, method=method) for method in self.methods(name))
            if by == BY_EPSILON and name != tuebingen.FOLDER:
                yield replace(cell, mechanism=AUTO, method=OURS, by=by, level=level)

    def _of_network(self, name: str, run: int) -> Iterator[Cell]:
        cell = Cell(source=name, rows=self.rows, run=run, mechanism=NO_NOISE, method="pc")
        yield cell
        for epsilon in self.epsilons:
            noisy = replace(cell, by=BY_EPSILON, level=epsilon)
            for mechanism in NAIVE:
                yield replace(noisy, mechanism=mechanism)
            for protocol in self.protocols:
                yield replace(noisy, mechanism=protocol, method=OURS)

    def command(self, output: str) -> str:
        """What to type to get this grid."""
        folder = "" if self.folder is None else f" --data {self.folder}"
        return (
            f"privet bench local{folder} --sources {','.join(self.paper) or 'none'} --networks "
            f"{','.join(self.networks) or 'none'} --successes {_numbers(self.successes)} "
            f"--paper-epsilons "
            f"{_numbers(self.paper_epsilons)} --searches {','.join(self.searches)} --epsilons "
            f"{_numbers(self.epsilons)} --protocols {','.join(self.protocols)} --runs {self.runs} "
            f"--rows {self.rows} --output {output}"
        )


def _numbers(values: Sequence[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def run(grid: Grid, folder: str | Path, **options: Any) -> Results:
    """All runs of the grid; the options are those of ``runner.collect``."""
    cells = list(dict.fromkeys(grid.cells()))
    return collect(cells, partial(one, folder=grid.folder), folder, (Cell, Result), **options)


def one(cell: Cell, folder: str | None = None) -> tuple[Cell, Result]:
    """One run; what cannot be done, such as a success below chance, has the reason as its
    result."""
    began = time.perf_counter()
    try:
        if cell.source == tuebingen.FOLDER:
            assert folder is not None
            found = _directions(cell, folder)
        else:
            found = _graph(cell, source(cell.source, cell.rows, cell.run, folder), folder)
    except PrivetError as error:
        return cell, Result(refused=str(error))
    return cell, replace(found, seconds=round(time.perf_counter() - began, 3))


def _graph(cell: Cell, given: Source, folder: str | None) -> Result:
    if cell.method == OURS:
        graph, epsilon = _by_protocol(cell, given)
        return replace(scored(given.graph, graph), epsilon=epsilon)
    if cell.mechanism == NO_NOISE:
        codes = coded(given.data, given.schema.columns)
        return scored(given.graph, _searched(cell, codes, given))
    noisy = _noised(replace(cell, method=""), folder)
    result = scored(given.graph, _searched(cell, noisy.codes, given))
    return replace(result, epsilon=noisy.epsilon, success=noisy.success)


@lru_cache(maxsize=1)
def _noised(cell: Cell, folder: str | None) -> Noised:
    """The reports of a cell, whatever the method."""
    given = source(cell.source, cell.rows, cell.run, folder)
    assert cell.by is not None
    rng = np.random.default_rng(cell.run)
    codes = coded(given.data, given.schema.columns)
    wanted: dict[str, Any] = {cell.by: cell.level}
    return noised(codes, given.schema, cell.mechanism, rng, **wanted)


def _searched(cell: Cell, codes: Any, given: Source) -> Graph:
    """The search without privacy, on what it is told are answers."""
    data = as_data(codes, given.schema)
    found = discover(data, given.schema, method=cell.method, private=False, seed=cell.run)
    return found.graph


def _by_protocol(cell: Cell, given: Source) -> tuple[Graph, float]:
    """Reports by a protocol of Privet's, and the search that knows it."""
    assert cell.level is not None
    protocol = plan_protocol(given.schema, cell.level, cell.mechanism)
    codes = coded(given.data, protocol.columns)
    reports = Randomizer(protocol).report_codes(codes)
    wanted = LARGEST_SET if planned_worth(protocol, len(codes)) >= ORDERS[0] else 2
    largest = largest_set(protocol, wanted)  # without tables that the search will not look at
    release = as_release(protocol, tallies_of(protocol, reports), LeftOut(), largest)
    method = catalogue.get(cell.method)
    found = method.search(given.schema, (release,), make_settings(seed=cell.run))
    return found.graph, float(protocol.loss)


def scored(truth: Graph, found: Graph) -> Result:
    """Graphs with hidden causes are held against the best that could be found of the truth."""
    score = compare(truth.pag() if found.kind == "pag" else truth, found.as_shown())
    return Result(skeleton_f1=score.skeleton_f1, directed_f1=score.directed_f1, shd=score.shd)


def _directions(cell: Cell, folder: str) -> Result:
    """All pairs for which the level is possible: an attacker's success may be below chance."""
    asked = questions(cell.run, folder)
    if cell.by is None:
        told_of = [(question, _answers(cell, question.codes)) for question in asked]
        levels: list[Noised] = []
    else:
        kept = _noised_pairs(replace(cell, method=""), folder)
        told_of = [(question, noisy.codes) for question, noisy in kept]
        levels = [noisy for _, noisy in kept]
    credit = [
        (1 + direction(codes, question.schema, cell.method) * question.truth) / 2
        for question, codes in told_of
    ]
    return Result(
        right=fmean(credit),
        weighted=fmean(credit, [question.weight for question, _ in told_of]),
        pairs=len(credit),
        epsilon=fmean(noisy.epsilon for noisy in levels) if levels else None,
        success=fmean(noisy.success for noisy in levels) if levels else None,
    )


def _answers(cell: Cell, codes: Codes) -> Codes:
    """The pair as it is, or what its two columns say apart: what a method finds in these it has
    not found in their relation."""
    if cell.mechanism != SHUFFLED:
        return codes
    return np.random.default_rng(cell.run).permuted(codes, axis=0)


@lru_cache(maxsize=1)
def _noised_pairs(cell: Cell, folder: str) -> list[tuple[Question, Noised]]:
    """The reports of a cell, whatever the method."""
    found, rng, reason = [], np.random.default_rng(cell.run), ""
    assert cell.by is not None
    wanted: dict[str, Any] = {cell.by: cell.level}
    for question in questions(cell.run, folder):
        try:
            noisy = noised(question.codes, question.schema, cell.mechanism, rng, **wanted)
        except MethodError as error:
            reason = str(error)
        else:
            found.append((question, noisy))
    if not found:
        raise MethodError(reason)
    return found


def publish(grid: Grid, found: Results, folder: str | Path) -> tuple[Path, ...]:
    """The tables and pictures, beside the runs."""
    from privet.bench import local_pages
    from privet.bench.publish import publish as written

    place = Path(folder)
    pages = {
        "local.md": local_pages.page(grid, found, place.name),
        "local-paper.svg": local_pages.paper_picture(grid, found),
        "local-protocols.svg": local_pages.protocols_picture(grid, found),
    }
    return written(place, pages)
