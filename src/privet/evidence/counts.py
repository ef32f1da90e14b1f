"""Counts that a person can read, and the noise in them: tables put together from evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from privet.arrays import Floats, Indices, Integers
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import side_by_side
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.products import blocks, spans
from privet.privacy.queries.tables import Components
from privet.schema.model import Schema

# Numbers in one block of work, so that memory stays bounded.
BLOCK_NUMBERS = 1_000_000
FEW_COLUMNS = 64  # whose places are remembered


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The tables of many sets of columns of one shape, added up over sites. ``laws`` has, of each
    site with noise, the inverse designs of the columns and the variances of the components."""

    tables: Floats  # (sets, levels of the first column, ...)
    laws: tuple[tuple[list[Floats], dict[tuple[int, ...], Floats]], ...]

    @staticmethod
    def of(sites: Sequence[TableEvidence], sets: Indices) -> Counts:
        laws = tuple(
            ([site.inverses(column) for column in sets.T], site.coefficients(sets)[1])
            for site in sites
            if not site.exact
        )
        return Counts(tables=sum(site.tables(sets) for site in sites), laws=laws)  # type: ignore[arg-type]

    def deviations(self, weights: Floats) -> Floats:
        """Standard deviations of the noise in weighed sums of the cells, one for each set."""
        total = np.zeros(len(weights))
        for inverses, variances in self.laws:
            seen = weights
            for axis, inverse in enumerate(inverses, start=1):
                moved = np.moveaxis(seen, axis, -1)
                flat = moved.reshape(len(moved), -1, moved.shape[-1]) @ inverse
                seen = np.moveaxis(flat.reshape(moved.shape), -1, axis)
            for subset, variance in variances.items():
                inside = [slice(1, None) if i in subset else slice(1) for i in range(len(inverses))]
                part = seen[(slice(None), *inside)]
                total += variance * (part.reshape(len(part), -1) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(total))


@dataclass(frozen=True)
class PairCounts:
    """The tables of all pairs, without noise: all levels of all columns under and beside each
    other. Those of one column have its counts on their diagonal."""

    levels: Indices
    matrix: Integers

    @staticmethod
    def of(evidence: TableEvidence) -> PairCounts | None:
        """From exact components of all columns and all pairs; None if there are none."""
        if 2 not in evidence.layers:
            return None
        levels = np.array(evidence.cardinalities, dtype=np.intp)
        places = spans(levels)
        first = np.array([own[0] for own in places])
        inner = np.concatenate([own[1:] for own in places])
        rows, columns = blocks(*np.triu_indices(len(levels), 1), levels - 1, levels - 1)
        whole = np.zeros((len(inner) + len(levels),) * 2)
        whole[inner[rows], inner[columns]] = evidence.layers[2].values
        whole[first[:, None], inner] = evidence.layers[1].values
        whole[inner[:, None], first] = evidence.layers[1].values[:, None]
        whole[first[:, None], first] = evidence.rows
        for own, design in zip(places, evidence.all_designs, strict=True):
            whole[:, own] = whole[:, own] @ design[: len(own), : len(own)].T
        for own, design in zip(places, evidence.all_designs, strict=True):
            whole[own] = design[: len(own), : len(own)] @ whole[own]
        for own in places:  # what is beneath is told once more
            whole[own[0] :, own] = 0
        return PairCounts(levels, _mirrored(np.rint(whole).astype(np.int64), levels))

    @staticmethod
    def counted(schema: Schema, release: Release) -> PairCounts:
        """The same, as the answer to ``every_pair`` has them."""
        levels = np.array([*schema.cardinalities.values()], dtype=np.intp)
        whole, start, end = np.zeros((levels.sum(),) * 2, dtype=np.int64), 0, 0
        for own in levels[:-1].tolist():
            fan = whole[end : end + own, end + own :]
            fan[:] = release.values[start : start + fan.size].reshape(fan.shape)
            start, end = start + fan.size, end + own
        return PairCounts(levels, _mirrored(whole, levels))

    def components(self, schema: Schema) -> list[tuple[Components, Integers]]:
        """What whoever asked for the number of rows, the columns and the pairs as components would
        have been told: the same counts in other units, in whole numbers."""
        own = side_by_side(tuple([(each.cardinality, each.ordered) for each in schema.columns]))
        counts, units = self.matrix.astype(np.float64), self.levels - 1
        inner = np.concatenate([h @ np.diag(counts)[here] for h, here in own])
        half = np.concatenate([h @ counts[here] for h, here in own])
        both = np.concatenate([half[:, here] @ h.T for h, here in own], axis=1)
        told = [] if schema.rows_are_public else [np.array([self.rows])]
        places = _few_pairs if len(units) <= FEW_COLUMNS else _pairs
        told += [inner, both[places(tuple(units.tolist()))]]
        orders = range(3 - len(told), 3)
        sets = (Components((*combinations(schema.names, order),)) for order in orders)
        return [*zip(sets, (part.astype(np.int64) for part in told), strict=True)]

    @cached_property
    def rows(self) -> int:
        return int(np.diag(self.matrix)[: self.levels[0]].sum())

    @property
    def fans(self) -> dict[tuple[int, ...], list[tuple[tuple[int, ...], Integers]]]:
        """As compiled scores take them: beside each column all of them."""
        every, ends = (*range(len(self.levels)),), self.levels.cumsum().tolist()
        parts = zip(every, self.levels.tolist(), ends, strict=True)
        return {(x,): [(every, self.matrix[end - own : end])] for x, own, end in parts}

    @cached_property
    def starts(self) -> Indices:
        """Where each column begins."""
        return np.asarray(np.cumsum(self.levels) - self.levels)

    def tables(self, pairs: Indices) -> Integers:
        """Of pairs of one shape."""
        (x, y), (rows, columns) = self.starts[pairs].T, self.levels[pairs[0]]
        down, across = x[:, None, None] + np.arange(rows)[:, None], y[:, None, None]
        return np.asarray(self.matrix[down, across + np.arange(columns)])


def _pairs(units: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Where the tables of all pairs are, one after the other, if columns have so many places."""
    sizes = np.array(units)
    return blocks(*np.triu_indices(len(units), 1), sizes, sizes)


_few_pairs = lru_cache(maxsize=8)(_pairs)


def every_pair(names: tuple[str, ...]) -> Fans:
    """Asks for the tables of all pairs of two columns or more."""
    return Fans(tuple(((name,), names[i + 1 :]) for i, name in enumerate(names[:-1])))


def _mirrored(upper: Integers, levels: Indices) -> Integers:
    """With the tables of each pair the other way round, and columns on the diagonal."""
    first, last = levels[0], levels[-1]
    own = upper[:-last, -last:].sum(axis=1), upper[:first, -last:].sum(axis=0)
    return np.asarray(upper + upper.T + np.diag(np.concatenate(own)))


def pairs_by_shape(evidence: TableEvidence) -> Iterator[Indices]:
    """All pairs of columns, those of one shape together, in blocks of bounded size."""
    kind, levels = evidence.kind, np.array(evidence.cardinalities)
    every = np.stack(np.triu_indices(len(levels), 1), axis=1)
    every = np.take_along_axis(every, np.argsort(kind[every], axis=1, kind="stable"), axis=1)
    kinds = kind[every] @ [int(kind.max()) + 1, 1]
    order = np.argsort(kinds, kind="stable")
    for alike in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
        sets = every[alike]
        if not len(sets):  # a single column
            return
        step = max(1, BLOCK_NUMBERS // int(levels[sets[0]].prod()))
        yield from (sets[at : at + step] for at in range(0, len(sets), step))
