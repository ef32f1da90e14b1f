"""How dependent columns are, as questions: one whole number per question (x, y, *given).

The numbers are UNIT times a statistic of the contingency table of x and y in the strata of the
given columns. One person moves each of them by at most ``bound``, whatever the question, and so
also anything made of them by maxima, minima, order statistics, negation and public constants.
Proofs: ``proofs/statistics.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

import numpy as np

from privet.arrays import Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Query, Rows
from privet.privacy.queries.dependence_counts import (
    STATISTICS,
    UNIT,
    added,
    first_records,
    replaced,
)
from privet.privacy.queries.tables import MOST_CELLS
from privet.privacy.queries.wide import widened
from privet.schema.model import Adjacency, Schema

__all__ = ["STATISTICS", "UNIT", "Dependence", "Question", "Removals", "bound"]

Question = tuple[str, ...]  # (x, y, *given)

MOST_OFFSET = 1 << 62  # offsets and statistics then fit 64 bits together
CELLS_AT_A_TIME = 1 << 22  # of the tables that are looked at together: 32 MB


def bound(statistic: str, schema: Schema) -> int:
    """How far one person moves UNIT times a statistic of any two columns.

    Of two columns, one has at most as many levels as the second largest column. G² is the one
    statistic whose bound grows with the number of rows, by its logarithm. Where that number is
    declared, ``evaluate`` leaves out what is over, so the bound holds whatever the table has;
    where it is private, ``most_rows`` stands for it, and a larger table must not be asked.
    """
    levels = sorted(column.cardinality for column in schema.columns)[-2:][0]
    if schema.adjacency is Adjacency.ADD_REMOVE:
        one = added(statistic, schema.most_rows, levels)
    else:  # a row may also be dropped, or no longer be: one record less or more
        rows = _most_records(schema)
        one = max(replaced(statistic, rows, levels), added(statistic, rows - 1, levels))
    return one * schema.rows_per_person


def _most_records(schema: Schema) -> int:
    return schema.rows or schema.most_rows


@dataclass(frozen=True)
class Dependence(Query):
    """A statistic of each of some questions. With ``offsets`` (public), the offset less the
    statistic, so that a positive answer speaks for independence.

    Sensitivity. ``bound`` for each question.
    """

    statistic: str
    questions: tuple[Question, ...]
    offsets: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.statistic} of {_named(self.questions)}"

    def check(self, schema: Schema) -> None:
        _check(self.statistic, self.questions, schema)
        if self.offsets:
            _check_offsets(self.offsets, len(self.questions))

    def size(self, schema: Schema) -> int:
        return len(self.questions)

    def linf(self, schema: Schema) -> int:
        return bound(self.statistic, schema)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        values = evaluate(self.statistic, self.questions, rows, schema)
        return np.array(self.offsets, dtype=np.int64) - values if self.offsets else values


@dataclass(frozen=True)
class Removals(Query):
    """How well it fits to remove t = 0, 1, … of some neighbours: q2 of Xu and others.

    Neighbour j has a group of questions and speaks for its removal by s_j, the largest offset
    less statistic among them. With s sorted from the largest, t fits as min(s_(t), -s_(t+1)):
    the t-th still speaks for removal, and the next one against it.

    Sensitivity. ``bound`` for each t, as maxima, minima and order statistics keep it.
    """

    statistic: str
    groups: tuple[tuple[Question, ...], ...]
    offsets: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return f"number of removals by {self.statistic} of {_named(self._questions)}"

    @property
    def _questions(self) -> tuple[Question, ...]:
        return tuple(chain.from_iterable(self.groups))

    def check(self, schema: Schema) -> None:
        _check(self.statistic, self._questions, schema)
        if len(self.offsets) != len(self.groups) or not all(self.groups):
            raise SchemaError(
                f"{len(self.groups)} groups of questions and {len(self.offsets)} of offsets; "
                "give each neighbour at least one question, and as many offsets"
            )
        for group, offsets in zip(self.groups, self.offsets, strict=True):
            _check_offsets(offsets, len(group))

    def size(self, schema: Schema) -> int:
        return len(self.groups) + 1

    def linf(self, schema: Schema) -> int:
        return bound(self.statistic, schema)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        offsets = np.array(list(chain.from_iterable(self.offsets)), dtype=np.int64)
        scores = offsets - evaluate(self.statistic, self._questions, rows, schema)
        starts = np.cumsum([0, *map(len, self.groups[:-1])])
        best = -np.sort(-np.maximum.reduceat(scores, starts))
        never = np.array([np.iinfo(np.int64).max])
        fits: Integers = np.minimum(np.append(never, best), np.append(-best, never))
        return fits


def evaluate(statistic: str, questions: Sequence[Question], rows: Rows, schema: Schema) -> Integers:
    """UNIT times the statistic of each question, tables of one shape together. G² counts no more
    records than are declared, since its bound needs that (proofs/statistics.md)."""
    cut = statistic == "g2" and schema.adjacency is Adjacency.REPLACE_ONE
    values = np.zeros(len(questions), dtype=np.int64)
    for places in _portions(questions, schema):
        tables = rows.table_batch([questions[i] for i in places])
        if cut:
            tables = [first_records(table, _most_records(schema)) for table in tables]
        alike: dict[tuple[int, ...], list[int]] = {}
        for at, table in enumerate(tables):
            alike.setdefault((*table.shape[:2], table.size), []).append(at)
        for (i, j, _), members in alike.items():
            stacked = np.stack([tables[at].reshape(i, j, -1) for at in members])
            found = STATISTICS[statistic](widened(stacked, schema))
            values[[places[at] for at in members]] = found
    return values


def _portions(questions: Sequence[Question], schema: Schema) -> Iterator[list[int]]:
    """Places of questions, so many at a time that their tables stay small together."""
    portion: list[int] = []
    cells = 0
    for place, question in enumerate(questions):
        more = _cells(question, schema)
        if portion and cells + more > CELLS_AT_A_TIME:
            yield portion
            portion, cells = [], 0
        portion.append(place)
        cells += more
    yield portion


def _cells(question: Question, schema: Schema) -> int:
    return prod(schema.column(name).cardinality for name in question)


def _named(questions: Sequence[Question]) -> str:
    if len(questions) != 1:
        return f"{len(questions)} questions"
    x, y, *given = questions[0]
    return f"{x}, {y}" + (f" given {', '.join(given)}" if given else "")


def _check(statistic: str, questions: Sequence[Question], schema: Schema) -> None:
    if statistic not in STATISTICS:
        raise SchemaError(
            f"there is no statistic {statistic!r}; choose one of {', '.join(STATISTICS)}"
        )
    if not questions:
        raise SchemaError(f"{statistic} of no question; ask at least one")
    for question in questions:
        _check_question(statistic, question, schema)


def _check_question(statistic: str, question: Question, schema: Schema) -> None:
    if len(question) < 2 or len(set(question)) < len(question):
        raise SchemaError(
            f"the question {question} does not name two columns and then the given ones, each "
            "once; name them so"
        )
    cells = _cells(question, schema)
    if cells > MOST_CELLS:
        raise SchemaError(
            f"the table of {', '.join(question)} has {cells} cells; at most {MOST_CELLS} are "
            "counted; ask for fewer columns, or merge levels"
        )
    wide = [name for name in question[:2] if schema.column(name).cardinality != 2]
    if statistic == "cmh" and wide:
        raise SchemaError(
            f"cmh compares two levels with two, but column {wide[0]!r} has "
            f"{schema.column(wide[0]).cardinality}; merge its levels, or choose t1"
        )


def _check_offsets(offsets: tuple[int, ...], questions: int) -> None:
    if len(offsets) != questions:
        raise SchemaError(f"{len(offsets)} offsets for {questions} questions; give one for each")
    for offset in offsets:
        if not isinstance(offset, int) or abs(offset) > MOST_OFFSET:
            raise SchemaError(
                f"the offset {offset!r} is no whole number within ±{MOST_OFFSET}; round it"
            )
