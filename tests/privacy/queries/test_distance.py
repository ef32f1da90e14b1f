"""Distances to another decision: exact, and moved by one person no further than they say.

True distances come from walking all small tables, breadth first, one record at a time. The
radius is made small here, so that everything within it can be walked; how the search for the
nearest other decision works does not depend on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from math import log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtri

from privet.errors import SchemaError
from privet.privacy.queries import distance as distance_query
from privet.privacy.queries.distance import (
    RADIUS,
    SCALE,
    SLACK,
    Distances,
    DistantRemovals,
    bound,
    scaled_g2,
    signed_distance,
)
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

Counts = tuple[int, ...]


@pytest.fixture
def radius(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(distance_query, "RADIUS", request.param)
    distance_query._ball.cache_clear()
    yield request.param
    distance_query._ball.cache_clear()


def tables(cells: int, most: int) -> Iterator[Counts]:
    """All tables of up to so many records."""
    if cells == 0:
        yield ()
        return
    for count in range(most + 1):
        for rest in tables(cells - 1, most - count):
            yield (count, *rest)


def neighbours(table: Counts) -> Iterator[Counts]:
    for at in range(len(table)):
        for change in (1, -1):
            if table[at] + change >= 0:
                yield (*table[:at], table[at] + change, *table[at + 1 :])


def strata(table: Counts) -> NDArray[np.int64]:
    return np.array(table, dtype=np.int64).reshape(-1, 4).T


def decision(table: Counts, alpha: float) -> bool:
    """Independent, by G² in floating point."""
    parts = strata(table).astype(float).T.reshape(-1, 2, 2)
    total = 0.0
    for part in parts:
        x, y, n = part.sum(axis=1), part.sum(axis=0), part.sum()
        total += sum(
            2 * part[i, j] * log(part[i, j] * n / (x[i] * y[j]))
            for i, j in product((0, 1), repeat=2)
            if part[i, j]
        )
    return bool(total <= chdtri(len(parts), alpha))


def walked(cells: int, most: int, alpha: float) -> dict[Counts, int]:
    """The signed distance of each table, by breadth-first search from all tables that have a
    neighbour on the other side."""
    side = {table: decision(table, alpha) for table in tables(cells, most)}
    found: dict[Counts, int] = {}
    waiting: deque[Counts] = deque()
    for table, independent in side.items():
        if any(side.get(near, independent) != independent for near in neighbours(table)):
            found[table] = 1
            waiting.append(table)
    while waiting:
        table = waiting.popleft()
        for near in neighbours(table):
            if near in side and near not in found:
                found[near] = found[table] + 1
                waiting.append(near)
    return {table: (1 if side[table] else -1) * (2 * found.get(table, 10**6) - 1) for table in side}


# cells, records, level, radius
WALKS = [(4, 12, 0.05, 6), (4, 12, 0.3, 5), (4, 9, 0.01, 8), (8, 4, 0.3, 4), (8, 5, 0.5, 3)]


@pytest.mark.parametrize(
    ("cells", "most", "alpha", "radius"),
    WALKS,
    indirect=["radius"],
    ids=[f"{w[0]}-cells-{w[2]}" for w in WALKS],
)
def test_distances_are_those_of_a_walk_over_all_tables(
    cells: int, most: int, alpha: float, radius: int
) -> None:
    """Exact for every table, cut off at the radius; and no neighbour is further than it says."""
    truth = walked(cells, most + radius + 1, alpha)
    cut = 2 * radius + 1
    found = {table: signed_distance(strata(table), alpha) for table in tables(cells, most)}
    assert {np.sign(value) for value in found.values()} == {-1, 1}
    for table, value in found.items():
        assert value == np.clip(truth[table], -cut, cut), table
        for near in neighbours(table):
            assert abs(found.get(near, value) - value) <= 2
    reached = max(abs(found[t] - found[n]) for t in found for n in neighbours(t) if n in found)
    assert reached == 2  # so a bound of 1 would be too small


def test_the_published_rule_is_further_off_than_one_record() -> None:
    """The decision at a distance, signed without the half: twice as far as claimed."""
    truth = walked(4, 12, 0.05)
    raw = {table: np.sign(value) * (abs(value) + 1) // 2 for table, value in truth.items()}
    moved = [abs(raw[t] - raw[n]) for t in raw for n in neighbours(t) if n in raw]
    assert max(moved) == 2


@pytest.mark.parametrize("radius", [6], indirect=True)
def test_a_distance_is_cut_off_only_where_a_search_would_cut_it_off(
    radius: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large and small tables, with the shortcut and without."""
    rng = np.random.default_rng(0)
    cases = [
        rng.poisson(rng.choice([2, 10, 100, 10_000]) * rng.dirichlet([1] * 4), (k, 4)).T
        for k in (1, 2, 4)
        for _ in range(60)
    ]
    quick = [signed_distance(case, 0.05) for case in cases]
    assert {2 * radius + 1, -2 * radius - 1} < set(quick)
    monkeypatch.setattr(
        distance_query, "_farthest", lambda counts, sign: sign * (1 << 60) // 16
    )  # never far enough off
    assert [signed_distance(case, 0.05) for case in cases] == quick


