"""Where several graphs agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from privet.graph.edge import SYMMETRIC
from privet.graph.graph import Graph


@dataclass(frozen=True)
class Agreement:
    """One pair that at least one graph joins: its mark in each graph as people see it, read
    from ``a`` to ``b`` ("" where the two are apart), and how many graphs join it."""

    a: str
    b: str
    marks: tuple[str, ...]

    @property
    def joined(self) -> int:
        return sum(mark != "" for mark in self.marks)

    @property
    def unanimous(self) -> bool:
        """Whether every graph has the very same mark."""
        return len(set(self.marks)) == 1


def agreement(graphs: Mapping[str, Graph]) -> tuple[Agreement, ...]:
    """Every pair that some graph joins, those that most graphs join first; of the nodes that all
    graphs have."""
    first, *others = graphs.values()
    nodes = [name for name in first.nodes if all(name in graph.nodes for graph in others)]
    lines = [
        Agreement(a, b, tuple(_mark(graph, a, b) for graph in graphs.values()))
        for a, b in combinations(nodes, 2)
    ]
    return tuple(sorted((line for line in lines if line.joined), key=lambda line: -line.joined))


def _mark(graph: Graph, a: str, b: str) -> str:
    edge = graph.edge(a, b)
    if edge is None:
        return ""
    forwards = edge.source == a or edge.mark in SYMMETRIC
    return edge.shown if forwards else _turned(edge.shown)


def _turned(mark: str) -> str:
    return mark[::-1].replace(">", "<")
