"""Bayes factors of pooled tests on counted tables, compiled when Privet was installed if they could
be: ``_counted.c`` does what ``pooled_counted`` of ``chi2.py`` does in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
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


def factors(
    evidence: TableEvidence, questions: Indices, tables: chi2.Count, noise: PairNoise | None = None
) -> Floats:
    """Log Bayes factors of questions (x, y, *Z) on exact evidence of pairs and the tables of (x, Z)
    and (y, Z); of replicas whose departures have this ``noise``, if it is given."""
    questions, copies = chi2.canonical(evidence, questions), 0 if noise is None else noise.copies
    out = np.empty((copies, len(questions)) if noise else len(questions))
    quick = _served(evidence, questions)
    for some in _parts(evidence, questions, np.flatnonzero(quick), copies):
        out[..., some] = _called(evidence, questions[some], tables, noise)
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
    evidence: TableEvidence, questions: Indices, tables: chi2.Count, noise: PairNoise | None
) -> Floats:
    count, width = questions.shape
    pairs, levels = questions[:, :2], np.array(evidence.cardinalities)[questions]
    ends = levels[:, :2]
    first, steps, counts = _tables(evidence, questions, tables)
    known = _in_turn(evidence, pairs, ends.prod(axis=1), evidence.tables)
    units, copies = np.empty(0), 0
    if noise is not None:
        copies, sizes = noise.copies, (ends - 1).prod(axis=1)
        units = _in_turn(
            evidence, pairs, copies * sizes, lambda some: noise.units(some).swapaxes(0, 1)
        )
    out = np.empty((copies, count) if noise else count)
    integers = [np.ascontiguousarray(each, dtype=np.int64) for each in (levels, first, steps)]
    rows = float(evidence.rows_of(1)[0])
    compiled.factors((out, *integers, counts, known, units), width, copies, rows)
    return out


def _tables(
    evidence: TableEvidence, questions: Indices, tables: chi2.Count
) -> tuple[Indices, Indices, Integers]:
    """Of each question, where the tables of (x, Z) and (y, Z) start, and the steps of their axes;
    and all of these tables, each once."""
    margins = np.stack([np.delete(questions, 1 - end, axis=1) for end in (0, 1)], axis=1)
    order = np.argsort(margins, axis=2, kind="stable")
    sets = np.take_along_axis(margins, order, axis=2)
    k = np.array(evidence.cardinalities)[sets]
    behind = np.cumprod(k[..., ::-1], axis=2)[..., ::-1] // k
    steps = np.take_along_axis(behind, np.argsort(order, axis=2, kind="stable"), axis=2)
    different, place = np.unique(sets.reshape(-1, sets.shape[2]), axis=0, return_inverse=True)
    found = [np.asarray(table, dtype=np.int64).ravel() for table in tables(different)]
    starts = np.cumsum([0, *map(len, found)])
    return starts[place].reshape(-1, 2), steps, np.concatenate(found)


def _in_turn(
    evidence: TableEvidence, pairs: Indices, sizes: Integers, of: Callable[[Indices], Floats]
) -> Floats:
    """So many numbers of each pair in turn; ``of`` gives those of pairs of one kind."""
    out, starts = np.empty(sizes.sum()), np.cumsum(sizes) - sizes
    for same in alike(evidence.kind[pairs]):
        out[starts[same][:, None] + np.arange(sizes[same[0]])] = of(pairs[same]).reshape(
            len(same), -1
        )
    return out
