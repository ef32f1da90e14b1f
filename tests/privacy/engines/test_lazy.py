"""DuckDB files and relations, LazyFrames, Ibis tables and Arrow datasets come in parts, by the same
rule."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import DataError
from privet.privacy.engines import encode
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.schema.column import Column
from privet.schema.cuts import cut
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
    if kind.startswith("ibis"):
        return through_ibis(kind.removeprefix("ibis "), table)
    parquet.write_table(table, folder / "t.parquet")
    return pytest.importorskip("pyarrow.dataset").dataset(folder / "t.parquet")


def through_ibis(engine: str, table: Any) -> Any:
    """An expression over a table of an engine."""
    ibis, polars = pytest.importorskip("ibis"), pytest.importorskip("polars")
    if engine == "duckdb":
        backend = duckdb_of(ibis)
        backend.con.register("given", table)
        backend.con.execute("CREATE TABLE people AS SELECT * FROM given")
        made = backend.table("people")
    else:
        backend = ibis.polars.connect()
        made = backend.create_table("people", polars.from_arrow(table))
        if engine == "another":  # which is known by nothing but its batches
            backend.name = "another"
    return made.filter(made.unused.isin(["a", "b"]))


def duckdb_of(ibis: Any) -> Any:
    try:
        return ibis.duckdb.connect()
    except AttributeError:
        pytest.skip("this release of Ibis does not know this one of DuckDB")


KINDS = ["duckdb file", "duckdb address", "duckdb relation", "polars", "arrow dataset"]
KINDS += ["ibis duckdb", "ibis polars", "ibis another"]


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
    polars = pytest.importorskip("polars")
    lazy = lazily("polars", table, tmp_path)
    for unsteady in (lazy.head(3), lazy.select(polars.all().shuffle())):
        refused(unsteady, "slice, a sample or a random order")
    refused(f"duckdb:{path}?table=seen", "Views are not read")
    refused(f"duckdb:{tmp_path}/absent.duckdb", "no DuckDB file")
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE more AS SELECT DATE '2020-01-01' AS truth")
    refused(path, "has the tables")
    dated = replace(schema, columns=schema.columns[2:3])
    refused(f"duckdb:{path}?table=more", "has the type DATE", dated)
    (tmp_path / "broken.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    refused(tmp_path / "broken.duckdb", "cannot be opened as a DuckDB file")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_an_ibis_table_that_cannot_be_read_twice_is_refused(engine: str) -> None:
    ibis = pytest.importorskip("ibis")
    made = through_ibis(engine, odd_table(50))
    for unsteady in (made.limit(3), made.mutate(r=ibis.random())):
        with pytest.raises(DataError, match="limit, a sample or random"):
            open_source(unsteady, odd_schema())
    with pytest.raises(DataError, match=r"cannot be used|does not take its SQL"):
        open_source(ibis.table({"text": "string"}, name="nowhere"), odd_schema())


def test_an_ibis_table_of_columns_in_memory_stays_there() -> None:
    ibis = pytest.importorskip("ibis")
    duckdb_of(ibis)
    table, schema = odd_table(500), odd_schema()
    rows = rows_of(ibis.memtable(table), schema)
    assert isinstance(rows, MemoryRows)
    assert answers(rows, schema) == answers(rows_of(table, schema), schema)


def test_layered_tables_say_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = odd_schema()

    def refused(data: object, word: str) -> None:
        with pytest.raises(DataError, match=word):
            open_source(data, schema)

    (tmp_path / "d" / "_delta_log").mkdir(parents=True)
    (tmp_path / "d" / "_delta_log" / "0.json").write_text("{}")
    (tmp_path / "i" / "metadata").mkdir(parents=True)
    file = tmp_path / "i" / "metadata" / "v1.metadata.json"
    file.write_text("{}")
    refused(tmp_path / "i", "only its catalog knows")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    refused(tmp_path / "d", r"privet\[delta\]")
    refused(file, r"privet\[iceberg\]")


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


def test_a_table_in_memory_is_cut_when_codes_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers need no bins; codes are merged from fine ones, as those of a file are."""
    fields: dict[str, Any] = {"kind": "numeric", "bounds": (0, 1), "missing": "drop"}
    columns = tuple(Column(name=name, **fields) for name in "ab")
    schema = Schema(name="t", columns=columns)
    data = {"a": [0.1, 0.5, 0.9, 0.95], "b": [0.0, 1.0, 0.3, 0.7]}
    cuts: list[Schema] = []

    def counted(given: Schema, places: Any) -> Schema:
        cuts.append(given)
        return cut(given, places)

    monkeypatch.setattr(encode, "cut", counted)
    source, positions = open_source(data, schema)
    rows_of(data, schema)
    assert len(cuts) == 1, "at once, in a private run"
    cuts.clear()
    rows = Encoder(schema=schema, positions=positions, late=True).rows(source)
    assert isinstance(rows, MemoryRows)
    assert sum(len(block) for block in rows.numbers(("a", "b"))) == 4
    assert not cuts
    wanted = np.bincount(np.searchsorted(columns[0].cuts, data["a"], side="right"), minlength=4)
    assert rows.counts(("a",)).tolist() == wanted.tolist()
    two = cut(schema, (("a", (128,)),))
    assert rows.cut(two).counts(("a",)).tolist() == [1, 3]
    assert len(cuts) == 1, "fine codes are made once"
