"""The text of dagitty (dagitty.net and its R package). It cannot carry confidences."""

from __future__ import annotations

from privet.errors import GraphError
from privet.graph.edge import Kind
from privet.graph.formats.common import join, narrowest
from privet.graph.formats.dotlike import parse, quote
from privet.graph.graph import Graph

_HEADER: dict[Kind, str] = {
    "dag": "dag",
    "cpdag": "pdag",
    "mpdag": "pdag",
    "pdag": "pdag",
    "pag": "pag",
    "cyclic": "digraph",
}
_KIND = {"dag": "dag", "pdag": "cpdag", "pag": "pag", "digraph": "cyclic"}
_ARROW = {"-->": "->", "---": "--", "<->": "<->", "o->": "@->", "o-o": "@-@", "o--": "@--"}
_LEFT = {"<": "arrow", "@": "circle", "-": "tail"}
_RIGHT = {">": "arrow", "@": "circle", "-": "tail"}


def to_dagitty(graph: Graph) -> str:
    """`dag { a -> b }`, `pdag { a -- b }` for a class, `pag { a @-> b }`; names are quoted."""
    lines = [f"  {quote(node)}" for node in graph.nodes]
    lines += [f"  {quote(e.source)} {_ARROW[e.mark]} {quote(e.target)}" for e in graph.edges]
    return "\n".join([f"{_HEADER[graph.kind]} {{", *lines, "}", ""])


def from_dagitty(text: str) -> Graph:
    """A dag, pdag, pag or digraph; attributes such as pos or beta are left aside."""
    found = parse(text, (*_KIND, "mag"))
    if found.header == "mag":
        raise GraphError("a mag has no counterpart here; give its pag or a dag")
    edges = [
        join(a, _LEFT[arrow[0]], b, _RIGHT[arrow[-1]]) for a, arrow, b, _attributes in found.edges
    ]
    return narrowest(_KIND[found.header], tuple(found.nodes), edges)
