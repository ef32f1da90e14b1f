"""Integer contrasts: the public coordinates in which tables are measured.

A column with ``k`` codes gets an orthonormal basis whose first row is constant; the other
``k - 1`` rows, its *contrasts*, are multiplied by ``GRID`` and rounded. What is measured is an
exact integer function of the counts, so the rounding costs nothing: the design matrix
``[ones; contrasts]`` is inverted as it is, never as the ideal matrix that it approximates.
"""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np

from privet.arrays import Floats, Integers

GRID = 1 << 10


@cache
def contrasts(k: int, ordered: bool) -> Integers:
    """The ``(k - 1, k)`` integer contrasts: orthogonal polynomials if ordered, else Helmert's."""
    basis = _polynomials(k) if ordered else _helmert(k)
    rounded = np.rint(GRID * basis).astype(np.int64)
    rounded.setflags(write=False)
    return rounded


@lru_cache(maxsize=1 << 10)
def all_contrasts(columns: tuple[tuple[int, bool], ...]) -> Floats:
    """Those of several columns in one matrix, block by block: exact in floating point, as are their
    products with counts of fewer than 2^33 rows."""
    own = [contrasts(*column) for column in columns]
    ends = np.cumsum([part.shape for part in own], axis=0).tolist()
    whole = np.zeros(ends[-1])
    for part, (down, across) in zip(own, ends, strict=True):
        whole[down - part.shape[0] : down, across - part.shape[1] : across] = part
    whole.setflags(write=False)
    return whole


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


def _polynomials(k: int) -> Floats:
    """Polynomials in the code, orthonormal and orthogonal to constants; row 0 is the trend."""
    position = np.linspace(-1.0, 1.0, k)
    basis, upper = np.linalg.qr(np.vander(position, k, increasing=True))
    rows: Floats = (basis * np.sign(np.diag(upper))).T[1:]
    return rows
