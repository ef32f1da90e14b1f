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
        at = {name: i for i, name in enumerate(names)}
        allowed = ~np.eye(len(names), dtype=bool)
        if knowledge.tiers:
            tier = np.full(len(names), np.nan)
            for level, members in enumerate(knowledge.tiers):
                tier[[at[name] for name in members if name in at]] = level
            allowed &= ~(tier[:, None] > tier)
        must = np.zeros_like(allowed)
        for arrows, matrix, value in (
            (knowledge.forbidden, allowed, False),
            (knowledge.required, must, True),
        ):
            for a, b in arrows:
                if a in at and b in at:
                    matrix[at[a], at[b]] = value
        allowed &= ~must.T
        return Constraints(allowed, allowed | allowed.T, must | must.T)

    @property
    def free(self) -> bool:
        """Whether nothing is forbidden and nothing required."""
        return bool(self.allowed.sum() == self.allowed.size - len(self.allowed)) and not (
            self.required.any()
        )

    def without_circles(self, found: Skeleton, strength: Floats) -> Skeleton:
        """The skeleton without the weakest edges of circles that knowledge alone would force.

        Each edge with one allowed direction is an arrow. Forbidden arrows may leave a circle as
        the only choice where all its edges were found; then its weakest edge was found wrongly.
        """
        if np.array_equal(self.allowed, self.allowed.T):
            return found
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
