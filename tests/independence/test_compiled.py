"""What was compiled says what arrays say, of questions of all shapes, on every kind of evidence."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import prod

import numpy as np
import pytest

from privet.arrays import Floats, Indices
from privet.evidence.feigned import Feigned
from privet.evidence.tables import TableEvidence
from privet.independence import chi2, compiled
from privet.privacy.queries.contrasts import GRID
from tests.helpers.stacks import stack
from tests.helpers.weighed import LEVELS, weighed

QUESTIONS = [np.array(list(permutations(range(5), width)), dtype=np.intp) for width in (2, 3, 4)]
needed = pytest.mark.skipif(compiled.tests is None, reason="there was no compiler")


def noisy(deviation: float, orders: int = 5, copies: int = 3, first: int = 0) -> TableEvidence:
    """Of some tables; the last level of the third column is rare."""
    rng = np.random.default_rng(6)
    shares = rng.dirichlet(np.full(prod(LEVELS), 1.0)).reshape(LEVELS)
    shares[:, :, -1] /= 1000
    drawn = rng.multinomial(20_000, (shares / shares.sum()).ravel(), size=copies)
    scales = [0.0] * first + [deviation] * (orders - first)
    noise = {order: (scale * GRID**order) ** 2 for order, scale in enumerate(scales)}
    return stack(drawn.reshape(-1, *LEVELS), noise, rng)


def feigning(evidence: TableEvidence) -> TableEvidence:
    """The same, as if margins before had shown that levels were kept unevenly."""
    bends = np.random.default_rng(4).uniform(-0.5, 0.5, (len(LEVELS), max(LEVELS)))
    for line, k in zip(bends, LEVELS, strict=True):
        line[k:] = 0.0
    return replace(evidence, feigned=Feigned(bends, -1.5, 0.7))


def in_arrays(evidence: TableEvidence, questions: Indices, strata: bool) -> tuple[Floats, Floats]:
    """Degrees of freedom and factors, and how large the statistics are of which these are made."""
    out = np.zeros((2, *evidence.replicas, len(questions)))
    scale = np.ones((*evidence.replicas, len(questions)))
    for places, (terms,) in chi2.terms_of([evidence], questions, strata=strata):
        out[..., places] = terms.factors().reshape(2, *evidence.replicas, -1)
        scale[..., places] += terms.test()[0].reshape(*evidence.replicas, -1)
    return out, scale


def few_rows() -> TableEvidence:
    """Of nine to eleven in each stratum of the last two columns: those with ten just count."""
    rng, levels = np.random.default_rng(1), (2, 3, 5, 7)
    counts = [rng.multinomial(9 + i % 3, rng.dirichlet(np.ones(6))) for i in range(35)]
    tables = np.stack(counts, axis=1).reshape(1, *levels)
    return stack(tables, dict.fromkeys(range(5), 0.0), rng)


EVIDENCE = {
    "noise": noisy(20.0),
    "deafening noise": noisy(1e60),
    "loud noise": noisy(2000.0),
    "no noise": noisy(0.0),
    "noise in triples alone": noisy(20.0, first=3),
    "pairs alone": noisy(20.0, orders=3),
    "weighed rows": weighed(1),
    "replicas of weighed rows": weighed(5),
    "weights that feign": feigning(weighed(1)),
    "replicas of weights that feign": feigning(weighed(5)),
}


@needed
@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("name", EVIDENCE)
def test_both_say_the_same(name: str, strata: bool) -> None:
    evidence = EVIDENCE[name]
    for questions in QUESTIONS[strata:]:
        found = compiled.factors(evidence, questions, strata=strata)
        wanted, scale = in_arrays(evidence, questions, strata)
        assert wanted[1].std() > 0 or name in ("loud noise", "deafening noise")
        assert np.array_equal(found[0], wanted[0])
        assert np.max(np.abs(found[1] - wanted[1]) / scale) < 1e-12


@needed
@pytest.mark.parametrize("strata", [False, True])
def test_rounding_does_not_choose_the_strata(strata: bool) -> None:
    """Nor does the order of the columns."""
    evidence, questions = few_rows(), np.array([[0, 1, 2, 3], [1, 0, 3, 2]])
    found = compiled.factors(evidence, questions, strata=strata)
    wanted, _ = in_arrays(evidence, questions, strata)
    assert np.abs(found - wanted).max() < 1e-9
    assert np.ptp(found, axis=-1).max() < 1e-9


@needed
def test_a_hair_more_noise_would_be_seen() -> None:
    """The bar of the test above is low enough to tell."""
    found, evidence = (
        compiled.factors(noisy(20.0 * times), QUESTIONS[1], strata=False)[1]
        for times in (1 + 1e-9, 1.0)
    )
    assert np.abs(found - evidence).max() > 1e-9


@needed
def test_neither_batches_nor_neighbours_change_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = EVIDENCE["replicas of weighed rows"]
    wanted = compiled.factors(evidence, QUESTIONS[2], strata=False)
    monkeypatch.setattr(compiled, "MOST_QUESTIONS", 7)
    assert np.array_equal(compiled.factors(evidence, QUESTIONS[2], strata=False), wanted)
    some = compiled.factors(evidence, QUESTIONS[2][::-5], strata=False)
    assert np.array_equal(some, wanted[..., ::-5])


@needed
@pytest.mark.parametrize("strata", [False, True])
def test_a_call_is_short_however_large_its_tests(
    strata: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run cannot be interrupted in the midst of one."""
    asked: list[Indices] = []

    def spy(evidence: TableEvidence, questions: Indices, _strata: bool, _kind: int) -> Floats:
        asked.append(questions)
        return np.zeros((2, *evidence.replicas, len(questions)))

    monkeypatch.setattr(compiled, "_called", spy)
    evidence, questions = noisy(20.0, copies=100), np.tile([2, 4, 1, 0], (2000, 1))
    compiled.factors(evidence, questions, strata=strata)
    numbers = 8 * 6 if strata else 8
    assert np.array_equal(np.concatenate(asked), questions)
    assert max(map(len, asked)) * 100 * numbers**3 < 1e9


