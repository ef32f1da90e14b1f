"""Released second moments made useful: covariance and noise.

Moments are taken of v = (constant, B (x - centre)), the second part brought to one length, so
only the *direction* of a row counts. The covariance of directions has the same axes as that of
the rows, for every elliptical law, and its eigenvalues are a known function of theirs, which
``rows_shape`` inverts. Where B makes the rows round, a linear model with independent symmetric
errors keeps all its vanishing partial correlations too, whatever the law of the errors: only
their variances change. So v has the same small length for all rows, and nothing is lost but
2/p of the sample.

The noise of a covariance of v is (almost) the same in every direction: s times a symmetric
matrix G of independent entries with variance 1, and 2 on the diagonal. With A the inverse of B
it is s A G A' in columns. AA' is the *metric* of the noise; with s it is all there is to know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.special import betaincinv

from privet.arrays import Bools, Floats
from privet.errors import EvidenceError
from privet.privacy.queries.base import Release
from privet.privacy.queries.moments import FINE, NORM, PAIR, SQUARE, Moments
from privet.schema.model import Schema

# Shares of a run's budget: where the columns lie, their rough shape, and the moments that count.
LOCATION, SHAPE, FINAL = Fraction(1, 10), Fraction(2, 10), Fraction(7, 10)
CONSTANT = NORM // 6  # carries the means; more would take room from the moments
REACH, FAR_REACH = 8.0, 64.0  # deviations beyond which a number is clipped: private, exact
DIRECTION = 1.0  # a radius below which there is no row: only directions are left
SURELY = 3.0  # deviations of its noise by which a variance must exceed 0
OFF_CENTRE = 3.0  # squared distance from the centre, in variances, at which a column is lost
SMALLEST = 0.05  # eigenvalue of a covariance in its metric, compared with the mean one


@dataclass(frozen=True, kw_only=True)
class MomentEvidence:
    """A noisy covariance (or a stack of replicas of one) and the law of its noise.

    The unit of a column is the reach of its query, which is in ``scales``; partial correlations
    have none.

    ``noise`` is s²; ``spread`` n times the variance that sampling gives a null correlation:
    1 for Gaussian rows, (p + 2) / p for directions.
    """

    names: tuple[str, ...]
    rows: float
    covariance: Floats
    metric: Floats
    noise: float
    spread: float = 1.0
    scales: Floats | None = None

    @staticmethod
    def from_releases(releases: Iterable[Release]) -> MomentEvidence:
        """From the last moments released, and the rough ones that chose their coordinates."""
        measured = [release for release in releases if isinstance(release.query, Moments)]
        if not measured:
            raise EvidenceError(
                "this evidence holds no moments; search it with the method that measured it"
            )
        last = measured[-1]
        query = last.asked(Moments)
        rough = [one for one in measured[:-1] if one.asked(Moments).reaches == query.reaches]
        covariance, noise = _with_rough(rough[-1], last) if rough else shape(last)
        p, back = len(query.columns), _back(query)
        return MomentEvidence(
            names=query.columns,
            rows=row_count(last),
            covariance=_apart(_carried(back, covariance), unseen(*rough[-1:], last)),
            metric=_carried(back, np.eye(p)),
            noise=noise,
            spread=(p + 2) / p if query.radius == DIRECTION else 1.0,
            scales=np.array(query.reaches),
        )

    @cached_property
    def correlations(self) -> Floats:
        """The covariance of columns scaled to variance 1."""
        return self.covariance / self._variances

    @cached_property
    def scaled_metric(self) -> Floats:
        """The metric of the columns so scaled."""
        return self.metric / self._variances

    @property
    def _variances(self) -> Floats:
        """Of each entry, what brings it to the scale on which columns have variance 1."""
        deviations = np.sqrt(np.maximum(np.einsum("...ii->...i", self.covariance), 1e-300))
        return np.asarray(deviations[..., :, None] * deviations[..., None, :])

    def natural(self) -> Floats:
        """The covariance in the columns' own units, as a whole scaled to a mean variance of 1
        (directions do not tell more)."""
        scales = np.ones(len(self.names)) if self.scales is None else self.scales
        scaled = self.covariance * np.outer(scales, scales) / np.max(scales) ** 2
        return np.asarray(scaled / np.diag(scaled).mean())

    def replicas(self, count: int, rng: np.random.Generator) -> MomentEvidence:
        """A stack of evidence that might have been measured instead: fresh sampling noise and
        fresh privacy noise on top of what was measured. Costs nothing."""
        p = len(self.names)
        own = np.linalg.cholesky(self.covariance)
        moved = own @ _symmetric(count, p, rng) @ own.T
        moved *= np.sqrt(self.spread / self.rows)
        moved += self.covariance
        if self.noise:
            metric = np.linalg.cholesky(self.metric)
            moved += metric @ _symmetric(count, p, rng) @ metric.T * np.sqrt(self.noise)
        return replace(self, covariance=repaired(moved, self.metric, self.noise))


def standardised(columns: tuple[str, ...], centres: Floats, deviations: Floats) -> Moments:
    """Moments of directions in units of the columns' deviations."""
    return _query(columns, centres, REACH * deviations, np.eye(len(columns)), None)


