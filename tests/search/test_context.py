"""Directions from differences: with answers that are right no arrow is wrong, and doubt is kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from privet.graph.meek import cpdag, extension, vstructures
from privet.search.context import DIFFERENT, Claim, Differ, Given, claims, drawn
from tests.helpers.population import Bools, Floats, population
from tests.search.test_pc import DAGS4, random_dag, rng_of

FREE = ~np.eye(4, dtype=bool)


def with_context(dag: Bools, moved: Sequence[int]) -> Bools:
    """The same with one more column, the last, which causes the moved ones."""
    size = len(dag)
    out = np.zeros((size + 1, size + 1), dtype=bool)
    out[:size, :size] = dag
    out[size, list(moved)] = True
    return out


def told(dag: Bools, moved: Sequence[int], seed: int) -> Differ:
    """What endless rows of all sites would say."""
    scores = population(with_context(dag, moved), seed)

    def differ(column: int, sets: Sequence[Given]) -> Floats:
        asked = [np.array([[len(dag), column, *given]]) for given in sets]
        return np.array([float(scores.gains(question)[0]) for question in asked])

    return differ


def test_no_arrow_is_wrong_on_four_columns() -> None:
    """All DAGs, with any one or two mechanisms that differ; many lines get their direction."""
    lines = gained = 0
    for seed, dag in enumerate(DAGS4[::3]):
        rng = rng_of([41, seed])
        moved = rng.choice(4, size=int(rng.integers(1, 3)), replace=False).tolist()
        before = cpdag(dag)
        after, _ = drawn(before, claims(before, told(dag, moved, seed)), FREE)
        assert not (after & ~after.T & ~dag).any(), (dag, moved)
        assert vstructures(after) == vstructures(before) and extension(after) is not None
        lines += int((before & before.T).sum()) // 2
        gained += int((after & ~after.T).sum() - (before & ~before.T).sum())
    assert gained > lines / 4


def test_larger_graphs() -> None:
    gained = 0
    for seed in range(15):
        rng = rng_of([43, seed])
        dag = random_dag(rng, 8, 1.5)
        moved = rng.choice(8, size=2, replace=False).tolist()
        before = cpdag(dag)
        after, _ = drawn(before, claims(before, told(dag, moved, seed)), ~np.eye(8, dtype=bool))
        assert not (after & ~after.T & ~dag).any()
        gained += int((after & ~after.T).sum() - (before & ~before.T).sum())
    assert gained > 10


def chain() -> Bools:
    """0 --- 1 --- 2."""
    lines = np.zeros((4, 4), dtype=bool)
    lines[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    return lines


@pytest.mark.parametrize("answer", [-20.0, 0.0, DIFFERENT, 50.0, np.nan])
def test_nothing_is_concluded_where_all_answers_are_the_same(answer: float) -> None:
    """Sites that are alike, that differ in everything, and evidence that cannot say."""
    assert not claims(chain(), lambda _column, sets: np.full(len(sets), answer))


def test_a_planted_lie_would_be_believed() -> None:
    """So the tests above can fail: 2 is said to differ, and 1 only as far as 2 explains it."""

    def differ(column: int, sets: Sequence[Given]) -> Floats:
        if column == 1:
            return np.array([-20.0 if 2 in given else 50.0 for given in sets])
        return np.full(len(sets), 50.0 if column == 2 else -20.0)

    found = claims(chain(), differ)
    assert [(c.cause, c.effect) for c in found] == [(2, 1)]
    after, held = drawn(chain(), found, FREE)
    assert after[2, 1] and not after[1, 2] and after[1, 0] and not after[0, 1] and held == found


def test_doubt_and_contradictions_are_left_alone() -> None:
    def doubtful(column: int, sets: Sequence[Given]) -> Floats:
        """0 differs, but whether 1 does not, given 0, is not sure."""
        if column == 0:
            return np.full(len(sets), 50.0)
        return np.array([0.0 if 0 in given else 50.0 for given in sets])

    assert not claims(chain(), doubtful)
    both = [Claim(0, 1, 1, (0,), (), 60.0), Claim(2, 1, 1, (2,), (), 50.0)]
    after, held = drawn(chain(), both, FREE)
    assert held == both[:1] and after[0, 1] and after[1, 2], "two would make a new collider"
    forbidden = FREE.copy()
    forbidden[1, 2] = False
    after, held = drawn(chain(), both[:1], forbidden)
    assert not held and np.array_equal(after, chain())
