"""Tables, losses and ranks of pairs: nobody moves them by more than they say (proofs/pairs.md)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.privacy.queries.base import from_document, to_document
from privet.privacy.queries.pairs import FINE, LossDifference, PairTable, QuantileRanks
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.totals import Totals

Floats = NDArray[np.float64]
Query = PairTable | LossDifference | QuantileRanks

LOW, HIGH = -5.0, 5.0
QUARTILE = Fraction(1, 4)
QUERIES: tuple[Query, ...] = (
    PairTable(x="x", y="y", bins=3),
    PairTable(x="x", y="y", bins=2, x_range=(-1.0, 4.0)),
    LossDifference(x="x", y="y", bins=2),
    LossDifference(x="x", y="y", bins=3, loss="squared", y_range=(-2.0, 2.0)),
    QuantileRanks(column="x", share=QUARTILE, steps=8),
    QuantileRanks(column="x", share=Fraction(9, 10), steps=5),
)


class Table(Totals):
    """Rows as a query sees them."""

    def __init__(self, rows: Floats, block: int = 1 << 16) -> None:
        self.rows, self.block = rows.reshape(-1, 2), block

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        for start in range(0, len(self.rows), self.block):
            yield self.rows[start : start + self.block][:, ["xy".index(c) for c in columns]]


def schema_for(adjacency: Adjacency = Adjacency.ADD_REMOVE, rows_per_person: int = 1) -> Schema:
    columns = tuple(Column(name=name, kind="numeric", bounds=(LOW, HIGH)) for name in "xy")
    sex = Column(name="sex", kind="categorical", levels=("f", "m"))
    rows = 10 if adjacency is Adjacency.REPLACE_ONE else None
    return Schema(
        name="people",
        columns=(*columns, sex),
        adjacency=adjacency,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def exact(query: Query, rows: Floats, schema: Schema) -> NDArray[np.int64]:
    values = query.evaluate(Table(rows), schema)  # type: ignore[arg-type]
    assert values.dtype == np.int64 and values.shape == (query.size(schema),)
    return values


def norms(moved: NDArray[np.int64]) -> list[int]:
    """The largest L1 norm, squared L2 norm and entry of some movements."""
    size = np.abs(moved)
    return [int(size.sum(axis=-1).max()), int((size**2).sum(axis=-1).max()), int(size.max())]


def limits(query: Query, schema: Schema) -> tuple[int, int, int]:
    return query.l1(schema), query.l2_squared(schema), query.linf(schema)


def assert_moved_within(query: Query, before: Floats, after: Floats, schema: Schema) -> None:
    moved = norms(exact(query, before, schema) - exact(query, after, schema))
    assert all(m <= limit for m, limit in zip(moved, limits(query, schema), strict=True))


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_no_small_table_moves_by_more(query: Query) -> None:
    """All tables of up to three rows on a grid of four values, both ends among them; every row
    that can be added, and every row that can take another's place."""
    points = list(product((LOW, -0.3, 1.7, HIGH), repeat=2))
    added, replaced = (schema_for(adjacency) for adjacency in Adjacency)

    @cache
    def answer(rows: tuple[tuple[float, ...], ...]) -> NDArray[np.int64]:
        return exact(query, np.array(rows), added)

    most = np.zeros((2, 3), dtype=np.int64)
    for size in (0, 1, 2, 3):
        for others in combinations_with_replacement(points, size):
            without = answer(tuple(sorted(others)))
            answers = np.stack([answer(tuple(sorted((*others, p)))) for p in points])
            most[0] = np.maximum(most[0], norms(answers - without))
            most[1] = np.maximum(most[1], norms(answers[:, None] - answers[None]))
    for found, schema in zip(most, (added, replaced), strict=True):
        assert (found <= limits(query, schema)).all()
        if not (isinstance(query, LossDifference) and query.loss == "squared"):
            assert found[2] == query.linf(schema), "the bound is attained, so a smaller one fails"


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_no_climb_finds_a_larger_loss_difference(loss: str, adjacency: Adjacency) -> None:
    """Hill climbing from random tables with ties, constant columns and extreme rows."""
    rng, schema = np.random.default_rng(7), schema_for(adjacency)
    query = LossDifference(x="x", y="y", bins=4, loss=loss)
    alone = adjacency is Adjacency.ADD_REMOVE

    def moved(rows: Floats) -> int:
        """The last row but one leaves; with replace-one, the last row comes for it."""
        after = rows[:-2] if alone else np.delete(rows, -2, axis=0)
        return int(abs(exact(query, rows[:-1], schema) - exact(query, after, schema))[0])

    best = 0
    for _ in range(20):
        rows = rng.choice([LOW, -2.5, 0.0, HIGH], (rng.integers(3, 12), 2))
        rows[:, 0] = rows[:, 0] if rng.random() < 0.7 else LOW
        here = moved(rows)
        for _ in range(150):
            tried = rows.copy()
            tried[rng.integers(len(rows))] = rng.choice([LOW, 0.0, HIGH, rng.uniform(LOW, HIGH)], 2)
            if (there := moved(tried)) >= here:
                rows, here = tried, there
        best = max(best, here)
    assert best <= query.linf(schema)
    assert best > {"absolute": 0.99, "squared": 0.6}[loss] * query.linf(schema)


CELLS = st.one_of(st.floats(LOW, HIGH), st.sampled_from([LOW, HIGH, 0.0, 1e-300, 4.9999999]))


