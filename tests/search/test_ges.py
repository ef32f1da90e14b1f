"""GES with perfect scores, with knowledge, with contradictory answers, and beside its peers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from privet.errors import GraphError, KnowledgeError
from privet.graph.bits import flags_of
from privet.graph.meek import apply_knowledge, cpdag, extension, is_acyclic
from privet.search.classes import MOST_CLIQUES, Bounds, Delete, Insert, Turn, cliques, steps
from privet.search.constraints import Constraints
from privet.search.ges import ges
from privet.search.hill_climb import Remembered, closed
from privet.search.options import Option, Options
from privet.search.states import State
from tests.helpers.cpdags import is_valid_cpdag
from tests.helpers.population import Bools, Gaussian, Indices, population, sample, sampled
from tests.search.test_pc import (
    DAGS4,
    Oracle,
    Rumours,
    any_knowledge,
    no_knowledge,
    obeys,
    random_dag,
    rng_of,
    true_knowledge,
)


def some_dag(seed: int, largest: int = 12) -> Bools:
    rng = rng_of([17, seed])
    return random_dag(rng, int(rng.integers(5, largest + 1)), float(rng.uniform(1, 4)))


# --- the steps, against all that could be done to some DAG of the class ------------------------


def members_of_classes() -> dict[bytes, list[Bools]]:
    classes: dict[bytes, list[Bools]] = {}
    for dag in DAGS4:
        classes.setdefault(cpdag(dag).tobytes(), []).append(dag)
    return classes


def neighbours(dag: Bools, kind: type) -> list[Bools]:
    """DAGs that one arrow more, one fewer, or one turned arrow makes of this one."""
    out = []
    for x, y in product(range(len(dag)), repeat=2):
        if x == y or (dag[x, y] or dag[y, x]) == (kind is Insert) or dag[y, x]:
            continue
        other = dag.copy()
        other[x, y], other[y, x] = kind is Insert, kind is Turn
        if is_acyclic(other):
            out.append(other)
    return out


@pytest.mark.parametrize("operator", [Insert(), Delete(), Turn()])
def test_steps_lead_to_all_classes_next_door_and_are_worth_what_they_say(
    operator: Insert | Delete | Turn,
) -> None:
    """All 185 classes on four nodes. The score is that of 100 rows that no DAG explains."""
    mixed = rng_of(5).normal(size=(4, 4)) @ rng_of(6).normal(size=(4, 100))
    scores = Gaussian(np.cov(mixed), 100)
    bounds, memory = Bounds.of(no_knowledge(4)), Remembered(scores.gains)
    ranking = memory.pairs(bounds.constraints.possible)
    classes = members_of_classes()
    assert len(classes) == 185
    for key, dags in classes.items():
        state = State.of(np.frombuffer(key, dtype=bool).reshape(4, 4))
        expected = {cpdag(b).tobytes() for a in dags for b in neighbours(a, type(operator))} - {key}
        found = set()
        for y in range(4):
            sources = operator.sources(state, y, bounds)
            for x, _, clique, *terms in steps(state, operator, y, sources, ranking[y], 4):
                if operator.barred(state, x, y, clique):
                    continue
                new = operator.result(state, x, y, clique)
                assert new is not None
                memory.learn(term for term in terms if term is not None)
                won, lost = (memory.gain(*term) if term else 0.0 for term in terms)
                difference = scores.score(new.matrix) - scores.score(state.matrix)
                assert won - lost == pytest.approx(difference, abs=1e-6)
                found.add(new.matrix.tobytes())
        assert found == expected


# --- perfect scores ----------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(3))
def test_every_dag_on_four_nodes_gives_its_cpdag(part: int) -> None:
    for seed, dag in enumerate(DAGS4[part::3]):
        found = ges(population(dag, seed).gains, no_knowledge(4))
        assert np.array_equal(found, cpdag(dag)), dag.astype(int)


@pytest.mark.parametrize("part", range(4))
def test_random_dags_give_their_cpdag(part: int) -> None:
    for seed in range(part, 120, 4):
        dag = some_dag(seed)
        found = ges(population(dag, seed).gains, no_knowledge(len(dag)))
        assert np.array_equal(found, cpdag(dag)), seed


def test_the_margins_of_a_judge_will_do() -> None:
    """Answers of ±10 are differences of no score: steps must be right one by one."""
    for dag in DAGS4[::3]:
        assert np.array_equal(ges(Oracle(dag).margins, no_knowledge(4)), cpdag(dag))


@pytest.mark.parametrize("part", range(2))
def test_candidates_that_hold_the_skeleton_are_enough(part: int) -> None:
    """Any DAG between them may be the start."""
    for seed in range(part, 60, 2):
        dag = some_dag(seed)
        free, scores = no_knowledge(len(dag)), population(dag, seed)
        worst = np.triu(dag | dag.T)
        for start in (None, worst):
            found = ges(scores.gains, free, candidates=dag | dag.T, start=start)
            assert np.array_equal(found, cpdag(dag)), seed


# --- economy -----------------------------------------------------------------------------------


def test_no_question_is_asked_twice_and_they_come_in_batches() -> None:
    dag = random_dag(rng_of(3), 30, 2.5)
    scores, asked = sampled(dag, 2000, 3), Counter[tuple[int, ...]]()

    def gains(questions: Indices) -> np.ndarray:
        for x, y, *given in questions.tolist():
            asked[min(x, y), max(x, y), *sorted(given)] += 1
        return scores.gains(questions)

    found = ges(gains, no_knowledge(30))
    edges = int((found | found.T).sum()) // 2
    assert max(asked.values()) == 1
    assert scores.batches < 3 * edges + 20


def barred(options: Options) -> list[Option]:
    return [option for each in options.barred.values() for option, _ in each]


def kept(options: Options) -> list[Option]:
    """All that are in lists which were not dropped, and those that are barred."""
    found = []
    for i, (option, stamp, others) in enumerate(options.heap):
        rest = list(others)
        options.heap[i] = option, stamp, iter(rest)
        found += [option, *rest] if stamp == options.stamps[option[2]] else []
    return sorted(found + barred(options))


def test_options_kept_from_step_to_step_are_those_that_would_be_found_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weigh, result, taken = Options._weigh, State.changed, Counter[type]()

    def checked(self: Options, state: State) -> None:
        weigh(self, state)
        anew = Options(self.weights, self.operator)
        anew.turned = self.turned
        weigh(anew, state)
        assert kept(self) == kept(anew)
        assert all(self.operator.barred(state, *option[1:]) for option in barred(self))
        taken[type(self.operator)] += bool(self.heap)

    def sound(self: State, parents: Any) -> State:
        new = result(self, parents)
        assert new == replace(State.of(new.matrix), dag=new.dag)
        member = flags_of(new.dag, len(new.dag)).T
        assert is_acyclic(member) and np.array_equal(cpdag(member), new.matrix)
        return new

    monkeypatch.setattr(Options, "_weigh", checked)
    monkeypatch.setattr(State, "changed", sound)
    for seed in range(12):
        dag = some_dag(seed)
        scores, free = sampled(dag, 300, seed), no_knowledge(len(dag))
        ges(scores.gains, free)
        ges(scores.gains, free, candidates=dag | dag.T)
        ges(Rumours(seed, list(range(7))).ask, no_knowledge(7), max_parents=3)
    assert min(taken[kind] for kind in (Insert, Delete, Turn)) > 50


def test_gains_by_the_row_lead_to_the_same_class() -> None:
    for seed in range(12):
        dag = some_dag(seed)
        scores, free = sampled(dag, 300, seed), no_knowledge(len(dag))

        def rows(ys: Indices, given: Indices, asked: Bools, scores: Gaussian = scores) -> Any:
            out = np.full(asked.shape, np.nan)
            at, xs = np.nonzero(asked)
            out[at, xs] = scores.gains(np.column_stack((xs, ys[at], given[at])))
            return out

        for candidates in (None, dag | dag.T):
            found = ges(scores.gains, free, rows=rows, candidates=candidates)
            assert np.array_equal(found, ges(scores.gains, free, candidates=candidates))


def test_detours_join_no_other_pairs() -> None:
    for seed in range(20):
        dag = some_dag(seed, 8)
        names, knowledge = true_knowledge(dag, rng_of(seed))
        known, asked = Constraints.of(names, knowledge), set[tuple[int, int]]()
        scores = population(dag, seed)

        def gains(questions: Indices, scores: Gaussian = scores, asked: Any = asked) -> Any:
            asked |= {(min(x, y), max(x, y)) for x, y, *_ in questions.tolist()}
            return scores.gains(questions)

        ges(gains, known, detours=known.possible)
        assert all(known.possible[pair] for pair in asked)


def test_dense_neighbourhoods_are_tried_in_part_the_strongest_first() -> None:
    size = 12
    complete = ~np.eye(size, dtype=bool)
    association = rng_of(1).random((size, size))
    found = cliques(State.of(complete), association[:, 0], 0, (1 << size) - 2)
    strongest = 1 + np.argsort(-association[1:, 0])
    assert len(found) == len(set(found)) == MOST_CLIQUES
    assert found[:size] == [0, *(1 << int(v) for v in strongest)]


def test_where_one_search_ends_another_finds_no_step() -> None:
    for seed in range(30):
        dag = some_dag(seed)
        scores, free = sampled(dag, 300, seed), no_knowledge(len(dag))
        found = ges(scores.gains, free)
        assert is_valid_cpdag(found)
        assert np.array_equal(ges(scores.gains, free, start=extension(found)), found)


def test_the_limit_on_parents_is_kept() -> None:
    dag = np.triu(np.ones((6, 6), dtype=bool), 1)
    for limit in (0, 1, 2, 3):
        scores = population(dag, 1)
        found = ges(scores.gains, no_knowledge(6), max_parents=limit)
        assert scores.widest == max(0, limit - 1)
        assert found.any() == (limit > 0)


# --- knowledge ---------------------------------------------------------------------------------


def test_a_class_is_closed_just_as_knowledge_is_applied_and_refused_where_that_fails() -> None:
    """All 185 classes on four nodes, each with random tiers and forbidden arrows."""
    rng, names, outcomes = rng_of(8), list("abcd"), Counter[str]()
    for key in members_of_classes():
        A = np.frombuffer(key, dtype=bool).reshape(4, 4)
        for _ in range(5):
            knowledge = replace(any_knowledge(names, rng), required=frozenset())
            found = closed(A, Constraints.of(names, knowledge))
            try:
                expected = apply_knowledge(A, names, knowledge)
            except (KnowledgeError, GraphError) as refused:
                outcomes[type(refused).__name__] += 1
                assert found is None
            else:
                outcomes["sharpened"] += not np.array_equal(expected, A)
                assert found is not None and np.array_equal(found, expected)
    assert min(outcomes.values()) > 10 and len(outcomes) == 3


@pytest.mark.parametrize("part", range(3))
def test_true_knowledge_sharpens_the_class_and_never_leaves_it(part: int) -> None:
    rng = rng_of(part)
    larger = [some_dag(seed, 9) for seed in range(part, 90, 3)]
    for seed, dag in enumerate([*DAGS4[part::3], *larger]):
        names, knowledge = true_knowledge(dag, rng)
        found = ges(population(dag, seed).gains, Constraints.of(names, knowledge))
        assert np.array_equal(found, apply_knowledge(cpdag(dag), names, knowledge)), seed


@pytest.mark.parametrize("part", range(3))
def test_wrong_knowledge_is_obeyed_and_never_an_error(part: int) -> None:
    rng = rng_of(400 + part)
    for seed in range(40):
        dag = some_dag(100 * part + seed, 9)
        names = [f"c{i}" for i in range(len(dag))]
        knowledge = any_knowledge(names, rng)
        scores = sampled(dag, 500, seed)
        found = ges(scores.gains, Constraints.of(names, knowledge))
        assert obeys(found, names, knowledge), (dag.astype(int), knowledge)
        assert np.array_equal(apply_knowledge(found, names, knowledge), found)


# --- answers that no graph explains ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_contradictory_answers_end_in_a_cpdag_whatever_the_numbering(seed: int) -> None:
    rng, size = rng_of(100 + seed), 8
    results = set()
    for _ in range(3):
        labels = [int(i) for i in rng.permutation(size)]
        found = ges(Rumours(seed, labels).ask, no_knowledge(size), max_parents=3)
        assert is_valid_cpdag(found) and found.any()
        results.add(frozenset((labels[i], labels[j]) for i, j in np.argwhere(found).tolist()))
    assert len(results) == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_numbering_of_columns_does_not_matter(seed: int) -> None:
    dag, rng = some_dag(seed), rng_of(seed)
    scores, free = sampled(dag, 300, seed), no_knowledge(len(dag))
    found = ges(scores.gains, free)
    for _ in range(3):
        order = rng.permutation(len(dag))
        assert np.array_equal(ges(scores.renamed(order).gains, free), found[np.ix_(order, order)])


def test_where_the_evidence_cannot_say_nothing_is_joined_or_parted() -> None:
    def silent(questions: Indices) -> np.ndarray:
        return np.full(len(questions), np.inf)

    dag = some_dag(1)
    free = no_knowledge(len(dag))
    assert not ges(silent, free).any()
    assert np.array_equal(ges(silent, free, start=dag), cpdag(dag))


def test_what_is_never_worth_it_goes_and_does_not_come() -> None:
    def hopeless(questions: Indices) -> np.ndarray:
        return np.full(len(questions), -np.inf)

    for seed in range(10):
        dag = some_dag(seed)
        assert not ges(hopeless, no_knowledge(len(dag)), start=dag).any()


# --- peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_package_ges_finds_the_same_class(seed: int) -> None:
    import ges as peer

    dag = some_dag(500 + seed, 9)
    rows = 1000 + 300 * seed
    numbers, scores = sample(dag, rows, seed), sampled(dag, rows, seed)
    found = ges(scores.gains, no_knowledge(len(dag)))
    theirs, _ = peer.fit_bic(numbers, iterate=True)
    assert np.array_equal(found, theirs.astype(bool))


@pytest.mark.parametrize("seed", range(12))
def test_causal_learn_finds_the_same_class_or_a_worse_one_for_want_of_turning(seed: int) -> None:
    import ges as peer
    from causallearn.search.ScoreBased.GES import ges as causal_learn

    dag = some_dag(600 + seed, 9)
    rows = 1000 + 300 * seed
    numbers, scores = sample(dag, rows, seed), sampled(dag, rows, seed)
    found = ges(scores.gains, no_knowledge(len(dag)))
    theirs = causal_learn(numbers, "local_score_BIC")["G"].graph == -1  # a tail at the row's node
    if not np.array_equal(found, theirs):
        unturned, _ = peer.fit_bic(numbers, phases=["forward", "backward"])
        assert np.array_equal(theirs, unturned.astype(bool))
        assert scores.score(found) > scores.score(theirs)
