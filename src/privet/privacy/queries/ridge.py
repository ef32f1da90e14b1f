"""Smooth regression and smooth dependence, in a form whose change by one row has a bound.

Values lie on public grids. A kernel is cos(π d / period)^(2 power), very nearly a Gaussian of
the distance d, but with finitely many features: they are waves with binomial weights, so the
kernel is never negative, is 1 at distance 0, and every vector of features has length 1. Kernel
ridge regression on them is a small linear system, whatever the number of rows. Its matrix is a
sum of whole numbers, exact in any order, and it is solved element by element in a fixed order:
the same rows give the same bits, so other rows' residuals stay what they are.

Nothing here holds rows or knows a schema. Proofs: ``proofs/anm.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, comb, pi, sqrt

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import MethodError

GRID = 1 << 14  # codes of a value on either side of the middle of its range
FINE = 1 << 30  # steps of a residual per unit, which is half a range
WAVE = 1 << 16  # steps of a feature in a regression: WAVE² · MOST_ROWS = 2**53
MOST_ROWS = 1 << 21
LEAST_BANDWIDTH, LARGEST_BANDWIDTH = 0.05, 4.0
LEAST_RIDGE, LARGEST_RIDGE = 2.0**-10, 2.0**10
STEP = 1 << 12  # rows at a time: their features stay in the cache


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """cos(π d / period)^(2 power), for values that are at most ``period`` apart, or so."""

    power: int
    period: float

    @staticmethod
    def of(bandwidth: float, span: float) -> Kernel:
        """Near exp(-d² / (2 bandwidth²)) for values up to ``span`` apart: the period leaves five
        bandwidths until the kernel rises again."""
        power = ceil(((span + 5 * bandwidth) / (pi * bandwidth)) ** 2 / 2)
        return Kernel(power=power, period=pi * bandwidth * sqrt(2 * power))

    @property
    def bandwidth(self) -> float:
        return self.period / (pi * sqrt(2 * self.power))

    @property
    def slope(self) -> float:
        """The largest slope of the kernel, at most: 1 / bandwidth at power 1/2, and from there
        down to 1 / (bandwidth sqrt(e))."""
        n = 2 * self.power
        return float((1 - 1 / n) ** ((n - 1) / 2)) / self.bandwidth

    @property
    def weights(self) -> Floats:
        """Of the waves 0, 1, 2, …; what is left out at the end weighs less than 10^-17."""
        return _binomial(self.power)

    def features(self, values: Floats) -> Floats:
        """A row of features for each value: their inner products are the kernel."""
        root = np.sqrt(self.weights)
        waves = np.empty((len(values), len(root)), dtype=np.complex128)
        turn = np.exp(2j * pi / self.period * values)
        waves[:, 0] = 1.0
        for j in range(1, len(root)):
            np.multiply(waves[:, j - 1], turn, out=waves[:, j])
        waves *= root
        return np.hstack([waves.real, waves.imag[:, 1:]])


@lru_cache
def _binomial(power: int) -> Floats:
    last = min(power, ceil(6.5 * sqrt(power)))
    pairs = [comb(2 * power, power + j) / 4**power for j in range(last + 1)]
    return np.array([pairs[0], *(2 * pair for pair in pairs[1:])])


def public_bandwidth(value: float | str) -> float:
    """A bandwidth that was chosen without looking at the rows, or a refusal."""
    if value == "median":
        raise MethodError(
            "bandwidth = 'median' is taken from the rows, and one person can change the answer "
            "by far more than the noise covers; give a number, in units of half a column's "
            "range, such as 0.1, or use ⟦method='anm'⟧ without privacy, which takes it "
            "from the rows"
        )
    if isinstance(value, str) or not LEAST_BANDWIDTH <= value <= LARGEST_BANDWIDTH:
        raise MethodError(
            f"bandwidth = {value!r}; give a number from {LEAST_BANDWIDTH} to {LARGEST_BANDWIDTH}, "
            "in units of half a column's range"
        )
    return float(value)


def predictions(cause: Integers, effect: Integers, kernel: Kernel, ridge: float) -> Integers:
    """Ridge regression of effects on causes, both as codes: its value at each code, -GRID to
    GRID, in FINE steps and never beyond ±FINE.

    It minimises ridge / 2 |w|² + Σ (w·φ - effect)² / rows over w, with features |φ| <= 1.
    """
    table = _wave_table(kernel)
    counts = np.bincount(cause + GRID, minlength=2 * GRID + 1)
    sums = np.bincount(cause + GRID, weights=effect, minlength=2 * GRID + 1)
    used = np.flatnonzero(counts)
    waves = table[used]
    matrix = (waves * counts[used, None]).T @ waves  # whole, below 2**53: exact in any order
    matrix[np.diag_indices(len(matrix))] += ridge * max(len(cause), 1) / 2 * WAVE**2
    w = solve(matrix, waves.T @ sums[used] * (WAVE / GRID))
    fitted = np.zeros(len(table))
    for weight, wave in zip(w, table.T, strict=True):
        fitted += weight / WAVE * wave
    return np.rint(np.clip(fitted, -1.0, 1.0) * FINE).astype(np.int64)


@lru_cache(maxsize=4)
def _wave_table(kernel: Kernel) -> Floats:
    """Features of all codes in whole WAVE steps, cut towards 0 so that none is longer than 1."""
    exact = kernel.features(np.arange(-GRID, GRID + 1) / GRID)
    return np.asfortranarray(np.trunc(exact * ((1 - 2**-40) * WAVE)))


def solve(matrix: Floats, right: Floats) -> Floats:
    """Solves a positive definite system by elimination, always in the same order."""
    a, b = matrix.copy(), right.copy()
    for k in range(len(a)):
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] -= factors[:, None] * a[k, None, k + 1 :]
        b[k + 1 :] -= factors * b[k]
    for k in range(len(a) - 1, -1, -1):
        b[k] /= a[k, k]
        b[:k] -= a[:k, k] * b[k]
    return b


def residual_bound(ridge: float, rows: int) -> int:
    """How far another row among ``rows`` moves any prediction, in FINE steps.

    η = 4 (1 + 1 / sqrt(2 ridge)) / (ridge rows), and what floating point adds.
    """
    rows = max(rows, 1)
    eta = 4 * (1 + 1 / sqrt(2 * ridge)) / (ridge * rows)
    return min(ceil(FINE * eta * (1 + rows * (1 + ridge / 2) / 2**36)) + 2, 2 * FINE)


def cross_covariance(first: Floats, second: Floats, kernels: tuple[Kernel, Kernel]) -> float:
    """Hilbert-Schmidt norm of the cross-covariance of two samples' features, the square root of
    HSIC, off by less than 2^-36."""
    rows = len(first)
    if rows < 2:
        return 0.0
    sizes = [2 * len(kernel.weights) - 1 for kernel in kernels]
    products, a_sum, b_sum = np.zeros(sizes), np.zeros(sizes[0]), np.zeros(sizes[1])
    for start in range(0, rows, STEP):
        part = slice(start, start + STEP)
        a, b = (k.features(v[part]) for k, v in zip(kernels, (first, second), strict=True))
        products += a.T @ b
        a_sum += a.sum(axis=0)
        b_sum += b.sum(axis=0)
    apart = products / rows - np.outer(a_sum / rows, b_sum / rows)
    return float(np.sqrt((apart**2).sum()))


def concordance(x: Integers, y: Integers) -> int:
    """Pairs in the same order in x and in y less pairs in opposite order; ties count 0."""
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    ranks = np.unique(y, return_inverse=True)[1].astype(np.int64)
    pairs = len(x) * (len(x) - 1) // 2
    upside_down = _inversions(ranks)  # none among those with equal x, which are sorted by y
    both = _tied(np.unique(np.stack([x, ranks]), axis=1, return_counts=True)[1])
    x_ties, y_ties = (_tied(np.unique(v, return_counts=True)[1]) for v in (x, ranks))
    return pairs - x_ties - y_ties + both - 2 * upside_down


def rank_product(x: Integers, y: Integers) -> int:
    """Σ a b over rows, where a is how many have a smaller x less how many have a larger one, and
    b likewise for y: Spearman's statistic with middle ranks, times rows (rows² - 1) / 3."""
    return int((_balance(x) * _balance(y)).sum())


def _balance(values: Integers) -> Integers:
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left")
    return below - (len(values) - np.searchsorted(ordered, values, side="right"))


def _tied(counts: Integers) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: Integers) -> int:
    """Pairs of places in which the earlier has the larger rank, bit by bit of the ranks: two
    that first differ in a bit are inverted if the one with this bit comes first."""
    total, bits = 0, int(ranks.max(initial=0)).bit_length()
    for bit in range(bits - 1, -1, -1):
        group = ranks >> (bit + 1)
        order = np.argsort(group, kind="stable")
        group, has = group[order], (ranks[order] >> bit) & 1
        before = np.cumsum(has) - has
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        at_start = np.repeat(before[starts], np.diff(starts, append=len(group)))
        total += int(((1 - has) * (before - at_start)).sum())
    return total
