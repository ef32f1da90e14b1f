"""The worth of column sets from noisy tables, glued together from Bayes factors.

Noisy tables have no likelihood that adds up over families, but each question (x, y | Z) has a
log Bayes factor that knows the noise. They are trusted most near independence. So the worth of
three columns is put together from two pairs and the question that is nearest to independence:

    F(x, y) = b(x, y),   F(x, y, z) = F(x, z) + F(y, z) + b(x, y | z)   (x, y: the smallest b)

which is right where x ⊥ y | z, and for a collider, where x, y are the pair whose dependence is
weakest given the third. Of more columns no table was measured: their worth is the sum of the
interactions of all pairs and triples in them, I(x, y, z) being what the triple has over its
pairs. As a function of sets it scores equivalent graphs alike (``families.py``). It overrates
large sets of dependent columns, so a search should stay within a skeleton that tests have found.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from privet.arrays import Floats, Indices
from privet.scores.families import Families

# The ways to put three columns together: a pair that is asked about, and the third.
ROUTES = ((0, 1, 2), (0, 2, 1), (1, 2, 0))


class NoisyTables(Families):
    """Local scores and gains from a judge's margins, whose bar an edge must be worth."""

    def __init__(self, margins: Callable[[Indices], Floats]) -> None:
        self._margins = margins
        super().__init__(self._put_together)

    def _put_together(self, sets: Indices) -> Floats:
        size = sets.shape[1]
        if size == 1:
            return np.zeros(len(sets))
        if size == 2:
            return self._margins(sets)
        return self._glued(sets) if size == 3 else self._summed(sets)

    def _glued(self, sets: Indices) -> Floats:
        routes = np.array(ROUTES)
        asked = self._margins(sets[:, routes].reshape(-1, 3)).reshape(len(sets), len(ROUTES))
        x, y, z = np.take_along_axis(sets, routes[asked.argmin(axis=1)], axis=1).T
        pairs = self.worth(np.concatenate([np.stack([x, z], axis=1), np.stack([y, z], axis=1)]))
        return np.asarray(pairs.reshape(2, -1).sum(axis=0) + asked.min(axis=1))

    def _summed(self, sets: Indices) -> Floats:
        size = sets.shape[1]
        sums = []
        for width in (2, 3):
            parts = sets[:, list(combinations(range(size), width))]
            sums.append(self.worth(parts.reshape(-1, width)).reshape(len(sets), -1).sum(axis=1))
        pairs, triples = sums
        return np.asarray(triples - (size - 3) * pairs)  # each pair is in size - 2 of the triples
