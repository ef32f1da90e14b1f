"""Confidence: how often replicas of the evidence agree with the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from privet.graph.edge import SYMMETRIC, Edge
from privet.graph.graph import Graph

# Marks that say nothing about direction: there is nothing to be sure of.
OPEN_MARKS = frozenset({"---", "o-o"})
SUREST = 0.999  # nothing is surer, since the evidence may be about something else than we think
# Of edges on which all replicas agree, so many are false where the evidence says little more, and
# the fewer the more it says: a search errs in other ways than chance. [Random networks.]
MERELY_STABLE, TELLING = 0.05, 100.0

Pair = frozenset[str]


def with_confidence(
    found: Graph, replicas: Sequence[Graph], doubts: Mapping[Pair, float] | None = None
) -> Graph:
    """The graph, each edge with the share of replicas that join the two columns, and each mark
    that tells a direction with the share that draw the same one.

    The share is (k + 1/2) / (r + 1): r replicas in full agreement are no certainty. There the
    evidence itself tells a certain edge from a stable one: ``doubts`` are the lowest log odds of
    each pair that any question gave. How often edges of each confidence are true is measured in
    ``bench/confidence.py``.
    """
    if not replicas:
        return found
    joined = Counter(pair for graph in replicas for pair in graph.skeleton())
    marked = Counter(_told(edge) for graph in replicas for edge in graph.edges)
    edges = tuple(
        replace(
            edge,
            confidence=_sure(_pair(edge), joined, len(replicas), doubts or {}),
            arrow_confidence=None
            if edge.mark in OPEN_MARKS
            else _share(marked[_told(edge)], len(replicas)),
        )
        for edge in found.edges
    )
    return replace(found, edges=edges)


def claimed(graph: Graph, min_arrow: float, min_confidence: float) -> Graph:
    """Only edges, and in a CPDAG only arrows, that are at least so sure; an arrow that is not
    becomes a line that leans."""
    if all(edge.confidence is None and edge.arrow_confidence is None for edge in graph.edges):
        return graph
    edges = [e for e in graph.edges if e.confidence is None or e.confidence >= min_confidence]
    if graph.kind == "cpdag":
        edges = [_leaning(edge) if _weak(edge, min_arrow) else edge for edge in edges]
    return replace(graph, edges=tuple(edges))


def _weak(edge: Edge, min_arrow: float) -> bool:
    sure = edge.arrow_confidence
    return edge.mark == "-->" and sure is not None and sure < min_arrow


def _leaning(edge: Edge) -> Edge:
    return replace(edge, mark="---", lean=edge.target)


def _pair(edge: Edge) -> Pair:
    return frozenset((edge.source, edge.target))


def _sure(pair: Pair, joined: Counter[Pair], replicas: int, doubts: Mapping[Pair, float]) -> float:
    share = _share(joined[pair], replicas)
    if joined[pair] < replicas or pair not in doubts:
        return share
    doubt = MERELY_STABLE / (1 + max(doubts[pair], 0.0) / TELLING)
    return round(min(1 - doubt, SUREST), 3)


def _told(edge: Edge) -> tuple[str, frozenset[str], str]:
    """The mark, the pair, and where the mark starts if that matters."""
    pair = frozenset((edge.source, edge.target))
    return edge.mark, pair, "" if edge.mark in SYMMETRIC else edge.source


def _share(agree: int, replicas: int) -> float:
    return round((agree + 0.5) / (replicas + 1), 3)
