"""Cuts that a question names: the codes that a schema with these cuts would give, and the
sensitivity that the question has under it (proofs/cuts.md).

Exhaustive for small schemas, through the real encoder. Planted faults show that the checks can
fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import PrivetError, SchemaError
from privet.privacy.engines import merge
from privet.privacy.engines.encode import Encoder, LocalParts
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import Exact, Gaussian
from privet.privacy.queries.base import Query, from_document, to_document
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.moments import Locations
from privet.privacy.queries.tables import Components, Tables
from privet.privacy.queries.white import Clip, White
from privet.privacy.vault import Vault
from privet.schema.column import Column, Missing
from privet.schema.cuts import FINE, Cuts, cut, equal_width, fine_cuts, fixed, free_columns
from privet.schema.model import Adjacency, Schema

Record = tuple[Any, ...]


def numeric(name: str = "x", low: float = 0.0, high: float = 1.0, **more: Any) -> Column:
    return Column(name=name, kind="numeric", bounds=(low, high), **more)


def encoded(data: object, schema: Schema) -> MemoryRows:
    source, positions = open_source(data, schema)
    rows = Encoder(schema=schema, positions=positions).rows(source)
    assert isinstance(rows, MemoryRows)
    return rows


def codes(rows: MemoryRows) -> dict[str, list[int]]:
    return {name: column.tolist() for name, column in rows._codes.items()}


# --- merged bins are the bins of the other schema ---------------------------------------------

places = st.sets(st.integers(1, FINE - 1), min_size=1, max_size=9).map(lambda s: tuple(sorted(s)))
missing: st.SearchStrategy[Missing] = st.sampled_from(("value", "level", "drop"))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, Cuts, list[float]]:
    low = draw(st.floats(-1e6, 1e6))
    high = low + draw(st.floats(1e-3, 1e6))
    grid, chosen = (low, *equal_width(low, high, FINE), high), draw(places)
    edges = st.sampled_from(grid) | st.sampled_from([grid[place] for place in chosen])
    near = edges.flatmap(
        lambda edge: st.sampled_from(
            [edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)]
        )
    )
    cells = draw(st.lists(near | st.floats(), min_size=1, max_size=30))
    schema = Schema(name="s", columns=(numeric("x", low, high, missing=draw(missing)),))
    return schema, (("x", chosen),), [float(cell) for cell in cells]


def check_codes(schema: Schema, cuts: Cuts, cells: list[float]) -> None:
    """As numbers, and as texts, which another reader encodes."""
    declared = cut(schema, cuts)
    for data in ({"x": np.array(cells)}, {"x": [repr(cell) for cell in cells]}):
        rows = encoded(data, schema)
        assert sorted(codes(rows.cut(declared))["x"]) == sorted(codes(encoded(data, declared))["x"])
        assert sorted(codes(rows)["x"]) == sorted(codes(encoded(data, fixed(schema)))["x"])


@given(tables())
@settings(max_examples=15, derandomize=True, deadline=None)
def test_merged_bins_are_those_of_a_schema_that_declares_the_cuts(
    case: tuple[Schema, Cuts, list[float]],
) -> None:
    schema, cuts, cells = case
    if free_columns(schema):
        check_codes(schema, cuts, cells)


@pytest.mark.parametrize("fault", ["a value on a cut", "missing"])
def test_a_fault_in_the_merging_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = merge.merged_codes

    def wrong(old: Column, new: Column) -> Any:
        if fault == "missing":
            return np.minimum(right(old, new), new.cardinality - 2)
        return np.roll(right(old, new), 1)

    monkeypatch.setattr(merge, "merged_codes", wrong)
    schema = Schema(name="s", columns=(numeric(missing="level"),))
    with pytest.raises(AssertionError):
        check_codes(schema, (("x", (10, 70)),), [0.0, 10 / FINE, 0.5, float("nan"), 1.0])


def test_a_sample_is_cut_as_a_whole() -> None:
    """Twice the same rows, and not another sample."""
    schema = Schema(name="s", columns=(numeric("x"), numeric("y")))
    x = np.linspace(0, 1, 4000)
    rows = encoded({"x": x, "y": x}, schema).sampled(1 << 31)
    found = codes(rows.cut(cut(schema, (("x", (64,)), ("y", (64,))))))
    assert found["x"] == found["y"]
    assert 1500 < len(found["x"]) < 2500  # half of the rows, but for 15 deviations
    assert sum(found["x"]) == sum(code > 0 for code in codes(rows)["x"])


def test_rows_in_parts_are_merged_where_they_are() -> None:
    """Every kind of answer, from two parts and from rows in memory; each row is read in fine
    bins."""
    schema = make_schema(Adjacency.ADD_REMOVE)
    cells = list(zip(*product(*CELLS), strict=True))
    data = {c.name: list(map(str, each)) for c, each in zip(COLUMNS, cells, strict=True)}
    source, positions = open_source(data, schema)
    encoder = Encoder(schema=schema, positions=positions)
    fine = replace(encoder, schema=cut(schema, fine_cuts(free_columns(schema))))
    streamed = StreamedRows(fine.schema, LocalParts(fine, source)).cut(schema)
    rows = encoded(data, schema)
    for inner in queries().values():
        for query in (Cut(CUTS, inner), inner):
            if isinstance(query, White):  # it has the features of other levels
                continue
            expected = query.evaluate(rows, schema)
            assert query.evaluate(streamed, schema).tolist() == expected.tolist()
    x = streamed.sampled((1 << 32) - 1).cut(cut(schema, CUTS)).counts(("x",))
    assert x.tolist() == rows.cut(cut(schema, CUTS)).counts(("x",)).tolist()


# --- how far one person can move an answer -----------------------------------------------------

CUTS: Cuts = (("x", (3, 64, 65, 100, 101, 200, 255)), ("y", (128,)))
COLUMNS = (
    numeric("x", missing="level"),
    numeric("y", -1.0, 3.0, missing="drop"),
    Column(name="z", kind="categorical", levels=("n", "y")),
)
CELLS = (
    (0.0, 5 / FINE, 0.25, 0.3, 100 / FINE, 0.5, 0.9, 1.0, float("nan")),
    (0.0, 2.0, float("nan")),
    ("n", "y"),
)


def make_schema(adjacency: Adjacency, per_person: int = 1) -> Schema:
    rows = 5 if adjacency is Adjacency.REPLACE_ONE else None
    return Schema(
        name="s", columns=COLUMNS, adjacency=adjacency, rows=rows, rows_per_person=per_person
    )


def _features(k: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(32 * (i == j)) - 5 * j for j in range(k - 1)) for i in range(k))


def queries() -> dict[str, Query]:
    names = tuple(column.name for column in COLUMNS)
    small = tuple(s for order in range(3) for s in combinations(names, order))
    white = White(
        columns=names,
        features=(_features(9), _features(2), _features(2)),
        clips=(Clip(sets=small, multipliers=(1024, 32, 1), radius=2_000_000),),
    )
    return {
        "tables": Tables((("x",), ("x", "y"), names)),
        "columns": Components((("x",), ("y",))),
        "pairs": Components(tuple(combinations(names, 2))),
        "triples": Components((names,)),
        "white": white,
    }


def answer(query: Query, schema: Schema, records: list[Record]) -> list[int]:
    columns = zip(*records, strict=True) if records else [()] * len(COLUMNS)
    data = {
        column.name: np.array(cells, dtype=object if column.bounds is None else float)
        for column, cells in zip(COLUMNS, columns, strict=True)
    }
    return [int(x) for x in Vault(data, schema, None).release(query, Exact()).values]


def moves(query: Query, schema: Schema) -> Iterator[list[int]]:
    """How far the answer moves between all neighbours of one row."""
    none = answer(query, schema, [])
    each = [answer(query, schema, [record]) for record in product(*CELLS)]
    replaced = schema.adjacency is Adjacency.REPLACE_ONE
    pairs = combinations(each, 2) if replaced else ((one, none) for one in each)
    for one, other in pairs:
        yield [schema.rows_per_person * (a - b) for a, b in zip(one, other, strict=True)]


def reach(query: Query, schema: Schema) -> tuple[int, int, int]:
    found = list(moves(query, schema))
    return (
        max(sum(map(abs, moved)) for moved in found),
        max(sum(x * x for x in moved) for moved in found),
        max(max(map(abs, moved)) for moved in found),
    )


@pytest.mark.parametrize("adjacency", tuple(Adjacency), ids=lambda a: a.value)
@pytest.mark.parametrize("name", queries())
def test_no_neighbours_are_further_apart_than_the_bound(name: str, adjacency: Adjacency) -> None:
    schema, query = make_schema(adjacency, 2), Cut(CUTS, queries()[name])
    query.check(schema)
    bounds = query.l1(schema), query.l2_squared(schema), query.linf(schema)
    assert all(a <= b for a, b in zip(reach(query, schema), bounds, strict=True))
    if adjacency is Adjacency.ADD_REMOVE and name != "white":
        assert reach(query, schema)[1] == bounds[1]


def test_the_bound_of_the_declared_schema_would_be_too_small() -> None:
    """The longest contrast of 9 levels is longer than that of the 5 that the schema has."""
    schema, query = make_schema(Adjacency.ADD_REMOVE), Cut(CUTS, Components((("x",),)))
    assert reach(query, schema)[1] > query.query.l2_squared(schema)
    assert query.size(schema) == 8


# --- what is refused, and what a file says -----------------------------------------------------

SCHEMA = make_schema(Adjacency.ADD_REMOVE)
ONE = Tables((("x",),))
BAD = {
    "no column": Cut((), ONE),
    "twice": Cut((("x", (1,)), ("x", (2,))), ONE),
    "levels": Cut((("z", (1,)),), ONE),
    "unknown": Cut((("w", (1,)),), ONE),
    "no place": Cut((("x", ()),), ONE),
    "below": Cut((("x", (0, 5)),), ONE),
    "above": Cut((("x", (5, FINE)),), ONE),
    "not sorted": Cut((("x", (7, 5)),), ONE),
    "no table": Cut((("x", (5,)),), Locations(columns=("y",))),
    "cut twice": Cut((("x", (5,)),), Cut((("y", (5,)),), ONE)),
    "the question itself": Cut((("x", (5,)),), Tables((("w",),))),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_question_is_refused_before_it_costs_anything(name: str) -> None:
    run = Ledger(":memory:").begin(
        "s", epsilon=1, delta=1e-6, method="interaction-pc", unit=SCHEMA.unit
    )
    data = {"x": [0.5], "y": [0.5], "z": ["n"]}
    with pytest.raises(SchemaError), run:
        Vault(data, SCHEMA, run).release(BAD[name], Gaussian(rho=run.budget))
    assert run.spent == 0


def test_declared_cuts_stay() -> None:
    declared = numeric(cuts=(0.25, 0.5, 0.75))
    for column in (declared, replace(numeric(), free=False)):
        schema = Schema(name="s", columns=(column,))
        assert free_columns(schema) == ()
        with pytest.raises(SchemaError, match="neither bins nor cuts"):
            Cut((("x", (5,)),), ONE).check(schema)


@pytest.mark.parametrize("bounds", [(0.0, 5e-322), (1e17, 1e17 + 320)])
def test_bounds_without_room_for_a_grid_are_not_free(bounds: tuple[float, float]) -> None:
    assert free_columns(Schema(name="s", columns=(numeric("x", *bounds),))) == ()


def test_a_file_keeps_the_question() -> None:
    for inner in queries().values():
        query = Cut(CUTS, inner)
        assert from_document(json.loads(json.dumps(to_document(query)))) == query


@pytest.mark.parametrize(
    "change",
    [
        {"cuts": [["x", [1.5]]]},
        {"cuts": [["x"]]},
        {"cuts": "x"},
        {"query": {"kind": "Nothing"}},
        {"more": 1},
    ],
    ids=str,
)
def test_a_damaged_file_is_refused(change: dict[str, Any]) -> None:
    document = {**json.loads(json.dumps(to_document(Cut(CUTS, ONE)))), **change}
    with pytest.raises((KeyError, TypeError, ValueError, PrivetError)):
        from_document(document)
