"""Order MCMC: the law it samples against all DAGs and orders there are, and the graphs it finds."""

from __future__ import annotations

from copy import copy
from itertools import permutations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare
from scipy.stats import t as student

from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge, cpdag
from privet.search.constraints import Constraints
from privet.search.order_mcmc import (
    Sampled,
    _Chain,
    _places,
    _relocated,
    _start,
    _total,
    order_mcmc,
)
from privet.search.order_tables import Space, Tables
from tests.helpers.population import Bools, Floats, Gaussian, Indices, population
from tests.search.test_pc import (
    DAGS4,
    any_knowledge,
    no_knowledge,
    obeys,
    random_dag,
    rng_of,
    true_knowledge,
)

FALSE_ALARM = 1e-6
ORDERS4 = [np.array(order, dtype=np.intp) for order in permutations(range(4))]


class Whim:
    """Local scores at random, the same under any numbering of the columns; it minds its batches."""

    def __init__(self, seed: int, labels: list[int], spread: float = 1.0) -> None:
        self.seed, self.labels, self.spread = seed, labels, spread

    def __call__(self, child: int, parents: Indices) -> Floats:
        out = []
        for row in parents.tolist():
            assert row == sorted(set(row) - {child})
            out.append(self.score(child, row))
        return np.array(out)

    def score(self, child: int, parents: list[int]) -> float:
        named = sorted(self.labels[i] for i in parents)
        return float(self.spread * rng_of([self.seed, self.labels[child], 99, *named]).normal())

    def of(self, dag: Bools) -> float:
        return sum(self.score(v, np.flatnonzero(dag[:, v]).tolist()) for v in range(len(dag)))


def fits(dag: Bools, order: Indices) -> bool:
    return not dag[np.ix_(order, order)][np.tril_indices(len(order))].any()


def tables_of(whim: Whim, start: Bools, constraints: Constraints, max_parents: int) -> Tables:
    space = Space(whim, constraints, max_parents)
    space.admit(start | start.T)
    return space.tables()


def within(dag: Bools, start: Bools, constraints: Constraints, max_parents: int) -> bool:
    """Whether a DAG has at most one parent from outside the start for each column, and obeys."""
    required = constraints.required & constraints.allowed
    outside = dag & ~(start | start.T) & ~required
    return bool(
        not (dag & ~constraints.allowed).any()
        and dag[required].all()
        and outside.sum(axis=0).max() <= 1
        and (dag.sum(axis=0) <= np.maximum(max_parents, required.sum(axis=0))).all()
    )


# --- the law ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_an_order_weighs_what_the_graphs_that_fit_it_weigh(seed: int) -> None:
    rng = rng_of([1, seed])
    whim, start = Whim(seed, list(range(4))), random_dag(rng, 4, 1.5)
    names = list("abcd")
    constraints = Constraints.of(names, any_knowledge(names, rng))
    widest = int(rng.integers(1, 4))
    tables = tables_of(whim, start, constraints, widest)
    inside = [dag for dag in DAGS4 if within(dag, start, constraints, widest)]
    assert inside
    for order in ORDERS4:
        scores = [whim.of(dag) for dag in inside if fits(dag, order)]
        expected = (logsumexp(scores), max(scores)) if scores else (-np.inf, -np.inf)
        found = _total(order, tables.weights), _total(order, tables.best)
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_column_moves_by_the_weights_of_the_whole_orders(seed: int) -> None:
    rng = rng_of([2, seed])
    size = 6
    whim, start = Whim(seed, list(range(size))), random_dag(rng, size, 2)
    tables = tables_of(whim, start, no_knowledge(size), 3)
    order = rng.permutation(size)
    for moved in range(size):
        whole = [_total(_relocated(order, moved, at), tables.weights) for at in range(size)]
        assert _places(order, moved, tables.weights) == pytest.approx(whole)


