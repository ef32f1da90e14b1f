"""Graphs and comparisons as a notebook shows them, and the table of edges that pages have too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.graph.edge import DASHED, OPEN_MARKS, Edge
from privet.graph.graph import Graph
from privet.markup.pieces import BOTH, bar, mark, notebook, number, safe, table

if TYPE_CHECKING:
    from privet.graph.metrics import Comparison

READING = {
    "-->": "the first causes the second",
    "-?>": "the first may cause the second: tentative, dashed, since too little evidence draws it",
    "---": "one causes the other, and these data cannot tell which",
    "<->": "neither causes the other; something unseen causes both",
    "o->": "the second does not cause the first",
    "o-o": "joined, and the data do not tell how",
    "o--": "joined, and the second may cause the first",
}


def graph_html(graph: Graph) -> str:
    """Picture and edges."""
    return notebook(f"<p>{safe(graph.told())}</p>", str(graph.plot()), edges_table(graph))


def edges_table(graph: Graph) -> str:
    """The edges, the surest first."""
    if not graph.edges:
        return "<p>There are no edges.</p>"
    edges = sorted(graph.edges, key=lambda edge: -(edge.confidence or 0.0))
    if all(edge.confidence is None for edge in edges):
        return table(("edge",), ((named(edge),) for edge in edges))
    return table(("edge", "confidence", "confidence of its arrow"), map(_line, edges))


def marks_read(graph: Graph) -> str:
    """What the marks of this graph mean, numbers and dotted lines too."""
    marks = {edge.shown for edge in graph.edges if edge.shown == DASHED or not edge.tentative}
    told = [f"{mark(one)} {READING[one]}" for one in READING if one in marks]
    if any(edge.tentative and edge.shown != DASHED for edge in graph.edges):
        told.append("a dashed line: joined, and why its direction is open stands beside it")
    if graph.undecided:
        told.append("dotted: the evidence cannot say whether the two are joined")
    if any(BOTH in edge.figures_short for edge in graph.edges):
        told.append("two numbers: how sure the edge is, and how sure its arrow")
    return "; ".join(told)


def named(edge: Edge) -> str:
    """The edge, and what has told it if that was more than the search."""
    told = edge.origin in ("pairs", "differences", "copy")  # by more than the search
    said = "a copy" if edge.origin == "copy" else f"from {edge.origin}"
    origin = f' <span class="soft">{said}</span>' if told else ""
    asked = edge.why if edge.shown != DASHED else ""
    why = f' <span class="soft">({safe(asked)})</span>' if asked else ""
    return f"{safe(edge.source)} {mark(edge.shown)} {safe(edge.target)}{origin}{why}"


def _line(edge: Edge) -> tuple[str, str, str]:
    return named(edge), bar(edge.confidence), bar(arrow_of(edge))


def arrow_of(edge: Edge) -> float | None:
    """How sure the arrow is, where people see one."""
    return None if edge.shown in OPEN_MARKS else edge.arrow_confidence


def comparison_html(found: Comparison) -> str:
    return notebook(comparison_table(found))


def comparison_table(found: Comparison) -> str:
    """Shares of pairs and of arrows, and how many edges differ."""
    lines = [
        (what, *(_share(getattr(found, f"{what}_{score}")) for score in _SCORES))
        for what in ("skeleton", "directed")
    ]
    more = "" if found.sid is None else f"; intervention distance (SID): {found.sid}"
    differ = f"<p>Pairs whose edge differs (SHD): {found.shd}{more}</p>"
    return differ + table(("", "precision", "recall", "F1"), lines)


_SCORES = ("precision", "recall", "f1")


def _share(value: float | None) -> str:
    return number("-" if value is None else f"{value:.3f}")
