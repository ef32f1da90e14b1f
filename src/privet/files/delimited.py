"""Lines of text as rows of cells, of any length.

Python's csv reader stops with an error at a cell that is longer than a limit, and the limit is one
for the whole process, read at every character: whoever sets it, in another thread or another
library, would decide whether a cell of ours is an error. An error that depends on a cell is an
answer that nobody paid for. So the limit is neither set nor trusted here: a row at which that
reader stops is read once more, by the same rules, without it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain

QUOTE = '"'


def records(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """The rows in some lines, each of which still has its end. Spaces before a cell are left out;
    a quoted cell may go on over several lines. No cell is an error."""
    held: list[str] = []  # the lines of the row that is being read
    noted = _noted(lines, held)
    reader = csv.reader(noted, delimiter=delimiter, skipinitialspace=True)
    while True:
        held.clear()
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            row = _slowly(chain(tuple(held), noted), delimiter)
        yield row


def _noted(lines: Iterable[str], held: list[str]) -> Iterator[str]:
    for line in lines:
        held.append(line)
        yield line


def _slowly(lines: Iterator[str], delimiter: str) -> list[str]:
    """The first row, and no line beyond it."""
    row: list[str] = []
    parts: list[str] = []  # of the cell that is being read
    inside = False  # a quoted cell
    for line in lines:
        end, at = len(line.rstrip("\r\n")), 0
        if not inside:
            if end == 0:
                return row
            at, inside = _start(line, 0)
        while True:
            if inside:
                close = line.find(QUOTE, at)
                if close < 0:
                    parts.append(line[at:])
                    break
                parts.append(line[at:close])
                inside = line.startswith(QUOTE, close + 1)  # two quotes stand for one
                parts.append(QUOTE * inside)
                at = close + 1 + inside
                continue
            cut = line.find(delimiter, at, end)
            parts.append(line[at : end if cut < 0 else cut])
            row.append("".join(parts))
            parts.clear()
            if cut < 0:
                return row
            at, inside = _start(line, cut + 1)
    return [*row, "".join(parts)]  # the quotes were never closed


def _start(line: str, at: int) -> tuple[int, bool]:
    """Where the next cell starts, and whether it is quoted."""
    while line.startswith(" ", at):
        at += 1
    quoted = line.startswith(QUOTE, at)
    return at + quoted, quoted