@pytest.mark.parametrize("move", ["_swap", "_relocate"])
def test_each_move_keeps_the_law_of_the_orders(move: str) -> None:
    """Orders drawn from the exact law, moved once: still drawn from it (false alarm 1e-6)."""
    rng, draws = rng_of(16), 20_000
    tables = tables_of(Whim(16, list(range(4)), 1.5), ~np.eye(4, dtype=bool), no_knowledge(4), 3)
    logs = np.array([_total(order, tables.weights) for order in ORDERS4])
    law = np.exp(logs - logsumexp(logs))
    place = {tuple(order): at for at, order in enumerate(ORDERS4)}
    starts = [_Chain(tables, order, rng) for order in ORDERS4]
    seen, moved = np.zeros(len(law)), 0
    for at in rng.choice(len(law), size=draws, p=law):
        chain = copy(starts[at])
        moved += getattr(chain, move)()
        assert abs(chain.total - logs[place[tuple(chain.order)]]) < 1e-9
        seen[place[tuple(chain.order)]] += 1
    assert chisquare(seen, law * draws).pvalue > FALSE_ALARM
    assert moved > draws / 10


@pytest.mark.parametrize("seed", range(5))
def test_the_first_order_has_required_causes_first(seed: int) -> None:
    rng, names = rng_of([17, seed]), [f"c{i}" for i in range(8)]
    constraints = Constraints.of(names, any_knowledge(names, rng))
    assert fits(constraints.required & constraints.allowed, _start(constraints, rng))


def exact_shares(whim: Whim, by_orders: bool) -> tuple[Floats, Floats]:
    """Probability of each edge and each compelled arrow, over all DAGs on four columns."""
    counts = [sum(fits(dag, order) for order in ORDERS4) if by_orders else 1 for dag in DAGS4]
    logs = np.array([whim.of(dag) for dag in DAGS4]) + np.log(counts)
    chance = np.exp(logs - logsumexp(logs))
    edges = sum(p * (dag | dag.T) for p, dag in zip(chance, DAGS4, strict=True))
    classes = [cpdag(dag) for dag in DAGS4]
    arrows = sum(p * (A & ~A.T) for p, A in zip(chance, classes, strict=True))
    return np.asarray(edges), np.asarray(arrows)


def test_posterior_shares_are_those_of_all_graphs_weighed_by_their_orders() -> None:
    """Independent runs: their means are within Student's bounds, false alarm 1e-6 for all 18.

    The bounds are so narrow that graphs weighed alike would be told apart.
    """
    runs, whim = 40, Whim(3, list(range(4)), spread=1.5)
    complete = ~np.eye(4, dtype=bool)
    found = []
    for seed in range(runs):
        drawn = order_mcmc(whim, complete, no_knowledge(4), rng_of([3, seed]), steps=200)
        assert np.array_equal(drawn.edges, drawn.edges.T)
        found.append([drawn.edges[np.triu_indices(4, 1)], *drawn.arrows[complete].reshape(2, 6)])
    shares = np.array(found).reshape(runs, 18)
    bound = student.ppf(1 - FALSE_ALARM / 36, runs - 1) * shares.std(axis=0, ddof=1) / runs**0.5

    def flat(edges: Floats, arrows: Floats) -> Floats:
        return np.concatenate([edges[np.triu_indices(4, 1)], arrows[complete]])

    away = np.abs(shares.mean(axis=0) - flat(*exact_shares(whim, by_orders=True)))
    assert (away <= bound).all()
    alike = np.abs(shares.mean(axis=0) - flat(*exact_shares(whim, by_orders=False)))
    assert (alike > bound).any()


# --- the best graph --------------------------------------------------------------------------


def found_by(
    truth: Gaussian, start: Bools, constraints: Constraints, seed: int, steps: int | None = None
) -> Sampled:
    rng = rng_of([4, seed])
    return order_mcmc(truth.local, start, constraints, rng, max_parents=9, steps=steps)


@pytest.mark.parametrize("part", range(3))
def test_every_dag_on_four_nodes_gives_its_cpdag(part: int) -> None:
    for at, dag in enumerate(DAGS4[part::3]):
        truth = population(dag, at)
        found = found_by(truth, dag, no_knowledge(4), at, steps=100)
        assert np.array_equal(found.graph, cpdag(dag)), dag.astype(int)
        assert found.best_score == pytest.approx(truth.score(dag))


@pytest.mark.parametrize("seed", range(12))
def test_random_dags_give_their_cpdag_from_any_start(seed: int) -> None:
    """From the true edges, and from none: then every edge must come from outside."""
    rng = rng_of([5, seed])
    dag = random_dag(rng, int(rng.integers(5, 11)), float(rng.uniform(1, 3.5)))
    truth = population(dag, seed)
    for start in (dag, np.zeros_like(dag)):
        found = found_by(truth, start, no_knowledge(len(dag)), seed, steps=300)
        assert np.array_equal(found.graph, cpdag(dag))


