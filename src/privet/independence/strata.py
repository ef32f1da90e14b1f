"""The strata of a question (x, y, *Z): totals, margins and shares, and the noise they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.tables import TableEvidence

Variances = dict[tuple[int, ...], Floats]

# A stratum counts only if its total is at least this many rows and this many noise deviations.
FEWEST_ROWS, NOISE_DEVIATIONS = 10.0, 3.0
HAIR = 1e-3  # of a row: where there is no noise, totals are whole but for rounding


def strata_design(
    evidence: TableEvidence, given: Indices
) -> tuple[Floats, list[tuple[tuple[int, ...], Floats]]]:
    """Inverse designs of Z as one axis, and for each subset of Z the covariance of two strata
    that unit noise in its component makes; for each question, or once for all."""
    inverses = [evidence.designs(column) for column in given.T]
    factors = []
    for order in range(len(inverses) + 1):
        for subset in combinations(range(len(inverses)), order):
            parts = [
                b[:, :, 1:] @ b[:, :, 1:].transpose(0, 2, 1)
                if i in subset
                else b[:, :, :1] @ b[:, :, :1].transpose(0, 2, 1)
                for i, b in enumerate(inverses)
            ]
            factors.append((subset, _kron(parts)))
    return evidence.repeated(_kron(inverses)), factors


def _kron(stacks: list[Floats]) -> Floats:
    return reduce(kronecker, stacks, np.ones((1, 1, 1)))


def kronecker(a: Floats, b: Floats) -> Floats:
    """Tensor products of stacks of square matrices; one may serve for all of the other."""
    tests, m = max(len(a), len(b)), a.shape[1] * b.shape[1]
    return (a[:, :, None, :, None] * b[:, None, :, None, :]).reshape(tests, m, m)


def shared_noise(
    evidence: TableEvidence, factors: list[tuple[tuple[int, ...], Floats]], variances: Variances
) -> Callable[[tuple[int, ...]], Floats]:
    """Noise covariance of two strata, for components that hold ``which`` of x and y (0 and 1);
    replicas have the same."""
    questions = len(variances[()]) // max(int(np.prod(evidence.replicas)), 1)

    def covariance(which: tuple[int, ...]) -> Floats:
        out: Floats = np.zeros(())
        for subset, factor in factors:
            variance = variances[which + tuple(i + 2 for i in subset)][:questions]
            term: Floats = variance[:, None, None] * factor
            out = out + term
        return np.tile(out, (len(variances[()]) // questions, 1, 1))

    return covariance


@dataclass(frozen=True)
class Side:
    """One end of a question in each stratum: margin, shares and the noise of the margin.

    ``free`` is the first column of L_z B, ``within`` the product of the others with themselves,
    ``noise`` the covariance of two strata for components that hold this end (and not the other).
    """

    margin: Floats
    shares: Floats
    free: Floats
    within: Floats
    noise: Floats


@dataclass(frozen=True)
class Strata:
    """Both ends, the strata's totals, which of them are informative, and their common noise."""

    x: Side
    y: Side
    total: Floats
    informative: Bools
    noise: Floats

    @staticmethod
    def of(
        evidence: TableEvidence, questions: Indices, coefficients: Floats, variances: Variances
    ) -> Strata:
        """From the coefficients of the questions, of which those with x and y are not used."""
        z_inverse, factors = strata_design(evidence, questions[:, 2:])
        shared = shared_noise(evidence, factors, variances)
        flats = [
            each.reshape(*each.shape[:2], -1) @ z_inverse.transpose(0, 2, 1)
            for each in (coefficients[:, :, 0], coefficients[:, 0])
        ]
        total, common = flats[0][:, 0], shared(())
        informative = well_above(total, np.sqrt(diagonal(common)))
        sides = []
        for end, flat in enumerate(flats):
            inverse = evidence.inverses(questions[:, end])
            margin = (inverse @ flat).transpose(0, 2, 1)
            own = shared((end,))
            sides.append(_side(margin, total, informative, common, own, inverse))
        return Strata(sides[0], sides[1], total, informative, common)

    @staticmethod
    def counted(x_margins: Floats, y_margins: Floats) -> Strata:
        """From exact margins (tests, strata, levels), which share no noise."""
        total = x_margins.sum(axis=2)
        informative = total >= FEWEST_ROWS
        calm, none = np.zeros_like(total), np.zeros(())
        sides = [
            Side(margin, _shares(margin, total, calm, informative, calm[..., None]), *[none] * 3)
            for margin in (x_margins, y_margins)
        ]
        return Strata(sides[0], sides[1], total, informative, none)

    def products(self) -> Floats:
        """row col / N_z; where N_z is too small to divide by, linearised about the shares."""
        total = np.where(self.informative, self.total, 1.0)[:, :, None, None]
        x, y = self.x, self.y
        exact = outer(x.margin, y.margin) / total
        linear = (
            outer(x.shares, y.margin)
            + outer(x.margin, y.shares)
            - self.total[:, :, None, None] * outer(x.shares, y.shares)
        )
        out: Floats = np.where(self.informative[:, :, None, None], exact, linear)
        return out

    def sampling(self) -> tuple[Floats, Floats]:
        """N_z (diag p - pp') and diag q - qq', last row and column dropped."""
        weight = np.maximum(self.total, 0.0)[:, :, None]
        return multinomial(self.x.shares, weight), multinomial(self.y.shares)


