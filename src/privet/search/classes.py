"""The steps that lead from one equivalence class of DAGs to the next.

A step is named by an ordered pair x, y and a clique C of neighbours of y: the class has a DAG in
which y has just its parents and C as parents, and in that DAG the edge between x and y is inserted,
deleted or turned [Chickering 2002; Hauser, Bühlmann 2012]. What a step is worth is one gain (or the
difference of two), given those parents.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from privet.arrays import Floats
from privet.graph.bits import bitsets, members
from privet.search.constraints import Constraints
from privet.search.hill_climb import Question, closed
from privet.search.states import State

# Dense neighbourhoods have exponentially many cliques: so many are tried for one pair, small ones
# first, and strongly associated neighbours of y first.
MOST_CLIQUES = 256
# A step may be barred whatever the columns that something is known of.
ANYWHERE = -1


class Operator(Protocol):
    """One kind of step from x to y with a clique C of neighbours of y."""

    def sources(self, state: State, y: int, constraints: Bounds) -> int:
        """The x of which it may make a step to y, as bits."""

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        """Which neighbours of y are always in C, and which may be."""

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        """The question whose gain is won, and the one whose gain is lost."""

    def barred(self, state: State, x: int, y: int, clique: int) -> int:
        """0 if the step is valid; else it is not while the edges of these nodes, as bits, and of
        x and y stay as they are."""

    def result(self, state: State, x: int, y: int, clique: int) -> State | None:
        """The new class; None if there is no such DAG."""


@dataclass(frozen=True)
class Bounds:
    """What knowledge allows, in bits; ``free``: both directions of every possible edge."""

    constraints: Constraints
    possible: list[int]
    required: list[int]
    free: bool

    @staticmethod
    def of(constraints: Constraints) -> Bounds:
        possible, required = bitsets(constraints.possible), bitsets(constraints.required)
        free = bool((constraints.allowed == constraints.possible).all())
        return Bounds(constraints, possible, required, free)

    def hold(self, state: State) -> bool:
        """Whether a DAG of the class honours knowledge."""
        return self.free or closed(state.matrix, self.constraints) is not None


@dataclass(frozen=True)
class Insert:
    """x --> y between nodes that are apart; C holds all neighbours of y that x is joined to
    [Chickering 2002, Theorem 15]."""

    candidates: list[int] | None = None

    def sources(self, state: State, y: int, bounds: Bounds) -> int:
        apart = bounds.possible[y] & ~state.joined[y]
        if self.candidates is None:
            return apart
        near = self.candidates[y]
        for v in members(state.joined[y]):
            near |= state.joined[v]
        return apart & near

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        common = state.lines[y] & state.joined[x]
        return common, state.lines[y] & ~common

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        return (x, y, state.parents[y] | clique), None

    def barred(self, state: State, x: int, y: int, clique: int) -> int:
        return state.path(y, x, clique)

    def result(self, state: State, x: int, y: int, clique: int) -> State | None:
        changes = state.reordered({y: clique})
        if changes is None:
            return None
        return state.changed({**changes, y: state.parents[y] | clique | 1 << x})


class Delete:
    """x --> y or x --- y taken away; C is what stays above y of the neighbours that x is joined
    to, the others come below both [Chickering 2002, Theorem 17]."""

    def sources(self, state: State, y: int, bounds: Bounds) -> int:
        return (state.parents[y] | state.lines[y]) & ~bounds.required[y]

    def choices(self, state: State, x: int, y: int) -> tuple[int, int]:
        return 0, state.lines[y] & state.joined[x]

    def terms(
        self, state: State, x: int, y: int, clique: int
    ) -> tuple[Question | None, Question | None]:
        return None, (x, y, (state.parents[y] | clique) & ~(1 << x))

    def barred(self, state: State, x: int, y: int, clique: int) -> int:
        return 0

    def result(self, state: State, x: int, y: int, clique: int) -> State | None:
        changes = state.reordered({y: clique | 1 << x & state.lines[y]})
        if changes is None:
            return None
        return state.changed({**changes, y: (state.parents[y] | clique) & ~(1 << x)})


class Turn:
    """y --> x or y --- x made x --> y [Hauser, Bühlmann 2012, Propositions 31 and 34].

    The arrow: C holds all neighbours of y that x is joined to. The line: C has a member that x
    is not joined to (else the class stays as it is).
    """

    def sources(self, state: State, y: int, bounds: Bounds) -> int:
        return state.onward[y]

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

    def barred(self, state: State, x: int, y: int, clique: int) -> int:
        if not state.lines[y] >> x & 1:
            return state.path(y, x, clique | state.lines[x])
        far = clique & ~state.joined[x]
        left_out = state.lines[y] & state.joined[x] & ~clique
        between = clique ^ far | 1 << x | 1 << y
        return 0 if far and not self._connected(state, far, left_out, between) else ANYWHERE

    def _connected(self, state: State, start: int, goal: int, blocked: int) -> bool:
        """Whether lines lead from start to goal and avoid the blocked nodes."""
        seen, fresh = start | blocked, start
        while fresh and not seen & goal:
            low = fresh & -fresh
            onward = state.lines[low.bit_length() - 1] & ~seen
            fresh = (fresh ^ low) | onward
            seen |= onward
        return bool(seen & goal)

    def result(self, state: State, x: int, y: int, clique: int) -> State | None:
        above = clique & state.lines[x]
        if state.lines[y] >> x & 1:
            changes = state.reordered({y: clique, x: above | 1 << y})
        else:
            first, second = state.reordered({y: clique}), state.reordered({x: above})
            changes = None if first is None or second is None else {**first, **second}
        if changes is None:
            return None
        turned = {
            y: state.parents[y] | clique | 1 << x,
            x: (state.parents[x] | above) & ~(1 << y),
        }
        return state.changed({**changes, **turned})


class Step(NamedTuple):
    """A step, the question whose gain it wins, and the one whose gain it loses."""

    x: int
    y: int
    clique: int
    won: Question | None
    lost: Question | None


def steps(
    state: State, operator: Operator, y: int, sources: int, ranking: Floats, max_parents: int
) -> list[Step]:
    """One for each clique and each of these x; not all need be valid. Nothing is inserted beside
    ``max_parents`` or more others."""
    found = [
        Step(x, y, clique, *operator.terms(state, x, y, clique))
        for x in members(sources)
        for clique in cliques(state, ranking, *operator.choices(state, x, y))
    ]
    return [step for step in found if step.won is None or step.won[2].bit_count() < max_parents]


def cliques(state: State, ranking: Floats, always: int, free: int) -> list[int]:
    """Cliques with all of ``always`` and some of ``free``: small ones first, and those of the
    columns that rank highest first."""
    if not state.is_clique(always):
        return []
    if not free:
        return [always]
    ranked = members(free)
    if 1 << len(ranked) > MOST_CLIQUES:  # else all are tried
        ranked.sort(key=lambda v: (-ranking[v], v))
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
