"""Separators beside the skeleton explain nothing: accidents are mended, the truth stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.independence.fisher_z import MomentJudge
from privet.search.consistent import consistent
from privet.search.pc import WIDEST, skeleton
from privet.search.skeleton import Skeleton
from tests.search.test_pc import Oracle, no_knowledge, random_dag, rng_of


@pytest.mark.parametrize("seed", range(40))
def test_with_perfect_answers_nothing_changes(seed: int) -> None:
    rng = rng_of([61, seed])
    dag = random_dag(rng, int(rng.integers(3, 12)), float(rng.uniform(1, 3)))
    free, most = no_knowledge(len(dag)), max(3, int(dag.sum(axis=0).max()))
    oracle = Oracle(dag)
    found = skeleton(oracle, free, most)
    assert np.array_equal(found.adjacent, dag | dag.T)
    again = consistent(found, oracle.margins, oracle.strengths(), most, WIDEST)
    assert again is found
    sharp = skeleton(oracle, free, most, sharp=True)
    assert np.array_equal(sharp.adjacent, found.adjacent)


class Mistaken(Oracle):
    """Wrong about one question."""

    def __init__(self, dag: Bools, *question: int) -> None:
        super().__init__(dag)
        self.question = question

    def margins(self, questions: Indices) -> Any:
        answers = Oracle.margins(self, questions)
        if questions.shape[1] == len(self.question):
            answers[(questions == self.question).all(axis=1)] *= -1
        return answers


def two_ways() -> Bools:
    """0 has to do with 3 by way of 1 and 2, and with 6 by way of 4 and 5; 3 --> 6, also by way of
    7."""
    dag = np.zeros((8, 8), dtype=bool)
    for a, b in ((0, 1), (0, 2), (1, 3), (2, 3), (0, 4), (0, 5), (4, 6), (5, 6), (3, 6)):
        dag[a, b] = True
    dag[3, 7] = dag[7, 6] = True
    return dag


def test_an_edge_comes_back_if_what_explained_it_is_no_neighbour() -> None:
    """One wrong answer takes 3 - 6 away given 0, which was joined to both when that was asked."""
    dag = two_ways()
    judge, free = Mistaken(dag, 3, 6, 0), no_knowledge(8)
    plain = skeleton(judge, free, 4)
    assert plain.separators[3, 6] == (0,)
    assert not plain.adjacent[0, [3, 6]].any()
    mended = skeleton(judge, free, 4, sharp=True)
    assert np.array_equal(mended.adjacent, dag | dag.T)
    assert (3, 6) not in mended.separators
    few = [skeleton(judge, free, 2, sharp=sharp).adjacent for sharp in (False, True)]
    assert np.array_equal(few[0], few[1]), "with few columns given nothing comes back"


def test_what_neighbours_explain_stays_away() -> None:
    judge = Mistaken(two_ways(), 3, 6, 4)
    for sharp in (False, True):
        found = skeleton(judge, no_knowledge(8), 4, sharp=sharp)
        assert not found.adjacent[3, 6], "4 is a neighbour of 6"


def test_of_what_seems_dependent_the_surest_comes_back_first() -> None:
    """0 - 1 - 2, all edges gone for the sake of 3: given neighbours alone, which there are none,
    all three pairs are dependent. With two of them back, the third is explained."""
    strength = np.zeros((4, 4))
    for x, y, size in ((0, 1, 9.0), (1, 2, 8.0), (0, 2, 4.0)):
        strength[x, y] = strength[y, x] = size

    def ask(questions: Indices) -> Floats:
        said = strength[questions[:, 0], questions[:, 1]]
        through = questions.shape[1] > 2 and (questions[:, 2:] == 1).any(axis=1)
        return np.where((questions[:, :2] == (0, 2)).all(axis=1) & through, -1.0, said)

    apart = {pair: (3,) for pair in ((0, 1), (1, 2), (0, 2))}
    start = Skeleton(np.zeros((4, 4), dtype=bool), dict(apart))
    found = consistent(start, ask, strength, 3, WIDEST)
    assert np.argwhere(np.triu(found.adjacent)).tolist() == [[0, 1], [1, 2]]
    assert found.separators == {(0, 2): (3,)}
    assert start.separators == apart, "what is given is not changed"


def test_more_edges_are_found_where_effects_nearly_cancel() -> None:
    """Population covariances, taken for those of 2,000 rows: what is small seems to be nothing."""
    plain, sharp, truth = 0, 0, 0
    for seed in range(30):
        rng = rng_of([62, seed])
        dag = random_dag(rng, 14, 4.0)
        weights = dag * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1, 1], dag.shape)
        total = np.linalg.inv(np.eye(14) - weights)
        held = MomentEvidence(
            names=tuple(map(str, range(14))), rows=2000.0, covariance=total.T @ total,
            metric=np.eye(14), noise=0.0,
        )  # fmt: skip
        judge, joined = MomentJudge(held, 0.15), dag | dag.T
        truth += joined.sum()
        plain += (skeleton(judge, no_knowledge(14), 4).adjacent & joined).sum()
        sharp += (skeleton(judge, no_knowledge(14), 4, sharp=True).adjacent & joined).sum()
    assert plain < sharp <= truth


def test_a_separator_that_is_joined_to_one_end_is_believed() -> None:
    """Nothing is asked; if it is joined to neither end, or only a part of it is, something is."""
    adjacent, asked = np.zeros((4, 4), dtype=bool), []
    adjacent[0, 1] = adjacent[1, 0] = True

    def ask(questions: Indices) -> Floats:
        asked.append(questions)
        return np.full(len(questions), -1.0)

    for given, again in (((1,), False), ((2,), True), ((1, 2), True), ((), False)):
        start = Skeleton(adjacent, {(0, 3): given})
        asked.clear()
        assert consistent(start, ask, np.ones((4, 4)), 2, WIDEST) is start
        assert bool(asked) == again
