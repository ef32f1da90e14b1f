"""How large a statistic of dependence is by chance: its critical value under independence.

To read an answer of ``statistic_queries`` one needs to know what it would be if x and y were
independent given the rest. That depends on the shares of the levels of each column and on the
number of rows, which are bought first with a little of the budget. What holds inside a stratum
is not known, so the overall shares stand for it, and the given columns count as independent.
This is approximate, and may cost accuracy; it cannot cost privacy.

In stratum k of size n_k the centred table M_k is about normal with covariance n_k C_x ⊗ C_y,
C = diag(p) - pp'. The statistics are norms or linear functions of it, except for Kendall and
Spearman, whose variances are the textbook ones with ties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import exp, lgamma, pi, prod, sqrt

import numpy as np

from privet.arrays import Floats
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Tables
from privet.schema.model import Schema

LEAST_COUNT = 0.5  # that a level is believed to have, so that no share is zero
WIDEST = 512  # cells of a table whose correlations are all looked at
LEAST_FREEDOM, MOST_FREEDOM = 1e-3, 1e4  # of a chi distribution; with more it is a normal one


@dataclass(frozen=True, kw_only=True)
class Margins:
    """Number of rows and shares of the levels of each column, as far as they are known."""

    rows: float
    shares: Mapping[str, Floats]

    @staticmethod
    def of(release: Release, schema: Schema) -> Margins:
        """From a release of ``Tables`` of single columns.

        Each table adds up to the number of rows; they are averaged by their noise, which grows
        with their levels.
        """
        counts: dict[str, Floats] = {}
        start = 0
        for (name,) in release.asked(Tables).sets:
            size = schema.column(name).cardinality
            counts[name] = release.values[start : start + size].astype(np.float64)
            start += size
        rows = float(schema.rows or 0)
        if not schema.rows_are_public:
            weights = [1 / len(table) for table in counts.values()]
            rows = float(np.average([table.sum() for table in counts.values()], weights=weights))
        shares = {}
        for name, table in counts.items():
            believed = np.maximum(table, LEAST_COUNT)
            shares[name] = believed / believed.sum()
        return Margins(rows=max(rows, 1.0), shares=shares)


def level(statistic: str, question: tuple[str, ...], margins: Margins, alpha: float) -> float:
    """The value, in natural units, that a statistic exceeds with a probability of about
    ``alpha`` if x and y are independent given the rest."""
    x, y, *given = (margins.shares[name] for name in question)
    known = _Known(rows=margins.rows, x=x, y=y, given=tuple(given))
    return {
        "t1": _t1,
        "t2": _t2,
        "cmh": _cmh,
        "g2": _g2,
        "kendall": _kendall,
        "spearman": _spearman,
    }[statistic](known, alpha)


@dataclass(frozen=True, kw_only=True)
class _Known:
    rows: float
    x: Floats
    y: Floats
    given: tuple[Floats, ...]

    def sizes(self) -> Floats:
        """Expected sizes of the strata."""
        return reduce(np.multiply.outer, self.given, np.array(self.rows)).reshape(-1)

    def freedoms(self) -> Floats:
        """Expected sizes less 1, which centring takes, but never below 0: the mean of
        max(n - 1, 0) for n of a Poisson distribution."""
        sizes = self.sizes()
        return sizes + np.expm1(-sizes)


def _t1(known: _Known, alpha: float) -> float:
    """Mean and variance of the sum of |M_ijk|, and the scaled chi distribution that has them:
    for two levels each and one stratum it is the true one, |normal|."""
    mean, variance = _absolute(tuple(known.x), tuple(known.y))
    sizes = known.freedoms()
    return _chi_quantile(mean * float(np.sqrt(sizes).sum()), variance * float(sizes.sum()), alpha)


@lru_cache(maxsize=4096)
def _absolute(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[float, float]:
    """Mean and variance of Σ_ij |Z_ij|, Z normal with covariance C_x ⊗ C_y.

    For normal variables with deviations s, t and correlation r, the covariance of |Z| and |W| is
    2/π s t (r arcsin r + sqrt(1 - r²) - 1). In a wide table r is small and left out.
    """
    p, q = np.array(x), np.array(y)
    s = np.sqrt(np.kron(p * (1 - p), q * (1 - q)))
    if len(s) > WIDEST:
        together = (pi / 2 - 1) * float((s * s).sum())
    else:
        r = np.clip(np.kron(_correlations(p), _correlations(q)), -1.0, 1.0)
        together = float(s @ (r * np.arcsin(r) + np.sqrt(1 - r * r) - 1) @ s)
    return sqrt(2 / pi) * float(s.sum()), 2 / pi * together


def _correlations(shares: Floats) -> Floats:
    odds = np.sqrt(shares / np.maximum(1 - shares, 1e-12))
    correlations = -np.outer(odds, odds)
    np.fill_diagonal(correlations, 1.0)
    return correlations


def _chi_quantile(mean: float, variance: float, alpha: float) -> float:
    """Upper quantile of the scaled chi distribution of this mean and variance."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    squares = mean * mean + variance
    if mean * mean >= squares * _concentration(MOST_FREEDOM):
        return mean - float(ndtri(alpha)) * sqrt(variance)
    freedom = float(
        brentq(lambda f: squares * _concentration(f) - mean * mean, LEAST_FREEDOM, MOST_FREEDOM)
    )
    return sqrt(_chi2_quantile(freedom, alpha) * squares / freedom)


