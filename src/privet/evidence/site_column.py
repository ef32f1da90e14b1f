"""The tables of several sites as one, in which the site is a column.

A component of some columns and the site is a contrast of the sites' components of these columns,
so it follows from what each has measured: nothing is asked and nothing is spent. The noise of all
sites is taken to be as large as the largest, which can only hide a difference. A set that some
site has not measured is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from privet.errors import EvidenceError
from privet.evidence.tables import TableEvidence, components_query
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import contrasts

SITE = ""  # no column of a schema has this name
# Sets and their components, by their order and the variance of their noise.
Parts = dict[tuple[int, float], list[tuple[tuple[int, ...], Any]]]


def with_site(sites: Sequence[TableEvidence]) -> TableEvidence:
    """Evidence of all columns and, last, of the site."""
    if any(site.features is not None for site in sites):
        raise EvidenceError(
            "these sites have weighed their rows, each in its own way, so that a difference "
            "between them may be one of weights; leave ⟦use_differences⟧ away, or let the sites "
            "measure with ⟦features='contrasts'⟧, in which no rows are weighed"
        )
    first, d = sites[0], len(sites)
    names = (*first.names, SITE)
    h = contrasts(d, ordered=False)
    square = float((h**2).sum(axis=1).max())
    rows = np.array([float(site.rows) for site in sites])
    noise = max(site.rows_variance for site in sites)
    whole = TableEvidence(
        names=names,
        cardinalities=(*first.cardinalities, d),
        ordered=(*first.ordered, False),
        rows=np.array(rows.sum()),
        rows_variance=d * noise,
    )
    parts: Parts = {(1, square * noise): [((len(first.names),), h @ rows)]}
    for order in sorted(set.intersection(*(set(site.layers) for site in sites))):
        for members in _common(sites, order):
            blocks = [site.blocks(np.array([members])) for site in sites]
            values = np.stack([block[0].reshape(-1) for block, _ in blocks])
            variance = max(float(each[0]) for _, each in blocks)
            both = (*members, len(first.names)), (values.T @ h.T).reshape(-1)
            parts.setdefault((order, d * variance), []).append((members, values.sum(axis=0)))
            parts.setdefault((order + 1, square * variance), []).append(both)
    releases = (_release(names, found, variance) for (_, variance), found in parts.items())
    return reduce(TableEvidence.add, releases, whole)


def _common(sites: Sequence[TableEvidence], order: int) -> list[tuple[int, ...]]:
    """The sets of one order that all sites have measured."""
    every = [set(site.members(order)) for site in sites]
    return sorted(set.intersection(*every))


def _release(
    names: tuple[str, ...], found: Sequence[tuple[tuple[int, ...], Any]], variance: float
) -> Release:
    """Components of one order that have the same noise."""
    return Release(
        query=components_query(names, [members for members, _ in found]),
        values=np.concatenate([values for _, values in found]),
        variance=variance,
        mechanism="contrasts of sites",
    )
