"""What a search has asked, and the answer that spoke most against each pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Bools, Floats, Indices
from privet.search.compiled import Heard
from privet.search.protocols import Gains, Locals
from privet.search.skeleton import Separators, Skeleton
from privet.search.stability import DOUBT

Answer = Callable[[Indices], Floats]
NOBODY = -1  # fills up what was given


@dataclass(frozen=True)
class Outcome:
    """What tests have decided: the pairs that they left joined, what separated others, and the
    lowest answer about each pair until then, as a listener remembers it."""

    found: Skeleton
    lowest: Floats
    given: NDArray[np.int32]


class Listener:
    """Counts the questions asked, and remembers the lowest answer about each pair x < y, with what
    was given; ``joined`` are the pairs that the search joined in the end, ``separators`` what
    separated others, and ``notes`` what it has to say. ``tested`` is what tests have decided, if
    they did, ``score`` the gains by which a score then decided, with at most so many parents of a
    column, and ``settled`` says that what a graph implies decided in the end.

    ``lowest[x, y]`` is nan where nothing was asked, and ``given[x, y]`` ends with ``NOBODY``. Where
    nobody wants to know these, ``only_counts``.
    """

    def __init__(self, only_counts: bool = False) -> None:
        self.count, self.only_counts = 0, only_counts
        self.notes: tuple[str, ...] = ()
        self.joined: Bools | None = None
        self.separators: Separators = {}
        self.tested: Outcome | None = None
        self.score: Gains | None = None
        self.most: int | None = None
        self.settled = False
        self.lowest: Floats = np.empty((0, 0))
        self.given: NDArray[np.int32] = np.empty((0, 0, 0), dtype=np.int32)

    def by(self, answer: Answer) -> Answer:
        """The same answers (of which negative ones speak against an edge), listened to."""

        def listening(questions: Indices) -> Floats:
            answers = answer(questions)
            if len(questions):
                self.count += len(questions)
                if not self.only_counts:
                    self._remember(questions, answers)
            return answers

        return listening

    def decided(self, found: Skeleton) -> None:
        """Tests have come to their end; what is asked later settles directions, or scores."""
        self.tested = Outcome(found, self.lowest.copy(), self.given.copy())

    def _remember(self, questions: Indices, answers: Floats) -> None:
        ends, given = questions[:, :2], questions[:, 2:]
        self._make_room(int(ends.max()) + 1, given.shape[1])
        pair = ends.min(axis=1) * len(self.lowest) + ends.max(axis=1)
        lowest = self.lowest.reshape(-1)
        before = lowest[pair]
        np.fmin.at(lowest, pair, answers)
        better = np.flatnonzero((answers == lowest[pair]) & ~(before <= answers))
        better = better[::-1]  # of several answers to a pair, the first comes last and stays
        known = self.given.reshape(len(lowest), -1)
        known[pair[better], given.shape[1] :] = NOBODY
        known[pair[better], : given.shape[1]] = given[better]

    def hear(self, heard: Heard) -> None:
        """What was asked elsewhere, in the order of its pairs."""
        size, _, width = heard.given.shape
        self.count += heard.count
        self._make_room(size, width)
        x, y = np.nonzero(~(self.lowest[:size, :size] <= heard.lowest) & ~np.isnan(heard.lowest))
        self.lowest[x, y] = heard.lowest[x, y]
        self.given[x, y] = NOBODY
        self.given[x, y, :width] = heard.given[x, y]

    def settle(self, dag: Bools, margins: Floats) -> None:
        """What a graph implies was asked in the end, of each pair x < y given the parents of both:
        these answers replace all before."""
        size, self.settled = len(dag), True
        x, y = np.triu_indices(size, 1)
        given = dag.T[x] | dag.T[y]
        given[np.arange(len(x)), x] = given[np.arange(len(x)), y] = False
        at, members = np.nonzero(given)
        place = np.arange(len(at)) - np.searchsorted(at, at)
        self.count += len(x)
        self.lowest, self.given = np.empty((0, 0)), np.empty((0, 0, 0), dtype=np.int32)
        self._make_room(size, int(given.sum(axis=1).max(initial=0)))
        self.lowest[x, y] = margins[x, y]
        self.given[x[at], y[at], place] = members

    def _make_room(self, size: int, width: int) -> None:
        old_size, _, old_width = self.given.shape
        if size <= old_size and width <= old_width:
            return
        size, width = max(size, old_size), max(width, old_width)
        lowest = np.full((size, size), np.nan)
        given = np.full((size, size, width), NOBODY, dtype=np.int32)
        lowest[:old_size, :old_size] = self.lowest
        given[:old_size, :old_size, :old_width] = self.given
        self.lowest, self.given = lowest, given

    def scored(self, local: Locals) -> Locals:
        """The same scores, counted."""

        def listening(child: int, parents: Indices) -> Floats:
            self.count += len(parents)
            return local(child, parents)

        return listening

    def near(self, size: int) -> Bools | None:
        """The pairs that were found, or not dropped without doubt; None if nothing was asked."""
        if not self.lowest.size:
            return None
        near = ~np.eye(size, dtype=bool)
        x, y = np.nonzero(self.lowest <= DOUBT)
        near[x, y] = near[y, x] = False
        return near if self.joined is None else near | self.joined
