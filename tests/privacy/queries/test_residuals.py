"""Distances in records: one record moves each of them by 1 (proofs/anm.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, exp, log

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.errors import MethodError, PrivetError
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.additive_noise import Anm, AnmScores, Residuals
from privet.privacy.queries.base import from_document, to_document
from privet.privacy.queries.residuals import (
    LEAST_IQR,
    MOST_STEPS,
    OF,
    REACH,
    UNIT,
    IqrStability,
    LogIqr,
    QuartileRanks,
    _Sample,
)
from privet.privacy.queries.ridge import FINE, GRID
from privet.privacy.queries.tested import RankStability, StableRange, StableRanks, near_pairs
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Query = RankStability | QuartileRanks | IqrStability

MODEL = Anm(x="x", y="y", ridge=30.0, key=bytes(range(32)))
QUERIES: tuple[Query, ...] = (
    RankStability(model=MODEL, pairs=8),
    RankStability(model=replace(MODEL, ridge=1000.0), pairs=3, protect="training"),
    *(QuartileRanks(model=MODEL, of=of, quarter=q) for of, q in zip(OF, (1, 3, 1, 3), strict=True)),
    QuartileRanks(model=MODEL, of="y given x", quarter=1, protect="training"),
    QuartileRanks(model=MODEL, of="x given y", quarter=3, protect="test"),
    *(IqrStability(model=MODEL, of=of, width=0.5) for of in OF),
    IqrStability(model=MODEL, of="y given x", width=1.0, protect="training"),
)


class Table:
    """Rows as a query sees them."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        if len(self.rows):
            yield self.rows


