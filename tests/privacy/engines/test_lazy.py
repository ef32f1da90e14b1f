"""DuckDB files and relations, LazyFrames and Arrow datasets come in parts, by the same rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.errors import DataError
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.schema.model import Schema
from tests.helpers.odd_table import answers, odd_schema, odd_table

duckdb = pytest.importorskip("duckdb")


def rows_of(data: object, schema: Schema) -> MemoryRows | StreamedRows:
    source, positions = open_source(data, schema)
    return Encoder(schema=schema, positions=positions).rows(source)


def lazily(kind: str, table: Any, folder: Path) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet")
    if kind.startswith("duckdb"):
        path = folder / "it's.duckdb"
        con = duckdb.connect(":memory:" if kind == "duckdb relation" else str(path))
        con.register("given", table)
        con.execute("CREATE TABLE people AS SELECT * FROM given")
        con.execute("CREATE VIEW seen AS SELECT * FROM people")
        if kind == "duckdb relation":
            return con.table("people")
        con.close()
        return path if kind == "duckdb file" else f"duckdb:{path}?table=people"
    if kind == "polars":
        return pytest.importorskip("polars").from_arrow(table).lazy()
    parquet.write_table(table, folder / "t.parquet")
    return pytest.importorskip("pyarrow.dataset").dataset(folder / "t.parquet")


KINDS = ["duckdb file", "duckdb address", "duckdb relation", "polars", "arrow dataset"]


@pytest.mark.parametrize("kind", KINDS)
def test_lazy_tables_give_the_answers_of_memory(kind: str, tmp_path: Path) -> None:
    table, schema = odd_table(1500), odd_schema("drop")
    rows = rows_of(lazily(kind, table, tmp_path), schema)
    assert isinstance(rows, MemoryRows if kind in KINDS[:2] else StreamedRows)
    assert answers(rows, schema) == answers(rows_of(table, schema), schema)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_lazy_tables_count_the_same_rows_of_each_person(kind: str, tmp_path: Path) -> None:
    table, schema = odd_table(500), odd_schema("drop", person="person")
    sets = [(name,) for name in schema.names]
    one = rows_of(lazily(kind, table, tmp_path), schema).table_batch(sets)
    other = rows_of(table, schema).table_batch(sets)
    assert [each.tolist() for each in one] == [each.tolist() for each in other]


def test_what_cannot_be_read_twice_or_at_all_is_refused(tmp_path: Path) -> None:
    table, schema = odd_table(50), odd_schema()
    relation = lazily("duckdb relation", table, tmp_path)
    path = lazily("duckdb file", table, tmp_path)

    def refused(data: object, word: str, schema: Schema = schema) -> None:
        with pytest.raises(DataError, match=word):
            open_source(data, schema)

    refused(relation.limit(3), "limit, a sample or random")
    refused(relation.project("*, random() AS r"), "limit, a sample or random")
    refused(table.to_reader(), "only once")
    refused(f"duckdb:{path}?table=seen", "Views are not read")
    refused(f"duckdb:{tmp_path}/absent.duckdb", "no DuckDB file")
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE more AS SELECT DATE '2020-01-01' AS truth")
    refused(path, "has the tables")
    dated = replace(schema, columns=schema.columns[2:3])
    refused(f"duckdb:{path}?table=more", "has the type DATE", dated)
    (tmp_path / "broken.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    refused(tmp_path / "broken.duckdb", "cannot be opened as a DuckDB file")


def test_the_command_line_names_an_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from privet.cli.main import main

    lazily("duckdb file", odd_table(200), tmp_path)
    schema = odd_schema()
    (tmp_path / "odd.toml").write_text(schema.to_toml())
    command = ["discover", f"{tmp_path / chr(39).join(['it', 's.duckdb'])}?table=people"]
    command += ["--engine", "duckdb", "--schema", str(tmp_path / "odd.toml"), "--no-privacy"]
    assert main([*command, "--output", str(tmp_path / "out"), "--quiet"]) in (0, None)
    assert (tmp_path / "out").is_dir()


def test_the_certificate_names_the_engine_that_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    from privet.privacy.engines.frames import Frame

    said = []
    for engine in ("", "PostgreSQL"):
        monkeypatch.setattr(Frame, "engine", engine)
        result = privet.discover(
            odd_table(50), odd_schema(), epsilon=1.0, delta=1e-6, ledger=":memory:"
        )
        said.append("PostgreSQL, its logs" in str(result.certificate))
    assert said == [False, True]
