"""Answers that were given before: what a search asks again, or replicas after it, is known."""

from __future__ import annotations

import numpy as np

from privet.arrays import Bools, Floats, Indices, Integers
from privet.search.questions import LARGEST, numbered
from privet.search.skeleton import Ask

MOST_KNOWN = 1 << 20  # answers to questions of one width, so that memory stays bounded


class Memo:
    """The same answers, each worked out once; questions are rows of numbers below ``size``."""

    def __init__(self, answer: Ask, size: int) -> None:
        self._answer, self._size = answer, size
        self._known: dict[int, tuple[Integers, Floats]] = {}

    def __call__(self, questions: Indices) -> Floats:
        width = questions.shape[1]
        if self._size**width >= LARGEST:
            return self._answer(questions)
        keys, answers = self._known.get(width, (np.empty(0, dtype=np.intp), np.empty(0)))
        asked = numbered(questions, self._size)
        at = np.searchsorted(keys, asked)
        old = _equal(keys, at, asked)
        out = np.empty(len(asked))
        out[old] = answers[at[old]]
        if not old.all():
            out[~old] = self._answer(questions[~old])
            if len(keys) + len(asked) <= MOST_KNOWN:
                fresh, first = np.unique(asked[~old], return_index=True)
                at = np.searchsorted(keys, fresh)
                self._known[width] = (
                    np.insert(keys, at, fresh),
                    np.insert(answers, at, out[~old][first]),
                )
        return out


def _equal(keys: Integers, at: Indices, wanted: Integers) -> Bools:
    """Whether what is wanted lies at these places."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=bool)
    return np.asarray(keys[np.minimum(at, len(keys) - 1)] == wanted)
