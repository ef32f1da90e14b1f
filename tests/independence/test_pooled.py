"""Questions of many shapes at once: neither blocks nor empty levels change an answer."""

from __future__ import annotations

from itertools import permutations
from math import prod

import numpy as np
import pytest

from privet.evidence.tables import TableEvidence
from privet.independence import chi2, pooled, terms
from privet.independence.tables import TableJudge
from privet.privacy.queries.contrasts import GRID
from tests.helpers.stacks import stack

LEVELS = (2, 3, 5, 2, 3)
QUESTIONS = [np.array(list(permutations(range(5), width)), dtype=np.intp) for width in (2, 3, 4)]


@pytest.fixture
def evidence() -> TableEvidence:
    rng = np.random.default_rng(6)
    drawn = rng.multinomial(20_000, rng.dirichlet(np.full(prod(LEVELS), 3.0)), size=3)
    noise = {order: (20.0 * GRID**order) ** 2 for order in range(5)}
    return stack(drawn.reshape(-1, *LEVELS), noise, rng)


@pytest.mark.parametrize("strata", [False, True])
def test_neither_blocks_nor_empty_levels_change_an_answer(
    evidence: TableEvidence, strata: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [chi2.factors(evidence, asked, strata=strata)[1] for asked in QUESTIONS[strata:]]
    assert all(found.std() > 0 for found in usual)
    for module, name, value in (
        (pooled, "BLOCK_NUMBERS", 1),
        (terms, "CACHE_NUMBERS", 1),
        (chi2, "BLOCK_NUMBERS", 1),
        (pooled, "ROOM", np.array([16])),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            for asked, wanted in zip(QUESTIONS[strata:], usual, strict=True):
                found = chi2.factors(evidence, asked[::5], strata=strata)[1]
                np.testing.assert_allclose(found, wanted[:, ::5], rtol=1e-9, atol=1e-9)


def test_factors_are_those_of_the_whole_test(evidence: TableEvidence) -> None:
    for asked in QUESTIONS:
        freedom, log_bayes = chi2.factors(evidence, asked, strata=False)
        tested = chi2.pooled(evidence, asked)
        assert np.array_equal(freedom, tested.freedom)
        np.testing.assert_allclose(log_bayes, tested.log_bayes, rtol=1e-10, atol=1e-10)


def test_strengths_of_some_pairs_are_those_of_all(evidence: TableEvidence) -> None:
    judge, some = TableJudge(evidence, 0.1), np.zeros((5, 5), dtype=bool)
    some[0, 3] = some[3, 0] = some[1, 2] = some[2, 1] = True
    found, every = judge.strengths(some), judge.strengths()
    np.testing.assert_allclose(found[:, some], every[:, some], rtol=1e-9)
    assert (found[:, ~some] == 1e-9).all()
