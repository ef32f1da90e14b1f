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
