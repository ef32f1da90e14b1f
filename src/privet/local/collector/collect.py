"""The local trust model: nobody holds rows, and what arrives was private when it left.

Reports are never held in memory: they are counted by what they say (``local/collector/reports.py``
reads them).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import log2, prod

import numpy as np

from privet.errors import MethodError
from privet.local.collector import ibu
from privet.local.collector.counts import Set, Tally, as_release, largest_set
from privet.local.collector.ibu import MOST_STEPS, Denoised, View, denoised, positions, space
from privet.local.collector.reports import Judged, judged
from privet.local.collector.tables import ORDERS, order_for, planned_worth
from privet.local.device.protocol import Protocol
from privet.privacy.queries.base import Release

TOGETHER = 1 << 22  # different reports that are held in memory at a time
COVER_CELLS = 1 << 12  # of a table that is counted in one pass, where everybody reports on all


def collect(reports: object, protocol: Protocol) -> Release:
    """What the reports in a CSV or Parquet file (or a DataFrame, an Arrow table or a dict of
    columns) say, as evidence."""
    with judged(reports, protocol) as found:
        # triples serve separators, for which pairs must be worth enough
        wanted = 3 if order_for(planned_worth(protocol, found.people), ORDERS) else 2
        largest = largest_set(protocol, wanted)
        if protocol.family == "attributes":
            tallies = _columns(found, protocol, cover(protocol.sizes, largest))
        elif protocol.family == "grid":
            tallies = _columns(found, protocol, [tuple(range(len(protocol.sizes)))])
        else:
            tallies = _blocks(found, protocol)
        return as_release(protocol, tallies, found.left_out, largest)


def views(reports: object, protocol: Protocol, columns: Sequence[str]) -> tuple[View, ...]:
    """What reports (as ``collect`` takes them) show of some columns; for
    ``local/collector/minimum_chi2.py``."""
    if len(space(protocol, positions(protocol, columns))) > len(columns):
        raise MethodError(
            f"a report by {protocol.name} changes all columns together and shows no table of "
            f"{' and '.join(columns)} by themselves; use the tests of discover"
        )
    with judged(reports, protocol) as found:
        return ibu.views(protocol, _tallies(found, protocol, columns), positions(protocol, columns))


def denoise(
    reports: object, protocol: Protocol, columns: Sequence[str], *, most_steps: int = MOST_STEPS
) -> Denoised:
    """The most likely table of some columns, from reports as ``collect`` takes them; see
    ``local/collector/ibu.py``, also for why it is no table to run tests on."""
    with judged(reports, protocol) as found:
        tallies = _tallies(found, protocol, columns)
        return denoised(protocol, tallies, columns, most_steps=most_steps)


def _tallies(found: Judged, protocol: Protocol, columns: Sequence[str]) -> Iterator[Tally]:
    members = space(protocol, positions(protocol, columns))
    if protocol.family in ("attributes", "grid"):
        return _columns(found, protocol, [members])
    return _blocks(found, protocol)


def _blocks(reports: Judged, protocol: Protocol) -> Iterator[Tally]:
    """One tally for each block, in their order; some blocks at a time, so that memory is bounded
    however many people there are."""
    weights = np.array([block.weight for block in protocol.blocks], dtype=float)
    upto = np.cumsum(weights) / weights.sum() * reports.people
    slices = np.minimum(upto // TOGETHER, upto[-1] // TOGETHER).astype(int)
    for one in np.unique(slices):
        places = np.flatnonzero(slices == one)
        found = reports.con.execute(
            f"SELECT place, key, cell, count(*) AS people FROM kept WHERE place BETWEEN "
            f"{places[0]} AND {places[-1]} GROUP BY ALL"
        ).fetchnumpy()
        order = np.argsort(found["place"], kind="stable")
        columns = {name: np.asarray(values)[order] for name, values in found.items()}
        ends = np.searchsorted(columns["place"], [*places, places[-1] + 1])
        for place, start, stop in zip(places.tolist(), ends, ends[1:], strict=False):
            yield Tally(
                attributes=protocol.blocks[place].attributes,
                key=columns["key"][start:stop].astype(np.int64),
                cell=columns["cell"][start:stop].astype(np.int64),
                people=columns["people"][start:stop].astype(np.int64),
            )


def _columns(reports: Judged, protocol: Protocol, groups: Iterable[Set]) -> Iterator[Tally]:
    """A tally for each group of columns."""
    for members in groups:
        code = f"v{members[0]}::BIGINT"
        for i in members[1:]:
            code = f"({code}) * {protocol.sizes[i]} + v{i}"
        found = reports.con.execute(
            f"SELECT {code} AS cell, count(*) AS people FROM kept GROUP BY cell"
        ).fetchnumpy()
        cells = np.asarray(found["cell"]).astype(np.int64)
        yield Tally(
            attributes=members,
            key=np.zeros_like(cells),
            cell=cells,
            people=np.asarray(found["people"]).astype(np.int64),
        )


def cover(sizes: tuple[int, ...], largest: int) -> Iterator[Set]:
    """Groups of columns with few cells such that each set of ``largest`` columns lies in one.

    Greedy: a group starts with the first set that is in none, and takes in the column with which
    it has the most such sets, as long as its table stays small.
    """
    count = len(sizes)
    largest = min(largest, count)
    waiting = set(combinations(range(count), largest))
    while waiting:
        group = set(min(waiting))
        while True:
            cells = prod(sizes[i] for i in group)
            room = [i for i in range(count) if i not in group and cells * sizes[i] <= COVER_CELLS]
            if not room:
                break
            won = {
                i: sum(
                    tuple(sorted((*some, i))) in waiting
                    for some in combinations(sorted(group), largest - 1)
                )
                / log2(sizes[i] + 1)
                for i in room
            }
            best = max(room, key=lambda i: (won[i], -i))
            if not won[best]:
                break
            group.add(best)
        waiting -= set(combinations(sorted(group), largest))
        yield tuple(sorted(group))