def _side(
    margin: Floats,
    total: Floats,
    informative: Bools,
    common: Floats,
    own: Floats,
    inverse: Floats,
) -> Side:
    shares = shares_of(margin, total, informative, common, own, inverse)
    free = inverse[:, None, :-1, 0] - shares[..., :-1]
    rest = inverse[:, :-1, 1:]
    return Side(margin, shares, free, rest @ rest.transpose(0, 2, 1), own)


def shares_of(
    margin: Floats,
    total: Floats,
    informative: Bools,
    common: Floats,
    own: Floats,
    inverse: Floats,
) -> Floats:
    """Shares of the levels of one end in each stratum. ``common`` is the noise that strata share,
    ``own`` that for components that hold this end, ``inverse`` its inverse design."""
    noise = diagonal(common)
    spread = noise[..., None] * inverse[:, None, :, 0] ** 2
    spread = spread + diagonal(own)[..., None] * (inverse[..., 1:] ** 2).sum(axis=2)[:, None]
    return _shares(margin, total, np.sqrt(noise), informative, np.sqrt(spread))


def _shares(
    margin: Floats, total: Floats, noise: Floats, informative: Bools, margin_noise: Floats
) -> Floats:
    """Shares of the levels in each stratum; where there are few rows, drawn to the overall ones.

    A share that noise could have made is not believed below the noise (nor below half a row).
    """
    floor = np.minimum(margin_noise, 0.5 + 1e-4 * np.abs(total)[..., None])
    sure = np.maximum(margin, floor)
    least = floor.max(axis=-2, keepdims=True) + 1e-9
    overall = np.maximum(margin.sum(axis=-2, keepdims=True), least)
    overall = overall / overall.sum(axis=-1, keepdims=True)
    pull = (NOISE_DEVIATIONS * noise + FEWEST_ROWS)[..., None]
    shares = np.where(informative[..., None], sure, np.maximum(margin, 0.0) + pull * overall)
    out: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return out


def well_above(total: Floats, noise: Floats) -> Bools:
    """Which strata count."""
    out: Bools = total >= np.maximum(FEWEST_ROWS - HAIR, NOISE_DEVIATIONS * noise)
    return out


def diagonal(matrices: Floats) -> Floats:
    out: Floats = np.diagonal(matrices, axis1=1, axis2=2)
    return out


def outer(a: Floats, b: Floats) -> Floats:
    return a[..., :, None] * b[..., None, :]


def multinomial(shares: Floats, weight: Floats | float = 1.0) -> Floats:
    """weight (diag p - pp'), last row and column dropped."""
    p = shares[..., :-1]
    scaled = weight * p
    out = outer(-scaled, p)
    np.einsum("...aa->...a", out)[...] += scaled
    return out
