"""Distances to where a bound fails, without slack: every small sample and every neighbour of it.

A regression hardly ever moves two residuals apart by all that its bound allows, so tests on tables
alone would not notice a distance that is half as careful as it must be. Here residuals are given
and moved by all of η, through the same ``evaluate`` (proofs/anm.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.privacy.queries.additive_noise import Anm, AnmScores, Residuals
from privet.privacy.queries.residuals import REACH, IqrStability, LogIqr
from privet.privacy.queries.tested import RankStability
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

Row = tuple[int, int]  # a cause and a residual
Sample = tuple[Row, ...]

MODEL = Anm(x="x", y="y", ridge=30.0, key=bytes(range(32)))
CAUSES, MOST_PAIRS = (0, 1), 4


@cache
def schema_for(test_rows: int) -> Schema:
    columns = tuple(Column(name=name, kind="numeric", bounds=(-1, 1)) for name in "xy")
    return Schema(
        name="people", columns=columns, adjacency=Adjacency.REPLACE_ONE, rows=2 * test_rows
    )


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Models take the residuals that they are given in the place of rows."""
    monkeypatch.setattr(Anm, "residuals", lambda self, rows, schema: rows)
    return monkeypatch


def halves(sample: Sample) -> tuple[Residuals, Residuals]:
    """The sample as the residuals of one direction; those of the other are of equal causes, whose
    order a training record cannot turn."""
    cause, left = np.array(sample).T
    return Residuals(cause=cause, left=left), Residuals(cause=0 * cause, left=0 * left)


def evaluated(query: RankStability | IqrStability | LogIqr, rows: object, size: int) -> int:
    return int(query.evaluate(rows, schema_for(size))[0])  # type: ignore[arg-type]


# -- orders


def trained(sample: Sample, eta: int) -> Iterator[Sample]:
    """All that a training record can do: each cause moves its residuals by η at most."""
    for moves in product((-eta, 0, eta), repeat=len(CAUSES)):
        yield tuple((cause, left + moves[cause]) for cause, left in sample)


def replaced(sample: Sample, values: range) -> Iterator[Sample]:
    """All that a test record can do."""
    for at, row in product(range(len(sample)), product(CAUSES, values)):
        yield (*sample[:at], row, *sample[at + 1 :])


def turned(before: Sample, after: Sample) -> int:
    """Pairs whose order is another one, ties included."""
    gaps = ([a[1] - b[1] for a, b in combinations(s, 2)] for s in (before, after))
    return sum((a > 0) - (a < 0) != (b > 0) - (b < 0) for a, b in zip(*gaps, strict=True))


def worst(protect: str, pairs: int, really: int) -> tuple[int, int]:
    """How far a distance moves at most, and how many pairs at most turn where it is 1 or more,
    if a training record moves residuals by ``really``."""
    query = RankStability(model=MODEL, pairs=pairs, protect=protect)  # type: ignore[arg-type]
    values, known, moved, most = range(5), dict[Sample, int](), 0, 0

    def distance(sample: Sample) -> int:
        sample = tuple(sorted(sample))  # in what order rows stand is no matter
        if sample not in known:
            known[sample] = evaluated(query, halves(sample), len(sample))
        return known[sample]

    for sample in combinations_with_replacement(product(CAUSES, values), 3):
        for after in trained(sample, really):
            moved = max(moved, abs(distance(sample) - distance(after)))
            if distance(sample) >= 1:
                most = max(most, turned(sample, after))
        if protect == "both":
            others = replaced(sample, values)
            moved = max(moved, *(abs(distance(sample) - distance(after)) for after in others))
    return moved, most


@pytest.mark.parametrize("protect", ["both", "training"])
@pytest.mark.parametrize("pairs", range(MOST_PAIRS + 1))
def test_orders_on_every_small_sample(protect: str, pairs: int, given: pytest.MonkeyPatch) -> None:
    """The distance moves by 1 and no more, and where it is 1 or more, as many pairs as it says
    may turn do turn, and no more. (Of three rows, two pairs at most have different causes; if as
    many may turn, no training record ever breaks anything.)"""
    given.setattr(Anm, "eta", lambda self, schema: 1)
    moved, most = worst(protect, pairs, really=1)
    assert moved == (0 if protect == "training" and pairs >= 2 else 1)
    assert most == min(pairs, 2)


@pytest.mark.parametrize("protect", ["both", "training"])
def test_half_of_eta_would_be_found_out(protect: str, given: pytest.MonkeyPatch) -> None:
    given.setattr(Anm, "eta", lambda self, schema: 1)
    assert worst(protect, 1, really=2)[1] > 1


@pytest.mark.parametrize("score", ["kendall", "spearman"])
def test_scores_of_stable_orders_keep_their_bound(score: str, given: pytest.MonkeyPatch) -> None:
    """Two causes or three, four rows, all movements by η; the bound of a training record alone is
    attained by Kendall's score."""
    given.setattr(Anm, "eta", lambda self, schema: 1)
    size, rng, best = 4, np.random.default_rng(1), 0.0
    for pairs in range(1, 4):
        stable = RankStability(model=MODEL, pairs=pairs, protect="training")
        query = AnmScores(model=MODEL, score=score, protect="training", pairs=pairs)
        for _ in range(300):
            cause = rng.integers(0, 3, size)
            left = rng.integers(0, 7, size)
            rows = tuple(zip(cause.tolist(), left.tolist(), strict=True))
            if evaluated(stable, halves(rows), size) == 0:
                continue
            before = query.evaluate(halves(rows), schema_for(size))  # type: ignore[arg-type]
            moves = rng.integers(-1, 2, (8, 3))
            for move in moves:
                after = tuple((c, int(v + move[c])) for c, v in rows)
                found = query.evaluate(halves(after), schema_for(size))  # type: ignore[arg-type]
                best = max(best, np.abs(found - before).max() / query.bound(schema_for(size)))
    assert 0.3 < best <= 1


