"""A graph is what it says, and equal graphs are equal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet.errors import GraphError
from privet.graph.edge import Edge
from privet.graph.graph import Graph

COLLIDER = Graph("dag", ("a", "b", "c"), (Edge("a", "c", "-->"), Edge("b", "c", "-->")))
CHAIN = Graph("dag", ("a", "b", "c"), (Edge("a", "b", "-->", 0.9, 0.8), Edge("b", "c", "-->")))


def test_reading_a_graph() -> None:
    assert str(COLLIDER) == "a --> c\nb --> c"
    assert COLLIDER.parents("c") == ("a", "b")
    assert COLLIDER.adjacent("c", "a") and not COLLIDER.adjacent("a", "b")
    assert COLLIDER.edge("c", "b") == Edge("b", "c", "-->")
    assert COLLIDER.skeleton() == {frozenset("ac"), frozenset("bc")}
    assert COLLIDER.arcs() == {("a", "c"), ("b", "c")}
    assert CHAIN.cpdag().arcs() == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}


def test_classes_and_their_members() -> None:
    assert COLLIDER.cpdag() == Graph("cpdag", COLLIDER.nodes, COLLIDER.edges)
    pattern = CHAIN.cpdag()
    assert str(pattern) == "a --- b\nb --- c"
    assert pattern.cpdag() is pattern
    assert pattern.extension().cpdag() == pattern
    assert CHAIN.extension() is CHAIN


def test_confidence_stays_with_its_edge_and_arrow() -> None:
    edge = CHAIN.cpdag().edge("a", "b")
    assert edge is not None
    assert (edge.confidence, edge.arrow_confidence) == (0.9, None)
    sure = Graph("dag", ("a", "b", "c"), (Edge("a", "c", "-->", 0.9, 0.8), Edge("b", "c", "-->")))
    assert sure.cpdag().edge("a", "c") == Edge("a", "c", "-->", 0.9, 0.8)


def test_the_order_of_edges_and_of_symmetric_ends_does_not_matter() -> None:
    one = Graph("mpdag", ("a", "b", "c"), (Edge("c", "b", "---"), Edge("b", "a", "-->")))
    two = Graph("mpdag", ("a", "b", "c"), (Edge("b", "a", "-->"), Edge("b", "c", "---")))
    assert one == two and hash(one) == hash(two)


def test_matrices_follow_the_convention() -> None:
    A = CHAIN.matrix()
    assert A[0, 1] and A[1, 2] and A.sum() == 2
    assert Graph.from_matrix(CHAIN.nodes, A, "dag").arcs() == CHAIN.arcs()
    pattern = CHAIN.cpdag()
    assert Graph.from_matrix(pattern.nodes, pattern.matrix(), "cpdag").arcs() == pattern.arcs()


def test_relabelling() -> None:
    renamed = CHAIN.relabel({"a": "b", "b": "a"})
    assert renamed.nodes == ("b", "a", "c")
    assert str(renamed) == "b --> a\na --> c"
    assert renamed.cpdag().relabel({"a": "b", "b": "a"}) == CHAIN.cpdag()


def test_an_empty_graph() -> None:
    nothing = Graph("dag", ())
    assert nothing.cpdag() == Graph("cpdag", ()) and str(nothing) == ""


def test_an_mpdag_has_more_arrows_than_its_class() -> None:
    graph = Graph.from_edges(["a --> b", "b --> c", "a --- d"])
    assert graph.kind == "mpdag"
    assert str(graph.cpdag()) == "a --- b\na --- d\nb --- c"
    assert graph.extension().edge("a", "b") == graph.edge("a", "b")
    assert graph.extension().cpdag() == graph.cpdag()
    assert Graph.from_edges(["a --> b", "b --- c"]).kind == "pdag"  # b --> c follows


def test_people_see_what_is_tentative() -> None:
    support = Edge("a", "c", "-->", 0.9, 0.3, tentative="support")
    copy = Edge("b", "d", "-->", tentative="copy")
    graph = Graph("cpdag", tuple("abcd"), (support, Edge("b", "c", "-->"), copy.undirected))
    assert str(graph) == "a -?> c\nb --> c\nb --- d" and "(0.90, arrow 0.30)" in repr(graph)
    assert graph.edge("a", "c") == support and graph.extension().edge("a", "c") == support
    assert str(graph.as_shown()) == "a --- c\nb --> c\nb --- d"
    assert graph.as_shown().kind == "pdag" and CHAIN.as_shown() is CHAIN
    assert (copy.shown, str(copy), copy.mark) == ("---", "b --- d", "-->")
    assert copy.why.startswith("b and d say the same")
    assert Graph.from_edges(str(graph).splitlines()).edges[0].tentative == "support"


A_B = Edge("a", "b", "-->")


# What a checker of types would not let pass.
ODD: dict[str, Any] = {"kind": "tree", "nodes": (1, 2), "mark": "<--", "confidence": "high"}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Graph(ODD["kind"], ("a",)), "'tree' is unknown; use one of dag, cpdag, mpdag"),
        (lambda: Graph("cpdag", ("a", "b"), (A_B,)), "are no cpdag, .*; give the kind 'mpdag'"),
        (
            lambda: Graph("mpdag", tuple("abc"), (A_B, Edge("b", "c", "---"))),
            "are no mpdag, .*; give the kind 'pdag'",
        ),
        (lambda: Edge("a", "b", "---", tentative="support"), "only an arrow is tentative"),
        (lambda: Edge("a", "b", "-->", tentative="because"), "no known reason; use one of support"),
        (lambda: Graph("dag", ("a", "a")), "'a' is listed more than once"),
        (lambda: Graph("dag", ("", "a")), "not allowed"),
        (lambda: Graph("dag", ("half \ud800",)), "valid Unicode"),
        (lambda: Graph("dag", ODD["nodes"]), "node name 1 is not allowed"),
        (lambda: Graph("dag", ("a",), (A_B,)), "needs the node 'b'"),
        (lambda: Graph("dag", ("a",), (Edge("a", "a", "-->"),)), "joins a node to itself"),
        (lambda: Graph("dag", ("a", "b"), (Edge("a", "b", "---"),)), "allows only -->"),
        (lambda: Graph("cpdag", ("a", "b"), (Edge("a", "b", "o->"),)), "cannot be in a cpdag"),
        (lambda: Graph("dag", ("a", "b"), (A_B, Edge("b", "a", "-->"))), "'a' and 'b' are joined"),
        (
            lambda: Graph("pag", tuple("abc"), (A_B, Edge("b", "c", "-->"), Edge("c", "a", "-->"))),
            "run in a circle",
        ),
        (lambda: Edge("a", "b", ODD["mark"]), "turn the edge round"),
        (lambda: Edge("a", "b", "-->", 1.5), "confidence is 1.5; give a number from 0 to 1"),
        (lambda: Edge("a", "b", "-->", float("nan")), "from 0 to 1"),
        (lambda: Edge("a", "b", "-->", ODD["confidence"]), "confidence is 'high'"),
        (lambda: Edge("a", "b", "-->", 1, True), "arrow_confidence is True"),
        (lambda: Graph.from_matrix(("a",), np.eye(2) > 0, "dag"), "shape"),
        (lambda: Graph.from_matrix(("a", "b"), np.ones((2, 2)) > 0, "cpdag"), "itself"),
        (lambda: CHAIN.edge("a", "z"), "'z' is not a node"),
        (lambda: CHAIN.parents("z"), "'z' is not a node"),
        (lambda: Graph("pag", ("a",)).arcs(), "is a PAG"),
        (lambda: Graph("pag", ("a",)).matrix(), "is a PAG"),
        (lambda: Graph("pag", ("a",)).cpdag(), "is a PAG"),
        (lambda: Graph("pag", ("a",)).extension(), "is a PAG"),
        (lambda: CHAIN.relabel({"a": "b"}), "more than once"),
        (
            lambda: Graph.from_matrix(
                "abcd",
                np.array([[i != j and (i + j) % 2 for i in range(4)] for j in range(4)]),
                "pdag",
            ).extension(),
            "no DAG has just the arrows",
        ),
    ],
)
def test_what_is_not_a_graph_is_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(GraphError, match=text):
        make()


def test_knowledge_is_light_to_import() -> None:
    code = (
        "import sys; from privet.graph.knowledge import Knowledge; sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
