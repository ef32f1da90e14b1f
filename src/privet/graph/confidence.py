"""Confidence: how often replicas of the evidence agree with the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from privet.graph.classes import CLASSES, made_whole
from privet.graph.edge import OPEN_MARKS, SYMMETRIC, Edge
from privet.graph.graph import Graph

SUREST = 0.999  # nothing is surer, since the evidence may be about something else than we think
# Of edges on which all replicas agree, so many are false where the evidence says little more, and
# the fewer the more it says: a search errs in other ways than chance. [Random networks.]
MERELY_STABLE, TELLING = 0.05, 100.0

Pair = frozenset[str]


def with_confidence(
    found: Graph, replicas: Sequence[Graph], doubts: Mapping[Pair, float] | None = None
) -> Graph:
    """The graph, each edge with the share of replicas that join the two columns, and each mark
    that tells a direction with the share that draw the same one. Of an arrow --> three rules more
    [random networks: bench/confidence.py]. A replica that draws a line says that either may be: it
    counts half. An arrow is no surer than its edge. And it is no less sure than its reverse, since
    the evidence itself, which has less noise than replicas of it, gave this one.

    The share is (k + 1/2) / (r + 1): r replicas in full agreement are no certainty. There the
    evidence itself tells a certain edge from a stable one: ``doubts`` are the lowest log odds of
    each pair that any question gave. How often edges of each confidence are true is measured in
    ``bench/confidence.py``.
    """
    if not replicas:
        return found
    joined = Counter(pair for graph in replicas for pair in graph.skeleton())
    marked = Counter(_told(edge) for graph in replicas for edge in graph.edges)
    edges = []
    for edge in found.edges:
        sure, arrow = _sure(_pair(edge), joined, len(replicas), doubts or {}), None
        if edge.mark not in OPEN_MARKS:
            arrow = _share(marked[_told(edge)], len(replicas))
        if edge.mark == "-->" and found.kind != "pag":
            lines = marked["---", _pair(edge), ""]
            arrow = _share(marked[_told(edge)] + lines / 2, len(replicas))
            arrow = round(max(min(arrow, sure), sure / 2), 3)
        edges.append(replace(edge, confidence=sure, arrow_confidence=arrow))
    return replace(found, edges=tuple(edges))


def claimed(graph: Graph, min_arrow: float, min_confidence: float) -> Graph:
    """Only edges that are at least so sure. Of a class, arrows that are no surer than
    ``min_arrow`` are tentative; it stays a class without the edges that have gone."""
    sure = [e for e in graph.edges if e.confidence is None or e.confidence >= min_confidence]
    if graph.kind not in CLASSES:
        return replace(graph, edges=tuple(sure))
    if len(sure) < len(graph.edges):
        graph = _of_these(graph, sure)
    edges = (replace(e, tentative="support") if _weak(e, min_arrow) else e for e in graph.edges)
    return replace(graph, edges=tuple(edges))


def _of_these(graph: Graph, edges: Sequence[Edge]) -> Graph:
    """The class with these edges alone: their arrows, and those that follow; or, where no DAG has
    just these arrows and colliders, the CPDAG of what is left of one DAG of the class. Arrows that
    come so are tentative: no replica was asked for them."""
    left = replace(graph, kind="pdag", edges=tuple(edges))
    dag = graph.extension().matrix() & (left.matrix() | left.matrix().T)
    made = left.of_kind(made_whole(left.matrix(), dag))
    known = {(e.source, e.target) for e in left.edges if e.mark == "-->"}
    told = (
        replace(e, tentative="support")
        if e.mark == "-->" and (e.source, e.target) not in known
        else e
        for e in made.edges
    )
    return replace(made, edges=tuple(told))


def _weak(edge: Edge, min_arrow: float) -> bool:
    sure = edge.arrow_confidence
    return edge.mark == "-->" and sure is not None and sure <= min_arrow


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


def _share(agree: float, replicas: int) -> float:
    return round((agree + 0.5) / (replicas + 1), 3)