def uncut(columns: tuple[str, ...], centres: Floats, deviations: Floats) -> Moments:
    """Moments of whole rows: the ball holds them all. For exact answers."""
    radius = np.sqrt(len(columns))
    return _query(columns, centres, FAR_REACH * deviations, np.eye(len(columns)), radius)


def whitened(release: Release) -> Moments:
    """Moments of directions in coordinates in which a first (standardised) release looks round.

    Axes that its noise may have made (eigenvalues below half of what noise alone reaches,
    s sqrt(p)) are scaled as if they were that long.
    """
    covariance, noise = shape(release)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, max(np.sqrt(noise * len(values)), 1e-3 * values[-1]))
    query = release.asked(Moments)
    reaches = np.array(query.reaches)
    turned = vectors / np.sqrt(values) @ vectors.T @ linear_map(query)
    centres = np.array(query.centres) + reaches / REACH * _offset(release)
    return _query(query.columns, centres, reaches, turned, None)


def _offset(release: Release) -> Floats:
    """How far rows lie from their centre, in deviations, less what noise gave (James and Stein
    1961): columns are nearly centred already, and moved by noise they would be further off."""
    query, mean = release.asked(Moments), centred(release)[1]
    noise = (_deviation(release) / row_count(release) / query.constant) ** 2
    mean = mean * (1 - noise / max(float((mean**2).mean()), noise))
    # round rows of deviation 1, a little off centre, have directions off centre by 1 / sqrt(p)
    return np.asarray(mean / query.room * np.sqrt(len(mean)))


def shape(release: Release) -> tuple[Floats, float]:
    """Covariance of the rows, mean eigenvalue near 1, in the coordinates of v, and its noise s²."""
    covariance = centred(release)[0]
    p = len(covariance)
    query = release.asked(Moments)
    if query.radius != DIRECTION:
        mean = max(float(np.trace(covariance)) / p, 1e-9)
        return repaired(covariance / mean, np.eye(p), 0.0), 0.0
    values, vectors = np.linalg.eigh(covariance)
    mean = query.room**2 / p
    noise = release.variance / (PAIR * row_count(release) * mean) ** 2
    return vectors * _of_rows(values / mean, noise) @ vectors.T, noise * _noise_left(p, noise)


def _of_rows(values: Floats, noise: float) -> Floats:
    """Eigenvalues of the rows, from noisy ones of their directions. Their mean is kept: those that
    are raised take nothing from the others."""
    p = len(values)
    values = _floored(values, noise)
    return _floored(rows_shape(values) * values.mean(), noise * ((p + 2) / p) ** 2)


def _noise_left(size: int, noise: float) -> float:
    """Noise s² of a shape, compared with that of the covariance of directions.

    The map to rows stretches it; the repair of eigenvalues that it made too small takes some of it
    away, and a test that did not know that would be blunt. As noise is the same in all directions,
    it turns the axes of round rows evenly, so off-diagonals vary as much as eigenvalues do, before
    and after. Before, these lie on Wigner's semicircle, from 1 - 2 s sqrt(p) to 1 + 2 s sqrt(p).
    """
    if size == 1:
        return 1.0
    noise = max(noise, 1e-8)  # far below it nothing changes but the digits that are left
    quantiles = betaincinv(1.5, 1.5, (np.arange(size) + 0.5) / size)
    values = 1 + 2 * np.sqrt(noise * size) * (2 * quantiles - 1)
    return float(_of_rows(values, noise).var() / values.var())