@pytest.mark.parametrize("seed", range(4))
def test_the_numbering_of_columns_does_not_matter(seed: int) -> None:
    rng = rng_of([6, seed])
    size = 7
    order = rng.permutation(size)
    start = random_dag(rng, size, 2)
    one, other = (Whim(seed, labels, spread=4.0) for labels in (list(range(size)), order.tolist()))
    free = no_knowledge(size)
    base = order_mcmc(one, start, free, rng_of(1), steps=400)
    renamed = order_mcmc(other, start[np.ix_(order, order)], free, rng_of(2), steps=400)
    assert np.array_equal(renamed.graph, base.graph[np.ix_(order, order)])
    assert renamed.best_score == pytest.approx(base.best_score)


def test_the_same_seed_gives_the_same_sample() -> None:
    dag = random_dag(rng_of(7), 8, 2)
    truth = population(dag, 7)
    one, other = (found_by(truth, dag, no_knowledge(8), 0, steps=200) for _ in range(2))
    assert np.array_equal(one.edges, other.edges) and np.array_equal(one.arrows, other.arrows)


# --- knowledge and bounds --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_true_knowledge_sharpens_the_class(seed: int) -> None:
    rng = rng_of([8, seed])
    dag = random_dag(rng, int(rng.integers(4, 9)), 2.5)
    names, knowledge = true_knowledge(dag, rng)
    found = found_by(population(dag, seed), dag, Constraints.of(names, knowledge), seed, steps=200)
    assert np.array_equal(found.graph, apply_knowledge(cpdag(dag), names, knowledge))


@pytest.mark.parametrize("seed", range(30))
def test_wrong_knowledge_is_obeyed_and_never_an_error(seed: int) -> None:
    """By the best graph and by all samples, also where the scores are whims."""
    rng = rng_of([9, seed])
    size = int(rng.integers(2, 8))
    names = [f"c{i}" for i in range(size)]
    knowledge = any_knowledge(names, rng)
    constraints = Constraints.of(names, knowledge)
    whim, start = Whim(seed, list(range(size)), spread=5.0), random_dag(rng, size, 1.0)
    found = order_mcmc(whim, start, constraints, rng, max_parents=2, steps=60)
    assert obeys(found.graph, names, knowledge)
    assert np.array_equal(apply_knowledge(found.graph, names, knowledge), found.graph)
    assert (found.edges[constraints.required] == 1).all()
    assert not found.edges[~constraints.possible].any()
    assert not found.arrows[~constraints.allowed].any()
    assert (found.arrows[constraints.required & constraints.allowed] == 1).all()


def test_sets_that_are_not_to_be_had_are_never_chosen() -> None:
    dag = random_dag(rng_of(10), 6, 3)
    truth = population(dag, 10)

    def local(child: int, parents: Indices) -> Floats:
        scores = truth.local(child, parents)
        return scores if parents.shape[1] < 2 else np.full(len(scores), -np.inf)

    free = no_knowledge(6)
    found = order_mcmc(local, dag, free, rng_of(0), steps=100)
    bounded = order_mcmc(truth.local, dag, free, rng_of(1), steps=100, max_parents=1)
    assert np.array_equal(found.graph, bounded.graph) and found.graph.any()


def test_what_is_required_stands_even_if_it_has_no_score() -> None:
    names = list("abcd")
    knowledge = Knowledge(required=frozenset({("a", "d"), ("b", "d"), ("c", "d")}))

    def local(child: int, parents: Indices) -> Floats:
        return np.full(len(parents), -np.inf if parents.shape[1] > 1 else 0.0)

    nothing, known = np.zeros((4, 4), dtype=bool), Constraints.of(names, knowledge)
    found = order_mcmc(local, nothing, known, rng_of(0), max_parents=2, steps=50)
    assert found.graph[:3, 3].all() and (found.edges[:3, 3] == 1).all()


def test_a_hub_keeps_its_strongest_candidates_and_finds_the_rest_from_outside() -> None:
    """A column with 14 effects: tables hold 12 candidates, and no more memory than that."""
    size = 15
    dag = np.zeros((size, size), dtype=bool)
    dag[0, 1:] = True
    found = found_by(population(dag, 3), ~np.eye(size, dtype=bool), no_knowledge(size), 0, 60)
    assert np.array_equal(found.graph, cpdag(dag))
