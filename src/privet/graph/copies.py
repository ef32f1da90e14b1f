"""Copies of columns: a search gets one of the two, and the other is hung beside it afterwards.

A column and its copy explain away everything that the other has to do with third columns, so that
a search with both of them draws edges at either as chance has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from privet.graph.classes import CLASSES
from privet.graph.edge import Edge, Kind, Mark
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.meek import meek

ORIGIN = "copy"
UNTOLD: dict[str, Mark] = {"dag": "-->", "pag": "o-o"}  # else ---


def set_apart(knowledge: Knowledge, names: Iterable[str], copies: Mapping[str, str]) -> Knowledge:
    """The same knowledge, and that copies are joined to nothing."""
    pairs = {(copy, name) for copy in copies for name in names if name != copy}
    both = pairs | {(b, a) for a, b in pairs}
    return replace(knowledge, forbidden=knowledge.forbidden | both)


def hang(graph: Graph, copies: Mapping[str, str], knowledge: Knowledge) -> Graph:
    """The graph with each copy joined to its original, as far as knowledge allows. Where nothing
    says which comes first, an arrow between them, which a DAG and some classes need, is tentative.
    """
    if not copies:
        return graph
    edges, open_ = [], set()
    for copy, kept in copies.items():
        there, back = knowledge.may(kept, copy), knowledge.may(copy, kept)
        if there and back:
            open_.add(copy)
            edges.append(Edge(kept, copy, UNTOLD.get(graph.kind, "---"), origin=ORIGIN))
        elif there or back:
            ends = (kept, copy) if there else (copy, kept)
            edges.append(Edge(*ends, "-->", origin=ORIGIN))
    kind: Kind = "pdag" if graph.kind in CLASSES else graph.kind
    whole = replace(graph, kind=kind, edges=(*graph.edges, *edges))
    if graph.kind in CLASSES:
        whole = whole.of_kind(meek(whole.matrix()))
    marked = (
        replace(edge, tentative="copy")
        if edge.origin == ORIGIN and edge.mark == "-->" and open_ & {edge.source, edge.target}
        else edge
        for edge in whole.edges
    )
    return replace(whole, edges=tuple(marked))
