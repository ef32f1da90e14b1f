"""Exact tables, counted when first asked for and remembered.

For searches without privacy, which may ask for the table of any columns. What was counted can be
saved; a later search on it reads no data, and finds every table that the first one asked for and
all of their margins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from math import prod

import numpy as np

from privet.arrays import Bools, Indices, Integers
from privet.errors import EvidenceError
from privet.evidence.counts import pairs_by_shape
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.base import Release
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.tables import Tables
from privet.schema.model import Schema

Members = tuple[int, ...]
Source = Callable[[Tables | Fans], Release]


class ExactTables:
    """Tables of column sets. ``source`` counts those that are missing (None: nobody does);
    ``pairs`` is evidence that knows those of two columns, if it was measured."""

    def __init__(
        self,
        names: tuple[str, ...],
        cardinalities: tuple[int, ...],
        source: Source | None,
        pairs: TableEvidence | None = None,
    ) -> None:
        self.names, self._index = names, {name: i for i, name in enumerate(names)}
        self.cardinalities = cardinalities
        self._ask, self._pairs = source, pairs
        self._known: dict[Members, Integers] = {}  # axes in the order of the columns
        self._releases: list[Release] = []
        self._holders: list[dict[int, Members]] = [{} for _ in names]  # per column: sets with it
        self._fans: dict[Members, list[tuple[Members, Integers]]] = {}  # bases ascend

    @staticmethod
    def from_releases(
        schema: Schema,
        releases: Iterable[Release],
        source: Source | None = None,
        pairs: TableEvidence | None = None,
    ) -> ExactTables:
        levels = tuple(column.cardinality for column in schema.columns)
        counted = ExactTables(schema.names, levels, source, pairs)
        for release in releases:
            if isinstance(release.query, Tables | Fans) and release.variance == 0:
                counted._record(release)
        return counted

    def releases(self) -> tuple[Release, ...]:
        """All that was counted, as one release of each kind."""
        found: dict[type, list[Release]] = {}
        for release in self._releases:
            found.setdefault(type(release.query), []).append(release)
        return tuple(_joined(same) for same in found.values())

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

    @cached_property
    def pairs(self) -> list[tuple[Indices, Integers]]:
        """All pairs, if they were measured, and their tables, those of one shape together."""
        if self._pairs is None or 2 not in self._pairs.layers:
            return []
        return [(some, self._of_pairs(some)) for some in pairs_by_shape(self._pairs)]

    def _of_pairs(self, some: Indices) -> Integers:
        assert self._pairs is not None
        return np.rint(self._pairs.tables(some)).astype(np.int64)

    def stacks(self, sets: Indices, shapes: Indices) -> Iterator[tuple[Indices, Integers]]:
        """The same in these shapes: tables of one shape as one array, and their places."""
        pairs = self._pairs
        if pairs is not None and sets.shape[1] == 2 and pairs.measured(sets).all():
            for same in alike(pairs.kind[sets]):
                yield same, self._of_pairs(sets[same]).reshape(-1, *shapes[same[0]])
            return
        counted = self.tables(sets)
        for same in alike(shapes):
            yield same, np.array([counted[i].reshape(shapes[same[0]]) for i in same.tolist()])

    def fans(self, bases: Sequence[Members], asked: Bools) -> list[Integers]:
        """For each base (ascending) and the columns asked for beside it: how many rows have each
        cell of the table of the base, and each level of these columns, one after the other."""
        wanted = [
            (base, tuple(np.flatnonzero(row).tolist()))
            for base, row in zip(bases, asked, strict=True)
        ]
        missing = {fan: None for fan in wanted if self._fan(*fan) is None}
        if missing and self._ask is not None:
            named = ((self._named(base), self._named(others)) for base, others in missing)
            self._record(self._ask(Fans(tuple(named))))
        found = (self._fan(*fan) for fan in wanted)
        return [
            self._made(*fan) if table is None else table
            for fan, table in zip(wanted, found, strict=True)
        ]

    def _fan(self, base: Members, others: Members) -> Integers | None:
        """As it was counted, or some columns of it."""
        for columns, table in self._fans.get(base, ()):
            if columns == others:
                return table
            if set(columns).issuperset(others):
                return table[:, self._places(columns, others)]
        return None

    def _places(self, columns: Members, others: Members) -> Indices:
        """Where the levels of some of these columns are, one column after the other."""
        levels, rank = np.array(self.cardinalities), np.full(len(self.names), len(others))
        rank[list(others)] = np.arange(len(others))
        owners = np.repeat(columns, levels[list(columns)])
        return np.argsort(rank[owners], kind="stable")[: levels[list(others)].sum()]

    def _made(self, base: Members, others: Members) -> Integers:
        """A fan from tables, which must be known."""
        sets = np.array([(*base, i) for i in others], dtype=np.intp)
        return np.concatenate([t.reshape(-1, t.shape[-1]) for t in self.tables(sets)], axis=1)

    def _find(self, key: Members) -> bool:
        """Whether the table is known, or is now, as the margin of a known one."""
        if key in self._known:
            return True
        whole = self._holder(key) or self._unfolded(key)
        if whole is None:
            return False
        others = tuple(axis for axis, i in enumerate(whole) if i not in key)
        self._known[key] = self._known[whole].sum(axis=others)
        return True

    def _holder(self, key: Members) -> Members | None:
        """The smallest table that was counted and holds these columns."""
        mask = _mask(key)
        fewest = min((self._holders[i] for i in key), key=len)
        larger = [held for other, held in fewest.items() if other & mask == mask]
        return min(larger, key=lambda held: (self._known[held].size, held), default=None)

    def _unfolded(self, key: Members) -> Members | None:
        """The same of tables in fans, of which that one is known now. Mostly the base is all
        columns but one."""
        likely = (key[:i] + key[i + 1 :] for i in range(len(key)))
        for base in (*likely, *self._fans):
            outside = [i for i in key if i not in base]
            for columns, fan in self._fans.get(base, ()) if len(outside) < 2 else ():
                x = outside[0] if outside else columns[0]
                if x in columns:
                    members = (*base, x)
                    start = sum(self.cardinalities[i] for i in columns[: columns.index(x)])
                    table = fan[:, start : start + self.cardinalities[x]]
                    table = table.reshape([self.cardinalities[i] for i in members])
                    whole = tuple(sorted(members))
                    self._known[whole] = table.transpose(np.argsort(members))
                    return whole
        return None

    def _count(self, missing: dict[Members, None]) -> None:
        if not missing:
            return
        wanted = Tables(tuple(self._named(key) for key in missing))
        if self._ask is None:
            columns = ", ".join(wanted.sets[0])
            raise EvidenceError(
                f"the table of {columns} was never counted, and there are no data to count it "
                "from; run this search on the data, with ⟦private=False⟧"
            )
        self._record(self._ask(wanted))

    def _named(self, key: Members) -> tuple[str, ...]:
        return tuple(self.names[i] for i in key)

    def _record(self, release: Release) -> None:
        self._releases.append(release)
        index, start = self._index, 0
        if isinstance(release.query, Fans):
            for base, others in release.query.sets:
                given, columns = (tuple(index[name] for name in each) for each in (base, others))
                cells = prod(self.cardinalities[i] for i in given)
                width = sum(self.cardinalities[i] for i in columns)
                fan = release.values[start : start + cells * width].reshape(cells, width)
                start += fan.size
                self._fans.setdefault(given, []).append((columns, fan))
            return
        for members in release.asked(Tables).sets:
            given = tuple(index[name] for name in members)
            shape = [self.cardinalities[i] for i in given]
            table = release.values[start : start + prod(shape)].reshape(shape)
            start += table.size
            key = tuple(sorted(given))
            self._known[key] = table.transpose(np.argsort(given))
            for i in key:
                self._holders[i][_mask(key)] = key


def alike(rows: Indices) -> Iterator[Indices]:
    """Positions of equal rows."""
    order = np.lexsort(rows.T)
    if len(order):
        yield from np.split(order, np.flatnonzero(np.diff(rows[order], axis=0).any(axis=1)) + 1)


def _joined(releases: Sequence[Release]) -> Release:
    """The answers to several queries of one kind, as that to one."""
    query: Tables | Fans
    if isinstance(releases[0].query, Fans):
        query = Fans(tuple(fan for one in releases for fan in one.asked(Fans).sets))
    else:
        query = Tables(tuple(members for one in releases for members in one.asked(Tables).sets))
    values = np.concatenate([one.values for one in releases])
    return Release(query=query, values=values, variance=0.0, mechanism=releases[0].mechanism)


def _mask(key: Members) -> int:
    return sum(1 << i for i in key)
