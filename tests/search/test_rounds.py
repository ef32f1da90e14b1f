"""Rounds that were compiled lead where Python leads, ask the same, and leave to it what they cannot
do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privet.search import compiled
from privet.search.classes import Bounds
from privet.search.constraints import Constraints
from privet.search.ges import ges
from privet.search.hill_climb import Remembered
from privet.search.options import Weights
from privet.search.protocols import GainRows, Gains
from privet.search.rows import Rows
from privet.search.states import State
from tests.helpers.population import Bools, Gaussian, Indices, population, sampled
from tests.search.test_pc import Rumours, no_knowledge, random_dag, rng_of

needed = pytest.mark.skipif(compiled.rounds is None, reason="there was no compiler")
Asked = Counter[tuple[int, ...]]


def by_the_row(gains: Gains, asked: Asked) -> GainRows:
    """What was asked for, and nothing of the others."""

    def rows(ys: Indices, given: Indices, wanted: Bools) -> Any:
        out = np.full(wanted.shape, np.nan)
        at, xs = np.nonzero(wanted)
        questions = np.column_stack((xs, ys[at], given[at]))
        asked.update(map(tuple, questions.tolist()))
        out[at, xs] = gains(questions)
        return out

    return rows


def found(gains: Gains, known: Constraints, **options: Any) -> tuple[Bools, Asked, Asked]:
    """The class, what was asked for by the row, and what one by one."""
    rows, others = Asked(), Asked()

    def one_by_one(questions: Indices) -> Any:
        others.update((*sorted(q[:2]), *sorted(q[2:])) for q in questions.tolist())
        return gains(questions)

    return ges(one_by_one, known, rows=by_the_row(gains, rows), **options), rows, others


def both(
    monkeypatch: pytest.MonkeyPatch, gains: Callable[[], Gains], known: Constraints, **options: Any
) -> Bools:
    """What was compiled, which is what Python finds."""
    one = found(gains(), known, **options)
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "rounds", None)
        other = found(gains(), known, **options)
    assert np.array_equal(one[0], other[0])
    assert one[1].keys() == other[1].keys() and one[2] == other[2]
    detour = not known.possible[~np.eye(len(known.possible), dtype=bool)].all()
    assert detour or one[1] == other[1]  # on a detour, some rows are asked for once more
    assert max(one[2].values(), default=1) == 1
    return one[0]


def of(scores: Gaussian) -> Callable[[], Gains]:
    return lambda: scores.gains


def climbed(gains: Gains, known: Constraints, start: Bools | None = None) -> State | None:
    size = len(known.possible)
    first = State.of(np.zeros((size, size), dtype=bool) if start is None else start)
    rows = Rows(Remembered(gains), by_the_row(gains, Asked()), known.possible)
    return compiled.in_rounds(first, Weights(Bounds.of(known), rows, size), None)


@needed
def test_the_same_classes_and_questions_as_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(24):
        rng = rng_of([51, seed])
        size = int(rng.integers(2, 16))
        dag = random_dag(rng, size, float(rng.choice([1.0, 3.0, 5.0])))
        scores, free = sampled(dag, 300, seed), no_knowledge(size)
        assert climbed(scores.gains, free) is not None
        both(monkeypatch, of(scores), free, max_parents=3 if seed % 3 == 0 else None)
        both(monkeypatch, of(scores), free, candidates=dag | dag.T)


@needed
def test_contradictory_answers_lead_to_the_same_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds are repeated then, arrows are turned more than once, and the end is where they were
    before, or after the last round."""
    for seed in range(40):
        size = 3 + seed % 6
        most = (None, 2, 3)[seed % 3]

        def gains(seed: int = seed, size: int = size) -> Gains:
            return Rumours(seed, list(range(size))).ask

        both(monkeypatch, gains, no_knowledge(size), max_parents=most)
        both(monkeypatch, gains, no_knowledge(size), candidates=rumoured(seed, size))


def rumoured(seed: int, size: int) -> Bools:
    drawn = np.triu(rng_of([52, seed]).random((size, size)) < 0.5, 1)
    return np.asarray(drawn | drawn.T)


@needed
def test_sets_of_several_words(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = sampled(random_dag(rng_of([53, 0]), 130, 3.0), 1000, 1)
    assert both(monkeypatch, of(scores), no_knowledge(130)).any()


@needed
def test_only_what_is_possible_is_joined_and_detours_are_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in range(12):
        dag = random_dag(rng_of([54, seed]), 10, 3.0)
        scores, possible = sampled(dag, 500, seed), rumoured(seed, 10)
        known = Constraints(possible, possible, np.zeros_like(possible))
        state = climbed(scores.gains, known)
        assert state is not None and not (state.matrix & ~possible).any()
        both(monkeypatch, of(scores), known)


@needed
def test_knowledge_is_left_to_python() -> None:
    free, scores = no_knowledge(3), sampled(random_dag(rng_of([55, 0]), 3, 2.0), 500, 1)
    allowed = free.allowed.copy()
    allowed[0, 1] = False
    assert climbed(scores.gains, replace(free, allowed=allowed)) is None
    assert climbed(scores.gains, free) is not None


@needed
def test_very_many_cliques_are_left_to_python() -> None:
    for size, served in ((9, True), (11, False)):
        dag = np.triu(np.ones((size, size), dtype=bool), 1)
        state = climbed(population(dag, 1).gains, no_knowledge(size), start=dag | dag.T)
        assert (state is not None) == served


@needed
def test_where_the_evidence_cannot_say_nothing_is_joined_or_parted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for answer in (np.inf, -np.inf, np.nan):
        gains = lambda: lambda questions: np.full(len(questions), answer)  # noqa: B023, E731
        assert not both(monkeypatch, gains, no_knowledge(4)).any()


@needed
def test_an_error_of_who_answers_comes_through_and_wrong_answers_are_refused() -> None:
    scores = sampled(random_dag(rng_of([56, 0]), 6, 3.0), 500, 1)

    def failing(ys: Indices, given: Indices, wanted: Bools) -> Any:
        if given.shape[1]:
            raise KeyError("no answer")
        return np.ones(wanted.shape)

    def short(ys: Indices, given: Indices, wanted: Bools) -> Any:
        return np.ones((len(ys), wanted.shape[1] - (given.shape[1] > 0)))

    with pytest.raises(KeyError, match="no answer"):
        ges(scores.gains, no_knowledge(6), rows=failing)
    with pytest.raises(ValueError, match="wrong answers"):
        ges(scores.gains, no_knowledge(6), rows=short)


@needed
@pytest.mark.parametrize("wrong", range(3))
def test_arrays_of_other_sizes_are_refused(wrong: int) -> None:
    def rounds(size: int, parts: int, pairs: int) -> Any:
        flags = np.zeros((parts, 3, 3), dtype=np.uint8)
        return compiled.rounds.rounds(size, flags, np.zeros((pairs, 3)), None, None, False, 3)

    given = [3, 7, 3]
    assert rounds(*given)
    given[wrong] += 1
    with pytest.raises(ValueError, match="wrong arrays"):
        rounds(*given)
