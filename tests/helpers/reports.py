"""Reports in law: counts of reports drawn at once, without drawing people one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from privet.local.collector.counts import LeftOut, Reported, Tally, as_release, largest_set
from privet.local.collector.tables import LocalEvidence
from privet.local.device.blocks import codes_of, make
from privet.local.device.protocol import Protocol
from privet.privacy.queries.base import Release
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.asked import asked

Floats = NDArray[np.float64]

RARELY = 1e-6  # false alarms of a test that measures a size


def schema_of(sizes: Sequence[int], kind: str = "categorical") -> Schema:
    columns = tuple(
        Column(name=f"x{i}", kind=kind, levels=tuple(str(v) for v in range(k)))  # type: ignore[arg-type]
        for i, k in enumerate(sizes)
    )
    return Schema(name="reports", columns=columns)


def shown(protocol: Protocol, joint: Floats) -> list[tuple[tuple[int, ...], Floats]]:
    """For every block, the law of (key, cell), shaped (keys, cells); for all columns together
    one law with one key."""
    every = range(joint.ndim)
    if protocol.family == "grid":
        return [(tuple(every), (joint.ravel() @ protocol.channels[0].matrix())[None])]
    if protocol.family == "attributes":
        for axis, channel in enumerate(protocol.channels):
            joint = np.moveaxis(np.tensordot(joint, channel.matrix(), (axis, 0)), -1, axis)
        return [(tuple(every), joint.ravel()[None])]
    laws = []
    for block in protocol.blocks:
        p = joint.sum(axis=tuple(i for i in every if i not in block.attributes)).ravel()
        sizes = protocol.sizes_of(block)
        codes = codes_of(np.arange(prod(sizes)), sizes)
        blurred = protocol.channel(block).matrix()
        keys = protocol.keys(block)
        rows = []
        for key in range(keys):
            truth = make(protocol.kind, sizes, codes, np.full(len(codes), key), block.power)
            rows.append(p @ blurred[truth] / keys)
        laws.append((block.attributes, np.array(rows)))
    return laws


def shares(protocol: Protocol) -> Floats:
    weights = np.array([block.weight for block in protocol.blocks] or [1], dtype=float)
    return weights / weights.sum()


def tallies(
    laws: list[tuple[tuple[int, ...], Floats]], people: Sequence[int], rng: np.random.Generator
) -> list[Tally]:
    out = []
    for (attributes, law), count in zip(laws, people, strict=True):
        drawn = rng.multinomial(count, law.ravel())
        key, cell = np.divmod(np.arange(law.size), law.shape[1])
        out.append(Tally(attributes=attributes, key=key, cell=cell, people=drawn.astype(np.int64)))
    return out


def releases(
    protocol: Protocol, joint: Floats, people: int, count: int, rng: np.random.Generator
) -> list[Release]:
    """So many independent collections of reports by so many people."""
    laws = shown(protocol, joint)
    each = np.rint(people * shares(protocol)).astype(int).tolist()
    largest = largest_set(protocol, 3)
    return [
        as_release(protocol, tallies(laws, each, rng), LeftOut(), largest) for _ in range(count)
    ]


def stack(found: list[Release]) -> LocalEvidence:
    """Collections of reports as one stack of evidence, each with errors of its own; for laws that
    do not look at reports."""
    first = replace(LocalEvidence.from_release(found[0]), plain=None)
    tables = [asked(release, Reported).tables(release.values) for release in found]
    layers = {}
    for size, layer in first.layers.items():
        sets = [tuple(members) for members in layer.members.tolist()]
        rows = [np.concatenate([one[members].ravel() for members in sets]) for one in tables]
        layers[size] = replace(layer, values=np.stack(rows))
    return replace(first, layers=layers)


def sized(p_values: Floats) -> tuple[bool, bool]:
    """Whether the shares below 0.05 and below 0.01 can be right: they pass if they could come from
    a size of 0.035 to 0.065, and of up to 0.016, and fail if that happens RARELY."""
    count = p_values.size
    low, high = (int((p_values < level).sum()) for level in (0.01, 0.05))
    right = binom.ppf(RARELY, count, 0.035) <= high <= binom.isf(RARELY, count, 0.065)
    return bool(right), bool(low <= binom.isf(RARELY, count, 0.016))
