"""PC-stable on answers that come in batches: the skeleton, order by order.

The search knows neither data nor privacy. It asks many questions (x, y, *Z) at once and gets a
margin for each: positive says dependent, negative independent, and its size says how surely.

What differs from the textbook, and makes it robust to noise [found by experiment]:
- All independences of an order are collected on the frozen graph and taken in the order of
  their credibility: first the edges that are weak compared with the paths through Z.
- A separator must make sense when it is used: each member of Z lies on a path between x and y
  in the graph as it is then. With a perfect oracle this never forbids a minimal separator.
- Explanations do not contradict each other. If z has nothing to do with y given S, then z and S
  do not explain x - y unless S alone does [the contraction axiom]; if x and S explain z - y, then
  z and S do not explain x - y [intersection]. Where x and z say nearly the same, or where x - z is
  strong and x - y weak, blunt tests find both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privet.arrays import Bools, Floats, Indices

Ask = Callable[[Indices], Floats]
# What separated x < y.
Separators = dict[tuple[int, int], tuple[int, ...]]


@dataclass(frozen=True)
class Skeleton:
    """Which columns are joined, and what separated the others."""

    adjacent: Bools
    separators: Separators


def complete(size: int, possible: Bools | None = None) -> Skeleton:
    adjacent = ~np.eye(size, dtype=bool)
    return Skeleton(adjacent if possible is None else adjacent & possible, {})


def prune(
    start: Skeleton,
    order: int,
    ask: Ask,
    *,
    strength: Floats,
    required: Bools,
    widest: int | None = None,
    circles: bool = False,
) -> Skeleton:
    """Take away the edges that some separator of this size explains.

    ``strength[x, y]`` ranks edges; ``widest`` bounds the neighbours (the strongest are kept)
    from which separators are formed. ``circles`` lets explanations go round in them.
    """
    questions = candidates(start.adjacent, order, strength, required, widest)
    return separated(start, questions, ask, strength, circles)


def separated(
    start: Skeleton, questions: Indices, ask: Ask, strength: Floats, circles: bool = False
) -> Skeleton:
    """Without the edges that one of these questions, all of one width, explains; the same object
    if there is none."""
    if not len(questions):
        return start
    margins = ask(questions)
    found = np.flatnonzero(margins < 0)
    ranked = found[_credible_first(questions[found], margins[found], strength)]
    neighbours = _bitsets(start.adjacent)
    adjacent, separators = start.adjacent.copy(), dict(start.separators)
    for x, y, *given in questions[ranked].tolist():
        if not adjacent[x, y] or (not circles and _circular(separators, x, y, given)):
            continue
        if _on_paths(neighbours, x, y, given):
            adjacent[x, y] = adjacent[y, x] = False
            neighbours[x] &= ~(1 << y)
            neighbours[y] &= ~(1 << x)
            separators[x, y] = tuple(given)
    return Skeleton(adjacent, separators) if len(separators) > len(start.separators) else start


def candidates(
    adjacent: Bools, order: int, strength: Floats, required: Bools, widest: int | None
) -> Indices:
    """Questions (x, y, *Z), x < y joined, Z among the neighbours of x or of y."""
    pairs = np.argwhere(np.triu(adjacent & ~required))
    if order == 0:
        return pairs
    questions: list[tuple[int, ...]] = []
    near = [strongest(adjacent[x], strength[x], widest) for x in range(len(adjacent))]
    for x, y in pairs.tolist():
        sides = (combinations([z for z in near[end] if z not in (x, y)], order) for end in (x, y))
        questions += [(x, y, *given) for given in sorted({*next(sides), *next(sides)})]
    return np.array(questions, dtype=np.intp).reshape(-1, order + 2)


def strongest(adjacent: Bools, strength: Floats, widest: int | None) -> list[int]:
    members = np.flatnonzero(adjacent)
    if widest is not None and len(members) > widest:
        members = np.sort(members[np.argsort(-strength[members], kind="stable")[:widest]])
    return [int(i) for i in members]


def _credible_first(questions: Indices, margins: Floats, strength: Floats) -> Indices:
    x, y, given = questions[:, 0], questions[:, 1], questions[:, 2:]
    weakness = strength[x, y]
    if given.shape[1]:
        through = np.minimum(strength[x[:, None], given], strength[y[:, None], given]).min(axis=1)
        weakness = weakness / through
    return np.lexsort((margins, weakness))


def _bitsets(adjacent: Bools) -> list[int]:
    return [sum(1 << int(j) for j in np.flatnonzero(row)) for row in adjacent]


def _on_paths(neighbours: list[int], x: int, y: int, given: Iterable[int]) -> bool:
    """Whether each z can be reached from x without y and from y without x (edge x-y aside)."""
    wanted = sum(1 << z for z in given)
    return not wanted or (
        not wanted & ~_reachable(neighbours, x, y) and not wanted & ~_reachable(neighbours, y, x)
    )


def _circular(separators: Separators, x: int, y: int, given: list[int]) -> bool:
    """Whether some z was separated from one end by the rest, or by the rest and the other end:
    then it does not explain x - y. What the other end alone separated is barred whatever the rest
    [found by experiment]."""
    for z in given:
        rest = {*given} - {z}
        for end, other in ((x, y), (y, x)):
            before = separators.get((min(z, end), max(z, end)))
            if before is not None and (before == (other,) or {*before} - {other} == rest):
                return True
    return False


def _reachable(neighbours: list[int], start: int, without: int) -> int:
    seen = fresh = 1 << start
    barred = 1 << without
    while fresh:
        low = fresh & -fresh
        fresh ^= low
        new = neighbours[low.bit_length() - 1] & ~seen & ~barred
        seen |= new
        fresh |= new
    return seen
