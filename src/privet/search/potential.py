"""Scores of families for noisy evidence, over the skeleton that its tests find.

A likelihood of noisy tables is no sum over families: noise is shared between them. What can be
had is a score that tells the orientations of one skeleton apart, as far as the evidence does.
Two DAGs over the same skeleton are equivalent if they have the same colliders, so

    s(y | P) = Σ_{x ∈ P} edge + Σ_{x, x' ∈ P, not joined} weight(x, y, x')

scores equivalent ones alike, and is a sum over families. The weight of a triple is a difference
of two log Bayes factors about x and x', which are not joined: near independence these are at
their best. Any number of parents is served, though no table of so many columns was measured. An
edge weighs more than all colliders together, so that none is given up for a better arrow.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Floats, Indices
from privet.search.colliders import unshielded
from privet.search.pc import collider_weights
from privet.search.protocols import Judge, Locals
from privet.search.skeleton import Skeleton


def potential(judge: Judge, found: Skeleton) -> Locals:
    """Local scores of parents among the neighbours in the skeleton; -inf: others are in it."""
    adjacent = found.adjacent
    triples = unshielded(adjacent)
    weights = collider_weights(judge.margins, adjacent, triples)
    place = adjacent.cumsum(axis=1) - 1  # of a neighbour among the neighbours of a column
    weight = [np.zeros((near, near)) for near in adjacent.sum(axis=1)]
    for (x, k, y), w in zip(triples.tolist(), weights.tolist(), strict=True):
        i, j = place[k, x], place[k, y]
        weight[k][i, j] = weight[k][j, i] = w
    edge = float(np.abs(weights).sum()) + 1.0

    def local(child: int, parents: Indices) -> Floats:
        width = parents.shape[1]
        out = np.full(len(parents), edge * width)
        known = adjacent[child][parents].all(axis=1)
        at = place[child][parents[known]]
        for i in range(width):
            for j in range(i):
                out[known] += weight[child][at[:, i], at[:, j]]
        out[~known] = -np.inf
        return out

    return local
