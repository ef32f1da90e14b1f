"""Arrows for the undirected edges of a graph, from what their pairs of columns say.

A search leaves an edge undirected if independences do not tell its direction. The two columns by
themselves may. Each such edge between numeric columns is measured as a pair, and judged. The
surest arrow is drawn first, then what follows from it by Meek's rules, and so on; an arrow that
would make a circle or a new collider is not drawn. The other causes of the two columns count as
noise here, so this is right only if they act like noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet.arrays import Bools, OnStep
from privet.graph.classes import CLASSES, kind_of
from privet.graph.copies import ORIGIN as COPY
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.meek import extension, meek, vstructures
from privet.pairs.algorithms.judgement import REPLICAS
from privet.pairs.measure import measure_pairs, numeric
from privet.pairs.options import Choices
from privet.pairs.way import AUTO, Orientation, Pair, pair_of, way_named
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.trust.curator import Curator

ORIGIN = "pairs"
SUREST = 1 - 0.5 / (REPLICAS + 1)  # replicas in full agreement are no certainty


def undirected(graph: Graph, schema: Schema) -> list[Pair]:
    """The edges without a direction, or with one that too little speaks for, between two numeric
    columns that are no copies."""
    numbers = set(numeric(schema))
    return [
        Pair(x=x, y=y)
        for edge in graph.edges
        if (edge.mark == "---" or edge.tentative == "support")
        and edge.origin != COPY
        and {edge.source, edge.target} <= numbers
        for x, y in [sorted((edge.source, edge.target), key=graph.nodes.index)]
    ]


def ask(curator: Curator, graph: Graph, share: Fraction, on_step: OnStep) -> tuple[Release, ...]:
    """Measures the undirected edges for this share of the budget; without any, for nothing."""
    pairs = undirected(graph, curator.schema)
    if not pairs:
        return ()
    return measure_pairs(curator, way_named(AUTO), pairs, Choices(on_step=on_step), share)


def orient(
    graph: Graph, schema: Schema, releases: Sequence[Release], seed: int
) -> tuple[Graph, tuple[str, ...]]:
    """The graph with the arrows that pairs add to it, and what is to be said about them."""
    judged = _judged(graph, schema, releases, seed)
    told = [pair for pair in judged if pair.cause is not None]
    surest = sorted(told, key=lambda pair: pair.wrong or 0.0)
    drawn, refused = _Drawing(graph), []
    for pair in surest:
        if not drawn.draw(pair):
            refused.append(pair)
    return drawn.graph(), _notes(drawn, judged, refused)


def _judged(
    graph: Graph, schema: Schema, releases: Sequence[Release], seed: int
) -> list[Orientation]:
    way, found = way_named(AUTO), []
    for pair in undirected(graph, schema):
        own = tuple(r for r in releases if set(pair_of(r) or ()) == {pair.x, pair.y})
        if way.holds(own):
            x, y = pair_of(own[0]) or (pair.x, pair.y)
            found.append(way.judge(schema, Pair(x=x, y=y), own, Choices(seed=seed)))
    return found


class _Drawing:
    """A graph to which arrows are added one by one, with all that follows from them."""

    def __init__(self, graph: Graph) -> None:
        self._plain, self._now = graph, graph.matrix()
        self._sure: dict[tuple[int, int], float] = {}
        self.asked: list[tuple[int, int]] = []

    def draw(self, pair: Orientation) -> bool:
        """Draws an arrow unless that is impossible; whether it is there now."""
        at = self._plain.nodes.index
        i, j = at(pair.cause or ""), at(pair.effect or "")
        if not self._now[j, i]:  # it has followed from others, or was tentative
            if (i, j) not in self._sure:
                self._sure[i, j] = min(1 - (pair.wrong or 0.0), SUREST)
                self.asked.append((i, j))
            return True
        if not self._now[i, j]:
            return False
        more = self._now.copy()
        more[j, i] = False
        closed = meek(more)
        if not self._sound(closed):
            return False
        for new in np.argwhere(self._now & self._now.T & closed & ~closed.T):
            self._sure[int(new[0]), int(new[1])] = min(1 - (pair.wrong or 0.0), SUREST)
        self._now = closed
        self.asked.append((i, j))
        return True

    def _sound(self, closed: Bools) -> bool:
        """No circle, no new collider, and still the graph of a DAG."""
        return vstructures(closed) == vstructures(self._now) and extension(closed) is not None

    def arrows(self, *, asked: bool) -> list[str]:
        """The new arrows that pairs told, or those that followed from these."""
        names = self._plain.nodes
        chosen = [pair for pair in self._sure if (pair in self.asked) == asked]
        return [f"{names[i]} --> {names[j]}" for i, j in chosen]

    def graph(self) -> Graph:
        names, at = self._plain.nodes, self._plain.nodes.index
        edges = {frozenset((at(e.source), at(e.target))): e for e in self._plain.edges}
        for (i, j), sure in self._sure.items():
            old = edges[frozenset((i, j))]
            edges[frozenset((i, j))] = Edge(
                names[i],
                names[j],
                "-->",
                confidence=old.confidence,
                arrow_confidence=sure,
                origin=ORIGIN,
            )
        kind = kind_of(self._now) if self._plain.kind in CLASSES else self._plain.kind
        return replace(self._plain, kind=kind, edges=tuple(edges.values()))


def _notes(
    drawn: _Drawing, judged: list[Orientation], refused: list[Orientation]
) -> tuple[str, ...]:
    found = []
    if told := drawn.arrows(asked=True):
        more = drawn.arrows(asked=False)
        follow = f"; {', '.join(more)} followed" if more else ""
        found.append(
            f"From pairs of columns looked at by themselves: {', '.join(told)}{follow}. Other "
            "causes of the two count as noise there."
        )
    open_ones = [f"{p.a}, {p.b} ({p.reason})" for p in judged if p.cause is None]
    if open_ones:
        found.append(f"Pairs that did not say: {'; '.join(open_ones)}.")
    if refused:
        arrows = ", ".join(f"{p.cause} --> {p.effect}" for p in refused)
        found.append(f"Pairs that would make a circle or a new collider, so not drawn: {arrows}.")
    return (*found, *dict.fromkeys(note for pair in judged for note in pair.notes))
