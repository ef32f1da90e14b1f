"""Arrows from weighed colliders: the acyclic orientation that the evidence likes best.

Each unshielded triple i - k - j has a weight: how much the evidence speaks for the collider
i --> k <-- j (positive) or against it (negative). A textbook PC decides each triple by one
test, lets later arrows overwrite earlier ones and may end in a circle. Here the sum of the
weights of the colliders in a DAG over the skeleton is made as large as a local search can, so
the result is always the CPDAG of a DAG, and one weak triple cannot turn a dozen edges.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import inf

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.bits import bitsets
from privet.graph.classes import class_of
from privet.search.compiled import drawn

GRAIN = 1 << 30  # parts of one that weights are rounded to: whole numbers tie where they should


def unshielded(adjacent: Bools) -> Indices:
    """All (i, k, j), i < j, with i - k - j and i, j apart."""
    k, i = np.nonzero(adjacent)
    ends = np.cumsum(adjacent.sum(axis=1))[k]  # where the neighbours of k end
    later = ends - np.arange(len(k)) - 1  # neighbours of k that come after i
    first = np.repeat(np.arange(len(k)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    triples: Indices = np.stack([i[first], k[first], i[second]], axis=1)
    apart: Indices = triples[~adjacent[i[first], i[second]]]
    return apart


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
    orders = [rng.permutation(len(adjacent)) for _ in range(restarts if len(triples) else 1)]
    return class_of(best_dag(adjacent, triples, weights, allowed, orders))


def best_dag(
    adjacent: Bools, triples: Indices, weights: Floats, allowed: Bools, orders: Sequence[Indices]
) -> list[int]:
    """The parents of each column, as bits, in the best DAG that a climb from one of these orders of
    the columns finds."""
    state = Orientation(adjacent, triples, weights, allowed)
    settled = np.array([state.settled(order.tolist()) for order in orders], dtype=np.int64)
    found = drawn(state.pairs, *state.triples, state.may_turn, settled)
    return _climbed(state, settled) if found is None else bitsets(found.T)


def _climbed(state: Orientation, orders: Indices) -> list[int]:
    best, most = state.parents, -inf
    for _ in state.starts(orders):
        state.climb()
        if state.value > most:
            best, most = list(state.parents), state.value
        if most == sum(weight for *_, weight in state.wanted):
            break
    return best


class Orientation:
    """A DAG over a skeleton; its value is the sum of the weights of its colliders, in grains.

    Edge e may be the arrow 2e or the arrow 2e + 1, the other way round. ``pull[s]`` is the weight
    of all colliders of s: i --> k with others that point to k, whether or not s itself is drawn. So
    turning s adds ``pull[s ^ 1] - pull[s]``, and changes the gains of edges at its ends only.
    ``ranking`` holds the edges that gain, the best first, as e - gain * edges.
    """

    def __init__(self, adjacent: Bools, triples: Indices, weights: Floats, allowed: Bools) -> None:
        self.pairs = np.argwhere(np.triu(adjacent))
        self.ends = tails, heads = np.stack([self.pairs, self.pairs[:, ::-1]], 1).reshape(-1, 2).T
        slots = np.zeros(adjacent.shape, dtype=np.intp)
        slots[tails, heads] = np.arange(len(tails))
        self.may_turn = allowed[heads, tails]
        self.adjacent = adjacent
        self.first = bitsets(adjacent.T & ~allowed)  # those that knowledge puts before each
        i, k, j = triples.T
        grains = np.rint(weights * GRAIN).astype(np.int64)
        self.triples = np.stack([slots[i, k], slots[j, k]]), grains
        self.parents = [0] * len(adjacent)
        self.arrows: list[int] = []
        self.gains: list[int] = []
        self.ranking: list[int] = []
        self.value = 0

    @cached_property
    def tails(self) -> list[int]:
        return list(map(int, self.ends[0]))

    @cached_property
    def heads(self) -> list[int]:
        return list(map(int, self.ends[1]))

    @cached_property
    def others(self) -> list[list[tuple[int, int]]]:
        """With which each arrow would be in a collider, and what that weighs."""
        out: list[list[tuple[int, int]]] = [[] for _ in self.tails]
        slots, grains = self.triples
        for s, t, weight in zip(*slots.tolist(), grains.tolist(), strict=True):
            out[s].append((t, weight))
            out[t].append((s, weight))
        return out

    @cached_property
    def wanted(self) -> list[tuple[int, int, int]]:
        """Colliders that weigh something, the heaviest first: both arrows away from their middle,
        and the weight."""
        slots, grains = self.triples
        order = np.argsort(-grains, kind="stable")
        order = order[grains[order] > 0]
        return list(zip(*(slots[:, order] ^ 1).tolist(), grains[order].tolist(), strict=True))

    def starts(self, orders: Sequence[Indices] | Indices) -> Iterator[None]:
        """Each of these orders of the columns in turn."""
        places, joined = np.argsort(orders, axis=1), bitsets(self.adjacent)
        drawn = places[:, self.ends[0]] < places[:, self.ends[1]]
        (s, t), grains = self.triples
        pull, rows = np.zeros(drawn.shape, dtype=np.int64), drawn.shape[1] * np.arange(len(drawn))
        for own, other in ((s, t), (t, s)):
            at = (rows[:, None] + own).ravel()
            np.add.at(pull.reshape(-1), at, (grains * drawn[:, other]).ravel())
        values = (grains * (drawn[:, s] & drawn[:, t])).sum(axis=1).tolist()
        edges = np.arange(len(self.tails) // 2)
        for place, ahead, now, value in zip(places, drawn, pull, values, strict=True):
            arrows = 2 * edges + ~ahead[::2]
            gains = now[arrows ^ 1] - now[arrows]
            self.arrows, self.gains, self.value = arrows.tolist(), gains.tolist(), value
            self.ranking = np.sort((edges - gains * len(edges))[gains > 0]).tolist()
            seen = 0
            for column in np.argsort(place).tolist():
                self.parents[column] = joined[column] & seen
                seen |= 1 << column
            yield

    def settled(self, order: list[int]) -> list[int]:
        """The same order, but causes that knowledge puts first come first."""
        if not any(self.first):
            return order
        seen, waiting, out = 0, list(order), []
        while waiting:
            ready = next((i for i in waiting if not self.first[i] & ~seen), waiting[0])
            waiting.remove(ready)
            out.append(ready)
            seen |= 1 << ready
        return out

    def climb(self) -> None:
        while self._best_turn() or self._best_collider():
            pass

    def _best_turn(self) -> bool:
        for key in self.ranking:
            arrow = self.arrows[key % len(self.arrows)]
            if self._can_turn(arrow):
                self._turn(arrow)
                return True
        return False

    def _best_collider(self) -> bool:
        """Turn the two arrows that a wanted collider lacks, if that pays. Where it lacks one, that
        would have been turned by itself."""
        arrows, gains = self.arrows, self.gains
        for s, t, weight in self.wanted:
            if arrows[s >> 1] != s or arrows[t >> 1] != t:
                continue
            if gains[s >> 1] + gains[t >> 1] + weight > 0 and self._can_turn(s):
                self._turn(s)
                if self._can_turn(t):
                    self._turn(t)
                    return True
                self._turn(s ^ 1)
        return False

    def _can_turn(self, arrow: int) -> bool:
        """Allowed, and no other path leads from its tail to its head."""
        if not self.may_turn[arrow]:
            return False
        parents, goal = self.parents, 1 << self.tails[arrow]
        fresh = seen = parents[self.heads[arrow]] & ~goal
        while fresh:
            low = fresh & -fresh
            new = parents[low.bit_length() - 1] & ~seen
            if new & goal:
                return False
            seen |= new
            fresh = fresh ^ low | new
        return True

    def _turn(self, arrow: int) -> None:
        tail, head, at = self.tails[arrow], self.heads[arrow], arrow >> 1
        self.value += self.gains[at]
        self.parents[head] ^= 1 << tail
        self.parents[tail] ^= 1 << head
        self._rank(at, -self.gains[at])
        self.arrows[at] = arrow ^ 1
        for slots, sign in ((self.others[arrow], 1), (self.others[arrow ^ 1], -1)):
            for s, weight in slots:
                near = s >> 1
                drawn = self.arrows[near] == s
                self._rank(near, self.gains[near] + (sign if drawn else -sign) * weight)

    def _rank(self, at: int, gain: int) -> None:
        before, edges = self.gains[at], len(self.gains)
        if before > 0:
            del self.ranking[bisect_left(self.ranking, at - before * edges)]
        if gain > 0:
            insort(self.ranking, at - gain * edges)
        self.gains[at] = gain
