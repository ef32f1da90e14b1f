"""Where numeric columns lie between their bounds, and how they spread, from noisy histograms."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from privet.arrays import Floats, Indices
from privet.privacy.queries.base import Release
from privet.privacy.queries.moments import BINS, Locations
from privet.schema.model import Schema

NARROWEST = 0.3  # deviation, in bins, below which a histogram shows one full bin
CENTRES, DEVIATIONS = 128, 26  # of the normal laws that are tried
MISFIT = 1 / 8  # of the rows: the variance of a count around a law that is only nearly normal
ANYWHERE = 5.0  # columns that the even prior weighs as much as
ROUNDS = 50  # in which the prior settles
WORST = -70.0  # log likelihood, against the best law: less than floating point can tell from none


def locate(release: Release, schema: Schema) -> tuple[Floats, Floats]:
    """Centre and deviation of each column: posterior means over normal laws, clamped to the bounds.

    All bins at once show a peak that no single noisy bin shows, and because the number of rows is
    known, no lonely large count misleads. Where noise hides a column nearly all the same, it is
    taken to lie within its bounds as the others do.
    """
    counts = release.values.reshape(-1, BINS).astype(float)
    centre, deviation = _told(counts, release.variance)
    bounds = np.array([schema.column(name).range for name in release.asked(Locations).columns])
    width = (bounds[:, 1] - bounds[:, 0]) / BINS
    return bounds[:, 0] + centre * width, deviation * width


def _told(counts: Floats, variance: float) -> tuple[Floats, Floats]:
    """Centre and deviation of each column, in bins; without noise, those of the histogram."""
    if variance:
        posterior, (centre, deviation, _) = _laws(counts, variance), _normal_histograms(BINS)
        return posterior @ centre, posterior @ deviation
    middles, shares = np.arange(BINS) + 0.5, counts / np.maximum(counts.sum(axis=1), 1)[:, None]
    mean = shares @ middles
    squared = (shares * (middles - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.maximum(np.sqrt(squared), NARROWEST)


def spread(counts: Floats, variance: float) -> Floats:
    """The rows in each bin (columns x bins) without most of the noise: those of the normal laws
    that fit, and what is left beside these as far as noise could not have made it (James and
    Stein)."""
    laws = _rows(counts) * (_laws(counts, variance) @ _normal_histograms(counts.shape[1])[2])
    apart = counts - laws
    far = np.maximum((apart**2).sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(laws + np.maximum(1 - counts.shape[1] * variance / far, 0.0) * apart)


def _rows(counts: Floats) -> float:
    return max(float(counts.sum()) / len(counts), 1.0)  # each row is in one bin of every column


def _laws(counts: Floats, variance: float) -> Floats:
    """How well each normal law fits each column, as probabilities."""
    rows, shares = _rows(counts), _normal_histograms(counts.shape[1])[2]
    fit = rows * (counts @ shares.T - rows * (shares**2).sum(axis=1) / 2)
    fit /= variance + MISFIT * rows
    fit -= fit.max(axis=1, keepdims=True)
    kept = np.flatnonzero(fit.max(axis=0) > WORST)
    posterior: Floats = np.zeros(fit.shape)
    posterior[:, kept] = _posterior(np.exp(fit[:, kept]), kept)
    return posterior


def _posterior(likelihood: Floats, laws: Indices) -> Floats:
    """Of these laws, for each column; the prior of centres and that of deviations are learnt from
    all columns (empirical Bayes, by expectation maximisation), starting from even ones."""
    deviation, centre = np.divmod(laws, CENTRES)
    deviations, centres = np.full(DEVIATIONS, 1 / DEVIATIONS), np.full(CENTRES, 1 / CENTRES)
    prior = np.zeros(len(laws))
    for _ in range(ROUNDS):
        before, prior = prior, deviations[deviation] * centres[centre]
        if np.array_equal(prior, before):
            break
        weights = 1 / (likelihood @ prior)  # that bring each column to a sum of 1
        seen = (weights @ likelihood) * prior
        deviations = _share(seen, deviation, DEVIATIONS)
        centres = _share(seen, centre, CENTRES)
    return np.asarray(weights[:, None] * likelihood * prior)


def _share(seen: Floats, place: Indices, size: int) -> Floats:
    """Of each place in what was seen, and an even part that weighs as much as some columns."""
    found = np.bincount(place, seen, size) + ANYWHERE / size
    return np.asarray(found / found.sum())


@lru_cache(maxsize=2)
def _normal_histograms(bins: int) -> tuple[Floats, Floats, Floats]:
    """Centres and deviations, in bins, of many normal laws, and the shares of their bins."""
    centres = (np.arange(CENTRES) + 0.5) * bins / CENTRES
    deviations = np.geomspace(NARROWEST, bins / 2, DEVIATIONS)
    centre, deviation = (grid.ravel() for grid in np.meshgrid(centres, deviations))
    below = ndtr((np.arange(1, bins) - centre[:, None]) / deviation[:, None])
    return centre, deviation, np.diff(below, axis=1, prepend=0.0, append=1.0)
