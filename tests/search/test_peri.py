"""PERI with perfect scores, with one site, with sites that differ, and what it sends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from privet.graph.meek import cpdag, extension
from privet.search import peri as published
from privet.search import rfcd as beam
from privet.search.constraints import Constraints
from privet.search.ges import ges
from privet.search.hill_climb import closed
from privet.search.peri import ROUNDS, Agreed
from privet.search.protocols import Locals
from privet.search.regret import Objective, Scored, Told, overall
from privet.search.rfcd import Beamed
from tests.helpers.population import Bools, Floats, Gaussian, Indices, population, sample, sampled
from tests.search.test_pc import DAGS4, all_dags, no_knowledge, random_dag, rng_of

OBJECTIVES: tuple[Objective, ...] = ("worst", "sum")


def peri(sites: Sequence[Locals], size: int, **options: Any) -> Agreed:
    return published.peri([Scored(local) for local in sites], no_knowledge(size), **options)


def alone(local: Locals, size: int) -> Bools:
    return published.alone(Scored(local), no_knowledge(size))


def union(sites: Sequence[Locals], size: int) -> Bools:
    return published.union([Scored(local) for local in sites], no_knowledge(size))


def rfcd(sites: Sequence[Locals], size: int) -> Beamed:
    return beam.rfcd([Scored(local) for local in sites], no_knowledge(size))


def some_dag(seed: int, largest: int = 8) -> Bools:
    rng = rng_of([23, seed])
    return random_dag(rng, int(rng.integers(5, largest + 1)), float(rng.uniform(1, 3)))


class Directed:
    """Random scores for each child and parent set, which no two DAGs of a class share; so they
    depend on the direction of an edge. They are whole numbers, so that sums are exact."""

    def __init__(self, seed: int) -> None:
        self.seed, self.asked = seed, 0

    def __call__(self, child: int, parents: Indices) -> Floats:
        self.asked += len(parents)
        return np.array([self._one(child, sorted(row)) for row in parents.tolist()])

    def _one(self, child: int, parents: list[int]) -> float:
        rng = np.random.default_rng([self.seed, child, *parents, 99])
        return float(rng.integers(0, 1000))


def total(local: Locals, dag: Bools) -> float:
    return sum(float(local(v, np.flatnonzero(dag[:, v])[None])[0]) for v in range(len(dag)))


# --- the truth, and GES ------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_dag_on_four_nodes_is_found_by_three_sites_that_differ(objective: Objective) -> None:
    """One graph, with weights and numbers of rows of each site's own."""
    for seed, dag in enumerate(DAGS4[::4]):
        sites = [population(dag, 3 * seed + i).local for i in range(3)]
        assert np.array_equal(peri(sites, 4, objective=objective).matrix, cpdag(dag))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_with_one_site_it_is_ges_on_exact_data(objective: Objective) -> None:
    for seed in range(20):
        dag = some_dag(seed)
        scores, size = population(dag, seed), len(dag)
        expected = ges(scores.gains, no_knowledge(size))
        found = peri([scores.local], size, objective=objective)
        assert np.array_equal(found.matrix, expected)
        assert np.array_equal(alone(scores.local, size), expected)
        assert found.regrets == pytest.approx([0.0], abs=1e-3)


@pytest.mark.parametrize("seed", range(8))
def test_with_one_site_it_is_the_package_ges_without_turning(seed: int) -> None:
    import ges as peer

    dag, rows = some_dag(40 + seed), 1000 + 300 * seed
    theirs, _ = peer.fit_bic(sample(dag, rows, seed), phases=["forward", "backward"], iterate=True)
    found = peri([sampled(dag, rows, seed).local], len(dag))
    assert np.array_equal(found.matrix, theirs.astype(bool))


