"""Three answers for every pair, and arrows only where replicas support them."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.graph.confidence import claimed, with_confidence
from privet.graph.edge import Edge
from privet.graph.formats.files import from_json, to_json
from privet.graph.graph import Graph
from privet.schema.column import Column
from privet.schema.model import Schema


def table(rows: int, levels: int = 2) -> tuple[dict[str, Any], Schema]:
    """A chain a - b - c of effect 0.5, and d by itself."""
    rng, names = np.random.default_rng(1), tuple("abcd")
    a, d = rng.integers(levels, size=(2, rows))
    b = np.where(rng.random(rows) < 0.5, a, rng.integers(levels, size=rows))
    c = np.where(rng.random(rows) < 0.5, b, rng.integers(levels, size=rows))
    text = [str(i) for i in range(levels)]
    columns = tuple(Column(name=n, kind="categorical", levels=tuple(text)) for n in names)
    data = {n: np.array(text)[x] for n, x in zip(names, (a, b, c, d), strict=True)}
    return data, Schema(name="t", columns=columns)


def found(rows: int, epsilon: float) -> privet.Discovery:
    data, schema = table(rows)
    return privet.discover(data, schema, epsilon=epsilon, delta=1e-6, ledger=":memory:", alpha=1e-9)


def test_with_power_absent_pairs_are_separated() -> None:
    """Of 200,000 rows at epsilon 1 nothing is undecided, and c is told from a by b."""
    out = found(200_000, 1.0)
    assert out.graph.skeleton() == {frozenset("ab"), frozenset("bc")}
    assert out.graph.undecided == ()
    why = {each.pair: each for each in out.absences}
    assert set(why) == {("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")}
    assert why["a", "c"].given == ("b",) and not why["a", "c"].undecided
    assert all(each.largest < 0.1 and each.log_bayes < 0 for each in why.values())
    assert "separated given b" in str(why["a", "c"])


def test_without_power_nothing_is_called_separated(tmp_path: Path) -> None:
    """Of 100 rows at epsilon 0.1 the noise is many times the table: no test could see anything."""
    out = found(100, 0.1)
    assert not out.graph.edges and len(out.graph.undecided) == 6
    each = out.absences[0]
    assert each.undecided and each.rows > 2 and "cannot say" in str(each)
    out.save(tmp_path / "out")
    kept = json.loads((tmp_path / "out" / "graph.json").read_text("utf-8"))
    assert len(kept["undecided"]) == 6
    assert "Pairs that are undecided" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "cannot say" in (tmp_path / "out" / "graph.svg").read_text("utf-8")


def test_a_strong_pair_is_never_called_separated_for_want_of_power() -> None:
    """Rows from few to many at a small budget: a - b, of V = 0.5, is joined or undecided. Ruling it
    out needs a likelihood of 1/20 for V = 0.1; for V = 0.5 that is below 1e-6."""
    for rows in (300, 1000, 3000, 10_000):
        out = found(rows, 0.3)
        pair = frozenset("ab")
        assert pair in out.graph.skeleton() or pair in map(frozenset, out.graph.undecided)


def test_absences_are_a_sequence_that_is_made_when_it_is_read() -> None:
    out = found(3000, 1.0)
    again = pickle.loads(pickle.dumps(out.absences))
    assert "_made" not in vars(out.absences) and len(out.absences) == len(again) > 0
    assert out.absences == again and again == tuple(out.absences)
    assert out.absences[:1] == (out.absences[0],) and hash(again) == hash(out.absences)
    pairs = [each.pair for each in out.absences]
    assert pairs == sorted(pairs)
    assert out.graph.undecided == tuple(each.pair for each in out.absences if each.undecided)
    assert {each.pair for each in out.undecided} == set(out.graph.undecided)


CHAIN = Graph("cpdag", ("a", "b", "c"), (Edge("a", "b", "-->"), Edge("c", "b", "-->")))
OTHER = Graph("cpdag", ("a", "b", "c"), (Edge("a", "b", "---"), Edge("b", "c", "---")))


def test_an_arrow_that_few_replicas_draw_is_tentative() -> None:
    """The class stays what the search has found: its extension has the same colliders."""
    back = Graph("mpdag", CHAIN.nodes, (Edge("b", "a", "-->"), Edge("b", "c", "-->")))
    graph = with_confidence(CHAIN, [CHAIN] * 5 + [back] * 15)
    shown = claimed(graph, 0.5, 0.0)
    assert [(e.mark, e.shown, e.tentative) for e in shown.edges] == [("-->", "-?>", "support")] * 2
    assert shown.edges[0].arrow_confidence == pytest.approx(20.5 / 42, abs=1e-3)
    assert claimed(graph, 0.2, 0.0) == graph
    assert from_json(to_json(shown)) == shown
    assert str(shown.as_shown()) == "a --- b\nb --- c"
    assert shown.kind == "cpdag" and shown.extension().cpdag() == shown


def test_a_class_that_loses_edges_stays_a_class() -> None:
    """Without a -- c, what is left of a --- b --- c --- d --- a and the chord is no class."""
    pairs = ("ab", "bc", "cd", "ad", "ac")
    whole = Graph("cpdag", tuple("abcd"), tuple(Edge(pair[0], pair[1], "---") for pair in pairs))
    edges = tuple(
        replace(e, confidence=0.2 if {e.source, e.target} == set("ac") else 0.9)
        for e in whole.edges
    )
    left = claimed(replace(whole, edges=edges), 0.5, 0.5)
    assert left.skeleton() == {frozenset(pair) for pair in pairs[:4]}
    assert left.kind == "cpdag" and left.extension().cpdag() == left
    arrows = [edge for edge in left.edges if edge.mark == "-->"]
    assert arrows and all(edge.tentative == "support" for edge in arrows)


def test_edges_below_a_confidence_are_left_out() -> None:
    half = Graph("cpdag", ("a", "b", "c"), (Edge("a", "b", "---"),))
    graph = with_confidence(OTHER, [OTHER] * 5 + [half] * 15)
    assert [str(e) for e in claimed(graph, 0.5, 0.9).edges] == ["a --- b"]


def test_where_all_agree_the_evidence_tells_certain_from_stable() -> None:
    doubts = {frozenset("ab"): 0.5, frozenset("bc"): 1e5}
    stable, certain = with_confidence(OTHER, [OTHER] * 20, doubts).edges
    assert 0.94 < stable.confidence < 0.96 < certain.confidence  # type: ignore[operator]
    assert certain.confidence == 0.999
    torn = with_confidence(OTHER, [OTHER] * 19 + [CHAIN, Graph("cpdag", CHAIN.nodes)], doubts)
    assert all(e.confidence < 0.96 for e in torn.edges)  # type: ignore[operator]


@pytest.mark.parametrize("option", ["min_arrow", "min_confidence"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_thresholds_outside_0_and_1_are_refused(option: str, value: float) -> None:
    data, schema = table(10)
    with pytest.raises(privet.PrivetError, match="must lie between 0 and 1"):
        more: dict[str, Any] = {option: value}
        privet.discover(data, schema, private=False, **more)


@pytest.mark.parametrize("pairs", [[["a", "x"]], [["a", "a"]], [["a"]], "ab", [[1, 2]]])
def test_odd_undecided_pairs_are_refused(pairs: Any) -> None:
    kept = {"kind": "cpdag", "nodes": ["a", "b"], "edges": [], "undecided": pairs}
    with pytest.raises(privet.PrivetError):
        from_json(json.dumps(kept))


def test_undecided_pairs_are_kept_in_files_and_under_other_names() -> None:
    graph = Graph("cpdag", ("a", "b", "c"), (Edge("a", "b", "---"),), (("c", "a"), ("b", "a")))
    assert graph.undecided == (("a", "c"),)  # a and b are joined
    assert from_json(to_json(graph)).undecided == (("a", "c"),)
    assert graph.relabel({"a": "z"}).undecided == (("z", "c"),)


def test_print_says_what_is_open() -> None:
    """Undecided pairs, what is wrong with columns, and arrows that are tentative."""
    rng = np.random.default_rng(3)
    names = tuple("abcd")
    data = {name: np.where(rng.random(60) < 0.5, "yes", "no").tolist() for name in names}
    data["d"] = ["no"] * 60
    column = {"kind": "categorical", "levels": ["no", "yes"]}
    schema = privet.Schema.from_dict({"name": "few", "columns": dict.fromkeys(names, column)})
    found = privet.discover(data, schema, private=False, method="pc")
    open_ = len(found.graph.undecided)
    assert open_ and found.diagnostics
    assert f"{open_} of 6 pairs are undecided" in str(found)
    assert all(one.text in str(found) for one in found.diagnostics)
    edge = Edge("a", "b", "-->", 0.9, 0.4, tentative="support")
    shown = str(replace(found, graph=Graph("mpdag", names, (edge,))))
    assert shown.startswith("a -?> b  (0.90, arrow 0.40)\n-?> is a tentative arrow: ")
