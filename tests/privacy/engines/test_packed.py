"""Groups of columns count what a plain count of each table finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.privacy.engines import bitmaps, compiled, memory, packed
from privet.privacy.engines.bitmaps import Bitmaps
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.packed import Packed
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.engines.work import add_counts
from privet.privacy.queries import products
from privet.privacy.queries.tables import Components
from privet.schema.column import Column
from privet.schema.model import Schema

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 5, "f": 100, "g": 64, "h": 33, "i": 2, "j": 300}
ROWS = 500
BASES = (("a",), ("d", "c"), ("j", "f"), ("e", "a", "h"), ("j", "f", "b"))  # the last: > 2^16 cells


def codes() -> dict[str, NDArray[np.unsignedinteger]]:
    draw = np.random.default_rng(1)
    wide = {name: np.uint8 if k <= 256 else np.uint16 for name, k in SIZES.items()}
    return {name: draw.integers(0, k, ROWS).astype(wide[name]) for name, k in SIZES.items()}


def plainly(names: tuple[str, ...], weights: NDArray[np.uint8] | None) -> NDArray[np.int64]:
    held, out = codes(), np.zeros([SIZES[name] for name in names], dtype=np.int64)
    np.add.at(out, tuple(held[name] for name in names), 1 if weights is None else weights)
    return out


def side_by_side(base: tuple[str, ...], weights: NDArray[np.uint8] | None) -> NDArray[np.int64]:
    tables = [plainly((*base, name), weights) for name in SIZES if name not in base]
    return np.concatenate([table.reshape(-1, table.shape[-1]) for table in tables], axis=1)


@pytest.fixture(params=["compiled", "in arrays", "an older NumPy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How rows are counted: as it was compiled, in arrays, or where NumPy cannot count bits."""
    if request.param != "compiled":
        monkeypatch.setattr(compiled, "counts", None)
    elif compiled.counts is None:
        pytest.skip("there was no compiler")
    if request.param == "an older NumPy":
        monkeypatch.delattr(np, "bitwise_count", raising=False)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("most_cells", [packed.MOST_CELLS, 100])
def test_groups_count_what_is_there(
    weighed: bool, most_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "BLOCK_ROWS", 211)
    monkeypatch.setattr(packed, "MOST_CELLS", most_cells)
    weights = np.random.default_rng(2).integers(0, 4, ROWS).astype(np.uint8) if weighed else None
    rows = Packed(codes(), SIZES, weights)
    narrow = [name for name in SIZES if rows.narrow(name)]
    assert narrow == [name for name, k in SIZES.items() if k <= packed.GROUP_CELLS]
    pairs = list(permutations(narrow, 2))
    for pair, table in rows.pairs(pairs).items():
        assert table.dtype == np.int64 and np.array_equal(table, plainly(pair, weights))
    for base in BASES:
        others = tuple(name for name in SIZES if name not in base)
        (fan,) = rows.fans([(base, others)])
        assert np.array_equal(fan, side_by_side(base, weights))


def test_rows_that_are_weighed_count_so_often_in_a_batch_of_pairs() -> None:
    schema, held = declared(), codes()
    weights = np.random.default_rng(3).integers(0, 4, ROWS).astype(np.uint8)
    rows = MemoryRows(schema, lambda: held, dict).weighed(("a",), lambda _: weights)
    pairs = [("a", "b"), ("b", "a"), ("c", "i"), ("d", "j"), ("e", "e"), ("f", "g"), ("h", "a")]
    for pair, table in zip(pairs, rows.table_batch(pairs), strict=True):
        assert np.array_equal(table, plainly(pair, weights))
    ((fan,),) = [rows.fans([(("a",), ("b", "c"))])]
    both = [plainly(("a", name), weights) for name in "bc"]
    assert np.array_equal(fan, np.concatenate(both, axis=1))


