"""What a site answers: how much worse a graph is for its rows than the graph it likes best.

A site has local scores (higher is better), or gains that its evidence gives, and nothing else is
asked of it. The regret of a graph
G at site i is R_i(G) = s_i(best) - s_i(G), in nats, s_i the sum of the local scores. It is kept
up step by step, since a score that is not the same for all DAGs of a class (MDL) has no score of
a class: what counts is what the steps that were taken are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Literal, Protocol

import numpy as np

from privet.arrays import Floats
from privet.graph.bits import members
from privet.search.hill_climb import HOPELESS, Question, Remembered
from privet.search.protocols import Gains, Locals

# The worst regret of all sites, or their sum.
Objective = Literal["worst", "sum"]


class Party(Protocol):
    """A site, known by what arrows are worth to it."""

    def gains(self, questions: Sequence[Question]) -> Floats: ...


class Told:
    """Gains as evidence gives them, the same in both directions. Where it cannot say (infinite)
    the site abstains: the arrow is worth nothing to it, and neither is leaving it out."""

    def __init__(self, gains: Gains) -> None:
        self._memory = Remembered(gains)

    def gains(self, questions: Sequence[Question]) -> Floats:
        self._memory.learn(questions)
        found = np.array([self._memory.gain(*question) for question in questions])
        return np.where(np.isfinite(found), found, 0.0)


class Scored:
    """Local scores that are asked for once, in batches; sets are whole numbers (bits)."""

    def __init__(self, local: Locals) -> None:
        self._local = local
        self._known: dict[tuple[int, int], float] = {}

    def gains(self, questions: Sequence[Question]) -> Floats:
        """For each (x, y, S): what x as a further parent of y beside S adds to the score. The
        direction counts."""
        self._learn(
            family for x, y, given in questions for family in ((y, given), (y, given | 1 << x))
        )
        known = self._known
        return np.array([known[y, given | 1 << x] - known[y, given] for x, y, given in questions])

    def _learn(self, families: Iterable[tuple[int, int]]) -> None:
        asked: dict[tuple[int, int], dict[int, None]] = {}
        for child, parents in families:
            if (child, parents) not in self._known:
                asked.setdefault((child, parents.bit_count()), {})[parents] = None
        for (child, width), sets in asked.items():
            rows = np.array([members(one) for one in sets], dtype=np.intp).reshape(len(sets), width)
            scores = np.maximum(self._local(child, rows), HOPELESS).tolist()
            self._known.update(zip(((child, one) for one in sets), scores, strict=True))


def overall(regrets: Floats, objective: Objective) -> Floats:
    """One number for each column of regrets, a row for each site.

    A sum is rounded once, so that the order of the sites does not matter.
    """
    if objective == "worst":
        return np.asarray(regrets.max(axis=0))
    return np.array([fsum(column) for column in regrets.T.tolist()])
