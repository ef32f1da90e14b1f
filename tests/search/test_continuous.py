"""NOTEARS and DAGMA: linear models without circles, fitted to second moments."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.errors import KnowledgeError
from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge, is_acyclic
from privet.search import dagma as by_determinant
from privet.search import notears as by_exponential
from privet.search.constraints import Constraints
from privet.search.dagma import dagma
from privet.search.notears import (
    PRECISION,
    SLACK,
    exponential,
    least_squares,
    minimised,
    notears,
    of_unit_errors,
    without_circles,
)
from privet.search.notears_admm import notears_admm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FITS = pytest.mark.parametrize("fit", [notears, dagma])


def rng_of(*seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def free(size: int) -> Constraints:
    return Constraints.of([str(i) for i in range(size)], Knowledge())


def random_dag(rng: np.random.Generator, size: int, degree: float) -> Bools:
    upper = np.triu(rng.random((size, size)) < degree / (size - 1), k=1)
    order = rng.permutation(size)
    return upper[np.ix_(order, order)]


def random_weights(dag: Bools, rng: np.random.Generator) -> Floats:
    return np.asarray(dag * rng.uniform(0.5, 2.0, dag.shape) * rng.choice([-1, 1], dag.shape))


def covariance_of(weights: Floats) -> Floats:
    """Of x = x W + e, all errors of variance 1."""
    total = np.linalg.inv(np.eye(len(weights)) - weights)
    return np.asarray(total.T @ total)


def any_knowledge(names: list[str], rng: np.random.Generator) -> Knowledge:
    """Knowledge that does not contradict itself; the data may well contradict it."""
    pairs = list(permutations(names, 2))
    while True:
        level = rng.integers(0, 4, size=len(names))  # level 3: in no tier
        tiers = tuple(
            tuple(n for n, at in zip(names, level, strict=True) if at == t) for t in range(3)
        )
        knowledge = Knowledge(
            tiers=tiers if rng.random() < 0.5 else (),
            required=frozenset(pair for pair in pairs if rng.random() < 0.06),
            forbidden=frozenset(pair for pair in pairs if rng.random() < 0.3),
        )
        try:
            knowledge.check(names)
        except KnowledgeError:
            continue
        return knowledge


@pytest.mark.parametrize("size", [1, 3, 12, 40])
@pytest.mark.parametrize("scale", [0.0, 1e-6, 0.3, 4.0])
def test_the_exponential_is_exact_in_every_entry(size: int, scale: float) -> None:
    from scipy.linalg import expm

    matrix = scale * rng_of(1, size).random((size, size))
    assert exponential(matrix) == pytest.approx(expm(matrix), rel=1e-12)


def test_h_is_the_stated_one() -> None:
    """On a circle of two with weights a and b, tr exp = 2 cosh(ab); a DAG has 0."""
    weights = np.array([[0.0, 0.7, 0.3], [-0.9, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert by_exponential.acyclicity(weights)[0] == pytest.approx(2 * np.cosh(0.63) - 2)
    found = by_determinant.acyclicity(weights, 0.8)
    assert found is not None
    assert found[0] == pytest.approx(2 * np.log(0.8) - np.log(0.8**2 - 0.63**2))
    weights[1, 0] = 0.0
    assert by_exponential.acyclicity(weights)[0] == pytest.approx(0, abs=1e-14)
    assert (by_determinant.acyclicity(weights, 1.0) or [1])[0] == pytest.approx(0, abs=1e-14)


def test_determinants_do_not_serve_beyond_the_eigenvalue_s() -> None:
    circle = np.array([[0.0, 2.0], [2.0, 0.0]])  # det(sI - W ∘ W) is negative, then positive
    assert by_determinant.acyclicity(circle, 1.0) is None
    assert by_determinant.acyclicity(np.kron(np.eye(2), circle), 1.0) is None
    assert by_determinant.acyclicity(circle, 4.0) is None
    assert by_determinant.acyclicity(circle, 4.1) is not None


@pytest.mark.parametrize("seed", range(3))
def test_gradients_are_differences(seed: int) -> None:
    rng = rng_of(2, seed)
    weights = 0.3 * rng.normal(size=(6, 6)) * ~np.eye(6, dtype=bool)
    covariance = covariance_of(random_weights(random_dag(rng, 6, 2), rng))

    def determinant(w: Floats) -> tuple[float, Floats]:
        found = by_determinant.acyclicity(w, 1.0)
        assert found is not None
        return found

    for function in (
        lambda w: least_squares(w, covariance),
        by_exponential.acyclicity,
        determinant,
        by_exponential._lagrangian(covariance, 3.0, 2.0),
        by_determinant._penalised(covariance, 0.1, 1.0),
    ):
        slope, step = function(weights)[1], 1e-6
        for i, j in np.ndindex(6, 6):
            moved = np.zeros((6, 6))
            moved[i, j] = step
            rise = function(weights + moved)[0] - function(weights - moved)[0]
            assert rise / (2 * step) == pytest.approx(slope[i, j], rel=1e-5, abs=1e-6)


def equal_variances(seed: int) -> tuple[Bools, Floats]:
    rng = rng_of(3, seed)
    dag = random_dag(rng, 10, 2.5)
    return dag, random_weights(dag, rng)


@pytest.mark.parametrize(("fit", "seeds", "least"), [(notears, 24, 16), (dagma, 12, 11)])
def test_errors_of_equal_variance_give_the_graph_away(fit: Any, seeds: int, least: int) -> None:
    """Random graphs from their population covariance. Neither fit is convex: a few end in
    another minimum, and NOTEARS does so just where its authors' recipe does. (Where one of them
    ends may rest on the last digit, which processors round differently.)"""
    right = 0
    for seed in range(seeds):
        dag, truth = equal_variances(seed)
        found = fit(covariance_of(truth), free(10), sparsity=0.01)
        right += np.array_equal(found.arrows, dag) and np.abs(found.weights - truth).max() < 0.1
    assert right >= least


def plain_notears(covariance: Floats, sparsity: float) -> Bools:
    """The authors' recipe word by word: all weights at once, as two halves, and scipy's expm."""
    from scipy.linalg import expm
    from scipy.optimize import minimize

    size = len(covariance)

    def circles(weights: Floats) -> tuple[float, Floats]:
        powers = expm(weights * weights)
        return float(np.trace(powers)) - size, powers.T * weights * 2

    def objective(halves: Floats) -> tuple[float, Floats]:
        weights = np.subtract(*halves.reshape(2, size, size))
        rest = np.eye(size) - weights
        h, turn = circles(weights)
        slope = (-covariance @ rest + (rho * h + alpha) * turn).ravel()
        value = 0.5 * np.trace(rest.T @ covariance @ rest) + rho / 2 * h * h + alpha * h
        both = np.concatenate([slope + sparsity, sparsity - slope])
        return float(value + sparsity * halves.sum()), both

    bounds = [(0, 0 if i == j else None) for _ in range(2) for i, j in np.ndindex(size, size)]
    halves, rho, alpha, h = np.zeros(2 * size * size), 1.0, 0.0, np.inf
    while h > 1e-8:
        moved = minimize(objective, halves, method="L-BFGS-B", jac=True, bounds=bounds).x
        left = circles(np.subtract(*moved.reshape(2, size, size)))[0]
        if left > h / 4:
            rho *= 10
        else:
            halves, h = moved, left
            alpha += rho * h
    return np.asarray(np.abs(np.subtract(*halves.reshape(2, size, size))) >= 0.3)


@pytest.mark.parametrize("seed", [0, 5, 7, 11])
def test_notears_ends_where_its_authors_recipe_does(seed: int) -> None:
    """Also where that is not the truth (5, 7, 11)."""
    dag, truth = equal_variances(seed)
    covariance = covariance_of(truth)
    found = notears(covariance, free(10), sparsity=0.01).arrows
    assert np.array_equal(found, plain_notears(covariance, 0.01))
    assert np.array_equal(found, dag) == (seed == 0)


@FITS
def test_the_result_is_a_minimum(fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a penalty and in the right order, weights are those of least squares.

    A fit that goes on while any slope is steeper than SLACK ends within |slopes| / least
    eigenvalue of its minimum, and at most four arrows enter a column; as much again is allowed to
    what both leave of h. (With ``ftol`` a fit ends where rounding lets it.)
    """
    monkeypatch.setitem(PRECISION, "ftol", 0.0)
    truth = random_weights(np.triu(np.ones((5, 5), dtype=bool), 1), rng_of(4))
    covariance = covariance_of(truth)
    found = fit(covariance, free(5), sparsity=0.0, threshold=0.0)
    bound = 2 * np.sqrt(4) * SLACK / np.linalg.eigvalsh(covariance)[0]
    assert bound < 0.007
    assert found.weights == pytest.approx(truth, abs=bound)
    assert least_squares(found.weights, covariance)[0] == pytest.approx(2.5, abs=1e-3)


