"""DOT, the language of Graphviz; carries kind and confidences in attributes Graphviz ignores.

A tentative arrow is dashed, or has no head where people see a line: ``tentative`` and the order of
its ends say what it is.
"""

from __future__ import annotations

from privet.errors import GraphError
from privet.graph.edge import DASHED, Edge
from privet.graph.formats.common import (
    End,
    confidences,
    drawn,
    ends,
    join,
    narrowest,
    read_confidences,
)
from privet.graph.formats.dotlike import Attributes, parse, quote
from privet.graph.graph import Graph

_SHAPE: dict[End, str] = {"tail": "none", "arrow": "normal", "circle": "odot"}
_END = {shape: end for end, shape in _SHAPE.items()}


def to_dot(graph: Graph) -> str:
    """a --> b is `"a" -> "b"`; other marks add dir=both with arrowtail and arrowhead."""
    lines = [f'  kind="{graph.kind}";', *(f"  {quote(node)};" for node in graph.nodes)]
    lines += [f"  {_line(edge)};" for edge in graph.edges]
    return "\n".join(["digraph {", *lines, "}", ""])


def _line(edge: Edge) -> str:
    attributes: Attributes = {}
    if edge.mark != "-->":
        tail, head = (_SHAPE[end] for end in ends(edge))
        attributes = {"dir": "both", "arrowtail": tail, "arrowhead": head}
    if edge.tentative is not None:
        attributes |= {"style": "dashed"} | ({} if edge.shown == DASHED else {"dir": "none"})
    attributes |= {key: str(value) for key, value in confidences(edge).items()}
    told = ", ".join(f"{key}={quote(value)}" for key, value in attributes.items())
    return f"{quote(edge.source)} -> {quote(edge.target)}" + (f" [{told}]" if told else "")


def from_dot(text: str) -> Graph:
    """A digraph or graph without subgraphs and ports; ends are read from dir, arrowtail and
    arrowhead, and the kind, where it is not told, is the narrowest that allows the marks."""
    found = parse(text, ("digraph", "graph"))
    edges = [_edge(found.header, *edge) for edge in found.edges]
    return narrowest(found.attributes.get("kind"), tuple(found.nodes), edges)


def _edge(header: str, a: str, arrow: str, b: str, attributes: Attributes) -> Edge:
    expected = "->" if header == "digraph" else "--"
    if arrow != expected:
        raise GraphError(
            f"the edge {a} {arrow} {b} does not fit a {header}; write {a} {expected} {b} and "
            "say the rest with dir, arrowtail and arrowhead"
        )
    usual = "forward" if header == "digraph" else "none"
    direction = attributes.get("dir", usual)
    if attributes.get("tentative") is not None and direction == "none":  # for the eye only
        direction = "both" if "arrowtail" in attributes else "forward"
    if direction not in ("forward", "back", "both", "none"):
        raise GraphError(f"{a} {arrow} {b} has dir={direction}; use forward, back, both or none")
    tail = _end(attributes.get("arrowtail", "normal")) if direction in ("back", "both") else "tail"
    at_b = direction in ("forward", "both")
    head = _end(attributes.get("arrowhead", "normal")) if at_b else "tail"
    edge = join(a, tail, b, head, **read_confidences(attributes))
    return drawn(edge, attributes.get("lean"))


def _end(shape: str) -> End:
    if shape not in _END:
        raise GraphError(f"the arrow shape {shape!r} is unknown; use one of {', '.join(_END)}")
    return _END[shape]
