"""Copies: nothing is joined to them but their originals."""

from __future__ import annotations

import pytest

from privet.graph.copies import hang, set_apart
from privet.graph.edge import Edge, Kind
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge

NAMES = ("a", "b", "copy")


def test_copies_are_forbidden_to_a_search() -> None:
    known = set_apart(Knowledge(forbidden=frozenset({("a", "b")})), NAMES, {"copy": "a"})
    known.check(NAMES)
    assert not any(known.may(x, y) for x in NAMES for y in NAMES if x != y and "copy" in (x, y))
    assert known.may("b", "a") and not known.may("a", "b")


@pytest.mark.parametrize(
    ("kind", "mark", "shown"),
    [
        ("dag", "-->", "---"),
        ("cpdag", "---", "---"),
        ("mpdag", "-->", "---"),
        ("pag", "o-o", "o-o"),
    ],
)
def test_a_copy_hangs_beside_its_original(kind: Kind, mark: str, shown: str) -> None:
    """Where an arrow into its original makes the edge an arrow, people still see a line."""
    edges = (Edge("b", "a", "---"),) if kind == "cpdag" else (Edge("b", "a", "-->"),)
    edge = hang(Graph(kind, NAMES, edges), {"copy": "a"}, Knowledge()).edge("copy", "a")
    assert edge is not None and (edge.source, edge.mark, edge.origin) == ("a", mark, "copy")
    assert edge.shown == shown and bool(edge.why) == (mark != shown)


def test_knowledge_about_a_copy_is_kept() -> None:
    graph, copies = Graph("cpdag", NAMES), {"copy": "a"}
    back = hang(graph, copies, Knowledge(tiers=(("copy",), ("a", "b")))).edges
    assert [str(edge) for edge in back] == ["copy --> a"]
    both = frozenset({("a", "copy"), ("copy", "a")})
    assert not hang(graph, copies, Knowledge(forbidden=both)).edges