@pytest.mark.usefixtures("way")
def test_each_row_has_its_own_weight_where_rows_are_more_than_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a batch and one by one: the weight of another row would not bound what a row adds."""
    monkeypatch.setattr(memory, "BLOCK_ROWS", 211)
    monkeypatch.setattr(packed, "BLOCK_ROWS", 211)
    rows = MemoryRows(declared(), codes, dict).weighed(("f",), lambda some: some["f"].copy())
    sets = [tuple(s) for s in ("", "a", "j", "ab", "bj", "jf", "abc", "fgh", "cej")]
    together, alone = rows.table_batch(sets), [*map(rows.counts, sets)]
    for columns, *tables in zip(sets, together, alone, strict=True):
        for table in tables:
            assert np.array_equal(table, counted_plainly(columns, codes()["f"]))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weighed", [False, True])
def test_tables_of_a_part_of_another_set_are_sums_over_its_table(weighed: bool) -> None:
    """Whatever their order; a column that is named twice is counted by itself."""
    weights = np.random.default_rng(3).integers(0, 65, ROWS).astype(np.uint8)
    rows = MemoryRows(declared(), codes, dict)
    rows = rows.weighed(("a",), lambda _: weights) if weighed else rows
    sets = [
        tuple(s) for s in ("", "a", "abc", "ac", "ca", "aa", "aaa", "aab", "ab", "b", "j", "bj")
    ]
    for columns, table in zip(sets, rows.table_batch(sets), strict=True):
        assert table.dtype == np.int64
        assert np.array_equal(table, counted_plainly(columns, weights if weighed else None))


def counted_plainly(names: tuple[str, ...], weights: NDArray[np.uint8] | None) -> NDArray[np.int64]:
    return (
        plainly(names, weights) if names else np.array(ROWS if weights is None else weights.sum())
    )


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 130, 16_384, 20_000])
def test_maps_of_bits_count_what_is_there(
    rows: int, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is left of the last word or block, and some bases at a time; and only where there
    are few levels."""
    monkeypatch.setattr(bitmaps, "AT_ONCE", 40)
    held = {name: np.resize(codes()[name], rows) for name in "abcdei"}
    maps = Bitmaps(held, SIZES)
    for base in (("a",), ("d", "c"), ("i", "e")):
        others = tuple(name for name in "abcdei" if name not in base)
        expected = []
        for name in others:
            out = np.zeros([SIZES[each] for each in (*base, name)], dtype=np.int64)
            np.add.at(out, tuple(held[each] for each in (*base, name)), 1)
            expected.append(out.reshape(-1, SIZES[name]))
        (fan,) = maps.fans([(base, others)])
        assert fan is not None and fan.dtype == np.int64
        assert np.array_equal(fan, np.concatenate(expected, axis=1))
    asked = ((("a",), ("b",)), (("a",), ("f",)), (("b", "c", "e", "d", "i"), ("a",)))
    assert [fan is not None for fan in maps.fans(asked)] == [True, False, False]
    (wide,) = maps.fans([(("b", "c", "d"), ("a",))])
    assert (wide is not None) == (way == "compiled")
    assert Bitmaps({"f": codes()["f"]}, {"f": SIZES["f"]}).fans(asked) == [None] * 3


@pytest.mark.skipif(compiled.counts is None, reason="there was no compiler")
def test_codes_and_keys_that_do_not_fit_a_table_are_refused() -> None:
    key, code = np.array([0, 1, 2], dtype=np.uint16), np.array([0, 1, 1], dtype=np.uint8)
    out = np.zeros((3, 2), dtype=np.int64)
    compiled.counts.tallied(key, (code,), (2,), out)
    assert out.tolist() == [[1, 0], [0, 1], [0, 1]]
    for wrong in (
        (key + np.uint16(1), (code,), (2,), out),
        (key, (code + np.uint8(1),), (2,), out),
        (key, (code[:2],), (2,), out),
        (key, (code,), (2, 2), out),
        (key, (code,), (0,), out),
        (key, (), (), out),
    ):
        with pytest.raises(ValueError, match="codes do not fit"):
            compiled.counts.tallied(*wrong)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("names", ["a", "j", "bf", "jb", "abcdei", "jf", "jfb"])
