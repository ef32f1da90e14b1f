"""Tables in other units: each axis multiplied by a whole matrix, tables of one shape at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Indices, Integers
from privet.privacy.queries.wide import narrowed, widened
from privet.schema.model import Schema

MOST_NUMBERS = 1 << 21  # of fans in floating point, so that memory stays bounded
AT_ONCE = 1 << 10  # tables; so many small ones are worked out as fast as more


def multiplied(
    tables: Sequence[Integers],
    factors: Sequence[tuple[Integers, ...]],
    units: Sequence[int],
    schema: Schema,
) -> Integers:
    """All tables in a row: (⊗ factors) vec(table), times its unit. Exact in whole numbers."""
    shapes: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for i, each in enumerate(factors):
        shapes.setdefault(tuple(factor.shape for factor in each), []).append(i)
    sizes = [prod(len(factor) for factor in each) for each in factors]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    out = np.empty(starts[-1], dtype=np.int64)
    for members in shapes.values():
        for start in range(0, len(members), AT_ONCE):
            at = members[start : start + AT_ONCE]
            stack: NDArray[Any] = widened(np.stack([tables[i] for i in at]), schema)
            for axis, shape in enumerate(stack.shape[1:]):  # in turn the first, and then the last
                factor = _of_each([factors[i][axis] for i in at])
                stack = (factor @ stack.reshape(len(at), shape, -1)).swapaxes(1, 2)
            flat = stack.reshape(len(at), -1) * np.array([units[i] for i in at])[:, None]
            out[starts[at][:, None] + np.arange(flat.shape[1])] = narrowed(flat)
    return out


def _of_each(factors: list[Integers]) -> Integers:
    """Matrices under each other, or the one that all of them are."""
    first = factors[0]
    return first if all(each is first for each in factors) else np.stack(factors)


def beside(
    fans: Sequence[Integers],
    pairs: Sequence[tuple[int, Sequence[int]]],
    factors: Sequence[Integers],
) -> Integers:
    """The same of pairs of columns that come as fans: the tables of one column beside some others.
    ``factors`` are those of all columns. As floating-point numbers, which are exact below 2^53; who
    asks knows that nothing becomes larger."""
    width = sum(factor.shape[1] for factor in factors)
    numbers = np.array([len(factors[x]) * width for x, _ in pairs]).cumsum()
    starts = [0, *(np.flatnonzero(np.diff(numbers // MOST_NUMBERS)) + 1).tolist(), len(pairs)]
    parts = (slice(*some) for some in pairwise(starts))
    return np.concatenate([_beside(fans[some], pairs[some], factors) for some in parts])


def _beside(
    fans: Sequence[Integers],
    pairs: Sequence[tuple[int, Sequence[int]]],
    factors: Sequence[Integers],
) -> Integers:
    units, levels = np.array([factor.shape for factor in factors]).T
    rows, held = np.array([len(factors[x]) for x, _ in pairs]), spans(levels)
    half = np.zeros((rows.sum(), levels.sum()))
    for fan, (x, others), own in zip(fans, pairs, spans(rows), strict=True):
        places = np.concatenate([held[y] for y in others])
        half[own[:, None], places] = factors[x] @ fan.astype(np.float64)
    out = np.empty((len(half), units.sum()))
    for level, unit, factor in zip(held, spans(units), factors, strict=True):
        out[:, unit] = half[:, level] @ factor.T
    firsts = np.repeat(np.arange(len(pairs)), [len(others) for _, others in pairs])
    seconds = np.array([y for _, others in pairs for y in others])
    return np.asarray(out[blocks(firsts, seconds, rows, units)]).astype(np.int64)


def spans(sizes: Indices) -> list[Indices]:
    """The places of columns with so many each, one column after the other."""
    ends, every = np.cumsum(sizes).tolist(), np.arange(sizes.sum())
    return [every[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]


def blocks(xs: Indices, ys: Indices, down: Indices, across: Indices) -> tuple[Indices, Indices]:
    """Rows and columns of the tables x by y, one after the other, where columns with so many places
    each lie under each other, and others beside each other."""
    width = across[ys]
    cells = down[xs] * width
    within = np.arange(cells.sum()) - np.repeat(np.cumsum(cells) - cells, cells)
    row, column = np.divmod(within, np.repeat(width, cells))
    top, left = ((np.cumsum(sizes) - sizes)[at] for sizes, at in ((down, xs), (across, ys)))
    return row + np.repeat(top, cells), column + np.repeat(left, cells)
