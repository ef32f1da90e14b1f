"""The weights of a linear model that noisy gradients have led to, as a kind of release.

Gradients are private one by one, and so is all that follows from them. What is kept are the
weights, with how far noise may have moved each: enough to draw the graph again, with another
threshold or other knowledge.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

import numpy as np

from privet.arrays import Floats
from privet.errors import EvidenceError
from privet.privacy.queries.base import Derived, Release, codec
from privet.schema.model import Schema

GRID = 1 << 20  # steps per unit
LARGEST = 1 << 20  # units; no weight that can be believed is near it


@codec("Weights", evidence="weights")
@dataclass(frozen=True, kw_only=True)
class Weights(Derived):
    """The kind of a release that holds p x p weights (``[i, j]``: i --> j) and their deviations,
    in steps of 1 / GRID, both in units of the columns' deviations, which are ``scales``.

    ``floor``: a smaller weight counts as none unless something else is asked for. ``steps`` and
    ``sparsity`` say how the weights were fitted.
    """

    one_search: ClassVar[bool] = True
    columns: tuple[str, ...]
    scales: tuple[float, ...]
    floor: float
    steps: int
    sparsity: float

    def __str__(self) -> str:
        return f"weights of {len(self.columns)} columns from {self.steps} gradients"

    def check(self, schema: Schema) -> None:
        """There is nothing to ask of rows here; but the file it came from may be anybody's."""
        numbers = (*self.scales, self.floor, self.sparsity)
        if (
            self.columns != schema.names
            or len(self.scales) != len(self.columns)
            or not all(isfinite(number) for number in numbers)
            or not all(scale > 0 for scale in self.scales)
        ):
            raise EvidenceError(
                "these are no weights of the columns of this schema; take a fresh copy of the "
                "evidence"
            )

    def size(self, schema: Schema) -> int:
        return 2 * len(self.columns) ** 2


def as_release(query: Weights, weights: Floats, deviations: Floats, mechanism: str) -> Release:
    """Weights as a release; ``mechanism`` is what made the gradients private."""
    both = np.stack([weights, deviations]).ravel()
    steps = np.rint(np.clip(both, -LARGEST, LARGEST) * GRID).astype(np.int64)
    return Release(query=query, values=steps, variance=0.0, mechanism=mechanism)


def read(release: Release) -> tuple[Floats, Floats]:
    """Weights and their deviations."""
    size = len(release.asked(Weights).columns)
    weights, deviations = release.values.reshape(2, size, size) / GRID
    return weights, deviations
