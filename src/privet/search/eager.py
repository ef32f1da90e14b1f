"""Greedy equivalence search that goes back: for gains that are the differences of one score.

Insertions alone, run to their end, go wrong where many columns are strongly associated: one wrong
arrow makes edges necessary that no later phase takes back. Two remedies [Nazaret, Blei 2024: XGES]:

- Something is inserted only where nothing can be deleted or turned. Each step raises the score, so
  the search ends.
- At the end an edge is taken away, whatever that costs, and kept away while the search goes on. If
  that leads higher up it is taken, and all begins anew; else the search goes back. Only edges whose
  ends have a common neighbour get such a second look: where a wrong arrow has made an edge
  necessary, the arrow's end is one [found by experiment: the others change nothing].
"""

from __future__ import annotations

from collections.abc import Iterable

from privet.search.classes import Delete, Insert, Operator, Turn, steps
from privet.search.options import Option, Options, Weights, differing, rounded
from privet.search.states import State

# The two ends of an edge, and what they were joined to when it got a second look.
Look = tuple[int, ...]
# Second looks for each column at most: dense graphs would take many, each as long as a search.
MOST_LOOKS = 6


def eagerly(state: State, weights: Weights, operators: tuple[Insert, Delete, Turn]) -> State:
    """A class that no step improves, nor any way on after an edge of a triangle is taken away."""
    climb = Climb(weights, operators)
    state, _ = climb.up(state)
    tried: set[Look] = set()
    while (higher := _higher(climb, state, tried)) is not None:
        state = higher
    return state


def _higher(climb: Climb, state: State, tried: set[Look]) -> State | None:
    """Where the first second look leads to that is worth it, the cheapest ones first. None is
    repeated while the edges at both ends are the same."""
    for cost, x, y, clique in climb.deletions(state):
        ends = sorted((x, y))
        look = (*ends, *(part[v] for part in (state.joined, state.parents) for v in ends))
        if len(tried) >= MOST_LOOKS * len(state.lines):
            return None
        if look in tried or not state.joined[x] & state.joined[y]:
            continue
        without = climb.without(state, x, y, clique)
        if without is not None:
            tried.add(look)
            higher = climb.around(state, without, 1 << x | 1 << y, cost)
            if higher is not None:
                return higher
    return None


class Climb:
    """Steps of all kinds, kept from step to step."""

    def __init__(self, weights: Weights, operators: Iterable[Operator]) -> None:
        self.weights = weights
        self.insert, self.delete, turn = (Options(weights, each, once=False) for each in operators)
        self.kinds = (self.delete, turn, self.insert)

    def up(self, state: State) -> tuple[State, float]:
        """Where no step leads any higher, and by how much it is higher."""
        gained = 0.0
        while (step := self._step(state)) is not None:
            worth, new = step
            state, gained = self._move(state, new), gained + worth
        return state, gained

    def _step(self, state: State) -> tuple[float, State] | None:
        found = (each.best(state) for each in self.kinds)
        return next((step for step in found if step is not None), None)

    def _move(self, old: State, new: State) -> State:
        changed = differing(old, new)
        for each in self.kinds:
            each.hear(old, new, changed)
        return new

    def deletions(self, state: State) -> list[Option]:
        """What every deletion costs, the cheapest first."""
        operator, bounds, rows = self.delete.operator, self.weights.bounds, self.weights.rows
        found = [
            step
            for y in range(len(state.lines))
            for step in steps(
                state,
                operator,
                y,
                operator.sources(state, y, bounds),
                rows.pairs[y],
                self.weights.max_parents,
            )
        ]
        rows.memory.learn(step.lost for step in found if step.lost is not None)
        return sorted(
            (rounded(rows.memory.gain(*step.lost)), step.x, step.y, step.clique)
            for step in found
            if step.lost is not None
        )

    def without(self, state: State, x: int, y: int, clique: int) -> State | None:
        new = self.delete.operator.result(state, x, y, clique)
        return new if new is not None and self.weights.bounds.hold(new) else None

    def around(self, state: State, without: State, pair: int, cost: float) -> State | None:
        """Where the search goes while this pair is kept apart, if that is higher up than where it
        was; else it is there again."""
        self.insert.apart = pair
        there, gained = self.up(self._move(state, without))
        self.insert.apart = 0
        self.insert.touched |= pair
        if gained > cost:
            return self.up(there)[0]
        self._move(there, state)
        return None
