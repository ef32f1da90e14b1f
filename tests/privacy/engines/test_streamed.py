"""A table in parts answers as rows in memory do, bit for bit, and with few passes."""

from __future__ import annotations

import gc
import os
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.arrays import Integers
from privet.errors import DataError
from privet.networks import network
from privet.privacy.engines import pick, source, streamed
from privet.privacy.engines.encode import Encoder, LocalParts
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import CHANGED, open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.engines.work import BLOCK_ROWS, Columns, Tally, Work, sampled, stacked
from privet.schema.column import Column
from privet.schema.cuts import cut, fine_cuts, free_columns
from privet.schema.model import Adjacency, Schema
from tests.golden.cases import repeatable
from tests.helpers.odd_table import POLICIES, answers, free_cuts, odd_schema, odd_table

Sets = list[tuple[str, ...]]


def in_memory(data: object, schema: Schema) -> MemoryRows:
    found, positions = open_source(data, schema)
    rows = Encoder(schema=schema, positions=positions).rows(found)
    assert isinstance(rows, MemoryRows)
    return rows


def in_parts(data: object, schema: Schema) -> LocalParts:
    found, positions = open_source(data, schema)
    return LocalParts(Encoder(schema=schema, positions=positions), found)


@dataclass
class Cut:
    """Rows in memory, cut into parts of odd sizes that come in another order; each is sent by
    pickle, as to another machine. Passes are counted."""

    rows: MemoryRows
    size: int
    twice: bool = False  # a planted fault: one part counts two times
    passes: list[Work] = field(default_factory=list)

    def fold(self, work: Work) -> list[Integers]:
        self.passes.append(work)
        answers = []
        for part in self.read(work.columns, work.numbers):
            sent: Work = pickle.loads(pickle.dumps(work))
            totals = sent.start()
            sent.add(totals, part)
            answers.append(totals)
        answers += answers[:1] if self.twice else []
        return [sum(each, start) for *each, start in zip(*answers, work.start(), strict=True)]

    def read(
        self, columns: tuple[str, ...], numbers: bool, keep: int | None = None
    ) -> Iterator[Columns]:
        whole = {n: self.rows._codes[n] for n in columns}
        if numbers:
            blocks = list(self.rows.numbers(columns))
            whole = dict(zip(columns, np.concatenate(blocks).T, strict=True))
        size = len(next(iter(whole.values())))
        starts = list(range(0, size, self.size))
        for start in [*starts[1::2], *starts[::2]]:
            part = {name: each[start : start + self.size] for name, each in whole.items()}
            yield part if keep is None else sampled(part, keep)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("size", [397, 70_000])
