"""Histograms and moments: one person moves them by no more than they say (proofs/moments.md)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.privacy.queries import compiled
from privet.privacy.queries.base import from_document, to_document
from privet.privacy.queries.moments import (
    BINS,
    FINE,
    MOST_COLUMNS,
    NORM,
    PAIR,
    SQUARE,
    STEP,
    Locations,
    Moments,
)
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.totals import Totals

Floats = NDArray[np.float64]
NAMES = ("a", "b", "c")


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
    columns = tuple(Column(name=f"{i}", kind="numeric", bounds=(-5, 5)) for i in range(size))
    rows = 10 if adjacency is Adjacency.REPLACE_ONE else None
    return Schema(
        name="people",
        columns=columns,
        adjacency=adjacency,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def moments_for(size: int, rng: np.random.Generator, **changed: object) -> Moments:
    weights = rng.integers(-FINE, FINE + 1, (size, size))
    query = Moments(
        columns=tuple(f"{i}" for i in range(size)),
        centres=tuple(rng.normal(size=size).tolist()),
        reaches=tuple(rng.uniform(0.1, 5, size).tolist()),
        transform=tuple(tuple(row) for row in weights.tolist()),
        radius=float(10 ** rng.uniform(0, 13)),
        constant=int(rng.integers(0, NORM // 2 + 1)),
    )
    return replace(query, **changed)  # type: ignore[arg-type]


def exact(query: Locations | Moments, rows: Floats, schema: Schema) -> list[int]:
    values = query.evaluate(Table(rows.reshape(-1, len(query.columns))), schema)  # type: ignore[arg-type]
    assert values.dtype == np.int64 and values.shape == (query.size(schema),)
    return [int(value) for value in values]


def assert_moved_within(
    query: Locations | Moments, before: Floats, after: Floats, schema: Schema
) -> None:
    first, second = exact(query, before, schema), exact(query, after, schema)
    moved = [a - b for a, b in zip(first, second, strict=True)]
    assert sum(m * m for m in moved) <= query.l2_squared(schema)
    assert sum(abs(m) for m in moved) <= query.l1(schema)
    assert max(abs(m) for m in moved) <= query.linf(schema)


CELLS = st.one_of(st.floats(-5, 5), st.sampled_from([-5.0, 5.0, 0.0, 1e-300, 4.9999999]))


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.integers(1, 3),
    st.sampled_from(list(Adjacency)),
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=6, max_size=12),
    st.booleans(),
)
def test_one_person_moves_an_answer_by_at_most_its_sensitivity(
    seed: int, own: int, adjacency: Adjacency, cells: list[tuple[float, ...]], located: bool
) -> None:
    """A person with up to 3 rows comes, or has them replaced."""
    schema, rows = schema_for(3, adjacency, own), np.array(cells)
    columns = schema.names
    query = Locations(columns=columns) if located else moments_for(3, np.random.default_rng(seed))
    query.check(schema)
    others, old, new = rows[2 * own :], rows[:own], rows[own : 2 * own]
    before = np.vstack([old, others])
    after = others if adjacency is Adjacency.ADD_REMOVE else np.vstack([new, others])
    assert_moved_within(query, before, after, schema)


@pytest.mark.parametrize("size", [2, 7, 30])
def test_no_row_has_a_longer_vector_than_the_norm(size: int) -> None:
    rng = np.random.default_rng(size)
    rows = np.vstack([rng.choice([-5.0, 5.0], (200, size)), rng.normal(size=(200, size)) * 3])
    for _ in range(30):
        query = moments_for(size, rng)
        vectors = query.vectors(rows).astype(np.int64)
        assert (vectors[0] == query.constant).all()
        assert ((vectors.astype(object) ** 2).sum(axis=0) <= NORM**2).all()
    assert (vectors[1:] != 0).any()


def test_the_bounds_are_nearly_attained() -> None:
    """So they are no looser than they look, and a test that checks them could fail."""
    size, rng = 60, np.random.default_rng(0)
    identity = tuple(tuple(FINE if i == j else 0 for j in range(size)) for i in range(size))
    query = moments_for(
        size,
        rng,
        centres=(0.0,) * size,
        reaches=(5.0,) * size,
        transform=identity,
        radius=1.0,
        constant=1000,
    )
    row, turned = np.full(size, 3.0), np.full(size, 3.0)
    turned[::2] = -3.0
    added = sum(m * m for m in exact(query, row, schema_for(size)))
    assert 0.97 < added / query.l2_squared(schema_for(size)) <= 1
    replaced = [
        a - b
        for a, b in zip(*(exact(query, r, schema_for(size)) for r in (row, turned)), strict=True)
    ]
    schema = schema_for(size, Adjacency.REPLACE_ONE)
    assert 0.95 < sum(m * m for m in replaced) / query.l2_squared(schema) <= 1
    histogram = Locations(columns=schema.names)
    moved = [
        a - b
        for a, b in zip(*(exact(histogram, r, schema) for r in (row, turned - 1)), strict=True)
    ]
    assert sum(m * m for m in moved) == histogram.l2_squared(schema)


@pytest.mark.parametrize("located", [True, False])
def test_a_row_contributes_the_same_whatever_stands_beside_it(located: bool) -> None:
    """Bit for bit: other rows, blocks and places must not change how a row is rounded."""
    rng = np.random.default_rng(3)
    size, rows = 9, rng.normal(size=(20_000, 9))
    schema = schema_for(size)
    query = Locations(columns=schema.names) if located else moments_for(size, rng, radius=1.0)
    whole = np.array(exact(query, rows, schema))
    alone = sum(np.array(exact(query, row, schema)) for row in rows[:300])
    assert (np.array(exact(query, rows[:300], schema)) == alone).all()
    more = np.vstack([rng.normal(size=(1, size)), rng.permutation(rows)])
    apart = query.evaluate(Table(more, block=777), schema)  # type: ignore[arg-type]
    assert (apart - whole == exact(query, more[0], schema)).all()


def test_every_number_has_an_answer_and_no_warning() -> None:
    rows = np.array([[np.inf, -np.inf, np.nan], [1e308, -1e308, 1e-320], [0.0, -0.0, 5.0]])
    schema = schema_for(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for query in (Locations(columns=schema.names), moments_for(3, np.random.default_rng(1))):
            assert_moved_within(query, rows[:1], rows[:0], schema)
            assert_moved_within(query, rows[1:2], rows[:0], schema)
            assert len(exact(query, rows, schema)) == query.size(schema)


@pytest.mark.parametrize("radius", [5e-324, 1e-310, 1e308])
def test_a_row_at_the_centre_is_no_warning_whatever_the_radius(
    radius: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it told from others by an answer that is none."""
    schema, centre = schema_for(3), np.zeros((1, 3))
    query = moments_for(3, np.random.default_rng(1), centres=(0.0,) * 3, radius=radius)
    query.check(schema)
    rows = np.vstack([centre, np.ones((1, 3)), centre])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = exact(query, rows, schema)
        monkeypatch.setattr(compiled, "moments", None)
        assert exact(query, rows, schema) == found
        assert exact(query, centre, schema) == [SQUARE * query.constant**2, *[0] * 9]


