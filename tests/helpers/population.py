"""Population scores: what endless rows of a linear-Gaussian model would say.

Weights are drawn away from zero and the covariance is exact. Paths may still cancel nearly, so
the number of rows, which sets how loudly the covariance speaks, is very large: a partial
correlation of 1e-4 counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privet.graph.meek import extension

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MANY_ROWS = 1e10


class Gaussian:
    """BIC from a covariance: as gains, as local scores, and as a judge."""

    def __init__(self, covariance: Floats, rows: float) -> None:
        self.covariance, self.rows = covariance, rows
        self.penalty = 0.5 * np.log(rows)
        self.batches, self.widest = 0, 0

    def gains(self, questions: Indices) -> Floats:
        """n/2 log(var(y | S) / var(y | S, x)) - ½ log n."""
        self.batches += 1
        self.widest = max(self.widest, questions.shape[1] - 2)
        inner = np.linalg.inv(self.covariance[questions[:, :, None], questions[:, None, :]])
        squared = inner[:, 0, 1] ** 2 / (inner[:, 0, 0] * inner[:, 1, 1])
        gains: Floats = -0.5 * self.rows * np.log1p(-squared) - self.penalty
        return gains

    def local(self, child: int, parents: Indices) -> Floats:
        family = np.insert(parents, 0, child, axis=1)
        inner = np.linalg.inv(self.covariance[family[:, :, None], family[:, None, :]])
        scores: Floats = 0.5 * self.rows * np.log(inner[:, 0, 0])
        return scores - self.penalty * parents.shape[1]

    def score(self, A: Bools) -> float:
        """The score of a DAG, or of any DAG in a class."""
        dag = extension(A)
        assert dag is not None
        return sum(
            float(self.local(v, np.flatnonzero(dag[:, v])[None])[0]) for v in range(len(dag))
        )

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        scale = np.diag(self.covariance)
        squared: Floats = self.covariance**2 / np.outer(scale, scale)
        return squared

    def margins(self, questions: Indices) -> Floats:
        return self.gains(questions)

    def renamed(self, order: Indices) -> Gaussian:
        return Gaussian(self.covariance[np.ix_(order, order)], self.rows)


def _model(dag: Bools, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """How noise of variance one becomes columns, and the standard deviation of each noise."""
    weights = dag * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1, 1], dag.shape)
    mixing: Floats = np.linalg.inv(np.eye(len(dag)) - weights)
    return mixing, np.sqrt(rng.uniform(0.5, 2.0, len(dag)))


def population(dag: Bools, seed: int) -> Gaussian:
    mixing, noise = _model(dag, np.random.default_rng(seed))
    covariance = mixing.T @ np.diag(noise**2) @ mixing
    scale = np.sqrt(np.diag(covariance))
    return Gaussian(covariance / np.outer(scale, scale), MANY_ROWS)


def sample(dag: Bools, rows: int, seed: int) -> Floats:
    """Rows of the model, each column centred and scaled to a variance of one."""
    rng = np.random.default_rng(seed)
    mixing, noise = _model(dag, rng)
    numbers = (rng.normal(size=(rows, len(dag))) * noise) @ mixing
    scaled: Floats = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    return scaled


def sampled(dag: Bools, rows: int, seed: int) -> Gaussian:
    return Gaussian(np.cov(sample(dag, rows, seed).T, bias=True), rows)
