"""DOT, the language of Graphviz; carries kind and confidences in attributes Graphviz ignores."""

from __future__ import annotations

from privet.errors import GraphError
from privet.graph.edge import Edge
from privet.graph.formats.common import End, assemble, confidences, ends, join, read_confidences
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
    attributes |= {key: str(value) for key, value in confidences(edge).items()}
    told = ", ".join(f"{key}={quote(value)}" for key, value in attributes.items())
    return f"{quote(edge.source)} -> {quote(edge.target)}" + (f" [{told}]" if told else "")


def from_dot(text: str) -> Graph:
    """A digraph or graph without subgraphs and ports; ends are read from dir, arrowtail and
    arrowhead, and the kind, where it is not told, is the narrowest that allows the marks."""
    found = parse(text, ("digraph", "graph"))
    edges = [_edge(found.header, *edge) for edge in found.edges]
    return assemble(found.attributes.get("kind"), tuple(found.nodes), edges)


def _edge(header: str, a: str, arrow: str, b: str, attributes: Attributes) -> Edge:
    expected = "->" if header == "digraph" else "--"
    if arrow != expected:
        raise GraphError(
            f"the edge {a} {arrow} {b} does not fit a {header}; write {a} {expected} {b} and "
            "say the rest with dir, arrowtail and arrowhead"
        )
    direction = attributes.get("dir", "forward" if header == "digraph" else "none")
    if direction not in ("forward", "back", "both", "none"):
        raise GraphError(f"{a} {arrow} {b} has dir={direction}; use forward, back, both or none")
    tail = _end(attributes.get("arrowtail", "normal")) if direction in ("back", "both") else "tail"
    at_b = direction in ("forward", "both")
    head = _end(attributes.get("arrowhead", "normal")) if at_b else "tail"
    return join(a, tail, b, head, **read_confidences(attributes))


def _end(shape: str) -> End:
    if shape not in _END:
        raise GraphError(f"the arrow shape {shape!r} is unknown; use one of {', '.join(_END)}")
    return _END[shape]
