"""What a test is made of, and what follows from it: a statistic, its p-value, a Bayes factor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.special import chdtrc

from privet.arrays import Bools, Floats, Integers
from privet.evidence.prior import EFFECTS

CACHE_NUMBERS = 100_000  # worked with at once, so that they stay in the cache
# Variance of doubt about each count, for Bayes factors: counts are whole, so where a hundredth
# of a row is expected, one row is not yet proof.
GRAIN = 0.25


@dataclass(frozen=True)
class Terms:
    """Many tests at a time: departures of ``k`` strata (one, if these were pooled) with ``m``
    numbers each, the sampling covariance of each stratum, the covariance of the noise, the rows in
    each stratum, degrees of freedom, and the covariance of the grain."""

    d: Floats  # (tests, k m)
    sampling: Floats  # (tests, k, m, m)
    noise: Floats  # (tests, k m, k m)
    rows: Floats  # (tests, k)
    freedom: Integers
    grain: Floats  # (k m, k m)

    def test(self) -> Floats:
        """T = d' C^-1 d, degrees of freedom, the p-value of T, and the log Bayes factor."""
        statistic = np.empty(len(self.d))
        for at, bordered in self._bordered(1):
            self._fill(bordered[0, :, :-1, :-1], at)
            statistic[at] = _lengths(bordered)[0][0]
        p_value = np.where(self.freedom > 0, chdtrc(np.maximum(self.freedom, 1), statistic), 1.0)
        freedom, factor = self.factors()
        return np.stack([statistic, freedom, p_value, factor])

    def factors(self) -> Floats:
        """Degrees of freedom and log Bayes factors.

        These compare d ~ N(0, C) with d ~ N(0, C + τ² W), W the sampling covariance weighed by the
        rows, averaged over τ: the mean of a factor under independence is 1, so "dependent where it
        exceeds 1/α" errs with probability at most α (Markov's inequality).
        """
        out = np.empty(len(self.d))
        for at, bordered in self._bordered(1 + len(EFFECTS)):
            calm, *grown = bordered[:, :, :-1, :-1]
            self._fill(calm, at)
            calm += self.grain
            weighed = self.sampling[at] * np.maximum(self.rows[at], 0.0)[:, :, None, None]
            for square, effect in zip(grown, EFFECTS, strict=True):
                square[:] = calm
                _add_blocks(square, effect**2 * weighed)
            lengths, sizes = _lengths(bordered)
            terms = 0.5 * (lengths[0] - lengths[1:] + sizes[0] - sizes[1:])
            most = terms.max(axis=0)
            out[at] = most + np.log(np.exp(terms - most).sum(axis=0)) - log(len(EFFECTS))
        return np.stack([self.freedom.astype(float), out])

    def covariance(self) -> Floats:
        """Of sampling and noise, such that it can be inverted."""
        out = np.empty((len(self.d), *self.grain.shape))
        self._fill(out, slice(None))
        return out

    def known(self, where: Bools) -> Terms:
        """The same, with nothing known where it is not so."""
        one = where[:, None]
        return Terms(
            self.d * one,
            self.sampling * one[..., None, None],
            self.noise * one[..., None],
            self.rows * one,
            self.freedom * where,
            self.grain,
        )

    def _fill(self, square: Floats, at: slice) -> None:
        """Writes the covariance, with a hair's breadth more on the diagonal, so that empty levels
        can be inverted."""
        square[:] = self.noise[at]
        _add_blocks(square, self.sampling[at])
        diagonal = np.einsum("tmm->tm", square)
        diagonal += 1e-9 * diagonal.mean(axis=1, keepdims=True) + 1e-9

    def _bordered(self, count: int) -> Iterator[tuple[slice, Floats]]:
        """Room for so many covariances of each test, bordered by d, a few tests at a time."""
        size = self.d.shape[1] + 1
        step = max(1, CACHE_NUMBERS // (count * size**2))
        for start in range(0, len(self.d), step):
            at = slice(start, start + step)
            room = np.empty((count, len(self.d[at]), size, size))
            room[..., -1, :-1], room[..., -1, -1] = self.d[at], np.inf
            yield at, room


def added(terms: Sequence[Terms]) -> Terms:
    """The terms of several sites."""
    first, *others = terms
    d, sampling, noise, rows, freedom = (
        first.d,
        first.sampling,
        first.noise,
        first.rows,
        first.freedom,
    )
    for each in others:
        d, sampling, noise = d + each.d, sampling + each.sampling, noise + each.noise
        rows, freedom = rows + each.rows, np.maximum(freedom, each.freedom)
    return Terms(d, sampling, noise, rows, freedom, first.grain)


@lru_cache(maxsize=4096)
def grain(rows: int, cols: int, strata: int = 1) -> Floats:
    """Covariance of half a row of doubt in each cell, the same for every choice of the level that
    is dropped. Counts are whole: without it, one row where a hundredth is expected is proof."""
    centred = [np.eye(size) - 1 / (size + 1) for size in (rows, cols)]
    out: Floats = GRAIN * np.kron(np.eye(strata), np.kron(*centred))
    return out


def _add_blocks(square: Floats, blocks: Floats) -> None:
    """Adds blocks on the diagonal."""
    m, (test, row, column) = blocks.shape[2], square.strides
    on_diagonal = as_strided(square, blocks.shape, (test, m * (row + column), row, column))
    on_diagonal += blocks


def _lengths(bordered: Floats) -> tuple[Floats, Floats]:
    """d' C^-1 d and log|C| for several C of each test, from one Cholesky factor of each C
    bordered by d (below; what stands beside it is not read).

    The last row of the factor is (C^(1/2))^-1 d whatever stands in the corner, as long as the
    bordered matrix is positive definite.
    """
    root = np.linalg.cholesky(bordered)
    last, diagonal = root[..., -1, :-1], np.einsum("...mm->...m", root)[..., :-1]
    return np.einsum("etm,etm->et", last, last), 2 * np.log(diagonal).sum(axis=-1)