@pytest.mark.parametrize("rows", [0, 1, 499, 5000])
def test_rows_are_counted_in_tables_of_any_size(names: str, rows: int, weighed: bool) -> None:
    """Codes of one byte and of two, which may lie apart; and what is there is added to."""
    held = {name: np.resize(codes()[name], rows) for name in names}
    weights = np.resize(np.arange(65, dtype=np.uint8), rows) if weighed else None
    shape = tuple(SIZES[name] for name in names)
    wanted = np.ones(shape, dtype=np.int64)
    np.add.at(wanted, tuple(held.values()), 1 if weights is None else weights)
    apart = {name: np.stack([column, column], axis=1)[:, 0] for name, column in held.items()}
    for part in (held, apart):
        found = np.ones(wanted.size, dtype=np.int64)
        add_counts(found, part, tuple(names), shape, weights)
        assert np.array_equal(found, wanted.ravel())


@pytest.mark.skipif(compiled.counts is None, reason="there was no compiler")
def test_cells_that_are_not_in_a_table_are_refused() -> None:
    one, other = np.array([0, 1, 1], dtype=np.uint8), np.array([0, 2, 1], dtype=np.uint16)
    out, weights = np.zeros(6, dtype=np.int64), np.array([5, 0, 255], dtype=np.uint8)
    compiled.counts.counted(out, (one, other), (2, 3), weights)
    assert out.tolist() == [5, 0, 0, 0, 255, 0]
    for wrong in (
        (out, (one + np.uint8(1), other), (2, 3), weights),
        (out, (one, other), (2, 3), weights[:2]),
        (out, (one, other[:2]), (2, 3), None),
        (out, (one, other), (2,), None),
        (out, (one, other.astype(np.uint32)), (2, 3), None),
        (np.zeros((1 << 16) + 1, dtype=np.int64), (one,), (2,), None),
        (out, (), (), None),
        (out, (one,) * 65, (1,) * 65, None),
    ):
        with pytest.raises(ValueError, match="codes do not fit"):
            compiled.counts.counted(*wrong)


@pytest.mark.skipif(compiled.counts is None, reason="there was no compiler")
def test_maps_that_do_not_fit_a_table_are_refused() -> None:
    maps, margins = np.array([[5], [2], [1], [6]], dtype=np.uint64), np.array([2, 1, 1, 2])
    bounds, served = np.array([[0, 2], [2, 2]]), {"a": 0, "b": 1}

    def fan(base: str, others: str, bounds: NDArray[np.int64] = bounds) -> Any:
        asked = ((tuple(base), tuple(others)),)
        return compiled.counts.fans(maps, margins, bounds, served, asked, 1 << 16)[0]

    cells, counts = fan("a", "b")
    assert (cells, np.frombuffer(counts, dtype=np.int64).tolist()) == (2, [1, 1, 0, 1])
    for wrong in (("a", "c"), ("c", "a"), ("a" * 40, "b")):
        assert fan(*wrong) is None
    for outside in (bounds + 3, bounds - 3, bounds + np.array([1, 0]), bounds[:1], bounds[:0]):
        assert fan("a", "b", outside) is None
    for empty in (("", "b"), ("a", "")):
        with pytest.raises(ValueError, match="an empty fan"):
            fan(*empty)


