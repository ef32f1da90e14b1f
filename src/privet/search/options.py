"""The steps that would improve a class, best first, kept from step to step."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privet.graph.bits import members
from privet.search.classes import ANYWHERE, Bounds, Insert, Operator, Turn, cliques, steps
from privet.search.rows import GRAIN, Row, Rows
from privet.search.states import State

# Minus what it is worth, x, y and the clique.
Option = tuple[float, int, int, int]


@dataclass(frozen=True)
class Weights:
    """What steps are worth."""

    bounds: Bounds
    rows: Rows
    max_parents: int

    def inserts(self, state: State, insert: Insert, ys: Sequence[int]) -> dict[int, list[Option]]:
        """What inserting is worth, y by y. All x that are joined to the same neighbours of y have
        the same cliques, and mostly these are none: so rows are asked for, not pairs."""
        wanted: list[tuple[Row, int]] = []
        for y in ys:
            parents, lines = state.parents[y], state.lines[y]
            for always, xs in _alike(state, y, insert.sources(state, y, self.bounds)).items():
                for clique in cliques(state, self.rows.pairs[y], always, lines & ~always):
                    if (parents | clique).bit_count() < self.max_parents:
                        wanted.append(((y, parents | clique, xs), clique))
        self.rows.learn(row for row, _ in wanted)
        worth: dict[int, list[Option]] = {}
        for (y, given, xs), clique in wanted:
            gains = self.rows.gains(y, given)
            found = [(value, x, y, clique) for value, x in gains if xs >> x & 1]
            if found:
                worth.setdefault(y, []).extend(found)
        return worth

    def others(
        self, state: State, operator: Operator, asked: Mapping[int, int]
    ) -> dict[int, list[Option]]:
        """What steps of another kind are worth, from some x to each y."""
        found = [
            step
            for y, xs in asked.items()
            for step in steps(state, operator, y, xs, self.rows.pairs[y], self.max_parents)
        ]
        memory = self.rows.memory
        memory.learn(term for step in found for term in step[3:] if term is not None)
        worth: dict[int, list[Option]] = {}
        for x, y, clique, won, lost in found:
            value = (memory.gain(*won) if won else 0.0) - (memory.gain(*lost) if lost else 0.0)
            if 0.5 < value * GRAIN < np.inf:
                worth.setdefault(y, []).append((-rounded(value), x, y, clique))
        return worth


def rounded(value: float) -> float:
    return round(value * GRAIN) / GRAIN


def _alike(state: State, y: int, xs: int) -> dict[int, int]:
    """The x by which neighbours of y they are joined to."""
    near = 0
    for v in members(state.lines[y]):
        near |= state.joined[v]
    out = {0: xs & ~near} if xs & ~near else {}
    for x in members(xs & near):
        common = state.lines[y] & state.joined[x]
        out[common] = out.get(common, 0) | 1 << x
    return out


class Options:
    """The steps of one kind that would improve, best first: a list for each y, and a heap of the
    heads of lists. Those to y are weighed again when they may differ, and the list before, which
    has an old stamp, is dropped. Steps that are barred are set aside until that may have changed.
    """

    def __init__(self, weights: Weights, operator: Operator, once: bool = True) -> None:
        """``once``: an arrow is turned once a round."""
        self.weights, self.operator, self.once = weights, operator, once
        size = len(weights.bounds.possible)
        self.stale, self.touched = (1 << size) - 1, 0
        self.stamps = [0] * size
        self.heap: list[tuple[Option, int, Iterator[Option]]] = []
        self.barred: dict[int, list[tuple[Option, int]]] = {}
        self.turned: dict[int, int] = {}
        self.apart = 0  # two columns, as bits, between which there is no step

    def begin(self) -> None:
        """A round begins."""
        for y in self.turned:
            self.stale |= 1 << y
        self.turned.clear()

    def hear(self, old: State, new: State, changed: Sequence[int]) -> None:
        """Edges of some nodes have changed. Options may differ if one of y did, or one between two
        of its neighbours, or between x and a neighbour; in turning, any edge of x as well."""
        for v in changed:
            self.touched |= 1 << v
            self.stale |= 1 << v
            if isinstance(self.operator, Turn):
                self.stale |= new.joined[v]
            if old.joined[v] != new.joined[v]:
                limited = isinstance(self.operator, Insert) and self.operator.candidates
                self.stale |= new.joined[v] if limited else new.lines[v]

    def best(self, state: State) -> tuple[float, State] | None:
        """What the best valid step is worth, and the class that it leads to."""
        self._weigh(state)
        while self.heap:
            option, stamp, others = heapq.heappop(self.heap)
            value, x, y, clique = option
            if stamp != self.stamps[y]:
                continue
            if (following := next(others, None)) is not None:
                heapq.heappush(self.heap, (following, stamp, others))
            apart = self.apart == 1 << x | 1 << y
            barred = ANYWHERE if apart else self.operator.barred(state, x, y, clique)
            new = None if barred else self.operator.result(state, x, y, clique)
            if new is not None and self.weights.bounds.hold(new):
                if isinstance(self.operator, Turn) and self.once:
                    self.turned[y] = self.turned.get(y, 0) | 1 << x
                    self.stale |= 1 << y
                return -value, new
            self.barred.setdefault(y, []).append((option, barred or ANYWHERE))
        return None

    def _weigh(self, state: State) -> None:
        ys = members(self.stale)
        for y in ys:
            self.stamps[y] += 1
            self.barred.pop(y, None)
        for option in self._freed():
            heapq.heappush(self.heap, (option, self.stamps[option[2]], iter(())))
        self.stale = self.touched = 0
        for y, found in self._found(state, ys).items():
            options = iter(sorted(found))
            heapq.heappush(self.heap, (next(options), self.stamps[y], options))

    def _freed(self) -> list[Option]:
        """Steps that are no longer barred, perhaps."""
        out = []
        for y, barred in self.barred.items():
            freed = [option for option, by in barred if by & self.touched]
            if freed:
                self.barred[y] = [each for each in barred if not each[1] & self.touched]
                out += freed
        return out

    def _found(self, state: State, ys: Sequence[int]) -> dict[int, list[Option]]:
        if isinstance(self.operator, Insert):
            for y in ys:
                self.weights.rows.forget(state, y)
            return self.weights.inserts(state, self.operator, ys)
        bounds, sources = self.weights.bounds, self.operator.sources
        asked = {y: sources(state, y, bounds) & ~self.turned.get(y, 0) for y in ys}
        return self.weights.others(state, self.operator, asked)


def differing(old: State, new: State) -> list[int]:
    """The nodes of which some edge changed."""
    before, after = (zip(each.lines, each.parents, each.onward, strict=True) for each in (old, new))
    return [v for v, (was, now) in enumerate(zip(before, after, strict=True)) if was != now]
