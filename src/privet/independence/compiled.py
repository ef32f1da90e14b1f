"""Tests that were compiled when Privet was installed, if they could be.

``_tests.c`` does what ``chi2.py`` does in arrays, which says what is worked out and why. Where a
table is small it is several times as fast, above all where tables differ in shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.feigned import Feigned
from privet.evidence.tables import TableEvidence

try:
    from privet.independence import _tests  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    tests: Any = None
else:
    tests = _tests

FACTORS, GAUGES, SIZES = range(3)  # what is asked of a question
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
    return _answers(evidence, questions, strata, FACTORS)


def gauges(evidence: TableEvidence, questions: Indices, *, sizes: bool) -> Floats:
    """Degrees of freedom, statistics and traces of pooled tests (``gauges`` of ``chi2.py``)."""
    return _answers(evidence, questions, strata=False, kind=SIZES if sizes else GAUGES)


def _answers(evidence: TableEvidence, questions: Indices, strata: bool, kind: int) -> Floats:
    out = np.empty((2 + (kind != FACTORS), *evidence.replicas, len(questions)))
    work = _work(evidence, questions, strata) + LEAST_WORK
    work *= np.prod(evidence.replicas) + BEFORE
    calls = np.cumsum(np.maximum(work, AT_ONCE / MOST_QUESTIONS)) // AT_ONCE
    for some in np.split(np.arange(len(questions)), np.flatnonzero(np.diff(calls)) + 1):
        out[..., some] = _called(evidence, questions[some], strata, kind)
    if np.isnan(out).any():  # as numpy says it
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return out


def _called(evidence: TableEvidence, questions: Indices, strata: bool, kind: int) -> Floats:
    out = np.empty((2 + (kind != FACTORS), *evidence.replicas, len(questions)))
    arrays = [out, _whole(questions), _whole(np.array(evidence.cardinalities))]
    rest = evidence.all_designs[:, :, 1:]
    arrays += map(_real, (evidence.all_designs, rest @ rest.swapaxes(1, 2), evidence.rows))
    feigned = evidence.feigned or Feigned(np.empty(0), 0.0, 0.0)
    arrays.append(_real(feigned.bends))
    for order in range(1, AXES + 1):
        held = (evidence.calm if order == 3 and not strata else evidence).layers
        if order in held:
            layer = held[order]
            arrays += [_whole(layer.keys), _whole(layer.offsets)]
            arrays += [_real(layer.values), _real(layer.variances)]
        else:
            arrays += [np.empty(0)] * 4
    numbers = evidence.rows_variance, feigned.curvature, feigned.doubt
    tests.factors(tuple(arrays), *numbers, questions.shape[1], strata, kind)
    return out


def _whole(numbers: Integers | Indices) -> Integers:
    return np.ascontiguousarray(numbers, dtype=np.int64)


def _real(numbers: Floats) -> Floats:
    return np.ascontiguousarray(numbers, dtype=np.float64)
