"""Gains by the row: what every column x adds to y beside P, for one y and one P.

Inserting asks for whole rows, so a score that can find one at a stroke is asked so; any other is
asked question by question, and none twice.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from privet.arrays import Bools, Floats
from privet.search.hill_climb import HOPELESS, Remembered
from privet.search.protocols import GainRows
from privet.search.states import State, bits_of, flags_of, members

# y, P and the x that are asked for, sets in bits.
Row = tuple[int, int, int]


class Rows:
    """Rows that are known, for each y by P, and the x of which each tells."""

    def __init__(self, memory: Remembered, ask: GainRows | None, among: Bools) -> None:
        self.memory, self._ask, self._size = memory, ask, len(among)
        self.pairs = memory.pairs(among) if ask is None else self._pairs(ask, among)
        told = [bits_of(row) for row in among | among.T]
        self._known = [{0: (self.pairs[y], told[y])} for y in range(len(among))]

    def _pairs(self, ask: GainRows, among: Bools) -> Floats:
        """The gains of pairs with nothing given; 0 for the others and where nothing is known."""
        upper = np.triu(among | among.T)
        size = self._size
        answers = ask(np.arange(size), np.zeros((size, 0), dtype=np.intp), upper)
        known = np.where(upper & np.isfinite(answers), answers, 0.0)
        return np.asarray(known + known.T)

    def of(self, wanted: Iterable[Row]) -> Floats:
        """Each row; only what is asked for means something there."""
        rows = list(wanted)
        fresh: dict[int, list[Row]] = {}
        for y, given, xs in rows:
            told = self._known[y][given][1] if given in self._known[y] else 0
            if missing := xs & ~told:
                fresh.setdefault(given.bit_count(), []).append((y, given, missing))
        for width, asked in sorted(fresh.items()):
            answers, flags = self._answers(width, asked)
            for (y, given, xs), answer, flag in zip(asked, answers, flags, strict=True):
                old, told = self._known[y].get(given, (answer, 0))
                self._known[y][given] = np.where(flag, answer, old) if told else answer, told | xs
        return np.array([self._known[y][given][0] for y, given, _ in rows])

    def _answers(self, width: int, asked: list[Row]) -> tuple[Floats, Bools]:
        flags = flags_of([xs for _, _, xs in asked], self._size)
        if self._ask is not None:
            ys = np.array([y for y, _, _ in asked])
            given = np.array([members(given) for _, given, _ in asked], dtype=np.intp)
            return np.maximum(
                self._ask(ys, given.reshape(len(asked), width), flags), HOPELESS
            ), flags
        self.memory.learn((x, y, given) for y, given, xs in asked for x in members(xs))
        answers = np.zeros(flags.shape)
        for answer, (y, given, xs) in zip(answers, asked, strict=True):
            for x in members(xs):
                answer[x] = self.memory.gain(x, y, given)
        return answers, flags

    def forget(self, state: State, y: int) -> None:
        """What no step to y can ask for in this state."""
        known, parents = self._known[y], state.parents[y]
        most = parents | state.lines[y]
        for given in [one for one in known if one and (parents & ~one or one & ~most)]:
            del known[given]
