"""How many records lie between a table and another decision: exact distances, for small tables.

The decision is that of a G² test on columns of two levels, in whole numbers: each n ln n is
rounded to a part of 2**20, so it is the same wherever a table is met. How many records must be
added or removed to change it is found by looking at all tables near enough: stratum by stratum
the largest (or smallest) G² for each number of changes, and then over strata, since G² adds up.
Beyond ``RADIUS`` changes a distance is cut off, which costs nothing (``proofs/em-pc.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import log, prod

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Indices, Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Query, Rows, records_changed
from privet.schema.model import MOST_ROWS, Schema

Question = tuple[str, ...]  # (x, y, *given)

RADIUS = 32  # changes; there are 746,241 tables within as many of a table of 2 x 2
MOST_STRATA = 16
SCALE = 1 << 20  # of a whole number per unit of n ln n
SLACK = 1 << 12  # more than rounding can add to the G² of a stratum of up to 2**31 records
FAR = 1 << 60
# The nine sums of counts (a, b, c, d) in G², and their signs.
SUMS = np.array(
    [
        (1, 0, 0, 0),
        (0, 1, 0, 0),
        (0, 0, 1, 0),
        (0, 0, 0, 1),
        (1, 1, 0, 0),
        (0, 0, 1, 1),
        (1, 0, 1, 0),
        (0, 1, 0, 1),
        (1, 1, 1, 1),
    ],
    dtype=np.int64,
)
SIGNS = (1, 1, 1, 1, -1, -1, -1, -1, 1)
TOWARDS = np.array([1, -1, -1, 1], dtype=np.int64)  # what makes a and d go together more


@dataclass(frozen=True)
class Distances(Query):
    """For each question, twice the distance to another decision less one, plus ``offset``
    (public): positive without it if the test at level ``alpha`` says independent.

    Sensitivity. Tables that one added or removed record makes differ by 2, as the distances do by
    1 and the sign changes only between 1 and -1. A replaced record is one more and one less.
    """

    questions: tuple[Question, ...]
    alpha: float
    offset: int = 0

    def __str__(self) -> str:
        return f"distances of {len(self.questions)} questions"

    def check(self, schema: Schema) -> None:
        _check(self.questions, schema)

    def size(self, schema: Schema) -> int:
        return len(self.questions)

    def linf(self, schema: Schema) -> int:
        return bound(schema)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        tables = rows.table_batch(self.questions)
        found = [signed_distance(table.reshape(4, -1), self.alpha) for table in tables]
        return np.array(found, dtype=np.int64) + self.offset


@dataclass(frozen=True)
class DistantRemovals(Query):
    """How well it fits to remove t = 0, 1, … of some neighbours, as
    ``dependence.Removals`` has it, by distances; the sensitivity is that of ``Distances``, as
    maxima, minima and order statistics keep it."""

    groups: tuple[tuple[Question, ...], ...]
    alpha: float
    offset: int = 0

    def __str__(self) -> str:
        return f"number of removals by {self._distances}"

    @property
    def _distances(self) -> Distances:
        return Distances(tuple(chain.from_iterable(self.groups)), self.alpha, self.offset)

    def check(self, schema: Schema) -> None:
        self._distances.check(schema)
        if not all(self.groups):
            raise SchemaError("a neighbour without a question; give each at least one")

    def size(self, schema: Schema) -> int:
        return len(self.groups) + 1

    def linf(self, schema: Schema) -> int:
        return bound(schema)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        scores = self._distances.evaluate(rows, schema)
        starts = np.cumsum([0, *map(len, self.groups[:-1])])
        best = -np.sort(-np.maximum.reduceat(scores, starts))
        fits: Integers = np.minimum(np.append(FAR, best), np.append(-best, FAR))
        return fits


def bound(schema: Schema) -> int:
    """How far one person moves a distance as ``Distances`` counts it."""
    return 2 * records_changed(schema) * schema.rows_per_person


def signed_distance(strata: Integers, alpha: float) -> int:
    """Of a table of (a, b, c, d) in each stratum (columns): 2 dist - 1 if it is found
    independent, 1 - 2 dist if not; dist is at most RADIUS + 1."""
    limit = critical(strata.shape[1], alpha)
    counts = [tuple(stratum) for stratum in strata.T.tolist()]
    independent = sum(map(scaled_g2, counts)) <= limit
    sign = 1 if independent else -1
    outer = sum(_farthest(stratum, sign) + sign * SLACK for stratum in counts)
    if (outer <= limit) == independent:
        return sign * (2 * RADIUS + 1)
    reach = _extremes(counts[0], sign)
    for stratum in counts[1:]:
        more = _extremes(stratum, sign)
        reach = np.array([(reach[: t + 1] + more[t::-1]).max() for t in range(RADIUS + 1)])
    changed = sign * reach > limit if independent else sign * reach <= limit
    dist = int(changed.argmax()) if changed.any() else RADIUS + 1
    return sign * (2 * dist - 1)


@lru_cache(maxsize=256)
def critical(strata: int, alpha: float) -> int:
    """Critical value of half of G², as a whole number."""
    from scipy.special import chdtri

    return int(SCALE * float(chdtri(strata, alpha)) / 2)


def scaled_g2(counts: Sequence[int]) -> int:
    """Half of G², as a whole number."""
    a, b, c, d = counts
    own = _scaled(a) + _scaled(b) + _scaled(c) + _scaled(d)
    margins = _scaled(a + b) + _scaled(c + d) + _scaled(a + c) + _scaled(b + d)
    return own - margins + _scaled(a + b + c + d)


def _scaled(count: int) -> int:
    return round(SCALE * count * log(count)) if count > 1 else 0


def _farthest(counts: Sequence[int], sign: int) -> int:
    """A bound on half of G² of all tables whose counts differ by up to RADIUS each: from above
    (sign 1) or from below (-1). G² rises with a and d and falls with b and c where ad >= bc, and
    the other way round where ad <= bc."""
    table = np.array(counts, dtype=np.int64)
    corners = [np.maximum(table + way * RADIUS * TOWARDS, 0) for way in (1, -1)]
    if sign > 0:
        return max(scaled_g2(corner.tolist()) for corner in corners)
    tied = [_association(corner.tolist()) for corner in corners]
    if min(tied) > 0 or max(tied) < 0:  # no table near has none
        return min(scaled_g2(corner.tolist()) for corner in corners)
    return 0


def _association(counts: Sequence[int]) -> int:
    a, b, c, d = counts
    return a * d - b * c


def _extremes(counts: Sequence[int], sign: int) -> Integers:
    """sign times half of G²: its largest value after t = 0 … RADIUS changes of a stratum."""
    places, starts = _ball()
    value = np.zeros(places.shape[1], dtype=np.int64)
    for coefficients, plus, place in zip(SUMS.tolist(), SIGNS, places, strict=True):
        middle = sum(use * count for use, count in zip(coefficients, counts, strict=True))
        near = [_scaled(middle + change) for change in range(-RADIUS, RADIUS + 1)]
        value += plus * np.array(near, dtype=np.int64)[place]
    value *= sign
    for count, place in zip(counts, places, strict=False):
        if count < RADIUS:
            value[place < RADIUS - count] = -FAR  # fewer than no record
    return np.maximum.reduceat(value, starts)


@lru_cache(maxsize=1)
def _ball() -> tuple[NDArray[np.int8], Indices]:
    """All changes of four counts of up to RADIUS together, by their number: for each of the nine
    sums, its change plus RADIUS; and where each number of changes begins."""
    line = np.arange(-RADIUS, RADIUS + 1)
    pairs = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    pairs = pairs[np.abs(pairs).sum(axis=1) <= RADIUS]
    length = np.abs(pairs).sum(axis=1)
    first, last = np.nonzero(length[:, None] + length <= RADIUS)
    total = length[first] + length[last]
    order = np.argsort(total, kind="stable")
    ball = np.hstack([pairs[first], pairs[last]])[order]
    places = (SUMS @ ball.T + RADIUS).astype(np.int8)
    return places, np.searchsorted(total[order], np.arange(RADIUS + 1))


def _check(questions: Sequence[Question], schema: Schema) -> None:
    if not questions:
        raise SchemaError("distances of no question; ask at least one")
    if schema.most_rows > MOST_ROWS:
        raise SchemaError(
            f"most_rows = {schema.most_rows}, but distances are found in tables of up to "
            f"{MOST_ROWS} rows; declare no more, or choose t1"
        )
    for question in questions:
        if len(question) < 2 or len(set(question)) < len(question):
            raise SchemaError(
                f"the question {question} does not name two columns and then the given ones, "
                "each once; name them so"
            )
        for name in question[:2]:
            if schema.column(name).cardinality != 2:
                raise SchemaError(
                    f"distances are found for two levels by two, but column {name!r} has "
                    f"{schema.column(name).cardinality}; merge its levels, or choose t1"
                )
        strata = prod(schema.column(name).cardinality for name in question[2:])
        if strata > MOST_STRATA:
            raise SchemaError(
                f"{', '.join(question[2:])} make {strata} strata; distances are found for up to "
                f"{MOST_STRATA}; lower ⟦max_order⟧, merge levels, or choose t1"
            )
