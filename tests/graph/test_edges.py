"""Lists of edges, circles and names: what others call the truth can be read and compared."""

from __future__ import annotations

from pathlib import Path

import networkx
import pytest

import privet
from privet.cli.main import main
from privet.errors import GraphError
from privet.graph import exports
from privet.graph.formats import files
from privet.graph.formats.names import SUFFIXES

CIRCLE = ["a --> b", "b --> c", "c --> a", "c --> d"]
TEXTS = {
    "arrows.txt": "# the truth\na --> b\nb -> c\nd <-- c\ne\n",
    "pairs.edges": "a,b\nb,c\nc,d\ne\n",
    "spaces.txt": "a b\nb\tc\nc d\ne\n",
    "header.csv": "Cause,Effect\na,b\nb,c\nc,d\ne,\n",
    "marks.csv": "source;mark;target\na;-->;b\nb;->;c\nc;-->;d\ne;;\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_lists_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(TEXTS[name])
    graph = privet.load_graph(tmp_path / name)
    assert [str(edge) for edge in graph.edges] == ["a --> b", "b --> c", "c --> d"]
    assert graph.kind == "dag" and set(graph.nodes) == set("abcde")


@pytest.mark.parametrize(
    "text", ["", "a ~~> b c d\n", "a --> a\n", "a,b,c,d\n", "a --> b\nb --> a\n"]
)
def test_what_is_no_list_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.edges").write_text(text)
    with pytest.raises(GraphError, match=r"x\.edges"):
        privet.load_graph(tmp_path / "x.edges")


def test_a_circle_is_compared_as_it_is() -> None:
    truth = privet.Graph.from_edges(CIRCLE)
    assert truth.kind == "cyclic"
    same = privet.compare(truth, truth)
    assert (same.shd, same.directed_f1, same.sid) == (0, 1.0, None)
    found = privet.Graph.from_edges(["a --> b", "b --> c", "a --> c", "c --- d"])
    assert privet.compare(truth, found).shd == 2  # a and c turned round, d undirected
    for what in (truth.cpdag, truth.extension, truth.pag, truth.to_gml):
        with pytest.raises(GraphError):
            what()


@pytest.mark.parametrize("suffix", [".json", ".dot", ".graphml", ".csv", ".edges", ".dagitty"])
def test_circles_survive_files(suffix: str, tmp_path: Path) -> None:
    truth = privet.Graph.from_edges(CIRCLE, nodes=["e"])
    privet.save_graph(truth, path := tmp_path / f"truth{suffix}")
    found = privet.load_graph(path)
    assert (found.kind, set(found.edges)) == ("cyclic", set(truth.edges))
    assert set(found.nodes) == set(truth.nodes)


def test_a_circle_is_drawn() -> None:
    assert str(privet.Graph.from_edges(CIRCLE).plot()).count("<polygon") == 4


def test_the_command_compares_lists_and_circles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "truth.csv").write_text("from,to\na,b\nb,c\nc,a\n")
    privet.save_graph(privet.Graph.from_edges(["a --> b"], nodes=list("abcd")), tmp_path / "f.json")
    assert main(["compare", str(tmp_path / "truth.csv"), str(tmp_path / "f.json"), "--json"]) == 0
    assert '"shd": 2' in capsys.readouterr().out


def test_graphml_carries_names(tmp_path: Path) -> None:
    graph = privet.Graph.from_edges(["smoke --> cancer"])
    found = networkx.parse_graphml(graph.to_graphml().encode())
    assert dict(found.nodes(data="name")) == {"smoke": "smoke", "cancer": "cancer"}
    numbered = networkx.relabel_nodes(found, {"smoke": "n0", "cancer": "n1"})  # as igraph writes
    text = "\n".join(networkx.generate_graphml(numbered))
    assert files.from_graphml(text) == graph


def test_convert_lists_every_format(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["convert", "--help"]) == 0
    said = capsys.readouterr().out
    graph = privet.Graph.from_edges(["a --> b"])
    for suffix in SUFFIXES:
        assert f"  {suffix} " in said
        privet.save_graph(graph, path := tmp_path / f"graph{suffix}")
        if suffix == ".svg":
            with pytest.raises(GraphError, match="pictures"):
                privet.load_graph(path)
        else:
            assert privet.load_graph(path) == graph


def test_neighbours_children_and_frames() -> None:
    graph = privet.Graph.from_edges(["a --> b", "b --- c"])
    assert graph.children("a") == ("b",) and graph.neighbours("b") == ("a", "c")
    assert graph.edges_frame().shape == graph.edges_frame("polars").shape == (2, 7)
    assert privet.Graph("dag", ("a",)).edges_frame().shape == (0, 7)


def test_frames_of_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = privet.Graph.from_edges(["a --> b"])
    there = {"pandas"}
    monkeypatch.setattr(exports, "find_spec", lambda name: name if name in there else None)
    with pytest.raises(GraphError, match=r"^polars is not installed; install it"):
        graph.edges_frame("polars")
    there.clear()
    with pytest.raises(GraphError, match=r"^neither pandas nor polars is installed; install one"):
        graph.edges_frame()
