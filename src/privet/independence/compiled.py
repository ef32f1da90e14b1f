"""Tests that were compiled when Privet was installed, if they could be.

``_tests.c`` does what ``chi2.py`` does in arrays, which says what is worked out and why. Where a
table is small it is several times as fast, above all where tables differ in shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.located import Located
from privet.evidence.tables import TableEvidence

try:
    from privet.independence import _tests  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    tests: Any = None
else:
    tests = _tests

AXES = 4  # columns of a question, at most
MOST_WORK = 1 << 21  # products for one test; above, linear algebra is faster in arrays
AT_ONCE = 1 << 29  # products in one call, less than a second: a run cannot be stopped within one
MOST_QUESTIONS = 1 << 11  # in one call, so that memory stays bounded
LEAST_WORK, BEFORE = 1 << 11, 8  # products beside those of a test; what is set up, in replicas


def served(evidence: TableEvidence, questions: Indices, *, strata: bool) -> Bools:
    """Which of these questions are answered here, a matter of their shapes alone."""
    if tests is None or questions.shape[1] > AXES:
        return np.zeros(len(questions), dtype=bool)
    return np.asarray(_work(evidence, questions, strata) <= MOST_WORK)


def _work(evidence: TableEvidence, questions: Indices, strata: bool) -> Floats:
    """Products for each question, in one replica."""
    k = np.array(evidence.cardinalities, dtype=float)[questions]
    free, n = (k[:, :2] - 1).prod(axis=1), k[:, 2:].prod(axis=1)
    return np.asarray((n * free) ** 3 if strata else free**3 + free * n * (n + free))


def factors(evidence: TableEvidence, questions: Indices, *, strata: bool) -> Floats:
    """Degrees of freedom and log Bayes factors, of pooled tests or, with ``strata``, full ones."""
    return _answers(evidence, questions, strata, gauged=False)


def gauges(evidence: TableEvidence, questions: Indices) -> Floats:
    """Degrees of freedom, statistics and traces of pooled tests on exact evidence (``gauges`` of
    ``chi2.py``)."""
    return _answers(evidence, questions, strata=False, gauged=True)


def _answers(evidence: TableEvidence, questions: Indices, strata: bool, gauged: bool) -> Floats:
    out = np.empty((2 + gauged, *evidence.replicas, len(questions)))
    work = _work(evidence, questions, strata) + LEAST_WORK
    work *= np.prod(evidence.replicas) + BEFORE
    calls = np.cumsum(np.maximum(work, AT_ONCE / MOST_QUESTIONS)) // AT_ONCE
    for some in np.split(np.arange(len(questions)), np.flatnonzero(np.diff(calls)) + 1):
        out[..., some] = _called(evidence, questions[some], strata, gauged)
    if np.isnan(out).any():  # as numpy says it
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def _called(evidence: TableEvidence, questions: Indices, strata: bool, gauged: bool) -> Floats:
    """A set of columns of a question is a number, a bit for each."""
    count, width = questions.shape
    first = np.full((count, 1 << width), -1, dtype=np.int64)
    steps = np.zeros((count, 1 << width, width), dtype=np.int64)
    noise = np.zeros((count, 1 << width))
    first[:, 0], noise[:, 0] = 0, evidence.rows_variance
    values = [np.atleast_1d(evidence.rows)] + [np.empty(0)] * AXES
    for subset, place in Located.of(evidence, questions, calm=not strata).places.items():
        at = sum(1 << axis for axis in subset)
        first[:, at], noise[:, at] = np.where(place.found, place.first, -1), place.noise
        steps[:, at, subset] = place.steps
        values[len(subset)] = place.values
    out = np.empty((2 + gauged, *evidence.replicas, count))
    levels = np.array(evidence.cardinalities)
    rest = evidence.all_designs[:, :, 1:]
    designs = (evidence.all_designs, rest @ rest.swapaxes(1, 2))
    integers = [np.ascontiguousarray(each, dtype=np.int64) for each in (questions, levels)]
    numbers = [np.ascontiguousarray(each, dtype=np.float64) for each in (*designs, *values)]
    tests.factors((out, *integers, first, steps, noise, *numbers), width, strata, gauged)
    return out
