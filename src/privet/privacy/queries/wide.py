"""Whole numbers beyond 64 bits, for tables that may have more rows than ``MOST_ROWS``.

Whether they are needed is declared (``most_rows``), so that nothing depends on how many rows there
are. An answer that does not fit 64 bits in the end counts as the largest that does: two answers
are never farther apart after that than before, so every bound still holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.schema.model import MOST_ROWS, Schema

LARGEST = 1 << 62  # of an answer, beside which noise still fits 64 bits


def widened(values: Integers, schema: Schema) -> NDArray[Any]:
    """The same numbers, as Python's own where 64 bits may be too few for what is made of them."""
    return values.astype(object) if schema.most_rows > MOST_ROWS else values


def narrowed(values: NDArray[Any]) -> Integers:
    if values.dtype == object:
        values = np.minimum(np.maximum(values, -LARGEST), LARGEST)
    return values.astype(np.int64)