def test_at_the_full_radius_one_record_moves_a_distance_by_no_more_than_two() -> None:
    """Climbing: from tables near the border, whichever record moves the distance most."""
    rng = np.random.default_rng(1)
    for start in ((30, 10, 12, 20), (3, 40, 2, 9), (60, 0, 0, 1), (5, 5, 5, 5)):
        table: Counts = start
        for _ in range(3):
            here = signed_distance(strata(table), 0.01)
            near = list(neighbours(table))
            moved = [abs(signed_distance(strata(n), 0.01) - here) for n in near]
            assert max(moved) <= 2
            table = near[int(rng.choice(np.flatnonzero(np.array(moved) == max(moved))))]


def test_whole_numbers_are_as_near_as_the_slack_says() -> None:
    """Against 60 digits: up to 2**31 records."""
    from decimal import Decimal, getcontext

    getcontext().prec = 60

    def exact(counts: Counts) -> Decimal:
        a, b, c, d = counts
        sums = [(1, n) for n in counts] + [(-1, a + b), (-1, c + d), (-1, a + c), (-1, b + d)]
        return sum(
            (sign * n * Decimal(n).ln() for sign, n in [*sums, (1, a + b + c + d)] if n),
            Decimal(0),
        )

    rng = np.random.default_rng(2)
    for size in (10, 10**4, 10**7, 2**29):
        for _ in range(20):
            counts = tuple(int(n) for n in rng.integers(0, size, 4))
            assert abs(scaled_g2(counts) - SCALE * exact(counts)) < SLACK / 4


# --- as queries ------------------------------------------------------------------------------


def schema_of(adjacency: Adjacency = Adjacency.ADD_REMOVE, per_person: int = 1) -> Schema:
    columns = tuple(
        Column(name=n, kind="categorical", levels=("0", "1"), missing="drop") for n in "xyz"
    )
    rows = 8 if adjacency is Adjacency.REPLACE_ONE else None
    return Schema(
        name="s", columns=columns, adjacency=adjacency, rows=rows, rows_per_person=per_person
    )


class Table:
    """Rows as a query sees them."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.rows = rows

    def table_batch(self, sets: list[tuple[str, ...]]) -> list[NDArray[np.int64]]:
        out = []
        for members in sets:
            table = np.zeros([2] * len(members), dtype=np.int64)
            np.add.at(table, tuple(self.rows[:, ["xyz".index(n) for n in members]].T), 1)
            out.append(table)
        return out


QUESTIONS = (("x", "y"), ("x", "y", "z"), ("x", "z"))
ASKED = (
    Distances(QUESTIONS, 0.3),
    Distances(QUESTIONS[:1], 0.3, 17),
    DistantRemovals((QUESTIONS[:2], QUESTIONS[2:]), 0.3, 5),
)


@pytest.mark.parametrize("radius", [4], indirect=True)
@pytest.mark.parametrize("per_person", [1, 2])
@pytest.mark.parametrize("adjacency", list(Adjacency), ids=lambda a: a.value)
@pytest.mark.parametrize("query", ASKED, ids=str)
def test_one_person_moves_an_answer_by_at_most_its_sensitivities(
    query: Distances | DistantRemovals, adjacency: Adjacency, per_person: int, radius: int
) -> None:
    """Random rows and all records that may come, go or be replaced (or dropped)."""
    schema, rng = schema_of(adjacency, per_person), np.random.default_rng(5)
    query.check(schema)
    records = np.array(list(product((0, 1), repeat=3)))
    largest = 0
    for _ in range(40):
        rows = records[rng.choice(8, size=8, p=rng.dirichlet([0.3] * 8))]
        before = query.evaluate(Table(rows), schema)  # type: ignore[arg-type]
        assert before.shape == (query.size(schema),) and before.dtype == np.int64
        came = records[rng.integers(0, 8, int(rng.integers(0, per_person + 1)))]
        gone = 0 if adjacency is Adjacency.ADD_REMOVE else per_person
        after = query.evaluate(Table(np.vstack([came, rows[gone:]])), schema)  # type: ignore[arg-type]
        moved = np.abs(after - before)
        assert moved.max() <= query.linf(schema) == bound(schema)
        assert moved.sum() <= query.l1(schema)
        assert (moved**2).sum() <= query.l2_squared(schema)
        largest = max(largest, int(moved.max()))
    assert largest >= 2


def test_removals_fit_as_the_sorted_scores_say() -> None:
    rows = Table(np.random.default_rng(7).integers(0, 2, (30, 3)))
    schema = schema_of()
    scores = Distances(QUESTIONS, 0.3, 5).evaluate(rows, schema).tolist()  # type: ignore[arg-type]
    first, second = sorted([max(scores[:2]), scores[2]], reverse=True)
    fits = ASKED[2].evaluate(rows, schema).tolist()  # type: ignore[arg-type]
    assert fits == [-first, min(first, -second), second]


def test_what_is_too_large_or_has_more_levels_is_refused() -> None:
    schema = schema_of()
    wide = Column(name="w", kind="categorical", levels=tuple("abcdefghijklmnopq"), missing="drop")
    schema = Schema(name="s", columns=(*schema.columns, wide))
    for questions, what in (
        ((), "no question"),
        ((("x", "x"),), "each once"),
        ((("x", "w"),), "has 17.*merge"),
        ((("x", "y", "w"),), "17 strata.*16"),
    ):
        with pytest.raises(SchemaError, match=what):
            Distances(questions, 0.05).check(schema)


def test_the_ball_is_complete() -> None:
    places, starts = distance_query._ball()
    assert len(np.unique(places[:4], axis=1).T) == places.shape[1] == 746_241
    assert len(starts) == RADIUS + 1 and starts[1] == 1 and starts[2] == 9
