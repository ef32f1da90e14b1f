"""Measured interaction components, ready to be put together into tables.

Everything is kept in the integer units of the contrasts. A component that was measured twice is
the inverse-variance mean of its measurements. Sets are rows of column indices, so that
thousands of tables are put together by a few array operations. Evidence may be a *stack* of
replicas that share their sets and variances: then one operation serves all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations, groupby
from math import prod
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.errors import EvidenceError
from privet.evidence import completion
from privet.evidence.cuts import as_cut
from privet.evidence.feigned import Feigned, bent, kept_share
from privet.evidence.layers import Layer, combined
from privet.evidence.whole_table import interactions, is_whole
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import design_inverse
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import GRID as WHITE_GRID
from privet.privacy.queries.white import WEIGHT, White
from privet.schema.model import Schema

CERTAIN = 10.0  # deviations of its noise: then a square of what is divided by it has little noise


@dataclass(frozen=True, kw_only=True)
class TableEvidence:
    """Noisy components of many column sets and the variance of their noise.

    ``features`` are those in which the columns were measured (levels x features, white ones of
    weighed rows); without, they are the contrasts of ``privacy.queries.contrasts``. ``feigned``
    is what weights make of independent columns.
    """

    names: tuple[str, ...]
    cardinalities: tuple[int, ...]
    ordered: tuple[bool, ...]
    features: tuple[Floats, ...] | None = None
    feigned: Feigned | None = None
    rows: Floats = field(default_factory=lambda: np.zeros(()))
    rows_variance: float = 0.0
    layers: dict[int, Layer] = field(default_factory=dict)

    @cached_property
    def kind(self) -> Integers:
        """One number per column; questions about columns of the same kinds are worked out
        together, at all sites. Contrasts of one kind are the same; white features differ, column
        by column and site by site."""
        kinds: Integers = 2 * np.array(self.cardinalities) + np.array(self.ordered)
        return kinds

    @cached_property
    def exact(self) -> bool:
        """Whether nothing was blurred, so that no noise need be reckoned with."""
        layers = self.layers.values()
        return self.rows_variance == 0 and not any(layer.variances.any() for layer in layers)

    @property
    def replicas(self) -> tuple[int, ...]:
        """() for one evidence, (r,) for a stack of r replicas."""
        return self.rows.shape

    @staticmethod
    def empty(schema: Schema, names: tuple[str, ...]) -> TableEvidence:
        columns = [schema.column(name) for name in names]
        return TableEvidence(
            names=names,
            cardinalities=tuple(column.cardinality for column in columns),
            ordered=tuple(column.ordered for column in columns),
            rows=np.array(float(schema.rows or 0)),
        )

    @staticmethod
    def from_releases(
        schema: Schema, names: tuple[str, ...], releases: Sequence[Release]
    ) -> TableEvidence:
        """From the components among the releases, and those in a table of all columns. Where rows
        were weighed, the others told only how, since they are about other rows; where they were
        weighed anew, the last weights count."""
        schema, releases = as_cut(schema, releases)
        white = [one for one in releases if isinstance(one.query, White)]
        components = [one for one in releases if isinstance(one.query, Components)]
        for one in releases:
            components += interactions(schema, one) if is_whole(one, schema) else ()
        empty = TableEvidence.empty(schema, names)
        told = reduce(TableEvidence.add, components, empty)
        if not white:
            return told
        alike = [list(each) for _, each in groupby(white, lambda one: one.asked(White).clips[0])]
        each = [reduce(TableEvidence._weighed, some, empty) for some in alike]
        return reduce(TableEvidence._anew, each)._after(told)

    def add(self, release: Release) -> TableEvidence:
        """This evidence with one more release in it."""
        sets = release.asked(Components).sets
        return self._with(sets, release.values.astype(float), release.variance)

    def _weighed(self, release: Release) -> TableEvidence:
        """This evidence with components of weighed rows, in units of one row and one feature."""
        query = release.asked(White)
        features = tuple(np.array(u, dtype=float) / WHITE_GRID for u in query.features)
        self._check_features(features)
        out = replace(self, features=features)
        orders = np.array([len(members) for members in query.sets])
        free = {name: k - 1 for name, k in zip(self.names, self.cardinalities, strict=True)}
        sizes = [prod(free[name] for name in members) for members in query.sets]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        scale, first = 1.0, WEIGHT * query.multipliers[0]
        # a second clip has left fewer of the same rows
        if self.layers and not query.sets[0] and self._counts_rows:
            scale = float(self.rows) / max(float(release.values[0]) / first, 1.0)
        for order in sorted(set(orders.tolist())):
            chosen = np.flatnonzero(orders == order)
            unit = scale / (WEIGHT * query.multipliers[order] * WHITE_GRID**order)
            parts = [release.values[starts[i] : starts[i + 1]] for i in chosen]
            if order or not self.layers:
                sets = tuple(query.sets[i] for i in chosen)
                values = unit * np.concatenate(parts).astype(float)
                out = out._with(sets, values, unit**2 * release.variance)
        return out

    def _check_features(self, features: tuple[Floats, ...] | None) -> None:
        if self.features is None or features is None:
            return
        if any(map(np.any, map(np.subtract, self.features, features))):
            raise EvidenceError(
                "rows were weighed twice, in different features, so that these cannot be "
                "added up; use the releases of one run"
            )

    def _anew(self, later: TableEvidence) -> TableEvidence:
        """Evidence of rows that were weighed anew, with what these have told of pairs before: how
        two columns vary together. Their margins are those of other weights; where noise drowns the
        rows, it drowns that, too."""
        self._check_features(later.features)
        if not (self._counts_rows and later._counts_rows):
            merged = self.layers[2].merged(later.layers[2]) if 2 in later.layers else self.layers[2]
            return replace(later, layers={**later.layers, 2: merged})
        free = np.array(self.cardinalities) - 1
        margins = [each.layers[1].values / max(float(each.rows), 1.0) for each in (self, later)]
        layer, (i, j) = self.layers[2], np.array(self.members(2)).T
        sizes, starts = np.diff(layer.offsets), np.cumsum(free) - free
        inner = np.arange(layer.offsets[-1]) - np.repeat(layer.offsets[:-1], sizes)
        first, second = np.divmod(inner, np.repeat(free[j], sizes))
        first, second = first + np.repeat(starts[i], sizes), second + np.repeat(starts[j], sizes)
        before, after = (each[first] * each[second] for each in margins)
        scale = float(later.rows) / max(float(self.rows), 1.0)
        values = scale * layer.values + float(later.rows) * (after - before)
        moved = replace(layer, values=values, variances=scale**2 * layer.variances)
        merged = moved.merged(later.layers[2]) if 2 in later.layers else moved
        return replace(later, layers={**later.layers, 2: merged})

    @property
    def _counts_rows(self) -> bool:
        """Whether the number of rows is known well enough to divide by it."""
        return float(self.rows) >= CERTAIN * float(np.sqrt(self.rows_variance))

    def _after(self, before: TableEvidence) -> TableEvidence:
        """This evidence of weighed rows, with what margins before show that weights have made.
        Columns that were not measured before are taken as kept evenly."""
        known = before.measured(np.arange(len(self.names))[:, None])
        if self.features is None or not known.any():
            return self
        bends = [
            bent(*before.shares(i), *self.shares(i)) if known[i] else np.zeros(k)
            for i, k in enumerate(self.cardinalities)
        ]
        own = [(u**2).sum(axis=1) for u in self.features]
        kept = kept_share(
            float(before.rows), before.rows_variance, float(self.rows), self.rows_variance
        )
        return replace(self, feigned=Feigned.of(own, kept, bends))

    def shares(self, column: int) -> tuple[Floats, Floats]:
        """Of the levels of a column, and the variance of the noise of each."""
        layer, rows, k = self.layers[1], max(float(self.rows), 1.0), self.cardinalities[column]
        at = int(np.searchsorted(layer.keys, column))
        own = layer.values[layer.offsets[at] : layer.offsets[at + 1]]
        design = self.all_designs[column, :k, :k]
        noise = self.rows_variance * design[:, 0] ** 2
        noise += layer.variances[at] * (design[:, 1:] ** 2).sum(axis=1)
        return (design[:, 0] * self.rows + design[:, 1:] @ own) / rows, noise / rows**2

    def _with(self, sets: Sequence[tuple[str, ...]], values: Floats, noise: float) -> TableEvidence:
        """This evidence with components of sets of one order."""
        if not sets[0]:
            before, after = np.array(self.rows_variance or np.inf), np.array(noise)
            rows, variance = combined(self.rows, before, values[0], after)
            return replace(self, rows=rows, rows_variance=float(variance))
        index, order = {name: i for i, name in enumerate(self.names)}, len(sets[0])
        places = [index[name] for names in sets for name in names]
        members = np.array(places, dtype=np.intp).reshape(-1, order)
        fresh = self._layer(members, values, noise)
        old = self.layers.get(order)
        merged = fresh if old is None else old.merged(fresh)
        return replace(self, layers={**self.layers, order: merged})

    def _layer(self, members: Indices, values: Floats, noise: float) -> Layer:
        k = np.array(self.cardinalities) - 1
        if (np.diff(members, axis=1) < 0).any():
            raise EvidenceError("sets must name columns in the order of the schema; sort them")
        sizes = k[members].prod(axis=1)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        keys = self.keys(members)
        order = np.argsort(keys)
        flat = values
        if (np.diff(order) < 0).any():
            flat = np.concatenate([values[starts[i] : starts[i + 1]] for i in order])
        offsets = np.concatenate([[0], np.cumsum(sizes[order])])
        return Layer(keys[order], offsets, flat, np.full(len(order), noise))

    def keys(self, members: Indices) -> Integers:
        """One number for each set of columns in ascending order."""
        keys = np.zeros(len(members), dtype=np.int64)
        for column in members.T:
            keys = keys * len(self.names) + column
        return keys

    def members(self, order: int) -> list[tuple[int, ...]]:
        """The measured sets of one order, in the order in which they are kept."""
        keys, out = self.layers[order].keys, []
        for _ in range(order):
            keys, last = np.divmod(keys, len(self.names))
            out.append(last.tolist())
        return list(zip(*reversed(out), strict=True))

    def measured(self, sets: Indices) -> Bools:
        """Which of these sets (rows of indices, in any order) have been measured."""
        layer = self.layers.get(sets.shape[1])
        if layer is None or not len(sets):
            return np.zeros(len(sets), dtype=bool)
        return layer.position(self.keys(np.sort(sets, axis=1)))[1]

    @cached_property
    def calm(self) -> TableEvidence:
        """The same, with triples of weighed rows drawn to what pairs say (``completion.py``), and
        less noise in these (for a stack: its mean)."""
        if self.features is None or 3 not in self.layers:
            return self
        sets = np.array(self.members(3), dtype=np.int64)
        found = self._calm_at_once(sets)
        values, variances = self._calm_by_shape(sets) if found is None else found
        calm = replace(self.layers[3], values=values, variances=variances)
        return replace(self, layers={**self.layers, 3: calm})

    def _calm_at_once(self, sets: Indices) -> tuple[Floats, Floats] | None:
        """Values and variances of triples, if that was compiled and all their pairs are there."""
        parts = [sets[:, part] for order in (1, 2, 3) for part in combinations(range(3), order)]
        if completion.compiled is None or not all(self.measured(part).all() for part in parts):
            return None
        held = [self.layers[part.shape[1]] for part in parts]
        each = zip(held, parts, strict=True)
        starts = [layer.offsets[layer.position(self.keys(part))[0]] for layer, part in each]
        features = np.zeros_like(self.all_designs)
        for square, own in zip(features, self.features or (), strict=True):
            square[: len(own), : own.shape[1]] = own
        values, variances = np.empty_like(held[-1].values), held[-1].variances.copy()
        levels = np.array(self.cardinalities, dtype=np.int64)
        numbers = [self.rows, *(self.layers[order].values for order in (1, 2, 3))]
        arrays = [*numbers, self.all_designs, features, levels, sets, np.stack(starts, axis=1)]
        completion.compiled.drawn((values, variances, *map(np.ascontiguousarray, arrays)))
        return values, variances

    def _calm_by_shape(self, sets: Indices) -> tuple[Floats, Floats]:
        """The same in arrays."""
        layer, features = self.layers[3], self.features or ()
        values, variances = np.empty_like(layer.values), np.empty(len(sets))
        copies = int(np.prod(self.replicas))
        pairs = completion.Pairs.of(self.tables, sets, self.cardinalities, copies)
        for at in completion.alike(sets, self.cardinalities, copies):
            measured, noise = self.blocks(sets[at])
            each = [
                np.tile(np.stack([features[i] for i in column]), (copies, 1, 1))
                for column in sets[at].T
            ]
            towards = completion.components(pairs.completed(at), each).reshape(measured.shape)
            drawn, left = completion.shrunk(measured, noise, towards)
            variances[at] = left.reshape(-1, len(at)).mean(axis=0)
            size = int(np.prod(drawn.shape[-3:]))
            where = layer.offsets[at][:, None] + np.arange(size)
            values[..., where] = drawn.reshape(*drawn.shape[:-3], size)
        return values, variances

    def blocks(self, sets: Indices) -> tuple[Floats, Floats]:
        """Components of sets of one shape, axes in the order given, and their variances.

        A component that was never measured is zero with variance zero: right where a statistic
        does not depend on it, and the caller's duty to know.
        """
        shape = tuple(self.cardinalities[i] - 1 for i in sets[0])
        layer = self.layers.get(sets.shape[1])
        if layer is None:
            return np.zeros((*self.replicas, len(sets), *shape)), np.zeros(len(sets))
        at, found = layer.position(self.keys(np.sort(sets, axis=1)))
        index = layer.offsets[at].reshape(-1, *[1] * len(shape))
        for axis, size in enumerate(shape):
            # blocks are stored with their columns in ascending order: those behind this one
            behind = np.where(sets > sets[:, axis : axis + 1], shape, 1).prod(axis=1)
            along = np.arange(size).reshape(-1, *[1] * (len(shape) - axis - 1))
            index = index + behind.reshape(-1, *[1] * len(shape)) * along
        if found.all():
            return layer.values[..., index], layer.variances[at]
        out = layer.values[..., np.where(found.reshape(-1, *[1] * len(shape)), index, 0)]
        missing: tuple[Any, ...] = (..., ~found, *[slice(None)] * len(shape))
        out[missing] = 0.0
        return out, np.where(found, layer.variances[at], 0.0)

    def coefficients(
        self, sets: Indices, apart: bool = False
    ) -> tuple[Floats, dict[tuple[int, ...], Floats]]:
        """Total and components of all subsets of sets of one shape, as one array per set (for a
        stack: all sets of the first replica, then of the next).

        Index 0 of an axis means that the column was summed out. Also returned: the variance of
        each subset (given by positions within the set), one number per set. ``apart`` leaves out
        (as zero) what holds the first two columns and any other, and takes triples calmly.
        """
        size = sets.shape[1]
        shape = tuple(self.cardinalities[i] for i in sets[0])
        out = np.zeros((*self.replicas, len(sets), *shape))
        nowhere: tuple[Any, ...] = (..., *[0] * size)
        out[nowhere] = self.rows[..., None]
        variances: dict[tuple[int, ...], Floats] = {(): np.full(len(sets), self.rows_variance)}
        for order in range(1, size + 1):
            for subset in combinations(range(size), order):
                if apart and order > 2 and subset[:2] == (0, 1):
                    continue
                source = self.calm if apart and order == 3 else self
                values, variances[subset] = source.blocks(sets[:, subset])
                inside = (slice(1, None) if i in subset else 0 for i in range(size))
                where: tuple[Any, ...] = (..., *inside)
                out[where] = values
        if self.replicas:
            copies = self.replicas[0]
            variances = {subset: np.tile(values, copies) for subset, values in variances.items()}
        return out.reshape(-1, *shape), variances

    def rows_of(self, tests: int) -> Floats:
        """The number of rows behind each of so many tests, at least one."""
        each: Floats = np.maximum(np.atleast_1d(self.rows), 1.0)
        return np.repeat(each, tests // len(each))

    def tables(self, sets: Indices) -> Floats:
        """Reconstructed tables of sets of one shape, axes in the order given."""
        out = self.coefficients(sets)[0]
        for axis in range(1, sets.shape[1] + 1):
            moved = np.moveaxis(out, axis, 1)
            flat = self.inverses(sets[:, axis - 1]) @ moved.reshape(*moved.shape[:2], -1)
            out = np.moveaxis(flat.reshape(moved.shape), 1, axis)
        return out

    def inverses(self, columns: Indices) -> Floats:
        """The inverse designs of columns of one kind, which turn (total, component) into counts:
        one that serves all, or one for each (for a stack, of each replica)."""
        return self.repeated(self.designs(columns))

    def repeated(self, each: Floats) -> Floats:
        """What is the same in all replicas of a stack, once for each of them."""
        shared = not self.replicas or len(each) == 1
        return each if shared else np.tile(each, (self.replicas[0], *[1] * (each.ndim - 1)))

    def designs(self, columns: Indices) -> Floats:
        """The same, without a copy for each replica."""
        k = self.cardinalities[int(columns[0])]
        if self.features is None:
            columns = columns[:1]
        return self.all_designs[columns, :k, :k]

    @cached_property
    def all_designs(self) -> Floats:
        """The inverse designs of all columns, in the corners of squares of one size."""
        most = max(self.cardinalities)
        out = np.zeros((len(self.cardinalities), most, most))
        for i, (square, k) in enumerate(zip(out, self.cardinalities, strict=True)):
            if self.features is None:
                square[:k, :k] = design_inverse(k, self.ordered[i])
            else:
                square[:k, :k] = np.linalg.inv(np.column_stack([np.ones(k), self.features[i]]).T)
        return out


def components_query(names: tuple[str, ...], sets: Iterable[tuple[int, ...]]) -> Components:
    """The query for sets of column indices."""
    return Components(tuple(tuple(names[i] for i in members) for members in sets))
