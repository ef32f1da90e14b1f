"""Exact tables, counted when first asked for and remembered.

For searches without privacy, which may ask for the table of any columns. What was counted can be
saved; a later search on it reads no data, and finds every table that the first one asked for and
all of their margins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

import numpy as np

from privet.arrays import Bools, Indices, Integers
from privet.errors import EvidenceError
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Tables
from privet.schema.model import Schema

Members = tuple[int, ...]
Source = Callable[[Tables], Release]


class ExactTables:
    """Tables of column sets. ``source`` counts those that are missing (None: nobody does)."""

    def __init__(
        self, names: tuple[str, ...], cardinalities: tuple[int, ...], source: Source | None
    ) -> None:
        self.names = names
        self.cardinalities = cardinalities
        self._ask = source
        self._known: dict[Members, Integers] = {}  # axes in the order of the columns
        self._releases: list[Release] = []
        self._holders: list[dict[int, Members]] = [{} for _ in names]  # per column: sets with it

    @staticmethod
    def from_releases(
        schema: Schema, releases: Iterable[Release], source: Source | None = None
    ) -> ExactTables:
        counted = ExactTables(
            schema.names, tuple(column.cardinality for column in schema.columns), source
        )
        for release in releases:
            if isinstance(release.query, Tables) and release.variance == 0:
                counted._record(release)
        return counted

    def releases(self) -> tuple[Release, ...]:
        """All that was counted, as one release."""
        if not self._releases:
            return ()
        return (
            Release(
                query=Tables(tuple(s for one in self._releases for s in one.asked(Tables).sets)),
                values=np.concatenate([one.values for one in self._releases]),
                variance=0.0,
                mechanism=self._releases[0].mechanism,
            ),
        )

    def at_hand(self, sets: Indices) -> Bools:
        """Which of these tables are known, or can be counted."""
        if self._ask is not None:
            return np.ones(len(sets), dtype=bool)
        keys = map(tuple, np.sort(sets, axis=1).tolist())
        return np.array([self._find(key) for key in keys], dtype=bool)

    def cells(self) -> int:
        """Of all that was counted."""
        return sum(len(release.values) for release in self._releases)

    def tables(self, sets: Indices) -> list[Integers]:
        """The table of each set (rows of column indices), axes in the order given.

        All that are missing are counted at once.
        """
        order = np.argsort(sets, axis=1, kind="stable")
        keys = [tuple(row) for row in np.take_along_axis(sets, order, axis=1).tolist()]
        self._count({key: None for key in keys if not self._find(key)})
        places = np.argsort(order, axis=1, kind="stable").tolist()
        return [self._known[key].transpose(at) for key, at in zip(keys, places, strict=True)]

    def _find(self, key: Members) -> bool:
        """Whether the table is known, or is now, as the margin of a known one."""
        if key in self._known:
            return True
        mask = _mask(key)
        fewest = min((self._holders[i] for i in key), key=len)
        larger = [held for other, held in fewest.items() if other & mask == mask]
        if not larger:
            return False
        whole = min(larger, key=lambda held: (self._known[held].size, held))
        others = tuple(axis for axis, i in enumerate(whole) if i not in key)
        self._known[key] = self._known[whole].sum(axis=others)
        return True

    def _count(self, missing: dict[Members, None]) -> None:
        if not missing:
            return
        wanted = Tables(tuple(tuple(self.names[i] for i in key) for key in missing))
        if self._ask is None:
            columns = ", ".join(wanted.sets[0])
            raise EvidenceError(
                f"the table of {columns} was never counted, and there are no data to count it "
                "from; run this search on the data, with ⟦private=False⟧"
            )
        self._record(self._ask(wanted))

    def _record(self, release: Release) -> None:
        self._releases.append(release)
        index = {name: i for i, name in enumerate(self.names)}
        start = 0
        for members in release.asked(Tables).sets:
            given = [index[name] for name in members]
            shape = [self.cardinalities[i] for i in given]
            table = release.values[start : start + prod(shape)].reshape(shape)
            start += table.size
            key = tuple(sorted(given))
            self._known[key] = table.transpose(np.argsort(given))
            for i in key:
                self._holders[i][_mask(key)] = key


def _mask(key: Members) -> int:
    return sum(1 << i for i in key)
