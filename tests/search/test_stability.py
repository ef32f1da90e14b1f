"""Replicas that ask only what could explain something find what they would find by asking all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from privet.arrays import Bools, Floats, Indices
from privet.graph.knowledge import Knowledge
from privet.search.constraints import Constraints
from privet.search.memo import Memo
from privet.search.pc import skeleton
from privet.search.skeleton import complete
from privet.search.stability import replicated

SIZE, REPLICAS = 12, 60


@dataclass(frozen=True)
class Oracle:
    """Answers that mean nothing, but are the same whenever they are asked for."""

    seeds: tuple[int, ...]
    shift: float

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        out = np.stack([np.random.default_rng(seed).random((SIZE, SIZE)) for seed in self.seeds])
        return out + out.swapaxes(1, 2)

    def margins(self, questions: Indices) -> Floats:
        drawn = [
            np.random.default_rng([seed, *row]).normal(self.shift, 2.0)
            for seed in self.seeds
            for row in questions.tolist()
        ]
        return np.reshape(drawn, (len(self.seeds), len(questions)))


@dataclass(frozen=True)
class Alone:
    """The only replica of an oracle."""

    oracle: Oracle

    def strengths(self, pairs: Bools | None = None) -> Floats:
        return self.oracle.strengths(pairs)[0]

    def margins(self, questions: Indices) -> Floats:
        return self.oracle.margins(questions)[0]


@pytest.mark.parametrize("shift", [1.5, 2.0, 2.5])
def test_what_could_explain_nothing_need_not_be_asked(shift: float) -> None:
    constraints = _circles_and_leaves()
    start = complete(SIZE, constraints.possible)
    rngs = np.random.default_rng(0).spawn(REPLICAS)
    found = replicated(Oracle(tuple(range(REPLICAS)), shift), start, constraints, 2, rngs)
    for seed, arrows in enumerate(found):
        alone = skeleton(Alone(Oracle((seed,), shift)), constraints, 2)
        assert np.array_equal(arrows | arrows.T, alone.adjacent)


def test_what_all_answer_alike_need_not_be_asked() -> None:
    constraints, few, asked = _circles_and_leaves(), 3, [0, 0]
    start = complete(SIZE, constraints.possible)
    for first in range(0, REPLICAS, few):
        oracle = Oracle(tuple(range(first, first + few)), 1.5)

        def sure(questions: Indices, oracle: Oracle = oracle) -> Bools:
            same = np.asarray((oracle.margins(questions) > 0).all(axis=0))
            asked[0] += len(questions)
            asked[1] += int(same.sum())
            return same

        rngs = [np.random.default_rng(0).spawn(few) for _ in range(2)]
        plain = replicated(oracle, start, constraints, 2, rngs[0])
        quick = replicated(oracle, start, constraints, 2, rngs[1], sure)
        assert np.array_equal(plain, quick)
    assert 0 < asked[1] < asked[0]


def test_an_answer_is_worked_out_once() -> None:
    oracle = Alone(Oracle((0,), 1.0))
    worked_out: list[tuple[int, ...]] = []

    def answer(questions: Indices) -> Floats:
        worked_out.extend(map(tuple, questions.tolist()))
        return oracle.margins(questions)

    memo, rng = Memo(answer, SIZE), np.random.default_rng(0)
    for _ in range(20):
        for width in (2, 3):
            questions = np.unique(rng.integers(0, SIZE, (30, width)), axis=0)
            assert np.array_equal(memo(questions), oracle.margins(questions))
    assert len(worked_out) == len(set(worked_out))


def _circles_and_leaves() -> Constraints:
    near = np.zeros((SIZE, SIZE), dtype=bool)
    near[:6, :6] = np.triu(np.ones((6, 6)), 1)  # each with a neighbour that lies on no path
    near[range(6), range(6, SIZE)] = True
    free = Constraints.of(tuple("abcdefghijkl"), Knowledge())
    return replace(free, possible=near | near.T)
