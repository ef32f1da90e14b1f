"""Exact search against all DAGs there are, with perfect scores, and with bad input."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from privet.errors import MethodError
from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge, cpdag
from privet.search.constraints import Constraints
from privet.search.exact import MOST_COLUMNS, exact
from privet.search.ges import ges
from privet.search.hill_climb import closed
from tests.helpers.population import Bools, Floats, Indices, population, sampled
from tests.search.test_pc import (
    DAGS4,
    any_knowledge,
    no_knowledge,
    obeys,
    random_dag,
    rng_of,
    true_knowledge,
)


def some_dag(seed: int, largest: int) -> Bools:
    rng = rng_of([29, seed])
    return random_dag(rng, int(rng.integers(5, largest + 1)), float(rng.uniform(1, 4)))


class Whim:
    """Local scores at random, some not to be had; no two DAGs score alike."""

    def __init__(self, seed: int, missing: float) -> None:
        self.seed, self.missing = seed, missing

    def local(self, child: int, parents: Indices) -> Floats:
        assert (np.diff(parents, axis=1) > 0).all() and not (parents == child).any()
        return np.array([self.one(child, row) for row in parents.tolist()])

    def one(self, child: int, parents: list[int]) -> float:
        rng = rng_of([self.seed, child, *parents])
        missing = rng.random() < self.missing and len(parents) > 0
        return -np.inf if missing else float(rng.normal() + 0.3 * len(parents))

    def score(self, dag: Bools) -> float:
        return sum(self.one(v, np.flatnonzero(dag[:, v]).tolist()) for v in range(len(dag)))


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_best_of_all_543_dags(seed: int) -> None:
    rng = rng_of([31, seed])
    names, whim, limit = list("abcd"), Whim(seed, 0.3 * (seed % 3)), 1 + seed % 3
    knowledge = any_knowledge(names, rng) if seed % 2 else Knowledge()
    constraints = Constraints.of(names, knowledge)
    required = constraints.required & constraints.allowed
    fit = [
        dag
        for dag in DAGS4
        if dag.sum(axis=0).max() <= limit
        and not (dag & ~constraints.allowed).any()
        and not (required & ~dag).any()
    ]
    best = max(fit, key=whim.score, default=None)
    if best is None or whim.score(best) == -np.inf:
        with pytest.raises(MethodError):
            exact(whim.local, constraints, max_parents=limit)
        return
    found = exact(whim.local, constraints, max_parents=limit)
    wanted = closed(cpdag(best), constraints)
    assert wanted is not None and np.array_equal(found, wanted)


@pytest.mark.parametrize("part", range(2))
def test_perfect_scores_give_the_true_class(part: int) -> None:
    larger = [some_dag(seed, 9) for seed in range(part, 60, 2)]
    for seed, dag in enumerate([*DAGS4[part::2], *larger]):
        scores = population(dag, seed)
        found = exact(scores.local, no_knowledge(len(dag)), max_parents=len(dag) - 1)
        assert np.array_equal(found, cpdag(dag)), seed


@pytest.mark.parametrize("part", range(2))
def test_true_knowledge_sharpens_the_class_and_never_leaves_it(part: int) -> None:
    rng = rng_of(part)
    larger = [some_dag(seed, 8) for seed in range(part, 60, 2)]
    for seed, dag in enumerate([*DAGS4[part::2], *larger]):
        names, knowledge = true_knowledge(dag, rng)
        constraints = Constraints.of(names, knowledge)
        found = exact(population(dag, seed).local, constraints, max_parents=len(dag) - 1)
        assert np.array_equal(found, apply_knowledge(cpdag(dag), names, knowledge)), seed


def test_wrong_knowledge_is_obeyed_and_never_an_error() -> None:
    rng = rng_of(600)
    for seed in range(60):
        dag = some_dag(seed, 8)
        names = [f"c{i}" for i in range(len(dag))]
        knowledge = any_knowledge(names, rng)
        found = exact(
            sampled(dag, 500, seed).local, Constraints.of(names, knowledge), max_parents=6
        )
        assert obeys(found, names, knowledge), (dag.astype(int), knowledge)
        assert np.array_equal(apply_knowledge(found, names, knowledge), found)


def test_no_greedy_search_scores_better_and_some_find_the_best() -> None:
    same = 0
    for seed in range(20):
        dag = some_dag(seed, 9)
        scores, free = sampled(dag, 1000, seed), no_knowledge(len(dag))
        best = scores.score(exact(scores.local, free, max_parents=len(dag) - 1))
        greedy = scores.score(ges(scores.gains, free))
        assert best >= greedy - 1e-6
        same += greedy > best - 1e-6
    assert same > 0


@pytest.mark.parametrize("seed", range(6))
def test_the_numbering_of_columns_does_not_matter(seed: int) -> None:
    dag, rng = some_dag(seed, 9), rng_of(seed)
    scores, free = sampled(dag, 200, seed), no_knowledge(len(dag))
    found = exact(scores.local, free, max_parents=3)
    order = rng.permutation(len(dag))
    again = exact(scores.renamed(order).local, free, max_parents=3)
    assert np.array_equal(again, found[np.ix_(order, order)])


def test_one_column_alone() -> None:
    assert exact(Whim(0, 0.0).local, no_knowledge(1), max_parents=3).tolist() == [[False]]


def test_twenty_columns_fit_into_memory() -> None:
    dag = random_dag(rng_of(2), MOST_COLUMNS, 1.5)
    dag[:, dag.sum(axis=0) > 2] = False
    tracemalloc.start()
    found = exact(population(dag, 2).local, no_knowledge(MOST_COLUMNS), max_parents=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.array_equal(found, cpdag(dag))
    assert peak < 200 * 2**20


def test_more_columns_are_refused_with_the_way_out() -> None:
    with pytest.raises(MethodError, match=r"up to 20.*there are 21.*order MCMC"):
        exact(Whim(0, 0.0).local, no_knowledge(MOST_COLUMNS + 1), max_parents=2)


def test_more_required_parents_than_the_limit_are_refused() -> None:
    knowledge = Knowledge(required=frozenset({("a", "c"), ("b", "c")}))
    constraints = Constraints.of(list("abc"), knowledge)
    with pytest.raises(MethodError, match=r"requires 2 parents.*allow 1.*raise"):
        exact(Whim(0, 0.0).local, constraints, max_parents=1)


def test_evidence_without_any_score_is_refused() -> None:
    def nothing(_child: int, parents: Indices) -> Floats:
        return np.full(len(parents), -np.inf)

    with pytest.raises(MethodError, match="no score for column 1"):
        exact(nothing, no_knowledge(3), max_parents=2)
