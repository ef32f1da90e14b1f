"""Gradients: one person moves them by no more than they say (proofs/gradient.md)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.privacy.queries.gradient import FINE, MOST_COLUMNS, NORM, STEP, WEIGHT, Gradient
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.totals import Totals

Floats = NDArray[np.float64]


class Table(Totals):
    """Rows as a query sees them."""

    def __init__(self, rows: Floats, block: int = 1 << 16) -> None:
        self.rows, self.block = rows, block

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        for start in range(0, len(self.rows), self.block):
            yield self.rows[start : start + self.block]


def schema_for(
    size: int, adjacency: Adjacency = Adjacency.ADD_REMOVE, rows_per_person: int = 1
) -> Schema:
    """All columns are numbers but the last, which has levels."""
    columns = tuple(Column(name=f"{i}", kind="numeric", bounds=(-5, 5)) for i in range(size - 1))
    last = Column(name=f"{size - 1}", kind="ordinal", levels=tuple("abcdef"))
    rows = 10 if adjacency is Adjacency.REPLACE_ONE else None
    return Schema(
        name="people",
        columns=(*columns, last),
        adjacency=adjacency,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def gradient_for(size: int, rng: np.random.Generator, **changed: object) -> Gradient:
    reach = int(10 ** rng.uniform(0, 6))
    query = Gradient(
        columns=tuple(f"{i}" for i in range(size)),
        centres=tuple(rng.normal(size=size).tolist()),
        reaches=tuple(rng.uniform(0.1, 5, size).tolist()),
        weights=tuple(tuple(row) for row in rng.integers(-reach, reach + 1, (size, size)).tolist()),
        clip=float(10 ** rng.uniform(-6, 3)),
        constant=int(rng.integers(0, FINE + 1)),
    )
    return replace(query, **changed)  # type: ignore[arg-type]


def exact(query: Gradient, rows: Floats, schema: Schema) -> list[int]:
    values = query.evaluate(Table(rows.reshape(-1, len(query.columns))), schema)  # type: ignore[arg-type]
    assert values.dtype == np.int64 and values.shape == (query.size(schema),)
    return [int(value) for value in values]


def moved_share(query: Gradient, before: Floats, after: Floats, schema: Schema) -> float:
    """How much of the squared L2 bound a change uses up; no bound may be broken."""
    first, second = exact(query, before, schema), exact(query, after, schema)
    moved = [a - b for a, b in zip(first, second, strict=True)]
    assert sum(abs(m) for m in moved) <= query.l1(schema)
    assert max(abs(m) for m in moved) <= query.linf(schema)
    square = sum(m * m for m in moved)
    assert square <= query.l2_squared(schema)
    return square / query.l2_squared(schema)


CELLS = st.one_of(st.floats(-5, 5), st.sampled_from([-5.0, 5.0, 0.0, 1e-300, 4.9999999]))


@settings(max_examples=200)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from(list(Adjacency)),
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=6, max_size=12),
)
def test_one_person_moves_the_answer_by_at_most_its_sensitivity(
    seed: int, own: int, adjacency: Adjacency, cells: list[tuple[float, ...]]
) -> None:
    """A person with up to 3 rows comes, or has them replaced; columns may be constant."""
    schema, rows = schema_for(3, adjacency, own), np.array(cells)
    query = gradient_for(3, np.random.default_rng(seed))
    query.check(schema)
    others, old, new = rows[2 * own :], rows[:own], rows[own : 2 * own]
    after = others if adjacency is Adjacency.ADD_REMOVE else np.vstack([new, others])
    moved_share(query, np.vstack([old, others]), after, schema)


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_climbing_comes_close_to_the_bounds_and_stays_below(adjacency: Adjacency) -> None:
    """Records and weights are changed for the worse, step by step, with two rows per person."""
    size, own, rng = 3, 2, np.random.default_rng(7)
    schema, best = schema_for(size, adjacency, own), 0.0
    for start in range(6):
        query = gradient_for(
            size,
            rng,
            clip=1e-2,
            constant=start * 1000,
            centres=(0.0,) * size,
            reaches=(5.0,) * size,
        )
        weights = rng.integers(-WEIGHT, WEIGHT, (size, size))
        state = rng.normal(size=(2 * own, size)) * 3, weights
        reached = 0.0
        for _ in range(400):
            wide = 10 ** rng.uniform(-3, 0.5)
            rows = np.clip(state[0] + rng.normal(size=state[0].shape) * wide, -5, 5)
            tried = state[1] + np.rint(rng.normal(size=weights.shape) * wide * WEIGHT / 4)
            tried = np.clip(tried, -FINE, FINE).astype(np.int64)
            asked = replace(query, weights=tuple(tuple(row) for row in tried.tolist()))
            after = rows[:0] if adjacency is Adjacency.ADD_REMOVE else rows[own:]
            share = moved_share(asked, rows[:own], after, schema)
            if share > reached:
                reached, state = share, (rows, tried)
        best = max(best, reached)
    assert best > 0.9


def test_opposite_residuals_nearly_attain_the_bound_of_a_replaced_row() -> None:
    """The example in the proof, so a smaller constant would be wrong."""
    schema = schema_for(2, Adjacency.REPLACE_ONE)
    query = gradient_for(
        2,
        np.random.default_rng(0),
        clip=1e-3,
        constant=0,
        centres=(0.0, 0.0),
        reaches=(5.0, 5.0),
        weights=((0, WEIGHT), (WEIGHT, 0)),
    )
    row, other = np.array([4.0, 4.2]), np.array([4.2, 4.0])
    assert moved_share(query, row, other, schema) > 0.99


@pytest.mark.parametrize("size", [2, 7, 30])
def test_no_row_has_a_longer_half_than_the_norm(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = np.vstack([rng.choice([-5.0, 5.0], (200, size)), rng.normal(size=(200, size)) * 3])
    for _ in range(30):
        halves = gradient_for(size, rng).halves(rows)
        for half in halves:
            assert ((half.astype(np.int64).astype(object) ** 2).sum(axis=0) <= NORM**2).all()
            assert (half == np.rint(half)).all()
        assert halves[0].shape == (size + 1, 400) and halves[1].shape == (size, 400)


def test_a_row_contributes_the_same_whatever_stands_beside_it() -> None:
    """Bit for bit: other rows, blocks and places must not change how a row is rounded."""
    rng = np.random.default_rng(3)
    size, rows = 9, rng.normal(size=(20_000, 9))
    schema, query = schema_for(size), gradient_for(size, rng, clip=0.5)
    whole = np.array(exact(query, rows, schema))
    alone = sum(np.array(exact(query, row, schema)) for row in rows[:300])
    assert (np.array(exact(query, rows[:300], schema)) == alone).all()
    more = np.vstack([rng.normal(size=(1, size)), rng.permutation(rows)])
    apart = query.evaluate(Table(more, block=777), schema)  # type: ignore[arg-type]
    assert (apart - whole == exact(query, more[0], schema)).all()


def test_sums_are_those_of_whole_numbers() -> None:
    """Against products and sums of Python's integers, which know no rounding."""
    rng = np.random.default_rng(11)
    rows, query = rng.normal(size=(700, 4)) * 2, gradient_for(4, rng, clip=0.3)
    total = [[0] * 4 for _ in range(5)]
    for row in rows:
        u, v = (half[:, 0] for half in query.halves(row[None]))
        for i in range(5):
            for j in range(4):
                total[i][j] += int(u[i]) * int(v[j])
    assert exact(query, rows, schema_for(4)) == [n for line in total for n in line]


