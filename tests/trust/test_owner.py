"""A draft of any table, bounded; and reports from any table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import privet
from privet.errors import DataError
from privet.local import plan_protocol
from privet.local.collector.reports import judged
from privet.local.device.files import randomize_file
from privet.local.device.protocol import Protocol
from privet.schema.model import Schema
from privet.trust import owner

duckdb = pytest.importorskip("duckdb")
SELECT = """
    SELECT ['no', 'yes'][1 + i % 2] AS smokes, i % 3 = 0 AS ill, i / 4.0 AS dose, DATE '2020-01-01'
    AS day FROM range(60) AS t(i)
"""


def given(kind: str, folder: Path) -> Any:
    """The same table in a file of DuckDB, a folder, a pattern, a relation or in memory."""
    path = folder / "people.duckdb"
    con = duckdb.connect(str(path))
    con.execute(f"CREATE TABLE patients AS {SELECT}")
    for i in range(2):
        part = f"SELECT * FROM patients WHERE rowid % 2 = {i}"
        con.execute(f"COPY ({part}) TO '{folder}/{i}.parquet' (FORMAT parquet)")
    if kind == "relation":
        return con.table("patients")
    frame = con.table("patients").to_arrow_table()
    con.close()
    if kind == "arrow":
        return frame
    files = {"duckdb": path, "folder": folder, "pattern": folder / "*.parquet"}
    return files.get(kind, f"duckdb:{path}?table=patients")


KINDS = ("duckdb", "address", "folder", "pattern", "relation", "arrow")


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_of_any_table(kind: str, tmp_path: Path) -> None:
    schema = privet.draft(given(kind, tmp_path))
    assert schema.names == ("smokes", "ill", "dose")
    assert [level.lower() for level in schema.column("ill").levels] == ["false", "true"]
    assert schema.column("dose").bounds == (0.0, 20.0)
    seen = "the first 100,000 rows" in schema.to_toml()  # all of what is in memory
    assert seen == (kind != "arrow") and "smokes.levels" in schema.unconfirmed
    assert kind not in ("duckdb", "address") or schema.name == "patients"


def test_no_more_rows_are_looked_at_than_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "MOST_ROWS", 16)
    data = given("address", tmp_path)
    assert privet.draft(data).column("dose").bounds == (0.0, 4.0)
    with pytest.raises(DataError, match="no column of numbers"):
        con = duckdb.connect()
        privet.draft(con.sql("SELECT DATE '2020-01-01' AS day"))


@pytest.mark.parametrize("kind", ("address", "folder"))
def test_reports_from_any_table(kind: str, tmp_path: Path) -> None:
    """With so large an epsilon a report is the answer, but for a probability of e^-40 or so."""
    data = given(kind, tmp_path)
    schema = privet.draft(data)
    two = Schema(name="t", columns=schema.columns[:2])
    protocol = plan_protocol(two, 100.0, "component-wise")
    made = randomize_file(data, protocol, tmp_path / "out" / "reports.csv")
    lines = (tmp_path / "out" / "reports.csv").read_text().splitlines()
    assert made.rows == 60 == len(lines) - 1
    at = lines[0].split(",").index("smokes")
    assert sum(line.split(",")[at] == "1" for line in lines[1:]) == 30
    assert collected(tmp_path / "out" / "reports.csv", kind, tmp_path, protocol) == (60, 30)


def collected(path: Path, kind: str, folder: Path, protocol: Protocol) -> tuple[int, int]:
    """How many people reported, and how many of them that they smoke, from a table of reports."""
    base = folder / "reports.duckdb"
    (folder / "reports").mkdir()
    with duckdb.connect(str(base)) as con:
        con.execute(f"CREATE TABLE sent AS FROM read_csv('{path}')")
        for i in range(2):
            part = f"SELECT * FROM sent WHERE rowid % 2 = {i}"
            con.execute(f"COPY ({part}) TO '{folder}/reports/{i}.parquet' (FORMAT parquet)")
    with judged(folder / "reports" if kind == "folder" else base, protocol) as found:
        (smokers,) = found.con.execute("SELECT count(*) FROM kept WHERE v0 = 1").fetchone()
        return found.people, smokers


def test_an_arrow_file_is_a_table(tmp_path: Path) -> None:
    from pyarrow import feather

    frame = given("arrow", tmp_path)
    feather.write_feather(frame, tmp_path / "t.arrow")
    schema = privet.draft(tmp_path / "t.arrow")
    assert schema.names == ("smokes", "ill", "dose") and schema.name == "t"
    found = privet.discover(tmp_path / "t.arrow", schema, private=False)
    assert found.graph == privet.discover(frame, schema, private=False).graph


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
def test_a_workbook_is_refused_with_the_fix(start: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(start + bytes(100))
    schema = privet.Schema.of(["a", "b"], levels={"a": [0, 1], "b": [0, 1]})
    for door in (privet.draft, lambda path: privet.discover(path, schema, private=False)):
        with pytest.raises(DataError, match="save its sheet as CSV"):
            door(path)