def _with_rough(rough: Release, last: Release) -> tuple[Floats, float]:
    """The shape of the last release and its noise s², the rough one before it made use of.

    In the coordinates of the last, both are known to within noise: v of the last, and
    w_ij = s² b_ii b_jj of the rough one, b = BB' and B the change of coordinates. So the rough one
    counts with v / (v + w_ij). Where B stretches an axis it hardly counts.
    """
    (covariance, noise), (before, its_noise) = shape(last), shape(rough)
    change = linear_map(last.asked(Moments)) @ np.linalg.inv(linear_map(rough.asked(Moments)))
    before = change @ before @ change.T
    unit = np.trace(covariance) / np.trace(before)  # shapes are known up to a factor
    stretch = unit * (change**2).sum(axis=1)
    weight = noise / (noise + its_noise * np.outer(stretch, stretch) + 1e-300)
    values, vectors = np.linalg.eigh(covariance + weight * (unit * before - covariance))
    noise *= 1 - float(weight.mean())
    return vectors * _floored(values, noise) @ vectors.T, noise


def rows_shape(values: Floats) -> Floats:
    """Eigenvalues of elliptical rows whose directions have these, both with mean 1.

    Directions z / |z| of rows with eigenvalues l have eigenvalues
    m_i = 1/2 ∫ l_i / (1 + l_i t) ∏_j (1 + l_j t)^(-1/2) dt, for Gaussian rows and therefore for
    all elliptical ones. The integral is a sum over an even grid of log t.
    """
    p = len(values)
    wanted = values / values.sum()
    t = np.exp(np.arange(-30.0, 60.0, 0.5)) / p  # so smooth that this is exact to many digits
    found = wanted * p
    for _ in range(100):  # each round leaves about 2 / (p + 2) of the error
        grown = np.log1p(found[:, None] * t)
        given = found * (np.exp(-grown) @ (t * np.exp(-grown.sum(axis=0) / 2)))
        better = found * wanted * given.sum() / given
        better *= p / better.sum()
        close, found = np.abs(better - found).max() < 1e-9, better
        if close:
            break
    return np.asarray(found)


def planned_noise(schema: Schema, rows: int, budget: Fraction) -> float:
    """What the noise of a run with this rho will add to the variance of Fisher's z, at
    most: the rough moments and the repair of eigenvalues take some of it away."""
    p = len(schema.columns)
    moved = standardised(schema.names, np.zeros(p), np.ones(p)).l2_squared(schema)
    length = NORM**2 - CONSTANT**2  # squared, of every row
    return float(moved / (2 * budget * FINAL)) / (PAIR * rows * length / (p + 2)) ** 2


def unseen(*releases: Release) -> Bools:
    """The columns that can carry no edge, because nothing is known of how they vary: noise alone
    may have made their variance, or they lie far from their centre, compared with it. Then a row's
    direction tells where they lie and how far out the *other* columns are, and would join them to
    whatever else is not quite at its centre.

    Such a column is constant, or nearly, or its bounds are very much too wide. Of several releases
    each counts by how precise it is.
    """
    weights = np.array([1 / _deviation(release) for release in releases])
    excess = weights @ [_excess(release) for release in releases] / np.linalg.norm(weights)
    out: Bools = excess < SURELY
    return out


def _excess(release: Release) -> Floats:
    """Deviations of its noise by which a column's variance exceeds what its place would allow."""
    query = release.asked(Moments)
    back = _back(query)
    covariance, mean = centred(release)
    if back.ndim == 1:
        variance, lengths, off_centre = back * covariance.diagonal() * back, back**2, back * mean
    else:
        variance, lengths = ((back @ covariance) * back).sum(axis=1), (back**2).sum(axis=1)
        off_centre = back @ mean
    doubt = np.sqrt(2) * _deviation(release) / row_count(release) * lengths
    off_centre = off_centre**2 / OFF_CENTRE
    off_centre *= query.radius == DIRECTION  # whole rows lose nothing
    return np.asarray((variance - off_centre) / doubt)


