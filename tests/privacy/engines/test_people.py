"""No more rows of a person count than are declared, wherever the table comes from."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import DataError, SchemaError
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.people import first_rows
from privet.privacy.engines.source import open_source
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
