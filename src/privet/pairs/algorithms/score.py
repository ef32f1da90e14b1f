"""What every algorithm for a pair of columns says: how much speaks for each direction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Evidence for each direction; the larger one wins. Only their difference means anything:
    where each one is zero is up to the algorithm."""

    forward: float  # x causes y
    backward: float  # y causes x

    @property
    def difference(self) -> float:
        """Positive: x causes y."""
        return self.forward - self.backward

    def direction(self, ties: float = 0.0) -> int:
        """1 for x --> y, -1 for x <-- y; 0 if the scores differ by no more than ``ties``."""
        if abs(self.difference) <= ties:
            return 0
        return 1 if self.difference > 0 else -1
