"""Bayes factors of pooled tests on counted tables, compiled when Privet was installed if they could
be: ``_counted.c`` does what ``pooled_counted`` of ``chi2.py`` does in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.counts import PairCounts
from privet.evidence.located import alike
from privet.evidence.table_replicas import PairNoise
from privet.evidence.tables import TableEvidence
from privet.independence import chi2

try:
    from privet.independence import _counted  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    compiled: Any = None
else:
    compiled = _counted

MOST_WORK = 1 << 21  # products for one test; above, linear algebra is faster in arrays
AT_ONCE = 1 << 21  # numbers in one call, so that memory stays bounded

# Of sets (x, Z), (y, Z) and (x, y): where their tables start (a row for each question), how far
# apart the levels of each of their columns are, and all tables.
Found = Callable[[Indices, Indices, Indices], tuple[Indices, Indices, Integers]]


def factors(
    evidence: TableEvidence, questions: Indices, tables: chi2.Count, noise: PairNoise | None = None
) -> Floats:
    """Log Bayes factors of questions (x, y, *Z) on exact evidence of pairs and the tables of (x, Z)
    and (y, Z); of replicas whose departures have this ``noise``, if it is given."""
    questions, copies = chi2.canonical(evidence, questions), 0 if noise is None else noise.copies
    out = np.empty((copies, len(questions)) if noise else len(questions))
    quick = _served(evidence, questions)
    for some in _parts(evidence, questions, np.flatnonzero(quick), copies):
        out[..., some] = _called(evidence, questions[some], _asked(evidence, tables), noise)
    if not quick.all():
        others = chi2.pooled_counted(evidence, questions[~quick], tables, noise)
        out[..., ~quick] = others.log_bayes
    if np.isnan(out).any():  # as numpy says it
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def _served(evidence: TableEvidence, questions: Indices) -> Bools:
    """Which of these questions are answered here, a matter of their shapes alone."""
    if compiled is None:
        return np.zeros(len(questions), dtype=bool)
    k = np.array(evidence.cardinalities, dtype=float)[questions]
    free, strata = (k[:, :2] - 1).prod(axis=1), k[:, 2:].prod(axis=1)
    return np.asarray(free**3 + free**2 * strata <= MOST_WORK)


def _parts(
    evidence: TableEvidence, questions: Indices, places: Indices, copies: int
) -> Iterator[Indices]:
    """These places, so many at a time as make a call of bounded size."""
    k = np.array(evidence.cardinalities)[questions[places]]
    ends, strata = k[:, 0] * k[:, 1], k[:, 2:].prod(axis=1)
    calls = np.cumsum((k[:, 0] + k[:, 1]) * strata + (1 + copies) * ends) // AT_ONCE
    yield from np.split(places, np.flatnonzero(np.diff(calls)) + 1) if len(places) else ()


def _called(
    evidence: TableEvidence, questions: Indices, found: Found, noise: PairNoise | None = None
) -> Floats:
    count, width = questions.shape
    pairs = questions[:, :2]
    first, steps, counts = found(np.delete(questions, 1, axis=1), questions[:, 1:], pairs)
    levels, units, copies = np.array(evidence.cardinalities)[questions], np.empty(0), 0
    if noise is not None:
        copies, sizes = noise.copies, (levels[:, :2] - 1).prod(axis=1)
        units = _in_turn(
            evidence, pairs, copies * sizes, lambda some: noise.units(some).swapaxes(0, 1)
        )
    out = np.empty((copies, count) if noise else count)
    integers = [np.ascontiguousarray(each, dtype=np.int64) for each in (levels, first, steps)]
    compiled.factors((out, *integers, counts, units), width, copies, evidence.rows_of(1)[0])
    return out


def _steps(evidence: TableEvidence, sets: Indices) -> Indices:
    """How far apart the levels of each column are in a table with columns in ascending order."""
    k = np.array(evidence.cardinalities)[sets]
    later = sets[:, None, :] > sets[:, :, None]
    return np.asarray(np.where(later, k[:, None, :], 1).prod(axis=2))


def _asked(evidence: TableEvidence, tables: chi2.Count) -> Found:
    """The tables of margins as ``tables`` counts them, each once, and pairs from evidence."""

    def found(*sets: Indices) -> tuple[Indices, Indices, Integers]:
        steps = np.concatenate([_steps(evidence, each) for each in sets], axis=1)
        x, y, pairs = (np.sort(each, axis=1) for each in sets)
        different, place = np.unique(np.concatenate([x, y]), axis=0, return_inverse=True)
        parts = [np.asarray(table, dtype=np.int64).ravel() for table in tables(different)]
        starts = np.cumsum([0, *map(len, parts)])
        sizes = np.array(evidence.cardinalities)[pairs].prod(axis=1)
        known = _in_turn(evidence, pairs, sizes, evidence.tables)
        first = [*starts[place].reshape(2, -1), starts[-1] + np.cumsum(sizes) - sizes]
        return np.stack(first, axis=1), steps, np.concatenate([*parts, _whole(known)])

    return found


class OfPairs:
    """Log Bayes factors on exact evidence of all pairs, with at most one column given."""

    def __init__(self, evidence: TableEvidence, counts: PairCounts) -> None:
        self._evidence, self._starts = evidence, counts.starts
        self._counts = np.ascontiguousarray(counts.matrix)

    def _found(self, *sets: Indices) -> tuple[Indices, Indices, Integers]:
        """Where they are in the matrix; a column by itself lies on its diagonal."""
        down = len(self._counts)
        steps = [np.array([down + 1] if each.shape[1] == 1 else [down, 1]) for each in sets]
        first = [self._starts[each] @ own for each, own in zip(sets, steps, strict=True)]
        of_each = np.broadcast_to(np.concatenate(steps), (len(sets[0]), sum(map(len, steps))))
        return np.stack(first, axis=1), of_each, self._counts

    def __call__(self, questions: Indices) -> Floats:
        evidence = self._evidence
        questions = chi2.canonical(evidence, questions)
        quick, out = _served(evidence, questions), np.empty(len(questions))
        for some in _parts(evidence, questions, np.flatnonzero(quick), 0):
            out[some] = _called(evidence, questions[some], self._found)
        others = questions[~quick]
        out[~quick] = chi2.factors(evidence, others, strata=False)[1]
        return out


def _in_turn(
    evidence: TableEvidence, pairs: Indices, sizes: Integers, of: Callable[[Indices], Floats]
) -> Floats:
    """So many numbers of each pair in turn; ``of`` gives those of pairs of one kind."""
    out, starts = np.empty(sizes.sum()), np.cumsum(sizes) - sizes
    for same in alike(evidence.kind[pairs]):
        where = starts[same][:, None] + np.arange(sizes[same[0]])
        out[where] = of(pairs[same]).reshape(len(same), -1)
    return out


def _whole(counts: Floats) -> Integers:
    return np.rint(counts).astype(np.int64)
