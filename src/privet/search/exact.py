"""Exact search: the best DAG of all, by dynamic programming over subsets of columns.

Each DAG has a last node (a sink). So the best DAG over a set W is the best over some W without
v, and the best parents of v from there [Silander, Myllymäki 2006]. For each child the best
score within each subset of the others is the maximum over all its subsets, found for all of
them at once by passing maxima along one bit after the other. Nothing but those tables is kept:
once the order is known, the parents are looked up again.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Bools, Floats, Integers
from privet.errors import MethodError
from privet.search.constraints import Constraints
from privet.search.hill_climb import known_class
from privet.search.protocols import Locals

# Tables of 2^19 numbers for each of 20 columns: 80 MiB. One column more doubles them.
MOST_COLUMNS = 20


@dataclass(frozen=True)
class _Families:
    """The parent sets of one child that may stand (as bits over all columns), and their scores."""

    sets: Integers
    scores: Floats

    def best_within(self, before: int) -> int:
        inside = np.flatnonzero(self.sets & ~before == 0)
        return int(self.sets[inside[self.scores[inside].argmax()]])


def exact(local: Locals, constraints: Constraints, *, max_parents: int) -> Bools:
    """The CPDAG, closed under knowledge, of a DAG with the highest score of all that honour
    knowledge and have at most ``max_parents`` parents a node."""
    size = len(constraints.allowed)
    _check(constraints, max_parents)
    families = [_families(local, constraints, child, max_parents) for child in range(size)]
    sinks = _last_nodes([_best_scores(family, v, size) for v, family in enumerate(families)])
    dag = np.zeros((size, size), dtype=bool)
    left = (1 << size) - 1
    while left:
        child = int(sinks[left])
        left &= ~(1 << child)
        parents = families[child].best_within(left)
        dag[:, child] = parents >> np.arange(size) & 1
    return known_class(dag, constraints)


def _check(constraints: Constraints, max_parents: int) -> None:
    size = len(constraints.allowed)
    if size > MOST_COLUMNS:
        raise MethodError(
            f"exact search looks at every subset of the columns and serves up to {MOST_COLUMNS} "
            f"of them, but there are {size}; use order MCMC, which samples, or fewer columns"
        )
    most = int((constraints.required & constraints.allowed).sum(axis=0).max(initial=0))
    if most > max_parents:
        raise MethodError(
            f"knowledge requires {most} parents of one column, but exact search was told to "
            f"allow {max_parents}; raise the limit to {most} or require fewer"
        )


def _families(local: Locals, constraints: Constraints, child: int, max_parents: int) -> _Families:
    """All parent sets that knowledge and the limit allow and the evidence can score."""
    required = np.flatnonzero(constraints.required[:, child] & constraints.allowed[:, child])
    others = np.setdiff1d(np.flatnonzero(constraints.allowed[:, child]), required).tolist()
    sets, scores = [], []
    for extra in range(min(max_parents - len(required), len(others)) + 1):
        chosen = np.array(list(combinations(others, extra)), dtype=np.intp)
        forced = np.broadcast_to(required, (len(chosen), len(required)))
        parents = np.sort(np.hstack([chosen, forced]), axis=1)
        score = np.asarray(local(child, parents), dtype=np.float64)
        sets.append((1 << parents.astype(np.int64)).sum(axis=1)[score > -np.inf])
        scores.append(score[score > -np.inf])
    found = _Families(np.concatenate(sets), np.concatenate(scores))
    if not len(found.sets):
        raise MethodError(
            f"the evidence has no score for column {child + 1} with any set of up to "
            f"{max_parents} parents that knowledge allows; require fewer arrows, or measure more"
        )
    return found


def _best_scores(family: _Families, child: int, size: int) -> Floats:
    """For each subset of the other columns (its bit taken out), the best score within it."""
    best = np.full(1 << (size - 1), -np.inf)
    best[_without_bit(family.sets, child)] = family.scores
    for bit in range(size - 1):
        halves = best.reshape(-1, 2, 1 << bit)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return best


def _without_bit(sets: Integers, bit: int) -> Integers:
    """Sets that lack a member, renumbered as if there were no such column."""
    low = (1 << bit) - 1
    return sets & low | sets >> 1 & ~low


def _last_nodes(best: list[Floats]) -> NDArray[np.int8]:
    """For each set of columns, which of them comes last in its best DAG."""
    size = len(best)
    total = np.full(1 << size, -np.inf)
    total[0] = 0.0
    last = np.full(1 << size, -1, dtype=np.int8)
    everything = np.arange(1 << size, dtype=np.int64)
    counts = np.bitwise_count(everything)
    for count in range(1, size + 1):
        layer = everything[counts == count]
        for child in range(size):
            sets = layer[layer >> child & 1 == 1]
            rest = sets ^ (1 << child)
            value = total[rest] + best[child][_without_bit(rest, child)]
            better = value > total[sets]
            total[sets[better]] = value[better]
            last[sets[better]] = child
    if last[-1] < 0:
        raise MethodError(
            "the evidence has scores for no DAG that honours knowledge; measure more tables, or "
            "require fewer arrows"
        )
    return last
