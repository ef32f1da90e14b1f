"""PC's tests one at a time: what is said of one decides which comes next.

For searches that pay by the answer. An edge is taken away as soon as a test separates its ends,
so that no later test of it is paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from privet.arrays import Bools
from privet.methods.literature.decisions import Separation
from privet.search.constraints import Constraints

Places = tuple[int, ...]  # x, y and then the given columns


class Walk:
    """Order by order, edge by edge, separator by separator, over the columns' places.

    Iterate over it, and ``separate`` what the test ``at`` hand finds independent.
    """

    def __init__(self, constraints: Constraints, max_order: int) -> None:
        self.adjacent: Bools = constraints.possible & ~np.eye(len(constraints.possible), dtype=bool)
        self.separations: list[Separation] = []
        self.tests = 0
        self.at: Places = ()
        self._open = constraints.possible & ~constraints.required
        self._orders = range(max_order + 1)

    def __iter__(self) -> Iterator[Places]:
        for order in self._orders:
            yield from self.of_order(order)

    def of_order(self, order: int) -> Iterator[Places]:
        for x, y in self.edges():
            yield from self._of_edge(x, y, order)

    def round(self, order: int, asked: set[Places]) -> list[Places]:
        """For each edge its first test of this order that was not asked yet."""
        found = []
        for x, y in self.edges():
            fresh = ((x, y, *given) for given in self.separators(x, y, order))
            found += [next((test for test in fresh if test not in asked), ())]
        return [test for test in found if test]

    @property
    def enough(self) -> int:
        """So many separations from here as leave each column one neighbour, or about that."""
        return max(1, len(self.edges()) - (len(self.adjacent) + 1) // 2)

    def edges(self) -> list[tuple[int, int]]:
        """The edges that may still be taken away."""
        return [(x, y) for x, y in np.argwhere(np.triu(self.adjacent & self._open, 1)).tolist()]

    def separators(self, x: int, y: int, order: int) -> list[Places]:
        """Sets of this size among the neighbours of x, or among those of y."""
        sides = (combinations(self._near(a, b), order) for a, b in ((x, y), (y, x)))
        return sorted({*next(sides), *next(sides)})

    def separate(self, x: int, y: int, *given: int) -> None:
        self.adjacent[x, y] = self.adjacent[y, x] = False
        self.separations.append(Separation(x=x, y=y, given=given))

    def _of_edge(self, x: int, y: int, order: int) -> Iterator[Places]:
        for given in self.separators(x, y, order):
            self.tests += 1
            self.at = (x, y, *given)
            yield self.at
            if not self.adjacent[x, y]:
                return

    def _near(self, end: int, other: int) -> list[int]:
        return [z for z in np.flatnonzero(self.adjacent[end]).tolist() if z != other]
