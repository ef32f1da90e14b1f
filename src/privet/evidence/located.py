"""Where the components of many sets lie, whatever the shapes of their tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.tables import TableEvidence


@dataclass(frozen=True)
class _Place:
    """Of one subset of each set: all values of its order, where its own begin, how far apart they
    are along each column, whether it was measured, and the variance of its noise."""

    values: Floats
    first: Integers
    steps: Integers
    found: Bools
    noise: Floats


@dataclass(frozen=True)
class Located:
    """Sets of as many columns, and the places of the components of their subsets, found once for
    all of them. Triples are taken calmly (``completion.py``), unless it says otherwise."""

    evidence: TableEvidence
    places: dict[tuple[int, ...], _Place]

    @staticmethod
    def of(evidence: TableEvidence, sets: Indices, calm: bool = True) -> Located:
        sizes = np.array(evidence.cardinalities)[sets] - 1
        places = {}
        for order in range(1, sets.shape[1] + 1):
            layer = (evidence.calm if calm and order == 3 else evidence).layers.get(order)
            if layer is None:
                continue
            for subset in combinations(range(sets.shape[1]), order):
                members, own = sets[:, subset], sizes[:, subset]
                at, found = layer.position(evidence.keys(np.sort(members, axis=1)))
                behind = members[:, None, :] > members[:, :, None]  # blocks lie in this order
                steps = np.where(behind, own[:, None, :], 1).prod(axis=2)
                noise = np.where(found, layer.variances[at], 0.0)
                places[subset] = _Place(layer.values, layer.offsets[at], steps, found, noise)
        return Located(evidence, places)

    def padded(self, at: Indices, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Total and components of all subsets of some sets, filled up to one shape, and their
        variances in the same places. Index 0 of an axis means that the column was summed out.

        What fills up means nothing: designs must be zero there. A component that was never
        measured is zero with variance zero.
        """
        replicas, width = self.evidence.replicas, len(shape)
        out, exact = np.zeros((*replicas, len(at), *shape)), self.evidence.exact
        variances = np.zeros((len(at), *shape))
        start: tuple[Any, ...] = (..., *[0] * width)
        out[start], variances[start] = self.evidence.rows[..., None], self.evidence.rows_variance
        for subset, place in self.places.items():
            index, ones = place.first[at].reshape(-1, *[1] * len(subset)), [1] * len(subset)
            for axis, column in enumerate(subset):
                along = np.arange(shape[column] - 1).reshape(-1, *ones[axis + 1 :])
                index = index + place.steps[at, axis].reshape(-1, *ones) * along
            values, found = np.take(place.values, index, axis=-1, mode="clip"), place.found[at]
            if not found.all():
                values *= found.reshape(-1, *ones)
            inside = tuple(slice(1, None) if i in subset else 0 for i in range(width))
            out[(..., *inside)] = values
            if not exact:
                variances[(slice(None), *inside)] = place.noise[at].reshape(-1, *ones)
        return out, variances


def alike(rows: Indices) -> Iterator[Indices]:
    """The places of equal rows."""
    numbers = keys(rows, int(rows.max(initial=0)) + 1)
    order = np.argsort(numbers, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def keys(rows: Indices, size: int) -> Integers:
    """One number for each row of numbers below ``size``."""
    out = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        out = out * size + column
    return out
