"""Greedy equivalence search: from class to class by inserting, deleting and turning one edge.

Chickering (2002), with the turning phase of Hauser and Bühlmann (2012). The steps are those of
``classes.py``.

Insertions, deletions and turns follow each other in rounds, unless the search may go back
(``eager.py``).

Gains from noisy evidence need not be differences of any one score. The search ends all the
same: inserting adds an edge each time, deleting takes one away, turning turns each arrow once
a round, and there are a few rounds at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from privet.arrays import Bools
from privet.graph.bits import bitsets
from privet.graph.meek import cpdag
from privet.search.classes import Bounds, Delete, Insert, Operator, Turn
from privet.search.compiled import climbed, in_rounds
from privet.search.constraints import Constraints
from privet.search.eager import eagerly
from privet.search.hill_climb import Remembered, closed
from privet.search.options import Options, Weights, differing
from privet.search.protocols import Formula, GainRows, Gains
from privet.search.rows import Rows
from privet.search.states import State

# Forward, backward and turning are repeated until nothing improves, or so many times.
MOST_ROUNDS = 10


def ges(
    gains: Gains,
    constraints: Constraints,
    *,
    rows: GainRows | None = None,
    max_parents: int | None = None,
    candidates: Bools | None = None,
    start: Bools | None = None,
    detours: Bools | None = None,
    eager: bool = False,
    formula: Formula | None = None,
) -> Bools:
    """The CPDAG, closed under knowledge, that no single step improves.

    It sets out from the required edges (or from ``start``, a DAG that honours knowledge), and
    visits only classes with a DAG that honours knowledge. What is forbidden may bar the way to
    a better class: so at the end the search goes on as if nothing were forbidden between pairs
    that are possible or shield a triple, and where that leads to is taken if it honours knowledge
    after all. Where gains can be trusted between some pairs only, these are ``detours``: no others
    are joined on such a way.

    ``rows`` are the same gains by the row, where these are quick to find. Nothing is inserted
    beside ``max_parents`` or more others. For each pair at most ``MOST_CLIQUES`` cliques are
    tried: small ones first, of the neighbours of y that are most associated with it.

    ``candidates`` (symmetric) are the only pairs to be joined, but for those that shield a
    triple: i and j are admitted while i - k - j are joined. Without this the search would be
    stuck where an arrow at k is wrong [Nandy, Hauser, Maathuis 2018: ARGES].

    ``eager``, for gains that are the differences of one score: the search may go back
    (``eager.py``), which takes longer, unless they have a ``formula``.
    """
    size = len(constraints.allowed)
    first = constraints.required & constraints.allowed if start is None else start
    among = constraints.possible if candidates is None else candidates
    known = Rows(Remembered(gains), rows, among)
    most = size if max_parents is None else max_parents
    operators = Insert(None if candidates is None else bitsets(candidates)), Delete(), Turn()
    climb = partial(_eagerly, formula) if eager else _in_rounds
    state = climb(State.of(cpdag(first)), Weights(Bounds.of(constraints), known, most), operators)
    found = closed(state.matrix, constraints)
    assert found is not None, "every state has a DAG that honours knowledge"
    if (unbound := _unbound(constraints, detours)) is not None:
        weights = Weights(Bounds.of(unbound), known, most)
        detour = climb(state, weights, (Insert(bitsets(among)), Delete(), Turn()))
        better = closed(detour.matrix, constraints)
        return found if better is None else better
    return found


def _unbound(constraints: Constraints, pairs: Bools | None) -> Constraints | None:
    """Required edges only: nothing is forbidden between these pairs. None if nothing was."""
    required = constraints.required & constraints.allowed
    possible = ~np.eye(len(required), dtype=bool) if pairs is None else pairs
    allowed = possible & ~required.T
    if np.array_equal(allowed, constraints.allowed):
        return None
    return Constraints(allowed, possible, constraints.required)


def _eagerly(
    formula: Formula | None, state: State, weights: Weights, operators: tuple[Insert, Delete, Turn]
) -> State:
    found = None
    if formula is not None and operators[0].candidates is None:
        found = climbed(state, weights, formula)
    return eagerly(state, weights, operators) if found is None else found


def _in_rounds(state: State, weights: Weights, operators: tuple[Insert, Delete, Turn]) -> State:
    found = in_rounds(state, weights, operators[0].candidates)
    return _rounds(state, weights, operators) if found is None else found


def _rounds(state: State, weights: Weights, operators: Sequence[Operator]) -> State:
    """All phases in turn, until a round ends where one began. A phase takes the best valid step
    of one kind, again and again until none improves."""
    kinds = [Options(weights, operator) for operator in operators]
    seen: set[tuple[int, ...]] = set()
    while (key := tuple(state.onward)) not in seen and len(seen) < MOST_ROUNDS:
        seen.add(key)
        for mine in kinds:
            mine.begin()
            while (step := mine.best(state)) is not None:
                _, new = step
                changed = differing(state, new)
                for each in kinds:
                    each.hear(state, new, changed)
                state = new
    return state
