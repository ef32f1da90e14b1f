"""Cells of any length, whoever sets the limit of Python's csv module, and when."""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.files.delimited import records
from privet.privacy.engines import source
from privet.privacy.engines.source import CsvFile
from privet.schema.draft import draft

DEFAULT = 131_072
LONG = "x" * 300_000


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@contextmanager
def limited(size: int) -> Iterator[None]:
    before = csv.field_size_limit(size)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def table(path: Path, rows: int = 3) -> CsvFile:
    path.write_text("a,b\n" + f"1,{LONG}\n" * rows)
    return CsvFile(path, ("a", "b"), ",")


def cells(blocks: Iterator[Any]) -> list[Any]:
    return [cell for block in blocks for cell in block["c1"].tolist()]


def test_two_readers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One begins, the other begins, the first ends: as two threads may do."""
    monkeypatch.setattr(source, "BLOCK_ROWS", 1)
    csv.field_size_limit(DEFAULT)
    one, two = (table(tmp_path / name).blocks([0, 1]) for name in ("one.csv", "two.csv"))
    next(one)
    next(two)
    assert len(list(one)) == 2
    assert cells(two) == [LONG] * 2
    assert csv.field_size_limit() == DEFAULT  # nobody else's limit was changed


def test_readers_in_threads_that_take_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have begun before either goes on; then the second waits until the first has ended."""
    monkeypatch.setattr(source, "BLOCK_ROWS", 1)
    csv.field_size_limit(DEFAULT)
    begun, ended, found = threading.Barrier(2), threading.Event(), {}

    def read(name: str) -> None:
        blocks = table(tmp_path / name).blocks([0, 1])
        first = [next(blocks)]
        begun.wait(30)
        if name == "two":
            ended.wait(30)
        try:
            found[name] = cells(iter([*first, *blocks]))
        except csv.Error as error:
            found[name] = [error]
        finally:
            if name == "one":
                ended.set()

    threads = [threading.Thread(target=read, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == {"one": [LONG] * 3, "two": [LONG] * 3}


@pytest.mark.parametrize("size", [0, 1, DEFAULT])
def test_a_limit_that_is_set_in_the_middle_of_reading(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a file that sets it whenever a line is asked for."""

    class Flips(io.StringIO):
        def __next__(self) -> str:  # type: ignore[override]
            csv.field_size_limit(size)
            return super().__next__()

    text = f'a,b\n1,{LONG}\n2, "p\nq""{LONG}"\n3,short\n'
    monkeypatch.setattr(source, "_text", lambda _path: Flips(text, newline=""))
    found = cells(CsvFile(tmp_path / "none.csv", ("a", "b"), ",").blocks([0, 1]))
    assert found == [LONG, f'p\nq"{LONG}', "short"]


def test_the_limit_is_no_matter_for_a_header(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("first,second\n" + "1,a\n2,b\n" * 9)
    with limited(2):
        assert source._file(path, ("first", "second")).header == ("first", "second")
        assert "[columns.first]" in draft(path).to_toml()


def by_python(text: str, delimiter: str) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    return list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))


@given(st.text(alphabet='ab", ;\r\n\t\0', max_size=40), st.sampled_from(",;\t|"), st.integers(0, 4))
def test_rows_are_those_of_pythons_reader(text: str, delimiter: str, size: int) -> None:
    """Whichever rows the limit makes it stop at: none, some or all."""
    wanted = by_python(text, delimiter)
    with limited(size):
        found = list(records(io.StringIO(text, newline=""), delimiter))
    assert found == wanted


def test_a_long_cell_of_many_lines_takes_linear_time() -> None:
    """Two million lines in one cell; to start again at each would never end."""
    lines = ['"', *("x\n" for _ in range(2_000_000)), '",y\n', "a,b\n"]
    with limited(DEFAULT):
        first, second = records(lines, ",")
    assert len(first[0]) == 4_000_000 and first[1] == "y" and second == ["a", "b"]
