"""Confidence: how often replicas of the evidence agree with the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from privet.graph.graph import SYMMETRIC, Edge, Graph

# Marks that say nothing about direction: there is nothing to be sure of.
OPEN_MARKS = frozenset({"---", "o-o"})


def with_confidence(found: Graph, replicas: Sequence[Graph]) -> Graph:
    """The graph, each edge with the share of replicas that join the two columns, and each mark
    that tells a direction with the share that draw the same one.

    The share is (k + 1/2) / (r + 1): r replicas in full agreement are no certainty. How often
    edges of each confidence are true is measured in ``bench/confidence.py``.
    """
    if not replicas:
        return found
    joined = Counter(pair for graph in replicas for pair in graph.skeleton())
    marked = Counter(_told(edge) for graph in replicas for edge in graph.edges)
    edges = tuple(
        replace(
            edge,
            confidence=_share(joined[frozenset((edge.source, edge.target))], len(replicas)),
            arrow_confidence=None
            if edge.mark in OPEN_MARKS
            else _share(marked[_told(edge)], len(replicas)),
        )
        for edge in found.edges
    )
    return replace(found, edges=edges)


def _told(edge: Edge) -> tuple[str, frozenset[str], str]:
    """The mark, the pair, and where the mark starts if that matters."""
    pair = frozenset((edge.source, edge.target))
    return edge.mark, pair, "" if edge.mark in SYMMETRIC else edge.source


def _share(agree: int, replicas: int) -> float:
    return round((agree + 0.5) / (replicas + 1), 3)
