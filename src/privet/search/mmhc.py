"""MMHC: who may be joined to whom by max-min parents and children, then hill climbing there.

Tsamardinos, Brown and Aliferis (2006). Each column's candidates grow one by one: next comes the
column whose association, at its weakest over all separators from the candidates so far, is the
strongest. All columns grow in step, so that each step asks the judge once per width. At the end
candidates go that the others separate, and a pair stays only if each side has chosen the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph.bits import bits_of
from privet.graph.meek import extension
from privet.search.constraints import Constraints
from privet.search.ges import ges
from privet.search.hill_climb import Remembered, climb, known_class
from privet.search.pc import WIDEST
from privet.search.protocols import Gains, Judge


def mmhc(judge: Judge, gains: Gains, constraints: Constraints, candidates: Bools) -> Bools:
    """The CPDAG, closed under knowledge, of the best DAG found between candidate pairs (``mmpc``).

    Hill climbing over DAGs stops at local optima even if every answer is right (for one in five
    random DAGs of 5 to 12 nodes). So it goes on with the steps of GES, for which right answers
    lead to the true class. These may join other pairs on their way: where such edges are left,
    they are taken out, and the climb goes on from there.
    """
    dag = climb(gains, constraints, candidates)
    found = ges(gains, constraints, candidates=candidates, start=dag)
    if (found & ~candidates).any():
        start = _member(found, judge.strengths()) & candidates
        found = known_class(climb(gains, constraints, candidates, start=start), constraints)
    return found


def _member(A: Bools, strength: Floats) -> Bools:
    """A DAG of the class; which one depends on the strengths of columns, not on their numbers."""
    order = np.argsort(strength.sum(axis=0), kind="stable")
    inner = np.ix_(order, order)
    dag = extension(A[inner])
    assert dag is not None, "a CPDAG has a DAG"
    out = np.zeros_like(A)
    out[inner] = dag
    return out


def mmpc(judge: Judge, constraints: Constraints, max_order: int) -> Bools:
    """Which pairs (symmetric) no separator of up to ``max_order`` columns has parted.

    Separators of two and more are formed from the strongest candidates only (``WIDEST``).
    Required pairs are never asked about; an answer of inf (cannot say) parts nobody.
    """
    search = _Candidates(
        Remembered(judge.margins),
        judge.strengths(),
        constraints.possible & ~constraints.required,
        max_order,
    )
    grown = search.grow(constraints.required)
    kept = search.shrink(grown)
    return kept & kept.T


@dataclass
class _Candidates:
    """``chosen[t, x]``: x is a candidate of t. ``open[t, x]``: it is worth asking about."""

    margins: Remembered
    strength: Floats
    open: Bools
    max_order: int

    def grow(self, start: Bools) -> Bools:
        chosen, weakest = start.copy(), np.where(self.open, np.inf, -np.inf)
        fresh: dict[int, int | None] = dict.fromkeys(range(len(start)))
        while fresh:
            self._weaken(weakest, chosen, fresh)
            fresh = {}
            for t, row in enumerate(weakest):
                x = int(np.lexsort((self.strength[t], row))[-1])
                if row[x] >= 0:
                    chosen[t, x], weakest[t, x], fresh[t] = True, -np.inf, x
        return chosen

    def _weaken(self, weakest: Floats, chosen: Bools, fresh: dict[int, int | None]) -> None:
        """Ask with the separators that each column's newest candidate brings (None: all)."""
        asked = [
            (t, x, given)
            for t, newest in fresh.items()
            for given in self._separators(t, chosen[t])
            if newest is None or given >> newest & 1
            for x in np.flatnonzero(weakest[t] >= 0).tolist()
        ]
        self.margins.learn(asked)
        for t, x, given in asked:
            weakest[t, x] = min(weakest[t, x], self.margins.gain(t, x, given))

    def shrink(self, chosen: Bools) -> Bools:
        """Without candidates that others of the same column separate, the weakest first."""
        doubtful = [(t, x) for t, x in np.argwhere(chosen & self.open).tolist()]
        doubtful.sort(key=lambda pair: (self.strength[pair], pair))
        parting = {
            (t, x): list(self._separators(t, chosen[t] & (np.arange(len(chosen)) != x)))
            for t, x in doubtful
        }
        self.margins.learn((t, x, given) for (t, x), sets in parting.items() for given in sets)
        kept = chosen.copy()
        for t, x in doubtful:
            there = bits_of(kept[t])
            kept[t, x] = not any(
                self.margins.gain(t, x, given) < 0 for given in parting[t, x] if not given & ~there
            )
        return kept

    def _separators(self, t: int, near: Bools) -> Iterator[int]:
        """Sets of up to ``max_order`` of the columns ``near`` t, as bits."""
        members = np.flatnonzero(near)
        strongest = members[np.argsort(-self.strength[t, members], kind="stable")[:WIDEST]]
        for order in range(self.max_order + 1):
            for given in combinations((members if order < 2 else strongest).tolist(), order):
                yield sum(1 << x for x in given)
