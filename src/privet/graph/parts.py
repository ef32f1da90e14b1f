"""What the parts of a graph must be: its names, its edges, its undecided pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from privet.errors import GraphError, expect
from privet.graph.edge import ALLOWED, MARKS, SYMMETRIC, Edge, Kind

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def texts(names: Any, what: str) -> tuple[str, ...]:
    """Several names."""
    expect(names, Sequence, what, "give a list of names", GraphError)
    for name in names:
        if not isinstance(name, str):
            raise GraphError(f"node name {name!r} is not allowed; {what} takes texts")
    return tuple(names)


def check_nodes(nodes: tuple[str, ...]) -> None:
    for name in nodes:
        if not isinstance(name, str) or not name or _HALF_CHARACTER.search(name):
            raise GraphError(
                f"node name {name!r} is not allowed; use a text that is not empty and is "
                "valid Unicode"
            )
    if len(set(nodes)) < len(nodes):
        twice = next(name for name in nodes if nodes.count(name) > 1)
        raise GraphError(f"node {twice!r} is listed more than once; node names must differ")


def check_edge(edge: Edge, kind: Kind, at: Mapping[str, int]) -> None:
    for name in (edge.source, edge.target):
        if name not in at:
            raise GraphError(f"edge {edge} needs the node {name!r}; add it to nodes")
    if edge.source == edge.target:
        raise GraphError(f"edge {edge} joins a node to itself; remove it")
    if edge.mark not in ALLOWED[kind]:
        raise GraphError(
            f"edge {edge} cannot be in a {kind}, which allows only "
            f"{' '.join(m for m in MARKS if m in ALLOWED[kind])}; change the mark or the kind"
        )


def canonical(edge: Edge, at: Mapping[str, int]) -> Edge:
    backwards = edge.mark in SYMMETRIC and at[edge.source] > at[edge.target]
    return edge.reversed if backwards else edge


def sorted_pairs(
    pairs: Sequence[tuple[str, str]], at: Mapping[str, int], joined: Mapping[frozenset[str], Edge]
) -> tuple[tuple[str, str], ...]:
    """Pairs of nodes in their order, less those that an edge has joined since."""
    expect(pairs, (list, tuple), "undecided", "give a list of pairs of nodes", GraphError)
    for pair in pairs:
        expect(pair, (list, tuple), "an undecided pair", "give two nodes", GraphError)
        if len(set(pair)) != 2 or not set(pair) <= at.keys():
            raise GraphError(f"the undecided pair {list(pair)!r} must name two nodes of the graph")
    told = {
        tuple(sorted(pair, key=at.__getitem__)) for pair in pairs if frozenset(pair) not in joined
    }
    return cast(
        tuple[tuple[str, str], ...], tuple(sorted(told, key=lambda pair: [at[n] for n in pair]))
    )


def repeated(edges: tuple[Edge, ...]) -> str:
    pairs = [frozenset((edge.source, edge.target)) for edge in edges]
    pair = next(pair for pair in pairs if pairs.count(pair) > 1)
    return " and ".join(repr(name) for name in sorted(pair))
