"""Components of tables in white features, of rows that are weighed so that none is too long.

Contrasts (``tables.py``) have the same noise in every cell, whatever the margins, and their price
is that of the worst row, which every row is. White features are centred and have variance 1 under
shares that were released before: a row of common levels is short in them, and only rows with many
rare levels are long. These are weighed down, all components of a row at once, so that the length of
*every* row is at most ``radius``. That is the sensitivity, whatever the data are.

What is measured are the components of the table of weighed rows. Margins and pairs must describe
the same rows, so the weight of a row is fixed for a whole run; a later question may clip it once
more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Floats, Integers
from privet.errors import SchemaError
from privet.privacy.queries import compiled
from privet.privacy.queries.base import Query, Rows, codec, records_changed
from privet.privacy.queries.products import multiplied
from privet.schema.model import Schema

GRID = 32  # a feature of length 1
WEIGHT = 64  # of a row that is not weighed down
LARGEST_SET = 3
LARGEST_RADIUS = 1 << 31  # so that sums over 2^31 rows stay within 64 bits
LARGEST_FEATURE = 1 << 20  # so that squares of features are exact in floating point
ROWS_AT_ONCE = 8000  # they stay in the cache; of a power of two, columns would share its lines
MOST_SETS = 1 << 22  # so that sums over sets are right but for half of the slack
SLACK = 1e-9  # relative, above what floating point can lose in a sum of positive numbers

Levels = tuple[tuple[int, ...], ...]  # the features of each level of a column


@dataclass(frozen=True)
class Clip:
    """Sets of columns, and how long a row may be in their components. The component of a set of
    n columns is multiplied by ``multipliers[n]``, so that one noise serves all."""

    sets: tuple[tuple[str, ...], ...]
    multipliers: tuple[int, ...]
    radius: int


@codec("White", evidence="tables")
@dataclass(frozen=True)
class White(Query):
    """Components of weighed rows, for the sets of the last clip.

    A row with codes x has in set A the feature vector ⊗_{i∈A} U_i[x_i], of squared length
    ∏ |U_i[x_i]|². Its weight starts at WEIGHT; each clip, in turn, lowers it to the largest whole
    number w with w² Σ_A m_A² ∏ |U_i[x_i]|² <= radius². The answer is Σ_rows w m_A ⊗ U_i[x_i].

    Sensitivity (``proofs/white.md``). A row moves the answer by a vector of length at most
    ``radius`` of the last clip. Add-remove: radius². Replace-one: (2 radius)². Features, sets and
    radii are parts of the query: they come from earlier releases and public facts.
    """

    additive = True

    columns: tuple[str, ...]
    features: tuple[Levels, ...]
    clips: tuple[Clip, ...]

    def __str__(self) -> str:
        return f"{len(self.sets)} components of weighed rows"

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        return self.clips[-1].sets

    @property
    def multipliers(self) -> tuple[int, ...]:
        return self.clips[-1].multipliers

    def check(self, schema: Schema) -> None:
        if self.columns != schema.names or len(self.features) != len(self.columns):
            raise SchemaError(
                "weighed components need features of every column, in the order of the schema"
            )
        for name, levels in zip(self.columns, self.features, strict=True):
            _check_features(name, levels, schema.column(name).cardinality)
        _check_ranks(self.columns, self.features)
        if not self.clips:
            raise SchemaError("weighed components need a clip, which bounds what a row can add")
        for clip in self.clips:
            self._check_clip(clip)

    def _check_clip(self, clip: Clip) -> None:
        if not 0 < clip.radius <= LARGEST_RADIUS:
            raise SchemaError(
                f"the radius {clip.radius} of weighed components must lie between 1 and "
                f"{LARGEST_RADIUS}, so that sums stay within 64 bits; ask for fewer sets"
            )
        orders = {len(members) for members in clip.sets}
        if not orders or max(orders) > LARGEST_SET or len(clip.multipliers) <= max(orders):
            raise SchemaError(
                f"weighed components are of 0 to {LARGEST_SET} columns, with a multiplier for each "
                "number of columns"
            )
        if any(not 0 < multiplier <= LARGEST_RADIUS for multiplier in clip.multipliers):
            raise SchemaError(
                f"multipliers of weighed components are whole numbers from 1 to {LARGEST_RADIUS}"
            )
        known = set(self.columns)
        if any(not set(s) <= known or len(set(s)) != len(s) for s in clip.sets):
            raise SchemaError("weighed components name columns of the schema, each once in a set")
        if len(set(clip.sets)) != len(clip.sets) or len(clip.sets) > MOST_SETS:
            raise SchemaError(f"weighed components name each set once, and at most {MOST_SETS}")

    def size(self, schema: Schema) -> int:
        return sum(prod(schema.column(n).cardinality - 1 for n in members) for members in self.sets)

    def linf(self, schema: Schema) -> int:
        return records_changed(schema) * self.clips[-1].radius * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        return self.linf(schema) ** 2

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        tables = rows.weighed(self.columns, self.weights).table_batch(self.sets)
        features = {
            name: np.array(u, dtype=np.int64).reshape(len(u), -1).T
            for name, u in zip(self.columns, self.features, strict=True)
        }
        factors = [tuple(features[name] for name in members) for members in self.sets]
        units = [self.multipliers[len(members)] for members in self.sets]
        return multiplied(tables, factors, units, schema)

    def weights(self, codes: Mapping[str, NDArray[np.unsignedinteger[Any]]]) -> NDArray[np.uint8]:
        """The weight of each of some rows, a function of that row alone."""
        own = tuple(codes[name] for name in self.columns)
        out = np.full(len(own[0]), WEIGHT, dtype=np.uint8)
        _lower(out, own, *self._prepared)
        return out

    @cached_property
    def _prepared(self) -> tuple[tuple[Floats, ...], tuple[Allowed, ...]]:
        """The squared lengths of the features of each level, and how long a row may be in each
        clip."""
        place = {name: i for i, name in enumerate(self.columns)}
        clips = []
        for clip in self.clips:
            sets = [tuple(place[name] for name in members) for members in clip.sets]
            prices = [float(m) ** 2 for m in clip.multipliers]
            clips.append((clip.radius * (1 - SLACK), *_plan(sets, prices, len(self.columns))))
        features = (np.array(levels, dtype=np.int64) for levels in self.features)
        return tuple((each**2).sum(axis=1).astype(float) for each in features), tuple(clips)


def _lower(
    weights: NDArray[np.uint8],
    codes: tuple[NDArray[np.unsignedinteger[Any]], ...],
    squares: tuple[Floats, ...],
    clips: tuple[Allowed, ...],
) -> None:
    """Lowers weights so that no row is too long, rounded so that weight * sqrt(squared) <= radius,
    whatever floating point does."""
    small = all(each.dtype == np.uint8 and each.flags.c_contiguous for each in codes)
    if compiled.white is not None and small:
        compiled.white.lower(weights, codes, squares, clips, 1 + SLACK)
        return
    for start in range(0, len(weights), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        lengths = np.empty((len(squares), len(weights[rows])))
        for row, square, own in zip(lengths, squares, codes, strict=True):
            square.take(own[rows], out=row)
        for most, nothing, steps, prices in clips:
            squared = np.maximum(_squared(lengths, nothing, steps, prices) * (1 + SLACK), 1e-300)
            weights[rows] = np.minimum(weights[rows], np.floor(most / np.sqrt(squared)))


# How squared lengths of some sets are worked out from those of columns: what the empty set adds,
# steps (a kind and a column, or the place of a price), and prices. The sum over sets that start
# alike is one of products: of a column (or of it and all that follow) plus others, and of the one
# before them; where there is none, of ones, which stand after the columns.
Plan = tuple[float, Integers, Floats]
Allowed = tuple[float, float, Integers, Floats]  # how long a row may be, and a plan
COLUMN, FROM_HERE, PLUS, ADD, SCALE, CLOSE = range(6)


def squared_lengths(
    lengths: Floats, sets: Sequence[tuple[int, ...]], prices: Sequence[float]
) -> Floats:
    """Of each row, Σ_A price ∏_{i∈A} lengths[i, row], the price that of the number of columns in A.

    Sets that differ in their last column only are worked out together, and where that runs over
    all columns from one on, their sum serves many; so are those that differ in their last two.
    Nothing is taken off: all that floating point can lose is a share of the sum.
    """
    plan, out = _plan(sets, prices, len(lengths)), np.empty(lengths.shape[1])
    for start in range(0, len(out), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        out[rows] = _squared(np.ascontiguousarray(lengths[:, rows]), *plan)
    return out


def _plan(sets: Sequence[tuple[int, ...]], prices: Sequence[float], size: int) -> Plan:
    lasts = dict[tuple[int, ...], list[int]]()
    for members in sets:
        if members:
            lasts.setdefault(members[:-1], []).append(members[-1])
    in_order = sorted(lasts, key=lambda prefix: (len(prefix), prefix))
    steps = list[tuple[int, int]]()
    for (width, first), alike in groupby(in_order, lambda prefix: (len(prefix), prefix[:-1])):
        for prefix in alike:
            own = lasts[prefix]
            if own == list(range(own[0], size)):
                steps.append((FROM_HERE, own[0]))
            else:
                steps += [(COLUMN, own[0]), *((PLUS, i) for i in own[1:])]
            steps.append((ADD, prefix[-1] if prefix else size))
        steps += [*((SCALE, i) for i in first), (CLOSE, width + 1)]
    nothing = prices[0] if () in sets else 0.0
    return nothing, np.array(steps, dtype=np.int64).reshape(-1, 2), np.array(prices)


def _squared(lengths: Floats, nothing: float, steps: Integers, prices: Floats) -> Floats:
    """Of a few rows."""
    out = np.full(lengths.shape[1], nothing)
    total, part = np.zeros((2, len(out)))
    columns, sums = [*lengths, np.ones(len(out))], list(_from_here(lengths))
    own = part
    for kind, at in steps.tolist():
        if kind == COLUMN:
            own = columns[at]
        elif kind == FROM_HERE:
            own = sums[at]
        elif kind == PLUS:
            own = np.add(own, columns[at], out=part)
        elif kind == ADD:
            total += np.multiply(own, columns[at], out=part)
        elif kind == SCALE:
            total *= columns[at]
        else:
            total *= prices[at]
            out += total
            total[:] = 0.0
    return out


def _from_here(lengths: Floats) -> Floats:
    """The sum of each column and all that follow it."""
    out = lengths.copy()
    for i in range(len(lengths) - 1, 0, -1):
        out[i - 1] += out[i]
    return out


def _check_features(name: str, levels: Levels, k: int) -> None:
    if len(levels) != k or any(len(level) != k - 1 for level in levels):
        raise SchemaError(f"column {name!r} has {k} levels, so each has {k - 1} features")
    if any(abs(feature) > LARGEST_FEATURE for level in levels for feature in level):
        raise SchemaError(
            f"a feature of column {name!r} is larger than {LARGEST_FEATURE}; use smaller ones"
        )


def _check_ranks(names: Sequence[str], features: Sequence[Levels]) -> None:
    """Those of as many levels at once."""
    for k in {len(levels) for levels in features}:
        own = [i for i, levels in enumerate(features) if len(levels) == k]
        design = np.ones((len(own), k, k))
        design[:, :, 1:] = [features[i] for i in own]
        for i in np.flatnonzero(np.linalg.matrix_rank(design) < k):
            name = names[own[i]]
            raise SchemaError(f"the features of column {name!r} do not tell its levels apart")
