"""GES that goes back: right with perfect scores, and never lower than without second looks."""

from __future__ import annotations

import numpy as np
import pytest

from privet.graph.bits import flags_of
from privet.graph.meek import cpdag
from privet.search import eager
from privet.search.constraints import Constraints
from privet.search.eager import Climb
from privet.search.exact import exact
from privet.search.ges import ges
from privet.search.options import Options
from privet.search.states import State
from tests.helpers.population import population, sampled
from tests.search.test_ges import kept, some_dag
from tests.search.test_pc import DAGS4, any_knowledge, no_knowledge, obeys, random_dag, rng_of


@pytest.mark.parametrize("looks", [0, eager.MOST_LOOKS])
def test_perfect_scores_give_the_class(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "MOST_LOOKS", looks)
    for seed, dag in [*enumerate(DAGS4[::3]), *enumerate(map(some_dag, range(40)))]:
        free = no_knowledge(len(dag))
        found = ges(population(dag, seed).gains, free, eager=True)
        assert np.array_equal(found, cpdag(dag)), seed


def test_second_looks_lead_higher_up_and_never_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dense graphs, in which a greedy search is stuck; nothing is above the best of all classes."""
    higher = 0
    for seed in range(12):
        dag = random_dag(rng_of([18, seed]), 9, 5.0)
        scores, free = sampled(dag, 3000, seed), no_knowledge(9)
        found = scores.score(ges(scores.gains, free, eager=True))
        with monkeypatch.context() as patch:
            patch.setattr(eager, "MOST_LOOKS", 0)
            once = scores.score(ges(scores.gains, free, eager=True))
        best = scores.score(exact(scores.local, free, max_parents=8))
        assert once - 1e-6 <= found <= best + 1e-6
        higher += found > once + 1e-6
    assert higher > 0


def test_a_look_that_leads_nowhere_leaves_everything_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    around, seen = Climb.around, [0, 0]

    def checked(self: Climb, state: State, without: State, pair: int, cost: float) -> State | None:
        found = around(self, state, without, pair, cost)
        seen[found is None] += 1
        there = state if found is None else found
        assert self.insert.apart == 0
        for options in self.kinds:
            options._weigh(there)
            anew = Options(self.weights, options.operator, once=False)
            anew._weigh(there)
            assert kept(options) == kept(anew)
        return found

    def apart(self: Climb, state: State) -> tuple[State, float]:
        found = up(self, state)
        x, *y = np.flatnonzero(flags_of([self.insert.apart], len(state.lines))[0]).tolist() or [0]
        assert not y or not found[0].joined[x] >> y[0] & 1
        return found

    up = Climb.up
    monkeypatch.setattr(Climb, "around", checked)
    monkeypatch.setattr(Climb, "up", apart)
    for seed in range(6):
        dag = random_dag(rng_of([19, seed]), 9, 5.0)
        ges(sampled(dag, 3000, seed).gains, no_knowledge(9), eager=True)
    assert min(seen) > 3


def test_there_are_only_so_many_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    around, looks = Climb.around, [0]

    def counted(*asked: object) -> State | None:
        looks[0] += 1
        return around(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(Climb, "around", counted)
    monkeypatch.setattr(eager, "MOST_LOOKS", 1)
    dag = random_dag(rng_of([19, 1]), 9, 5.0)
    ges(sampled(dag, 3000, 1).gains, no_knowledge(9), eager=True)
    assert looks == [9]


def test_knowledge_is_honoured() -> None:
    for seed in range(30):
        dag, rng = some_dag(seed, 8), rng_of([20, seed])
        names = [f"c{i}" for i in range(len(dag))]
        knowledge = any_knowledge(names, rng)
        known = Constraints.of(names, knowledge)
        found = ges(sampled(dag, 500, seed).gains, known, eager=True)
        assert obeys(found, names, knowledge), (dag.astype(int), knowledge)
