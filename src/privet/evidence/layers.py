"""Components of sets of one order, kept side by side, with the variance of their noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers


@dataclass(frozen=True)
class Layer:
    """All measured components of one order: blocks of one flat array, found by sorted key.

    The last axis of ``values`` is the flat one; an axis before it counts replicas.
    """

    keys: Integers
    offsets: Integers
    values: Floats
    variances: Floats

    def position(self, keys: Integers) -> tuple[Indices, Bools]:
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return at, self.keys[at] == keys

    def merged(self, new: Layer) -> Layer:
        """All that either holds; what both do is their inverse-variance mean."""
        keys = np.union1d(self.keys, new.keys)
        places = [layer.position(keys) for layer in (self, new)]
        (a, in_old), (b, _) = places
        sizes = np.where(in_old, np.diff(self.offsets)[a], np.diff(new.offsets)[b])
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        values, variances = [], []
        for layer, (at, found) in zip((self, new), places, strict=True):
            index = np.repeat(layer.offsets[at] - offsets[:-1], sizes) + np.arange(offsets[-1])
            held = np.repeat(found, sizes)
            values.append(np.where(held, layer.values[np.where(held, index, 0)], 0.0))
            variances.append(np.where(found, layer.variances[at], np.inf))
        each = [np.repeat(variance, sizes) for variance in variances]
        mean, _ = combined(values[0], each[0], values[1], each[1])
        nothing = np.zeros(len(keys))
        return Layer(keys, offsets, mean, combined(nothing, variances[0], nothing, variances[1])[1])


def combined(a: Floats, va: Floats, b: Floats, vb: Floats) -> tuple[Floats, Floats]:
    """Inverse-variance mean; an exact value (variance 0) wins, and an infinite variance loses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        weight, variance = vb / (va + vb), va * vb / (va + vb)
    first, second = (va == 0) | np.isinf(vb), np.isinf(va)
    weight = np.where(second, 0.0, np.where(first, 1.0, weight))
    return weight * a + (1 - weight) * b, np.where(second, vb, np.where(first, va, variance))
