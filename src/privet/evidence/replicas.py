"""Replicas: evidence that might have been measured instead.

A replica adds, to what was measured, fresh noise of the size that the privacy noise had and
fresh sampling noise of the size that n rows have. It costs nothing: only releases go in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from privet.contrasts import contrasts
from privet.evidence.components import Floats, TableEvidence

if TYPE_CHECKING:
    from privet.methods.registry import Settings


def table_replicas(evidence: TableEvidence, settings: Settings) -> Iterator[TableEvidence]:
    roots = _sampling_roots(evidence)
    for generator in np.random.default_rng(settings.seed).spawn(settings.replicas):
        yield _replica(evidence, roots, generator)


def _sampling_roots(evidence: TableEvidence) -> list[Floats]:
    """Per column, a root of the covariance of one record's contrasts.

    The covariance of a component is that of independent columns, the tensor product of these.
    """
    roots = []
    for i, (k, ordered) in enumerate(
        zip(evidence.cardinalities, evidence.ordered, strict=True)
    ):
        counts = np.maximum(evidence.tables(np.array([[i]]))[0], 0.0) + 1e-9
        p = counts / counts.sum()
        h = contrasts(k, ordered).astype(float)
        roots.append(h @ (np.diag(np.sqrt(p)) - np.outer(p, np.sqrt(p))))
    return roots


def _replica(
    evidence: TableEvidence, roots: list[Floats], rng: np.random.Generator
) -> TableEvidence:
    rows = evidence.rows + rng.normal() * np.sqrt(evidence.rows_variance)
    scale = np.sqrt(max(evidence.rows, 0.0))
    layers = {}
    for order, layer in evidence.layers.items():
        values = layer.values + rng.normal(size=len(layer.values)) * np.repeat(
            np.sqrt(layer.variances), np.diff(layer.offsets)
        )
        for at, members in enumerate(evidence.members(order)):
            shape = [evidence.cardinalities[i] for i in members]
            drawn = rng.normal(size=shape)
            for axis, i in enumerate(members):
                drawn = np.moveaxis(np.tensordot(roots[i], drawn, (1, axis)), 0, axis)
            values[layer.offsets[at] : layer.offsets[at + 1]] += scale * drawn.ravel()
        layers[order] = replace(layer, values=values)
    return replace(evidence, rows=float(rows), layers=layers)
