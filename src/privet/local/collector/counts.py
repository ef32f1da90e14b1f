"""What is left of reports once they are counted: unbiased estimates, and nothing of anybody.

Reports come in tallies of equal ones. The estimate for a set A of columns is its *centred table*
F_A, the mean over people of ⊗_{i∈A} (e(x_i) - 1/k_i): the part of A's table that no smaller set
knows. Any table is a sum of these: p(x) = Σ_{A⊆S} F_A(x_A) / ∏_{i∈S∖A} k_i. That the estimates
are unbiased is proved in proofs/local-evidence.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Integers
from privet.errors import EvidenceError
from privet.local.collector.laws import inverse
from privet.local.device.blocks import codes_of, permutations
from privet.local.device.protocol import Protocol
from privet.privacy.queries.base import Derived, Release, codec
from privet.schema.model import Schema

Set = tuple[int, ...]
Tables = dict[Set, Floats]

FINE = 1 << 30  # steps per unit of a centred table
MOST_CELLS = 1 << 22  # of all centred tables together; triples are left away beyond
LARGEST_SET = 3
# Largest whole number of a release. A table estimated beyond it (2^32 in units of shares, from
# reports that hardly depend on the answers) is cut off there: its standard error is as large, so
# it tells nothing either way. Sums of products are refused instead, since their errors are
# reckoned from them.
LARGEST = float(1 << 62)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The different reports about some attributes, and how many people sent each."""

    attributes: Set
    key: Integers
    cell: Integers
    people: Integers


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Reports that were not counted, by reason. ``repeated`` are copies of a person's first one;
    ``further`` are others by the same person, who has given away more than one epsilon."""

    other_protocol: int = 0
    malformed: int = 0
    repeated: int = 0
    further: int = 0

    @property
    def total(self) -> int:
        return self.other_protocol + self.malformed + self.repeated + self.further


@codec("Reported", evidence="reports")
@dataclass(frozen=True, kw_only=True)
class Reported(Derived):
    """The kind of a release that holds what reports say.

    ``people`` counts the reports to each block of the protocol (everybody's, if all report on
    everything); ``largest`` is the size of the largest sets whose tables are there. The reports
    themselves were private when they left their devices, so nothing is spent on this.
    """

    protocol: Protocol
    people: tuple[int, ...]
    left_out: LeftOut
    largest: int

    def __str__(self) -> str:
        return f"{sum(self.people)} reports by the protocol {self.protocol.name}"

    def check(self, schema: Schema) -> None:
        """Knowledge may have changed since the reports were made, the columns may not."""
        blocks = len(self.protocol.blocks) or 1
        if (
            self.protocol.schema.columns != schema.columns
            or len(self.people) != blocks
            or min(self.people) < 0
            or not 1 <= self.largest <= LARGEST_SET
        ):
            raise EvidenceError(
                "these are no reports about the columns of this schema; take a fresh copy of the "
                "evidence"
            )

    def size(self, schema: Schema) -> int:
        family = self.protocol.family
        if family == "product":
            return 2 * len(self.protocol.blocks)
        if family == "grid":
            return prod(self.protocol.sizes)
        return sum(prod(self.protocol.sizes[i] for i in members) for members in self.sets)

    @property
    def epsilon_of_reports(self) -> Fraction:
        return self.protocol.epsilon

    def is_exact(self, release: Release, schema: Schema) -> bool:
        return False  # the noise is in the reports

    @cached_property
    def sets(self) -> tuple[Set, ...]:
        """The sets whose centred tables are there, in their order."""
        return tuple(
            members
            for size in range(1, self.largest + 1)
            for members in covered(self.protocol, size)
        )

    def tables(self, values: Integers) -> dict[Set, Floats]:
        """The centred tables in the values of a release."""
        if self.protocol.family == "grid":
            return _from_grid(self.protocol, values, self.sets)
        out, start = {}, 0
        for members in self.sets:
            shape = tuple(self.protocol.sizes[i] for i in members)
            out[members] = values[start : start + prod(shape)].reshape(shape) / FINE
            start += prod(shape)
        return out


def covered(protocol: Protocol, size: int) -> Iterator[Set]:
    """The sets of so many columns about which a report can tell something, in order."""
    count = len(protocol.sizes)
    if protocol.family in ("attributes", "grid"):
        yield from combinations(range(count), size)
    elif protocol.family == "parity":
        yield from sorted(b.attributes for b in protocol.blocks if len(b.attributes) == size)
    elif protocol.family == "cell":
        blocks = {block.attributes for block in protocol.blocks}
        if any(len(block) == count for block in blocks):
            yield from combinations(range(count), size)
        else:
            yield from sorted({s for block in blocks for s in combinations(block, size)})


def largest_set(protocol: Protocol, wanted: int) -> int:
    """The size of the largest sets that can be counted, at most ``wanted``."""
    if protocol.family in ("parity", "product"):
        return 2
    cells = 0
    for size in range(1, wanted + 1):
        if comb(len(protocol.sizes), size) > MOST_CELLS:
            return max(size - 1, 2)
        sets = covered(protocol, size)
        cells += sum(prod(protocol.sizes[i] for i in members) for members in sets)
        if cells > MOST_CELLS and size > 2:
            return size - 1
    return wanted


def as_release(
    protocol: Protocol, tallies: Iterable[Tally], left_out: LeftOut, largest: int
) -> Release:
    """Everything that the tallies say about sets of up to so many columns.

    For blocks there is one tally for each, in their order; where everybody reports on every
    column, the tallies' attributes together cover all sets.
    """
    values: Floats
    if protocol.family == "product":
        people, values = _products(protocol, tallies)
    elif protocol.family == "grid":
        people, values = _grid(protocol, tallies)
    else:
        count = {"cell": _blocks, "parity": _parities, "attributes": _attributes}[protocol.family]
        people, tables = count(protocol, tallies, largest)
    query = Reported(protocol=protocol, people=people, left_out=left_out, largest=largest)
    if protocol.family not in ("product", "grid"):
        values = FINE * np.concatenate([tables[members].ravel() for members in query.sets])
    return Release(
        query=query,
        values=np.rint(np.clip(values, -LARGEST, LARGEST)).astype(np.int64),
        variance=0.0,
        mechanism=f"{protocol.name}(epsilon={float(protocol.epsilon):g}) on every device",
    )


def centred(table: Floats) -> Floats:
    """The table less its means along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _blocks(
    protocol: Protocol, tallies: Iterable[Tally], largest: int
) -> tuple[tuple[int, ...], Tables]:
    """Reports weighed by how much of the truth is left in them (their attenuation a), divided by
    the sum of a²: E[e(y) - 1/K | x] = a (e(x) - 1/K) for every set within a block."""
    sizes = protocol.sizes
    sums: dict[Set, Any] = {}
    worth: dict[Set, float] = {}
    people = []
    for block, tally in zip(protocol.blocks, tallies, strict=True):
        left = float(protocol.channel(block).attenuation)
        total = int(tally.people.sum())
        people.append(total)
        codes = codes_of(tally.cell, protocol.sizes_of(block)).T
        column = dict(zip(block.attributes, codes, strict=True))
        for members, table in _margins(column, tally.people, sizes, largest):
            sums[members] = sums.get(members, 0.0) + left * table
            worth[members] = worth.get(members, 0.0) + left**2 * total
    return tuple(people), {
        members: centred(table.reshape([sizes[i] for i in members])) / max(worth[members], 1e-300)
        for members, table in sums.items()
    }


