"""LapMech as published: noise of scale 1/epsilon on every cell, whatever a neighbour is.

A paper's noise for comparison; nothing here is private (docs/published.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Tables

if TYPE_CHECKING:
    from privet.methods.options import Settings
    from privet.trust.curator import Curator

WHY = (
    "its noise of scale 1/epsilon covers a record that is added or removed; where neighbours "
    "differ in one record, as the paper defines them, two cells change and the true epsilon is "
    "twice as large. The noise is of floating-point numbers and from a seeded generator (lap-table "
    "in docs/published.md)"
)


def measure(
    curator: Curator, settings: Settings, epsilon: float, delta: float
) -> tuple[Release, ...]:
    exact = curator.exact(Tables((curator.schema.names,)))
    noise = np.random.default_rng(settings.seed).laplace(scale=1 / epsilon, size=exact.values.size)
    return (
        Release(
            query=exact.query,
            values=exact.values + np.rint(noise).astype(np.int64),
            variance=2 / epsilon**2,
            mechanism=f"Laplace noise of scale 1/{epsilon:g}, as published",
        ),
    )