def schema_for(rows: int, rows_per_person: int = 1) -> Schema:
    columns = tuple(Column(name=name, kind="numeric", bounds=(-1, 1)) for name in "xy")
    return Schema(
        name="people",
        columns=columns,
        adjacency=Adjacency.REPLACE_ONE,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def exact(query: Query | LogIqr | AnmScores, rows: Floats) -> Integers:
    schema = schema_for(len(rows))
    values = query.evaluate(Table(rows), schema)  # type: ignore[arg-type]
    assert values.dtype == np.int64 and values.shape == (query.size(schema),)
    return values


def random_rows(rng: np.random.Generator, rows: int) -> Floats:
    """Ties, constant columns, extreme rows and plain ones."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.choice([-1.0, -0.3, 0.0, 0.9, 1.0], (rows, 2))
    table = rng.uniform(-1, 1, (rows, 2))
    if kind == 1:
        table[:, rng.integers(2)] = rng.choice([-1.0, 0.4])
    if kind == 2:
        table[:, 1] = np.clip(table[:, 0] ** 2 + table[:, 1] / 4, -1, 1)
    return table


def neighbour(table: Floats, part: str, rng: np.random.Generator) -> Floats:
    """Another record in the place of one in a half."""
    order = MODEL.order(len(table))
    half = order[: len(table) // 2] if part == "test" else order[len(table) // 2 :]
    after = table.copy()
    after[rng.choice(half)] = random_rows(rng, 1)[0]
    return after


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_no_record_of_a_protected_half_moves_a_distance_by_more_than_1(query: Query) -> None:
    """Along random walks from table to neighbouring table."""
    rng, most = np.random.default_rng(1), 0
    parts = ("test", "training") if query.protect == "both" else (query.protect,)
    query.check(schema_for(41))
    for rows in (5, 12, 41):
        for _ in range(5):
            table = random_rows(rng, rows)
            before = exact(query, table)
            for _ in range(12):
                table = neighbour(table, str(rng.choice(parts)), rng)
                after = exact(query, table)
                most = max(most, int(np.abs(after - before).max()))
                before = after
    assert most == query.bound(schema_for(9)) == 1


def test_the_half_without_protection_does_move_more() -> None:
    """So the walks can find a bound that is too small."""
    rng = np.random.default_rng(2)
    query = QuartileRanks(model=replace(MODEL, ridge=1.0), of="y given x", quarter=1)
    free = replace(query, protect="test")
    tables = [random_rows(rng, 12) for _ in range(10)]
    pairs = [(t, neighbour(t, "training", rng)) for t in tables for _ in range(10)]
    assert max(np.abs(exact(free, a) - exact(free, b)).max() for a, b in pairs) > 1
    assert max(np.abs(exact(query, a) - exact(query, b)).max() for a, b in pairs) == 1


def moved(base: tuple[int, ...], eta: int) -> Iterator[tuple[Integers, Integers]]:
    """A small sample and each of its neighbours: another value for one, or all moved by eta."""
    values = np.array(base)
    for at, new in product(range(len(base)), range(-2, 3)):
        after = values.copy()
        after[at] = new
        yield values, after
    for shift in product((-eta, eta), repeat=len(base)):
        yield values, np.clip(values + shift, -2, 2)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("eta", [0, 1])
def test_what_k_records_do_to_a_neighbour_k_plus_1_do_here(size: int, eta: int) -> None:
    """All samples on five values, in units of half the reach, and all their neighbours."""
    unit = REACH // 2
    for base in combinations_with_replacement(range(-2, 3), size):
        for pair in moved(base, eta):
            here, there = (_Sample(values=np.sort(v) * unit, rank=1, eta=eta * unit) for v in pair)
            for k in range(size + 1):
                low, high = here.iqr(k + 1)
                inner = there.iqr(k)
                assert low <= inner[0] and inner[1] <= high
                for at in (here.place(1), here.place(3)):
                    reach = [
                        s.order(np.array([at - j, at + j])) + np.array([-1, 1]) * j * s.eta
                        for s, j in ((here, k + 1), (there, k))
                    ]
                    assert reach[0][0] <= reach[1][0] and reach[1][1] <= reach[0][1]


def test_near_pairs_are_counted_right() -> None:
    rng = np.random.default_rng(3)
    for reach in (0, 5, 40, 10**12):
        cause, left = rng.integers(-3, 4, 30), rng.integers(-50, 50, 30)
        close = np.abs(left[:, None] - left) <= reach
        other = cause[:, None] != cause
        assert near_pairs(Residuals(cause=cause, left=left), reach) == (close & other).sum() // 2
    causes, lefts = np.array([-GRID, GRID, GRID - 1]), np.array([-REACH, REACH, -REACH])
    ends = Residuals(cause=causes, left=lefts)
    assert near_pairs(ends, 2 * REACH) == near_pairs(ends, 10**15) == 3


def test_stable_orders_turn_no_more_pairs_than_they_say() -> None:
    """And so the scores move within the bound that these pairs give."""
    rng, tested, turned_most = np.random.default_rng(4), 0, 0
    model = replace(MODEL, ridge=300.0)
    for _ in range(200):
        rows = int(rng.choice([8, 20]))
        table, pairs = random_rows(rng, rows), int(rng.integers(0, 9))
        if exact(RankStability(model=model, pairs=pairs, protect="training"), table)[0] == 0:
            continue
        after = neighbour(table, "training", rng)
        for a, b in zip(
            *(model.residuals(Table(t), schema_for(rows)) for t in (table, after)),  # type: ignore[arg-type]
            strict=True,
        ):
            signs = [np.sign(v.left[:, None] - v.left) for v in (a, b)]
            turned = int((signs[0] != signs[1]).sum()) // 2
            assert turned <= pairs
            turned_most = max(turned_most, turned)
        for score in ("kendall", "spearman"):
            query = AnmScores(model=model, score=score, protect="training", pairs=pairs)
            change = np.abs(exact(query, table) - exact(query, after)).max()
            assert change <= query.bound(schema_for(rows))
        tested += 1
    assert tested > 30 and turned_most > 0


def test_stability_with_both_halves_is_never_that_of_no_pair() -> None:
    """One test record can make a pair near, so with pairs = 0 the answer is at most 1."""
    rng = np.random.default_rng(5)
    table = random_rows(rng, 4)
    assert exact(RankStability(model=MODEL, pairs=0), table)[0] <= 1
    constant = np.ones((40, 2))  # equal causes never change places
    assert exact(RankStability(model=MODEL, pairs=0, protect="training"), constant)[0] == MOST_STEPS


def test_the_best_edges_are_quartiles() -> None:
    rng = np.random.default_rng(6)
    table = np.clip(rng.normal(size=(4000, 2)) / 4, -1, 1)
    test = table[MODEL.order(4000)[:2000]]
    for quarter, share in ((1, 0.25), (3, 0.75)):
        for of, column in (("x", 0), ("y", 1)):
            query = QuartileRanks(model=MODEL, of=of, quarter=quarter)  # type: ignore[arg-type]
            ranks = exact(query, table)
            best = query.edges()[ranks.argmax()] / FINE
            assert abs(best - np.quantile(test[:, column], share)) < 0.01 and ranks.max() >= -5
    assert query.edges()[0] == -REACH and query.edges()[-1] == REACH


def test_a_stable_range_stays_in_its_bin() -> None:
    """Where the distance is more than 1, every neighbour's range is within ``width``."""
    rng, tested = np.random.default_rng(7), 0
    for width in (0.5, 2.0):
        for of in OF:
            distances = IqrStability(model=MODEL, of=of, width=width)
            spread = LogIqr(model=MODEL, of=of, width=width)
            for _ in range(12):
                table = random_rows(rng, 24)
                if exact(distances, table).max() < 2:
                    continue
                after = neighbour(table, str(rng.choice(["test", "training"])), rng)
                change = abs(int(exact(spread, table)[0]) - int(exact(spread, after)[0]))
                assert change <= spread.bound(schema_for(24))
                tested += 1
    assert tested > 20


def test_a_range_is_the_interquartile_range() -> None:
    rng = np.random.default_rng(8)
    table = np.clip(rng.normal(size=(20_000, 2)) / 5, -1, 1)
    found = exact(LogIqr(model=MODEL, of="x"), table)[0] / UNIT
    assert exp(found) == pytest.approx(1.349 / 5, rel=0.05)
    flat = exact(LogIqr(model=MODEL, of="y"), np.ones((50, 2)))[0] / UNIT
    assert flat == pytest.approx(log(LEAST_IQR / FINE), abs=1e-5)
    assert LogIqr(model=MODEL, of="x", width=0.5).bound(schema_for(9)) == ceil(0.5 * UNIT) + 2


def test_queries_survive_json_without_their_key() -> None:
    for query in (QUERIES[0], IqrStability(model=MODEL, of="x"), LogIqr(model=MODEL, of="y")):
        text = json.dumps(to_document(query))
        again = from_document(json.loads(text))
        assert again == query and again.model.key != MODEL.key and "key" not in text


def test_few_rows_are_no_error() -> None:
    for rows in (1, 2, 3):
        for query in (*QUERIES, LogIqr(model=MODEL, of="x")):
            exact(query, np.ones((rows, 2)))


def curator_for(x: Floats, y: Floats, delta: float = 0, epsilon: float = 40) -> Central:
    schema = schema_for(len(x))
    run = Ledger(":memory:").begin(
        "people", epsilon=epsilon, delta=delta, method="anm", unit=schema.unit, test_delta=1e-6
    )
    return Central.open({"x": x, "y": y}, schema, run)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_propose_test_release_through_the_doors(delta: float) -> None:
    """Where there are many rows a range is stable; where there are two there is no answer.

    The test of many rows fails if noise falls by 20 of its scales, below exp(-20); an answer is
    off by 15 deviations with less than exp(-20). Two rows have a distance of 2 at most, and then
    the test passes with δ exp(1 / scale) at most, 0.64e-6."""
    rng, half = np.random.default_rng(9), Fraction(1, 2)
    x = np.clip(rng.normal(size=4000) / 3, -1, 1)
    y = np.clip(x**3 + rng.normal(size=4000) / 5, -1, 1)
    question = StableRange(query=LogIqr(model=MODEL, of="y given x", width=2.0))
    curator = curator_for(x, y, delta)
    test, found = curator.tested(question, half)
    assert found is not None and isinstance(test.query, IqrStability)
    rows = np.stack([x, y], axis=1)
    noise, least = curator._test(half)
    margin = exact(question.distance, rows)[0] - question.unstable - noise.unlikely(1, least)
    assert margin > 20 * noise.scale(1)
    exactly = exact(question.query, rows)[0]
    assert abs(found.values[0] - exactly) < 15 * np.sqrt(found.variance)
    curator = curator_for(x[:2], y[:2], delta, epsilon=1)
    assert exact(question.distance, rows[:2])[0] <= 2 and curator._test(half)[0].scale(1) >= 4
    assert curator.tested(question, half)[1] is None
    assert curator.left == pytest.approx(half)  # and the whole is spent


def test_orders_of_two_valued_columns_are_stable() -> None:
    """Where residuals lie far apart or have equal causes, ranks can be released."""
    rng, share = np.random.default_rng(10), Fraction(1, 3)
    x = rng.choice([-1.0, 1.0], 3000)
    y = np.where(rng.random(3000) < 0.8, x, -x)
    model, pairs = replace(MODEL, ridge=0.5), 750**2
    curator = curator_for(x, y)
    for score in ("kendall", "spearman"):
        query = AnmScores(model=model, score=score, pairs=pairs)
        test, found = curator.tested(StableRanks(query=query), share)
        assert found is not None and test.query == RankStability(model=model, pairs=pairs)
        rows = np.stack([x, y], axis=1)
        noise, least = curator._test(share)
        margin = exact(test.query, rows)[0] - noise.unlikely(1, least)
        assert margin > 20 * noise.scale(1)  # so the test fails with less than exp(-20)
        moved = np.abs(found.values - exact(query, rows))
        assert (moved < 15 * np.sqrt(found.variance)).all()  # as above


def test_only_what_was_proved_can_be_tested() -> None:
    curator = curator_for(np.zeros(40), np.zeros(40))
    ranks = AnmScores(model=MODEL, score="kendall", pairs=9)
    refused = (
        (StableRanks(query=replace(ranks, score="hsic")), "order of residuals"),
        (StableRanks(query=replace(ranks, pairs=None)), "how many pairs"),
        (StableRanks(query=replace(ranks, protect="training")), "promises nothing"),
        (StableRange(query=LogIqr(model=MODEL, of="x", protect="test")), "promises nothing"),
        (StableRange(query=LogIqr(model=MODEL, of="x", width=99.0)), "width"),
    )
    for question, words in refused:
        with pytest.raises(PrivetError, match=words):
            curator.tested(question, Fraction(1))
    assert curator.left == 1
    several = schema_for(40, rows_per_person=2)
    for stable in (StableRanks(query=ranks), StableRange(query=LogIqr(model=MODEL, of="x"))):
        with pytest.raises(MethodError, match="rows_per_person"):
            stable.bound(several)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (RankStability(model=MODEL, pairs=3, protect="test"), "needs no stability"),
        (RankStability(model=MODEL, pairs=10**9), "pairs"),
        (QuartileRanks(model=MODEL, of="z", quarter=1), "choose from"),  # type: ignore[arg-type]
        (QuartileRanks(model=MODEL, of="x", quarter=2), "1 or 3"),
        (IqrStability(model=MODEL, of="x", width=0.0), "width"),
        (LogIqr(model=MODEL, of="x", width=float("nan")), "width"),
        (LogIqr(model=Anm(x="x", y="x"), of="x"), "two different"),
    ],
)
def test_parameters_outside_the_proof_are_refused(query: Query | LogIqr, words: str) -> None:
    with pytest.raises(PrivetError, match=words):
        query.check(schema_for(100))


def test_promises_to_one_half_or_to_one_row_of_several_are_refused() -> None:
    for query in QUERIES:
        if query.protect != "both":
            for norm in (query.l1, query.l2_squared, query.linf):
                with pytest.raises(MethodError, match="promises nothing"):
                    norm(schema_for(9))
    spread = LogIqr(model=MODEL, of="x")
    for norm in (spread.l1, spread.l2_squared, spread.linf):
        with pytest.raises(MethodError, match="no bound by itself"):
            norm(schema_for(9))
    with pytest.raises(MethodError, match="rows_per_person"):
        spread.bound(schema_for(9, rows_per_person=2))
    assert QuartileRanks(model=MODEL, of="x", quarter=1).linf(schema_for(9, rows_per_person=2)) == 2