def _margins(
    column: Mapping[int, Integers], people: Integers, sizes: Sequence[int], largest: int
) -> Iterator[tuple[Set, Floats]]:
    """The (flat) tables of all sets of up to so many of these columns."""
    weights = people.astype(float)
    for size in range(1, min(largest, len(column)) + 1):
        for members in combinations(sorted(column), size):
            place = column[members[0]]
            for i in members[1:]:
                place = place * sizes[i] + column[i]
            cells = prod(sizes[i] for i in members)
            yield members, np.bincount(place, weights=weights, minlength=cells).astype(float)


def _parities(
    protocol: Protocol, tallies: Iterable[Tally], largest: int
) -> tuple[tuple[int, ...], Tables]:
    """A report to a pair names K cells, the graph of a random bijection; one to a single
    attribute names one. Centred, their mean is a c times the truth, c = K / (K - 1) or 1."""
    tables, people = {}, []
    for block, tally in zip(protocol.blocks, tallies, strict=True):
        shape = protocol.sizes_of(block)
        total = int(tally.people.sum())
        people.append(total)
        scale = float(protocol.channel(block).attenuation) * gain(shape)
        table = np.zeros(prod(shape))
        for cells, named in named_cells(shape, tally.key, tally.cell):
            table += np.bincount(cells[named], tally.people[named], minlength=table.size)
        mean = centred(table.reshape(shape)) / max(scale * total, 1e-300)
        tables[block.attributes] = mean
    return tuple(people), tables


