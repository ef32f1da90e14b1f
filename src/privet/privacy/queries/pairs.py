"""What may be asked of two numeric columns: a table, a difference of losses, and ranks.

All answers are whole numbers without any rounding after the first step, in which each row is put
on a public grid by itself. Values beyond a range count as its end. A range is that of the
declared bounds, or a narrower one that an earlier release has found. Proofs: ``proofs/pairs.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Histograms, Query, Rows, codec, records_changed
from privet.privacy.queries.wide import narrowed, widened
from privet.schema.model import Adjacency, Schema

Range = tuple[float, float]

MOST_BINS = 1 << 10
FINE = 1 << 15  # steps of a value in a loss: squares over 8 thousand million rows fit 64 bits
MOST_STEPS = 1 << 16  # of the grid on which a quantile is looked for
LARGEST_SHARE = 1 << 10  # of the denominator of a quantile
LOSSES = ("absolute", "squared")


@codec("PairTable", evidence="tables of pairs")
@dataclass(frozen=True, kw_only=True)
class PairTable(Histograms):
    """Counts of x and y on bins × bins cells of equal size, row by row of x.

    Sensitivity. That of one histogram.
    """

    x: str
    y: str
    bins: int
    x_range: Range | None = None
    y_range: Range | None = None

    def __str__(self) -> str:
        return f"table of {self.x} and {self.y} on {self.bins} × {self.bins} cells"

    def check(self, schema: Schema) -> None:
        check_pair(self.x, self.y, self.x_range, self.y_range, schema)
        _check_whole("bins", self.bins, 2, MOST_BINS)

    def size(self, schema: Schema) -> int:
        return self.bins**2

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        ranges = ranges_of(self.x, self.y, self.x_range, self.y_range, schema)
        each = partial(self._add, ranges=ranges)
        return rows.total((self.x, self.y), self.size(schema), each)

    def _add(self, total: Integers, block: Floats, ranges: tuple[Range, Range]) -> None:
        x, y = (
            bins_of(place_in(values, low, high), self.bins)
            for values, (low, high) in zip(block.T, ranges, strict=True)
        )
        total += np.bincount(x * self.bins + y, minlength=self.bins**2)


@codec("LossDifference", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class LossDifference(Query):
    """How much worse y explains x than x explains y: L(x | y) - L(y | x), where L(v | u) is the
    sum over bins of u of the least loss of one number for the v in that bin, v in units of its
    range. Positive speaks for x as the cause. The answer depends on the ranges by its very
    nature: a range that is too wide makes its column look well explained.

    Sensitivity, in units of ``one``: 1, and 2 between two rows. One row more raises either loss
    by 0 to 1, since the other rows cannot lose less than they did and the old number still
    serves; the difference of two such rises is at most 1.
    """

    x: str
    y: str
    bins: int = 16
    loss: str = "absolute"
    x_range: Range | None = None
    y_range: Range | None = None

    def __str__(self) -> str:
        return f"difference of {self.loss} losses of {self.x} and {self.y} on {self.bins} bins"

    @property
    def one(self) -> int:
        """A loss of 1, the largest that one row can have."""
        return FINE if self.loss == "absolute" else FINE**2

    def check(self, schema: Schema) -> None:
        check_pair(self.x, self.y, self.x_range, self.y_range, schema)
        _check_whole("bins", self.bins, 2, MOST_BINS)
        if self.loss not in LOSSES:
            raise SchemaError(f"the loss is {self.loss!r}; choose one of {', '.join(LOSSES)}")

    def size(self, schema: Schema) -> int:
        return 1

    def linf(self, schema: Schema) -> int:
        return records_changed(schema) * self.one * schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        ranges = ranges_of(self.x, self.y, self.x_range, self.y_range, schema)
        size = 2 * self.bins * (FINE + 1)
        total = rows.total((self.x, self.y), size, partial(self._add, ranges=ranges))
        forward, backward = (self._loss(table, schema) for table in np.split(total, 2))
        return narrowed(np.array([backward - forward], dtype=object))

    def _loss(self, table: Integers, schema: Schema) -> int:
        filled = np.flatnonzero(table)
        bins, values = np.divmod(filled, FINE + 1)
        least = _least_absolute if self.loss == "absolute" else _least_squared
        return least(bins, values, widened(table[filled], schema))

    def _add(self, total: Integers, block: Floats, ranges: tuple[Range, Range]) -> None:
        """How often each value of y is in each bin of x, and the reverse."""
        x, y = (place_in(values, *ends) for values, ends in zip(block.T, ranges, strict=True))
        tables = total.reshape(2, self.bins, FINE + 1)
        for table, cause, effect in ((tables[0], x, y), (tables[1], y, x)):
            values = np.rint(effect * FINE).astype(np.int64)
            np.add.at(table, (bins_of(cause, self.bins), values), 1)


@dataclass(frozen=True, kw_only=True)
class QuantileRanks(Query):
    """How well each edge of a public grid serves as the quantile ``share`` of a column: with
    share = a / b, minus |(b - a) · rows below it - a · rows not below it|. For a selection of
    the largest; the edges are the ends of ``steps`` equal steps between the declared bounds.

    Sensitivity of each number: max(a, b - a), and b between two rows. (b records are 1 away in
    rank.) The number of rows need not be known.
    """

    column: str
    share: Fraction
    steps: int = 1 << 10

    def __str__(self) -> str:
        return f"quantile {self.share} of {self.column}"

    def check(self, schema: Schema) -> None:
        check_numeric(self.column, schema)
        _check_whole("steps", self.steps, 2, MOST_STEPS)
        fits = isinstance(self.share, Fraction) and 0 < self.share < 1
        if not fits or self.share.denominator > LARGEST_SHARE:
            raise SchemaError(
                f"the share of a quantile is {self.share!r}; give a Fraction between 0 and 1 "
                f"with a denominator of at most {LARGEST_SHARE}, such as Fraction(1, 4)"
            )

    def size(self, schema: Schema) -> int:
        return self.steps + 1

    def linf(self, schema: Schema) -> int:
        a, b = self.share.numerator, self.share.denominator
        one = max(a, b - a) if schema.adjacency is Adjacency.ADD_REMOVE else b
        return one * schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        each = partial(self._add, bounds=check_numeric(self.column, schema))
        counts = rows.total((self.column,), self.steps, each)
        below = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        a, b = self.share.numerator, self.share.denominator
        ranks: Integers = -np.abs((b - a) * below - a * (below[-1] - below))
        return ranks

    def _add(self, total: Integers, block: Floats, bounds: Range) -> None:
        places = bins_of(place_in(block[:, 0], *bounds), self.steps)
        total += np.bincount(places, minlength=self.steps)

    def edge(self, place: int, schema: Schema) -> float:
        """The number that stands at a place of the answer."""
        low, high = check_numeric(self.column, schema)
        return low + (high - low) * (place / self.steps)


def place_in(values: Floats, low: float, high: float) -> Floats:
    """Each value's place in a range, from 0 to 1; no warning may depend on a row."""
    with np.errstate(over="ignore", invalid="ignore"):
        share = (values - low) / (high - low)
    return np.clip(np.nan_to_num(share), 0.0, 1.0)


