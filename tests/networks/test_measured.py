"""Measured tables: only the numbers that are expected, with a schema and a graph that fit them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from privet.errors import DataError, OutputError
from privet.networks import fetch as datasets
from privet.networks.fetch import DATASETS, fetch
from privet.networks.measured import CYTOMETRY, MEASURED, STATURE
from privet.schema.model import Schema

FAMILIES = (
    b'"","family","father","mother","midparentHeight","children","childNum","gender","childHeight"\n'
    b'"1","001",78.5,67,75.43,4,1,"male",73.2\n'
    b'"2","001",78.5,67,75.43,4,2,"female",69\n'
)
OTHERWISE = (
    b"rownames,family,father,mother,midparentHeight,children,childNum,gender,childHeight\r\n"
    b"1,001,78.5,67.0,75.42999999,4,1,male,73.2\r\n2,001,78.5,67.0,75.42999999,4,2,female,69.0\r\n"
)
MADE = "father,mother,child\n78.5,67,73.2\n78.5,67,69\n"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    small = replace(STATURE, sha256=hashlib.sha256(MADE.encode()).hexdigest())
    monkeypatch.setattr(datasets, "MEASURED", (small,))
    folder = tmp_path / "archive"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("content", [FAMILIES, OTHERWISE])
def test_the_same_numbers_are_the_same_however_they_are_spelt(
    archive: Path, tmp_path: Path, content: bytes
) -> None:
    (archive / STATURE.file).write_bytes(content)
    files = fetch("galton", tmp_path / "out", source=archive)
    assert files.data.read_text() == MADE
    assert Schema.from_toml(files.schema.read_text()) == STATURE.schema()
    found = STATURE.load(tmp_path / "out")
    assert {name: values.tolist() for name, values in found.items()} == {
        "father": [78.5, 78.5],
        "mother": [67.0, 67.0],
        "child": [73.2, 69.0],
    }
    with pytest.raises(OutputError, match="exists"):
        fetch("galton", tmp_path / "out", source=archive)


@pytest.mark.parametrize(
    "content", [FAMILIES.replace(b"73.2", b"73.3"), FAMILIES[:-30], b"<html>", b"\xff\xfe", b""]
)
def test_other_numbers_are_refused(archive: Path, tmp_path: Path, content: bytes) -> None:
    (archive / STATURE.file).write_bytes(content)
    with pytest.raises(DataError, match="does not hold the numbers of galton"):
        fetch("galton", tmp_path / "out", source=archive)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="privet datasets fetch galton"):
        STATURE.load(tmp_path)
    (tmp_path / "galton.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="privet datasets fetch galton"):
        STATURE.load(tmp_path)


def test_logarithms_of_what_was_counted() -> None:
    text = ",".join(CYTOMETRY.names) + "\n" + ",".join(["10", "1"] + ["1000"] * 9) + "\n"
    line = CYTOMETRY._made(text).splitlines()[1].split(",")
    assert line == ["1", "0", *["3"] * 9]


def test_every_table_is_listed_and_has_a_graph_of_its_columns() -> None:
    assert {table.name for table in MEASURED} <= {dataset.name for dataset in DATASETS}
    for table in MEASURED:
        graph = table.graph()
        assert graph.nodes == table.schema().names == tuple(table.names.values())
        assert table.schema().has_moments and table.url.endswith("/")
    assert len(CYTOMETRY.graph().edges) == 17 and len(STATURE.graph().edges) == 2
