"""A graph held against the evidence: what it implies is tested, and what is wrong is mended.

In a DAG one of any two columns is no descendant of the other. So if they are not joined, they are
independent given the parents of both, and if they are joined they are not. PC never asks for that:
one wrong answer about a small separator, and an edge is gone for good. Here each pair is asked for
given the parents of both ends, and where the answer contradicts the graph

- two columns are joined, if of all such pairs theirs is the surest of either end: one missing edge
  makes many pairs seem dependent, and goes before them [all at once, dense graphs end in a mess];
- an edge is taken away, if the answer itself speaks for independence. That too little speaks for
  the edge is no reason: noise blunts a question more the more columns are given.

Then arrows are drawn anew, and all is asked again, until nothing is contradicted, a skeleton comes
back or the rounds are over. Of all graphs on the way the one that is contradicted least is taken,
the first of these. With perfect answers the true graph is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.bits import flags_of
from privet.search.colliders import best_dag, unshielded
from privet.search.compiled import refined as compiled
from privet.search.constraints import Constraints
from privet.search.pc import collider_weights
from privet.search.protocols import ClosedForm, Judge
from privet.search.skeleton import Ask, Skeleton, surest

MOST_ROUNDS = 20
RESTARTS = 5  # more find no better graphs: there is another round [found by experiment]


@dataclass(frozen=True)
class Refined:
    """A DAG, and for each x < y the margin given the parents of both."""

    dag: Bools
    margins: Floats


def refined(
    judge: Judge,
    graph: Bools,
    constraints: Constraints,
    rng: np.random.Generator,
    *,
    bar: float,
    tests: ClosedForm | None = None,
) -> Refined:
    """From a DAG, or from a skeleton (symmetric) on which arrows are to be drawn, to the DAG whose
    implications the judge contradicts least. A margin is the logarithm of a Bayes factor less
    ``bar``; ``tests`` are the same margins in closed form."""
    orders = [rng.permutation(len(graph)) for _ in range(RESTARTS)]
    if tests is not None and constraints.free:
        found = compiled(graph, tests, np.array(orders), MOST_ROUNDS)
        if found is not None:
            return Refined(*found)
    return _refined(judge, graph, constraints, orders, bar)


def _refined(
    judge: Judge,
    graph: Bools,
    constraints: Constraints,
    orders: Sequence[Indices],
    bar: float,
) -> Refined:
    strength, adjacent, drawn = judge.strengths(), graph | graph.T, not (graph == graph.T).all()
    seen: set[bytes] = set()
    margins, before, best = np.zeros(graph.shape), None, None
    while len(seen) <= MOST_ROUNDS and adjacent.tobytes() not in seen:
        first = not seen
        seen.add(adjacent.tobytes())
        if first and drawn:
            dag = graph
        else:
            dag = _oriented(judge.margins, adjacent, constraints.allowed, orders)
        margins = _asked(judge.margins, dag, margins, before)
        before = dag
        missing, idle = contradicted(adjacent, margins, constraints, bar)
        against = int(missing.sum() + idle.sum())
        if best is None or against < best[0]:
            best = against, Refined(dag, margins)
        found = Skeleton((adjacent | _surest(missing, margins)) & ~idle, {})
        adjacent = constraints.without_circles(found, strength).adjacent
    assert best is not None, "there is a first round"
    return best[1]


def contradicted(
    adjacent: Bools, margins: Floats, constraints: Constraints, bar: float
) -> tuple[Bools, Bools]:
    """The pairs that are not joined and should be, and those that should not be; symmetric."""
    both = margins + margins.T
    missing = ~adjacent & constraints.possible & (both > 0)
    idle = adjacent & ~constraints.required & (both < -bar)
    return missing, idle


def _surest(missing: Bools, margins: Floats) -> Bools:
    """Those that no other one of either end exceeds."""
    return surest(np.where(missing, margins + margins.T, 0.0))


def _oriented(ask: Ask, adjacent: Bools, allowed: Bools, orders: Sequence[Indices]) -> Bools:
    triples = unshielded(adjacent)
    weights = collider_weights(ask, adjacent, triples)
    some = orders if len(triples) else orders[:1]
    return flags_of(best_dag(adjacent, triples, weights, allowed, some), len(adjacent)).T


def _asked(ask: Ask, dag: Bools, known: Floats, before: Bools | None) -> Floats:
    """The margin of each pair given the parents of both, where these are not the same as before."""
    changed = np.ones(len(dag), dtype=bool) if before is None else (dag != before).any(axis=0)
    pairs = np.argwhere(np.triu(changed | changed[:, None], 1))
    out = known.copy()
    for questions in implied(dag, pairs):
        out[questions[:, 0], questions[:, 1]] = ask(questions)
    return out


def implied(dag: Bools, pairs: Indices) -> Iterator[Indices]:
    """Questions about these pairs given the parents of both ends, those of one width together."""
    (x, y), every = pairs.T, np.arange(len(pairs))
    given = dag.T[x] | dag.T[y]
    given[every, x] = given[every, y] = False
    widths = given.sum(axis=1)
    for width in np.unique(widths).tolist():
        at = np.flatnonzero(widths == width)
        beside = np.nonzero(given[at])[1].reshape(len(at), width)
        yield np.concatenate([pairs[at], beside], axis=1)
