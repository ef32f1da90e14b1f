"""Evidence on many independent tables at once: a stack, one table and one noise per replica.

So one question to the stack gives thousands of independent answers, and the number of them
below a limit is binomial.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats
from privet.evidence.layers import Layer
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.contrasts import contrasts

Noise = Mapping[int, float]  # variance of each number of a component, by order
Tables = NDArray[Any]  # (replicas, k_0, k_1, …)


def stack(
    tables: Tables,
    noise: Noise,
    rng: np.random.Generator,
    ordered: tuple[bool, ...] | None = None,
    features: tuple[Floats, ...] | None = None,
) -> TableEvidence:
    """Evidence on each table; orders that ``noise`` does not name are not measured. With
    ``features`` (levels x features of each column) it is measured in these.

    The noise is the normal law; at the scales of a run (hundreds of grid units and more) the
    discrete law of the mechanisms cannot be told from it.
    """
    count, width = len(tables), tables.ndim - 1
    ordered = ordered or (False,) * width
    layers = {}
    for order in sorted(set(noise) & set(range(1, width + 1))):
        sets = list(combinations(range(width), order))
        parts = [component(tables, members, ordered, features) for members in sets]
        exact = np.hstack(parts)
        layers[order] = Layer(
            keys=np.array(sets, dtype=np.int64) @ width ** np.arange(order - 1, -1, -1),
            offsets=np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])]),
            values=exact + rng.normal(size=exact.shape) * np.sqrt(noise[order]),
            variances=np.full(len(sets), noise[order]),
        )
    total = tables.reshape(count, -1).sum(axis=1)
    return TableEvidence(
        names=tuple(f"c{i}" for i in range(width)),
        cardinalities=tables.shape[1:],
        ordered=ordered,
        features=features,
        rows=total + rng.normal(size=count) * np.sqrt(noise.get(0, 0.0)),
        rows_variance=noise.get(0, 0.0),
        layers=layers,
    )


def component(
    tables: Tables,
    members: tuple[int, ...],
    ordered: tuple[bool, ...],
    features: tuple[Floats, ...] | None = None,
) -> Floats:
    """The component of some axes of each table, flat."""
    others = tuple(axis + 1 for axis in range(tables.ndim - 1) if axis not in members)
    out = tables.sum(axis=others).astype(float)
    for axis, column in enumerate(members, start=1):
        own = (
            contrasts(out.shape[axis], ordered[column]) if features is None else features[column].T
        )
        h = own.astype(float)
        out = np.moveaxis(np.tensordot(h, out, (1, axis)), 0, axis)
    return out.reshape(len(tables), -1)
