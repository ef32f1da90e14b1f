"""Copies: nothing is joined to them but their originals."""

from __future__ import annotations

import pytest

from privet.graph.copies import hang, set_apart
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge

NAMES = ("a", "b", "copy")


def test_copies_are_forbidden_to_a_search() -> None:
    known = set_apart(Knowledge(forbidden=frozenset({("a", "b")})), NAMES, {"copy": "a"})
    known.check(NAMES)
    assert not any(known.may(x, y) for x in NAMES for y in NAMES if x != y and "copy" in (x, y))
    assert known.may("b", "a") and not known.may("a", "b")


@pytest.mark.parametrize(("kind", "mark"), [("dag", "-->"), ("cpdag", "---"), ("pag", "o-o")])
def test_a_copy_hangs_beside_its_original(kind: str, mark: str) -> None:
    graph = Graph(kind, NAMES, (Edge("b", "a", "-->"),))  # type: ignore[arg-type]
    edge = hang(graph, {"copy": "a"}, Knowledge()).edge("copy", "a")
    assert edge is not None and (edge.source, edge.mark, edge.origin) == ("a", mark, "copy")


def test_knowledge_about_a_copy_is_kept() -> None:
    graph, copies = Graph("cpdag", NAMES), {"copy": "a"}
    back = hang(graph, copies, Knowledge(tiers=(("copy",), ("a", "b")))).edges
    assert [str(edge) for edge in back] == ["copy --> a"]
    both = frozenset({("a", "copy"), ("copy", "a")})
    assert not hang(graph, copies, Knowledge(forbidden=both)).edges
