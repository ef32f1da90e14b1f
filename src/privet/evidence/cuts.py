"""Where free numeric columns are cut: into groups of about equally many rows.

Bins of equal width between generous bounds hold nearly all rows in one or two. And what a number
explains is only explained as far as its groups are narrow: given four wide ones, two columns that
depend on it still depend on each other. The more the rest of the run will tell, the more groups.
Everything here is a function of released histograms and public facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privet.arrays import Floats
from privet.evidence.location import spread
from privet.privacy.queries.base import Release
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.tables import Components, Tables
from privet.schema.cuts import FINE, Cuts, cut, free_columns
from privet.schema.model import Schema

STEP = 2  # of the grid in a bin of the histogram
FEWEST, USUAL, MOST = 3, 4, 8  # groups
POWER = 1 / 5  # of what a pair is worth, in rows: how many groups
SMALLEST = 1 / 4  # of an even share: no group is smaller


def histograms(schema: Schema) -> Cut | None:
    """What tells how free columns spread; None if there are none."""
    names = free_columns(schema)
    places = tuple(range(STEP, FINE, STEP))
    cuts = tuple((name, places) for name in names)
    return Cut(cuts, Tables(tuple((name,) for name in names))) if names else None


@dataclass(frozen=True)
class Spread:
    """How free columns spread: the rows in each step of the grid and, where that is a level of its
    own, those without a number."""

    names: tuple[str, ...]
    rows: Floats
    missing: tuple[Floats, ...]

    @staticmethod
    def of(release: Release, schema: Schema) -> Spread:
        asked = release.asked(Cut)
        names = tuple(name for name, _ in asked.cuts)
        bins, fine = FINE // STEP, cut(schema, asked.cuts)
        sizes = [fine.column(name).cardinality for name in names]
        tables = np.split(release.values.astype(float), np.cumsum(sizes)[:-1])
        counts = spread(np.stack([table[:bins] for table in tables]), release.variance)
        missing = tuple(np.maximum(table[bins:], 0.0) for table in tables)
        return Spread(names, np.repeat(np.maximum(counts, 0.0), STEP, axis=1) / STEP, missing)

    @property
    def total(self) -> float:
        """About how many rows there are."""
        return float(
            np.median([a.sum() + b.sum() for a, b in zip(self.rows, self.missing, strict=True)])
        )

    def cuts(self, groups: int) -> Cuts:
        return tuple(
            (name, _places(rows, groups)) for name, rows in zip(self.names, self.rows, strict=True)
        )

    def shares(self, cuts: Cuts) -> dict[str, Floats]:
        """Of the levels that columns have if they are cut so."""
        out = {}
        for (name, places), rows, missing in zip(cuts, self.rows, self.missing, strict=True):
            counts = np.append([part.sum() for part in np.split(rows, places)], missing)
            out[name] = counts / max(float(counts.sum()), 1.0)
        return out


def groups(worth: float) -> int:
    """How many, if the typical pair tells as much as so many rows without noise."""
    return int(np.clip(round(max(worth, 1.0) ** POWER), FEWEST, MOST))


def _places(rows: Floats, groups: int) -> tuple[int, ...]:
    """Where so many groups end. If a few numbers hold most rows there are 4, 3 or 2: tables of few
    different shapes are tested together, so that other numbers would cost time."""
    for count in (groups, *(fewer for fewer in (USUAL, FEWEST) if fewer < groups)):
        if len(found := _even(rows, count)) == count - 1:
            return found
    return _even(rows, 2) or (FINE // 2,)


def _even(rows: Floats, groups: int) -> tuple[int, ...]:
    """Where groups of even shares end, from below. What a step holds beyond that leaves less for
    the others; there may be fewer."""
    below = np.cumsum(rows)[:-1] / max(float(rows.sum()), 1e-9)
    found: list[int] = []
    done, least = 0.0, SMALLEST / groups
    for left in range(groups, 1, -1):
        fits = np.flatnonzero((below >= done + least) & (below <= 1 - least))
        if not len(fits):
            break
        at = fits[np.abs(below[fits] - (done + (1 - done) / left)).argmin()]
        found.append(int(at) + 1)
        done = float(below[at])
    return tuple(found)


def as_cut(schema: Schema, releases: Sequence[Release]) -> tuple[Schema, tuple[Release, ...]]:
    """The schema under which the last of these were asked, and all that hold under it, as if it had
    been declared: not the histograms that told the cuts."""
    cuts = chosen(releases)
    return cut(schema, cuts), tuple(
        replace(one, query=one.query.query) if isinstance(one.query, Cut) else one
        for one in releases
        if not isinstance(one.query, Cut) or one.query.cuts == cuts or _is_apart(one.query)
    )


def chosen(releases: Sequence[Release]) -> Cuts:
    """The cuts with which the last of these were asked."""
    return next((one.query.cuts for one in reversed(releases) if isinstance(one.query, Cut)), ())


def _is_apart(query: Cut) -> bool:
    """Whether this is about other columns than those that are cut."""
    names = {name for name, _ in query.cuts}
    inner = query.query
    return isinstance(inner, Components) and names.isdisjoint(n for s in inner.sets for n in s)
