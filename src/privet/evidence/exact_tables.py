"""Exact tables, counted when first asked for and remembered.

For searches without privacy, which may ask for the table of any columns. What was counted can be
saved; a later search on it reads no data, and finds every table that the first one asked for and
all of their margins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from privet.arrays import Bools, Indices, Integers
from privet.errors import EvidenceError
from privet.evidence.counts import PairCounts
from privet.graph.bits import bitsets, members
from privet.privacy.queries.base import Release
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.tables import Tables
from privet.schema.model import Schema

Members = tuple[int, ...]
Source = Callable[[Tables | Fans], Release]
FEW_CELLS = 64  # of a base beside which all columns are counted, if most are asked for
FEW_NUMBERS = 1 << 10  # of a fan that is counted whole: to ask for the rest would take longer


class Fan(NamedTuple):
    """How many rows have each cell of the table of a base, and each level of some other columns,
    one after the other; ``held`` are these as bits."""

    columns: Members
    counts: Integers
    held: int


class ExactTables:
    """Tables of column sets. ``source`` counts those that are missing (None: nobody does);
    ``pairs`` are those of all pairs, if they are known; they are not among the releases."""

    def __init__(
        self,
        names: tuple[str, ...],
        cardinalities: tuple[int, ...],
        source: Source | None,
        pairs: PairCounts | None = None,
    ) -> None:
        self.names, self._index = names, {name: i for i, name in enumerate(names)}
        self.cardinalities = cardinalities
        self._levels = sum(cardinalities)
        self._ask, self.pairs = source, pairs
        self._known: dict[Members, Integers] = {}  # axes in the order of the columns
        self._releases: list[Release] = []
        self._holders: list[dict[int, Members]] = [{} for _ in names]  # per column: sets with it
        self.held: dict[Members, list[Fan]] = {}  # fans by their base, which ascends
        self.rows: int | None = None  # of all tables, once a fan was counted

    @staticmethod
    def from_releases(
        schema: Schema,
        releases: Iterable[Release],
        source: Source | None = None,
        pairs: PairCounts | None = None,
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

    @property
    def open(self) -> bool:
        """Whether somebody counts what is missing."""
        return self._ask is not None

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

    def stacks(self, sets: Indices, shapes: Indices) -> Iterator[tuple[Indices, Integers]]:
        """The same in these shapes: tables of one shape as one array, and their places."""
        if self.pairs is not None and sets.shape[1] == 2:
            for same in alike(self.pairs.levels[sets]):
                yield same, self.pairs.tables(sets[same]).reshape(-1, *shapes[same[0]])
            return
        counted = self.tables(sets)
        for same in alike(shapes):
            yield same, np.array([counted[i].reshape(shapes[same[0]]) for i in same.tolist()])

    def fans(self, bases: Sequence[Members], asked: Bools) -> list[Fan]:
        """For each base (ascending) a fan that has the columns asked for beside it."""
        wanted = [*zip(bases, bitsets(asked), strict=True)]
        self.learn(wanted)
        found = [self._fan(*fan) for fan in wanted]
        return [fan for fan in found if fan is not None]

    def learn(self, wanted: Sequence[tuple[Members, int]]) -> None:
        """Counts the fans that are missing, of these bases (ascending) and the columns asked for
        beside each, as bits; all at once, in an order that is not that of the questions."""
        missing: dict[Members, int] = {}
        for base, xs in wanted:
            if self._fan(base, xs) is None:
                missing[base] = missing.get(base, 0) | xs
        if self._ask is None:
            for base, xs in missing.items():
                self._make(base, xs)
            return
        if missing:
            fans = sorted(missing.items())
            self._count_fans({base: self._beside(base, xs) for base, xs in fans})

    def has(self, base: Members, others: int) -> bool:
        """Whether there is such a fan; the columns are given as bits."""
        return self._fan(base, others) is not None

    def _fan(self, base: Members, others: int) -> Fan | None:
        """One that was counted, and perhaps has more columns; they are given as bits."""
        for fan in self.held.get(base, ()):
            if not others & ~fan.held:
                return fan
        return None

    def _beside(self, base: Members, others: int) -> Members:
        """The columns to be counted: all, where tables are small and most are asked for, or very
        small, since a search asks for the others sooner or later."""
        cells = prod([self.cardinalities[i] for i in base])
        most = 2 * others.bit_count() > len(self.names)
        if (most and cells <= FEW_CELLS) or cells * self._levels <= FEW_NUMBERS:
            return _others(base, len(self.names))
        return tuple(members(others))

    def _count_fans(self, wanted: dict[Members, Members]) -> None:
        assert self._ask is not None
        named = ((self._named(base), self._named(others)) for base, others in wanted.items())
        release = self._ask(Fans(tuple(named)))
        self._releases.append(release)
        self._spread(release.values, wanted.items())

    def picked(self, fan: Fan, others: Members) -> Integers:
        """Of some columns of a fan, one after the other."""
        if others == fan.columns:
            return fan.counts
        levels, rank = np.array(self.cardinalities), np.full(len(self.names), len(others))
        rank[list(others)] = np.arange(len(others))
        owners = np.repeat(fan.columns, levels[list(fan.columns)])
        return fan.counts[:, np.argsort(rank[owners], kind="stable")[: levels[list(others)].sum()]]

    def _make(self, base: Members, others: int) -> None:
        """A fan from tables, which must be known."""
        columns = tuple(members(others))
        sets = np.array([(*base, i) for i in columns], dtype=np.intp)
        tables = [t.reshape(-1, t.shape[-1]) for t in self.tables(sets)]
        self._keep(base, columns, np.ascontiguousarray(np.concatenate(tables, axis=1)))

    def _find(self, key: Members) -> bool:
        """Whether the table is known, or is now, as the margin of a known one."""
        if key in self._known:
            return True
        if not self._releases:
            return False
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
        for base in (*likely, *self.held):
            outside = [i for i in key if i not in base]
            for fan in self.held.get(base, ()) if len(outside) < 2 else ():
                x = outside[0] if outside else fan.columns[0]
                if fan.held >> x & 1:
                    inside = (*base, x)
                    table = self.picked(fan, (x,))
                    table = table.reshape([self.cardinalities[i] for i in inside])
                    whole = tuple(sorted(inside))
                    self._known[whole] = table.transpose(np.argsort(inside))
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
        return tuple([self.names[i] for i in key])

    def _record(self, release: Release) -> None:
        self._releases.append(release)
        index, start = self._index, 0
        if isinstance(release.query, Fans):
            places = [
                [tuple(index[name] for name in each) for each in fan] for fan in release.query.sets
            ]
            self._spread(release.values, ((base, others) for base, others in places))
            return
        for named in release.asked(Tables).sets:
            given = tuple(index[name] for name in named)
            shape = [self.cardinalities[i] for i in given]
            table = release.values[start : start + prod(shape)].reshape(shape)
            start += table.size
            key = tuple(sorted(given))
            self._known[key] = table.transpose(np.argsort(given))
            for i in key:
                self._holders[i][_mask(key)] = key

    def _spread(self, values: Integers, fans: Iterable[tuple[Members, Members]]) -> None:
        """Keeps fans that were counted together."""
        levels, start = self.cardinalities, 0
        for base, columns in fans:
            cells, width = prod([levels[i] for i in base]), sum([levels[i] for i in columns])
            counts = values[start : start + cells * width].reshape(cells, width)
            start += cells * width
            self._keep(base, columns, counts)

    def _keep(self, base: Members, columns: Members, counts: Integers) -> None:
        if self.rows is None:
            self.rows = int(counts[:, : self.cardinalities[columns[0]]].sum())
        self.held.setdefault(base, []).append(Fan(columns, counts, _mask(columns)))


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


@lru_cache(maxsize=1 << 12)
def _others(base: Members, size: int) -> Members:
    """Of so many columns, those that are not in a base."""
    return tuple([i for i in range(size) if i not in base])


@lru_cache(maxsize=1 << 12)
def _mask(key: Members) -> int:
    return sum([1 << i for i in key])
