"""Confidence: how often replicas of the evidence agree with the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privet.graph.graph import Edge, Graph

Bools = NDArray[np.bool_]


def with_confidence(names: Sequence[str], found: Bools, replicas: Sequence[Bools]) -> Graph:
    """The graph, each edge with the share of replicas that join the two columns, and each arrow
    with the share, of those that join them, that draw the same arrow."""
    joined = [replica | replica.T for replica in replicas]
    edges = []
    for edge in Graph.from_matrix(tuple(names), found, "cpdag").edges:
        i, j = names.index(edge.source), names.index(edge.target)
        holding = [r for r, both in zip(replicas, joined, strict=True) if both[i, j]]
        directed = edge.mark == "-->"
        agreeing = sum(bool(r[i, j] and not r[j, i]) for r in holding)
        edges.append(
            Edge(
                edge.source,
                edge.target,
                edge.mark,
                confidence=round(len(holding) / len(replicas), 3) if replicas else None,
                arrow_confidence=(
                    round(agreeing / len(holding), 3) if directed and holding else None
                ),
            )
        )
    return Graph("cpdag", tuple(names), tuple(edges))
