"""Released histograms and moments made useful."""
from __future__ import annotations

from dataclasses import dataclass, replace
import numpy as np
from numpy.typing import NDArray
from privet.moment_queries import BINS, FINE, PAIR, SQUARE, Locations, Moments
from privet.queries import Release
from privet.schema import Schema

Floats = NDArray[np.float64]

@dataclass(frozen=True, kw_only=True)
class MomentEvidence:
    names: tuple[str, ...]
    rows: float
    covariance: Floats
    metric: Floats
    noise: float
    spread: float = 1.0

    def replica(self, rng):
        p = len(self.names)
        half = np.linalg.cholesky(self.covariance)
        rows = max(self.rows, 1.0)
        moved = self.covariance + half @ _goe(p, rng) @ half.T * np.sqrt(self.spread / rows)
        if self.noise:
            half = np.linalg.cholesky(self.metric)
            moved = moved + half @ _goe(p, rng) @ half.T * np.sqrt(self.noise)
        return replace(self, covariance=repaired(moved, self.metric))

def _goe(size, rng):
    g = rng.standard_normal((size, size))
    return (g + g.T) / np.sqrt(2)

def repaired(covariance, metric, least=0.05):
    half = np.linalg.cholesky(metric)
    white = np.linalg.solve(half, np.linalg.solve(half, covariance).T)
    values, vectors = np.linalg.eigh((white + white.T) / 2)
    side = half @ vectors
    return side * np.maximum(values, least) @ side.T

from scipy.special import ndtr
def locate(release, schema):
    h = release.values.reshape(-1, BINS).astype(float)
    mus = (np.arange(2 * BINS) + 0.5) / 2
    sds = np.geomspace(0.3, BINS / 2, 26)
    edges = np.arange(1, BINS)
    mu, sd = (x.ravel() for x in np.meshgrid(mus, sds, indexing="ij"))
    cdf = ndtr((edges[None] - mu[:, None]) / sd[:, None])
    q = np.diff(cdf, axis=1, prepend=0.0, append=1.0)
    score = h @ (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    best = score.argmax(axis=1)
    low = np.array([schema.column(n).bounds[0] for n in release.query.columns])
    high = np.array([schema.column(n).bounds[1] for n in release.query.columns])
    width = (high - low) / BINS
    return low + mu[best] * width, sd[best] * width

def decode(release):
    d = len(release.query.columns) + 1
    V = np.zeros((d, d))
    V[np.triu_indices(d)] = release.values
    V = V + V.T
    V = V / np.where(np.eye(d, dtype=bool), 2 * SQUARE, PAIR)
    return V, release.variance / PAIR**2
