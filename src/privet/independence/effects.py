"""How large a dependence is, and whether a test could have seen a strong one.

A test that finds nothing may have had no chance to. With noise C and sampling covariance S of n
rows, an effect φ² = d' S⁻¹ d / n in a direction that nobody knows gives the statistic T = d' C⁻¹ d
a noncentral chi-square law with noncentrality φ² w, w = tr(C⁻¹ n S) / m: w rows without noise would
tell as much. So T tells how likely each size is, and a strong effect is ruled out where the law
without effect makes T much more likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log

import numpy as np
from scipy.special import chdtr, chdtri, chndtrinc, gammaln, ive

from privet.arrays import Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence
from privet.independence import chi2
from privet.independence.exact_tables import MEASURED, ExactTableJudge
from privet.independence.fisher_z import z_and_variance
from privet.independence.tables import TableJudge
from privet.independence.terms import Terms, added

# Cramér's V, or a correlation, that nobody would like to miss.
STRONG = 0.1
# How much more likely the answer must be without an effect than with a strong one.
SURELY = 20.0
POWER = 0.8


@dataclass(frozen=True)
class Effects:
    """Of many questions: statistic, degrees of freedom, the rows without noise that would tell as
    much (``worth``), the rows there are, and how many V² make φ² (``scale``)."""

    statistic: Floats
    freedom: Floats
    worth: Floats
    rows: Floats
    scale: Floats

    @staticmethod
    def together(places: Sequence[Indices], parts: Sequence[Effects]) -> Effects:
        """Those of several parts, each at its places."""
        at = np.argsort(np.concatenate([np.empty(0, dtype=np.intp), *places]))
        none = np.empty(0)
        fields = zip(*(vars(part).values() for part in parts), strict=True)
        return Effects(*([np.concatenate(each)[at] for each in fields] or [none] * 5))

    def sizes(self) -> Floats:
        """Cramér's V (or the size of a correlation), without what noise and sampling add."""
        squared = np.maximum(self.statistic - self.freedom, 0.0) / self._unit()
        return np.asarray(np.minimum(np.sqrt(squared), 1.0))

    def intervals(self, doubt: float = 0.05) -> tuple[Floats, Floats]:
        """The sizes that are likely up to this doubt, half of it on each side. An effect may lie
        where noise is smallest. No direction has a weight above 1, or above the sum of all, so the
        lower end counts that many rows."""
        most = np.minimum(self.rows, self.worth * np.maximum(self.freedom, 1.0))
        return self._end(1 - doubt / 2, np.maximum(most, self.worth)), self.largest(doubt)

    def largest(self, doubt: float = 0.05) -> Floats:
        """The upper ends of these alone."""
        return np.where(self.freedom > 0, self._end(doubt / 2, self.worth), 1.0)

    def _end(self, tail: float, rows: Floats) -> Floats:
        m, t = np.maximum(self.freedom, 1.0), np.maximum(self.statistic, 1e-9)
        found = np.where(chdtr(m, t) > tail, chndtrinc(t, m, tail), 0.0)
        unit = np.maximum(self.scale * rows, 1e-9)
        return np.asarray(np.minimum(np.sqrt(np.nan_to_num(found) / unit), 1.0))

    def log_ratio(self, size: float = STRONG) -> Floats:
        """Log likelihood of an effect of this size, against that of none."""
        shift = size**2 * self._unit()
        out = _log_ratio(self.statistic, np.maximum(self.freedom, 1.0), shift)
        return np.where(self.freedom > 0, out, 0.0)

    def needed(self, size: float = STRONG) -> tuple[Floats, Floats]:
        """By how much the rows, or epsilon, must grow for an effect of this size to be ruled out
        in 8 of 10 cases; infinite where more budget alone would not do."""
        wanted = np.array([_decisive(int(m)) for m in np.maximum(self.freedom, 1)])
        wanted = wanted / (size**2 * self.scale)
        noise = np.maximum(self.rows**2 / np.maximum(self.worth, 1e-9) - self.rows, 0.0)
        rows = (wanted + np.sqrt(wanted**2 + 4 * wanted * noise)) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            budget = np.sqrt(noise / self.rows / (self.rows / wanted - 1))
        enough = wanted <= self.worth
        budget = np.where(enough, 1.0, np.where(wanted < self.rows, budget, inf))
        return np.where(enough, 1.0, rows / self.rows), budget

    def _unit(self) -> Floats:
        return np.asarray(np.maximum(self.scale * self.worth, 1e-9))


