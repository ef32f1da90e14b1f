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

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Query, Rows, codec, records_changed
from privet.schema.model import Schema

GRID = 64  # a feature of length 1
WEIGHT = 64  # of a row that is not weighed down
LARGEST_SET = 3
LARGEST_RADIUS = 1 << 31  # so that sums over as many rows stay within 64 bits
SLACK = 1e-9  # far above what floating point adds to a sum of positive numbers

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
        if not self.clips or len(self.columns) != len(set(self.columns)):
            raise SchemaError("weighed components need a clip, and name each column once")
        if len(self.features) != len(self.columns):
            raise SchemaError("every column of weighed components needs features; give them")
        for name, levels in zip(self.columns, self.features, strict=True):
            k = schema.column(name).cardinality
            if len(levels) != k or any(len(level) != k - 1 for level in levels):
                raise SchemaError(f"column {name!r} has {k} levels, so each has {k - 1} features")
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
        if any(multiplier < 1 for multiplier in clip.multipliers):
            raise SchemaError("multipliers of weighed components are whole numbers from 1 on")
        known = set(self.columns)
        if any(not set(s) <= known or len(set(s)) != len(s) for s in clip.sets):
            raise SchemaError("weighed components name columns that have features, each once")
        if len(set(clip.sets)) != len(clip.sets):
            raise SchemaError("weighed components name each set once")

    def size(self, schema: Schema) -> int:
        return sum(prod(schema.column(n).cardinality - 1 for n in members) for members in self.sets)

    def linf(self, schema: Schema) -> int:
        return records_changed(schema) * self.clips[-1].radius * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        return self.linf(schema) ** 2

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        weighed = rows.weighed(self.columns, self.weights)
        levels = dict(zip(self.columns, self.features, strict=True))
        parts = []
        for members, table in zip(self.sets, weighed.table_batch(self.sets), strict=True):
            for axis, name in enumerate(members):
                u = np.array(levels[name], dtype=np.int64).reshape(len(levels[name]), -1)
                table = np.moveaxis(np.tensordot(u, table, axes=(0, axis)), 0, axis)
            parts.append(self.multipliers[len(members)] * table.reshape(-1))
        return np.concatenate(parts).astype(np.int64)

    def weights(self, codes: Mapping[str, NDArray[np.unsignedinteger[Any]]]) -> NDArray[np.uint8]:
        """The weight of each of some rows, a function of that row alone."""
        lengths = {
            name: (np.array(u, dtype=np.int64).reshape(len(u), -1) ** 2).sum(axis=1).astype(float)
            for name, u in zip(self.columns, self.features, strict=True)
        }
        each = {name: lengths[name][codes[name]] for name in self.columns}
        count = len(next(iter(each.values())))
        weight = np.full(count, float(WEIGHT))
        for clip in self.clips:
            squared = np.zeros(count)
            for members in clip.sets:
                term = np.full(count, float(clip.multipliers[len(members)] ** 2))
                for name in members:
                    term *= each[name]
                squared += term
            # rounded so that weight * sqrt(squared) <= radius, whatever floating point does
            most = clip.radius * (1 - SLACK) / np.sqrt(np.maximum(squared * (1 + SLACK), 1e-300))
            weight = np.minimum(weight, np.floor(most))
        return weight.astype(np.uint8)
