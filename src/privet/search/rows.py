"""Gains by the row: what every column x adds to y beside P, for one y and one P.

Inserting asks for whole rows, so a score that can find one at a stroke is asked so; any other is
asked question by question, and none twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import groupby

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.bits import bitsets, flags_of, members
from privet.search.hill_climb import HOPELESS, Remembered
from privet.search.protocols import GainRows, Gains, SpelledRows
from privet.search.states import State

# y, P and the x that are asked for, sets in bits.
Row = tuple[int, int, int]
# Minus a gain that is more than rounding, and its x.
Gain = tuple[float, int]
# Parts of a nat that what a step is worth is rounded to: what ties, ties, however it was added up.
GRAIN = 1 << 10


def believed(rows: GainRows, margins: Gains) -> GainRows:
    """The same gains, but nothing is worth inserting that a judge finds independent."""

    def answer(ys: Indices, given: Indices, asked: Bools) -> Floats:
        answers = rows(ys, given, asked).copy()
        at, xs = np.nonzero(asked & (answers > 0))
        if len(at):
            doubtful = margins(np.column_stack((xs, ys[at], given[at]))) <= 0
            answers[at[doubtful], xs[doubtful]] = HOPELESS
        return answers

    return answer


def spelled(rows: GainRows) -> SpelledRows:
    """The same gains for who is compiled."""

    def answer(ys: bytes, given: bytes, flags: bytes) -> Floats:
        first = np.frombuffer(ys, dtype=np.int64)
        sets = np.frombuffer(given, dtype=np.int64).reshape(len(first), -1)
        asked = np.frombuffer(flags, dtype=bool).reshape(len(first), -1)
        return np.ascontiguousarray(rows(first, sets, asked), dtype=np.float64)

    return answer


class Rows:
    """Rows that are known, for each y by P: the x of which each tells, and their gains."""

    def __init__(self, memory: Remembered, ask: GainRows | None, among: Bools) -> None:
        self.memory, self.ask, self._size = memory, ask, len(among)
        self.pairs = memory.pairs(among) if ask is None else self._pairs(ask, among)
        self.told = among | among.T

    @cached_property
    def _known(self) -> list[dict[int, tuple[int, list[Gain]]]]:
        known = [{0: (xs, list[Gain]())} for xs in bitsets(self.told)]
        _sort_in([row[0][1] for row in known], self.pairs, self.told)
        return known

    def _pairs(self, ask: GainRows, among: Bools) -> Floats:
        """The gains of pairs with nothing given; 0 for the others and where nothing is known."""
        upper = np.triu(among | among.T)
        answers = ask(np.arange(self._size), np.zeros((self._size, 0), dtype=np.intp), upper)
        known = np.where(upper & np.isfinite(answers), answers, 0.0)
        return np.asarray(known + known.T)

    def learn(self, wanted: Iterable[Row]) -> None:
        """In an order that does not depend on how cliques are listed."""
        fresh: dict[tuple[int, int, int], int] = {}
        for y, given, xs in wanted:
            known = self._known[y].get(given)
            if missing := xs if known is None else xs & ~known[0]:
                key = given.bit_count(), y, given
                fresh[key] = fresh.get(key, 0) | missing
        rows = sorted(fresh.items())
        for width, same in groupby(rows, key=lambda row: row[0][0]):
            asked = [(y, given, xs) for (_, y, given), xs in same]
            flags = flags_of([xs for _, _, xs in asked], self._size)
            self._keep(asked, self._answers(width, asked, flags), flags)

    def _answers(self, width: int, asked: list[Row], flags: Bools) -> Floats:
        if self.ask is not None:
            ys = np.array([y for y, _, _ in asked])
            sets = np.array([members(given) for _, given, _ in asked], dtype=np.intp)
            return np.maximum(self.ask(ys, sets.reshape(len(asked), width), flags), HOPELESS)
        self.memory.learn((x, y, given) for y, given, xs in asked for x in members(xs))
        answers = np.zeros(flags.shape)
        for answer, (y, given, xs) in zip(answers, asked, strict=True):
            for x in members(xs):
                answer[x] = self.memory.gain(x, y, given)
        return answers

    def _keep(self, asked: list[Row], answers: Floats, flags: Bools) -> None:
        gains = []
        for y, given, xs in asked:
            told, found = self._known[y].get(given, (0, []))
            self._known[y][given] = told | xs, found
            gains.append(found)
        _sort_in(gains, answers, flags)

    def gains(self, y: int, given: int) -> list[Gain]:
        """Those that are more than rounding, of all that was asked for."""
        return self._known[y][given][1]

    def forget(self, state: State, y: int) -> None:
        """What no step to y can ask for in this state."""
        known, parents = self._known[y], state.parents[y]
        most = parents | state.lines[y]
        for given in [one for one in known if one and (parents & ~one or one & ~most)]:
            del known[given]


def _sort_in(gains: list[list[Gain]], answers: Floats, flags: Bools) -> None:
    """Adds to the gains of each row what is more than rounding."""
    at, columns = np.nonzero(flags & (answers * GRAIN > 0.5) & (answers < np.inf))
    values = -np.rint(answers[at, columns] * GRAIN) / GRAIN
    parts = at.tolist(), values.tolist(), columns.tolist()
    for row, value, x in zip(*parts, strict=True):
        gains[row].append((value, x))
