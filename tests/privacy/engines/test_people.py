"""No more rows of a person count than are declared, wherever the table comes from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import DataError, SchemaError
from privet.privacy.engines import duck as duck_tables
from privet.privacy.engines import parquet as parquet_files
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.people import first_rows, texts_of
from privet.privacy.engines.source import PORTION, open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.queries.tables import Tables
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.odd_table import POLICIES, odd_schema, odd_table, questions


def rows_of(data: object, schema: Schema) -> MemoryRows | StreamedRows:
    source, positions = open_source(data, schema)
    return Encoder(schema=schema, positions=positions).rows(source)


def seen(rows: MemoryRows | StreamedRows, schema: Schema) -> list[tuple[float, ...]]:
    """All that any question sees of each row: its codes and its numbers."""
    assert isinstance(rows, MemoryRows)
    nothing = np.empty((0, len(schema.names)))
    numbers = np.concatenate([nothing, *rows.numbers(schema.names)])
    codes = np.stack([rows._codes[name] for name in schema.names], axis=1)
    return list(map(tuple, np.concatenate([codes, numbers], axis=1).tolist()))


def expected(table: Any, schema: Schema) -> Counter[tuple[float, ...]]:
    """Person by person, by the words of the rule: names are levels of a column more."""
    names = {text.strip() for text in table["person"].to_pylist() if text and text.strip()}
    who = Column(name="person", kind="categorical", levels=tuple(names), missing="level")
    wide = replace(schema, columns=(*schema.columns, who), person=None)
    people: dict[float, list[tuple[float, ...]]] = defaultdict(list)
    size = len(schema.columns)
    for row in seen(rows_of(table, wide), wide):
        people[row[size]].append(row[:size] + row[size + 1 : -1])
    people.pop(len(names), None)
    kept = (sorted(rows)[: schema.rows_per_person] for rows in people.values())
    return Counter(row for rows in kept for row in rows)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("most", [1, 3])
def test_the_first_rows_of_each_person_count(policy: str, most: int) -> None:
    schema = odd_schema(policy, person="person", rows_per_person=most)
    table = odd_table(300)
    found = Counter(seen(rows_of(table, schema), schema))
    assert found == expected(table, schema) and sum(found.values()) < 300


@pytest.mark.parametrize("policy", ["drop"])
@pytest.mark.parametrize("kind", ["parquet", "large parquet", "csv", "large csv"])
def test_every_source_counts_the_same_rows(
    policy: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large file is read once for each portion of its people."""
    parquet, pandas = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    table, schema = odd_table(500), odd_schema(policy, person="person", rows_per_person=2)
    path: Path = tmp_path / ("t.parquet" if "parquet" in kind else "t.csv")
    if "parquet" in kind:
        parquet.write_table(table, path)
        wanted = some(rows_of(table, schema), schema)
    else:
        cells = {name: table[name].to_pylist() for name in table.column_names}
        pandas.DataFrame(cells).to_csv(path, index=False)
        wanted = some(rows_of(path, schema), schema)
    if "large" in kind:
        size = path.stat().st_size // 6
        monkeypatch.setattr("privet.privacy.engines.parquet.PORTION", size)
        monkeypatch.setattr("privet.privacy.engines.source.PORTION_OF_TEXT", size)
    rows = rows_of(path, schema)
    assert isinstance(rows, StreamedRows if "large" in kind else MemoryRows)
    assert some(rows, schema) == wanted


def some(rows: Any, schema: Schema) -> list[list[int]]:
    """Answers from codes and from numbers."""
    return [questions(schema)[i].evaluate(rows, schema).tolist() for i in (1, 3, 9)]


def moved(table: Any, schema: Schema, name: str) -> int:
    """How far all rows of a person move the tables of single columns, in counts."""
    query = Tables(tuple((column,) for column in schema.names))
    keep = [text is None or text.strip() != name for text in table["person"].to_pylist()]
    with_, without = (
        query.evaluate(rows_of(each, schema), schema) for each in (table, table.filter(keep))
    )
    return int(np.abs(with_ - without).sum())


