"""No row is longer than the radius of weighed components: proofs/white.md.

Exhaustive for small schemas: all rows and all pairs of rows, random features, families and radii,
in Python's integers. Planted faults show that the checks can fail.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice, product
from math import isqrt, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.privacy.engines.memory import MemoryRows
from privet.privacy.queries import compiled, white
from privet.privacy.queries.base import records_changed
from privet.privacy.queries.white import LARGEST_FEATURE, LARGEST_RADIUS, WEIGHT, Clip, White
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

Row = tuple[int, ...]


def make_schema(sizes: tuple[int, ...], adjacency: Adjacency, per_person: int = 1) -> Schema:
    return Schema(
        name="s",
        columns=tuple(
            Column(name=f"c{i}", kind="categorical", levels=tuple(map(str, range(k))))
            for i, k in enumerate(sizes)
        ),
        adjacency=adjacency,
        rows=5 if adjacency is Adjacency.REPLACE_ONE else None,
        rows_per_person=per_person,
    )


def answer(query: White, schema: Schema, rows: list[Row]) -> list[int]:
    codes = codes_of(schema, rows)
    return [int(x) for x in query.evaluate(MemoryRows(schema, lambda: codes, dict), schema)]


def codes_of(schema: Schema, rows: list[Row]) -> dict[str, Any]:
    table = np.array(rows, dtype=np.uint8).reshape(-1, len(schema.columns))
    return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(schema.names)}


def squared(query: White, clip: Clip, row: Row) -> int:
    """The squared length of a row of weight 1, in Python's integers."""
    lengths = {
        name: sum(feature**2 for feature in levels[code])
        for name, levels, code in zip(query.columns, query.features, row, strict=True)
    }
    return sum(clip.multipliers[len(s)] ** 2 * prod(lengths[n] for n in s) for s in clip.sets)


def all_rows(sizes: tuple[int, ...]) -> list[Row]:
    return list(product(*map(range, sizes)))


def broken(query: White, schema: Schema, rows: list[Row]) -> Iterator[tuple[Row, ...]]:
    """The neighbours between which the answer moves further than the query says."""
    none = answer(query, schema, [])
    added = {row: answer(query, schema, [row]) for row in rows}
    bound, highest = query.l2_squared(schema), query.linf(schema)
    replaced = schema.adjacency is Adjacency.REPLACE_ONE
    pairs = combinations(rows, 2) if replaced else ((row,) for row in rows)
    for pair in pairs:
        other = added[pair[1]] if len(pair) > 1 else none
        moved = [
            schema.rows_per_person * (a - b) for a, b in zip(added[pair[0]], other, strict=True)
        ]
        if sum(x * x for x in moved) > bound or max(map(abs, moved)) > highest:
            yield pair


SHAPES = ((2, 2, 2, 2), (2, 3, 2, 2), (3, 2, 3, 2), (3, 3, 2, 3), (2, 2, 2, 2, 2), (2, 3, 2, 2, 2))
UNITS = (20**3, 20**2, 20, 1)  # a component of n columns has 20^n in its unit


