"""What may be asked of numeric columns: histograms that locate them, and second moments.

Both are sums over rows of an integer vector that depends on that row alone, bit for bit, so one
row more changes the answer by exactly its own vector. Floating-point sums do not do that by
themselves: the order in which a matrix product adds may depend on the number of rows, and a
last digit may then change the rounding of *another* row. Here every product of matrices is one
of whole numbers below 2**53, which is exact in any order, and everything else is done element
by element, in a fixed order. Proofs: ``proofs/moments.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from math import isfinite, sqrt

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import SchemaError
from privet.privacy.queries import compiled
from privet.privacy.queries.base import Histograms, Query, Rows, codec, records_changed
from privet.privacy.queries.wide import narrowed, widened
from privet.schema.model import Adjacency, Schema

BINS = 32  # of a locating histogram: fewer blur wide bounds, more drown in noise
FINE = 1 << 20  # steps of a column on either side of its centre, and the largest weight
NORM = 1 << 14  # of a row's vector, so that sums over 2e9 rows stay within 64 bits
PAIR, SQUARE = 17, 12  # weights of v_i v_j and v_i^2: 2 * 12**2 <= 17**2, and nearly equal
STEP, FEWEST = 1 << 14, 1 << 9  # numbers, and at least so many rows, at a time: for the cache
MOST_COLUMNS = 4096  # FINE * FINE * columns stays below 2**53


@codec("Locations", evidence="moments")
@dataclass(frozen=True, kw_only=True)
class Locations(Histograms):
    """A histogram of each column on equal bins between its bounds.

    Sensitivity. That of as many histograms as columns.
    """

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"location of {len(self.columns)} columns"

    def check(self, schema: Schema) -> None:
        _check_columns(self.columns)
        check_numeric(self.columns, schema)

    def size(self, schema: Schema) -> int:
        return len(self.columns) * BINS

    def tables(self) -> int:
        return len(self.columns)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        size = self.size(schema)
        return rows.total(self.columns, size, partial(self._add, schema=schema))

    def _add(self, total: Integers, block: Floats, schema: Schema) -> None:
        bounds = [schema.column(name).range or (0.0, 1.0) for name in self.columns]
        if compiled.moments is not None:
            lows, highs = np.array(bounds).T
            compiled.moments.locate(total, _in_lines(block), lows.copy(), highs - lows)
            return
        lines = total.reshape(len(self.columns), BINS)
        for counts, (low, high), x in zip(lines, bounds, block.T, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                share = (x - low) / (high - low) * BINS
            place = _within(share, 0, BINS - 1).astype(np.int64)
            counts += np.bincount(place, minlength=BINS)


@codec("Moments", evidence="moments")
@dataclass(frozen=True, kw_only=True)
class Moments(Query):
    """Weighted sums of v v' over rows, v = (constant, a linear map of the row, cut to a ball).

    Column j is clipped to ``centres[j] ± reaches[j]`` and put on 2 FINE + 1 points, u. Then
    z = transform u, and v is ``constant`` followed by ``z room / max(|z|, radius)``, rounded,
    with room such that |v| <= NORM; should rounding ever break that, z counts as 0. All
    parameters are public: they come from the schema or from earlier releases.

    Sensitivity. The answer holds 17 v_i v_j (i < j) and 12 v_i² (row by row of the upper
    triangle). As 2 · 12² <= 17², the squared norm of a change D of Σ v v' is at most
    17²/2 · |D|²_F. Add-remove: |v v'|_F = |v|² <= NORM². Replace-one:
    |v v' - w w'|²_F = |v|⁴ + |w|⁴ - 2⟨v, w⟩² <= 2 NORM⁴.
    """

    additive = True

    columns: tuple[str, ...]
    centres: tuple[float, ...]
    reaches: tuple[float, ...]
    transform: tuple[tuple[int, ...], ...]
    radius: float
    constant: int

    def __str__(self) -> str:
        return f"second moments of {len(self.columns)} columns"

    def check(self, schema: Schema) -> None:
        _check_columns(self.columns)
        check_numeric(self.columns, schema)
        p = len(self.columns)
        numbers = (*self.centres, *self.reaches, self.radius)
        weights = list(chain.from_iterable(self.transform))
        if (
            len(self.centres) != p
            or len(self.reaches) != p
            or [len(row) for row in self.transform] != [p] * p
            or not all(isfinite(number) for number in numbers)
            or not all(number > 0 for number in (*self.reaches, self.radius))
            or not all(issubclass(kind, int) for kind in set(map(type, weights)))
            or not -FINE <= min(weights) <= max(weights) <= FINE
            or not (isinstance(self.constant, int) and 0 <= self.constant <= NORM // 2)
        ):
            raise SchemaError(
                f"moments of {p} columns need a finite centre, a positive reach and a row of "
                f"whole weights up to {FINE} for each, a positive radius and a constant from 0 "
                f"to {NORM // 2}; correct the one that is off"
            )

    @cached_property
    def room(self) -> float:
        """How long z may be in v: rounding adds at most sqrt(p) / 2, and 1 is to spare."""
        return sqrt(NORM**2 - self.constant**2) - sqrt(len(self.columns)) / 2 - 1

    def size(self, schema: Schema) -> int:
        return (len(self.columns) + 1) * (len(self.columns) + 2) // 2

    def l1(self, schema: Schema) -> int:
        # 17 Σ_{i<j} |v_i v_j| + 12 Σ v_i² <= (17 |v|_1² + 7 |v|²) / 2, |v|_1² <= (p + 1) |v|²
        one = (PAIR * (len(self.columns) + 1) + 2 * SQUARE - PAIR) * NORM**2 // 2
        return records_changed(schema) * one * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        return records_changed(schema) * (PAIR**2 * NORM**4 // 2) * schema.rows_per_person**2

    def linf(self, schema: Schema) -> int:
        # 17 |v_i v_j| <= 17/2 |v|², twice that between two rows; 12 v_i² <= 12 |v|², >= 0
        one = SQUARE if schema.adjacency is Adjacency.ADD_REMOVE else PAIR
        return one * NORM**2 * schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        size = len(self.columns) + 1
        total = rows.total(self.columns, size**2, self._add).reshape(size, size)
        weights = np.where(np.eye(size, dtype=bool), SQUARE, PAIR)
        return narrowed((widened(total, schema) * weights)[np.triu_indices(size)])

    def _add(self, total: Integers, block: Floats) -> None:
        step = max(FEWEST, STEP // len(self.columns))
        for start in range(0, len(block), step):
            v = self.vectors(block[start : start + step])
            total += (v @ v.T).astype(np.int64).ravel()  # sums below 2**45: exact

    def vectors(self, block: Floats) -> Floats:
        """The vectors v of some rows, as columns; whole numbers kept as floats."""
        if compiled.moments is None:
            return self._cut(self._mapped(self._on_grid(block)))
        u, v = np.empty(block.shape[::-1]), np.empty((block.shape[1] + 1, len(block)))
        grid, ball = self._numbers
        compiled.moments.on_grid(u, _in_lines(block), *grid, FINE)
        compiled.moments.cut(v, u if self.only_scales else self.matrix @ u, ball)
        return v

    @cached_property
    def _numbers(self) -> tuple[tuple[Floats, Floats, Floats], Floats]:
        """What a grid is made of, with the scales that u is multiplied by, and a ball."""
        ones = np.ones(len(self.columns))
        scales = np.diagonal(self.matrix).copy() if self.only_scales else ones
        ball = np.array([self.room, self.radius, self.constant, NORM])
        return (np.array(self.centres), np.array(self.reaches), scales), ball

    def _on_grid(self, block: Floats) -> Floats:
        """u, a line for each column."""
        with np.errstate(over="ignore", invalid="ignore"):  # no warning may depend on a row
            share = np.ascontiguousarray(block.T - np.array(self.centres)[:, None])
            share /= np.array(self.reaches)[:, None]
        u = _within(share, -1.0, 1.0)
        u *= FINE
        return np.rint(u, out=u)

    def _cut(self, z: Floats) -> Floats:
        """v; z is changed."""
        squared = np.zeros(z.shape[1])
        for line in z:
            squared += line * line
        with np.errstate(over="ignore", invalid="ignore"):  # 0 beside the smallest of radii
            z *= self.room / np.maximum(np.sqrt(squared), self.radius)
        v = np.empty((len(z) + 1, z.shape[1]))
        v[0], v[1:] = self.constant, np.clip(np.rint(z), -NORM, NORM)
        v[1:, ~((v * v).sum(axis=0) <= NORM**2)] = 0.0
        return v

    def _mapped(self, u: Floats) -> Floats:
        """The transform of u: whole numbers below 2**53, so exact in either way."""
        if self.only_scales:
            return np.diagonal(self.matrix)[:, None] * u
        return self.matrix @ u

    @cached_property
    def matrix(self) -> Floats:
        """The transform, in units of 1 / FINE."""
        return np.array(self.transform, dtype=np.float64)

    @cached_property
    def only_scales(self) -> bool:
        return not np.count_nonzero(self.matrix - np.diag(np.diagonal(self.matrix)))


def _in_lines(block: Floats) -> Floats:
    """The numbers of each column in one piece, as they are mostly."""
    lines = block.T
    return lines if lines.strides[1] == lines.itemsize else np.ascontiguousarray(lines)


def _within(share: Floats, low: float, high: float) -> Floats:
    """In place: between these, and 0 where it is no number."""
    np.clip(share, low, high, out=share)
    np.copyto(share, 0.0, where=np.isnan(share))
    return share


def _check_columns(columns: tuple[str, ...]) -> None:
    if not 1 <= len(columns) <= MOST_COLUMNS or len(set(columns)) < len(columns):
        raise SchemaError(f"{len(columns)} columns; name from 1 to {MOST_COLUMNS} different ones")


def check_numeric(columns: tuple[str, ...], schema: Schema) -> None:
    for name in columns:
        if schema.column(name).bounds is None:
            raise SchemaError(
                f"column {name!r} is {schema.column(name).kind}, but moments need numbers; "
                'declare it kind = "numeric" with bounds, or use a method for tables'
            )
