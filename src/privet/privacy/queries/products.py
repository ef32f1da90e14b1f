"""Tables in other units: each axis multiplied by a whole matrix, tables of one shape at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
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
    factors: Sequence[tuple[Integers, Sequence[Integers]]],
) -> Integers:
    """The same of pairs of columns that come as fans: the tables of one column beside many others,
    of which the factors are one matrix and many. As floating-point numbers, which are exact below
    2^53; who asks knows that nothing becomes larger."""
    out = []
    for fan, (first, others) in zip(fans, factors, strict=True):
        sizes = np.array([factor.shape for factor in others])
        starts = sizes.cumsum(axis=0) - sizes
        second = np.zeros(sizes.sum(axis=0)[::-1])
        for (row, column), factor in zip(starts.tolist(), others, strict=True):
            second[column : column + factor.shape[1], row : row + len(factor)] = factor.T
        found = first.astype(np.float64) @ fan @ second
        start, width = (np.repeat(each, sizes[:, 0]) for each in (starts[:, 0], sizes[:, 0]))
        place = np.arange(len(start)) - start + len(first) * start
        flat = np.empty(found.size, dtype=np.int64)
        flat[place + np.arange(len(first))[:, None] * width] = found
        out.append(flat)
    return np.concatenate(out)