def _concentration(freedom: float) -> float:
    """Squared mean of a chi variable over the mean of its square: rises with its freedom."""
    return 2 / freedom * exp(2 * (lgamma((freedom + 1) / 2) - lgamma(freedom / 2)))


def _t2(known: _Known, alpha: float) -> float:
    """The square is a sum of weighted chi-squared variables: one with its mean and variance."""
    sizes = known.freedoms()
    mean = float(sizes.sum()) * _trace(known.x) * _trace(known.y)
    squares = _trace_of_square(known.x) * _trace_of_square(known.y)
    variance = 2 * float((sizes**2).sum()) * squares
    if variance <= 0:  # a column with one level only
        return 0.0
    return sqrt(_chi2_quantile(2 * mean * mean / variance, alpha) * variance / (2 * mean))


def _trace(p: Floats) -> float:
    return float((p * (1 - p)).sum())


def _trace_of_square(p: Floats) -> float:
    """Of C = diag(p) - pp', which has rank len(p) - 1: never less than if all its eigenvalues
    were equal, which also mends what is lost in the differences here."""
    squares = float((p**2).sum())
    found = squares - 2 * float((p**3).sum()) + squares**2
    return max(found, _trace(p) ** 2 / (len(p) - 1))


def _cmh(known: _Known, alpha: float) -> float:
    size = float(known.freedoms().sum())
    return _two_sided(size * float(known.x.prod() * known.y.prod()), alpha)


def _g2(known: _Known, alpha: float) -> float:
    freedom = (len(known.x) - 1) * (len(known.y) - 1) * prod(map(len, known.given))
    return _chi2_quantile(freedom, alpha)


def _kendall(known: _Known, alpha: float) -> float:
    """Without ties S_k has variance m (m-1) (2m+5) / 18, so 9 S_k / (2m+5) has 9/2 m (m-1) /
    (2m+5); averaged over a size m about its expectation. Ties lower it."""
    sizes = known.sizes()
    variance = 4.5 * float((sizes**2 / (2 * sizes + 9)).sum())
    return _two_sided(variance * _untied(known.x) * _untied(known.y), alpha)


def _spearman(known: _Known, alpha: float) -> float:
    return _two_sided(known.rows / 9 * _untied(known.x) * _untied(known.y), alpha)


def _untied(p: Floats) -> float:
    """What ties leave of the variance of a rank statistic."""
    return 1 - float((p**3).sum())


def _two_sided(variance: float, alpha: float) -> float:
    """Quantile of |normal|."""
    return sqrt(variance * _chi2_quantile(1, alpha))


def _chi2_quantile(freedom: float, alpha: float) -> float:
    from scipy.special import gammainccinv

    return 2 * float(gammainccinv(freedom / 2, alpha))
