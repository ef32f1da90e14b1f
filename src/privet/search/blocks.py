"""Which columns lie on a path between two that are joined: those on a circle with their edge."""

from __future__ import annotations

import numpy as np

from privet.arrays import Bools, Indices, Integers


def on_paths(adjacent: Bools, questions: Indices) -> Bools:
    """Of questions (x, y, *Z), x - y joined and Z neighbours of x, or of y: whether each z lies on
    a path between x and y beside their edge. As edges go, none comes to lie on one."""
    x, y, given = questions[:, :1], questions[:, 1:2], questions[:, 2:]
    block = blocks(adjacent)
    same = [(block[end, given] == block[x, y]).all(axis=1) for end in (x, y)]
    return np.asarray(same[0] | same[1])


def blocks(adjacent: Bools) -> Integers:
    """A number for each edge, the same for those on a common circle; -1 where there is no edge.

    Each edge beside a spanning tree closes one circle with it, and edges that circles join step by
    step are on a common one.
    """
    above, depth = _tree(adjacent)
    group = list(range(len(adjacent)))  # of the edges of the tree, by their lower ends

    def found(node: int) -> int:
        while group[node] != node:
            group[node] = node = group[group[node]]
        return node

    pairs = np.argwhere(np.triu(adjacent)).tolist()
    for a, b in pairs:
        met = -1  # an edge of this circle
        while a != b:
            a, b = (a, b) if depth[a] >= depth[b] else (b, a)
            own, a = found(a), above[a]
            met = own if met < 0 else met
            group[own] = met = found(met)
    out = np.full(adjacent.shape, -1)
    for a, b in pairs:
        out[a, b] = out[b, a] = found(a if depth[a] >= depth[b] else b)
    return out


def _tree(adjacent: Bools) -> tuple[list[int], list[int]]:
    """Of a spanning forest: what is above each node (itself at the top), and how deep it lies."""
    size = len(adjacent)
    neighbours = [np.flatnonzero(row).tolist() for row in adjacent]
    above, depth = list(range(size)), [-1] * size
    for top in range(size):
        if depth[top] >= 0:
            continue
        depth[top], waiting = 0, [top]
        for node in waiting:
            for other in neighbours[node]:
                if depth[other] < 0:
                    above[other], depth[other] = node, depth[node] + 1
                    waiting.append(other)
    return above, depth