def test_a_site_without_a_say_on_an_edge_does_not_lose_it() -> None:
    """Each site sees one of two edges only; the worst regret wants both."""
    first, second = np.zeros((2, 3, 3), dtype=bool)
    first[0, 1] = second[1, 2] = True
    sites = [population(first, 1).local, population(second, 2).local]
    for found in (peri(sites, 3).matrix, union(sites, 3)):
        assert np.array_equal(found | found.T, (first | second) | (first | second).T)


# --- regrets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_graph_has_less_regret_than_the_one_a_site_likes_best(objective: Objective) -> None:
    """All DAGs on four nodes, at a site for which GES finds the best: regrets are not negative,
    and that of the found graph is what its score says."""
    for seed, dag in enumerate(DAGS4[::60]):
        sites = [population(dag, 7 * seed + i) for i in range(2)]
        found = peri([site.local for site in sites], 4, objective=objective, rounds=1)
        for site, regret in zip(sites, found.regrets, strict=True):
            own = extension(alone(site.local, 4))
            result = extension(found.matrix)
            assert own is not None and result is not None
            best = total(site.local, own)
            scale = 1e-9 * abs(best)
            assert all(best - total(site.local, other) >= -scale for other in DAGS4)
            assert regret == pytest.approx(best - total(site.local, result), abs=scale)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("rows", [60, 2000])
def test_the_objective_goes_down_with_every_step(objective: Objective, rows: int) -> None:
    for seed in range(6):
        dag = some_dag(seed)
        sites = [sampled(dag, rows, 10 * seed + i).local for i in range(4)]
        found = peri(sites, len(dag), objective=objective)
        assert len(found.objectives) == ROUNDS[objective]
        for values in found.objectives:
            assert len(values) > 3
            assert all(after <= before for before, after in pairwise(values))
        final = overall(np.array(found.regrets)[:, None], objective)[0]
        assert found.objectives[-1][-1] == pytest.approx(final)


def test_the_second_round_measures_from_the_graph_of_the_first() -> None:
    """Its regrets are differences of scores to that graph, not to what a site likes best."""
    moved = 0
    for seed in range(12):
        rng = rng_of([31, seed])
        sites = [sampled(random_dag(rng, 6, 2.0), 60, 10 * seed + i) for i in range(4)]
        local = [site.local for site in sites]
        first, second = (peri(local, 6, rounds=count) for count in (1, 2))
        assert second.objectives[0] == first.objectives[0]
        expected = [site.score(first.matrix) - site.score(second.matrix) for site in sites]
        assert second.regrets == pytest.approx(expected, abs=1e-6)
        moved += not np.array_equal(first.matrix, second.matrix)
    assert moved, "a second round that never leads elsewhere would show nothing"


def test_a_sum_does_not_need_the_second_round() -> None:
    for seed in range(6):
        dag = some_dag(seed)
        sites = [sampled(dag, 200, 10 * seed + i).local for i in range(4)]
        first, second = (
            peri(sites, len(dag), objective="sum", rounds=count).matrix for count in (1, 2)
        )
        assert np.array_equal(first, second)


# --- sites -------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_order_of_the_sites_changes_nothing(objective: Objective) -> None:
    for seed in range(4):
        sites = [sampled(some_dag(seed), 100, 10 * seed + i).local for i in range(4)]
        found = [
            peri(order, len(some_dag(seed)), objective=objective)
            for order in list(permutations(sites))[::5]
        ]
        assert len({one.matrix.tobytes() for one in found}) == 1
        assert len({one.objectives for one in found}) == 1


def test_splitting_a_site_whose_score_adds_up_changes_no_sum() -> None:
    """Scores that depend on the direction, split into two shares at random."""

    def share(whole: Locals, part: Locals, sign: int) -> Locals:
        return lambda child, parents: (
            part(child, parents) if sign > 0 else whole(child, parents) - part(child, parents)
        )

    changed = 0
    for seed in range(8):
        one, other, part = Directed(seed), Directed(100 + seed), Directed(200 + seed)
        whole: list[Locals] = [one, other]
        split: list[Locals] = [share(one, part, 1), share(one, part, -1), other]
        expected = peri(whole, 5, objective="sum").matrix
        assert np.array_equal(peri(split, 5, objective="sum").matrix, expected)
        changed += not np.array_equal(peri(split, 5).matrix, peri(whole, 5).matrix)
    assert changed, "the worst regret does depend on who is a site"