def gain(shape: Sequence[int]) -> float:
    """c of a parity response: how much more a set of cells says than one cell would."""
    levels = max(shape)
    return 1.0 if len(shape) == 1 else levels / (levels - 1)


def named_cells(
    shape: Sequence[int], key: Integers, cell: Integers
) -> Iterator[tuple[Integers, Bools]]:
    """For each code of the first attribute: the cell that each report names (None of the table
    if ``named`` is false)."""
    levels = max(shape)
    orders = permutations(key, levels, len(shape))
    if len(shape) == 1:
        found = (orders[:, 0] == cell[:, None]).argmax(axis=1)
        yield found, np.ones(len(found), dtype=bool)
        return
    inverse = np.argsort(orders[:, 1], axis=1)
    for code in range(shape[0]):
        wanted = (cell - orders[:, 0, code]) % levels
        other = np.take_along_axis(inverse, wanted[:, None], axis=1)[:, 0]
        named = other < shape[1]
        yield code * shape[1] + np.where(named, other, 0), named


def _attributes(
    protocol: Protocol, tallies: Iterable[Tally], largest: int
) -> tuple[tuple[int, ...], Tables]:
    """Tables of reports, each axis multiplied by its channel's inverse."""
    sizes = protocol.sizes
    inverses = [inverse(channel.matrix()) for channel in protocol.channels]
    tables: Tables = {}
    total = 0
    for tally in tallies:
        total = int(tally.people.sum())
        codes = codes_of(tally.cell, [sizes[i] for i in tally.attributes]).T
        column = dict(zip(tally.attributes, codes, strict=True))
        for members, flat in _margins(column, tally.people, sizes, largest):
            if members not in tables:
                table = flat.reshape([sizes[i] for i in members]) / max(total, 1)
                tables[members] = centred(along(table, [inverses[i] for i in members]))
    return (total,), tables


def along(table: Floats, matrices: Sequence[Floats]) -> Floats:
    """The table with each of its axes multiplied by a matrix from the right."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(table, matrix, (axis, 0)), -1, axis)
    return table


def _grid(protocol: Protocol, tallies: Iterable[Tally]) -> tuple[tuple[int, ...], Floats]:
    (tally,) = tallies
    counts = np.bincount(tally.cell, tally.people, minlength=prod(protocol.sizes))
    return (int(tally.people.sum()),), counts.astype(float)


def _from_grid(protocol: Protocol, counts: Integers, sets: Sequence[Set]) -> Tables:
    shares = counts / max(int(counts.sum()), 1)
    table = (shares @ inverse(protocol.channels[0].matrix())).reshape(protocol.sizes)
    every = range(table.ndim)
    return {
        members: centred(table.sum(axis=tuple(i for i in every if i not in members)))
        for members in sets
    }


def _products(protocol: Protocol, tallies: Iterable[Tally]) -> tuple[tuple[int, ...], Floats]:
    """Sum and sum of squares of the reports to each block, in half steps from the middle."""
    people, sums = [], []
    for block, tally in zip(protocol.blocks, tallies, strict=True):
        halves = (2 * tally.cell - (protocol.channel(block).cells - 1)).astype(float)
        people.append(int(tally.people.sum()))
        sums += [float(halves @ tally.people), float(halves**2 @ tally.people)]
    if max(sums) > LARGEST:
        raise EvidenceError(
            f"at an epsilon of {float(protocol.epsilon):g} a report may be any of "
            f"{protocol.channel(protocol.blocks[0]).cells} numbers, and their squares add up to "
            f"more than 2^62; they tell nothing: choose an epsilon of 0.1 or more"
        )
    return tuple(people), np.array(sums)
