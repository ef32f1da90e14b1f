"""What may be asked of rows about the fit of a linear model: its gradient, cut row by row.

The answer is a sum over rows of an integer matrix that depends on that row alone, bit for bit (as
in ``privacy/queries/moments.py``, and for the same reason), and that is never longer than a public
number. Cutting each row's share before adding is what makes it private: a bound on the *mean*
gradient, as NoLeaks and CURATE have it, bounds nothing that one person can change. Proofs:
``proofs/gradient.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, sqrt

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Query, Rows, records_changed
from privet.schema.model import Schema

FINE = 1 << 20  # steps of a column on either side of its centre, and the largest weight
WEIGHT = 1 << 15  # steps of a weight per unit: weights reach up to 32
NORM = 1 << 14  # of either half of a row's matrix, so that sums over 2e9 rows fit in 64 bits
STEP = 1 << 11  # rows at a time: they stay in the cache
MOST_COLUMNS = 2048  # (FINE + WEIGHT) * FINE * columns stays below 2**53


@dataclass(frozen=True, kw_only=True)
class Gradient(Query):
    """Minus the gradient of ½ Σ |x - W'x|² in the weights W and in a constant: Σ (constant, x) r',
    r = x - W'x, with each row's share shortened to the length ``clip``.

    x is a row in units of the reaches: column j is clipped to ``centres[j] ± reaches[j]`` and
    put on 2 FINE + 1 points. ``weights`` are W in steps of 1 / WEIGHT, so r is whole and exact;
    ``constant`` is in steps of x. A row gives u v' with u along y = (constant, x) and v along r,
    both of length sqrt(min(1, |y| |r| / clip)) room, rounded, such that |u|, |v| <= NORM; should
    rounding ever break that, the row gives 0. All parameters are public: they come from the
    schema or from earlier releases. At W = 0 the answer is that of means and second moments; it
    holds the diagonal too, which is no part of a gradient in W but costs nothing. Columns without
    numbers give the numbers of their levels: 0, 1, ...

    Sensitivity. |u v'|_F = |u| |v| <= NORM²; between two rows at most twice that, which is
    nearly attained (two nearly equal rows whose residuals are opposite).
    """

    columns: tuple[str, ...]
    centres: tuple[float, ...]
    reaches: tuple[float, ...]
    weights: tuple[tuple[int, ...], ...]
    clip: float
    constant: int = 0

    def __str__(self) -> str:
        return f"gradient of a linear model of {len(self.columns)} columns"

    def check(self, schema: Schema) -> None:
        p = len(self.columns)
        if not 1 <= p <= MOST_COLUMNS or len(set(self.columns)) < p:
            raise SchemaError(f"{p} columns; name from 1 to {MOST_COLUMNS} different ones")
        for name in self.columns:
            schema.column(name)
        weights = [weight for row in self.weights for weight in row]
        numbers = (*self.centres, *self.reaches, self.clip)
        if (
            len(self.centres) != p
            or len(self.reaches) != p
            or [len(row) for row in self.weights] != [p] * p
            or not all(isfinite(number) for number in numbers)
            or not all(number > 0 for number in (*self.reaches, self.clip))
            or not all(
                isinstance(weight, int) and abs(weight) <= FINE
                for weight in (*weights, self.constant)
            )
        ):
            raise SchemaError(
                f"a gradient of {p} columns needs a finite centre, a positive reach and a row of "
                f"whole weights up to {FINE} for each, a positive clip and a whole constant; "
                "correct the one that is off"
            )

    @cached_property
    def room(self) -> float:
        """How long u and v may be: rounding adds at most sqrt(p + 1) / 2, and 1 is to spare."""
        return NORM - sqrt(len(self.columns) + 1) / 2 - 1

    @property
    def unit(self) -> float:
        """What one step of the answer means, in products of y and r."""
        return self.clip / self.room**2

    def size(self, schema: Schema) -> int:
        return (len(self.columns) + 1) * len(self.columns)

    def l1(self, schema: Schema) -> int:
        # Σ |u_i v_j| = |u|_1 |v|_1 <= (p + 1) |u| |v|
        return (len(self.columns) + 1) * self.linf(schema)

    def l2_squared(self, schema: Schema) -> int:
        return self.linf(schema) ** 2

    def linf(self, schema: Schema) -> int:
        return records_changed(schema) * NORM**2 * schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        return rows.total(self.columns, self.size(schema), self._add)

    def _add(self, total: Integers, block: Floats) -> None:
        for start in range(0, len(block), STEP):
            u, v = self.halves(block[start : start + STEP])
            total += (u @ v.T).astype(np.int64).ravel()  # sums below 2**39: exact

    def halves(self, block: Floats) -> tuple[Floats, Floats]:
        """u and v of some rows, as columns; whole numbers kept as floats."""
        y = np.empty((block.shape[1] + 1, len(block)))
        y[0], y[1:] = self.constant, block.T
        x = y[1:]
        with np.errstate(all="ignore"):  # no warning may depend on a row
            x -= np.array(self.centres)[:, None]
            x /= np.array(self.reaches)[:, None]
            np.fmax(np.fmin(x, 1.0, out=x), -1.0, out=x)  # no number counts as far away
            x *= FINE
            np.rint(x, out=x)
            r = self._keep @ x  # whole, below 2**53: exact
            long_y, long_r = _lengths(y), _lengths(r)
            share = long_y * long_r / (self.clip * FINE * FINE * WEIGHT)
            target = self.room * np.sqrt(np.minimum(share, 1.0))
        for half, length in ((y, long_y), (r, long_r)):
            half *= target / np.maximum(length, 1.0)
            np.rint(half, out=half)
        y *= (_squares(y) <= NORM**2) & (_squares(r) <= NORM**2)
        return y, r

    @cached_property
    def _keep(self) -> Floats:
        """What turns x into r, in steps: (I - W)'."""
        p = len(self.columns)
        return np.ascontiguousarray(WEIGHT * np.eye(p) - np.array(self.weights, float).T)


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(_squares(vectors)))


def _squares(vectors: Floats) -> Floats:
    """Squared length of each column, added in a fixed order."""
    total = np.zeros(vectors.shape[1])
    for line in vectors:
        total += line * line
    return total