@pytest.mark.parametrize("most", [1, 2])
def test_a_person_more_moves_no_other_row(most: int) -> None:
    schema = odd_schema("drop", person="person", rows_per_person=most)
    table = odd_table(300)
    bound = Tables(tuple((column,) for column in schema.names)).l1(schema)
    assert max(moved(table, schema, f"p{i}") for i in range(0, 60, 6)) == bound


def test_a_limit_that_is_left_out_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: all rows of a person count."""
    monkeypatch.setattr(
        "privet.privacy.engines.encode.first_rows",
        lambda part, columns, _: first_rows(part, columns, 99),
    )
    schema = odd_schema("level", person="person", rows_per_person=1)
    table = odd_table(300)
    bound = Tables(tuple((column,) for column in schema.names)).l1(schema)
    assert max(moved(table, schema, f"p{i}") for i in range(0, 60, 6)) > bound


def test_whole_numbers_and_missing_ones_name_people() -> None:
    schema = replace(odd_schema(), columns=odd_schema().columns[2:3], person="id")
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    truths = [True, False, True, True]
    for ids in ([7, 7, 8, None], ["7", " 7", "8", " "], [7.0, 7.0, 8.0, float("nan")]):
        data = {"truth": truths, "id": ids}
        for table in (data, pandas.DataFrame(data), pyarrow.table(data)):
            assert rows_of(table, schema).counts(("truth",)).tolist() == [1, 1, 0]


def names_of_people(kind: str) -> tuple[list[Any], Callable[[Any], Any]]:
    """Cells that are nearly the same, and by the words of the rule who each of them is."""
    texts = [
        "1",
        " 1",
        "1 ",
        "1\u3000",
        "1.0",
        "01",
        "0",
        "-0",
        "0.0",
        "-0.0",
        "+0",
        "a",
        "A",
        "",
        None,
    ]
    texts += ["\u00e9", "e\u0301", "ﬁ", "fi", "nan", "NaN", "inf", "\u200b1"]
    zeros = {"-0": "0", "-0.0": "0.0"}
    if kind == "text":
        return texts, lambda t: (t and zeros.get(t.strip(), t.strip())) or None
    if kind == "whole":
        return [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None], lambda number: number
    reals = [0.0, -0.0, 1.0, 0.1, 0.30000000000000004, 0.3, 1e16, 5e-324, -5e-324, None]
    return [*reals, float("nan"), -float("nan"), float("inf")], lambda x: None if x != x else x


def table_of_people(kind: str, rows: int = 600, seed: int = 5) -> tuple[Any, int]:
    """Rows whose person is drawn, and how many count if at most two of each person do."""
    pyarrow = pytest.importorskip("pyarrow")
    cells, who = names_of_people(kind)
    drawn = [cells[i] for i in np.random.default_rng(seed).integers(len(cells), size=rows)]
    types = {"text": "string", "whole": "int64", "real": "float64"}
    columns = {"truth": [True] * rows, "id": pyarrow.array(drawn, types[kind])}
    people = Counter(who(cell) for cell in drawn)
    people.pop(None, None)
    return pyarrow.table(columns), sum(min(count, 2) for count in people.values())


PEOPLE = ("text", "whole", "real")
ONE_TRUTH = replace(odd_schema(), columns=odd_schema().columns[2:3], person="id", rows_per_person=2)


@pytest.mark.parametrize("kind", PEOPLE)
def test_a_name_is_the_same_in_every_block_and_engine(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two zeros are one person and two normal forms are two, whichever block they come in."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    parquet, dataset = (
        pytest.importorskip("pyarrow.parquet"),
        pytest.importorskip("pyarrow.dataset"),
    )
    duckdb = pytest.importorskip("duckdb")
    table, expected = table_of_people(kind)
    parquet.write_table(table, tmp_path / "one.parquet")
    for i in range(30):
        parquet.write_table(table[20 * i : 20 * i + 20], tmp_path / f"part{i}.parquet")
    lists = {name: table[name].to_pylist() for name in table.column_names}
    objects = pandas.DataFrame(
        {name: pandas.Series(each, dtype=object) for name, each in lists.items()}
    )
    con = duckdb.connect(str(tmp_path / "t.duckdb"))
    con.execute(
        "CREATE TABLE t AS SELECT * FROM 'ONE'".replace("ONE", str(tmp_path / "one.parquet"))
    )
    con.close()
    frame = polars.from_arrow(table)
    sources = {
        "dict": lists,
        "objects": objects,
        "arrow": table,
        "chunks": dataset.dataset(sorted(map(str, tmp_path.glob("part*.parquet")))),
        "polars": frame,
        "lazy": frame.lazy(),
        "parquet": tmp_path / "one.parquet",
        "parts": str(tmp_path / "part*.parquet"),
        "duckdb": tmp_path / "t.duckdb",
        "relation": duckdb.connect().from_arrow(table),
    }
    nullable = {
        "text": pandas.StringDtype(),
        "whole": pandas.Int64Dtype(),
        "real": pandas.Float64Dtype(),
    }
    sources["nullable"] = table.to_pandas(types_mapper={table["id"].type: nullable[kind]}.get)
    if kind == "real":
        sources["pandas"] = table.to_pandas()
    for packed in (False, True):  # in one portion, and in four
        if packed:
            for room in (parquet_files, duck_tables):
                monkeypatch.setattr(room, "size", lambda _: 3 * PORTION)
        for name, data in sources.items():
            assert rows_of(data, ONE_TRUTH).counts(()).item() == expected, (name, packed)


def test_which_zero_comes_first_means_nothing() -> None:
    """A planted fault of old: the names of a block were those of the zero that it met first."""
    for first in (0.0, -0.0):
        names = texts_of(np.array([first, 0.0, -0.0, -first]))
        assert set(names) == {"0.0"}


def test_decimals_name_nobody() -> None:
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    cents = pyarrow.array([Decimal("1.0"), Decimal("1.00")], pyarrow.decimal128(12, 2))
    table = pyarrow.table({"truth": [True, False], "id": cents})
    for data in (table, polars.from_arrow(table), polars.from_arrow(table).lazy()):
        with pytest.raises(DataError, match="whose rows these are and has"):
            open_source(data, ONE_TRUTH)


def test_a_column_of_people_must_be_there() -> None:
    schema = odd_schema(person="owner")
    with pytest.raises(DataError, match="'owner' of schema 'odd' is not in the header"):
        open_source(odd_table(10), schema)
    for wrong, word in (("text", "one of the columns to search"), ("", "name the column")):
        with pytest.raises(SchemaError, match=word):
            odd_schema(person=wrong)
    with pytest.raises(SchemaError, match="most_rows = 0"):
        odd_schema(most_rows=0)
    with pytest.raises(SchemaError, match="from 30 to"):
        odd_schema(most_rows=29, rows=30, adjacency=Adjacency.REPLACE_ONE)


def test_the_schema_keeps_who_and_how_many() -> None:
    schema = odd_schema(person="who is it", most_rows=10**10)
    assert Schema.from_toml(schema.to_toml()) == schema == Schema.from_dict(schema.to_dict())
    declared = odd_schema("value", rows=30, adjacency=Adjacency.REPLACE_ONE)
    assert declared.rows_are_public and not replace(declared, person="id").rows_are_public


def test_the_certificate_says_whether_it_is_enforced() -> None:
    table = odd_table(300)
    found = []
    for person in (None, "person"):
        result = privet.discover(
            table, odd_schema(person=person), epsilon=1.0, delta=1e-6, ledger=":memory:"
        )
        found.append(result.certificate)
    assert "no person has more than 1 row in the table" in str(found[0])
    assert "enforced" in str(found[1]) and found[1]["person"] == "person"
    assert "enforced" not in str(found[0]) and "person" not in found[0]