@pytest.mark.skipif(compiled.counts is None, reason="there was no compiler")
def test_what_is_counted_between_two_looks_at_signals_adds_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fan of so many cells that a look comes after each block, and rows for two looks."""
    rng, names = np.random.default_rng(5), "abcde"
    held = {name: rng.integers(0, 16, 20_000).astype(np.uint8) for name in names}
    monkeypatch.setattr(bitmaps, "MOST_COMPILED", 1 << 16)
    (fan,) = Bitmaps(held, dict.fromkeys(names, 16)).fans([(tuple(names[:-1]), (names[-1],))])
    assert fan is not None
    out = np.zeros([16] * 5, dtype=np.int64)
    np.add.at(out, tuple(held.values()), 1)
    assert np.array_equal(fan, out.reshape(-1, 16))
    rows = (1 << 22) + 1000
    key, codes = (np.resize(held[name], rows) for name in "ab")
    table = np.zeros((16, 5 * 16), dtype=np.int64)
    compiled.counts.tallied(key.astype(np.uint16), (codes,) * 5, (16,) * 5, table)
    wanted = np.bincount(16 * key.astype(np.int64) + codes, minlength=256).reshape(16, 16)
    assert np.array_equal(table, np.tile(wanted, 5))


def test_small_tables_are_counted_as_fans(way: str) -> None:
    """Those that maps serve; others are left to blocks, and all of them where rows are weighed."""
    wanted = [("a", "b", "c"), ("a", "b", "d"), ("d", "a", "b"), ("i", "a"), ("a", "b", "f")]
    found = Packed(codes(), SIZES, None).small(wanted)
    assert {*found} == ({*wanted[:4]} if way == "compiled" else set())
    for columns, table in found.items():
        assert np.array_equal(table, plainly(columns, None))
    assert not Packed(codes(), SIZES, np.ones(ROWS, dtype=np.uint8)).small(wanted)
    tables = MemoryRows(declared(), codes, dict).table_batch(wanted)
    for columns, table in zip(wanted, tables, strict=True):
        assert np.array_equal(table, plainly(columns, None))


def declared() -> Schema:
    columns = tuple(
        Column(name=name, kind="categorical", levels=tuple(map(str, range(k))))
        for name, k in SIZES.items()
    )
    return Schema(name="s", columns=columns)


def test_rows_that_stay_where_they_are_give_the_same_fans() -> None:
    schema, held = declared(), codes()

    class Parts:
        """Two parts of the rows."""

        def fold(self, work: Any) -> list[NDArray[np.int64]]:
            totals = work.start()
            for part in (slice(0, 123), slice(123, None)):
                work.add(totals, {name: held[name][part] for name in work.columns})
            return list(totals)

        def read(self, *_args: object) -> Any:
            raise NotImplementedError

    asked: list[tuple[tuple[str, ...], tuple[str, ...]]]
    asked = [(base, tuple(name for name in "abcdeghi" if name not in base)) for base in BASES[:2]]
    asked.append((("e", "a", "h"), ("i", "b")))
    memory = MemoryRows(schema, lambda: held, dict).fans(asked)
    for one, other in zip(memory, StreamedRows(schema, Parts()).fans(asked), strict=True):
        assert np.array_equal(one, other)


def test_pairs_that_are_measured_as_fans_are_those_of_single_tables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table that may have more than 2^31 rows is measured pair by pair, in larger numbers."""
    columns = tuple(
        Column(name=name, kind="ordinal" if name in "ce" else "categorical", levels=levels)
        for name, levels in ((n, tuple(map(str, range(SIZES[n])))) for n in "abcdehi")
    )
    schema, held = Schema(name="s", columns=columns), codes()
    query = Components(tuple(combinations(schema.names, 2)))
    large = replace(schema, most_rows=1 << 33)
    found, plain = (
        query.evaluate(MemoryRows(each, lambda: held, dict), each) for each in (schema, large)
    )
    assert query._fans() and np.array_equal(found, plain)
    rows = MemoryRows(schema, lambda: held, dict)
    some = Components((("b", "e"), ("b", "a"), ("b", "d"), ("e", "d"), ("e", "c"), ("e", "b")))
    for most in (products.MOST_NUMBERS, 1):  # all at once, and one fan at a time
        monkeypatch.setattr(products, "MOST_NUMBERS", most)
        assert np.array_equal(query.evaluate(rows, schema), plain)
        assert np.array_equal(some.evaluate(rows, schema), some.evaluate(rows, large))
    alone = Components(tuple((name,) for name in schema.names))
    assert np.array_equal(alone.evaluate(rows, schema), alone.evaluate(rows, large))
