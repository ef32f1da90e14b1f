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
from privet.independence.effects import SURELY, Effects
from privet.methods.basis import Basis
from privet.methods.listener import NOBODY


@dataclass(frozen=True, eq=False)
class Absences(Sequence[Absence]):
    """One for each pair x < y in ``pairs``, made when they are looked at: there are nearly as many
    as there are pairs of columns, and hardly anybody reads all of them.

    ``groups`` are the places of those with as many columns given, what was given, and its effects.
    """

    names: tuple[str, ...]
    pairs: Indices
    log_bayes: Floats
    groups: tuple[tuple[Indices, Indices, Effects], ...]

    @cached_property
    def _ruled_out(self) -> Bools:
        """Where a strong dependence is."""
        ratios = np.zeros(len(self.pairs))
        for at, _, effects in self.groups:
            ratios[at] = effects.log_ratio()
        return ratios <= -log(SURELY)

    @property
    def undecided(self) -> tuple[tuple[str, str], ...]:
        names = self.names
        return tuple((names[x], names[y]) for x, y in self.pairs[~self._ruled_out].tolist())

    @cached_property
    def _made(self) -> tuple[Absence, ...]:
        made = dict[int, Absence]()
        for at, given, effects in self.groups:
            made |= dict(zip(at.tolist(), self._of_group(at, given, effects), strict=True))
        return tuple(made[at] for at in range(len(made)))

    def _of_group(self, at: Indices, given: Indices, effects: Effects) -> Iterator[Absence]:
        names, numbers = self.names, (effects.sizes(), effects.largest(), *effects.needed())
        sure = self._ruled_out[at]
        for (x, y), z, value, decided, effect, largest, rows, epsilon in zip(
            self.pairs[at].tolist(),
            given.tolist(),
            self.log_bayes[at].tolist(),
            sure.tolist(),
            *(each.tolist() for each in numbers),
            strict=True,
        ):
            yield Absence(
                pair=(names[x], names[y]),
                given=tuple(names[i] for i in z),
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


NOTHING = Absences((), np.empty((0, 2), dtype=np.intp), np.empty(0), ())


def absences(basis: Basis, graph: Graph, bar: float) -> Absences:
    """Of all pairs that the search has not joined after asking for them. A Bayes factor for an
    edge had to exceed ``bar``."""
    listener = basis.listener
    if basis.effects is None or not listener.lowest.size:
        return NOTHING
    asked = len(listener.lowest)
    pairs = np.argwhere(np.isfinite(listener.lowest) & ~joined(graph)[:asked, :asked])
    ranks = np.argsort(sorted(range(len(graph.nodes)), key=graph.nodes.__getitem__))
    pairs = pairs[np.lexsort(ranks[pairs].T[::-1])]
    x, y = pairs.T
    given = listener.given[x, y].astype(np.intp)
    widths = (given != NOBODY).sum(axis=1)
    groups = []
    for width in np.unique(widths).tolist():
        at = np.flatnonzero(widths == width)
        beside = given[at, :width]
        groups.append((at, beside, basis.effects(np.concatenate([pairs[at], beside], axis=1))))
    return Absences(graph.nodes, pairs, listener.lowest[x, y] + log(bar), tuple(groups))


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
