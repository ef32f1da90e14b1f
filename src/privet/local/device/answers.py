"""From a person's answers to codes: what a cell means on the device is what it means elsewhere.

A text is a level if it is one without the spaces around it, a number is clamped and binned, and
whatever else stands there follows the missing policy (``privacy/engines/encode.py``; the tests hold
the two against each other). No answer is an error; one to a question that was not asked is.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np

from privet.arrays import Integers
from privet.errors import DataError
from privet.privacy.engines.cells import as_texts
from privet.privacy.engines.meaning import missing_code, spellings
from privet.schema.column import Column, did_you_mean

KEPT = 10_000  # texts whose code is remembered, per column


class Reader(dict[str | None, int]):
    """The code of every text that was met in one column; a new one is worked out once."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._absent = missing_code(column)
        self._spelt = spellings(column.levels)

    def codes(self, texts: Sequence[str | None]) -> Integers:
        if len(self) > KEPT:
            self.clear()
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int64, count=len(texts))

    def __missing__(self, text: str | None) -> int:
        self[text] = code = self._absent if text is None else self._code(text)
        return code

    def _code(self, text: str) -> int:
        if self._column.bounds is None:
            return self._spelt.get(text, self._spelt.get(text.strip(), self._absent))
        value = number(text)
        return self._absent if value is None else bisect_right(self._column.cuts, value)


class Answers:
    """The codes of rows, for the columns as a protocol codes them."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._names = tuple(column.name for column in columns)
        self._asked = frozenset(self._names)
        self._readers = tuple(map(Reader, columns))

    def of_row(self, row: Mapping[str, object]) -> Integers:
        """One row, from cells of any type; a column that is not there is a missing cell."""
        self._check_names(row)
        texts = as_texts([row.get(name) for name in self._names])
        each = zip(self._readers, texts.tolist(), strict=True)
        return np.array([[reader[text] for reader, text in each]], dtype=np.int64)

    def _check_names(self, row: Mapping[str, object]) -> None:
        """A name that is spelt wrong would be a missing answer, and nobody would notice."""
        if not isinstance(row, Mapping):
            raise DataError(
                f"a row of answers is a mapping from column names, but this is a "
                f"{type(row).__name__}; give a dict such as {{{self._names[0]!r}: ...}}"
            )
        if not row.keys() <= self._asked:
            name = next(name for name in row if name not in self._asked)
            raise DataError(
                f"there is no column {name!r}{did_you_mean(str(name), self._names)}; answer for "
                f"{', '.join(self._names)} only"
            )

    def of_columns(self, texts: Sequence[Sequence[str | None]]) -> Integers:
        """Rows from the texts of every column: an array (people, attributes)."""
        each = zip(self._readers, texts, strict=True)
        return np.stack([reader.codes(column) for reader, column in each], axis=1)


def number(text: str) -> float | None:
    """The number that a text means, or None: decimal digits of ASCII, inf, and truth values."""
    bare = text.strip()
    if bare.startswith("+-"):  # as the SQL reader has it
        bare = bare[1:]
    try:
        value = float(bare) if bare.isascii() else math.nan
    except ValueError:
        value = {"true": 1.0, "false": 0.0}.get(bare.lower(), math.nan)
    return None if math.isnan(value) else value
