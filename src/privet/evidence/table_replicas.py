"""Evidence from tables that might have been measured instead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet.arrays import Floats
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.contrasts import contrasts


def table_replicas(evidence: TableEvidence, count: int, rng: np.random.Generator) -> TableEvidence:
    """A stack of replicas: evidence that might have been measured instead.

    A replica adds, to what was measured, fresh noise of the size that the privacy noise had and
    fresh sampling noise of the size that n rows have. It costs nothing: only releases go in.
    """
    roots = _sampling_roots(evidence)
    rows = evidence.rows + rng.normal(size=count) * np.sqrt(evidence.rows_variance)
    scale = np.sqrt(np.maximum(evidence.rows, 0.0))
    layers = {}
    for order, layer in evidence.layers.items():
        spread = np.repeat(np.sqrt(layer.variances), np.diff(layer.offsets))
        values = layer.values + rng.normal(size=(count, len(layer.values))) * spread
        for at, members in enumerate(evidence.members(order)):
            drawn = rng.normal(size=(count, *(evidence.cardinalities[i] for i in members)))
            for axis, i in enumerate(members, start=1):
                drawn = np.moveaxis(np.tensordot(drawn, roots[i], (axis, 1)), -1, axis)
            values[:, layer.offsets[at] : layer.offsets[at + 1]] += scale * drawn.reshape(
                count, layer.offsets[at + 1] - layer.offsets[at]
            )
        layers[order] = replace(layer, values=values)
    return replace(evidence, rows=rows, layers=layers)


def _sampling_roots(evidence: TableEvidence) -> list[Floats]:
    """Per column, a root of the covariance of one record's contrasts.

    The covariance of a component is that of independent columns: the tensor product of these.
    """
    roots = []
    for i, (k, ordered) in enumerate(zip(evidence.cardinalities, evidence.ordered, strict=True)):
        counts = np.maximum(evidence.tables(np.array([[i]]))[0], 0.0) + 1e-9
        p = counts / counts.sum()
        h = contrasts(k, ordered).astype(float)
        if evidence.features is not None:
            h = evidence.features[i].T
        roots.append(h @ (np.diag(np.sqrt(p)) - np.outer(p, np.sqrt(p))))
    return roots
