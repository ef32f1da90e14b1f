"""Every format gives back what it was given, and refuses what it cannot read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import GraphError, OutputError
from privet.graph.classes import kind_of
from privet.graph.edge import ALLOWED, KINDS, OPEN_MARKS, SYMMETRIC, TENTATIVE, Edge, Kind, Mark
from privet.graph.formats import files as io
from privet.graph.formats.common import narrowest
from privet.graph.formats.files import load, save
from privet.graph.graph import Graph

ODD = (
    *("a b", 'say "hi"', "naïve, ünïcode", "back\\slash\\", "node", "x -> y;", "<&'>"),
    "日本\nタブ\t",
)
CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
NAMES = st.lists(
    st.sampled_from(ODD) | st.text(CHARACTERS, min_size=1, max_size=6), max_size=6, unique=True
)
MARKS: dict[Kind, list[Any]] = {kind: sorted(ALLOWED[kind]) for kind in get_args(Kind)}
SHARES = st.none() | st.floats(0, 1)


@st.composite
def graphs(draw: st.DrawFn, kinds: tuple[Kind, ...] = get_args(Kind)) -> Graph:
    kind, nodes = draw(st.sampled_from(kinds)), draw(NAMES)
    edges: list[Edge] = []
    order = draw(st.permutations(nodes))
    for later in range(len(order)):
        for earlier in range(later):
            mark: Mark | None = draw(st.none() | st.sampled_from(MARKS[kind]))
            if mark:
                source, target = order[earlier], order[later]
                if mark in ("o->", "o--") and draw(st.booleans()):
                    source, target = target, source
                origin = draw(st.none() | st.sampled_from(["stage 1", 'odd "text"']))
                why = draw(st.none() | st.sampled_from(list(TENTATIVE)))
                why = None if mark in OPEN_MARKS else why
                edges.append(Edge(source, target, mark, draw(SHARES), draw(SHARES), origin, why))
    if kind == "cpdag":
        return narrowest("cpdag", nodes, edges)
    if kind == "mpdag" and kind_of(Graph("pdag", tuple(nodes), tuple(edges)).matrix()) == "pdag":
        kind = "pdag"
    return Graph(kind, tuple(nodes), tuple(edges))


def plain(graph: Graph) -> Graph:
    """The graph without what a matrix cannot hold."""
    edges = [Edge(edge.source, edge.target, edge.mark) for edge in graph.edges]
    return Graph(graph.kind, graph.nodes, tuple(edges))


@given(graphs())
def test_formats_that_keep_everything(graph: Graph) -> None:
    assert io.from_json(io.to_json(graph)) == graph
    assert io.from_dot(io.to_dot(graph)) == graph
    assert io.from_graphml(io.to_graphml(graph)) == graph
    assert io.from_networkx(io.to_networkx(graph)) == graph


@given(graphs())
def test_formats_that_keep_marks(graph: Graph) -> None:
    assert io.from_csv(io.to_csv(graph)) == plain(graph)
    found = io.from_dagitty(io.to_dagitty(graph))
    assert found.edges == plain(graph).edges and found.nodes == graph.nodes
    if graph.kind not in ("mpdag", "pdag"):  # whose name it has not
        assert found.kind == graph.kind
    names, kind = graph.nodes, graph.kind
    assert io.from_causal_learn(io.to_causal_learn(graph), names, kind) == plain(graph)
    assert io.from_pcalg(io.to_pcalg(graph), names, kind) == plain(graph)


@given(graphs(kinds=("dag",)))
def test_gml_for_dowhy(graph: Graph) -> None:
    text = io.to_dowhy_gml(graph)
    assert io.from_dowhy_gml(text) == graph
    as_dowhy_reads_it = networkx.DiGraph(networkx.parse_gml(text))
    assert set(as_dowhy_reads_it.nodes) == set(graph.nodes)
    assert set(as_dowhy_reads_it.edges) == graph.arcs()


@given(graphs())
def test_without_a_kind_the_narrowest_is_taken(graph: Graph) -> None:
    found = io.from_causal_learn(io.to_causal_learn(graph), graph.nodes)
    assert KINDS.index(found.kind) <= KINDS.index(graph.kind)
    assert found.edges == plain(graph).edges


@pytest.mark.parametrize(
    "suffix", [".json", ".dot", ".gv", ".graphml", ".csv", ".gml", ".dagitty", ".txt", ".JSON"]
)
def test_files(tmp_path: Path, suffix: str) -> None:
    edges = tuple(Edge(a, b, "-->") for a, b in pairwise(ODD))
    graph = Graph("dag", ODD, edges)
    save(graph, tmp_path / f"graph{suffix}")
    assert load(str(tmp_path / f"graph{suffix}")) == graph


A_TO_B = Graph("dag", ("a", "b"), (Edge("a", "b", "-->"),))
A_LINE_B = Graph("cpdag", ("a", "b"), (Edge("a", "b", "---"),))
A_HALF_B = Graph("pag", ("a", "b"), (Edge("a", "b", "o->"),))


def test_the_conventions_are_those_of_the_others() -> None:
    assert io.to_causal_learn(A_TO_B).tolist() == [[0, -1], [1, 0]]
    assert io.to_causal_learn(A_LINE_B).tolist() == [[0, -1], [-1, 0]]
    assert io.to_causal_learn(A_HALF_B).tolist() == [[0, 2], [1, 0]]
    assert io.from_causal_learn([[0, 1], [1, 0]], "ab").edges[0].mark == "<->"
    assert io.to_pcalg(A_TO_B).tolist() == [[0, 0], [1, 0]]
    assert io.to_pcalg(A_LINE_B).tolist() == [[0, 1], [1, 0]]
    assert io.to_pcalg(A_HALF_B).tolist() == [[0, 2], [1, 0]]
    assert io.to_csv(A_TO_B) == "dag,a,b\na,0,1\nb,0,0\n"
    assert io.to_dagitty(A_TO_B) == 'dag {\n  "a"\n  "b"\n  "a" -> "b"\n}\n'
    assert '"a" -- "b"' in io.to_dagitty(A_LINE_B) and "pdag {" in io.to_dagitty(A_LINE_B)
    assert '"a" @-> "b"' in io.to_dagitty(A_HALF_B)
    assert '"a" -> "b";' in io.to_dot(A_TO_B)
    assert set(io.to_networkx(A_LINE_B).edges) == {("a", "b"), ("b", "a")}


def test_the_format_of_graph_json() -> None:
    edge = Edge("a", "b", "-->", 0.98, 0.9)
    assert json.loads(io.to_json(Graph("mpdag", ("a", "b"), (edge,)))) == {
        "kind": "mpdag",
        "nodes": ["a", "b"],
        "edges": [
            {"from": "a", "to": "b", "mark": "-->", "confidence": 0.98, "arrow_confidence": 0.9}
        ],
        "undecided": [],
    }
    weak = replace(edge, arrow_confidence=0.2, tentative="support")
    told = json.loads(io.to_json(Graph("mpdag", ("a", "b"), (weak,))))["edges"][0]
    assert (told["mark"], told["tentative"]) == ("-->", "support")
    assert json.loads(io.to_json(A_TO_B))["edges"] == [{"from": "a", "to": "b", "mark": "-->"}]


OLD = """{"kind": "cpdag", "nodes": ["a", "b", "c", "d"], "edges": [
 {"from": "a", "to": "c", "mark": "---", "confidence": 0.9, "arrow_confidence": 0.3, "lean": "c"},
 {"from": "b", "to": "c", "mark": "-->", "confidence": 0.9, "arrow_confidence": 0.8},
 {"from": "c", "to": "d", "mark": "-->"}%s]}"""


def test_a_line_of_an_old_file_that_leans_is_a_tentative_arrow() -> None:
    """So the class is what the search had found; it was none in the file."""
    graph = io.from_json(OLD % "")
    assert graph.kind == "cpdag" and graph.extension().arcs() >= {("a", "c"), ("b", "c")}
    assert graph.edge("a", "c") == Edge("a", "c", "-->", 0.9, 0.3, tentative="support")
    again = io.from_dot(
        'digraph { kind="cpdag"; a -> b [dir=both, arrowtail=none, arrowhead=none, lean=a] }'
    )
    assert str(again) == "b -?> a" and again.kind == "mpdag"


def test_an_old_file_that_is_no_class_says_so() -> None:
    """Arrows that others turned later may run in a circle with those that lean."""
    late = ', {"from": "d", "to": "a", "mark": "-->"}'
    graph = io.from_json(OLD % late)
    assert graph.kind == "pdag" and str(graph.edge("a", "c")) == "a --- c"
    known = '{"kind": "cpdag", "nodes": ["a", "b"], "edges": [{"from":"a","to":"b","mark":"-->"}]}'
    assert io.from_json(known).kind == "mpdag"
    open_ = '{"from":"a","to":"b","mark":"-->"},{"from":"b","to":"c","mark":"---"}'
    text = '{"kind": "cpdag", "nodes": ["a", "b", "c"], "edges": [' + open_ + "]}"
    assert io.from_json(text).kind == "pdag"
    assert io.from_json(text).extension().arcs() == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize(
    "text",
    [
        "dag { a -> b }",
        'dag {\n bb="0,0,1,1"\n a [exposure,pos="-1,0"]\n b [outcome]\n a -> b [beta=-.3]\n}',
        'dag G { b <- a; "b" }',
    ],
)
def test_dagitty_as_people_write_it(text: str) -> None:
    assert io.from_dagitty(text).arcs() == {("a", "b")}


def test_dagitty_groups_and_chains() -> None:
    graph = io.from_dagitty("pag { a @-> {b c} <-> d @-@ e ; e --@ f }")
    assert str(graph) == "a o-> b\na o-> c\nb <-> d\nc <-> d\nd o-o e\nf o-- e"


def test_dot_as_others_write_it() -> None:
    text = """strict digraph "some name" { // a comment
      graph [rankdir=LR]; node [shape=box]; edge [color=red]; /* another */
      a -> b -> c [weight=2]
      a -> d [dir=none]; d -> e [dir=both, arrowtail=odot]; "node" -> e [dir=back]
    }"""
    assert str(io.from_dot(text)) == "a --> b\na --- d\nb --> c\nd o-> e\ne --> node"
    assert str(io.from_dot("graph { a -- {b c} }")) == "a --- b\na --- c"


def test_networkx_graphs_of_others() -> None:
    both = networkx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    assert str(io.from_networkx(both)) == "a --- b\nb --> c"
    assert io.from_networkx(networkx.DiGraph([("a", "b")])).kind == "dag"
    assert str(io.from_networkx(networkx.Graph([("a", "b")]))) == "a --- b"


def test_symmetric_marks_stand_in_networkx_twice() -> None:
    pag = Graph("pag", ("a", "b", "c"), (Edge("a", "b", "<->"), Edge("b", "c", "o->")))
    G = io.to_networkx(pag)
    twice = {mark for a, b, mark in G.edges(data="mark") if G.has_edge(b, a)}
    assert twice == {"<->"} and twice <= SYMMETRIC


def test_dowhy_takes_only_dags() -> None:
    with pytest.raises(GraphError, match=r"choose a DAG of a CPDAG by graph.extension\(\)"):
        io.to_dowhy_gml(A_LINE_B)
    directed = replace(A_TO_B, kind="mpdag")
    assert io.from_dowhy_gml(io.to_dowhy_gml(directed)).arcs() == {("a", "b")}


def test_xml_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(GraphError, match="character that XML cannot hold; rename it, or use JSON"):
        io.to_graphml(Graph("dag", ("a\x00",)))


BAD_TEXTS = [
    (io.from_json, "", "not JSON"),
    (io.from_json, "{", "not JSON"),
    (io.from_json, "[" * 100_000, "not JSON"),
    (io.from_json, "[1]", "one JSON object, not a list"),
    (io.from_json, "{}", "'nodes' is missing"),
    (io.from_json, '{"kind": "dag", "nodes": "a", "edges": []}', "'a', but must be a list"),
    (io.from_json, '{"kind": 1, "nodes": [], "edges": []}', "must be a text"),
    (io.from_json, '{"kind": "dag", "nodes": [1], "edges": []}', "node name 1"),
    (io.from_json, '{"kind": "dag", "nodes": [["a"]], "edges": []}', "node name"),
    (io.from_json, '{"kind": "dag", "nodes": ["a"], "edges": ["a"]}', "from, to and mark"),
    (io.from_json, '{"kind": "dag", "nodes": ["a"], "edges": [{"from": "a"}]}', "'to' is missing"),
    (io.from_dot, "", "digraph or graph must stand"),
    (io.from_dot, "digraph", "{ must stand"),
    (io.from_dot, "digraph { a -> ", "line 1 has 'the end of the text'"),
    (io.from_dot, "digraph { a -- b }", "does not fit a digraph"),
    (io.from_dot, "digraph { a -> b [dir=up] }", "dir=up; use forward"),
    (io.from_dot, "digraph { a -> b [arrowhead=crow] }", "'crow' is unknown"),
    (io.from_dot, "digraph { a -> b [confidence=high] }", "confidence is 'high'"),
    (io.from_dot, "digraph {\n subgraph x { a } }", "line 2 has 'subgraph'"),
    (io.from_dot, "digraph { a:port -> b }", "':port"),
    (io.from_dot, 'digraph { "a }', "line 1 has '\"a }'"),
    (io.from_dot, "digraph { a } b", "the end of the text"),
    (io.from_dot, 'digraph { kind="tree"; a }', "'tree' is unknown"),
    (io.from_dagitty, "mag { a }", "give its pag"),
    (io.from_dagitty, "graph { a }", "dag or pdag or pag"),
    (io.from_dagitty, "dag { a <-> b }", "allows only -->"),
    (io.from_dagitty, "dag { a -> b b -> a }", "joined by two edges"),
    (io.from_graphml, "", "not GraphML"),
    (io.from_graphml, "<graphml/>", "not GraphML"),
    (io.from_graphml, "<a><b></a>", "not GraphML"),
    (io.from_dowhy_gml, "", "not GML"),
    (io.from_dowhy_gml, "graph [", "not GML"),
    (io.from_dowhy_gml, "graph [ directed 0 ]", "is undirected"),
    (io.from_dowhy_gml, 'graph [ directed 1 node [ id 0 label "a" ] edge [ source 0 ] ]', "GML"),
    (io.from_csv, "", "is empty"),
    (io.from_csv, 'dag,"a\n', "not a CSV table"),
    (io.from_csv, "dag,a,b\na,0,1\n", "needs 2 rows"),
    (io.from_csv, "dag,a,b\na,0\nb,0,0\n", "needs 2 rows"),
    (io.from_csv, "dag,a,b\nb,0,1\na,0,0\n", "row 'b' stands where 'a' should"),
    (io.from_csv, "dag,a,b\na,0,x\nb,0,0\n", "no number"),
    (io.from_csv, "dag,a,b\na,0,2\nb,0,0\n", "only 0 and 1"),
    (io.from_csv, "dag,a,b\na,0,0.5\nb,0,0\n", "not whole"),
    (io.from_csv, "dag,a,b\na,0,nan\nb,0,0\n", "not whole"),
    (io.from_csv, "dag,a,b\na,0,1\nb,1,0\n", "allows only -->"),
    (io.from_csv, "dag,a,b\na,1,0\nb,0,0\n", "joins a node to itself"),
    (io.from_csv, "pag,a,b\na,0,1\nb,0,0\n", r"numbers \(0, 1\) between 'a' and 'b'"),
    (io.from_csv, "dag,a,a\na,0,0\na,0,0\n", "more than once"),
]


@pytest.mark.parametrize(("read", "text", "message"), BAD_TEXTS)
def test_bad_texts_are_refused(read: Callable[[str], Graph], text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        read(text)


STARTS = ["", "digraph {", "dag {", "<graphml>", "graph [", "{", "dag,a\na,"]


@given(st.text(), st.sampled_from(STARTS))
def test_no_text_makes_a_traceback(text: str, start: str) -> None:
    for read in {reader for reader, _text, _message in BAD_TEXTS}:
        try:
            graph = read(start + text)
        except GraphError:
            continue
        assert isinstance(graph, Graph)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: io.from_causal_learn([[0, 5], [1, 0]], "ab"), r"among \[-1, 1, 2\]"),
        (lambda: io.from_causal_learn([[0, 1]], "ab"), "2 names need 2 rows"),
        (lambda: io.from_causal_learn([[0, 1], [0]], "ab"), "no number"),
        (lambda: io.from_pcalg(np.full((2, 2), 2), "ab"), 'say that the kind is "pag"'),
        (lambda: io.from_pcalg([["x"]], "a"), "no number"),
        (lambda: io.from_networkx(networkx.MultiDiGraph()), "use networkx.DiGraph"),
        (lambda: io.from_networkx("a -> b"), "a str is not a simple networkx graph"),
        (lambda: io.from_networkx(networkx.DiGraph([(1, 2)])), r"relabel_nodes\(G, str\)"),
    ],
)
def test_bad_objects_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        make()


def test_bad_files_are_refused(tmp_path: Path) -> None:
    refused = [("graph.xyz", "ends in .xyz"), ("graph", "no suffix"), ("no.json", "cannot read")]
    for path, message in refused:
        with pytest.raises(GraphError, match=message):
            load(tmp_path / path)
    (tmp_path / "latin.json").write_bytes(b'{"kind": "\xe9"}')
    with pytest.raises(GraphError, match="not UTF-8"):
        load(tmp_path / "latin.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(GraphError, match=r"bad\.json: 'nodes' is missing"):
        load(tmp_path / "bad.json")
    with pytest.raises(OutputError, match="cannot write"):
        save(A_TO_B, tmp_path / "none" / "graph.json")
