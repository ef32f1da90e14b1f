"""A graph held against the evidence: the truth stays, faults are mended, knowledge is honoured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import Any

import numpy as np
import pytest

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.graph.knowledge import Knowledge
from privet.graph.meek import cpdag, is_acyclic
from privet.independence.fisher_z import MomentJudge, z_and_variance
from privet.search import compiled
from privet.search import refine as module
from privet.search.constraints import Constraints
from privet.search.pc import skeleton
from privet.search.protocols import ClosedForm
from privet.search.refine import MOST_ROUNDS, Refined, implied, refined
from tests.helpers.population import sample
from tests.search.test_compiled import evidence
from tests.search.test_pc import Oracle, no_knowledge, random_dag, rng_of

BAR = 5.0  # the oracle answers with 10 and -10
needed = pytest.mark.skipif(compiled.refine is None, reason="there was no compiler")


def refine(judge: Any, graph: Bools, known: Constraints | None = None, bar: float = BAR) -> Refined:
    known = no_knowledge(len(graph)) if known is None else known
    return refined(judge, graph, known, rng_of(0), bar=bar)


def some_dag(seed: int) -> Bools:
    rng = rng_of([41, seed])
    return random_dag(rng, int(rng.integers(2, 13)), float(rng.uniform(0.5, 1 + seed % 5)))


@pytest.mark.parametrize("seed", range(60))
def test_with_perfect_answers_the_truth_stays_as_it_is(seed: int) -> None:
    dag = some_dag(seed)
    found = refine(Oracle(dag), dag)
    assert np.array_equal(cpdag(found.dag), cpdag(dag))
    joined = np.triu(dag | dag.T)
    assert np.array_equal(found.margins > 0, joined), "no pair is contradicted"


def chain_with_collider() -> Bools:
    """0 --> 1 --> 2 --> 4 <-- 3."""
    dag = np.zeros((5, 5), dtype=bool)
    for a, b in ((0, 1), (1, 2), (2, 4), (3, 4)):
        dag[a, b] = True
    return dag


class Graded(Oracle):
    """What is near, by its number, is the surest."""

    def margins(self, questions: Indices) -> Any:
        return Oracle.margins(self, questions) - 0.1 * (questions[:, 1] - questions[:, 0])


@pytest.mark.parametrize("pair", [(0, 1), (1, 2), (3, 4), (0, 4), (0, 3), (1, 3)])
def test_an_edge_that_is_missing_or_too_many_is_mended(pair: tuple[int, int]) -> None:
    dag = chain_with_collider()
    wrong = dag | dag.T
    wrong[pair] = wrong[pair[::-1]] = not wrong[pair]
    found = refine(Graded(dag), wrong)
    assert np.array_equal(cpdag(found.dag), cpdag(dag))


def test_of_the_pairs_that_seem_dependent_the_surest_of_both_ends_are_joined() -> None:
    missing = ~np.eye(4, dtype=bool)
    margins = np.array([[0, 9, 8, 2], [0, 0, 7, 3], [0, 0, 0, 4], [0, 0, 0, 0.0]])
    joined = module._surest(missing, margins)
    assert np.argwhere(np.triu(joined)).tolist() == [[0, 1]]
    missing[0, 1] = missing[1, 0] = False
    joined = module._surest(missing, margins)
    assert np.argwhere(np.triu(joined)).tolist() == [[0, 2]]
    missing[2] = missing[:, 2] = False
    joined = module._surest(missing, margins)
    assert np.argwhere(np.triu(joined)).tolist() == [[1, 3]]


def test_too_little_evidence_for_an_edge_takes_it_not_away() -> None:
    @dataclass
    class Says:
        margin: float

        def strengths(self, _pairs: Any = None) -> Floats:
            return np.ones((2, 2))

        def margins(self, questions: Indices) -> Floats:
            return np.full(len(questions), self.margin)

    both = np.array([[False, True], [True, False]])
    assert refine(Says(-BAR + 0.1), both).dag.sum() == 1
    assert refine(Says(-BAR - 0.1), both).dag.sum() == 0
    assert refine(Says(-0.1), ~both & both).dag.sum() == 0


def test_whatever_is_answered_it_ends_with_a_dag() -> None:
    class Moody:
        """Never says the same twice."""

        def __init__(self, seed: int) -> None:
            self.rng, self.batches = rng_of([42, seed]), 0

        def strengths(self, _pairs: Any = None) -> Floats:
            return np.ones((7, 7))

        def margins(self, questions: Indices) -> Floats:
            self.batches += 1
            return self.rng.normal(0, 10, len(questions))

    for seed in range(10):
        judge = Moody(seed)
        found = refine(judge, np.zeros((7, 7), dtype=bool))
        assert is_acyclic(found.dag)
        assert judge.batches <= (MOST_ROUNDS + 1) * (3 + 6), "widths of colliders and of pairs"


def test_knowledge_is_honoured() -> None:
    dag = chain_with_collider()
    names = tuple("abcde")
    known = Knowledge(
        required=frozenset({("a", "d")}),
        forbidden=frozenset({("b", "c"), ("c", "b"), ("d", "e")}),
    )
    constraints = Constraints.of(names, known)
    start = (dag | dag.T) & constraints.possible | constraints.required
    found = refine(Oracle(dag), start, constraints).dag
    assert found[0, 3], "a --> d is required, though nothing speaks for it"
    assert not found[1, 2], "b and c must not be joined, though all speaks for it"
    assert not found[2, 1]
    assert not found[3, 4]
    assert found[4, 3], "only this way is left"
    assert is_acyclic(found)


def test_questions_are_about_the_parents_of_both() -> None:
    dag = chain_with_collider()
    asked = {
        (x, y): set(given)
        for questions in implied(dag, np.argwhere(np.triu(np.ones((5, 5), dtype=bool), 1)))
        for x, y, *given in questions.tolist()
    }
    assert len(asked) == 10
    assert asked[2, 4] == {1, 3}
    assert asked[0, 3] == set()
    assert asked[1, 4] == {0, 2, 3}


# --- what was compiled ---------------------------------------------------------------------------


def in_both(held: MomentEvidence, start: Bools | None = None) -> tuple[Refined | None, Refined]:
    """What was compiled, and Python."""
    judge, known = MomentJudge(held, 0.1), no_knowledge(len(held.names))
    start = skeleton(judge, known, 1).adjacent if start is None else start
    tests = ClosedForm(held.correlations, held.scaled_metric, judge.doubt)
    orders = np.array([rng_of(i).permutation(len(start)) for i in range(3)])
    made = compiled.refined(start, tests, orders, MOST_ROUNDS)
    in_python = module._refined(judge, start, known, list(orders), log(10))
    return None if made is None else Refined(*made), in_python


@needed
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_same_graphs_and_margins_as_in_python(noise: float) -> None:
    changed = 0
    for seed in range(12):
        rng = rng_of([43, seed])
        dag = random_dag(rng, int(rng.integers(2, 16)), float(rng.choice([1.0, 3.0, 5.0])))
        held = evidence(sample(dag, int(rng.choice([200, 5000])), seed), noise)
        start = dag if seed % 3 == 0 else None
        one, other = in_both(held, start)
        assert one is not None
        assert np.array_equal(one.dag, other.dag), seed
        assert np.allclose(one.margins, other.margins, rtol=1e-6, atol=1e-6)
        changed += not np.array_equal(one.dag, dag)
    assert changed


@needed
def test_sets_of_several_words() -> None:
    dag = random_dag(rng_of([44, 0]), 70, 2.0)
    one, other = in_both(evidence(sample(dag, 2000, 1)))
    assert one is not None
    assert np.array_equal(one.dag, other.dag)
    assert one.dag.sum() > 35


@needed
def test_columns_that_nearly_tell_another_are_left_to_python() -> None:
    numbers = sample(random_dag(rng_of([45, 0]), 6, 2.0), 500, 1)
    numbers = np.c_[numbers, numbers[:, 0] + numbers[:, 1]]
    complete = ~np.eye(7, dtype=bool)
    one, other = in_both(evidence(numbers), np.triu(complete))
    assert one is None
    assert is_acyclic(other.dag)


@needed
def test_arrays_of_wrong_sizes_are_refused() -> None:
    held = evidence(sample(chain_with_collider(), 100, 0))
    tests = ClosedForm(held.correlations, np.empty((0, 0)), (100.0, 0.0, 1.0))
    orders, small, start = np.array([np.arange(5)]), np.eye(4), np.zeros((5, 5), dtype=bool)
    for graph, given, some in (
        (start[:4, :4], tests, orders),
        (start, tests, orders[:, :4]),
        (start, replace(tests, matrix=small), orders),
    ):
        with pytest.raises(ValueError, match="wrong arrays"):
            compiled.refined(graph, given, some, 1)


@needed
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_questions_of_all_widths_are_answered_as_in_arrays(noise: float) -> None:
    held = evidence(sample(random_dag(rng_of([46, 0]), 9, 3.0), 500, 2), noise)
    judge, rng = MomentJudge(held, 0.1), rng_of(3)
    tests = ClosedForm(held.correlations, held.scaled_metric, judge.doubt)
    wide = np.array([rng.permutation(9)[:7] for _ in range(40)])
    widths = rng.integers(2, 8, 40)
    padded = np.where(np.arange(7) < widths[:, None], wide, -1)
    found = compiled.asked(tests, padded)
    assert found is not None
    for i, width in enumerate(widths.tolist()):
        told = z_and_variance(held, wide[i : i + 1, :width])
        assert np.allclose([found[0][i], found[1][i]], np.ravel(told), rtol=1e-9, atol=1e-12)


@needed
@pytest.mark.parametrize("wrong", [[0, 9, -1], [-1, 1, 2], [0, 1, -2]])
def test_questions_about_nobody_are_refused(wrong: list[int]) -> None:
    tests = ClosedForm(np.eye(9), np.empty((0, 0)), (100.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="wrong arrays"):
        compiled.asked(tests, np.array([wrong]))
