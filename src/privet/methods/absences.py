"""Three answers for every pair: joined, separated, or cannot say.

A search takes an edge away where a question finds no dependence. That may be because there is
none, or because the test could not have seen it. The question that spoke most against each edge
is looked at again: the pair is separated if its answer rules out a strong dependence
(``independence/effects.py``), else undecided. All of it is free: only evidence is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import overload

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.graph.absence import Absence
from privet.graph.confidence import Pair
from privet.graph.graph import Graph
from privet.independence.effects import SURELY, Effects, of_z
from privet.methods.basis import Basis
from privet.methods.listener import NOBODY
from privet.search.compiled import asked


@dataclass(frozen=True, eq=False)
class Absences(Sequence[Absence]):
    """One for each pair x < y in ``pairs``, made when they are looked at: there are nearly as many
    as there are pairs of columns, and hardly anybody reads all of them.

    ``given`` has a row of what was given for each, filled up with ``NOBODY``.
    """

    names: tuple[str, ...]
    pairs: Indices
    log_bayes: Floats
    given: Indices
    effects: Effects

    @cached_property
    def _ruled_out(self) -> Bools:
        """Where a strong dependence is."""
        return np.asarray(self.effects.log_ratio() <= -log(SURELY))

    @property
    def undecided(self) -> tuple[tuple[str, str], ...]:
        names = self.names
        return tuple((names[x], names[y]) for x, y in self.pairs[~self._ruled_out].tolist())

    @cached_property
    def _made(self) -> tuple[Absence, ...]:
        return tuple(self._each())

    def _each(self) -> Iterator[Absence]:
        names, effects = self.names, self.effects
        numbers = (effects.sizes(), effects.largest(), *effects.needed())
        for (x, y), z, value, decided, effect, largest, rows, epsilon in zip(
            self.pairs.tolist(),
            self.given.tolist(),
            self.log_bayes.tolist(),
            self._ruled_out.tolist(),
            *(each.tolist() for each in numbers),
            strict=True,
        ):
            yield Absence(
                pair=(names[x], names[y]),
                given=tuple(names[i] for i in z if i != NOBODY),
                log_bayes=round(value, 3),
                effect=round(effect, 4),
                largest=round(largest, 4),
                undecided=not decided,
                rows=rows,
                epsilon=epsilon,
            )

    def __len__(self) -> int:
        return len(self.pairs)

    @overload
    def __getitem__(self, at: int) -> Absence: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Absence, ...]: ...

    def __getitem__(self, at: int | slice) -> Absence | tuple[Absence, ...]:
        return self._made[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(self._made)


NONE = np.empty((0, 2), dtype=np.intp)
NOTHING = Absences((), NONE, np.empty(0), NONE, Effects.together([], []))


def absences(basis: Basis, graph: Graph, bar: float) -> Absences:
    """Of all pairs that the search has not joined after asking for them. A Bayes factor for an
    edge had to exceed ``bar``."""
    listener = basis.listener
    if basis.effects is None or not listener.lowest.size:
        return NOTHING
    size = len(listener.lowest)
    pairs = np.argwhere(np.isfinite(listener.lowest) & ~joined(graph)[:size, :size])
    ranks = np.argsort(sorted(range(len(graph.nodes)), key=graph.nodes.__getitem__))
    pairs = pairs[np.lexsort(ranks[pairs].T[::-1])]
    x, y = pairs.T
    given = listener.given[x, y].astype(np.intp)
    effects = _effects(basis, np.concatenate([pairs, given], axis=1))
    return Absences(graph.nodes, pairs, listener.lowest[x, y] + log(bar), given, effects)


def _effects(basis: Basis, questions: Indices) -> Effects:
    """Of questions that are filled up with ``NOBODY``."""
    told = None
    if basis.wide is not None and basis.wide.tests is not None:
        told = asked(basis.wide.tests, questions)
    if told is not None and basis.moments is not None:
        rows = max(basis.moments.rows / basis.moments.spread, 1.0)
        return of_z(told[0], 1 / told[1], rows)
    assert basis.effects is not None
    widths = (questions != NOBODY).sum(axis=1)
    places = [np.flatnonzero(widths == width) for width in np.unique(widths)]
    parts = [basis.effects(questions[at, : widths[at[0]]]) for at in places]
    return Effects.together(places, parts)


def doubts(basis: Basis, graph: Graph) -> dict[Pair, float]:
    """The lowest log odds of each pair that the graph joins, where tests were asked."""
    if basis.local is not None and basis.moments is None:
        return {}  # differences of scores, not Bayes factors
    lowest, at = basis.listener.lowest, {name: i for i, name in enumerate(graph.nodes)}
    pairs = {edge_pair: sorted(at[name] for name in edge_pair) for edge_pair in graph.skeleton()}
    known = {pair: float(lowest[x, y]) for pair, (x, y) in pairs.items() if y < len(lowest)}
    return {pair: value for pair, value in known.items() if not np.isnan(value)}


def joined(graph: Graph) -> Bools:
    """The pairs that a graph joins."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    pairs = np.zeros((len(at), len(at)), dtype=bool)
    for edge in graph.edges:
        pair = at[edge.source], at[edge.target]
        pairs[pair] = pairs[pair[::-1]] = True
    return pairs
