"""Background knowledge as matrices, in the form that searches use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph.knowledge import Knowledge
from privet.search.skeleton import Skeleton


@dataclass(frozen=True)
class Constraints:
    """``allowed[i, j]``: i --> j may be drawn; ``possible``: the two may be joined at all;
    ``required``: they must be."""

    allowed: Bools
    possible: Bools
    required: Bools

    @staticmethod
    def of(names: Sequence[str], knowledge: Knowledge) -> Constraints:
        allowed = np.array([[a != b and knowledge.may(a, b) for b in names] for a in names])
        must = np.array([[a != b and knowledge.must(a, b) for b in names] for a in names])
        return Constraints(allowed & ~must.T, allowed | allowed.T, must | must.T)

    def without_circles(self, found: Skeleton, strength: Floats) -> Skeleton:
        """The skeleton without the weakest edges of circles that knowledge alone would force.

        Each edge with one allowed direction is an arrow. Forbidden arrows may leave a circle as
        the only choice where all its edges were found; then its weakest edge was found wrongly.
        """
        adjacent = found.adjacent.copy()
        while True:
            settled = adjacent & self.allowed & ~self.allowed.T
            reach = settled.copy()
            for _ in range(max(1, len(settled).bit_length())):
                reach |= (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
            circle = settled & reach.T & ~self.required
            if not circle.any():
                return Skeleton(adjacent, found.separators)
            x, y = np.unravel_index(np.where(circle, strength, np.inf).argmin(), circle.shape)
            adjacent[x, y] = adjacent[y, x] = False
