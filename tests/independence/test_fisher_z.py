"""Fisher's z by elimination, held against inverses of matrices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.evidence.moments import MomentEvidence
from privet.independence import fisher_z as module
from privet.independence.fisher_z import STRONGEST, TAUS, MomentJudge, fisher_z, log_bayes

SIZE = 7


def evidence(noise: float, replicas: int = 0) -> MomentEvidence:
    rng = np.random.default_rng(4)

    def positive(*shape: int) -> NDArray[np.float64]:
        half = rng.normal(size=(*shape, SIZE, SIZE + 3)) * rng.uniform(0.1, 5, size=(SIZE, 1))
        return np.asarray(half @ half.swapaxes(-1, -2))

    return MomentEvidence(
        names=tuple("abcdefg"),
        rows=500.0,
        covariance=positive(replicas) if replicas else positive(),
        metric=positive(),
        noise=noise,
        spread=1.2,
    )


def by_inverse(
    one: MomentEvidence, covariance: NDArray[np.float64], question: tuple[int, ...]
) -> tuple[float, float]:
    """z and its variance, from the formulas at the top of the module."""
    pick = np.ix_(question, question)
    precision = np.linalg.inv(covariance[pick])
    residual = np.linalg.inv(precision[:2, :2])
    scale = np.sqrt(np.diag(residual))
    r = float(np.clip(residual[0, 1] / scale.prod(), -STRONGEST, STRONGEST))
    ab = residual @ precision[:2] / scale[:, None]
    (a, c), (_, b) = ab @ one.metric[pick] @ ab.T
    noise = a * b + c**2 - 2 * r * c * (a + b) + r**2 * (a**2 + b**2 + 2 * c**2) / 2
    freedom = one.rows / one.spread - (len(question) - 2) - 3
    return float(np.arctanh(r)), 1 / freedom + one.noise * noise / (1 - r**2) ** 2


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_elimination_gives_what_inverses_give(order: int, noise: float) -> None:
    one = evidence(noise)
    questions = np.array(list(combinations(range(SIZE), order + 2)), dtype=np.intp)
    tested = fisher_z(one, questions)
    for at, question in enumerate(map(tuple, questions.tolist())):
        z, variance = by_inverse(one, one.covariance, question)
        assert tested.z[at] == pytest.approx(z, abs=1e-9)
        assert tested.variance[at] == pytest.approx(variance, rel=1e-9)
    margins = MomentJudge(one, 0.1).margins(questions)
    assert np.allclose(margins, tested.log_bayes + np.log(0.1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_a_stack_answers_as_each_replica_does(noise: float) -> None:
    stack = evidence(noise, replicas=3)
    questions = np.array(list(combinations(range(SIZE), 4)), dtype=np.intp)
    tested = fisher_z(stack, questions)
    assert tested.z.shape == tested.variance.shape == (3, len(questions))
    for r, covariance in enumerate(stack.covariance):
        z, variance = by_inverse(stack, covariance, tuple(questions[5]))
        assert tested.z[r, 5] == pytest.approx(z, abs=1e-9)
        assert tested.variance[r, 5] == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("replicas", [0, 3])
def test_answers_do_not_depend_on_the_batch(replicas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = MomentJudge(evidence(1e-4, replicas), 0.1)
    questions = np.array(list(combinations(range(SIZE), 3)), dtype=np.intp)
    whole = judge.margins(questions)
    monkeypatch.setattr(module, "BLOCK", 4)
    assert np.array_equal(judge.margins(questions), whole)
    assert judge.margins(questions[:0]).shape == (*whole.shape[:-1], 0)


def test_the_bayes_factor_is_the_mean_over_effects() -> None:
    z, variance = np.array([0.0, 0.05, -0.3, 2.0]), 0.002
    wide = 1 + TAUS**2 / variance
    logs = (z**2 / (2 * variance))[:, None] * (1 - 1 / wide) - np.log(wide) / 2
    expected = np.logaddexp.reduce(logs, axis=1) - np.log(len(TAUS))
    assert np.allclose(log_bayes(z, variance), expected, rtol=1e-12)
    assert np.allclose(log_bayes(z, np.full(4, variance)), expected, rtol=1e-12)


def test_a_copy_among_what_is_given_does_no_harm() -> None:
    """Two members of Z that say the same: no division by nothing."""
    base = evidence(0.0)
    covariance = base.covariance.copy()
    covariance[3], covariance[:, 3] = covariance[2], covariance[:, 2]
    one = MomentEvidence(
        names=base.names, rows=500.0, covariance=covariance, metric=base.metric, noise=0.0
    )
    assert np.isfinite(fisher_z(one, np.array([[0, 1, 2, 3], [2, 3, 0, 1]])).z).all()
