"""Copies of columns: a search gets one of the two, and the other is hung beside it afterwards.

A column and its copy explain away everything that the other has to do with third columns, so that
a search with both of them draws edges at either as chance has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from privet.graph.edge import Edge, Mark
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge

ORIGIN = "copy"
UNTOLD: dict[str, Mark] = {"dag": "-->", "cpdag": "---", "pag": "o-o"}


def set_apart(knowledge: Knowledge, names: Iterable[str], copies: Mapping[str, str]) -> Knowledge:
    """The same knowledge, and that copies are joined to nothing."""
    pairs = {(copy, name) for copy in copies for name in names if name != copy}
    both = pairs | {(b, a) for a, b in pairs}
    return replace(knowledge, forbidden=knowledge.forbidden | both)


def hang(graph: Graph, copies: Mapping[str, str], knowledge: Knowledge) -> Graph:
    """The graph with each copy joined to its original, as far as knowledge allows."""
    if not copies:
        return graph
    edges = []
    for copy, kept in copies.items():
        there, back = knowledge.may(kept, copy), knowledge.may(copy, kept)
        if there and back:
            edges.append(Edge(kept, copy, UNTOLD[graph.kind], origin=ORIGIN))
        elif there or back:
            ends = (kept, copy) if there else (copy, kept)
            edges.append(Edge(*ends, "-->", origin=ORIGIN))
    return replace(graph, edges=(*graph.edges, *edges))