@needed
def test_arrays_that_do_not_fit_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is too short, or a question is about a column that there is not."""
    real, calls = compiled.tests, []

    class Spy:
        factors = staticmethod(lambda *args: calls.append(args))

    monkeypatch.setattr(compiled, "tests", Spy)
    compiled._called(feigning(noisy(20.0)), QUESTIONS[1], strata=False, kind=compiled.FACTORS)
    ((arrays, *rest),) = calls
    real.factors(arrays, *rest)
    wrong = {at: each[:-1] for at, each in enumerate(arrays)}
    for at, change in [*wrong.items(), (1, arrays[1] + 1), (1, arrays[1] - 1), (2, arrays[2] + 1)]:
        changed = [*arrays]
        changed[at] = np.ascontiguousarray(change)
        with pytest.raises(ValueError, match="arrays do not fit each other"):
            real.factors(tuple(changed), *rest)
    with pytest.raises(ValueError, match="designs are not squares"):
        real.factors((*arrays[:3], arrays[3].ravel(), *arrays[4:]), *rest)


@needed
@pytest.mark.parametrize("questions", QUESTIONS, ids=["pairs", "one given", "two given"])
@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize("name", EVIDENCE)
def test_statistics_and_traces_are_those_of_arrays(
    name: str, sizes: bool, questions: Indices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of tables with rare levels and of replicas, with noise and without."""
    evidence = EVIDENCE[name]
    usual = chi2.gauges(evidence, questions, sizes=sizes)
    with monkeypatch.context() as without:
        without.setattr(compiled, "tests", None)
        arrays = chi2.gauges(evidence, questions, sizes=sizes)
    assert np.array_equal(usual[0], arrays[0])
    np.testing.assert_allclose(usual[1:], arrays[1:], rtol=1e-9, atol=1e-9)
    if not sizes:
        np.testing.assert_allclose(usual[1], in_terms(evidence, questions), rtol=1e-9, atol=1e-9)


def in_terms(evidence: TableEvidence, questions: Indices) -> Floats:
    """The statistics of full answers."""
    return chi2.pooled(evidence, questions).statistic


def test_without_a_compiler_arrays_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = EVIDENCE["weighed rows"]
    usual = chi2.factors(evidence, QUESTIONS[1], strata=False)
    monkeypatch.setattr(compiled, "tests", None)
    assert not compiled.served(evidence, QUESTIONS[1], strata=False).any()
    found = chi2.factors(evidence, QUESTIONS[1], strata=False)
    np.testing.assert_allclose(found, usual, rtol=1e-10, atol=1e-10)


@needed
def test_large_tests_are_left_to_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = EVIDENCE["noise"]
    usual = chi2.factors(evidence, QUESTIONS[2], strata=False)
    monkeypatch.setattr(compiled, "MOST_WORK", 1000)
    served = compiled.served(evidence, QUESTIONS[2], strata=False)
    assert 0 < served.sum() < len(served)
    found = chi2.factors(evidence, QUESTIONS[2], strata=False)
    np.testing.assert_allclose(found, usual, rtol=1e-10, atol=1e-10)
