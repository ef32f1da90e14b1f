"""What the formats share: the kind of a graph whose file does not name it, and end marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from privet.errors import GraphError
from privet.graph.classes import CLASSES, kind_of
from privet.graph.edge import ALLOWED, Edge, Kind, Mark
from privet.graph.graph import Graph

End = str
"""How an edge ends at a node: "tail", "arrow" or "circle"."""

_ENDS: dict[Mark, tuple[End, End]] = {
    "-->": ("tail", "arrow"),
    "---": ("tail", "tail"),
    "<->": ("arrow", "arrow"),
    "o->": ("circle", "arrow"),
    "o-o": ("circle", "circle"),
    "o--": ("circle", "tail"),
}
_MARKS = {ends: mark for mark, ends in _ENDS.items()}


def ends(edge: Edge) -> tuple[End, End]:
    """How the edge ends at its source and at its target."""
    return _ENDS[edge.mark]


def join(a: str, at_a: End, b: str, at_b: End, **more: Any) -> Edge:
    """The edge between a and b with these ends."""
    if (at_a, at_b) in _MARKS:
        return Edge(a, b, _MARKS[at_a, at_b], **more)
    return Edge(b, a, _MARKS[at_b, at_a], **more)


def assemble(kind: str | None, nodes: Sequence[str], edges: Iterable[Edge]) -> Graph:
    """The graph; without a kind, the narrowest one that allows all the marks, and circles."""
    edges = tuple(edges)
    if kind is None:
        marks = {edge.mark for edge in edges}
        kind = next(known for known in ("dag", "pdag", "pag") if marks <= ALLOWED[known])
        kind = "cyclic" if kind == "dag" and runs_in_circles(edges) else kind
        return narrowest("cpdag" if kind == "pdag" else kind, nodes, edges)
    return Graph(cast(Kind, kind), tuple(nodes), edges)


def narrowest(kind: str | None, nodes: Sequence[str], edges: Iterable[Edge]) -> Graph:
    """The graph of a file, which may say cpdag of what is none: the kind is then the narrowest of
    mpdag and pdag that is true. Files of old versions have such graphs."""
    if kind not in CLASSES:
        return assemble(kind, nodes, edges)
    plain = Graph("pdag", tuple(nodes), _without_circles(tuple(edges)))
    found = kind_of(plain.matrix())
    return replace(plain, kind="mpdag" if (kind, found) == ("mpdag", "cpdag") else found)


def _without_circles(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """The edges; where their arrows run in a circle, tentative ones are lines."""
    if not runs_in_circles(edges):
        return edges
    return tuple(edge if edge.tentative is None else edge.undirected for edge in edges)


def runs_in_circles(edges: Iterable[Edge]) -> bool:
    """Whether somewhere an arrow leads back to where one started."""
    above: dict[str, set[str]] = {}
    for edge in edges:
        if edge.mark != "-->":
            continue
        above.setdefault(edge.source, set())
        above.setdefault(edge.target, set()).add(edge.source)
    while first := {node for node, causes in above.items() if not causes & above.keys()}:
        above = {node: causes for node, causes in above.items() if node not in first}
    return bool(above)


def confidences(edge: Edge) -> dict[str, Any]:
    """The optional facts of an edge that are there."""
    facts = {
        "confidence": edge.confidence,
        "arrow_confidence": edge.arrow_confidence,
        "origin": edge.origin,
        "tentative": edge.tentative,
    }
    return {key: value for key, value in facts.items() if value is not None}


def read_confidences(found: Mapping[str, Any]) -> dict[str, Any]:
    """The optional facts of an edge from attributes, whose numbers may be written as text."""
    facts: dict[str, Any] = {}
    for key in ("confidence", "arrow_confidence"):
        if found.get(key) is not None:
            facts[key] = _number(key, found[key])
    for key in ("origin", "tentative"):
        if found.get(key) is not None:
            facts[key] = str(found[key])
    return facts


def drawn(edge: Edge, lean: Any) -> Edge:
    """The edge of a file; one of version 0.1 may be a line that leans to one of its ends, which is
    a tentative arrow now."""
    if lean is None or edge.mark != "---":
        return edge
    if lean not in (edge.source, edge.target):
        raise GraphError(f"{edge} leans to {lean!r}, which is none of its ends; take that out")
    there = edge if lean == edge.target else edge.reversed
    return replace(there, mark="-->", tentative="support")


def _number(key: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise GraphError(f"{key} is {value!r}; give a number from 0 to 1") from None
