"""Tables in other units: each axis multiplied by a whole matrix, tables of one shape at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Indices, Integers
from privet.privacy.queries.wide import narrowed, widened
from privet.schema.model import Schema

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
            for axis in range(stack.ndim - 1):
                factor = np.stack([factors[i][axis] for i in at])
                moved = np.moveaxis(stack, axis + 1, 1)
                flat = factor @ moved.reshape(len(at), moved.shape[1], -1)
                stack = np.moveaxis(flat.reshape(len(at), -1, *moved.shape[2:]), 1, axis + 1)
            flat = stack.reshape(len(at), -1) * np.array([units[i] for i in at])[:, None]
            out[starts[at][:, None] + np.arange(flat.shape[1])] = narrowed(flat)
    return out


def beside(
    fans: Sequence[Integers],
    pairs: Sequence[tuple[int, Sequence[int]]],
    factors: Sequence[Integers],
) -> Integers:
    """The same of pairs of columns that come as fans: the tables of one column beside some others.
    ``factors`` are those of all columns. As floating-point numbers, which are exact below 2^53; who
    asks knows that nothing becomes larger."""
    units, levels = np.array([factor.shape for factor in factors]).T
    held, whole = spans(levels), spans(units)
    half = np.zeros((units.sum(), levels.sum()))
    for fan, (x, others) in zip(fans, pairs, strict=True):
        places = np.concatenate([held[y] for y in others])
        half[whole[x][:, None], places] = factors[x] @ fan.astype(np.float64)
    out = np.empty((len(half), len(half)))
    for from_, to, factor in zip(held, whole, factors, strict=True):
        out[:, to] = half[:, from_] @ factor.T
    firsts = np.repeat([x for x, _ in pairs], [len(others) for _, others in pairs])
    seconds = np.array([y for _, others in pairs for y in others])
    return out[blocks(firsts, seconds, units)].astype(np.int64)


def spans(sizes: Indices) -> list[Indices]:
    """The places of columns with so many each, one column after the other."""
    return np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])


def blocks(xs: Indices, ys: Indices, sizes: Indices) -> tuple[Indices, Indices]:
    """Rows and columns of the tables x by y, one after the other, where all columns with so many
    places each lie under and beside each other."""
    starts, across = np.cumsum(sizes) - sizes, sizes[ys]
    cells = sizes[xs] * across
    within = np.arange(cells.sum()) - np.repeat(np.cumsum(cells) - cells, cells)
    row, column = np.divmod(within, np.repeat(across, cells))
    return row + np.repeat(starts[xs], cells), column + np.repeat(starts[ys], cells)
