"""Estimates from reports, ready to be put together into tables, with the law of their errors.

Sets are rows of column indices, so that hundreds of tables are put together by a few array
operations. Evidence may be a stack of replicas: then tables have one more axis in front.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.errors import EvidenceError
from privet.evidence.prior import default_level
from privet.local.collector.counts import Reported, Tables, along, centred
from privet.local.collector.laws import BlockLaw, ChannelLaw, GridLaw, Law, ParityLaw
from privet.local.device.protocol import Protocol
from privet.privacy.queries.base import Release

# How many people without noise a pair must be worth for separators of one column, and of two.
# A conditional test without power takes away edges that are there; measured on random networks,
# and the same as others had found before.
ORDERS = (500.0, 5_000.0)
LENIENCE = 2.0


def level(columns: int) -> float:
    """The usual odds that two columns are joined, twice: what reports hide in their noise costs
    more than what a lower bar lets in (measured on random networks)."""
    return LENIENCE * default_level(columns)


def order_for(worth: float, needed: tuple[float, ...]) -> int:
    """The size of the largest separators for which there is evidence."""
    return sum(worth >= each for each in needed)


@dataclass(frozen=True)
class _Layer:
    """The centred tables of all sets of one size, in one flat array (its last axis; one before
    it counts replicas), found by sorted key."""

    members: Indices
    keys: Integers
    offsets: Integers
    values: Floats


@dataclass(frozen=True, kw_only=True)
class LocalEvidence:
    """Centred tables F_A of many sets A of columns, and the law of their errors.

    ``plain`` is the evidence on the reports themselves, as if they were the answers: it is there
    where independent channels leave independence as it is and where undoing them costs power.
    ``basis`` is what a stack has replicas of.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    layers: Mapping[int, _Layer]
    law: Law
    plain: LocalEvidence | None = None
    basis: LocalEvidence | None = None

    @staticmethod
    def from_release(release: Release) -> LocalEvidence:
        query = release.query
        if not isinstance(query, Reported) or query.protocol.family == "product":
            raise EvidenceError(
                "this evidence holds no tables of reports; search it with the method that counted "
                "it"
            )
        protocol = query.protocol
        tables = query.tables(release.values)
        found = LocalEvidence.of(protocol.schema.names, protocol.sizes, tables, law_of(release))
        if protocol.name == "geometric":
            return replace(found, plain=_as_answers(found, query))
        return found

    @staticmethod
    def of(
        names: tuple[str, ...], sizes: tuple[int, ...], tables: Tables, law: Law
    ) -> LocalEvidence:
        layers = {}
        for size in sorted({len(members) for members in tables}):
            sets = sorted(members for members in tables if len(members) == size)
            lengths = [tables[members].size for members in sets]
            members = np.array(sets, dtype=np.intp)
            layers[size] = _Layer(
                members,
                _keys(members, len(names)),
                np.concatenate([[0], np.cumsum(lengths)]),
                np.concatenate([tables[one].ravel() for one in sets]),
            )
        return LocalEvidence(names=names, sizes=sizes, layers=layers, law=law)

    @property
    def replicas(self) -> tuple[int, ...]:
        """() for one evidence, (r,) for a stack of r replicas."""
        return next(iter(self.layers.values())).values.shape[:-1]

    @cached_property
    def people_worth(self) -> float:
        """n_eff: how many people without noise would tell as much about a pair."""
        return worth(self.law, len(self.names))

    def known(self, sets: Indices) -> Bools:
        """Which of these sets (rows of indices, in any order) somebody was asked about."""
        layer = self.layers.get(sets.shape[1])
        if layer is None or not len(sets):
            return np.zeros(len(sets), dtype=bool)
        return self._places(layer, sets)[1]

    def _places(self, layer: _Layer, sets: Indices) -> tuple[Indices, Bools]:
        keys = _keys(np.sort(sets, axis=1), len(self.names))
        at = np.minimum(np.searchsorted(layer.keys, keys), len(layer.keys) - 1)
        return at, layer.keys[at] == keys

    def centred(self, sets: Indices) -> Floats:
        """F_A of sets of one shape, axes in the order given; zero where nothing is known."""
        shape = tuple(self.sizes[i] for i in sets[0])
        layer = self.layers.get(sets.shape[1])
        if layer is None:
            return np.zeros((*self.replicas, len(sets), *shape))
        at, found = self._places(layer, sets)
        blank = [1] * len(shape)
        index = layer.offsets[at].reshape(-1, *blank)
        for axis, size in enumerate(shape):
            # tables are kept with their columns in ascending order: those behind this one
            behind = np.where(sets > sets[:, axis : axis + 1], shape, 1).prod(axis=1)
            along_axis = np.arange(size).reshape(-1, *[1] * (len(shape) - axis - 1))
            index = index + behind.reshape(-1, *blank) * along_axis
        known = found.reshape(-1, *blank)
        out: Floats = np.where(known, layer.values[..., np.where(known, index, 0)], 0.0)
        return out

    def tables(self, sets: Indices) -> Floats:
        """Estimated tables (shares, which may be negative) of sets of one shape; the replicas of
        a stack one after another: all sets of the first, then of the next."""
        size = sets.shape[1]
        k = np.array([self.sizes[i] for i in sets[0]], dtype=float)
        shape = tuple(self.sizes[i] for i in sets[0])
        out = np.full((*self.replicas, len(sets), *shape), 1 / k.prod())
        for order in range(1, size + 1):
            for subset in combinations(range(size), order):
                others = [i for i in range(size) if i not in subset]
                wide: tuple[Any, ...] = (
                    ...,
                    *(slice(None) if i in subset else None for i in range(size)),
                )
                out += self.centred(sets[:, subset])[wide] / k[others].prod()
        return out.reshape(-1, *shape)

    def stack(self, count: int, rng: np.random.Generator) -> LocalEvidence:
        """Replicas: what fresh reports by fresh people of the same kind might have told."""
        margins = [self.tables(np.array([[i]]))[0] for i in range(len(self.sizes))]
        shares = [np.maximum(margin, 1e-6) / np.maximum(margin, 1e-6).sum() for margin in margins]
        layers = {}
        for size, layer in self.layers.items():
            values = np.repeat(layer.values[None], count, axis=0)
            for at, members in enumerate(layer.members):
                noise = self.law.draw(tuple(members), [shares[i] for i in members], count, rng)
                values[:, layer.offsets[at] : layer.offsets[at + 1]] += noise.reshape(count, -1)
            layers[size] = replace(layer, values=values)
        plain = None if self.plain is None else self.plain.stack(count, rng)
        return replace(self, layers=layers, plain=plain, basis=self)


