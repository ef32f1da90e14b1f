"""Arrows that follow from arrows: Meek's rules, equivalence classes, extensions.

Everything here works on boolean matrices and knows neither names nor data. The convention:
``A[i, j] and not A[j, i]`` is i --> j, both is i --- j, neither is no edge.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Bools
from privet.errors import GraphError, KnowledgeError
from privet.graph.bits import bitsets, members
from privet.graph.knowledge import Knowledge


def meek(A: Bools, fixed: Bools | None = None) -> Bools:
    """Orient every undirected edge whose direction follows, by Meek's rules 1 to 4 [Meek 1995].

    ``fixed[i, j]`` first turns an undirected i --- j into i --> j (knowledge). Arrows are never
    turned round. If A has a consistent extension, so has the result, and the result does not
    depend on the order of the nodes. If A has none, an edge that the rules push both ways stays
    undirected, and the result may hold a circle: ``extension`` then returns None.
    """
    A = A.copy()
    if fixed is not None:
        A &= ~(fixed.T & ~fixed & A & A.T)
    while True:
        arrows, lines = A & ~A.T, A & A.T
        if not lines.any() or not arrows.any():
            return A
        implied = lines & (_rule1(A, arrows) | _rule2(arrows))
        implied &= ~implied.T
        if not implied.any():
            implied = _rules_3_and_4(A, arrows, lines)
            implied &= ~implied.T
        if not implied.any():
            return A
        A &= ~implied.T


def _paths(first: Bools, second: Bools) -> NDArray[np.float32]:
    """Number of k with first[i, k] and second[k, j] (small whole numbers, exact in float32)."""
    return first.astype(np.float32) @ second.astype(np.float32)


def _apart(A: Bools) -> Bools:
    """Pairs of different nodes without an edge."""
    apart = ~(A | A.T)
    np.fill_diagonal(apart, False)
    return apart


def _rule1(A: Bools, arrows: Bools) -> Bools:
    """a --> b --- c with a, c apart: b --> c, else b would be a new collider."""
    return _paths(arrows.T, _apart(A)) > 0


def _rule2(arrows: Bools) -> Bools:
    """a --> b --> c with a --- c: a --> c, else a circle."""
    return _paths(arrows, arrows) > 0


def _rules_3_and_4(A: Bools, arrows: Bools, lines: Bools) -> Bools:
    """Rule 3: a --- c --> b, a --- d --> b with c, d apart: a --> b.
    Rule 4: a --- d --> c --> b with a, c joined and b, d apart: a --> b."""
    implied = np.zeros_like(A)
    joined, apart = A | A.T, _apart(A)
    for a, b in np.argwhere(lines & (_paths(lines, arrows) > 1)):
        middle = np.flatnonzero(lines[a] & arrows[:, b])
        implied[a, b] = apart[np.ix_(middle, middle)].any()
    for a, b in np.argwhere(lines & (_paths(joined, arrows) > 0)):
        starts = np.flatnonzero(lines[a] & apart[b])
        ends = np.flatnonzero(joined[a] & arrows[:, b])
        implied[a, b] |= arrows[np.ix_(starts, ends)].any()
    return implied


def collider_arrows(A: Bools) -> Bools:
    """The arrows i --> k that meet an arrow j --> k with i, j apart."""
    arrows = A & ~A.T
    return arrows & (_paths(_apart(A), arrows) > 0)


def vstructures(A: Bools) -> frozenset[tuple[int, int, int]]:
    """All (i, k, j), i < j, with i --> k <-- j and i, j apart."""
    arrows, apart = A & ~A.T, _apart(A)
    return frozenset(
        (int(i), int(k), int(j))
        for k in np.flatnonzero(collider_arrows(A).any(axis=0))
        for i in np.flatnonzero(arrows[:, k])
        for j in np.flatnonzero(arrows[:, k] & apart[i])
        if i < j
    )


def cpdag(dag: Bools) -> Bools:
    """The CPDAG of a DAG: an arrow where every DAG with the same independences agrees.

    Colliders plus Meek's rules are complete for this [Meek 1995, Theorem 3].
    """
    if not dag.any():
        return dag.copy()
    kept = collider_arrows(dag)
    return meek(dag | (dag.T & ~kept.T))


def extension(pdag: Bools) -> Bools | None:
    """A DAG with the edges, arrows and colliders of ``pdag``, or None if there is none.

    Dor and Tarsi (1992): take away a node that can come last (no arrow leaves it, and each of
    its undirected neighbours is joined to all its other neighbours), until none is left. Such a
    node stays one while others are taken away, so any choice works; the largest index is taken.
    """
    joined, outgoing, lines = (
        bitsets(pdag | pdag.T),
        bitsets(pdag & ~pdag.T),
        bitsets(pdag & pdag.T),
    )
    left = (1 << len(pdag)) - 1

    def can_be_last(x: int) -> bool:
        around = joined[x] & left
        return not outgoing[x] & left and all(
            not around & ~(joined[y] | 1 << y) for y in members(lines[x] & left)
        )

    dag = pdag.copy()
    ready = [-x for x in range(len(pdag)) if can_be_last(x)]
    heapq.heapify(ready)
    queued = {-x for x in ready}
    while ready:
        x = -heapq.heappop(ready)
        left &= ~(1 << x)
        for y in members(joined[x] & left):
            dag[x, y] = False
            if y not in queued and can_be_last(y):
                queued.add(y)
                heapq.heappush(ready, -y)
    return None if left else dag


def is_acyclic(A: Bools) -> bool:
    """Whether the arrows of A (undirected edges aside) run in no circle."""
    return in_no_circle(np.argwhere(A & ~A.T).tolist(), len(A))


def in_no_circle(arrows: Iterable[Sequence[int]], size: int) -> bool:
    """The same of arrows as pairs of so many nodes."""
    onward, before = [0] * size, [0] * size
    for x, y in arrows:
        onward[x] |= 1 << y
        before[y] |= 1 << x
    left = (1 << size) - 1
    ends = [x for x in range(size) if not onward[x]]
    while ends:  # each is taken away once, when nothing is left that it leads to
        x = ends.pop()
        left ^= 1 << x
        ends += [y for y in members(before[x]) if not onward[y] & left]
    return not left


def apply_knowledge(A: Bools, names: Sequence[str], knowledge: Knowledge) -> Bools:
    """Orient the undirected edges of A that knowledge decides, then close under Meek's rules.

    Raises KnowledgeError if an edge or an arrow of A is not allowed or a required one is
    missing, and GraphError if the wanted arrows cannot stand together (a circle or a collider
    that A does not have); the caller decides what then gives way.
    """
    fixed = _decided(A, names, knowledge)
    closed = meek(A, fixed)
    turned = bool((closed != A).any())
    if (turned and vstructures(closed) != vstructures(A)) or extension(closed) is None:
        wanted = ", ".join(f"{names[i]} --> {names[j]}" for i, j in np.argwhere(fixed & A & A.T))
        raise GraphError(
            f"the arrows that knowledge asks for ({wanted or 'none'}) make a circle or a new "
            "collider in this graph; drop one of them, or search again with this knowledge"
        )
    return closed


def _decided(A: Bools, names: Sequence[str], knowledge: Knowledge) -> Bools:
    """The arrows i --> j of A that knowledge leaves as the only choice."""
    at = {name: i for i, name in enumerate(names)}
    for a, b in sorted(knowledge.required):
        if not A[at[a], at[b]]:
            raise KnowledgeError(
                f"the arrow {a!r} --> {b!r} is required, but the graph "
                f"{'has it the other way round' if A[at[b], at[a]] else 'does not join the two'}; "
                "search again with this knowledge, or drop the arrow from it"
            )
    fixed = np.zeros_like(A)
    for i, j in np.argwhere(A):
        a, b = names[i], names[j]
        if not (knowledge.may(a, b) or (A[j, i] and knowledge.may(b, a))):
            raise KnowledgeError(
                f"the graph has {a!r} {'---' if A[j, i] else '-->'} {b!r}, which knowledge "
                "forbids; search again with this knowledge, or allow the arrow in it"
            )
        fixed[i, j] = not knowledge.may(b, a)
    return fixed
