"""A question may name the same set of columns again and again, in any order, and the empty one too:
each time counts. Every sensitivity is held against all pairs of neighbours of small tables.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import chain, combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import SchemaError
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.mechanisms import Exact
from privet.privacy.queries.base import Query
from privet.privacy.queries.box_moments import BoxMoments
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.dependence import Dependence, Removals
from privet.privacy.queries.distance import Distances, DistantRemovals
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.moments import Locations, Moments
from privet.privacy.queries.tables import PATTERN_COLUMNS, Components, Tables
from privet.privacy.queries.white import Clip, White
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.privacy.queries.test_sensitivity import (
    Reach,
    Record,
    Vector,
    contributions,
    differences,
    exceeded,
    make_schema,
    minus,
)

NAMES = ("two", "gone", "rank")
FULL = ("two", "rank")
CELLS = {"two": ("n", "y"), "gone": ("n", "y", None), "rank": ("low", "mid", "high")}
Sets = tuple[tuple[str, ...], ...]


def orders_of(names: tuple[str, ...], order: int) -> list[tuple[str, ...]]:
    """All sets of so many columns, in all orders."""
    return list(permutations(names, order))


def repeated(names: tuple[str, ...], order: int) -> st.SearchStrategy[Sets]:
    return st.lists(st.sampled_from(orders_of(names, order)), min_size=1, max_size=8).map(tuple)


@st.composite
def sums(draw: st.DrawFn) -> tuple[tuple[str, ...], Query]:
    """Questions that are sums over rows."""
    names = draw(st.sampled_from([NAMES, FULL]))
    order = draw(st.integers(0, len(names)))
    sets = draw(repeated(names, order))
    kinds: list[Query] = [Components(sets)]
    if order:
        kinds.append(Tables(sets))
    if 0 < order < len(names):
        kinds.append(Fans(tuple((s, tuple(n for n in names if n not in s)) for s in sets)))
    return names, draw(st.sampled_from(kinds))


@cache
def records(names: tuple[str, ...]) -> list[Record]:
    return list(product(*(CELLS[name] for name in names)))


@given(sums(), st.sampled_from([*Adjacency]), st.integers(1, 3))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_each_repetition_counts(
    case: tuple[tuple[str, ...], Query], adjacency: Adjacency, per_person: int
) -> None:
    names, query = case
    schema = make_schema(names, adjacency, per_person)
    query.check(schema)
    every = records(names)
    added = contributions(make_schema(names, Adjacency.ADD_REMOVE), [query], every, every[:2])
    found = set(added[query])
    few = [*found][:6] if per_person > 1 else [*found]
    reach = Reach.of(differences(few, adjacency, per_person))
    assert not exceeded(reach, query, schema), reach


@pytest.mark.parametrize("names", [NAMES, FULL])
@pytest.mark.parametrize("times", [1, 2, 7, 1000])
def test_the_number_of_rows_asked_again_and_again(names: tuple[str, ...], times: int) -> None:
    """The bound is reached, so that a bound for one time is too small."""
    query = Components(((),) * times)
    for adjacency in Adjacency:
        schema = make_schema(names, adjacency)
        every = records(names)
        added = contributions(make_schema(names, Adjacency.ADD_REMOVE), [query], every, every[:1])
        reach = Reach.of(differences(added[query], adjacency, 1))
        assert reach.l2_squared == query.l2_squared(schema)
        assert not exceeded(reach, query, schema)


def test_noise_grows_with_each_repetition() -> None:
    """The vault charges for them: the same budget gives a variance that is so many times larger."""
    schema = make_schema(NAMES, Adjacency.REPLACE_ONE)
    for sets in [((),), (("two",),), (("two", "rank"),)]:
        once = Components(sets).l2_squared(schema)
        assert Components(sets * 400).l2_squared(schema) == 400 * once


@pytest.mark.parametrize("order", [1, 2, 3])
def test_with_many_columns_each_repetition_counts_too(order: int) -> None:
    columns = tuple(
        Column(name=f"c{i}", kind="categorical", levels=("a", "b", "c"))
        for i in range(PATTERN_COLUMNS + 2)
    )
    wide = Schema(name="s", columns=columns, adjacency=Adjacency.REPLACE_ONE, rows=9)
    sets = tuple(combinations(wide.names, order))
    for schema in (wide, replace(wide, adjacency=Adjacency.ADD_REMOVE, rows=None)):
        once, often = Components(sets), Components(sets * 5)
        assert often.l2_squared(schema) == 5 * once.l2_squared(schema)
        assert often.l1(schema) == 5 * once.l1(schema)
        assert often.linf(schema) == once.linf(schema)


QUESTIONS = [*orders_of(("two", "gone", "rank"), 2), *orders_of(("two", "gone", "rank"), 3)]
BINARY = [q for q in QUESTIONS if "rank" not in q[:2]]


def statistics(asked: tuple[tuple[str, ...], ...]) -> list[Query]:
    groups = (asked, asked[:1] * 2, asked[::-1])
    offsets = tuple((5,) * len(group) for group in groups)
    out: list[Query] = []
    for name in ("t1", "t2", "g2", "kendall", "spearman"):
        out += [Dependence(name, asked), Removals(name, groups, offsets)]
    if all(question in BINARY for question in asked):
        out += [Distances(asked, 0.05), DistantRemovals(groups, 0.05), Dependence("cmh", asked)]
    return out


def answers(queries: list[Query], schema: Schema, table: list[Record]) -> list[Vector]:
    data = {name: [row[i] for row in table] for i, name in enumerate(schema.names)}
    vault = Vault(data, schema, None)
    return [tuple(vault.release(query, Exact()).values.tolist()) for query in queries]


@given(
    st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=4),
    st.booleans(),
    st.lists(st.sampled_from(records(NAMES)), min_size=3, max_size=9),
    st.sampled_from(records(NAMES)),
)
@settings(max_examples=10, derandomize=True, deadline=None)
def test_statistics_of_repeated_questions_stay_within_their_bounds(
    some: list[tuple[str, ...]], binary: bool, table: list[Record], other: Record
) -> None:
    few = [q for q in some if q in BINARY] if binary else some
    asked = tuple(few or BINARY[:1]) * 3
    for adjacency in Adjacency:
        schema = make_schema(NAMES, adjacency)
        queries = statistics(asked)
        for query in queries:
            query.check(schema)
        neighbour = [*table[:-1], other] if adjacency is Adjacency.REPLACE_ONE else table[:-1]
        both = (answers(queries, schema, each) for each in (table, neighbour))
        for query, before, after in zip(queries, *both, strict=True):
            assert not exceeded(Reach.of(iter([minus(before, after)])), query, schema), query


def test_cuts_pass_repetitions_on() -> None:
    age = Column(name="age", kind="numeric", bounds=(0, 256), missing="drop")
    schema = Schema(name="s", columns=(age,), adjacency=Adjacency.REPLACE_ONE, rows=7)
    for sets in [((),) * 9, (("age",),) * 9]:
        query = Cut((("age", (3, 200)),), Components(sets))
        query.check(schema)
        vaults = [
            Vault({"age": [1.0, 5.0, cell]}, schema, None) for cell in (1.0, 100.0, 250.0, None)
        ]
        found = [tuple(vault.release(query, Exact()).values.tolist()) for vault in vaults]
        reach = Reach.of(minus(a, b) for a in found for b in found)
        assert not exceeded(reach, query, schema)


def test_what_may_not_be_repeated_is_refused() -> None:
    """Questions whose bound holds for different members only, by their check."""
    numbers = tuple(Column(name=n, kind="numeric", bounds=(0, 1)) for n in "ab")
    schema = Schema(name="s", columns=numbers)
    features = (((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)),) * 2
    twice: list[Query] = [
        Locations(columns=("a", "a")),
        BoxMoments(columns=("a", "a")),
        Moments(
            columns=("a", "a"),
            centres=(0.5,) * 2,
            reaches=(0.5,) * 2,
            transform=((1, 0), (0, 1)),
            radius=1.0,
            constant=0,
        ),
        White(("a", "b"), features, (Clip((("a",), ("a",)), (1, 1), 9),)),
        White(("a", "b"), features, (Clip(((), ()), (1,), 9),)),
        Components((("a", "a"),)),
        Tables((("a", "a"),)),
    ]
    for query in twice:
        with pytest.raises(SchemaError):
            query.check(schema)


def test_answers_repeat_as_often_as_they_are_asked() -> None:
    schema = make_schema(NAMES, Adjacency.ADD_REMOVE)
    rng = np.random.default_rng(3)
    codes = {c.name: rng.integers(c.cardinality, size=50).astype(np.uint8) for c in schema.columns}
    rows = MemoryRows(schema, lambda: codes, dict)
    for sets in [((),), (("two",), ("rank",)), (("two", "rank"), ("rank", "gone"))]:
        once = Components(sets).evaluate(rows, schema)
        assert np.array_equal(Components(sets * 30).evaluate(rows, schema), np.tile(once, 30))
    assert (
        list(chain.from_iterable([[50]] * 4))
        == Components(((),) * 4).evaluate(rows, schema).tolist()
    )
