"""Greedy equivalence search: from class to class by inserting, deleting and turning one edge.

Chickering (2002), with the turning phase of Hauser and Bühlmann (2012). The steps are those of
``classes.py``.

Gains from noisy evidence need not be differences of any one score. The search ends all the
same: inserting adds an edge each time, deleting takes one away, turning turns each arrow once
a round, and there are a few rounds at most.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph.meek import cpdag
from privet.search.classes import Delete, Insert, Operator, State, Turn, class_of, steps
from privet.search.constraints import Constraints
from privet.search.hill_climb import TINY, Remembered, closed
from privet.search.protocols import Gains

# Forward, backward and turning are repeated until nothing improves, or so many times.
MOST_ROUNDS = 10


def ges(
    gains: Gains,
    constraints: Constraints,
    *,
    max_parents: int | None = None,
    candidates: Bools | None = None,
    start: Bools | None = None,
) -> Bools:
    """The CPDAG, closed under knowledge, that no single step improves.

    It sets out from the required edges (or from ``start``, a DAG that honours knowledge), and
    visits only classes with a DAG that honours knowledge. What is forbidden may bar the way to
    a better class: so at the end the search goes on as if nothing were forbidden, and where
    that leads to is taken if it honours knowledge after all.

    Nothing is inserted beside ``max_parents`` or more others. For each pair at most
    ``MOST_CLIQUES`` cliques are tried: small ones first, of the neighbours of y that are most
    associated with it.

    ``candidates`` (symmetric) are the only pairs to be joined, but for those that shield a
    triple: i and j are admitted while i - k - j are joined. Without this the search would be
    stuck where an arrow at k is wrong [Nandy, Hauser, Maathuis 2018: ARGES].
    """
    size = len(constraints.allowed)
    first = constraints.required & constraints.allowed if start is None else start
    state, memory = State.of(cpdag(first)), Remembered(gains)
    search = _Search(
        constraints,
        memory,
        memory.pairs(constraints.possible if candidates is None else candidates),
        size if max_parents is None else max_parents,
    )
    operators = Insert(candidates), Delete(), Turn()
    state = search.rounds(state, operators)
    known = closed(state.matrix, constraints)
    assert known is not None, "every state has a DAG that honours knowledge"
    if (unbound := _unbound(constraints)) is not None:
        detour = replace(search, constraints=unbound).rounds(state, operators)
        better = closed(detour.matrix, constraints)
        return known if better is None else better
    return known


def _unbound(constraints: Constraints) -> Constraints | None:
    """Required edges only: nothing is forbidden. None if nothing was."""
    required = constraints.required & constraints.allowed
    anything = ~np.eye(len(required), dtype=bool)
    allowed = anything & ~required.T
    if np.array_equal(allowed, constraints.allowed):
        return None
    return Constraints(allowed, anything, constraints.required)


Options = dict[tuple[int, int], list[tuple[float, int]]]


@dataclass(frozen=True)
class _Search:
    constraints: Constraints
    memory: Remembered
    association: Floats
    max_parents: int

    def rounds(self, state: State, operators: Sequence[Operator]) -> State:
        """All phases in turn, until a round ends where one began."""
        seen: set[bytes] = set()
        while (key := state.matrix.tobytes()) not in seen and len(seen) < MOST_ROUNDS:
            seen.add(key)
            for operator in operators:
                state = self.phase(state, operator)
        return state

    def phase(self, state: State, operator: Operator) -> State:
        """The best valid step of one kind, again and again until none improves."""
        once = isinstance(operator, Turn)
        options: Options = {}
        done: set[tuple[int, int]] = set()
        stale = pairs = operator.pairs(state, self.constraints)
        while True:
            self._weigh(state, operator, stale, options)
            step = self._best(state, operator, options)
            if step is None:
                return state
            old, (pair, state) = state, step
            before, pairs = pairs, operator.pairs(state, self.constraints)
            if once:
                done.add(pair)
                for x, y in done:
                    pairs[x, y] = False
            for gone in [at for at in options if not pairs[at]]:
                del options[gone]
            stale = pairs & (self._stale(old, state, operator) | ~before)

    def _stale(self, old: State, new: State, operator: Operator) -> Bools:
        """The pairs x, y whose options may differ: an edge of y changed, or one between two of
        its neighbours, or between x and a neighbour; in turning, any edge of x as well."""
        changed = (new.matrix != old.matrix) | (new.matrix != old.matrix).T
        rejoined = (new.matrix | new.matrix.T) != (old.matrix | old.matrix.T)
        lines = new.matrix & new.matrix.T
        near: Bools = rejoined.astype(np.float32) @ lines.astype(np.float32) > 0
        touched = changed.any(axis=0)
        stale: Bools = near | touched | (near & lines).any(axis=0)
        if isinstance(operator, Turn):
            stale |= touched[:, None]
        return stale

    def _weigh(self, state: State, operator: Operator, stale: Bools, options: Options) -> None:
        """What each clique of each stale pair is worth; all their questions are asked at once."""
        found = steps(state, operator, stale, self.association, self.max_parents)
        self.memory.learn(term for step in found for term in step[3:] if term is not None)
        for x, y in np.argwhere(stale).tolist():
            options.pop((x, y), None)
        for x, y, clique, won, lost in found:
            worth = (self.memory.gain(*won) if won else 0.0) - (
                self.memory.gain(*lost) if lost else 0.0
            )
            if TINY < worth < np.inf:
                options.setdefault((x, y), []).append((worth, clique))

    def _best(
        self, state: State, operator: Operator, options: Options
    ) -> tuple[tuple[int, int], State] | None:
        heap = [
            (-worth, x, y, clique) for (x, y), found in options.items() for worth, clique in found
        ]
        heapq.heapify(heap)
        while heap:
            _, x, y, clique = heapq.heappop(heap)
            if operator.is_valid(state, x, y, clique):
                new = class_of(operator.result(state, x, y, clique), self.constraints)
                if new is not None:
                    return (x, y), new
        return None
