"""Graphs and comparisons as a notebook shows them, and the table of edges that pages have too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.markup.pieces import bar, mark, notebook, number, safe, table

if TYPE_CHECKING:
    from privet.graph.metrics import Comparison

READING = {
    "-->": "the first causes the second",
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
    """What the marks of this graph mean."""
    marks = [one for one in READING if any(edge.mark == one for edge in graph.edges)]
    return "; ".join(f"{mark(one)} {READING[one]}" for one in marks)


def named(edge: Edge) -> str:
    """The edge, and what has told it if that was more than the search."""
    told = edge.origin in ("pairs", "differences", "copy")  # by more than the search
    said = "a copy" if edge.origin == "copy" else f"from {edge.origin}"
    origin = f' <span class="soft">{said}</span>' if told else ""
    return f"{safe(edge.source)} {mark(edge.mark)} {safe(edge.target)}{origin}"


def _line(edge: Edge) -> tuple[str, str, str]:
    lean = "" if edge.lean is None else f' <span class="soft">{safe(edge.lean)}</span>'
    return named(edge), bar(edge.confidence), bar(edge.arrow_confidence) + lean


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
