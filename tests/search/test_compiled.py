"""What was compiled finds the classes that Python finds, and leaves to it what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from privet.arrays import Bools, Floats
from privet.evidence.moments import MomentEvidence
from privet.independence.fisher_z import MomentJudge
from privet.scores.gaussian import Gaussian, bge, gaussian_bic
from privet.search import compiled
from privet.search.classes import Bounds
from privet.search.constraints import Constraints
from privet.search.ges import ges
from privet.search.hill_climb import Remembered
from privet.search.options import Weights
from privet.search.protocols import Formula
from privet.search.rows import Rows, believed
from privet.search.states import State
from tests.helpers.population import sample
from tests.search.test_pc import no_knowledge, random_dag, rng_of

needed = pytest.mark.skipif(compiled.search is None, reason="there was no compiler")
Score = Callable[[MomentEvidence], Gaussian]


def evidence(numbers: Floats, noise: float = 0.0, seed: int = 0) -> MomentEvidence:
    """Of these rows; noise of this deviation is nearly round in coordinates that suit them."""
    rng, size = np.random.default_rng(seed), numbers.shape[1]
    covariance, names = np.cov(numbers.T), tuple(f"c{i}" for i in range(size))
    drawn = rng.normal(size=(2, size, size))
    to_columns = np.linalg.cholesky(covariance + 0.05 * np.eye(size))
    to_columns = to_columns @ (np.eye(size) + 0.3 * drawn[0] / size**0.5)
    error = to_columns @ (drawn[1] + drawn[1].T) @ to_columns.T / 2**0.5
    return MomentEvidence(
        names=names,
        rows=len(numbers),
        covariance=covariance + noise * error,
        metric=to_columns @ to_columns.T,
        noise=noise**2,
    )


def both(score: Gaussian, known: Constraints, most: int | None = None) -> tuple[Bools, Bools]:
    """What was compiled, and Python."""
    found = [
        ges(score.gains, known, rows=score.rows, max_parents=most, eager=True, formula=formula)
        for formula in (score.formula(), None)
    ]
    return found[0], found[1]


def climbed(score: Gaussian, known: Constraints, start: Bools | None = None) -> State | None:
    size = len(known.possible)
    first = State.of(np.zeros((size, size), dtype=bool) if start is None else start)
    rows = Rows(Remembered(score.gains), score.rows, known.possible)
    return compiled.climbed(first, Weights(Bounds.of(known), rows, size), score.formula())


@needed
@pytest.mark.parametrize("score", [gaussian_bic, bge])
def test_the_same_classes_as_in_python(score: Score) -> None:
    for seed in range(12):
        rng = rng_of([31, seed])
        size = int(rng.integers(2, 16))
        dag = random_dag(rng, size, float(rng.choice([1.0, 3.0, 5.0])))
        worth = score(evidence(sample(dag, int(rng.choice([200, 5000])), seed)))
        assert climbed(worth, no_knowledge(size)) is not None
        one, other = both(worth, no_knowledge(size), most=3 if seed % 3 == 0 else None)
        assert np.array_equal(one, other), seed


@needed
@pytest.mark.parametrize(
    ("seed", "size", "edges", "rows"),
    [(92, 8, 5.0, 5000), (195, 40, 2.0, 5000), (340, 12, 5.0, 200), (343, 12, 7.0, 1000)],
)
def test_what_was_seen_before_is_not_taken_for_new(
    seed: int, size: int, edges: float, rows: int
) -> None:
    """Classes in which steps are worth something else once a neighbour has changed, or an edge is
    looked at twice, since its ends have other edges then."""
    rng = rng_of([77, seed])
    rng.choice(5), rng.choice(5), rng.choice(3)
    score = gaussian_bic(evidence(sample(random_dag(rng, size, edges), rows, seed)))
    assert climbed(score, no_knowledge(size)) is not None
    one, other = both(score, no_knowledge(size))
    assert np.array_equal(one, other)


@needed
def test_sets_of_several_words() -> None:
    dag = random_dag(rng_of([32, 0]), 130, 3.0)
    one, other = both(gaussian_bic(evidence(sample(dag, 2000, 1))), no_knowledge(130))
    assert np.array_equal(one, other)
    assert one.any()


@needed
def test_only_what_is_possible_is_joined() -> None:
    dag = random_dag(rng_of([33, 0]), 12, 3.0)
    score = gaussian_bic(evidence(sample(dag, 2000, 1)))
    possible = np.triu(np.ones((12, 12), dtype=bool), 1)
    possible[::2, ::3] = False
    possible = possible | possible.T
    known = Constraints(possible, possible, np.zeros_like(possible))
    found = climbed(score, known)
    free, _ = both(score, no_knowledge(12))
    assert found is not None
    assert not (found.matrix & ~possible).any()
    assert (free & ~possible).any()


def gated(held: MomentEvidence, formula: bool) -> Bools:
    score, judge = gaussian_bic(held), MomentJudge(held, 0.1)
    noisy = replace(score.formula(), metric=held.scaled_metric, doubt=judge.doubt)
    return ges(
        score.gains,
        no_knowledge(len(held.names)),
        rows=believed(score.rows, judge.margins),
        eager=True,
        formula=noisy if formula else None,
    )


@needed
def test_noise_is_known_as_in_python() -> None:
    """And it makes a difference: a score that takes it to be round finds other classes."""
    differ = 0
    for seed in range(12):
        dag = random_dag(rng_of([34, seed]), 14, 3.0)
        held = evidence(sample(dag, 5000, seed), noise=0.01, seed=seed)
        if np.linalg.eigvalsh(held.covariance)[0] < 0.005:
            continue
        one, other = gated(held, formula=True), gated(held, formula=False)
        assert np.array_equal(one, other), seed
        differ += not np.array_equal(one, both(gaussian_bic(held), no_knowledge(14))[0])
    assert differ > 1


@needed
def test_noise_that_just_decides_is_known_as_in_python() -> None:
    """Few columns, few rows and more noise: what is believed hangs on the slopes."""
    for seed in range(60):
        rng = rng_of([37, seed])
        rows, noise = (30, 0.02) if seed % 2 else (500, 0.05)
        held = evidence(sample(random_dag(rng, 6, 3.0), rows, seed), noise=noise, seed=seed)
        if np.linalg.eigvalsh(held.covariance)[0] >= 0.005:
            assert np.array_equal(gated(held, formula=True), gated(held, formula=False)), seed


def test_what_a_judge_finds_independent_is_not_inserted() -> None:
    """The gains of all pairs are 1; a judge believes in those with the first column."""
    rows = believed(
        lambda ys, _given, _asked: np.ones((len(ys), 4)),
        lambda questions: np.where((questions[:, :2] == 0).any(axis=1), 1.0, 0.0),
    )
    answers = rows(np.arange(4), np.empty((4, 0), dtype=np.intp), ~np.eye(4, dtype=bool))
    x, y = np.nonzero((answers > 0) & ~np.eye(4, dtype=bool))
    assert {*zip(x.tolist(), y.tolist(), strict=True)} == {
        pair for z in (1, 2, 3) for pair in ((0, z), (z, 0))
    }


@needed
def test_knowledge_is_left_to_python() -> None:
    free = no_knowledge(3)
    allowed = free.allowed.copy()
    allowed[0, 1] = False
    score = gaussian_bic(evidence(sample(random_dag(rng_of([35, 0]), 3, 2.0), 500, 1)))
    assert climbed(score, replace(free, allowed=allowed)) is None
    assert climbed(score, free) is not None


@needed
def test_columns_that_tell_another_are_left_to_python() -> None:
    numbers = np.random.default_rng(1).normal(size=(500, 4))
    numbers[:, 3] = numbers[:, :3].sum(axis=1)
    assert climbed(gaussian_bic(evidence(numbers)), no_knowledge(4)) is None


@needed
def test_very_many_cliques_are_left_to_python() -> None:
    """Where all columns are joined, two have 2 to the power of the others as cliques."""
    for size, served in ((9, True), (11, False)):
        dag = np.triu(np.ones((size, size), dtype=bool), 1)
        score = gaussian_bic(evidence(sample(dag, 100_000, 3)))
        found = climbed(score, no_knowledge(size), start=dag | dag.T)
        assert (found is not None) == served


@needed
@pytest.mark.parametrize("wrong", range(5))
def test_arrays_of_other_sizes_are_refused(wrong: int) -> None:
    sizes = [(6, 3, 3), (3, 3), (3, 3), (3, 3), (3,)]
    arrays = [np.zeros(size, dtype=np.float64 if at else np.uint8) for at, size in enumerate(sizes)]
    arrays[1] += np.eye(3)
    assert compiled.search.climb(*arrays, 3)
    arrays[wrong] = np.zeros((*sizes[wrong][:-1], sizes[wrong][-1] + 1), dtype=arrays[wrong].dtype)
    with pytest.raises(ValueError, match="wrong arrays"):
        compiled.search.climb(*arrays, 3)


def test_a_formula_is_that_of_the_gains() -> None:
    """BIC and BGe, with none, one and two columns given."""
    held = evidence(sample(random_dag(rng_of([36, 0]), 5, 3.0), 800, 2))
    for score in (gaussian_bic(held, 1.5), bge(held)):
        for question in ((0, 1), (3, 1, 2), (4, 0, 1, 3)):
            wanted = score.gains(np.array([question]))[0]
            assert by_formula(score.formula(), *question) == pytest.approx(wanted, rel=1e-9)


def by_formula(formula: Formula, x: int, y: int, *given: int) -> float:
    some, k = [x, y, *given], len(given)
    inner = formula.matrix[np.ix_(some, some)]
    left = np.linalg.inv(np.linalg.inv(inner)[:2, :2])
    constant, weight, tilt = formula.terms[:, k]
    variances = left[0, 0] * left[1, 1]
    rho = left[0, 1] ** 2 / variances
    return float(constant - weight * np.log(1 - rho) - tilt * np.log(variances))
