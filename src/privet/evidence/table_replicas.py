"""Evidence from tables that might have been measured instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from privet.arrays import Floats, Indices
from privet.evidence.located import alike
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.contrasts import contrasts

BLOCK_NUMBERS = 1_000_000  # drawn at once


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
        sets = np.array(evidence.members(order), dtype=np.intp)
        cells = np.array(evidence.cardinalities)[sets].prod(axis=1)
        blocks = np.cumsum(count * cells) // BLOCK_NUMBERS
        for at in np.split(np.arange(len(sets)), np.flatnonzero(np.diff(blocks)) + 1):
            drawn = rng.normal(size=count * int(cells[at].sum()))
            starts = count * (np.cumsum(cells[at]) - cells[at])
            for own in alike(np.array(evidence.cardinalities)[sets[at]]):
                index = starts[own][:, None] + np.arange(count * cells[at[own[0]]])
                noise = _component(drawn[index], evidence, sets[at[own]], roots)
                where = layer.offsets[at[own]][:, None] + np.arange(noise.shape[2])
                values[:, where] += scale * noise
        layers[order] = replace(layer, values=values)
    return replace(evidence, rows=rows, layers=layers)


def _component(drawn: Floats, evidence: TableEvidence, sets: Indices, roots: Floats) -> Floats:
    """Of cells drawn for each set of one shape and each replica, the components (replicas x sets x
    numbers)."""
    shape = [evidence.cardinalities[i] for i in sets[0]]
    out = drawn.reshape(len(sets), -1, *shape)
    for axis, (k, column) in enumerate(zip(shape, sets.T, strict=True), start=2):
        moved = np.moveaxis(out, axis, -1)
        flat = moved.reshape(len(sets), -1, k) @ roots[column, : k - 1, :k].swapaxes(1, 2)
        out = np.moveaxis(flat.reshape(*moved.shape[:-1], -1), -1, axis)
    return out.reshape(*out.shape[:2], -1).swapaxes(0, 1)


@dataclass(frozen=True)
class PairNoise:
    """The sampling noise of replicas of exact evidence, for tests that need more than was measured.

    What is given beside a pair changes the noise of a test little. So all tests of a pair in a
    replica share its own: with fresh noise in each of many, one would come out low by chance.
    """

    evidence: TableEvidence
    stack: TableEvidence

    @property
    def copies(self) -> int:
        return self.stack.replicas[0]

    def units(self, pairs: Indices) -> Floats:
        """Independent normal numbers (replicas x pairs x departures) of pairs of one shape, which
        the root of the covariance of departures turns into their noise."""
        moved = self.stack.blocks(pairs)[0] - self.evidence.blocks(pairs)[0]
        left, right = (np.stack([self._whitened[i] for i in ends]) for ends in pairs.T)
        moved = left @ moved @ right.swapaxes(1, 2) / np.sqrt(max(float(self.evidence.rows), 1.0))
        return np.asarray(moved.reshape(*moved.shape[:2], -1))

    @cached_property
    def _whitened(self) -> list[Floats]:
        """Per column, what turns noise in its contrasts into independent normal numbers."""
        out = []
        for i, shares in enumerate(_shares(self.evidence)):
            p, k = shares[:-1], len(shares)
            covariance = np.diag(p + 1e-9) - np.outer(p, p)  # a hair more, for empty levels
            design = self.evidence.all_designs[i, : k - 1, 1:k]
            out.append(np.linalg.solve(np.linalg.cholesky(covariance), design))
        return out


def _shares(evidence: TableEvidence) -> list[Floats]:
    """Of the levels of each column."""
    out = [np.empty(0)] * len(evidence.names)
    for own in alike(evidence.kind[:, None]):
        counts = np.maximum(evidence.tables(own[:, None]), 0.0) + 1e-9
        for i, each in zip(own, counts / counts.sum(axis=1, keepdims=True), strict=True):
            out[i] = each
    return out


def _sampling_roots(evidence: TableEvidence) -> Floats:
    """For each column a root of the covariance of one record's numbers in it, in the corner of a
    square.

    The covariance of a component is that of independent columns: the tensor product of these.
    """
    out = np.zeros_like(evidence.all_designs)
    for i, (p, ordered) in enumerate(zip(_shares(evidence), evidence.ordered, strict=True)):
        k = len(p)
        h = contrasts(k, ordered) if evidence.features is None else evidence.features[i].T
        out[i, : k - 1, :k] = h @ (np.diag(np.sqrt(p)) - np.outer(p, np.sqrt(p)))
    return out
