"""The quartiles that selections have found of an additive-noise model, as a kind of release.

Each selection is private by itself. What is kept are the edges that were selected, with how far
noise may have moved each, in ranks: enough to compare the interquartile ranges again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.privacy.queries.additive_noise import Anm
from privet.privacy.queries.base import Derived, Release, codec
from privet.privacy.queries.residuals import OF, Of
from privet.schema.model import Schema

QUARTERS = (1, 3)


@codec("Quartiles", evidence="scores of pairs")
@dataclass(frozen=True, kw_only=True)
class Quartiles(Derived):
    """The kind of a release that holds the first and the third quartile of x, y, y given x and
    x given y, in FINE steps; its variance is that of their ranks."""

    model: Anm

    def __str__(self) -> str:
        return f"quartiles of {self.model.x}, {self.model.y} and their residuals"

    def check(self, schema: Schema) -> None:
        """There is nothing to ask of rows: quartiles are selected one by one."""
        self.model.check(schema)

    def size(self, schema: Schema) -> int:
        return len(OF) * len(QUARTERS)


def as_release(model: Anm, edges: Sequence[int], variance: float, mechanism: str) -> Release:
    """Quartiles as a release; ``mechanism`` is what made each of them private."""
    values = np.array(edges, dtype=np.int64)
    return Release(
        query=Quartiles(model=model), values=values, variance=variance, mechanism=mechanism
    )


def ranges(release: Release) -> dict[Of, int]:
    """The interquartile ranges, in FINE steps; noise may have exchanged two quartiles."""
    first, third = release.values.reshape(len(OF), len(QUARTERS)).T
    return dict(zip(OF, np.abs(third - first).tolist(), strict=True))