@settings(max_examples=150)
@given(
    st.sampled_from(QUERIES),
    st.integers(1, 3),
    st.sampled_from(list(Adjacency)),
    st.lists(st.tuples(CELLS, CELLS), min_size=6, max_size=12),
)
def test_a_person_with_several_rows_moves_an_answer_within_its_bound(
    query: Query, own: int, adjacency: Adjacency, cells: list[tuple[float, ...]]
) -> None:
    schema, rows = schema_for(adjacency, own), np.array(cells)
    others, old, new = rows[2 * own :], rows[:own], rows[own : 2 * own]
    after = others if adjacency is Adjacency.ADD_REMOVE else np.vstack([new, others])
    assert_moved_within(query, np.vstack([old, others]), after, schema)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_order_and_blocks_of_rows_change_nothing(query: Query) -> None:
    rng, schema = np.random.default_rng(3), schema_for()
    rows = rng.normal(size=(5000, 2)) * 2
    whole = exact(query, rows, schema)
    apart = query.evaluate(Table(rng.permutation(rows), block=77), schema)  # type: ignore[arg-type]
    assert (whole == apart).all()


def test_a_table_counts_each_row_in_its_cell() -> None:
    rows = np.array([[LOW, HIGH], [LOW, LOW], [0.0, 4.9], [HIGH, 0.0]])
    counts = exact(PairTable(x="x", y="y", bins=2), rows, schema_for())
    assert counts.tolist() == [1, 1, 0, 2]
    narrow = PairTable(x="x", y="y", bins=2, x_range=(-9.0, -1.0), y_range=(-1.0, 1.0))
    assert exact(narrow, rows, schema_for()).tolist() == [0, 0, 1, 3]


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_losses_are_the_least_possible(loss: str) -> None:
    """Every whole number is tried in every bin."""
    rng, schema = np.random.default_rng(5), schema_for()
    query = LossDifference(x="x", y="y", bins=3, loss=loss)
    rows = rng.choice(np.linspace(LOW, HIGH, 9), (14, 2))
    fine = np.rint((rows - LOW) / (HIGH - LOW) * FINE).astype(np.int64)
    bins = np.minimum((rows - LOW) / (HIGH - LOW) * 3, 2).astype(int)
    tries = np.arange(FINE + 1)

    def least(effect: int, cause: int) -> int:
        total = 0
        for b in range(3):
            gaps = fine[bins[:, cause] == b, effect, None] - tries
            total += int((np.abs(gaps) if loss == "absolute" else gaps**2).sum(axis=0).min())
        return total

    assert exact(query, rows, schema)[0] == least(0, 1) - least(1, 0)


def test_the_effect_is_explained_better() -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(LOW, HIGH, 2000)
    y = np.clip(x**2 / 2.5 - 5 + rng.normal(size=2000) / 2, LOW, HIGH)
    for loss in ("absolute", "squared"):
        forward = LossDifference(x="x", y="y", loss=loss)
        assert exact(forward, np.stack([x, y], axis=1), schema_for())[0] > 100 * forward.one
        assert exact(forward, np.stack([y, x], axis=1), schema_for())[0] < -100 * forward.one


def test_the_best_edge_is_the_quantile() -> None:
    rng, schema = np.random.default_rng(4), schema_for()
    values = rng.normal(size=(999, 2))
    for share in (QUARTILE, Fraction(1, 2), Fraction(3, 4)):
        query = QuantileRanks(column="x", share=share, steps=1000)
        best = query.edge(int(exact(query, values, schema).argmax()), schema)
        assert abs(best - np.quantile(values[:, 0], float(share))) <= 0.011
    assert query.edge(0, schema) == LOW and query.edge(1000, schema) == HIGH


def test_every_number_has_an_answer_and_no_warning() -> None:
    rows = np.array([[inf, -inf], [nan, 1e308], [-1e308, 1e-320], [LOW, HIGH], [LOW, HIGH]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in QUERIES:
            for size in range(len(rows)):
                assert_moved_within(query, rows[: size + 1], rows[:size], schema_for())


@pytest.mark.parametrize(
    "query",
    [
        PairTable(x="x", y="x", bins=4),
        PairTable(x="x", y="sex", bins=4),
        PairTable(x="x", y="z", bins=4),
        PairTable(x="x", y="y", bins=1),
        PairTable(x="x", y="y", bins=1 << 20),
        PairTable(x="x", y="y", bins=True),
        PairTable(x="x", y="y", bins=4, x_range=(1.0, 1.0)),
        PairTable(x="x", y="y", bins=4, y_range=(0.0, inf)),
        PairTable(x="x", y="y", bins=4, y_range=(-1e308, 1.7e308)),
        PairTable(x="x", y="y", bins=4, y_range=(nan, 1.0)),
        LossDifference(x="x", y="y", loss="huber"),
        LossDifference(x="y", y="y"),
        QuantileRanks(column="sex", share=QUARTILE),
        QuantileRanks(column="x", share=Fraction(1)),
        QuantileRanks(column="x", share=Fraction(1, 10**6)),
        QuantileRanks(column="x", share=0.25),  # type: ignore[arg-type]
        QuantileRanks(column="x", share=QUARTILE, steps=0),
    ],
    ids=repr,
)
def test_parameters_outside_the_proof_are_refused(query: Query) -> None:
    with pytest.raises(SchemaError):
        query.check(schema_for())


def test_queries_survive_json() -> None:
    for query in QUERIES:
        query.check(schema_for())
        if not isinstance(query, QuantileRanks):
            assert from_document(json.loads(json.dumps(to_document(query)))) == query