def test_the_answer_is_the_gradient_of_shortened_rows() -> None:
    rng = np.random.default_rng(5)
    size, rows = 4, rng.normal(size=(3000, 4))
    query = gradient_for(
        size, rng, centres=(0.0,) * size, reaches=(8.0,) * size, clip=0.1, constant=FINE // 8
    )
    weights = np.array(query.weights) / WEIGHT
    x = rows / 8
    y, r = np.column_stack([np.full(len(x), 1 / 8), x]), x - x @ weights
    long = np.linalg.norm(y, axis=1) * np.linalg.norm(r, axis=1)
    short = np.minimum(1, query.clip / np.maximum(long, 1e-300))
    assert 0.1 < (short < 1).mean() < 0.9  # some rows are cut and some are not
    found = np.array(exact(query, rows, schema_for(size))).reshape(size + 1, size) * query.unit
    plain = (y * short[:, None]).T @ r
    assert np.abs(found - plain).max() < 1e-3 * np.abs(plain).max()


def test_rows_that_are_not_cut_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the search for counterexamples sees that lengths are not bounded."""
    plain = Gradient.halves

    def uncut(self: Gradient, block: Floats) -> tuple[Floats, Floats]:
        y, r = plain(self, block)
        return 2 * y, r

    monkeypatch.setattr(Gradient, "halves", uncut)
    with pytest.raises(AssertionError):
        test_climbing_comes_close_to_the_bounds_and_stays_below(Adjacency.ADD_REMOVE)


def test_every_number_has_an_answer_and_no_warning() -> None:
    rows = np.array([[np.inf, -np.inf, np.nan], [1e308, -1e308, 1e-320], [0.0, -0.0, 5.0]])
    schema = schema_for(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            query = gradient_for(3, np.random.default_rng(seed))
            for row in rows:
                moved_share(query, row, rows[:0], schema)
            assert len(exact(query, rows, schema)) == query.size(schema)
        tiny = gradient_for(3, np.random.default_rng(1), clip=5e-324, constant=0)
        moved_share(tiny, rows[2], rows[:0], schema)


def test_rows_are_left_as_they_are() -> None:
    rows = np.random.default_rng(2).normal(size=(5, 3))
    before = rows.copy()
    exact(gradient_for(3, np.random.default_rng(1)), rows, schema_for(3))
    exact(gradient_for(3, np.random.default_rng(1)), rows[:1], schema_for(3))
    assert (rows == before).all()


def test_no_rows_give_zeros() -> None:
    query = gradient_for(3, np.random.default_rng(1))
    assert not any(exact(query, np.empty((0, 3)), schema_for(3)))


def test_sums_stay_within_64_bits_and_products_exact() -> None:
    assert NORM**2 * 2 * 10**9 < 2**63
    assert FINE * (FINE + WEIGHT) * MOST_COLUMNS < 2**53 and STEP * NORM**2 < 2**53


@pytest.mark.parametrize(
    "changed",
    [
        {"centres": (0.0, np.nan, 0.0)},
        {"centres": (0.0, 0.0)},
        {"reaches": (1.0, 0.0, 1.0)},
        {"reaches": (1.0, np.inf, 1.0)},
        {"clip": 0.0},
        {"clip": np.nan},
        {"constant": FINE + 1},
        {"constant": 0.5},
        {"weights": ((1, 2, 3), (4, 5, 6))},
        {"weights": ((1, 2, FINE + 1),) * 3},
        {"weights": ((1, 2, 0.5),) * 3},
        {"columns": ("0", "0", "1")},
        {"columns": ("0", "1", "elsewhere")},
    ],
)
def test_parameters_outside_the_proof_are_refused(changed: dict[str, object]) -> None:
    query = gradient_for(3, np.random.default_rng(1), **changed)
    with pytest.raises(SchemaError):
        query.check(schema_for(3))
