"""Conditional distribution similarity [Fonollosa 2019]: given its cause, an effect varies in place
rather than in shape.

Bins of half a standard deviation, as in the Causal Discovery Toolbox: histograms of one column in
each bin of the other, moved to one place, and how much they still differ.
"""

from __future__ import annotations

import numpy as np

from privet.arrays import Bools, Floats
from privet.pairs.algorithms.score import Scores

PER_DEVIATION = 2  # bins
REACH = 3  # standard deviations; what lies beyond is in the outermost bins
LAST = PER_DEVIATION * REACH
SIZE = 2 * LAST + 1  # bins; a column with no more values than that is taken as it is
FEWEST = 13  # rows that a bin must have to count


def cds(x: Floats, y: Floats) -> Scores:
    return Scores(forward=-variability(x, y), backward=-variability(y, x))


def variability(x: Floats, y: Floats) -> float:
    """How much the shapes of y given x differ."""
    bins = np.unique(_bins(x), return_inverse=True)[1]
    often = np.flatnonzero(np.bincount(bins) >= FEWEST)
    if not len(often):
        return 0.0
    groups = [bins == b for b in often]
    shapes = _moved_to_mean(y, groups) if _many(y) else _moved_to_match(y, groups)
    shapes = shapes / shapes.sum(axis=1, keepdims=True)
    return float(np.sqrt(((shapes - shapes.mean(axis=0)) ** 2).mean()))


def _many(x: Floats) -> bool:
    return len(np.unique(x)) > SIZE


def _bins(x: Floats) -> Floats:
    """The bin of each row; mean and deviation are those of the rows within reach."""
    if not _many(x):
        return x
    near = x[np.abs(x - x.mean()) < REACH * x.std()]
    return _rounded((x - near.mean()) / near.std())


def _rounded(x: Floats) -> Floats:
    return np.asarray(np.clip(np.round(x * PER_DEVIATION), -LAST, LAST))


def _moved_to_mean(y: Floats, groups: list[Bools]) -> Floats:
    """A histogram per group, around the group's mean."""
    moved = (_rounded((y[group] - y[group].mean()) / y.std()) for group in groups)
    return np.array([np.bincount(m.astype(int) + LAST, minlength=SIZE) for m in moved], dtype=float)


def _moved_to_match(y: Floats, groups: list[Bools]) -> Floats:
    """Counts of the few values per group, moved so that they match those of all rows best."""
    values, codes = np.unique(y, return_inverse=True)
    size = len(values)
    overall = np.bincount(codes) / len(y)
    found = np.zeros((len(groups), 3 * size - 2))
    for row, group in zip(found, groups, strict=True):
        counts = np.bincount(codes[group], minlength=size)
        padded = np.pad(counts.astype(float), size - 1)
        start = 2 * size - 2 - int(np.correlate(padded, overall, "valid").argmax())
        row[start : start + size] = counts
    return found
