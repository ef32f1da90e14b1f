"""A picture comes out for every graph, complete, well-formed and without overlaps."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import pytest

from privet.graph.drawing import svg
from privet.graph.edge import Edge, Mark
from privet.graph.graph import Graph
from privet.graph.layout import BOX_HEIGHT, place

SVG = "{http://www.w3.org/2000/svg}"
NAMES = tuple("abcdef")


def groups(text: str, kind: str) -> list[ET.Element]:
    return [g for g in ET.fromstring(text).iter(f"{SVG}g") if g.get("class") == kind]


def number(element: ET.Element, key: str) -> float:
    return float(element.attrib[key])


def random_graph(rng: np.random.Generator, size: int, density: float) -> Graph:
    order = rng.permutation(size)
    A = np.triu(rng.random((size, size)) < density, 1)[np.ix_(order, order)]
    return Graph.from_matrix([f"node {i}" for i in range(size)], A, "dag")


def test_every_node_and_edge_is_drawn_with_its_marks() -> None:
    marks: tuple[Mark, ...] = ("-->", "---", "<->", "o->", "o-o", "o--")
    edges = tuple(
        Edge(a, b, mark) for (a, b), mark in zip(combinations(NAMES, 2), marks, strict=False)
    )
    text = svg(Graph("pag", NAMES, edges))
    assert [g.findtext(f"{SVG}text") for g in groups(text, "node")] == list(NAMES)
    drawn = {g.findtext(f"{SVG}title"): g for g in groups(text, "edge")}
    for edge in edges:
        picture = drawn[str(edge)]
        assert len(picture.findall(f"{SVG}polygon")) == edge.mark.count(">") + edge.mark.count("<")
        assert len(picture.findall(f"{SVG}circle")) == edge.mark.count("o")


def test_confidence_is_seen() -> None:
    edges = (Edge("a", "b", "-->", 0.25, 0.5), Edge("b", "c", "-->", 1.0))
    text = svg(Graph("dag", ("a", "b", "c"), edges))
    assert [g.findtext(f"{SVG}text") for g in groups(text, "label")] == ["0.25 / 0.50", "1.00"]
    unsure, sure = groups(text, "edge")
    assert number(unsure, "opacity") < number(sure, "opacity") == 1.0
    assert unsure.findtext(f"{SVG}title") == "a --> b, confidence 0.25, of its arrow 0.50"


def test_what_is_tentative_is_dashed_and_the_legend_says_so() -> None:
    edges = (
        Edge("a", "c", "-->", 0.9, 0.3, tentative="support"),
        Edge("b", "c", "-->", 0.9, 0.8),
        Edge("c", "d", "-->", tentative="copy"),
    )
    text = svg(Graph("cpdag", tuple("abcd"), edges, (("a", "b"),)))
    drawn = {g.findtext(f"{SVG}title", ""): g for g in groups(text, "edge")}
    shown = [
        (title, "stroke-dasharray" in g.find(f"{SVG}path").attrib, len(g.findall(f"{SVG}polygon")))  # type: ignore[union-attr]
        for title, g in drawn.items()
    ]
    assert [(dashed, heads) for _, dashed, heads in shown] == [(True, 1), (False, 1), (True, 0)]
    assert "a -?> c, confidence 0.90, of its arrow 0.30; too little" in shown[0][0]
    assert "c --- d; c and d say the same" in shown[2][0]
    for what in ("dashed arrow", "dashed line", "dotted", "0.97 / 0.79"):
        assert f">{what}: " in text
    assert "dashed" not in svg(Graph("cpdag", tuple("abc"), (Edge("a", "b", "---"),)))


def test_names_cannot_break_the_picture() -> None:
    name = '<script>alert("x")</script>&\x00\n' + "long " * 20
    text = svg(Graph("dag", (name, "b"), (Edge(name, "b", "-->"),)), title=name)
    assert "<script>" not in text
    shown = groups(text, "node")[0]
    assert shown.findtext(f"{SVG}text", "").endswith("…")
    assert shown.findtext(f"{SVG}title", "").startswith("<script>")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(("size", "density"), [(0, 0), (1, 0), (40, 0), (12, 1), (30, 0.1)])
def test_boxes_do_not_overlap_and_lie_inside(size: int, density: float) -> None:
    text = svg(random_graph(np.random.default_rng(6), size, density))
    root = ET.fromstring(text)
    rects = [next(g.iter(f"{SVG}rect")) for g in groups(text, "node")]
    boxes = [tuple(number(r, k) for k in ("x", "y", "width", "height")) for r in rects]
    assert len(boxes) == size
    for x, y, w, h in boxes:
        assert x >= 0 and y >= 0
        assert x + w < number(root, "width") and y + h < number(root, "height")
    for (x, y, w, h), (u, v, s, t) in combinations(boxes, 2):
        assert x + w < u or u + s < x or y + h < v or v + t < y


def test_arrows_point_down_and_the_picture_is_the_same_each_time() -> None:
    graph = random_graph(np.random.default_rng(7), 25, 0.15)
    assert svg(graph) == svg(graph)
    arrows = [(graph.nodes.index(a), graph.nodes.index(b)) for a, b in sorted(graph.arcs())]
    layout = place([60.0] * 25, arrows)
    for a, b in arrows:
        assert layout.centres[a][1] + BOX_HEIGHT < layout.centres[b][1]


def test_a_tree_is_drawn_without_crossings() -> None:
    arrows = [((child - 1) // 3, child) for child in range(1, 40)]
    layout = place([50.0] * 40, arrows)
    for (a, b), (c, d) in combinations(arrows, 2):
        if layout.centres[a][1] == layout.centres[c][1] and a != c:
            left = layout.centres[a][0] < layout.centres[c][0]
            assert (layout.centres[b][0] < layout.centres[d][0]) == left


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [(0.994, "0.99"), (0.999, "0.99"), (1.0, "1.00"), (0.976, "0.98"), (0.0, "0.00")],
)
def test_what_is_not_certain_does_not_read_so(confidence: float, shown: str) -> None:
    edge = Edge("a", "b", "-->", confidence=confidence)
    assert edge.doubt() == f"  ({shown})"
    assert f", confidence {shown}" in svg(Graph(nodes=("a", "b"), edges=(edge,), kind="dag"))
