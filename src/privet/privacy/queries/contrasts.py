"""Integer contrasts: the public coordinates in which tables are measured.

A column with ``k`` codes gets an orthonormal basis whose first row is constant; the other
``k - 1`` rows, its *contrasts*, are multiplied by ``GRID`` and rounded. What is measured is an
exact integer function of the counts, so the rounding costs nothing: the design matrix
``[ones; contrasts]`` is inverted as it is, never as the ideal matrix that it approximates.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import groupby
from math import isqrt
from operator import itemgetter

import numpy as np

from privet.arrays import Floats, Integers

GRID = 1 << 10
TOGETHER = 40  # levels of columns whose contrasts stand in one matrix


@cache
def contrasts(k: int, ordered: bool) -> Integers:
    """The ``(k - 1, k)`` integer contrasts: orthogonal polynomials if ordered, else Helmert's."""
    rounded = _polynomials(k) if ordered else np.rint(GRID * _helmert(k)).astype(np.int64)
    rounded.setflags(write=False)
    return rounded


@lru_cache(maxsize=8)
def side_by_side(columns: tuple[tuple[int, bool], ...]) -> list[tuple[Floats, slice]]:
    """Those of all columns, of several in one matrix, block by block, and where its levels are:
    few matrices, and few empty products. They are exact in floating point, and so are their
    products with counts of fewer than 2^33 rows."""
    out, start = list[tuple[Floats, slice]](), 0
    ends = np.cumsum([k for k, _ in columns]) // TOGETHER
    for _, some in groupby(zip(ends.tolist(), columns, strict=True), key=itemgetter(0)):
        own = [contrasts(*column) for _, column in some]
        shapes = np.cumsum([part.shape for part in own], axis=0).tolist()
        whole = np.zeros(shapes[-1])
        for part, (down, across) in zip(own, shapes, strict=True):
            whole[down - part.shape[0] : down, across - part.shape[1] : across] = part
        out.append((whole, slice(start, start := start + whole.shape[1])))
    return out


@cache
def design_inverse(k: int, ordered: bool) -> Floats:
    """Inverse of ``[ones; contrasts]``: turns (total, component) into the counts of a column."""
    design = np.vstack([np.ones(k), contrasts(k, ordered)])
    inverse = np.linalg.inv(design)
    inverse.setflags(write=False)
    return inverse


def _helmert(k: int) -> Floats:
    rows = np.zeros((k - 1, k))
    for j in range(1, k):
        rows[j - 1, :j] = 1.0
        rows[j - 1, j] = -j
        rows[j - 1] /= np.sqrt(j * (j + 1))
    return rows


def _polynomials(k: int) -> Integers:
    """Polynomials in the code, orthogonal to constants; row 0 is the trend.

    They are Gram's, by their recurrence in whole numbers: no machine rounds them in its own way.
    """
    trend = [2 * code - k + 1 for code in range(k)]
    before, last, rows = [0] * k, [1] * k, []
    for n in range(k - 1):
        back = n * (k * k - n * n)
        both = zip(trend, last, before, strict=True)
        before, last = last, [((2 * n + 1) * x * a - back * b) // (n + 1) for x, a, b in both]
        rows.append(_nearest(last))
    return np.array(rows, dtype=np.int64).reshape(k - 1, k)


def _nearest(values: list[int]) -> list[int]:
    """The whole numbers next to GRID times these, scaled to a sum of squares of one."""
    square = sum(value * value for value in values)
    halves = (isqrt(4 * GRID**2 * value * value // square) for value in values)
    return [(half + 1) // 2 * (-1 if v < 0 else 1) for half, v in zip(halves, values, strict=True)]