def test_no_rows_give_zeros() -> None:
    schema = schema_for(3)
    for query in (Locations(columns=schema.names), moments_for(3, np.random.default_rng(1))):
        assert not any(exact(query, np.empty((0, 3)), schema))


def test_sums_stay_within_64_bits_and_products_exact() -> None:
    assert PAIR * NORM**2 * 2 * 10**9 < 2**63
    assert FINE * FINE * MOST_COLUMNS < 2**53 and STEP * NORM**2 < 2**53
    assert 2 * SQUARE**2 <= PAIR**2 and (PAIR**2 * NORM**4) % 2 == 0


def test_a_histogram_counts_each_row_once_per_column() -> None:
    schema = schema_for(2)
    rows = np.array([[-5.0, 5.0], [-5.0, 0.0], [4.99, 0.0]])
    counts = np.array(exact(Locations(columns=schema.names), rows, schema)).reshape(2, BINS)
    assert counts[0, 0] == 2 and counts[0, -1] == 1 and counts.sum() == 6
    assert counts[1, BINS // 2] == 2 and counts[1, -1] == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"centres": (0.0, np.nan, 0.0)},
        {"centres": (0.0, 0.0)},
        {"reaches": (1.0, 0.0, 1.0)},
        {"reaches": (1.0, np.inf, 1.0)},
        {"radius": 0.0},
        {"radius": np.nan},
        {"constant": -1},
        {"constant": NORM},
        {"transform": ((1, 2, 3), (4, 5, 6))},
        {"transform": ((1, 2, FINE + 1),) * 3},
        {"transform": ((1, 2, 0.5),) * 3},
        {"columns": ("0", "0", "1")},
    ],
)
def test_parameters_outside_the_proof_are_refused(changed: dict[str, object]) -> None:
    query = moments_for(3, np.random.default_rng(1), **changed)
    with pytest.raises(SchemaError):
        query.check(schema_for(3))