def _log_ratio(statistic: Floats, freedom: Floats, shift: Floats) -> Floats:
    """log of the noncentral chi-square density against the central: exp(-λ/2) ₀F₁(m/2; λT/4)."""
    half, x = freedom / 2, np.sqrt(np.maximum(statistic * shift, 0.0))
    large = np.maximum(x, 1.0)
    if (half == 0.5).all():  # of correlations: cosh x
        series = large + np.log1p(np.exp(-2 * large)) - log(2)
    else:
        with np.errstate(divide="ignore"):
            bessel = np.log(ive(half - 1, large)) + large
        series = gammaln(half) + (1 - half) * np.log(large / 2) + bessel
    small = x**2 / 4 / half
    return np.asarray(np.where((x < 1) | ~np.isfinite(series), small, series) - shift / 2)


@lru_cache(maxsize=4096)
def _decisive(freedom: int) -> float:
    """The noncentrality that is ruled out in 8 of 10 cases without effect."""
    usual = np.array(chdtri(freedom, 1 - POWER))
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        told = float(_log_ratio(usual, np.array(float(freedom)), np.array(middle)))
        low, high = (low, middle) if told <= -log(SURELY) else (middle, high)
    return high


def of_tables(judges: Sequence[TableJudge], questions: Indices) -> Effects:
    """Of pooled tests of questions (x, y, *Z) of one width; of several sites, for an effect that
    they have in common."""
    asked = np.array([judge.margins_known(questions) for judge in judges])
    sites = [judge.evidence for judge in judges]
    found = np.zeros((4, len(questions)))
    if len(sites) == 1:
        found[:, asked[0]] = _of_one(sites[0], questions[asked[0]])
    else:
        for places, each in chi2.terms_of(sites, questions, asked, strata=False):
            found[:, places] = _of_terms(added(each))
    levels = np.array(sites[0].cardinalities)[questions[:, :2]]
    scale = np.maximum(levels.min(axis=1) - 1.0, 1.0)
    return Effects(found[0], found[1], found[2], found[3], scale)


def of_counted(judge: ExactTableJudge, questions: Indices) -> Effects:
    """The same on exact tables of any width, which the judge was asked about."""
    if questions.shape[1] - 2 <= MEASURED:
        return of_tables([judge.few], questions)
    tested = judge.tested(questions)
    rows = np.full(len(questions), max(float(judge.evidence.rows), 1.0))
    levels = np.array(judge.evidence.cardinalities)[questions[:, :2]]
    scale = np.maximum(levels.min(axis=1) - 1.0, 1.0)
    return Effects(tested.statistic, tested.freedom, rows * (tested.freedom > 0), rows, scale)


def _of_one(evidence: TableEvidence, questions: Indices) -> Floats:
    freedom, statistic, filled = chi2.gauges(evidence, questions)
    rows = np.full(len(questions), max(float(evidence.rows), 1.0))
    return np.stack([statistic, freedom, rows * filled / np.maximum(freedom, 1.0), rows])


def _of_terms(terms: Terms) -> Floats:
    sampling, rows = terms.sampling[:, 0], terms.rows.sum(axis=1)
    wanted = np.concatenate([terms.d[..., None], sampling], axis=2)
    solved = np.linalg.solve(terms.covariance(), wanted)
    statistic = np.einsum("ti,ti->t", terms.d, solved[..., 0])
    worth = rows * np.einsum("tii->t", solved[..., 1:]) / np.maximum(terms.freedom, 1)
    return np.stack([statistic, terms.freedom.astype(float), worth, rows])


def of_moments(sites: Sequence[MomentEvidence], questions: Indices) -> Effects:
    """Of Fisher's z; of several sites, for an effect that they have in common."""
    each, variances = zip(*(z_and_variance(site, questions) for site in sites), strict=True)
    weights = 1 / np.array(variances)
    z = (weights * np.array(each)).sum(axis=0) / weights.sum(axis=0)
    rows = sum(max(site.rows / site.spread, 1.0) for site in sites)
    return of_z(z, weights.sum(axis=0), rows)


def of_z(z: Floats, weight: Floats, rows: float) -> Effects:
    """Of Fisher's z, each with one over its variance."""
    ones = np.ones(len(z))
    return Effects(z**2 * weight, ones, weight, ones * rows, ones)
