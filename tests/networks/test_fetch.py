"""Public data sets: the right files, in few levels, with a schema that fits them."""

from __future__ import annotations

import csv
import hashlib
import io
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from privet.errors import DataError, OutputError
from privet.networks import fetch as datasets
from privet.networks.fetch import ADULT, Bins, adult_rows, adult_schema, fetch
from privet.schema.model import Schema

DATA = b"""\
41, State-gov, 1, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 9, 0, 40, United-States, <=50K
59, ?, 2, 7th-8th, 4, Widowed, ?, Unmarried, Other, Female, 0, 0, 12, ?, >50K

"""  # noqa: E501
TEST = b"""\
|1x3 Cross validator
29, Private, 3, Prof-school, 15, Married-civ-spouse, Prof-specialty, Wife, Black, Female, 0, 7, 60, Cuba, >50K.
"""  # noqa: E501
LEVELS = [
    [
        "30-44",
        "government",
        "academic",
        "11-13",
        "never married",
        "office",
        "not in family",
        "White",
        "Male",
        "some",
        "none",
        "35-40",
        "United States",
        "up to 50K",
    ],
    [
        "45-59",
        "none or unknown",
        "school",
        "up to 8",
        "was married",
        "service or unknown",
        "other",
        "other",
        "Female",
        "none",
        "none",
        "under 35",
        "elsewhere or unknown",
        "over 50K",
    ],
    [
        "under 30",
        "private",
        "vocational",
        "14 and over",
        "married",
        "professional",
        "spouse",
        "Black",
        "Female",
        "none",
        "some",
        "over 40",
        "elsewhere or unknown",
        "over 50K",
    ],
]


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three people in the format of the archive, whose checksums are expected."""
    folder = tmp_path / "archive"
    folder.mkdir()
    sums = {}
    for name, content in (("adult.data", DATA), ("adult.test", TEST)):
        (folder / name).write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(datasets, "SHA256", sums)
    return folder


def test_people_become_levels() -> None:
    assert [*adult_rows(DATA), *adult_rows(TEST)] == LEVELS


def test_fourteen_columns_of_two_to_four_levels() -> None:
    schema = adult_schema()
    assert len(schema.columns) == 14 and datasets.UNUSED not in schema.names
    assert {column.cardinality for column in schema.columns} == {2, 3, 4}
    assert set(schema.names) == set(datasets.FIELDS) - {datasets.UNUSED}


def test_every_level_can_occur() -> None:
    """A slip of the pen in the name of an answer would send it to the last level."""
    for made in ADULT.values():
        if isinstance(made, Bins):
            ends = [made.cuts[0] - 1, *made.cuts]
            assert [made.level(str(value)) for value in ends] == list(made.levels)
        else:
            answers = [answer for cells in made.answers.values() for answer in cells]
            assert len(answers) == len(set(answers)) and made.level("?") == made.other
            assert {made.level(answer) for answer in answers} == set(made.answers)


def test_years_and_kind_of_schooling_do_not_give_each_other_away() -> None:
    years = {
        "11th": 7,
        "HS-grad": 9,
        "Some-college": 10,
        "Assoc-voc": 11,
        "Assoc-acdm": 12,
        "Bachelors": 13,
        "Masters": 14,
        "Prof-school": 15,
        "Doctorate": 16,
    }
    kind, number = ADULT["education"], ADULT["education-num"]
    pairs = {(kind.level(name), number.level(str(year))) for name, year in years.items()}
    for axis in (0, 1):
        seen = [pair[axis] for pair in pairs]
        assert any(seen.count(level) > 1 for level in seen)


def test_fetch_from_a_folder(archive: Path, tmp_path: Path) -> None:
    files = fetch("adult", tmp_path / "new" / "out", source=archive)
    assert Schema.load(files.schema) == adult_schema()
    header, *rows = csv.reader(io.StringIO(files.data.read_text()))
    assert tuple(header) == adult_schema().names and rows == LEVELS
    assert sorted(p.name for p in files.data.parent.iterdir()) == [
        "adult.csv",
        "adult.schema.toml",
    ]
    for row in rows:
        for column, cell in zip(adult_schema().columns, row, strict=True):
            assert cell in column.levels


def test_what_is_there_is_not_overwritten(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "adult.schema.toml").write_text("mine")
    with pytest.raises(OutputError, match="force=True"):
        fetch("adult", tmp_path, source=archive)
    assert not (tmp_path / "adult.csv").exists()
    fetch("adult", tmp_path, source=archive, force=True)
    assert Schema.load(tmp_path / "adult.schema.toml") == adult_schema()


@pytest.mark.parametrize("content", [DATA[:-2], DATA + b"x", b""])
def test_a_file_that_is_not_the_archives_is_refused(
    archive: Path, tmp_path: Path, content: bytes
) -> None:
    (archive / "adult.data").write_bytes(content)
    with pytest.raises(DataError, match=r"adult\.data has the SHA-256 checksum"):
        fetch("adult", tmp_path / "out", source=archive)
    assert not (tmp_path / "out").exists()


def test_a_missing_file_or_data_set_is_named(archive: Path, tmp_path: Path) -> None:
    (archive / "adult.test").unlink()
    with pytest.raises(DataError, match=r"adult\.test.*source"):
        fetch("adult", tmp_path / "out", source=archive)
    with pytest.raises(DataError, match="did you mean 'adult'"):
        fetch("adlut", tmp_path / "out")


class Answer(io.BytesIO):
    """What urlopen gives."""


def test_download(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []

    def urlopen(url: str, timeout: float) -> Answer:
        asked.append((url, timeout))
        return Answer((archive / url.rpartition("/")[2]).read_bytes())

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    files = fetch("adult", tmp_path / "out")
    assert len(files.data.read_text().splitlines()) == 4
    assert all(url.startswith("https://archive.ics.uci.edu/") for url, _ in asked)
    assert all(0 < timeout <= 120 for _, timeout in asked) and len(asked) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (urllib.error.URLError("no such host"), "no such host.*source"),
        (TimeoutError("timed out"), "timed out.*source"),
        (ConnectionResetError(), "ConnectionResetError.*source"),
        (urllib.error.HTTPError("u", 404, "Not Found", None, None), "Not Found.*source"),  # type: ignore[arg-type]
        (b"0" * 101, "more than 100 bytes.*source"),
        (b"<html>", "checksum"),
    ],
)
def test_a_download_that_fails_says_how(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, says: str
) -> None:
    def urlopen(*_: object, **__: object) -> Answer:
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(datasets, "MOST_BYTES", 100)
    with pytest.raises(DataError, match=says):
        fetch("adult", tmp_path / "out")
    assert not (tmp_path / "out").exists()
