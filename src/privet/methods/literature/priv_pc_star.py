"""priv-pc-star: second moments of numeric columns in their bounds with Laplace noise, once.

PrivPC* of Xu, Yuan, Wu 2017, with records that are bounded and moments that are not centred, so
that its noise is enough. ``moment-pc`` is the better version: it looks where the columns lie first,
and its Gaussian noise does not grow with the number of pairs.

Privacy. One release with the sensitivity proved in ``proofs/box-moments.md`` and Laplace noise
scaled to it, whatever the currency.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence, repaired
from privet.evidence.prior import EFFECTS
from privet.methods.basis import on_tests
from privet.methods.literature.as_published import priv_pc_star as published
from privet.methods.method import Finding, Method, Published, no_delta
from privet.methods.options import Settings
from privet.methods.search import run
from privet.methods.searches.pc import PC
from privet.methods.sources import moments
from privet.privacy.queries.base import Release
from privet.privacy.queries.box_moments import GRID, BoxMoments, matrix
from privet.schema.model import Schema
from privet.trust.curator import Curator

FAINTEST = 1e-9  # of a squared effect, so that effects can be compared by ratios


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    settings.on_step("measuring moments", 0.0)
    query = BoxMoments(columns=curator.schema.names)
    if not curator.private:
        return (curator.exact(query),)
    return (curator.laplace(query, Fraction(1)),)


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Finding:
    found = evidence(schema, releases[0])
    alpha = settings.level(len(schema.columns))

    def stack(count: int, rng: np.random.Generator) -> BoxJudge:
        return BoxJudge(found.replicas(count, rng), alpha)

    basis = on_tests(BoxJudge(found, alpha), stack, len(schema.columns))
    return run(PC, basis, schema, settings)


def evidence(schema: Schema, release: Release) -> MomentEvidence:
    """The covariance, and the noise in it.

    With means m the covariance is the matrix of moments taken as (-m, 1) M (-m, 1)', so its
    noise has the metric 1 + mm'. (Noise on the diagonal is taken for twice what it is.) The
    unit is the mean variance, since what is repaired is compared with that.
    """
    columns = release.asked(BoxMoments).columns
    p = len(columns)
    sums = matrix(release.values, p)
    rows = float(schema.rows or 0) if schema.rows_are_public else max(float(sums[0, 0]), 1.0)
    mean = np.clip(sums[0, 1:] / rows, -1.0, 1.0)
    covariance = sums[1:, 1:] / rows - np.outer(mean, mean)
    deviation = np.sqrt(release.variance) / (GRID**2 * rows)
    scale = max(float(np.diag(covariance).mean()), float(deviation), 1e-12)
    noise = float(deviation / scale) ** 2
    metric = np.eye(p) + np.outer(mean, mean)
    return MomentEvidence(
        names=columns,
        rows=rows,
        covariance=repaired(covariance / scale, metric, noise),
        metric=metric,
        noise=noise,
    )


@dataclass(frozen=True)
class BoxJudge:
    """Answers questions (x, y, *Z) by the partial correlation r and what noise and sampling
    make of it if it is nothing (``independence/fisher_z.py`` has the formula; here r is 0 in it).

    Fisher's z would not do: noise in the box is not round in the columns' own coordinates, and
    its variance, taken at a strong correlation that was found, hides just these.
    """

    evidence: MomentEvidence
    alpha: float

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        """Squared correlation of each pair, without what noise and sampling add."""
        size = len(self.evidence.names)
        x, y = np.array(list(combinations(range(size), 2)), dtype=np.intp).T
        r, variance = self._correlations(np.stack([x, y], axis=1))
        out = np.full(self.evidence.covariance.shape, FAINTEST)
        out[..., x, y] = out[..., y, x] = np.maximum(r**2 - variance, FAINTEST)
        return out

    def margins(self, questions: Indices) -> Floats:
        """Log Bayes factor for dependence, less log(1/alpha): negative says independent."""
        r, variance = self._correlations(questions)
        wide = 1 + np.array(EFFECTS) ** 2 / variance[..., None]
        logs = (r**2 / (2 * variance))[..., None] * (1 - 1 / wide) - np.log(wide) / 2
        mean: Floats = np.logaddexp.reduce(logs, axis=-1) - log(len(EFFECTS))
        return mean - log(1 / self.alpha)

    def _correlations(self, questions: Indices) -> tuple[Floats, Floats]:
        pick = ..., questions[:, :, None], questions[:, None, :]
        precision = np.linalg.inv(self.evidence.covariance[pick])
        residual = np.linalg.inv(precision[..., :2, :2])  # covariance of x and y given Z
        scale = np.sqrt(np.einsum("...ii->...i", residual))
        ab = residual @ precision[..., :2, :] / scale[..., None]
        inner = ab @ self.evidence.metric[pick] @ ab.swapaxes(-1, -2)
        noise = inner[..., 0, 0] * inner[..., 1, 1] + inner[..., 0, 1] ** 2
        freedom = max(self.evidence.rows - questions.shape[1] - 1, 1.0)
        return residual[..., 0, 1] / scale.prod(axis=-1), 1 / freedom + self.evidence.noise * noise


METHODS = (
    Method(
        name="priv-pc-star",
        summary="second moments with Laplace noise in the columns' bounds once, then PC for free",
        kinds=frozenset({"numeric"}),
        private=True,
        needs_delta=False,
        cite="PrivPC* of Xu, Yuan, Wu 2017",
        evidence="box moments",
        check=moments.check,
        measure=measure,
        search=search,
        delta=no_delta,
        accounting="zcdp",
        published=Published(measure=published.measure, why=published.WHY),
    ),
)
