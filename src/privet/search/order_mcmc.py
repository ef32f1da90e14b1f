"""Iterative order MCMC: sample orders of the columns instead of graphs.

Given an order, each column chooses its parents among those before it independently of the
others, so the sum over all graphs that fit an order is a product of small sums, and a chain over
orders mixes far better than one over graphs [Friedman, Koller 2003]. The sums are tabulated over
a few candidate parents of each column and one further parent from anywhere; the edges of the
best graph then join the candidates, until that graph wants none from outside [Kuipers, Suter,
Moffa 2022].

The law that is sampled gives a graph the weight exp(score) times the number of orders that it
fits. So it favours graphs that fit many orders: the known price of sampling orders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.meek import cpdag, meek
from privet.search.constraints import Constraints
from privet.search.order_tables import Space, Tables
from privet.search.protocols import Locals

# A step moves one column to a place drawn from all places, or tries to swap two columns. Each
# chain takes STEPS p² log p of them, within bounds (MOST_STEPS is reached at 40 columns).
STEPS, FEWEST_STEPS, MOST_STEPS = 2.0, 500, 10_000
# The first share of the last chain is forgotten; so many graphs are drawn from the rest.
BURN_IN, SAMPLES = 0.2, 1000

# Each round starts from the best order so far and from random ones, since one chain may be stuck.
CHAINS = 4

Value = Callable[[Indices, Bools], Floats]


@dataclass(frozen=True)
class Sampled:
    """``graph``: the CPDAG of the best DAG, closed under knowledge; ``best_score``: its score.

    ``edges[i, j]``: share of the sampled DAGs in which the two are joined; ``arrows[i, j]``:
    share whose *CPDAG* (closed under knowledge) has i --> j, so an edge that may point either
    way counts for neither arrow.
    """

    graph: Bools
    best_score: float
    edges: Floats
    arrows: Floats


def order_mcmc(
    local: Locals,
    start: Bools,
    constraints: Constraints,
    rng: np.random.Generator,
    *,
    max_parents: int = 4,
    steps: int | None = None,
) -> Sampled:
    """The best graph found and a sample of graphs, from the candidate edges ``start``.

    ``max_parents`` bounds the parents of a column, required ones and the one from outside
    included (more only where more are required). ``steps`` is the length of each round.
    """
    if steps is None:
        wanted = ceil(STEPS * len(start) ** 2 * log(len(start) + 1))
        steps = min(max(wanted, FEWEST_STEPS), MOST_STEPS)
    space = Space(local, constraints, max_parents)
    space.admit(start | start.T)
    order = _start(constraints, rng)
    while True:
        tables = space.tables()
        starts = [order, *(_start(constraints, rng) for _ in range(CHAINS - 1))]
        chains = [_Chain(tables, start, rng) for start in starts]
        for chain in chains:
            chain.walk(steps // CHAINS)
        order, score = max((chain.climbed() for chain in chains), key=lambda met: met[1])
        chain = _Chain(tables, order, rng)
        best = chain.graph(order, np.argmax)
        if not space.admit(best | best.T):
            break
    edges, arrows = _shares(chain, constraints, steps)
    return Sampled(_class(best, constraints), score, edges, arrows)


def _start(constraints: Constraints, rng: np.random.Generator) -> Indices:
    """A random order in which required causes come before their effects."""
    required = constraints.required & constraints.allowed
    waiting, order = rng.permutation(len(required)).tolist(), []
    while waiting:
        ready = next(i for i in waiting if not required[waiting, i].any())
        waiting.remove(ready)
        order.append(ready)
    return np.array(order, dtype=np.intp)


def _shares(chain: _Chain, constraints: Constraints, steps: int) -> tuple[Floats, Floats]:
    """How many of the graphs drawn along the chain have each edge and each compelled arrow."""

    def drawn(scores: Floats) -> int:
        return int((scores + chain.rng.gumbel(size=len(scores))).argmax())

    chain.walk(int(BURN_IN * steps))
    count = min(SAMPLES, steps)
    edges, arrows = np.zeros((2, *constraints.allowed.shape))
    for _ in range(count):
        chain.walk(steps // count)
        dag = chain.graph(chain.order, drawn)
        equivalent = _class(dag, constraints)
        edges += dag | dag.T
        arrows += equivalent & ~equivalent.T
    return edges / count, arrows / count


def _class(dag: Bools, constraints: Constraints) -> Bools:
    return meek(cpdag(dag), constraints.allowed & ~constraints.allowed.T)


class _Chain:
    """A chain over orders at temperature 1, which remembers the best order that it met."""

    def __init__(self, tables: Tables, order: Indices, rng: np.random.Generator) -> None:
        self.tables, self.order, self.rng = tables, order, rng
        self.total = _total(order, tables.weights)
        self.top, self.top_order = _total(order, tables.best), order

    def walk(self, steps: int) -> None:
        for relocate in (self.rng.random(steps) < 0.5).tolist():
            if self._relocate() if relocate else self._swap():
                top = _total(self.order, self.tables.best)
                if top > self.top:
                    self.top, self.top_order = top, self.order

    def _swap(self) -> bool:
        """Two columns change places, if the odds of the two orders say so [Metropolis]."""
        first, second = self.rng.integers(len(self.order), size=2).tolist()
        order = self.order.copy()
        order[[first, second]] = order[[second, first]]
        total = _total(order, self.tables.weights)
        if first == second or log(1 - self.rng.random()) >= total - self.total:
            return False
        self.order, self.total = order, total
        return True

    def _relocate(self) -> bool:
        """One column goes to a place drawn by the odds of all the places that it may have."""
        moved = int(self.rng.integers(len(self.order)))
        totals = _places(self.order, moved, self.tables.weights)
        at = int((totals + self.rng.gumbel(size=len(totals))).argmax())
        if self.order[at] == moved:
            return False
        self.order, self.total = _relocated(self.order, moved, at), float(totals[at])
        return True

    def climbed(self) -> tuple[Indices, float]:
        """The best order met, each column moved to its best place until no move gains; and the
        score of its best graph."""
        order, top, moved_last, moved = self.top_order, self.top, 0, 0
        while moved_last < len(order):
            totals = _places(order, moved, self.tables.best)
            at = int(totals.argmax())
            moved_last += 1
            if totals[at] > top + 1e-9:
                order, top, moved_last = _relocated(order, moved, at), float(totals[at]), 0
            moved = (moved + 1) % len(order)
        return order, top

    def graph(self, order: Indices, choose: Callable[[Floats], int | np.intp]) -> Bools:
        """The DAG whose parent sets are chosen, by their scores, among those that fit."""
        dag = np.zeros((len(order), len(order)), dtype=bool)
        for child, before in zip(order.tolist(), _earlier(order), strict=True):
            family = self.tables.families[child]
            sets = family.within(before)
            dag[family.parents(int(sets[choose(family.scores[sets])])), child] = True
        return dag


def _total(order: Indices, value: Value) -> float:
    return float(value(order, _earlier(order)).sum())


def _earlier(order: Indices) -> Bools:
    """Row k: the columns that stand before the k-th one."""
    places = np.arange(len(order))
    place = np.empty_like(places)
    place[order] = places
    return np.asarray(place < places[:, None])


def _relocated(order: Indices, moved: int, at: int) -> Indices:
    others = order[order != moved]
    return np.concatenate([others[:at], [moved], others[at:]])


def _places(order: Indices, moved: int, value: Value) -> Floats:
    """What the order is worth with one column in each place, the others left as they are."""
    size = len(order)
    others = order[order != moved]
    before = _earlier(np.append(others, moved))  # row k: the first k of the others
    after = before[:-1].copy()
    after[:, moved] = True
    children = np.concatenate([others, others, np.full(size, moved)])
    worth = value(children, np.concatenate([before[:-1], after, before]))
    without, within, totals = worth[: size - 1], worth[size - 1 : -size], worth[-size:]
    totals[1:] += np.cumsum(without)
    totals[:-1] += np.cumsum(within[::-1])[::-1]
    return totals