# -- ranges


def values_of(base: tuple[int, ...], unit: int) -> tuple[Residuals, Residuals]:
    left = np.array(base) * unit
    return Residuals(cause=0 * left, left=left), Residuals(cause=0 * left, left=left)


def neighbours(base: tuple[int, ...], span: int, eta: int) -> Iterator[tuple[int, ...]]:
    """Another value for one, or each moved by η at most, none beyond the reach."""
    for at, new in product(range(len(base)), range(-span, span + 1)):
        yield tuple(sorted((*base[:at], new, *base[at + 1 :])))
    if eta:
        for moves in product((-eta, eta), repeat=len(base)):
            moved = (value + by for value, by in zip(base, moves, strict=True))
            yield tuple(sorted(min(max(value, -span), span) for value in moved))


@pytest.mark.parametrize(
    ("size", "span", "eta", "width"),
    [(5, 4, 0, 2.0), (8, 2, 0, 0.5), (8, 2, 0, 2.0), (5, 5, 1, 4.0), (8, 2, 1, 6.0)],
)
def test_ranges_on_every_small_sample(
    size: int, span: int, eta: int, width: float, given: pytest.MonkeyPatch
) -> None:
    """The distance moves by 1 and no more; where it is 2 or more, the range stays in its bin."""
    unit = REACH // span
    given.setattr(Anm, "eta", lambda self, schema: eta * unit)
    query = IqrStability(model=MODEL, of="y given x", width=width)
    spread = LogIqr(model=MODEL, of="y given x", width=width)
    bases = list(combinations_with_replacement(range(-span, span + 1), size))
    found = {
        base: tuple(evaluated(q, values_of(base, unit), size) for q in (query, spread))
        for base in bases
    }
    most, tested = 0, 0
    for base in bases:
        distance, log = found[base]
        for other in set(neighbours(base, span, eta)):
            most = max(most, abs(distance - found[other][0]))
            if distance >= 2:
                tested += 1
                assert abs(log - found[other][1]) <= spread.bound(schema_for(size))
    assert most == 1 and tested > 0


def test_a_range_that_moves_further_would_be_found_out(given: pytest.MonkeyPatch) -> None:
    """If a training record moved residuals though η says that it moves nothing."""
    given.setattr(Anm, "eta", lambda self, schema: 0)
    query = IqrStability(model=MODEL, of="y given x", width=0.5)
    spread = LogIqr(model=MODEL, of="y given x", width=0.5)
    unit, size = REACH // 4, 5
    broken = 0
    for base in combinations_with_replacement(range(-4, 5), size):
        if evaluated(query, values_of(base, unit), size) >= 2:
            log = evaluated(spread, values_of(base, unit), size)
            after = values_of(tuple(np.clip(np.add(base, [-1, -1, 0, 1, 1]), -4, 4)), unit)
            broken += abs(evaluated(spread, after, size) - log) > spread.bound(schema_for(size))
    assert broken > 0


# -- whole tables


class Table:
    """Rows as a query sees them."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.rows = rows

    def numbers(self, columns: tuple[str, ...]) -> Iterator[NDArray[np.float64]]:
        yield self.rows


def crowded(rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    """Ties, near ties, constant columns, extreme rows and plain ones."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.choice([-1.0, -0.3, 0.0, 0.9, 1.0], (rows, 2))
    table = rng.uniform(-1, 1, (rows, 2)) * rng.choice([0.01, 1.0])
    if kind == 1:
        table[:, rng.integers(2)] = rng.choice([-1.0, 0.4])
    return table


@pytest.mark.parametrize(
    "query",
    [
        RankStability(model=MODEL, pairs=40),
        RankStability(model=replace(MODEL, ridge=1000.0), pairs=12),
        IqrStability(model=MODEL, of="y given x", width=0.25),
        IqrStability(model=replace(MODEL, ridge=1000.0), of="x given y", width=1.0),
        IqrStability(model=MODEL, of="x", width=0.5),
    ],
    ids=repr,
)
def test_no_climb_moves_a_distance_by_more(query: RankStability | IqrStability) -> None:
    """Of tables of 20 rows: the one record that moves a distance most, of either half."""
    rng, rows, most = np.random.default_rng(3), 20, 0
    order = MODEL.order(rows)
    for place in (order[0], order[-1]):
        table, new, best = crowded(rng, rows), crowded(rng, 1)[0], 0
        for _ in range(60):
            tried, fresh = table.copy(), new
            if rng.random() < 0.3:
                fresh = crowded(rng, 1)[0]
            else:
                some = rng.integers(rows, size=rng.integers(1, 6))
                tried[some] = crowded(rng, len(some))
            after = tried.copy()
            after[place] = fresh
            moved = abs(
                evaluated(query, Table(tried), rows // 2)
                - evaluated(query, Table(after), rows // 2)
            )
            if moved >= best:
                table, new, best = tried, fresh, moved
        most = max(most, best)
    assert most <= query.bound(schema_for(rows // 2)) == 1


def test_who_comes_or_goes_is_not_covered() -> None:
    """The halves need a public number of rows, so under add-remove nothing of this is sold."""
    columns = schema_for(2).columns
    for query in (RankStability(model=MODEL, pairs=1), IqrStability(model=MODEL, of="x")):
        with pytest.raises(Exception, match="adjacency"):
            query.check(Schema(name="people", columns=columns))
