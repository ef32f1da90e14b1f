"""Which classes of DAGs arrows and lines stand for.

A CPDAG has an arrow where all DAGs with the same independences agree. More arrows than these, from
knowledge, from pairs or from differences between sites, make an MPDAG [Perković, Kalisch, Maathuis
2017]: it is closed under Meek's rules, and some DAG has its arrows and no other collider.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Bools
from privet.graph.bits import bitsets, flags_of, members
from privet.graph.edge import Kind
from privet.graph.meek import extension, meek

CLASSES = ("cpdag", "mpdag")


def kind_of(A: Bools) -> Kind:
    """The narrowest of cpdag, mpdag and pdag that these arrows and lines are."""
    dag = extension(A)
    if dag is None:
        return "pdag"
    if np.array_equal(class_of(bitsets(dag.T)), A):
        return "cpdag"
    return "mpdag" if np.array_equal(meek(A), A) else "pdag"


def made_whole(A: Bools, dag: Bools) -> Bools:
    """A with all that follows by Meek's rules or, where no DAG has just its arrows and colliders,
    the CPDAG of ``dag``, which has the same edges."""
    closed = meek(A)
    return class_of(bitsets(dag.T)) if extension(closed) is None else closed


def class_of(parents: list[int]) -> Bools:
    """The CPDAG of the DAG in which each node has these parents, as bits.

    In an order in which causes come first, one look at each node tells which arrows into it every
    DAG of the class has [Chickering 1995]: with x the last of its parents, all, if one into x has
    no counterpart into y or y has a parent that x has not; else those that x has.
    """
    same = [0] * len(parents)
    place: dict[int, int] = {}
    for y in _causes_first(parents):
        x = max(members(parents[y]), key=place.__getitem__, default=None)
        place[y] = len(place)
        if x is None:
            continue
        new = same[x] & ~parents[y] or parents[y] & ~parents[x] & ~(1 << x)
        same[y] = parents[y] if new else same[x]
    dag, compelled = (flags_of(bits, len(bits)).T for bits in (parents, same))
    return np.asarray(dag | (dag & ~compelled).T)


def _causes_first(parents: list[int]) -> list[int]:
    placed, order = 0, []
    for node in range(len(parents)):
        todo = [node]
        while todo:
            missing = parents[todo[-1]] & ~placed
            if missing:
                todo.append(missing.bit_length() - 1)
                continue
            ready = todo.pop()
            if not placed >> ready & 1:
                placed |= 1 << ready
                order.append(ready)
    return order