def test_columns_without_numbers_are_refused() -> None:
    column = Column(name="sex", kind="categorical", levels=("f", "m"))
    schema = Schema(name="people", columns=(column,))
    with pytest.raises(SchemaError, match="numeric"):
        Locations(columns=("sex",)).check(schema)


def test_queries_survive_json() -> None:
    for query in (Locations(columns=NAMES), moments_for(3, np.random.default_rng(1))):
        assert from_document(json.loads(json.dumps(to_document(query)))) == query


@pytest.mark.parametrize("size", [1, 3, 40])
def test_a_transform_thatonly_scales_needs_no_product_and_gives_the_same(size: int) -> None:
    """Whole numbers are exact in either way; nor does it matter how rows lie in memory."""
    rng, schema = np.random.default_rng(size), schema_for(size)
    scales = np.diag(rng.integers(-FINE, FINE + 1, size))
    query = moments_for(size, rng, transform=tuple(map(tuple, scales.tolist())))
    assert query.only_scales and moments_for(3, rng).only_scales is False
    rows = rng.normal(scale=3, size=(2500, size))
    u = np.rint(np.clip((rows - query.centres) / query.reaches, -1, 1) * FINE).T
    assert np.array_equal(query._mapped(u), scales.astype(float) @ u)
    assert exact(query, rows, schema) == exact(query, np.asfortranarray(rows), schema)


def test_what_is_no_number_counts_as_the_centre() -> None:
    query = moments_for(1, np.random.default_rng(1), centres=(0.0,), transform=((FINE,),))
    odd, centre = (query.vectors(np.array([[x]])) for x in (np.nan, 0.0))
    assert np.array_equal(odd, centre)


needed = pytest.mark.skipif(compiled.moments is None, reason="there was no compiler")
ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 5.0, -5.0, 2.5 / FINE]


@needed
@settings(max_examples=100)
@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.sampled_from([1, 2, 511, 512, 1300]),
    st.booleans(),
    st.sampled_from(["some", "direction", "uncut"]),
)
def test_what_was_compiled_gives_every_row_the_same_vector_bit_for_bit(
    seed: int, size: int, count: int, scales: bool, ball: str
) -> None:
    """And the same bins. What is half way between two whole numbers is among the rows."""
    rng, schema = np.random.default_rng(seed), schema_for(size)
    query = moments_for(size, rng)
    if scales:
        weights = np.diag(rng.integers(-FINE, FINE + 1, size))
        query = replace(query, transform=tuple(map(tuple, weights.tolist())))
    if ball != "some":
        radius = 1.0 if ball == "direction" else size**0.5 * FINE * FINE
        query = replace(query, radius=radius)
    rows = rng.normal(0, 3, (count, size))
    odd = rng.random(rows.shape) < 0.2
    rows[odd] = rng.choice(ODD, odd.sum())
    half = (rng.integers(-FINE, FINE, size) + 0.5) / FINE * query.reaches + query.centres
    rows[0] = half
    block = rows if seed % 2 else np.asfortranarray(rows)
    histogram = Locations(columns=schema.names)
    found = query.vectors(block), exact(histogram, block, schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "moments", None)
        wanted = query.vectors(block), exact(histogram, block, schema)
    assert np.array_equal(found[0], wanted[0])
    assert found[1] == wanted[1]