def bins_of(places: Floats, bins: int) -> Integers:
    return np.minimum((places * bins).astype(np.int64), bins - 1)


def check_pair(
    x: str, y: str, x_range: Range | None, y_range: Range | None, schema: Schema
) -> None:
    """Two different numeric columns, and ranges that are ranges."""
    if x == y:
        raise SchemaError(f"both columns of a pair are {x!r}; name two different ones")
    for name, given in ((x, x_range), (y, y_range)):
        check_numeric(name, schema)
        if given is None:
            continue
        low, high = given
        if not (isfinite(low) and isfinite(high) and low < high and isfinite(high - low)):
            raise SchemaError(
                f"the range of {name!r} is [{low!r}, {high!r}]; the first must lie below the "
                "second, at a finite distance"
            )


def check_numeric(name: str, schema: Schema) -> Range:
    """The bounds of a column that has some."""
    column = schema.column(name)
    if column.range is None:
        raise SchemaError(
            f"column {name!r} is {column.kind}, but a cause-effect pair is one of numbers; "
            'declare it kind = "numeric" with bounds, or name another column'
        )
    return column.range


def ranges_of(
    x: str, y: str, x_range: Range | None, y_range: Range | None, schema: Schema
) -> tuple[Range, Range]:
    """The ranges that are in force."""
    return x_range or check_numeric(x, schema), y_range or check_numeric(y, schema)


def _least_absolute(bins: Integers, values: Integers, counts: NDArray[Any]) -> int:
    """Σ |v - median| within bins, of values in order that occur so often: the upper half of each
    bin less the lower half."""
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    sizes = np.add.reduceat(counts, starts) if len(starts) else counts
    each = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(bins)))
    after = np.cumsum(counts) - (np.cumsum(sizes) - sizes)[each]
    before, size = after - counts, sizes[each]
    half = size // 2
    lower = np.minimum(after, half) - np.minimum(before, half)
    upper = np.maximum(after, size - half) - np.maximum(before, size - half)
    return int(((upper - lower) * values).sum())


def _least_squared(bins: Integers, values: Integers, counts: NDArray[Any]) -> int:
    """The least Σ (v - c)² within bins over whole numbers c, the nearest to the mean."""
    total = 0
    for one in np.unique(bins).tolist():
        count, value = counts[bins == one], values[bins == one]
        size = int(count.sum())
        middle = (2 * int(count @ value) + size) // (2 * size)
        total += int(count @ (value - middle) ** 2)
    return total


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SchemaError(f"{name} = {value!r}; give a whole number from {least} to {most}")
