"""The whole search: skeleton order by order, then arrows from weighed colliders.

A judge answers from evidence; the search knows neither data nor privacy, nor what the evidence
is made of.
"""

from __future__ import annotations

from math import log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.protocols import Judge
from privet.search.skeleton import Ask, Skeleton, complete, prune

# Separators of two and more are formed from this many of the strongest neighbours.
WIDEST = 8
# The weight of one triple is bounded, so that none can outvote all others.
HEAVIEST_TRIPLE = 15.0
# Before looking, in a random order, the middle of a triple comes last in one case of three.
COLLIDERS, OTHERS = 1.0, 2.0
# Rounds in which the share of colliders settles at the latest.
ROUNDS = 100


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
    judge: Judge,
    found: Skeleton,
    constraints: Constraints,
    rng: np.random.Generator,
    restarts: int = 20,
) -> Bools:
    """The CPDAG over a skeleton that the evidence for and against colliders likes best."""
    triples = unshielded(found.adjacent)
    weights = collider_weights(judge.margins, found.adjacent, triples)
    return orient(
        found.adjacent, triples, weights, allowed=constraints.allowed, rng=rng, restarts=restarts
    )


def collider_weights(margins: Ask, adjacent: Bools, triples: Indices) -> Floats:
    """For i - k - j: the log odds that it is a collider.

    The Bayes factor is that of dependence of i and j with k given against without. Both sides
    may add one neighbour of i or j to the separator, and take the best.
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
        answers = margins(unique)[where.ravel()]
        place = np.array([(at, side) for at, side, _ in asked], dtype=np.intp)
        np.minimum.at(best, (place[:, 0], place[:, 1]), answers)
    factors = np.clip(best[:, 1] - best[:, 0], -HEAVIEST_TRIPLE, HEAVIEST_TRIPLE)
    return np.asarray(factors + log_odds(factors))


def log_odds(factors: Floats) -> float:
    """The odds that a triple is a collider, learnt from the log Bayes factors of all triples.

    Where nearly all triples are no colliders, one with weak evidence is none either: it would
    turn a dozen edges. Where many are, weak evidence is believed. The share is the one that
    agrees with its own posterior probabilities (empirical Bayes, by expectation maximisation).
    """
    share = COLLIDERS / (COLLIDERS + OTHERS)
    for _ in range(ROUNDS):
        believed = 1 / (1 + np.exp(-(factors + log(share / (1 - share)))))
        before, share = share, (believed.sum() + COLLIDERS) / (len(factors) + COLLIDERS + OTHERS)
        if share == before:
            break
    return log(share / (1 - share))