@pytest.fixture(params=["arrays", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How weights are found: of codes of a byte by what was compiled, if there was a compiler."""
    if request.param == "arrays":
        monkeypatch.setattr(compiled, "white", None)
    elif compiled.white is None:
        pytest.skip("there was no compiler")


both = pytest.mark.usefixtures("way")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schema, White]:
    """Random families, and radii at which the longest row of each clip has a weight of 8 to 63."""
    sizes = draw(st.sampled_from(SHAPES))
    schema = make_schema(sizes, draw(st.sampled_from(tuple(Adjacency))), draw(st.integers(1, 3)))
    feature = st.integers(-45, 45).filter(bool)
    features = tuple(
        tuple(tuple(draw(feature) for _ in range(k - 1)) for _ in range(k)) for k in sizes
    )
    every = [s for order in range(4) for s in combinations(schema.names, order)]
    families = st.lists(st.sampled_from(every), min_size=3, max_size=16, unique=True)
    query = White(columns=schema.names, features=features, clips=())
    for _ in range(draw(st.integers(1, 2))):
        clip = Clip(sets=tuple(draw(families)), multipliers=UNITS, radius=1)
        longest = isqrt(max(squared(query, clip, row) for row in all_rows(sizes)))
        clip = replace(clip, radius=draw(st.integers(8, 63)) * longest)
        query = replace(query, clips=(*query.clips, clip))
    return schema, query


@st.composite
def wild(draw: st.DrawFn) -> tuple[Schema, White]:
    """Features and radii of any size, which leave most rows no weight or all of it."""
    sizes = tuple(draw(st.lists(st.integers(2, 4), min_size=1, max_size=3)))
    schema = make_schema(sizes, draw(st.sampled_from(tuple(Adjacency))), draw(st.integers(1, 3)))
    feature = st.integers(-200, 200) | st.integers(-LARGEST_FEATURE, LARGEST_FEATURE)
    features = tuple(
        tuple(tuple(draw(feature) for _ in range(k - 1)) for _ in range(k)) for k in sizes
    )
    every = [s for order in range(4) for s in combinations(schema.names, order)]
    clip = st.builds(
        Clip,
        sets=st.lists(st.sampled_from(every), min_size=1, unique=True).map(tuple),
        multipliers=st.tuples(*[st.integers(1, 1 << 14)] * 4),
        radius=st.integers(1, 1 << 20) | st.integers(1, LARGEST_RADIUS),
    )
    clips = tuple(draw(st.lists(clip, min_size=1, max_size=3)))
    return schema, White(columns=schema.names, features=features, clips=clips)


@both
def test_no_pair_of_neighbours_moves_further_than_the_radius() -> None:
    """Nor is that vacuous: in each case a row is weighed down but not to nothing, and in all of
    them two rows in five are."""
    weighed = list[float]()

    @given(cases())
    @settings(max_examples=100, derandomize=True)
    def holds(case: tuple[Schema, White]) -> None:
        schema, query = case
        rows = all_rows(tuple(column.cardinality for column in schema.columns))
        assert not list(broken(query, schema, rows))
        found = query.weights(codes_of(schema, rows))
        assert 0 < found.min() < WEIGHT
        weighed.append(float((found < WEIGHT).mean()))

    holds()
    assert np.mean(weighed) > 0.4


@given(wild())
@settings(max_examples=60, derandomize=True)
def test_nor_does_one_of_any_size(case: tuple[Schema, White]) -> None:
    schema, query = case
    assert not list(broken(query, schema, all_rows(tuple(c.cardinality for c in schema.columns))))


@given(cases() | wild())
@settings(max_examples=60, derandomize=True)
def test_a_weight_is_the_largest_that_all_clips_allow(case: tuple[Schema, White]) -> None:
    """But for the slack: a unit where the quotient is nearly whole."""
    schema, query = case
    rows = all_rows(tuple(column.cardinality for column in schema.columns))
    for row, found in zip(rows, query.weights(codes_of(schema, rows)).tolist(), strict=True):
        lengths = [(clip.radius, squared(query, clip, row)) for clip in query.clips]
        best = min([WEIGHT, *(isqrt(r * r // s) for r, s in lengths if s)])
        assert best - 1 <= found <= best
        assert all(found**2 * s <= r * r for r, s in lengths)


@pytest.mark.skipif(compiled.white is None, reason="there was no compiler")
@given(cases() | wild(), st.integers(0, 10**6), st.sampled_from([0, 1, 63, 64, 300]))
@settings(max_examples=60, derandomize=True)
def test_what_was_compiled_gives_every_row_the_same_weight(
    case: tuple[Schema, White], seed: int, count: int
) -> None:
    """And the squared lengths are the same bit for bit: a radius at the very edge tells."""
    schema, query = case
    rng = np.random.default_rng(seed)
    codes = {
        column.name: rng.integers(0, column.cardinality, count).astype(np.uint8)
        for column in schema.columns
    }
    squares, clips = query._prepared
    lengths = np.stack([own[codes[name]] for own, name in zip(squares, codes, strict=True)])
    edges: list[white.Allowed] = []
    for clip in clips:
        plan = clip[1:]
        at = 7 * np.sqrt(np.maximum(white._squared(lengths, *plan) * (1 + white.SLACK), 1e-300))
        edges += [(most, *plan) for most in (*at[:5], *np.nextafter(at[:5], 0))]
    for some in (clips, *((edge,) for edge in edges)):
        found, in_arrays = np.full((2, count), WEIGHT, dtype=np.uint8)
        white._lower(found, tuple(codes.values()), squares, some)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiled, "white", None)
            white._lower(in_arrays, tuple(codes.values()), squares, some)
        assert np.array_equal(found, in_arrays)


@pytest.mark.skipif(compiled.white is None, reason="there was no compiler")
def test_codes_and_steps_that_do_not_fit_are_refused() -> None:
    def lower(
        rows: int = 2, codes: Any = None, columns: int = 1, at: int = 0, kind: int = white.COLUMN
    ) -> None:
        weights, lengths = np.full(rows, WEIGHT, dtype=np.uint8), (np.array([1.0, 4.0]),) * columns
        steps = np.array([[kind, at]])
        own = codes if codes is not None else (np.array([0, 1], dtype=np.uint8),)
        compiled.white.lower(weights, own, lengths, ((9.0, 0.0, steps, np.ones(2)),), 1.0)

    lower(), lower(kind=white.CLOSE, at=1), lower(kind=white.ADD, at=1)
    for wrong in (
        {"rows": 3},
        {"codes": ()},
        {"codes": (np.array([0, 2], dtype=np.uint8),)},
        {"codes": (np.array([0, 1], dtype=np.uint16),)},
        {"at": 2},
        {"at": -1},
        {"kind": white.FROM_HERE, "at": 1},
        {"kind": white.CLOSE, "at": 2},
        {"kind": 6},
        {"kind": -1},
    ):
        with pytest.raises(ValueError, match="codes do not fit"):
            lower(**wrong)
    with pytest.raises(IndexError):
        lower(columns=0)


SIZES = (2, 3, 3)
SCHEMA = make_schema(SIZES, Adjacency.ADD_REMOVE)
FEATURES = (
    ((9,), (-120,)),
    ((31, 4), (-33, 40), (2, -300)),
    ((-30, 5), (28, -61), (1, 250)),
)
PAIRS = Clip(
    sets=tuple(s for order in range(3) for s in combinations(SCHEMA.names, order)),
    multipliers=(1024, 32, 1),
    radius=800_000,
)
TRIPLES = Clip(sets=(*PAIRS.sets, SCHEMA.names), multipliers=(4096, 512, 64, 1), radius=20_000_000)
QUERY = White(columns=SCHEMA.names, features=FEATURES, clips=(PAIRS, TRIPLES))


everybody = pytest.mark.parametrize("adjacency", tuple(Adjacency), ids=lambda a: a.value)


@everybody
@pytest.mark.parametrize("per_person", [1, 3])
@pytest.mark.parametrize("clips", [(PAIRS,), (PAIRS, TRIPLES)], ids=["one", "two"])
def test_the_radius_is_nearly_reached(
    clips: tuple[Clip, ...], per_person: int, adjacency: Adjacency
) -> None:
    """And the bound is that of so many rows, each of which may be as long."""
    schema = make_schema(SIZES, adjacency, per_person)
    query = replace(QUERY, clips=clips)
    query.check(schema)
    rows = all_rows(SIZES)
    reach = max(sum(x * x for x in answer(query, schema, [row])) for row in rows)
    moved = per_person * records_changed(schema)
    assert 0.9 * query.l2_squared(schema) < moved**2 * reach <= query.l2_squared(schema)
    assert not list(broken(query, schema, rows))


def test_an_answer_is_the_sum_over_its_rows() -> None:
    rows = [all_rows(SIZES)[i] for i in np.random.default_rng(1).integers(18, size=50)]
    each = [answer(QUERY, SCHEMA, [row]) for row in rows]
    assert answer(QUERY, SCHEMA, rows) == [sum(column) for column in zip(*each, strict=True)]


# Planted faults: each must be seen by ``broken``.


def seen(many: int) -> bool:
    """Whether it is seen in so many generated cases."""
    found = list[Any]()

    @given(cases())
    @settings(max_examples=many, derandomize=True)
    def look(case: tuple[Schema, White]) -> None:
        schema, query = case
        rows = all_rows(tuple(column.cardinality for column in schema.columns))
        found.extend(islice(broken(query, schema, rows), 1))

    look()
    return bool(found)


def test_a_weight_that_is_rounded_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "white", None)
    monkeypatch.setattr(np, "floor", np.ceil)
    assert list(broken(QUERY, SCHEMA, all_rows(SIZES)))


def test_a_length_that_is_rounded_down_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "white", None)
    right = white._squared
    monkeypatch.setattr(white, "_squared", lambda *args: 0.9 * right(*args))
    assert list(broken(QUERY, SCHEMA, all_rows(SIZES)))


def test_a_weight_of_another_stage_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight of the first clip alone does not bound a row in the triples of the second."""

    def first(self: White, codes: Any) -> Any:
        return replace(self, clips=self.clips[:1]).weights_of_all(codes)  # type: ignore[attr-defined]

    monkeypatch.setattr(White, "weights_of_all", White.weights, raising=False)
    monkeypatch.setattr(White, "weights", first)
    assert list(broken(QUERY, SCHEMA, all_rows(SIZES)))


@both
def test_a_column_left_out_of_the_length_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no run of columns holds, which is added by a step of its own."""
    right = white._plan

    def without(*args: Any) -> white.Plan:
        nothing, steps, prices = right(*args)
        return nothing, steps[steps[:, 0] != white.PLUS], prices

    clip = Clip(sets=(("c0",), ("c2",)), multipliers=UNITS[2:], radius=12_000)
    query = replace(QUERY, clips=(clip,))
    assert not list(broken(query, SCHEMA, all_rows(SIZES)))
    monkeypatch.setattr(white, "_plan", without)
    assert list(broken(replace(query), SCHEMA, all_rows(SIZES)))
    assert seen(10)


@everybody
def test_the_rows_of_a_person_forgotten_are_caught(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = make_schema(SIZES, adjacency, 3)
    assert not list(broken(QUERY, schema, all_rows(SIZES)))
    monkeypatch.setattr(
        White, "linf", lambda self, schema: records_changed(schema) * self.clips[-1].radius
    )
    assert list(broken(QUERY, schema, all_rows(SIZES))) and seen(10)


class PerOrder(White):
    """A clip that bounds each order by itself, as if it were a charge of its own."""

    def weights(self, codes: Any) -> Any:
        each = []
        for order in range(4):
            sets = tuple(s for s in self.sets if len(s) == order)
            clip = replace(self.clips[-1], sets=sets)
            each.append(replace(QUERY, clips=(clip,)).weights(codes))
        return np.min(each, axis=0)


def test_one_charge_per_order_is_caught() -> None:
    query = PerOrder(columns=QUERY.columns, features=FEATURES, clips=(TRIPLES,))
    assert list(broken(query, SCHEMA, all_rows(SIZES)))


def test_the_longest_rows_that_are_allowed_do_not_overflow() -> None:
    """A row adds at most the radius, and as many rows as are promised fit into 64 bits."""
    top = ((LARGEST_FEATURE,), (-LARGEST_FEATURE,))
    schema = make_schema((2, 2, 2), Adjacency.ADD_REMOVE)
    clip = Clip(sets=(schema.names,), multipliers=(1, 1, 1, 1), radius=LARGEST_RADIUS)
    query = White(columns=schema.names, features=(top,) * 3, clips=(clip,))
    query.check(schema)
    assert answer(query, schema, [(0, 0, 0)] * 9) == [0]  # longer than any radius: of no weight
    small = tuple(tuple(tuple(x >> 10 for x in level) for level in top) for _ in range(3))
    (one,) = answer(replace(query, features=small), schema, [(0, 0, 0)])
    assert LARGEST_RADIUS * 2**31 <= 2**62
    assert one == 2**30  # 2 would be the radius itself, and the slack takes one
