"""Second moments of numeric columns in a box, for Laplace noise.

Like ``privacy.queries.moments.Moments``, a sum over rows of an integer vector that depends on that
row alone, bit for bit, but with the bounds of the columns as the only cut: nothing is learnt first,
and the L1 norm, to which Laplace noise is scaled, is as small for replaced rows as for added ones.
Proof: ``proofs/box-moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Query, Rows, codec, records_changed
from privet.privacy.queries.moments import check_numeric
from privet.schema.model import Schema

GRID = 1 << 14  # steps from the middle of a column's bounds to either end
STEP = 1 << 11  # rows at a time: they stay in the cache, and sums of products below 2**53


@codec("BoxMoments", evidence="box moments")
@dataclass(frozen=True, kw_only=True)
class BoxMoments(Query):
    """Sums of v_i v_j (i <= j) over rows: v_0 is GRID, and v_i a column, its bounds made to
    -GRID and GRID, rounded to whole numbers.

    Sensitivity, with d columns (the constant counts as one) and a triangle of d (d + 1) / 2
    numbers. L1: GRID² for each number, whether a row is added, removed or replaced. Largest
    number: GRID², twice that if a row is replaced. Squared L2: at most the product of these two.
    """

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"second moments of {len(self.columns)} columns in their bounds"

    def check(self, schema: Schema) -> None:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise SchemaError(f"moments of the columns {self.columns}; name some, each once")
        check_numeric(self.columns, schema)

    def size(self, schema: Schema) -> int:
        return (len(self.columns) + 1) * (len(self.columns) + 2) // 2

    def l1(self, schema: Schema) -> int:
        return self.size(schema) * GRID**2 * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        return self.l1(schema) * self.linf(schema)

    def linf(self, schema: Schema) -> int:
        return records_changed(schema) * GRID**2 * schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        size = len(self.columns) + 1
        total = rows.total(self.columns, size**2, partial(self._add, schema=schema))
        return total.reshape(size, size)[np.triu_indices(size)]

    def _add(self, total: Integers, block: Floats, schema: Schema) -> None:
        for start in range(0, len(block), STEP):
            v = self.vectors(block[start : start + STEP], schema)
            total += (v @ v.T).astype(np.int64).ravel()  # exact

    def vectors(self, block: Floats, schema: Schema) -> Floats:
        """The vectors v of some rows, as columns; whole numbers kept as floats."""
        bounds = [schema.column(name).range or (0.0, 1.0) for name in self.columns]
        v = np.full((len(bounds) + 1, len(block)), float(GRID))
        for line, (low, high), x in zip(v[1:], bounds, block.T, strict=True):
            middle, half = low / 2 + high / 2, high / 2 - low / 2
            with np.errstate(all="ignore"):  # no warning may depend on a row
                share = (x - middle) / half
            line[:] = np.rint(np.clip(np.nan_to_num(share), -1.0, 1.0) * GRID)
        return v


def matrix(values: Integers, columns: int) -> Floats:
    """The released triangle as a symmetric matrix, in units of the box (a constant of 1)."""
    size = columns + 1
    out = np.zeros((size, size))
    out[np.triu_indices(size)] = values / float(GRID**2)
    return out + np.triu(out, 1).T