def test_splitting_many_rows_evenly_changes_no_sum_but_for_the_penalty() -> None:
    """BIC charges each site anew, which endless rows outweigh."""
    for seed in range(10):
        dag = some_dag(seed)
        whole = population(dag, seed)
        part = Gaussian(whole.covariance, whole.rows / 4).local
        found = peri([part] * 4, len(dag), objective="sum").matrix
        assert np.array_equal(found, peri([whole.local], len(dag), objective="sum").matrix)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_some_of_the_sites_at_a_time_are_enough_where_all_agree(objective: Objective) -> None:
    dag = some_dag(3)
    sites = [population(dag, i).local for i in range(10)]
    found = peri(sites, len(dag), objective=objective, share=0.2, rng=rng_of(1))
    assert np.array_equal(found.matrix, cpdag(dag))
    assert sum(found.messages) == 2 * found.iterations
    assert found.regrets == pytest.approx([0.0] * 10, abs=1e-2), "absent sites kept theirs"
    again = peri(sites, len(dag), objective=objective, share=0.2, rng=rng_of(1))
    assert again.messages == found.messages
    other = peri(sites, len(dag), objective=objective, share=0.2, rng=rng_of(2))
    assert other.messages != found.messages


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_line_that_pays_in_one_direction_is_not_taken_away(objective: Objective) -> None:
    """As with a curve that has no inverse: 1 explains 0, and 0 does not explain 1."""

    def curve(child: int, parents: Indices) -> Floats:
        return (
            np.where((parents == 1).any(axis=1), 300.0 if child == 0 else -3.0, 0.0)
            - 2.0 * (parents.shape[1])
        )

    found = peri([curve] * 2, 2, objective=objective).matrix
    assert found.all(axis=None, where=~np.eye(2, dtype=bool))


# --- evidence, knowledge, noise ----------------------------------------------------------------


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_on_gains_it_is_ges_with_one_site_and_the_truth_with_three(objective: Objective) -> None:
    for seed in range(8):
        dag = some_dag(seed)
        free = no_knowledge(len(dag))
        sites = [Told(population(dag, 3 * seed + i).gains) for i in range(3)]
        for some in (sites[:1], sites):
            found = published.peri(some, free, objective=objective)
            assert np.array_equal(found.matrix, cpdag(dag))


def test_a_site_that_cannot_say_abstains() -> None:
    """What one knows is found; what nobody can say is neither joined nor taken away."""
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    true = population(dag, 1).gains

    def silent(questions: Indices) -> Floats:
        return np.full(len(questions), np.inf)

    free = no_knowledge(3)
    found = published.peri([Told(true), Told(silent)], free, objective="sum").matrix
    assert np.array_equal(found, cpdag(dag))
    assert not published.peri([Told(silent)] * 2, free).matrix.any()
    required = Constraints(free.allowed & ~dag.T, free.possible, dag | dag.T)
    assert np.array_equal(published.peri([Told(silent)], required).matrix, cpdag(dag))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_knowledge_is_honoured(objective: Objective) -> None:
    for seed in range(6):
        dag = some_dag(seed)
        sites = [Scored(population(dag, 3 * seed + i).local) for i in range(3)]
        x, y = np.argwhere(dag)[0]
        allowed = no_knowledge(len(dag)).allowed.copy()
        allowed[x, y] = False
        known = Constraints(allowed, allowed | allowed.T, np.zeros_like(allowed))
        found = closed(published.peri(sites, known, objective=objective).matrix, known)
        assert found is not None and not (found & ~found.T)[x, y]
        never = Constraints(allowed & allowed.T, allowed & allowed.T, np.zeros_like(allowed))
        assert not published.peri(sites, never, objective=objective).matrix[[x, y], [y, x]].any()