@pytest.mark.parametrize("seed", range(15))
@FITS
def test_never_a_circle_and_always_what_is_known(fit: Any, seed: int) -> None:
    """Covariances of no model, thresholds of nearly nothing, knowledge that may be wrong."""
    rng = rng_of(5, seed)
    size = int(rng.integers(2, 8))
    names = [f"c{i}" for i in range(size)]
    knowledge = any_knowledge(names, rng)
    x = rng.normal(size=(2 * size, size)) @ rng.normal(size=(size, size))
    constraints = Constraints.of(names, knowledge)
    found = fit(x.T @ x / len(x), constraints, sparsity=0.01, threshold=1e-3)
    assert is_acyclic(found.arrows) and not (found.arrows & found.arrows.T).any()
    assert np.array_equal(apply_knowledge(found.arrows, names, knowledge), found.arrows)
    assert not found.weights[~found.arrows].any()


def test_forbidden_arrows_take_no_part_in_a_fit() -> None:
    """a --> b --> c without b --> c: its effect goes the way that is left, a --> c."""
    covariance = covariance_of(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    known = Constraints.of(list("abc"), Knowledge(forbidden=frozenset({("b", "c"), ("c", "b")})))
    weights = minimised(lambda w: least_squares(w, covariance), np.zeros((3, 3)), known, 0.0)
    assert not weights[~known.allowed].any()
    for fit in (notears, dagma):
        found = fit(covariance, known, sparsity=0.0)
        assert np.argwhere(found.arrows).tolist() == [[0, 1], [0, 2]]
        assert found.weights[0] == pytest.approx([0, 1, 1], abs=0.01)


@FITS
def test_a_required_arrow_stands_even_if_it_weighs_nothing(fit: Any) -> None:
    known = Constraints.of(list("abc"), Knowledge(required=frozenset({("a", "b")})))
    found = fit(np.eye(3), known)
    assert np.argwhere(found.arrows).tolist() == [[0, 1]] and not found.weights.any()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("fit", [notears, dagma, lambda s, known: notears_admm([s, s], known)[0]])
@pytest.mark.filterwarnings("error")
def test_a_line_search_may_look_far_away(fit: Any, seed: int) -> None:
    """Columns whose scales differ by up to 10¹²: weights whose exponential no number holds."""
    rng = rng_of(7, seed)
    size = int(rng.integers(3, 9))
    x = rng.normal(size=(50, size)) * 10.0 ** rng.uniform(-6, 6, size=size)
    found = fit(x.T @ x / len(x), free(size))
    assert is_acyclic(found.arrows) and np.isfinite(found.weights).all()


def test_the_weakest_arrow_of_a_circle_goes() -> None:
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2], weights[2, 0], weights[3, 0] = 0.9, -0.5, 0.8, 0.4
    found = without_circles(weights, 0.3, free(4))
    assert np.argwhere(found.arrows).tolist() == [[0, 1], [2, 0], [3, 0]]
    required = Constraints.of(list("abcd"), Knowledge(required=frozenset({("b", "c")})))
    found = without_circles(weights, 0.3, required)
    assert np.argwhere(found.arrows).tolist() == [[0, 1], [1, 2], [3, 0]]


@FITS
def test_the_numbering_of_columns_does_not_matter_to_a_fit(fit: Any) -> None:
    rng = rng_of(6)
    covariance = covariance_of(random_weights(random_dag(rng, 9, 2.5), rng))
    order = rng.permutation(9)
    base = fit(covariance, free(9)).arrows
    renamed = fit(covariance[np.ix_(order, order)], free(9)).arrows
    assert np.array_equal(renamed, base[np.ix_(order, order)]) and base.any()


@FITS
def test_one_factor_for_all_moments_does_not_matter_to_a_fit(fit: Any) -> None:
    covariance = covariance_of(equal_variances(1)[1])
    base = fit(covariance, free(10))
    assert np.linalg.det(of_unit_errors(covariance)) == pytest.approx(1)
    for factor in (1e-12, 7.0, 1e12):
        found = fit(covariance * factor, free(10))
        assert np.array_equal(found.arrows, base.arrows)
        assert found.weights == pytest.approx(base.weights, abs=0.01)
    for flat in (np.ones((3, 3)), np.zeros((3, 3))):
        assert is_acyclic(fit(flat, free(3)).arrows)