def test_parts_and_their_order_mean_nothing(
    policy: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it into how many blocks a long part is cut."""
    monkeypatch.setattr("privet.privacy.engines.work.BLOCK_ROWS", 1000)
    schema = odd_schema(policy)
    rows = in_memory(odd_table(), schema)
    parts = Cut(rows, size)
    assert answers(StreamedRows(schema, parts), schema) == answers(rows, schema)


def test_a_part_that_counts_twice_is_seen() -> None:
    schema = odd_schema()
    rows = in_memory(odd_table(), schema)
    found = answers(StreamedRows(schema, Cut(rows, 1001, twice=True)), schema)
    expected = answers(rows, schema)
    assert not any(one == two for one, two in zip(found[:4], expected[:4], strict=True))


@pytest.mark.parametrize("policy", ["value", "drop"])
@pytest.mark.parametrize("kind", ["arrow", "parquet", "folder", "pattern", "csv"])
def test_every_source_streams_the_answers_of_memory(
    policy: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table, schema = odd_table(), odd_schema(policy)
    monkeypatch.setattr(pick, "BLOCK_ROWS", 701)
    monkeypatch.setattr(source, "BLOCK_ROWS", 701)
    expected = answers(in_memory(table, schema), schema)
    data: Any = table
    if kind == "parquet":
        data = tmp_path / "t.parquet"
        parquet.write_table(table, data, row_group_size=500)
    elif kind in ("folder", "pattern"):
        for name, piece in (("a.parquet", table[:1700]), ("b/c.parquet", table[1700:])):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            parquet.write_table(piece, tmp_path / name)
        (tmp_path / "_unfinished").mkdir()
        parquet.write_table(table, tmp_path / "_unfinished" / "d.parquet")
        data = tmp_path if kind == "folder" else tmp_path / "[a-c]*" / "**" / "*.parquet"
        if kind == "pattern":
            (tmp_path / "a").mkdir()
            (tmp_path / "a.parquet").rename(tmp_path / "a" / "a.parquet")
    elif kind == "csv":
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({name: table[name].to_pylist() for name in table.column_names})
        data = tmp_path / "t.csv"
        frame.to_csv(data, index=False)
        expected = answers(in_memory(data, schema), schema)  # a text has no types
    assert answers(StreamedRows(schema, in_parts(data, schema)), schema) == expected


def test_what_is_streamed_is_decided_by_what_is_public(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table, schema = odd_table(), odd_schema()
    parquet.write_table(table, tmp_path / "t.parquet")

    def kind(data: object, schema: Schema) -> type:
        found, positions = open_source(data, schema)
        return type(Encoder(schema=schema, positions=positions).rows(found))

    assert kind(tmp_path / "t.parquet", schema) is MemoryRows
    declared = replace(schema, adjacency=Adjacency.REPLACE_ONE, rows=1 << 26)
    assert kind(tmp_path / "t.parquet", declared) is StreamedRows
    monkeypatch.setattr("privet.privacy.engines.parquet.PORTION", 1000)
    assert kind(tmp_path / "t.parquet", schema) is StreamedRows
    (tmp_path / "t.csv").write_text("text\nno\n" * 50)
    one = Schema(name="odd", columns=schema.columns[:1])
    assert kind(tmp_path / "t.csv", one) is MemoryRows
    monkeypatch.setattr("privet.privacy.engines.source.PORTION_OF_TEXT", 10)
    assert kind(tmp_path / "t.csv", one) is StreamedRows


def small(columns: int, levels: int = 3) -> tuple[Schema, MemoryRows]:
    names = tuple(f"c{i}" for i in range(columns))
    texts = tuple(map(str, range(levels)))
    schema = Schema(
        name="t",
        columns=tuple(Column(name=name, kind="categorical", levels=texts) for name in names),
    )
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, levels, 400).astype(np.uint8) for name in names}
    return schema, MemoryRows(schema, lambda: codes, dict)


def asked_of(columns: int, questions: list[Sets]) -> int:
    """How many passes some questions take, one after the other; answers are those of memory."""
    schema, rows = small(columns)
    parts = Cut(rows, 150)
    stream = StreamedRows(schema, parts)
    for sets in questions:
        for one, other in zip(stream.table_batch(sets), rows.table_batch(sets), strict=True):
            assert np.array_equal(one, other)
    return len(parts.passes)


def test_few_passes_answer_many_questions() -> None:
    singles: list[Sets] = [[()], [("c1",)], [("c2", "c0"), ("c1", "c1")]]
    one: list[Sets] = [[()], [("c0",)], [("c0", "c0")]]
    assert asked_of(1, one) == 1
    assert asked_of(6, [*singles, [("c5", "c0", "c3", "c1")]]) == 1  # the table of all columns
    assert asked_of(20, singles) == 1
    triples: list[Sets] = [[("c3", "c7", "c1")], [("c19", "c2", "c0"), ("c4", "c5", "c6")]]
    assert asked_of(20, singles + triples) == 2


def test_tables_that_are_forgotten_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamed, "KEPT_CELLS", 4000)
    triples: list[Sets] = [[("c3", "c7", "c1")], [("c19", "c2", "c0"), ("c4", "c5", "c6")]]
    assert asked_of(20, [[("c0",)], *triples, [("c0",)]]) > 2
    many: Sets = [tuple(f"c{i}" for i in (a, a + 3, a + 5)) for a in range(9)]
    assert asked_of(20, [many, [("c1", "c0")], many]) == 3


def test_a_table_of_many_cells_is_counted_as_others_are() -> None:
    schema, rows = small(6, levels=9)
    shape = (9,) * 6
    work = Tally((schema.names,), (shape,))
    (total,) = Cut(rows, 77).fold(work)
    assert np.array_equal(total.reshape(shape), rows.counts(schema.names))


def test_a_sample_is_drawn_once_and_kept() -> None:
    """Half of 400 rows: outside 100 to 300 less often than once in 10^23."""
    schema, rows = small(4)
    parts = Cut(rows, 150)
    sample = StreamedRows(schema, parts).sampled(1 << 31)
    counts = [sample.counts(()).item() for _ in range(3)]
    assert 100 < counts[0] < 300 and len(set(counts)) == 1
    assert sample.counts(("c1",)).sum() == counts[0]


@pytest.mark.parametrize("declared", [90, 400, 1000])
def test_no_more_rows_are_fetched_than_are_declared(
    declared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same ones while they are asked for; others in another run. That two draws of 90 of 400
    rows are the same has a probability below 10^-90."""
    monkeypatch.setattr(streamed, "FETCHED", 10)
    schema, _ = small(3)
    places = np.arange(400, dtype=np.uint16)
    numbered = MemoryRows(schema, lambda: {name: places for name in schema.names}, dict)
    public = replace(schema, adjacency=Adjacency.REPLACE_ONE, rows=declared)
    found = []
    for _ in range(2):
        stream = StreamedRows(public, Cut(numbered, 37))
        one, two = (np.concatenate(list(stream.numbers(("c0", "c1")))) for _ in range(2))
        assert np.array_equal(one, two) and (one[:, 0] == one[:, 1]).all()
        found.append(sorted(one[:, 0].tolist()))
        assert len(set(found[-1])) == len(one) == min(declared, 400)
    assert (found[0] == found[1]) == (declared >= 400)


def test_rows_go_at_once_with_what_they_hold() -> None:
    """So that no transaction of a server stays open until Python looks for circles."""
    schema, rows = small(2)
    parts = Cut(rows, 9)
    stream = StreamedRows(schema, parts).cut(schema)
    assert stream.cut(schema).counts(("c0",)).sum() == 400
    gone, parts = weakref.ref(parts), Cut(rows, 9)
    gc.disable()
    try:
        del stream
        assert gone() is None
    finally:
        gc.enable()


def test_merged_cuts_are_those_of_memory_in_parts(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    schema, inner, query = free_cuts()
    expected = query.query.evaluate(in_memory(odd_table(), inner), inner)
    fine = cut(schema, fine_cuts(free_columns(schema)))
    parquet.write_table(odd_table(), tmp_path / "t.parquet")
    for data in (odd_table(), tmp_path / "t.parquet"):
        stream = StreamedRows(fine, in_parts(data, fine)).cut(schema)
        assert np.array_equal(query.evaluate(stream, schema), expected)
        assert np.array_equal(query.evaluate(in_memory(data, schema), schema), expected)


def test_rows_do_not_leave() -> None:
    schema, rows = small(2)
    stream = StreamedRows(schema, Cut(rows, 9))
    assert repr(stream) == "StreamedRows(...)"
    with pytest.raises(TypeError, match="inside the vault"):
        pickle.dumps(stream)


def test_a_file_that_is_changed_between_passes_is_noticed(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table, schema = odd_table(), odd_schema()
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path)
    stream = StreamedRows(schema, in_parts(path, schema))
    stream.counts(("truth",))
    parquet.write_table(table[1:], path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError) as caught:
        stream.counts(schema.names[:6])
    assert str(caught.value) == CHANGED


def test_folders_and_patterns_that_are_no_table_are_refused(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    schema = Schema(name="t", columns=(Column(name="a", kind="categorical", levels=("no", "yes")),))

    def refused(data: Path, word: str) -> None:
        with pytest.raises(DataError, match=word):
            open_source(data, schema)

    refused(tmp_path, "without Parquet files")
    refused(tmp_path / "*.parquet", "no file is named like")
    parquet.write_table(pyarrow.table({"a": ["no"]}), tmp_path / "1.parquet")
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "2.parquet")
    refused(tmp_path, "other columns or types")
    (tmp_path / "2.parquet").write_bytes(b"PAR1")
    refused(tmp_path / "*.parquet", "not a complete Parquet file")


def test_a_folder_in_which_a_folder_goes_while_it_is_listed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Iterator[Path]:
        yield from ()
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "rglob", gone)
    with pytest.raises(DataError, match=r"cannot list the directory .* try again"):
        open_source(tmp_path, odd_schema())


@pytest.mark.parametrize("method", ["interaction-pc", "lap-table", "curate", "noleaks"])
def test_a_whole_run_is_the_same(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise that can be repeated: the same graph, evidence and certificate."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    truth = network.load("asia")
    drawn = truth.sample(3000, np.random.default_rng(3))
    data = {n: np.array(truth.levels[n], dtype=object)[codes] for n, codes in drawn.items()}
    path = tmp_path / "asia.parquet"
    parquet.write_table(pyarrow.table(data), path)
    delta = 0.0 if method == "lap-table" else 1e-6
    found = []
    for large in (False, True):
        if large:
            monkeypatch.setattr("privet.privacy.engines.parquet.PORTION", 100)
        with repeatable():
            result = privet.discover(
                path, truth.schema(), epsilon=1.0, delta=delta, method=method, ledger=":memory:"
            )
        values = [release.values.tolist() for release in result.evidence.releases]
        found.append((str(result.graph), values))
    assert found[0] == found[1]


def test_columns_that_lie_in_one_matrix_are_not_copied_and_others_are_told_from_them() -> None:
    whole = np.random.default_rng(1).normal(size=(3, BLOCK_ROWS + 5))
    part = dict(zip("abc", whole, strict=True))
    for block in stacked(part, ("a", "b", "c")):
        assert np.shares_memory(block, whole)
    orders = ("a", "b", "c"), ("c", "b", "a"), ("a", "b"), ("b", "c"), ("a", "a", "b"), ("b",)
    for columns in orders:
        found = np.concatenate([*stacked(part, columns)])
        assert np.array_equal(found, np.stack([part[name] for name in columns], axis=1))
    every = {**part, "b": part["b"].copy()}
    assert np.array_equal(np.concatenate([*stacked(every, ("a", "b", "c"))]), whole.T)
    assert not [*stacked({"a": whole[0, :0]}, ("a",))]
