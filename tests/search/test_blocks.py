"""Which questions could explain something, against walks through the graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from privet.graph.bits import bitsets
from privet.search.blocks import blocks, on_paths
from privet.search.skeleton import _on_paths, candidates, nearest


@pytest.mark.parametrize("density", [0.05, 0.1, 0.2, 0.5])
def test_columns_on_paths_are_those_on_a_circle_with_the_edge(density: float) -> None:
    rng = np.random.default_rng(0)
    for size in (2, 5, 12, 30):
        adjacent = np.triu(rng.random((size, size)) < density, 1)
        adjacent |= adjacent.T
        for order in (1, 2):
            none = np.zeros_like(adjacent)
            rows = candidates(adjacent, nearest(adjacent, np.ones(adjacent.shape), 8), order, none)
            near = bitsets(adjacent)
            walked = [_on_paths(near, x, y, given) for x, y, *given in rows.tolist()]
            assert on_paths(adjacent, rows).tolist() == walked


def test_blocks_are_the_biconnected_components() -> None:
    rng = np.random.default_rng(1)
    for size in (3, 10, 40):
        adjacent = np.triu(rng.random((size, size)) < 2 / size, 1)
        adjacent |= adjacent.T
        found = blocks(adjacent)
        assert ((found >= 0) == adjacent).all()
        parts = {
            frozenset(map(frozenset, edges))
            for edges in nx.biconnected_component_edges(nx.from_numpy_array(adjacent))
        }
        own = {
            frozenset(frozenset(edge) for edge in np.argwhere(found == number).tolist())
            for number in np.unique(found[adjacent]).tolist()
        }
        assert own == parts
