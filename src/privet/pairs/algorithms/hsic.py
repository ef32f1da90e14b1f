"""The Hilbert-Schmidt independence criterion [Gretton et al. 2005], with Gaussian kernels.

HSIC = tr(KHLH) / n², the squared norm of the cross-covariance of two columns in the kernels'
feature spaces: 0 in the long run just if they are independent. Up to a thousand rows the kernel
matrices are written out. Beyond, each is replaced by a product of thin factors, an incomplete
Cholesky factorisation that stops when what is left cannot change a kernel by more than a
millionth: time and memory then grow as the rows, and the value differs in the sixth digit.

Both the median bandwidth and the rows that the factorisation takes depend on all rows, so no
bound is known for what one person can change: the private HSIC has a public bandwidth and public
features in their place.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Floats

WRITTEN_OUT = 1000  # rows up to which the kernel matrices are
PRECISION = 1e-6  # the most that a kernel's value may be off
MOST_PIVOTS = 400
MEDIAN_OF = 1000  # rows that the median distance is taken of


def hsic(x: Floats, y: Floats, *, bandwidths: tuple[float, float] | None = None) -> float:
    """HSIC of two columns; the bandwidths are the median distances, unless given."""
    h, g = bandwidths or (median_distance(x), median_distance(y))
    if len(x) <= WRITTEN_OUT:
        return _written_out(x / h, y / g)
    left, right = factor(x / h), factor(y / g)
    left -= left.mean(axis=0)
    return float(((left.T @ right / len(x)) ** 2).sum())


def median_distance(x: Floats) -> float:
    """Of two different values; 1 if there are none. Of evenly spaced rows if there are many."""
    some = np.sort(x[:: -(-len(x) // MEDIAN_OF)])
    distances = np.abs(some[:, None] - some)[np.triu_indices(len(some), 1)]
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def factor(x: Floats) -> Floats:
    """A thin matrix whose rows' products are exp(-(x_i - x_j)² / 2), nearly.

    Takes one row at a time, always the one that the rows before explain least.
    """
    columns = np.empty((min(MOST_PIVOTS, len(x)), len(x)))
    left = np.ones(len(x))
    for used in range(len(columns)):
        pivot = int(left.argmax())
        if left[pivot] <= PRECISION:
            return columns[:used].T.copy()
        row = np.exp(-((x - x[pivot]) ** 2) / 2)
        row -= columns[:used, pivot] @ columns[:used]
        columns[used] = row / np.sqrt(left[pivot])
        left = np.maximum(left - columns[used] ** 2, 0)
    return columns.T.copy()


def _written_out(x: Floats, y: Floats) -> float:
    k, m = (np.exp(-((v[:, None] - v) ** 2) / 2) for v in (x, y))
    k -= k.mean(axis=0)
    k -= k.mean(axis=1, keepdims=True)
    return float((k * m).mean())
