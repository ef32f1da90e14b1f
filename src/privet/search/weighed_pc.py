"""The whole search: skeleton order by order, then arrows from weighed colliders.

A judge answers from evidence; the search knows neither data nor privacy, nor what the evidence
is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.pc import Skeleton, complete, prune

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]

# Separators of two and more are formed from this many of the strongest neighbours.
WIDEST = 8
# A collider must be this much (in nats) better than none: one weak false collider turns a dozen
# edges. The weight of one triple is bounded, so that none can outvote all others.
COLLIDER_PRIOR, HEAVIEST_TRIPLE = 2.0, 15.0


class Judge(Protocol):
    """What a search asks: margins (negative: independent) and costs (small: independent)."""

    def strengths(self) -> Floats: ...

    def margins(self, questions: Indices) -> Floats: ...

    def costs(self, questions: Indices) -> Floats: ...


def skeleton(judge: Judge, constraints: Constraints, max_order: int) -> Skeleton:
    strength = judge.strengths()
    found = complete(len(strength), constraints.possible)
    for order in range(max_order + 1):
        found = prune(
            found,
            order,
            judge.margins,
            strength=strength,
            required=constraints.required,
            widest=None if order < 2 else WIDEST,
        )
    return constraints.without_circles(found, strength)


def arrows(
    judge: Judge, found: Skeleton, constraints: Constraints, rng: np.random.Generator
) -> Bools:
    """The CPDAG over a skeleton that the evidence for and against colliders likes best."""
    triples = unshielded(found.adjacent)
    weights = collider_weights(judge.costs, found.adjacent, triples)
    return orient(found.adjacent, triples, weights, allowed=constraints.allowed, rng=rng)


def collider_weights(
    costs: Callable[[Indices], Floats], adjacent: Bools, triples: Indices
) -> Floats:
    """For i - k - j: how much worse independence of i and j fits with k given than without.

    Both sides may add one neighbour of i or j to the separator, and take the best.
    """
    best = np.full((len(triples), 2), np.inf)
    by_size: dict[int, list[tuple[int, int, tuple[int, ...]]]] = {}
    for at, (i, k, j) in enumerate(triples.tolist()):
        near = np.flatnonzero(adjacent[i] | adjacent[j]).tolist()
        for given in [(), *((z,) for z in near if z not in (i, j, k))]:
            by_size.setdefault(len(given), []).append((at, 0, (i, j, *given)))
            by_size.setdefault(len(given) + 1, []).append((at, 1, (i, j, k, *given)))
    for asked in by_size.values():
        questions = np.array([question for _, _, question in asked], dtype=np.intp)
        unique, where = np.unique(questions, axis=0, return_inverse=True)
        answers = costs(unique)[where.ravel()]
        place = np.array([(at, side) for at, side, _ in asked], dtype=np.intp)
        np.minimum.at(best, (place[:, 0], place[:, 1]), answers)
    difference = np.clip(best[:, 1] - best[:, 0], -HEAVIEST_TRIPLE, HEAVIEST_TRIPLE)
    weights: Floats = difference - COLLIDER_PRIOR
    return weights
