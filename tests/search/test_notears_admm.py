"""NOTEARS over sites: exact covariances of linear models with equal errors."""

from __future__ import annotations

import numpy as np

from privet.search.notears import notears
from privet.search.notears_admm import notears_admm
from tests.search.test_continuous import Bools, Floats, free, random_dag, random_weights, rng_of


def covariance(weights: Floats) -> Floats:
    mixing = np.linalg.inv(np.eye(len(weights)) - weights)
    return np.asarray(mixing.T @ mixing)


def test_a_collider_and_a_chain_are_found() -> None:
    weights = np.zeros((5, 5))
    weights[0, 2] = weights[1, 2] = weights[2, 3] = weights[3, 4] = 1.5
    sites = [covariance(weights * scale) for scale in (0.8, 1.0, -1.0)]
    found, rounds = notears_admm(sites[:2], free(5))
    assert np.array_equal(found.arrows, weights != 0)
    assert 10 < rounds < 200
    torn, _ = notears_admm(sites[1:], free(5))
    assert not torn.arrows[weights != 0].any(), "weights that cancel over sites are lost"


def test_it_is_about_as_good_as_notears_on_the_mean_of_the_covariances() -> None:
    """Sites alike but for a tenth of each weight; both go wrong on some of them."""
    wrong = np.zeros(2, dtype=int)
    for seed in range(6):
        rng = rng_of(71, seed)
        dag: Bools = random_dag(rng, 5, 1.5)
        weights = random_weights(dag, rng)
        sites = [covariance(weights * rng.uniform(0.9, 1.1, dag.shape)) for _ in range(3)]
        both = notears_admm(sites, free(5))[0], notears(np.mean(sites, axis=0), free(5))
        wrong += [int((found.arrows != dag).sum()) for found in both]
    assert wrong[0] <= wrong[1] + 2


def test_the_order_of_the_sites_changes_nothing() -> None:
    rng = rng_of(72)
    dag = random_dag(rng, 5, 2.0)
    sites = [covariance(random_weights(dag, rng)) for _ in range(3)]
    first, second = (notears_admm(order, free(5)) for order in (sites, sites[::-1]))
    assert np.array_equal(first[0].arrows, second[0].arrows)
    assert first[1] == second[1]
