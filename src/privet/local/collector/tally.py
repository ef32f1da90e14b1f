"""Reports that are in memory, counted by what they say. Those of millions of people are counted
without being held: ``local/collector/collect.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import prod

import numpy as np

from privet.arrays import Integers
from privet.local.collector.counts import LARGEST_SET, Set, Tally
from privet.local.device.bits import MOST
from privet.local.device.blocks import cell
from privet.local.device.protocol import Protocol


def tallies_of(protocol: Protocol, reports: Mapping[str, Integers]) -> Iterator[Tally]:
    """The tallies of reports as a Randomizer makes them; of blocks, one for each in their order."""
    if protocol.family in ("attributes", "grid"):
        yield from _of_rows(protocol, reports)
        return
    columns = [reports["block"], reports.get("key", np.zeros_like(reports["block"]))]
    power = protocol.family == "product"
    for block in protocol.blocks:
        mine = columns[0] == block.mask
        if power:
            mine &= columns[1] == block.power
        yield _tally(block.attributes, columns[1][mine], reports["cell"][mine])


def _of_rows(protocol: Protocol, reports: Mapping[str, Integers]) -> Iterator[Tally]:
    """One tally of whole rows if they can be numbered, else one for every few columns."""
    every: Set = tuple(range(len(protocol.sizes)))
    whole = prod(protocol.sizes) <= MOST
    for members in (every,) if whole else combinations(every, LARGEST_SET):
        names = [protocol.schema.names[i] for i in members]
        codes = np.stack([reports[name] for name in names], axis=1)
        cells = cell(codes, [protocol.sizes[i] for i in members])
        yield _tally(members, np.zeros_like(cells), cells)


def _tally(attributes: Set, key: Integers, cells: Integers) -> Tally:
    both, people = np.unique(np.stack([key, cells]), axis=1, return_counts=True)
    return Tally(attributes=attributes, key=both[0], cell=both[1], people=people.astype(np.int64))
