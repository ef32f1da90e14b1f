"""d-separation in a DAG, answered again and again."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from privet.arrays import Bools


def above(dag: Bools) -> Bools:
    """[x, y]: x is y or an ancestor of y."""
    out = np.eye(len(dag), dtype=bool)
    for _ in range(len(dag)):
        out = out | ((out.astype(int) @ dag.astype(int)) > 0)
    return out


def members(bits: int) -> list[int]:
    return [v for v in range(bits.bit_length()) if bits >> v & 1]


class Separation:
    """Whether two nodes are d-separated by others; what was found out once is known."""

    def __init__(self, dag: Bools) -> None:
        def bits(row: Bools) -> int:
            return sum(1 << int(v) for v in np.flatnonzero(row))

        self.parents = [members(bits(column)) for column in dag.T]
        self.children = [members(bits(row)) for row in dag]
        self.above = [bits(column) for column in above(dag).T]
        self.reach = cache(self._reach)

    def _reach(self, x: int, given: int) -> int:
        """The nodes that an open walk from x reaches (Bayes ball), as bits."""
        open_colliders, reached = 0, 0
        for v in members(given):
            open_colliders |= self.above[v]
        todo, seen = [(x, True)], set()
        while todo:
            state = todo.pop()
            if state in seen:
                continue
            seen.add(state)
            v, from_child = state
            free = not given >> v & 1
            reached |= free << v
            if free:
                todo += [(w, False) for w in self.children[v]]
            if (from_child and free) or (not from_child and open_colliders >> v & 1):
                todo += [(w, True) for w in self.parents[v]]
        return reached

    def __call__(self, x: int, y: int, given: Iterable[int]) -> bool:
        return not self.reach(x, sum(1 << v for v in given)) >> y & 1
