"""Confidence: how often replicas of the evidence agree with the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privet.graph.graph import Edge, Graph

Bools = NDArray[np.bool_]


def with_confidence(names: Sequence[str], found: Bools, replicas: Sequence[Bools]) -> Graph:
    """The graph, each edge with the share of replicas that join the two columns, and each arrow
    with the share that draw the same arrow.

    The share is (k + 1/2) / (r + 1): r replicas in full agreement are no certainty. How often
    edges of each confidence are true is measured in ``bench/confidence.py``.
    """
    stack = np.array(replicas, dtype=bool).reshape(-1, len(names), len(names))
    turned = stack & ~stack.transpose(0, 2, 1)
    joined = _share(stack | stack.transpose(0, 2, 1))
    arrows = _share(turned)
    edges = []
    for edge in Graph.from_matrix(tuple(names), found, "cpdag").edges:
        at = names.index(edge.source), names.index(edge.target)
        directed = edge.mark == "-->" and len(stack)
        edges.append(
            Edge(
                edge.source,
                edge.target,
                edge.mark,
                confidence=float(joined[at]) if len(stack) else None,
                arrow_confidence=float(arrows[at]) if directed else None,
            )
        )
    return Graph("cpdag", tuple(names), tuple(edges))


def _share(agree: Bools) -> NDArray[np.float64]:
    out: NDArray[np.float64] = np.round((agree.sum(axis=0) + 0.5) / (len(agree) + 1), 3)
    return out