@needed
def test_a_row_that_rounding_makes_too_long_counts_as_nothing_there_too() -> None:
    """It never is: the room is too small for that. With more room, it is left out."""
    z, ball = np.array([[3.0, 4.0], [4.0, 3.0]]), np.array([7.0, 1.0, 0.0, 7.0])
    v = np.empty((3, 2))
    compiled.moments.cut(v, z, ball)
    assert v.tolist() == [[0, 0], [0, 0], [0, 0]], "4.2 and 5.6 are 4 and 6, of length 7.2"
    compiled.moments.cut(v, z, np.array([6.0, 1.0, 2.0, 7.0]))
    assert v.tolist() == [[2, 2], [4, 5], [5, 4]]
    compiled.moments.cut(v, z, np.array([6.0, 1.0, 3.0, 7.0]))
    assert v.tolist() == [[3, 3], [0, 0], [0, 0]], "the constant counts"


@needed
def test_every_bit_of_a_share_is_the_same_and_halves_go_to_the_even_side() -> None:
    rng = np.random.default_rng(5)
    x, out = rng.normal(size=(3, 2000)), np.empty((3, 2000))
    centres, reaches = rng.normal(size=3), rng.uniform(0.5, 3, 3)
    share = (x - centres[:, None]) / reaches[:, None]
    scales = np.array([1.0, 3.0, -2.0])
    compiled.moments.on_grid(out, x, centres, reaches, scales, 2**50)
    assert np.array_equal(out, np.rint(np.clip(share, -1, 1) * 2**50) * scales[:, None])
    halves = (np.arange(-1000, 1000) + 0.5)[None] / FINE
    compiled.moments.on_grid(out[:1], halves, np.zeros(1), np.ones(1), np.ones(1), FINE)
    assert np.array_equal(out[0], np.rint(halves[0] * FINE))
    compiled.moments.cut(
        both := np.empty((2, 2000)), halves * FINE, np.array([1.0, 1.0, 0.0, 2000.0])
    )
    assert np.array_equal(both[1], np.rint(halves[0] * FINE / np.maximum(1, abs(halves[0]) * FINE)))


@needed
def test_numbers_at_the_edges_of_bins_are_counted_as_in_arrays() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        low, high = np.sort(rng.normal(0, 10, 2)).tolist()
        schema = Schema(
            name="people", columns=(Column(name="a", kind="numeric", bounds=(low, high)),)
        )
        edges = low + (high - low) * np.arange(BINS + 1) / BINS
        near = np.concatenate([edges, np.nextafter(edges, low), np.nextafter(edges, high)])
        histogram = Locations(columns=("a",))
        found = exact(histogram, near, schema)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "moments", None)
            assert found == exact(histogram, near, schema)


@needed
def test_arrays_of_other_sizes_are_refused() -> None:
    lines, line, out = np.zeros((2, 5)), np.ones(2), np.zeros((2, 5))
    ball, total = np.array([6.0, 1.0, 2.0, 7.0]), np.zeros((2, 4), dtype=np.int64)
    known, grid = compiled.moments, (line, line, line, 8)
    for call, right, wrong in (
        (known.on_grid, (out, lines, *grid), (out, lines[:1], *(each[:1] for each in grid[:3]), 8)),
        (known.on_grid, (out, lines, *grid), (out, lines, line[:1], line, line, 8)),
        (known.on_grid, (out, lines, *grid), (out, lines, line, line, line[:1], 8)),
        (known.on_grid, (out, lines, *grid), (out, np.zeros((5, 2)).T, *grid)),
        (known.cut, (np.zeros((3, 5)), lines, ball), (out, lines, ball)),
        (known.cut, (np.zeros((3, 5)), lines, ball), (np.zeros((3, 5)), lines, ball[:3])),
        (known.locate, (total, lines, line, line), (total, lines, line[:1], line)),
        (known.locate, (total, lines, line, line), (total[:1, :3], lines, line, line)),
    ):
        call(*right)
        with pytest.raises(ValueError, match="wrong arrays"):
            call(*wrong)
