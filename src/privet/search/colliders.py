"""Arrows from weighed colliders: the acyclic orientation that the evidence likes best.

Each unshielded triple i - k - j has a weight: how much the evidence speaks for the collider
i --> k <-- j (positive) or against it (negative). A textbook PC decides each triple by one
test, lets later arrows overwrite earlier ones and may end in a circle. Here the sum of the
weights of the colliders in a DAG over the skeleton is made as large as a local search can, so
the result is always the CPDAG of a DAG, and one weak triple cannot turn a dozen edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.meek import cpdag


def unshielded(adjacent: Bools) -> Indices:
    """All (i, k, j), i < j, with i - k - j and i, j apart."""
    triples = [
        (int(i), k, int(j))
        for k in range(len(adjacent))
        for near in [np.flatnonzero(adjacent[k])]
        for i in near
        for j in near
        if i < j and not adjacent[i, j]
    ]
    return np.array(triples, dtype=np.intp).reshape(-1, 3)


def orient(
    adjacent: Bools,
    triples: Indices,
    weights: Floats,
    *,
    allowed: Bools,
    rng: np.random.Generator,
    restarts: int = 20,
) -> Bools:
    """The CPDAG of the best DAG found over the skeleton; ``allowed[i, j]`` permits i --> j.

    Without a single unshielded triple every orientation is as good: nothing is turned.
    """
    state = _Orientation.over(adjacent, triples, weights, allowed)
    best: tuple[float, list[set[int]]] | None = None
    for _ in range(restarts if len(triples) else 1):
        state.start(rng)
        state.climb()
        if best is None or state.value > best[0] + 1e-9:
            best = state.value, [set(parents) for parents in state.parents]
    assert best is not None
    dag = np.zeros_like(adjacent)
    for child, parents in enumerate(best[1]):
        dag[list(parents), child] = True
    return cpdag(dag)


@dataclass
class _Orientation:
    """A DAG over a skeleton; the value of a node is the sum of its collider weights."""

    edges: list[tuple[int, int]]
    weight: list[dict[tuple[int, int], float]]
    wanted: list[tuple[int, int, int]]
    allowed: Bools
    parents: list[set[int]]
    touching: list[list[int]]  # the edges of each node, by their place
    gains: list[float]  # what turning each edge would add, but for edges of stale nodes
    stale: set[int]
    value: float = 0.0

    @staticmethod
    def over(adjacent: Bools, triples: Indices, weights: Floats, allowed: Bools) -> _Orientation:
        size = len(adjacent)
        weight: list[dict[tuple[int, int], float]] = [{} for _ in range(size)]
        for (i, k, j), w in zip(triples.tolist(), weights.tolist(), strict=True):
            weight[k][i, j] = weight[k][j, i] = w
        order = np.argsort(-weights, kind="stable")
        wanted = [(i, k, j) for i, k, j in triples[order[weights[order] > 0]].tolist()]
        edges = [(x, y) for x, y in np.argwhere(np.triu(adjacent)).tolist()]
        touching = [[at for at, edge in enumerate(edges) if k in edge] for k in range(size)]
        return _Orientation(
            edges,
            weight,
            wanted,
            allowed,
            parents=[set() for _ in range(size)],
            touching=touching,
            gains=[0.0] * len(edges),
            stale=set(),
        )

    def start(self, rng: np.random.Generator) -> None:
        """A random order of the columns that puts each cause that is settled first."""
        size = len(self.parents)
        before: list[set[int]] = [set() for _ in range(size)]
        for x, y in self.edges:
            if not self.allowed[y, x]:
                before[y].add(x)
            elif not self.allowed[x, y]:
                before[x].add(y)
        place: dict[int, int] = {}
        waiting = [int(i) for i in rng.permutation(size)]
        while waiting:
            ready = next((i for i in waiting if not before[i] - place.keys()), waiting[0])
            waiting.remove(ready)
            place[ready] = len(place)
        self.parents = [set() for _ in range(size)]
        for x, y in self.edges:
            first, last = (x, y) if place[x] < place[y] else (y, x)
            self.parents[last].add(first)
        self.value = sum(self._node(k) for k in range(size))
        self.stale = set(range(size))

    def _node(self, k: int) -> float:
        weight, parents = self.weight[k], sorted(self.parents[k])
        return sum(
            weight.get((i, j), 0.0) for at, i in enumerate(parents) for j in parents[at + 1 :]
        )

    def _gain(self, parent: int, child: int) -> float:
        """What turning parent --> child round would add to the value."""
        lost = sum(self.weight[child].get((parent, j), 0.0) for j in self.parents[child])
        won = sum(self.weight[parent].get((child, j), 0.0) for j in self.parents[parent])
        return won - lost

    def _can_turn(self, parent: int, child: int) -> bool:
        """Allowed, and no other path leads from parent to child."""
        if not self.allowed[child, parent]:
            return False
        seen, todo = {child}, [i for i in self.parents[child] if i != parent]
        while todo:
            node = todo.pop()
            if node == parent:
                return False
            if node not in seen:
                seen.add(node)
                todo.extend(self.parents[node])
        return True

    def _turn(self, parent: int, child: int) -> None:
        self.value += self._gain(parent, child)
        self.parents[child].remove(parent)
        self.parents[parent].add(child)
        self.stale |= {parent, child}

    def climb(self) -> None:
        while self._best_turn() or self._best_collider():
            pass

    def _best_turn(self) -> bool:
        for at in {at for node in self.stale for at in self.touching[node]}:
            self.gains[at] = self._gain(*self._arrow(at))
        self.stale.clear()
        hopeful = [(-gain, at) for at, gain in enumerate(self.gains) if gain > 1e-9]
        for _, at in sorted(hopeful):
            arrow = self._arrow(at)
            if self._can_turn(*arrow):
                self._turn(*arrow)
                return True
        return False

    def _arrow(self, at: int) -> tuple[int, int]:
        x, y = self.edges[at]
        return (x, y) if x in self.parents[y] else (y, x)

    def _best_collider(self) -> bool:
        """Turn the one or two arrows that a wanted collider lacks, if that pays."""
        for i, k, j in self.wanted:
            before, turned = self.value, []
            for end in (i, j):
                if end not in self.parents[k] and self._can_turn(k, end):
                    self._turn(k, end)
                    turned.append(end)
            if turned and {i, j} <= self.parents[k] and self.value > before + 1e-9:
                return True
            for end in reversed(turned):
                self._turn(end, k)
            self.value = before
        return False
