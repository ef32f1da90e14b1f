"""Arrows into what, by its name, people are born with: a question, until somebody has answered it.

A name is a guess. It orients nothing: the search, and what leaves it, are the same without. Only
people see a line in the place of such an arrow, and the question beside it.
"""

from __future__ import annotations

from dataclasses import replace

from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.schema.born import unsettled
from privet.schema.model import Schema


def questioned(graph: Graph, schema: Schema) -> Graph:
    """The graph whose arrows into columns of which a draft still asks are tentative."""
    born = set(unsettled(schema))
    if not born:
        return graph
    return replace(graph, edges=tuple(_questioned(edge, born) for edge in graph.edges))


def _questioned(edge: Edge, born: set[str]) -> Edge:
    if edge.mark in ("-->", "o->", "<->") and edge.target in born:
        return replace(edge, tentative="birth")
    if edge.mark == "<->" and edge.source in born:
        return replace(edge, tentative="birth of the first")
    return edge
