"""Greedy equivalence search: from class to class by inserting, deleting and turning one edge.

Chickering (2002), with the turning phase of Hauser and Bühlmann (2012). The state is a CPDAG. A
step is named by an ordered pair x, y and a clique C of neighbours of y: the class has a DAG in
which y has just its parents and C as parents, and in that DAG the edge between x and y is
inserted, deleted or turned. What a step is worth is one gain (or the difference of two), given
those parents.

Gains from noisy evidence need not be differences of any one score. The search ends all the
same: inserting adds an edge each time, deleting takes one away, turning turns each arrow once
a round, and there are a few rounds at most.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph.meek import collider_arrows, cpdag, extension
from privet.search.constraints import Constraints
from privet.search.hill_climb import TINY, Question, Remembered, bits_of, closed, members
from privet.search.protocols import Gains

# Dense neighbourhoods have exponentially many cliques: so many are tried for one pair, small ones
# first, and strongly associated neighbours of y first.
MOST_CLIQUES = 256
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
    state, memory = _State.of(cpdag(first)), Remembered(gains)
    search = _Search(
        constraints,
        memory,
        memory.pairs(constraints.possible if candidates is None else candidates),
        size if max_parents is None else max_parents,
    )
    operators = _Insert(candidates), _Delete(), _Turn()
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


@dataclass(frozen=True)
class _State:
    """A CPDAG, and for each node its parents, lines (neighbours), all that it is joined to and
    all that a semi-directed path may go to next, as bits."""

    matrix: Bools
    parents: list[int]
    lines: list[int]
    joined: list[int]
    onward: list[int]

    @staticmethod
    def of(A: Bools) -> _State:
        parts = (A.T & ~A, A & A.T, A | A.T, A)
        return _State(A, *([bits_of(row) for row in part] for part in parts))

    def is_clique(self, nodes: int) -> bool:
        return all(not nodes & ~(self.joined[v] | 1 << v) for v in members(nodes))

    def reaches(self, start: int, goal: int, blocked: int) -> bool:
        """Whether a semi-directed path from start to goal, other than their edge, avoids the
        blocked nodes."""
        fresh = self.onward[start] & ~blocked & ~(1 << goal)
        seen = fresh | 1 << start | blocked
        while fresh:
            low = fresh & -fresh
            onward = self.onward[low.bit_length() - 1]
            if onward >> goal & 1:
                return True
            fresh = (fresh ^ low) | (onward & ~seen)
            seen |= onward
        return False


class _Operator(Protocol):
    """One kind of step from x to y with a clique C of neighbours of y."""

    def pairs(self, state: _State, constraints: Constraints) -> Bools:
        """Which ordered pairs (x, y) it may work on."""

    def choices(self, state: _State, x: int, y: int) -> tuple[int, int]:
        """Which neighbours of y are always in C, and which may be."""

    def terms(
        self, state: _State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        """The question whose gain is won, and the one whose gain is lost."""

    def is_valid(self, state: _State, x: int, y: int, clique: int) -> bool: ...

    def result(self, state: _State, x: int, y: int, clique: int) -> Bools:
        """A PDAG whose extensions are the new class."""


@dataclass(frozen=True)
class _Insert:
    """x --> y between nodes that are apart; C holds all neighbours of y that x is joined to
    [Chickering 2002, Theorem 15]."""

    candidates: Bools | None

    def pairs(self, state: _State, constraints: Constraints) -> Bools:
        joined = state.matrix | state.matrix.T
        apart = constraints.possible & ~joined
        if self.candidates is None:
            return apart
        edges = joined.astype(np.float32)
        return apart & (self.candidates | (edges @ edges > 0))

    def choices(self, state: _State, x: int, y: int) -> tuple[int, int]:
        common = state.lines[y] & state.joined[x]
        return common, state.lines[y] & ~common

    def terms(
        self, state: _State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        return (x, y, state.parents[y] | clique), None

    def is_valid(self, state: _State, x: int, y: int, clique: int) -> bool:
        return not state.reaches(y, x, clique)

    def result(self, state: _State, x: int, y: int, clique: int) -> Bools:
        A = state.matrix.copy()
        A[x, y] = True
        A[y, members(clique & ~state.joined[x])] = False
        return A


class _Delete:
    """x --> y or x --- y taken away; C is what stays above y of the neighbours that x is joined
    to, the others come below both [Chickering 2002, Theorem 17]."""

    def pairs(self, state: _State, constraints: Constraints) -> Bools:
        return state.matrix & ~constraints.required

    def choices(self, state: _State, x: int, y: int) -> tuple[int, int]:
        return 0, state.lines[y] & state.joined[x]

    def terms(
        self, state: _State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        return None, (x, y, (state.parents[y] | clique) & ~(1 << x))

    def is_valid(self, state: _State, x: int, y: int, clique: int) -> bool:
        return True

    def result(self, state: _State, x: int, y: int, clique: int) -> Bools:
        A = state.matrix.copy()
        A[x, y] = A[y, x] = False
        below = members(state.lines[y] & state.joined[x] & ~clique)
        A[below, y] = False
        A[[v for v in below if state.lines[x] >> v & 1], x] = False
        return A


class _Turn:
    """y --> x or y --- x made x --> y [Hauser, Bühlmann 2012, Propositions 31 and 34].

    The arrow: C holds all neighbours of y that x is joined to. The line: C has a member that x
    is not joined to (else the class stays as it is).
    """

    def pairs(self, state: _State, constraints: Constraints) -> Bools:
        return state.matrix.T.copy()

    def choices(self, state: _State, x: int, y: int) -> tuple[int, int]:
        if state.lines[y] >> x & 1:
            return 0, state.lines[y] & ~(1 << x)
        common = state.lines[y] & state.joined[x]
        return common, state.lines[y] & ~common

    def terms(
        self, state: _State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        above = (state.parents[x] | clique & state.lines[x]) & ~(1 << y)
        return (x, y, state.parents[y] | clique), (x, y, above)

    def is_valid(self, state: _State, x: int, y: int, clique: int) -> bool:
        if not state.lines[y] >> x & 1:
            return not state.reaches(y, x, clique | state.lines[x])
        far = clique & ~state.joined[x]
        left_out = state.lines[y] & state.joined[x] & ~clique
        between = clique ^ far | 1 << x | 1 << y
        return bool(far) and not self._connected(state, far, left_out, between)

    def _connected(self, state: _State, start: int, goal: int, blocked: int) -> bool:
        """Whether lines lead from start to goal and avoid the blocked nodes."""
        seen, fresh = start | blocked, start
        while fresh and not seen & goal:
            low = fresh & -fresh
            onward = state.lines[low.bit_length() - 1] & ~seen
            fresh = (fresh ^ low) | onward
            seen |= onward
        return bool(seen & goal)

    def result(self, state: _State, x: int, y: int, clique: int) -> Bools:
        A = state.matrix.copy()
        A[y, members(clique)] = False
        A[members(state.lines[y] & ~clique), y] = False
        above = clique & state.lines[x]
        A[x, members(above)] = False
        A[members(state.lines[x] & ~above), x] = False
        A[x, y], A[y, x] = True, False
        return A


Options = dict[tuple[int, int], list[tuple[float, int]]]


@dataclass(frozen=True)
class _Search:
    constraints: Constraints
    memory: Remembered
    association: Floats
    max_parents: int

    def rounds(self, state: _State, operators: Sequence[_Operator]) -> _State:
        """All phases in turn, until a round ends where one began."""
        seen: set[bytes] = set()
        while (key := state.matrix.tobytes()) not in seen and len(seen) < MOST_ROUNDS:
            seen.add(key)
            for operator in operators:
                state = self.phase(state, operator)
        return state

    def phase(self, state: _State, operator: _Operator) -> _State:
        """The best valid step of one kind, again and again until none improves."""
        once = isinstance(operator, _Turn)
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

    def _stale(self, old: _State, new: _State, operator: _Operator) -> Bools:
        """The pairs x, y whose options may differ: an edge of y changed, or one between two of
        its neighbours, or between x and a neighbour; in turning, any edge of x as well."""
        changed = (new.matrix != old.matrix) | (new.matrix != old.matrix).T
        rejoined = (new.matrix | new.matrix.T) != (old.matrix | old.matrix.T)
        lines = new.matrix & new.matrix.T
        near: Bools = rejoined.astype(np.float32) @ lines.astype(np.float32) > 0
        touched = changed.any(axis=0)
        stale: Bools = near | touched | (near & lines).any(axis=0)
        if isinstance(operator, _Turn):
            stale |= touched[:, None]
        return stale

    def _weigh(self, state: _State, operator: _Operator, stale: Bools, options: Options) -> None:
        """What each clique of each stale pair is worth; all their questions are asked at once."""
        steps = [
            (x, y, clique, *operator.terms(state, x, y, clique))
            for x, y in np.argwhere(stale).tolist()
            for clique in self._cliques(state, y, *operator.choices(state, x, y))
        ]
        steps = [
            step for step in steps if step[3] is None or step[3][2].bit_count() < self.max_parents
        ]
        self.memory.learn(term for step in steps for term in step[3:] if term is not None)
        for x, y in np.argwhere(stale).tolist():
            options.pop((x, y), None)
        for x, y, clique, won, lost in steps:
            worth = (self.memory.gain(*won) if won else 0.0) - (
                self.memory.gain(*lost) if lost else 0.0
            )
            if TINY < worth < np.inf:
                options.setdefault((x, y), []).append((worth, clique))

    def _cliques(self, state: _State, y: int, always: int, free: int) -> list[int]:
        """Cliques with all of ``always`` and some of ``free``: small ones first."""
        if not state.is_clique(always):
            return []
        if not free:
            return [always]
        ranked = sorted(members(free), key=lambda v: (-self.association[v, y], v))
        found: list[int] = []
        layer = [(always, 0)]
        while layer and len(found) < MOST_CLIQUES:
            found += [clique for clique, _ in layer]
            layer = [
                (clique | 1 << ranked[at], at + 1)
                for clique, start in layer
                for at in range(start, len(ranked))
                if not clique & ~state.joined[ranked[at]]
            ]
        return found[:MOST_CLIQUES]

    def _best(
        self, state: _State, operator: _Operator, options: Options
    ) -> tuple[tuple[int, int], _State] | None:
        heap = [
            (-worth, x, y, clique) for (x, y), found in options.items() for worth, clique in found
        ]
        heapq.heapify(heap)
        while heap:
            _, x, y, clique = heapq.heappop(heap)
            if operator.is_valid(state, x, y, clique):
                new = self._class_of(operator.result(state, x, y, clique))
                if new is not None:
                    return (x, y), new
        return None

    def _class_of(self, pdag: Bools) -> _State | None:
        """The class of a PDAG's extensions, if it has some that honour knowledge."""
        if (collider_arrows(pdag) & ~self.constraints.allowed).any():
            return None
        dag = extension(pdag)
        if dag is None:
            return None
        matrix = cpdag(dag)
        return None if closed(matrix, self.constraints) is None else _State.of(matrix)
