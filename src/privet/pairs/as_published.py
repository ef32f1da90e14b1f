"""Additive-noise models as published: half of the rows are used to regress, the other half to
score, and the noise covers people in one half only.

A paper's promise for comparison; nothing here is private (docs/pairs.md). Bounds are this
library's, which hold; it is the other half that nothing protects. Orders of residuals (training
half) and interquartile ranges are released if a noisy test has found them stable, else not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import MethodError
from privet.privacy.laws import laplace_variance
from privet.privacy.queries.additive_noise import RANKS, Anm, AnmScores, Protect
from privet.privacy.queries.base import Release
from privet.privacy.queries.residuals import OF, IqrStability, LogIqr
from privet.privacy.queries.tested import RankStability

if TYPE_CHECKING:
    from privet.trust.curator import Curator

# Public, and good where people who are used to regress need no protection.
RIDGE, KERNEL = 2.0**-8, 0.1


def why(protect: Protect) -> str:
    other = "training" if protect == "test" else "test"
    return (
        f"it protects people in the {protect} half of the rows alone and promises nothing to those "
        f"in the {other} half, and nobody can know in which half they are"
    )


@dataclass(frozen=True, kw_only=True)
class Noisy:
    """Exact answers, and noise for what a person of one half can change."""

    curator: Curator
    rng: np.random.Generator

    def ask(self, query: Any, epsilon: float) -> Release:
        exact = self.curator.exact(query)
        scale = query.size(self.curator.schema) * query.bound(self.curator.schema) / epsilon
        noise = np.rint(self.rng.laplace(scale=scale, size=exact.values.shape)).astype(np.int64)
        return Release(
            query=query,
            values=exact.values + noise,
            variance=laplace_variance(scale),
            mechanism=f"Laplace noise for epsilon {epsilon:g}, as published",
        )


def scores(noisy: Noisy, query: AnmScores, epsilon: float, delta: float) -> Iterator[Release]:
    """A score of either direction or their difference; for orders of residuals half of epsilon
    goes to the test."""
    if query.protect == "training" and query.score in RANKS:
        need_delta(query.score, delta)
        pairs = query.pairs or 0
        stability = RankStability(model=query.model, pairs=pairs, protect=query.protect)
        test = noisy.ask(stability, epsilon / 2)
        yield test
        if not test.values[0] > log(1 / delta) / (epsilon / 2):
            return
        epsilon /= 2
    yield noisy.ask(query, epsilon)


def ranges(
    noisy: Noisy, model: Anm, protect: Protect, epsilon: float, delta: float
) -> Iterator[Release]:
    """Logarithms of four interquartile ranges, each after a test."""
    need_delta("iqr", delta)
    part, least = epsilon / (2 * len(OF)), log(len(OF) / delta)
    for of in OF:
        test = noisy.ask(IqrStability(model=model, of=of, protect=protect), part)
        yield test
        if test.values[0] > 1 + least / part:
            yield noisy.ask(LogIqr(model=model, of=of, protect=protect), part)


def need_delta(score: str, delta: float) -> None:
    if not delta > 0:
        raise MethodError(
            f"{score} as published is tested for stability first, which needs a delta above 0, "
            f"not {delta!r}; give ⟦delta=1e-6⟧"
        )
