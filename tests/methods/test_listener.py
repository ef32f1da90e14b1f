"""What a listener remembers, against a loop over all questions."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from privet.methods.basis import HeardRows
from privet.methods.listener import NOBODY, Listener


def _told(
    answers: dict[tuple[int, ...], float], questions: NDArray[np.intp]
) -> NDArray[np.float64]:
    return np.array([answers[tuple(row)] for row in questions.tolist()])


def test_the_first_of_the_lowest_answers_is_kept_with_what_was_given() -> None:
    rng, listener = np.random.default_rng(2), Listener()
    kept: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
    count = 0
    for width, size in ((0, 4), (1, 6), (3, 9), (2, 9), (0, 5)):
        questions = np.array([rng.permutation(size)[: width + 2] for _ in range(60)])
        answers = rng.integers(-3, 4, size=60).astype(float)
        answers[answers == 3] = np.inf
        told = dict(zip(map(tuple, questions.tolist()), answers.tolist(), strict=True))
        listener.by(partial(_told, told))(questions)
        count += 60
        for x, y, *given in questions.tolist():
            value = told[x, y, *given]
            pair = min(x, y), max(x, y)
            if pair not in kept or value < kept[pair][0]:
                kept[pair] = value, tuple(given)
    assert listener.count == count
    asked = {(x, y) for x, y in np.argwhere(~np.isnan(listener.lowest)).tolist()}
    assert asked == set(kept)
    for (x, y), (value, given) in kept.items():
        assert listener.lowest[x, y] == value
        assert tuple(z for z in listener.given[x, y].tolist() if z != NOBODY) == given


def test_nothing_asked_is_nothing_heard() -> None:
    listener = Listener()
    listener.by(lambda questions: np.empty(0))(np.empty((0, 3), dtype=np.intp))
    assert listener.count == 0 and listener.near(3) is None


def test_what_a_graph_implies_replaces_what_was_heard_before() -> None:
    listener = Listener()
    listener.by(lambda questions: np.full(len(questions), -7.0))(np.array([[0, 1, 2, 3]]))
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[1, 2] = dag[3, 2] = True
    margins = np.triu(np.arange(16.0).reshape(4, 4), 1)
    listener.settle(dag, margins)
    assert listener.count == 1 + 6
    assert np.array_equal(np.nan_to_num(listener.lowest), margins)
    heard = {
        (x, y): tuple(z for z in listener.given[x, y].tolist() if z != NOBODY)
        for x, y in np.argwhere(~np.isnan(listener.lowest)).tolist()
    }
    assert heard == {
        (0, 1): (),
        (0, 2): (1, 3),
        (0, 3): (),
        (1, 2): (0, 3),
        (1, 3): (0,),
        (2, 3): (1,),
    }


def test_who_only_counts_hears_each_question_once_and_keeps_none() -> None:
    """However many columns there are: above so many, a question is no number."""
    for size in (5, 1 << 20):
        listener = Listener(only_counts=True)
        rows = HeardRows(listener, lambda ys, _given, asked: np.zeros(asked.shape))
        for y, x, given in ((0, 1, 2), (1, 0, 2), (0, 1, 3), (0, 1, 2), (4, 1, 2)):
            asked = np.zeros((1, size), dtype=bool)
            asked[0, x] = True
            rows(np.array([y]), np.array([[given, *[3] * (size > 5) * 2]]), asked)
        rows.settle()
        assert listener.count == 3 and not listener.lowest.size