def test_noise_is_added_to_what_is_sent_and_to_nothing_else() -> None:
    """Small noise changes neither the graph nor the regrets, large noise the graph."""
    dag = some_dag(3)
    sites = [population(dag, i).local for i in range(3)]
    exact = peri(sites, len(dag))
    rng, drawn = rng_of(5), []

    def noise(count: int) -> Floats:
        drawn.append(count)
        return rng.laplace(scale=1e-9, size=count)

    found = peri(sites, len(dag), noise=noise)
    assert np.array_equal(found.matrix, exact.matrix)
    assert found.regrets == pytest.approx(exact.regrets, abs=1e-3)
    assert sum(drawn) == sum(found.numbers) and len(drawn) == sum(found.messages)
    loud = peri(sites, len(dag), noise=lambda count: rng_of(1).laplace(scale=1e15, size=count))
    assert not np.array_equal(loud.matrix, exact.matrix)


# --- what is sent ------------------------------------------------------------------------------


def test_messages_and_numbers_are_counted() -> None:
    """Two columns that are joined: two insertions from the empty class, then nothing to insert and
    two deletions; and once more, since only then nothing has changed. With two steps to weigh a
    message has three numbers."""
    dag = np.array([[False, True], [False, False]])
    sites = [population(dag, i).local for i in range(3)]
    once = peri(sites, 2, objective="sum")
    assert once.iterations == 3
    assert once.messages == (3, 3, 3)
    assert once.numbers == (9, 9, 9)
    twice = peri(sites, 2)
    assert (twice.iterations, twice.messages, twice.numbers) == (6, (6,) * 3, (18,) * 3)


def test_what_was_asked_of_a_score_is_not_asked_again() -> None:
    local = Directed(1)
    scored = Scored(local)
    first = scored.gains([(0, 1, 0), (2, 1, 1)])
    asked = local.asked
    assert np.array_equal(scored.gains([(0, 1, 0), (2, 1, 1)]), first)
    assert local.asked == asked == 3  # of 1: nothing, {0} and {0, 2}


def test_parents_are_limited() -> None:
    dag = np.triu(np.ones((5, 5), dtype=bool), 1)
    found = extension(peri([population(dag, 1).local], 5, max_parents=1).matrix)
    assert found is not None and found.sum(axis=0).max() == 1


# --- RFCD --------------------------------------------------------------------------------------


def test_rfcd_finds_the_class_of_every_dag_on_three_nodes() -> None:
    """On four the beam may be stuck at a graph with too many arrows."""
    for seed, dag in enumerate(all_dags(3)):
        sites = [population(dag, 5 * seed + i) for i in range(2)]
        found = rfcd([site.local for site in sites], 3)
        assert np.array_equal(cpdag(found.dag), cpdag(dag))
        assert found.regrets == pytest.approx([0.0, 0.0], abs=1e-2)
        assert found.numbers[0] >= 6 * found.iterations - 6


def test_rfcd_with_directed_scores_measures_each_dag_by_itself() -> None:
    for seed in range(5):
        local = Directed(seed)
        found = rfcd([local], 4)
        near = [dag for dag in DAGS4 if (dag != found.dag).sum() == 1]
        assert found.regrets == (0.0,)
        assert all(total(local, found.dag) >= total(local, dag) for dag in near)


def test_rfcd_honours_knowledge() -> None:
    for seed in range(5):
        free = no_knowledge(4)
        required = np.zeros((4, 4), dtype=bool)
        required[3, 0] = True
        allowed = free.allowed & ~required.T
        allowed[1, 2] = False
        known = Constraints(allowed, free.possible, required | required.T)
        found = beam.rfcd([Scored(Directed(seed))], known).dag
        assert found[3, 0] and not (found & ~allowed).any()
