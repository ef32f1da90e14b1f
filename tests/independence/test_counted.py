"""Pooled tests on counted tables: what was compiled says what arrays say, and replicas of a pair
have the noise of the pair."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.arrays import Indices
from privet.evidence.counts import PairCounts
from privet.evidence.table_replicas import PairNoise, table_replicas
from privet.evidence.tables import TableEvidence
from privet.independence import chi2, counted
from tests.helpers.stacks import stack

LEVELS = (2, 3, 4, 2, 3, 2)
needed = pytest.mark.skipif(counted.compiled is None, reason="there was no compiler")
QUESTIONS = {
    given: np.array(list(permutations(range(6), given + 2)), dtype=np.intp)[::7]
    for given in (1, 3, 4)
}


class Tables:
    """Of rows drawn at random; the last level of the third column is empty, one of the fifth
    rare."""

    def __init__(self, rows: int = 6_000) -> None:
        rng = np.random.default_rng(6)
        shares = rng.dirichlet(np.full(prod(LEVELS), 0.5)).reshape(LEVELS)
        shares[:, :, -1], shares[:, :, :, :, 0] = 0, shares[:, :, :, :, 0] / 1000
        counts = rng.multinomial(rows, (shares / shares.sum()).ravel())
        self.counts: NDArray[np.int64] = counts.reshape(LEVELS)

    def evidence(self) -> TableEvidence:
        found = stack(self.counts[None], dict.fromkeys(range(4), 0.0), np.random.default_rng(0))
        return first_of(found)

    def __call__(self, sets: Indices) -> list[NDArray[np.int64]]:
        out = []
        for row in sets.tolist():
            others = tuple(i for i in range(len(LEVELS)) if i not in row)
            table = self.counts.sum(axis=others)
            out.append(table.transpose(np.argsort(np.argsort(row))))
        return out


def first_of(stacked: TableEvidence) -> TableEvidence:
    """The first replica of a stack, as evidence of its own."""
    layers = {
        order: replace(layer, values=layer.values[0]) for order, layer in stacked.layers.items()
    }
    return replace(stacked, rows=stacked.rows[0], layers=layers)


@needed
@pytest.mark.parametrize("copies", [0, 3])
@pytest.mark.parametrize("given", QUESTIONS)
def test_what_was_compiled_says_what_arrays_say(
    given: int, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, questions = Tables(), QUESTIONS[given]
    evidence = tables.evidence()
    noise = None
    if copies:
        noise = PairNoise(evidence, table_replicas(evidence, copies, np.random.default_rng(1)))
    quick = counted.factors(evidence, questions, tables, noise)
    monkeypatch.setattr(counted, "AT_ONCE", 500)  # in many calls
    in_parts = counted.factors(evidence, questions, tables, noise)
    monkeypatch.setattr(counted, "compiled", None)
    arrays = counted.factors(evidence, questions, tables, noise)
    assert (quick == in_parts).all()
    np.testing.assert_allclose(quick, arrays, rtol=1e-9, atol=1e-9)
    assert quick.shape == ((copies, len(questions)) if copies else (len(questions),))
    assert quick.std() > 1


@pytest.mark.parametrize("most_work", [counted.MOST_WORK, 30])
@pytest.mark.parametrize("given", [0, 1])
def test_tables_of_pairs_give_the_tests_that_interactions_give(
    given: int, most_work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "MOST_WORK", most_work)
    evidence = Tables().evidence()
    questions = np.array(list(permutations(range(6), given + 2)), dtype=np.intp)
    counts = PairCounts.of(evidence)
    assert counts is not None
    found = counted.OfPairs(evidence, counts)(questions)
    wanted = chi2.factors(evidence, questions, strata=False)[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    assert found.std() > 1


@needed
def test_where_linear_algebra_is_faster_arrays_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, questions = Tables(), QUESTIONS[3]
    evidence = tables.evidence()
    quick = counted.factors(evidence, questions, tables)
    served, kept = list[int](), chi2.pooled_counted

    def heard(evidence: TableEvidence, questions: Indices, *others: Any) -> chi2.Tested:
        served.append(len(questions))
        return kept(evidence, questions, *others)

    monkeypatch.setattr(counted, "MOST_WORK", 300)
    monkeypatch.setattr(chi2, "pooled_counted", heard)
    np.testing.assert_allclose(counted.factors(evidence, questions, tables), quick, rtol=1e-9)
    assert 0 < served[0] < len(questions)


@needed
def test_wrong_arrays_are_refused() -> None:
    with pytest.raises(ValueError, match="wrong number"):
        counted.compiled.factors((np.empty(1),), 5, 0, 1.0)


def test_units_of_noise_are_normal_numbers_and_those_of_the_pair() -> None:
    """Their covariance is that of independent numbers, within 6 standard errors (2e-9 each, for
    some hundred); an empty level has no noise."""
    tables, copies = Tables(), 20_000
    evidence = tables.evidence()
    noise = PairNoise(evidence, table_replicas(evidence, copies, np.random.default_rng(2)))
    for pair in combinations((0, 1, 3, 4, 5), 2):
        units = noise.units(np.array([pair], dtype=np.intp))[:, 0]
        covariance = units.T @ units / copies
        assert (abs(covariance - np.eye(len(covariance))) < 6 * np.sqrt(2 / copies)).all()
    empty = noise.units(np.array([[0, 2]], dtype=np.intp))[:, 0]
    assert np.isfinite(empty).all() and empty.std(axis=0)[-1] < 1.1


def test_tests_of_a_pair_share_its_noise() -> None:
    """So that the lowest of many is no lower than chance makes one. Here all given columns are
    independent of the pair, so that all tests of it are nearly the same."""
    levels = (2,) * 6
    counts = np.full(levels, 100)
    counts[0, 0] += 8
    counts[1, 1] += 8
    tables = Tables()
    tables.counts = counts
    evidence = first_of(stack(counts[None], dict.fromkeys(range(4), 0.0), np.random.default_rng(0)))
    noise = PairNoise(evidence, table_replicas(evidence, 200, np.random.default_rng(3)))
    questions = np.array([[0, 1, *z] for z in combinations(range(2, 6), 3)], dtype=np.intp)
    found = counted.factors(evidence, questions, tables, noise)
    assert found.std(axis=0).min() > 1
    np.testing.assert_allclose(found, np.repeat(found[:, :1], 4, axis=1), rtol=1e-6, atol=1e-6)
    alone = chi2.factors(noise.stack, questions[:1, :2], strata=False)[1][:, 0]
    assert np.corrcoef(alone, found[:, 0])[0, 1] > 0.99
