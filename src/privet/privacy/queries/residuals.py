"""What else may be asked of additive-noise models: quartiles and interquartile ranges of columns
and residuals, on the test half.

Each answer is the least number k of records, of either half, that would have to change for
something to be possible, in a sense that is easy to compute: whatever k records can do to a
neighbour, k + 1 records can do here. So one person moves it by 1. The IQR score log IQR(cause) +
log IQR(residual) is smaller in the causal direction; it comes from eight selections
(``QuartileRanks``, pure privacy) or, with a δ, from propose-test-release (``IqrStability``, then
``LogIqr``, by way of ``privacy.queries.tested.StableRange``) for each of four ranges. Proofs:
``proofs/anm.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, log
from typing import Literal, NoReturn

import numpy as np

from privet.arrays import Integers
from privet.errors import MethodError, SchemaError
from privet.privacy.queries.additive_noise import Anm, Halved, Protect, check_protect
from privet.privacy.queries.base import Rows, codec
from privet.privacy.queries.ridge import FINE, GRID
from privet.schema.model import Schema

Of = Literal["x", "y", "y given x", "x given y"]
OF: tuple[Of, ...] = ("x", "y", "y given x", "x given y")

MOST_STEPS = 1 << 20  # of a distance that is measured in records
REACH = 2 * FINE  # of residuals on either side of 0
STEPS = 1 << 12  # of the grid of quartiles on either side of 0
LEAST_IQR = FINE // STEPS  # what is smaller counts as this
UNIT = 1 << 20  # of a logarithm as a whole number


@dataclass(frozen=True, kw_only=True)
class QuartileRanks(Halved):
    """How well each edge of a public grid serves as a quartile: minus the least k such that the
    edge lies between the order statistics k places below and k places above the quartile's,
    widened by k η where they are residuals. For a selection of the largest. ``quarter`` is 1
    or 3.

    Sensitivity of each number: 1.
    """

    model: Anm
    of: Of
    quarter: int
    protect: Protect = "both"

    def __str__(self) -> str:
        return f"quartile {self.quarter} of {self.of} in the test half"

    def check(self, schema: Schema) -> None:
        _check_sample(self.model, self.of, self.protect, schema)
        if self.quarter not in (1, 3):
            raise SchemaError(f"quarter = {self.quarter!r}; give 1 or 3")

    def size(self, schema: Schema) -> int:
        return 4 * STEPS + 1

    def bound(self, schema: Schema) -> int:
        return schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        sample = _Sample.of(self.model, self.of, self.protect, rows, schema)
        k = np.arange(len(sample.values) + 2)
        at = sample.place(self.quarter)
        edges = self.edges()
        above = np.searchsorted(sample.order(at + k * sample.rank) + k * sample.eta, edges)
        below = np.searchsorted(-sample.order(at - k * sample.rank) + k * sample.eta, -edges)
        return -np.maximum(above, below).astype(np.int64)

    @staticmethod
    def edges() -> Integers:
        """The grid, in FINE steps."""
        return np.arange(-2 * STEPS, 2 * STEPS + 1) * (FINE // STEPS)


@codec("IqrStability", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class IqrStability(Halved):
    """How many records must change before log IQR can leave its bin: the larger answer for two
    grids of bins of ``width``, the second one half a bin further.

    Where it is 2 or more, no record moves ``LogIqr`` by more than ``width``. Kusner et al. ask
    about either grid by itself, for twice the noise and twice the δ.

    Sensitivity. 1 for each grid, and so for the larger of the two.
    """

    model: Anm
    of: Of
    width: float = 1.0
    protect: Protect = "both"

    def __str__(self) -> str:
        return f"stability of the interquartile range of {self.of}"

    def check(self, schema: Schema) -> None:
        _check_sample(self.model, self.of, self.protect, schema)
        _check_width(self.width)

    def size(self, schema: Schema) -> int:
        return 1

    def bound(self, schema: Schema) -> int:
        return schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        sample = _Sample.of(self.model, self.of, self.protect, rows, schema)
        most = min(len(sample.values) + 1, MOST_STEPS)

        def apart(edges: Integers) -> int:
            return first_break(lambda k: len(set(_bins(edges, sample.iqr(k)))) > 1, most)

        grids = (_bin_edges(self.width, shift) for shift in (0.0, 0.5))
        return np.array([max(apart(edges) for edges in grids)], dtype=np.int64)


@codec("LogIqr", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class LogIqr(Halved):
    """UNIT times the logarithm of an interquartile range, in units of half the column's range.

    Sensitivity: that of ``width``, where ``IqrStability`` has found the range stable. By itself
    this has no bound; the vault sells it through its door for what is tested.
    """

    model: Anm
    of: Of
    width: float = 1.0
    protect: Protect = "both"

    def __str__(self) -> str:
        return f"interquartile range of {self.of}"

    def check(self, schema: Schema) -> None:
        _check_sample(self.model, self.of, self.protect, schema)
        _check_width(self.width)

    def size(self, schema: Schema) -> int:
        return 1

    def bound(self, schema: Schema) -> int:
        """How far one person in the protected half moves the answer, where it is stable."""
        if schema.rows_per_person > 1:
            raise MethodError(
                f"rows_per_person = {schema.rows_per_person}, but the stability of a range is "
                "that against one record; use quartiles by selection"
            )
        return ceil(self.width * UNIT) + 2  # the rounding of edges and of the logarithm

    def linf(self, schema: Schema) -> NoReturn:
        raise MethodError(
            f"the interquartile range of {self.of} has no bound by itself; ask for its stability "
            "first, or for quartiles by selection"
        )

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        sample = _Sample.of(self.model, self.of, self.protect, rows, schema)
        exact = log(max(sample.iqr(0)[0], LEAST_IQR) / FINE)
        return np.array([floor(UNIT * exact)], dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """Sorted values in FINE steps; how many places and how far one record moves them."""

    values: Integers
    rank: int
    eta: int

    @staticmethod
    def of(model: Anm, of: Of, protect: Protect, rows: Rows, schema: Schema) -> _Sample:
        forward, backward = model.residuals(rows, schema)
        column = {"x": forward, "y": backward}.get(of)
        if column is not None:
            values, eta = column.cause * (FINE // GRID), 0
        else:
            values = (forward if of == "y given x" else backward).left
            eta = 0 if protect == "test" else model.eta(schema)
        return _Sample(values=np.sort(values), rank=int(protect != "training"), eta=eta)

    def place(self, quarter: int) -> int:
        """Of a quartile among the values; the two quartiles lie as far from either end."""
        first = len(self.values) // 4
        return first if quarter == 1 else len(self.values) - 1 - first

    def order(self, places: Integers) -> Integers:
        """Order statistics; beyond the last value there can be anything."""
        ends = np.concatenate([[-REACH], self.values, [REACH]])
        return ends[np.clip(places + 1, 0, len(ends) - 1)]

    def iqr(self, k: int) -> tuple[int, int]:
        """The least and the largest range that k records could make of this one."""
        first, third = self.place(1), self.place(3)
        a = np.arange(k * self.rank + 1)
        wide = self.order(third + a) - self.order(first - a[::-1])
        narrow = self.order(third - a) - self.order(first + a[::-1])
        loose = 2 * k * self.eta
        return max(int(narrow.min()) - loose, 0), int(wide.max()) + loose


def first_break(broken: Callable[[int], bool], most: int) -> int:
    """The least k from 0 to most at which something breaks, which then stays broken."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if broken(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _bin_edges(width: float, shift: float) -> Integers:
    """Lower ends of the bins of log IQR, in steps."""
    bins = ceil(log(2 * REACH / LEAST_IQR) / width)
    logs = log(LEAST_IQR) + (np.arange(bins + 1) + shift) * width
    edges: Integers = np.ceil(np.exp(logs)).astype(np.int64)
    return edges


def _bins(edges: Integers, ends: tuple[int, int]) -> list[int]:
    return [int(np.searchsorted(edges, max(end, LEAST_IQR), side="right")) for end in ends]


def _check_sample(model: Anm, of: str, protect: Protect, schema: Schema) -> None:
    model.check(schema)
    check_protect(protect)
    if of not in OF:
        raise SchemaError(f"quartiles of {of!r}; choose from {', '.join(OF)}")


def _check_width(width: float) -> None:
    if not 2**-10 <= width <= 16:
        raise SchemaError(f"width = {width!r}; give a number from {2**-10} to 16")
