"""Equivalence classes of DAGs, and the steps that lead from one to the next.

The state is a CPDAG. A step is named by an ordered pair x, y and a clique C of neighbours of y: the
class has a DAG in which y has just its parents and C as parents, and in that DAG the edge between x
and y is inserted, deleted or turned [Chickering 2002; Hauser, Bühlmann 2012]. What a step is worth
is one gain (or the difference of two), given those parents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph.meek import collider_arrows, cpdag, extension
from privet.search.constraints import Constraints
from privet.search.hill_climb import Question, bits_of, closed, members

# Dense neighbourhoods have exponentially many cliques: so many are tried for one pair, small ones
# first, and strongly associated neighbours of y first.
MOST_CLIQUES = 256


@dataclass(frozen=True)
class State:
    """A CPDAG, and for each node its parents, lines (neighbours), all that it is joined to and
    all that a semi-directed path may go to next, as bits."""

    matrix: Bools
    parents: list[int]
    lines: list[int]
    joined: list[int]
    onward: list[int]

    @staticmethod
    def of(A: Bools) -> State:
        parts = (A.T & ~A, A & A.T, A | A.T, A)
        return State(A, *([bits_of(row) for row in part] for part in parts))

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


class Operator(Protocol):
    """One kind of step from x to y with a clique C of neighbours of y."""

    def pairs(self, state: State, constraints: Constraints) -> Bools:
        """Which ordered pairs (x, y) it may work on."""

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        """Which neighbours of y are always in C, and which may be."""

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        """The question whose gain is won, and the one whose gain is lost."""

    def is_valid(self, state: State, x: int, y: int, clique: int) -> bool: ...

    def result(self, state: State, x: int, y: int, clique: int) -> Bools:
        """A PDAG whose extensions are the new class."""


@dataclass(frozen=True)
class Insert:
    """x --> y between nodes that are apart; C holds all neighbours of y that x is joined to
    [Chickering 2002, Theorem 15]."""

    candidates: Bools | None

    def pairs(self, state: State, constraints: Constraints) -> Bools:
        joined = state.matrix | state.matrix.T
        apart = constraints.possible & ~joined
        if self.candidates is None:
            return apart
        edges = joined.astype(np.float32)
        return apart & (self.candidates | (edges @ edges > 0))

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        common = state.lines[y] & state.joined[x]
        return common, state.lines[y] & ~common

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        return (x, y, state.parents[y] | clique), None

    def is_valid(self, state: State, x: int, y: int, clique: int) -> bool:
        return not state.reaches(y, x, clique)

    def result(self, state: State, x: int, y: int, clique: int) -> Bools:
        A = state.matrix.copy()
        A[x, y] = True
        A[y, members(clique & ~state.joined[x])] = False
        return A


class Delete:
    """x --> y or x --- y taken away; C is what stays above y of the neighbours that x is joined
    to, the others come below both [Chickering 2002, Theorem 17]."""

    def pairs(self, state: State, constraints: Constraints) -> Bools:
        return state.matrix & ~constraints.required

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        return 0, state.lines[y] & state.joined[x]

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        return None, (x, y, (state.parents[y] | clique) & ~(1 << x))

    def is_valid(self, state: State, x: int, y: int, clique: int) -> bool:
        return True

    def result(self, state: State, x: int, y: int, clique: int) -> Bools:
        A = state.matrix.copy()
        A[x, y] = A[y, x] = False
        below = members(state.lines[y] & state.joined[x] & ~clique)
        A[below, y] = False
        A[[v for v in below if state.lines[x] >> v & 1], x] = False
        return A


class Turn:
    """y --> x or y --- x made x --> y [Hauser, Bühlmann 2012, Propositions 31 and 34].

    The arrow: C holds all neighbours of y that x is joined to. The line: C has a member that x
    is not joined to (else the class stays as it is).
    """

    def pairs(self, state: State, constraints: Constraints) -> Bools:
        return state.matrix.T.copy()

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        if state.lines[y] >> x & 1:
            return 0, state.lines[y] & ~(1 << x)
        common = state.lines[y] & state.joined[x]
        return common, state.lines[y] & ~common

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        above = (state.parents[x] | clique & state.lines[x]) & ~(1 << y)
        return (x, y, state.parents[y] | clique), (x, y, above)

    def is_valid(self, state: State, x: int, y: int, clique: int) -> bool:
        if not state.lines[y] >> x & 1:
            return not state.reaches(y, x, clique | state.lines[x])
        far = clique & ~state.joined[x]
        left_out = state.lines[y] & state.joined[x] & ~clique
        between = clique ^ far | 1 << x | 1 << y
        return bool(far) and not self._connected(state, far, left_out, between)

    def _connected(self, state: State, start: int, goal: int, blocked: int) -> bool:
        """Whether lines lead from start to goal and avoid the blocked nodes."""
        seen, fresh = start | blocked, start
        while fresh and not seen & goal:
            low = fresh & -fresh
            onward = state.lines[low.bit_length() - 1] & ~seen
            fresh = (fresh ^ low) | onward
            seen |= onward
        return bool(seen & goal)

    def result(self, state: State, x: int, y: int, clique: int) -> Bools:
        A = state.matrix.copy()
        A[y, members(clique)] = False
        A[members(state.lines[y] & ~clique), y] = False
        above = clique & state.lines[x]
        A[x, members(above)] = False
        A[members(state.lines[x] & ~above), x] = False
        A[x, y], A[y, x] = True, False
        return A


class Step(NamedTuple):
    """A step, the question whose gain it wins, and the one whose gain it loses."""

    x: int
    y: int
    clique: int
    won: Question | None
    lost: Question | None


def steps(
    state: State, operator: Operator, pairs: Bools, association: Floats, max_parents: int
) -> list[Step]:
    """One for each clique of each of these pairs; not all need be valid. Nothing is inserted
    beside ``max_parents`` or more others."""
    found = [
        Step(x, y, clique, *operator.terms(state, x, y, clique))
        for x, y in np.argwhere(pairs).tolist()
        for clique in cliques(state, association[:, y], *operator.choices(state, x, y))
    ]
    return [step for step in found if step.won is None or step.won[2].bit_count() < max_parents]


def cliques(state: State, association: Floats, always: int, free: int) -> list[int]:
    """Cliques with all of ``always`` and some of ``free``: small ones first, and those of the
    most associated columns first."""
    if not state.is_clique(always):
        return []
    if not free:
        return [always]
    ranked = sorted(members(free), key=lambda v: (-association[v], v))
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


def class_of(pdag: Bools, constraints: Constraints) -> State | None:
    """The class of a PDAG's extensions, if it has some that honour knowledge."""
    if (collider_arrows(pdag) & ~constraints.allowed).any():
        return None
    dag = extension(pdag)
    if dag is None:
        return None
    matrix = cpdag(dag)
    return None if closed(matrix, constraints) is None else State.of(matrix)