def _deviation(release: Release) -> float:
    """Of the noise in a sum of v_i v_j; exact ones are taken to have hardly any."""
    return max(float(np.sqrt(release.variance)) / PAIR, 1e-9)


def _apart(covariance: Floats, columns: Bools) -> Floats:
    """The same, with these columns uncorrelated with all others."""
    joined = ~(columns[:, None] | columns) | np.eye(len(columns), dtype=bool)
    return np.where(joined, covariance, 0.0)


def linear_map(query: Moments) -> Floats:
    """B, such that v holds B (x - centre), up to its length, in units of the reaches."""
    return query.matrix / FINE


def _back(query: Moments) -> Floats:
    """The inverse of this map; the numbers on its diagonal alone, if the map only scales."""
    forth = linear_map(query)
    scales = forth.diagonal()
    if query.only_scales and scales.all():
        return np.asarray(1 / scales)
    return np.asarray(np.linalg.inv(forth))


def _carried(back: Floats, covariance: Floats) -> Floats:
    """A covariance on the other side of that inverse."""
    if back.ndim == 1:
        return back[:, None] * covariance * back
    return back @ covariance @ back.T


def row_count(release: Release) -> float:
    """Number of rows: the sum of all v_i², as directions have one length; else that of the
    constant alone."""
    query = release.asked(Moments)
    size = len(query.columns) + 1
    at = np.arange(size)
    squares = release.values[at * size - at * (at - 1) // 2] / SQUARE
    if query.radius == DIRECTION:
        count = squares.sum() / (query.constant**2 + query.room**2)
    else:
        count = squares[0] / query.constant**2
    return max(float(count), 1.0)


def centred(release: Release) -> tuple[Floats, Floats]:
    """Covariance and mean of v, its constant left out."""
    moments = _sums(release) / row_count(release)
    mean = moments[0, 1:] / release.asked(Moments).constant
    mean = np.clip(mean, -NORM, NORM)  # as that of any rows
    return moments[1:, 1:] - np.outer(mean, mean), mean


def _sums(release: Release) -> Floats:
    """Σ v v', its weights taken off."""
    size = len(release.asked(Moments).columns) + 1
    sums = np.zeros((size, size))
    sums[np.triu_indices(size)] = release.values
    return (sums + sums.T) / np.where(np.eye(size, dtype=bool), 2 * SQUARE, PAIR)


def repaired(covariance: Floats, metric: Floats, noise: float) -> Floats:
    """The nearest covariance, in the metric, whose eigenvalues there are not too small."""
    try:  # mostly none is, where there is no noise
        np.linalg.cholesky(covariance - _least(covariance, noise) * metric)
        return covariance
    except np.linalg.LinAlgError:
        half = np.linalg.cholesky(metric)
    inverse = np.linalg.inv(half)
    values, vectors = np.linalg.eigh(inverse @ covariance @ inverse.T)
    side = half @ vectors
    return np.asarray(side * _floored(values, noise)[..., None, :] @ side.swapaxes(-1, -2))


def _floored(values: Floats, noise: float) -> Floats:
    """Eigenvalues with mean near 1, those raised that noise may have pulled down to nothing."""
    return np.maximum(values, _least(values, noise))


def _least(values: Floats, noise: float) -> float:
    """Of the eigenvalues that noise leaves, as many as there are of these."""
    return min(SMALLEST, float(np.sqrt(noise * values.shape[-1]))) + 1e-9


def _symmetric(count: int, size: int, rng: np.random.Generator) -> Floats:
    drawn = rng.standard_normal((count, size, size))
    return np.asarray((drawn + drawn.swapaxes(1, 2)) / np.sqrt(2))


def _query(
    columns: tuple[str, ...],
    centres: Floats,
    reaches: Floats,
    weights: Floats,
    radius: float | None,
) -> Moments:
    """Moments of weights (x - centres) / reaches in a ball (None: of directions)."""
    largest = np.abs(weights).max()
    whole = np.rint(weights / largest * FINE).astype(np.int64)
    return Moments(
        columns=columns,
        centres=tuple(centres.tolist()),
        reaches=tuple(np.clip(reaches, 1e-300, 1e300).tolist()),
        transform=tuple(tuple(row) for row in whole.tolist()),
        radius=DIRECTION if radius is None else float(radius / largest * FINE * FINE),
        constant=CONSTANT,
    )
