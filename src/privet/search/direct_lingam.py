"""DirectLiNGAM after its order: which columns before each one are its causes.

The order of the columns needs rows and is found behind the exact door (``lingam_query``). The
rest needs correlations alone: each column is regressed on those before it, and the weakest is
left out as long as that lowers the Bayesian information criterion. With groups, one graph serves
all of them, with weights of their own [Shimizu et al. 2011; Shimizu 2012].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.arrays import Bools, Floats
from privet.search.constraints import Constraints
from privet.search.notears import Weighted


def direct_lingam(
    order: Sequence[int],
    rows: Sequence[int],
    correlations: Floats,
    constraints: Constraints,
) -> Weighted:
    """The DAG in this order (causes first) that ``correlations[g]``, of ``rows[g]`` rows, want.

    ``weights[g]`` are those of group g, in units of its deviations. A group with fewer rows than
    a regression needs says nothing about the graph, and has no weights.
    """
    size = len(order)
    telling = np.flatnonzero(np.array(rows) > size + 1)
    count = np.array(rows, dtype=np.float64)[telling]
    arrows = np.zeros((size, size), dtype=bool)
    weights = np.zeros(correlations.shape)
    for at, child in enumerate(order):
        must = constraints.required[child] & constraints.allowed[:, child]
        before = [i for i in sorted(order[:at]) if constraints.allowed[i, child]]
        parents = _pruned(child, before, must, count, correlations[telling])
        arrows[parents, child] = True
        for group in telling.tolist():
            within = correlations[group][np.ix_(parents, parents)]
            weights[group, parents, child] = np.linalg.lstsq(
                within, correlations[group][parents, child], rcond=None
            )[0]
    return Weighted(arrows, weights)


def _pruned(
    child: int, parents: list[int], must: Bools, rows: Floats, correlations: Floats
) -> list[int]:
    """The parents that are left when leaving out one more no longer pays."""
    while not all(must[parents]):
        cost = _costs(child, parents, rows, correlations)
        cost[must[parents]] = np.inf
        weakest = int(cost.argmin())
        if cost[weakest] > 0:
            break
        parents = [*parents[:weakest], *parents[weakest + 1 :]]
    return parents


def _costs(child: int, parents: list[int], rows: Floats, correlations: Floats) -> Floats:
    """By how much the criterion grows when each parent is left out: n log of the growth of the
    residual variance, 1 / (1 - r²) with r the partial correlation, less log n."""
    members = [*parents, child]
    precision = np.linalg.pinv(correlations[:, members][:, :, members], hermitian=True)
    own = np.einsum("gii->gi", precision)
    r2 = precision[:, :-1, -1] ** 2 / np.maximum(own[:, :-1] * own[:, -1:], 1e-300)
    grown = -np.log1p(-np.minimum(r2, 1 - 1e-12))
    return np.asarray(rows @ grown - np.log(rows).sum())