def law_of(release: Release) -> Law:
    """The law of the errors of what reports say."""
    query = release.asked(Reported)
    if query.protocol.family == "grid":
        return grid_law(query.protocol, release.values.astype(float))
    return law(query.protocol, np.array(query.people, dtype=float))


def law(protocol: Protocol, people: Floats) -> Law:
    """The law for so many reports to each block (or on all columns)."""
    if protocol.family == "attributes":
        matrices = tuple(channel.matrix() for channel in protocol.channels)
        return ChannelLaw(matrices=matrices, people=float(people[0]))
    masks = np.array([block.mask for block in protocol.blocks], dtype=np.int64)
    left = np.array([float(protocol.channel(block).attenuation) for block in protocol.blocks])
    kind = ParityLaw if protocol.family == "parity" else BlockLaw
    return kind(sizes=protocol.sizes, masks=masks, people=people, left=left)


def grid_law(protocol: Protocol, counts: Floats) -> Law:
    return GridLaw(matrix=protocol.channels[0].matrix(), counts=counts, sizes=protocol.sizes)


def planned_law(protocol: Protocol, people: int) -> Law:
    """The law to expect before anybody has reported."""
    if protocol.family == "grid":
        cells = protocol.channels[0].outputs
        return grid_law(protocol, np.full(cells, people / cells))
    weights = np.array([block.weight for block in protocol.blocks] or [1], dtype=float)
    return law(protocol, people * weights / weights.sum())


def worth(law: Law, columns: int) -> float:
    """n_eff: how many people without noise would tell as much about a pair, as harmonic mean
    over the pairs."""
    pairs = np.array(list(combinations(range(columns), 2)), dtype=np.intp)
    return float(1 / np.mean(1 / np.maximum(law.worth(pairs), 1e-12)))


def planned_worth(protocol: Protocol, people: int) -> float:
    return worth(planned_law(protocol, people), len(protocol.sizes))


def _as_answers(evidence: LocalEvidence, query: Reported) -> LocalEvidence:
    """The evidence on the reports of independent channels, taken for answers."""
    matrices = [channel.matrix() for channel in query.protocol.channels]
    tables = {
        members: centred(
            along(evidence.tables(np.array([members]))[0], [matrices[i] for i in members])
        )
        for members in query.sets
    }
    same = ChannelLaw(
        matrices=tuple(np.eye(size) for size in evidence.sizes), people=float(query.people[0])
    )
    return LocalEvidence.of(evidence.names, evidence.sizes, tables, same)


def _keys(members: Indices, count: int) -> Integers:
    keys = np.zeros(len(members), dtype=np.int64)
    for column in members.T:
        keys = keys * count + column
    return keys
