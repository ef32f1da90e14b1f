"""``--orient-pairs``: directions of undirected edges, from pairs, in the same run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet import Adjacency, Column, Edge, Graph, Knowledge, Ledger, Schema
from privet.cli.main import build_parser
from privet.errors import EvidenceError, MethodError
from privet.pairs import edges
from privet.pairs import way as ways
from privet.pairs.way import Orientation
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import PairTable

ROWS = 8000
REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
# By chance a search would join z to the others now and then (its alpha says how often).
APART = Knowledge(forbidden=frozenset({("x", "z"), ("z", "x"), ("y", "z"), ("z", "y")}))


def columns(rows: int = ROWS) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, rows)
    y = np.exp(2 * x) + rng.uniform(-0.5, 0.5, rows)
    return {"x": x, "y": y, "z": rng.choice(["p", "q"], rows)}


def schema(
    adjacency: Adjacency = REPLACE, rows: int = ROWS, knowledge: Knowledge = APART
) -> Schema:
    return Schema(
        name="people",
        columns=(
            Column(name="x", kind="numeric", bounds=(-1.8, 1.8)),
            Column(name="y", kind="numeric", bounds=(-4, 8)),
            Column(name="z", kind="categorical", levels=("p", "q")),
        ),
        adjacency=adjacency,
        rows=rows if adjacency is REPLACE else None,
        knowledge=knowledge,
    )


def discover(known: Schema | None = None, **options: Any) -> Any:
    given: dict[str, Any] = {"epsilon": 2, "ledger": Ledger(":memory:"), "orient_pairs": 0.2}
    return privet.discover(columns(), known or schema(), **{**given, **options})


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
def test_an_undirected_edge_gets_its_arrow(
    adjacency: Adjacency, delta: float, tmp_path: Path
) -> None:
    """Without pairs it has none. All is one run, whose budget is spent and no more."""
    known = schema(adjacency)
    plain = discover(known, delta=delta, orient_pairs=None)
    assert [str(edge) for edge in plain.graph.edges] == ["x --- y"]
    book = Ledger(tmp_path / "ledger.sqlite")
    found = discover(known, delta=delta, ledger=book)
    (edge,) = found.graph.edges
    assert (str(edge), edge.origin) == ("x --> y", "pairs")
    assert edge.confidence is not None and 0.75 < (edge.arrow_confidence or 0) < 1
    assert "From pairs of columns looked at by themselves: x --> y." in found.notes[0]
    account = book.account("people")
    assert account is not None and len(account.runs) == 1
    run = account.runs[0]
    assert Fraction(999, 1000) * run.reserved < run.spent <= run.reserved
    pairs = [entry.cost for entry in run.entries if "cells" in entry.what]
    count = Fraction(49, 50) if adjacency is ADD else 1
    assert pairs == [run.reserved / 5 * count]
    assert len(found.certificate["queries"]) == len(run.entries)
    kept = [str(release.query) for release in found.evidence.releases]
    assert kept.count("number of rows") <= 2 and "cells" in kept[-1]  # pairs ask for no third
    assert found.certificate["options"]["orient_pairs"] == 0.2
    found.save(tmp_path / "out")
    assert "from pairs" in (tmp_path / "out" / "report.html").read_text()
    again = privet.discover(evidence=tmp_path / "out" / "evidence.json")
    assert again.graph == found.graph and again.notes == found.notes
    judged = privet.orient(evidence=tmp_path / "out" / "evidence.json", method="table-both")
    assert [(pair.a, pair.b) for pair in judged] == [("x", "y")]


def test_without_privacy_too() -> None:
    found = discover(epsilon=None, ledger=None, private=False)
    assert [str(edge) for edge in found.graph.edges] == ["x --> y"]
    assert found.certificate["private"] is False


def test_without_an_open_edge_nothing_is_asked_and_the_share_goes_back() -> None:
    known = schema(knowledge=replace(APART, tiers=(("y",), ("x", "z"))))
    book = Ledger(":memory:")
    found = discover(known, ledger=book)
    assert [str(edge) for edge in found.graph.edges] == ["y --> x"]
    account = book.account("people")
    assert account is not None and account.spent == account.runs[0].reserved * Fraction(4, 5)
    assert not any(isinstance(r.query, PairTable) for r in found.evidence.releases)


def test_several_methods_share_the_pairs() -> None:
    found = discover(method=["interaction-pc", "interaction-ges"])
    for one in (found, *found.others):
        assert [str(edge) for edge in one.graph.edges] == ["x --> y"]


def test_what_is_refused_costs_nothing() -> None:
    book = Ledger(":memory:")
    for options, words in (
        ({"orient_pairs": 0}, "lie between 0 and 1"),
        ({"orient_pairs": 1.5}, "lie between 0 and 1"),
        ({"method": "interaction-fci"}, "finds a PAG"),
        ({"method": "priv-pc", "subsample": 0.5, "delta": 0.0}, "subsample"),
        ({"method": "em-pc", "as_published": True, "ledger": None}, "as_published"),
    ):
        with pytest.raises(MethodError, match=words):
            discover(schema(ADD), **{"ledger": book, **options})
    words_only = Schema(name="people", columns=schema().columns[1:])
    with pytest.raises(MethodError, match="two numeric columns"):
        discover(words_only, ledger=book)
    assert book.accounts() == ()
    with pytest.raises(EvidenceError, match="pairs are measured on data"):
        privet.discover(evidence=discover().evidence, orient_pairs=0.1)


def test_what_was_paid_outlives_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for open edges is stopped within the run."""

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(edges, "ask", stop)
        with pytest.raises(KeyboardInterrupt) as stopped:
            discover()
    saved = stopped.value.evidence  # type: ignore[attr-defined]
    assert privet.discover(evidence=saved).graph.skeleton()
    assert saved.certificate["spent"]["epsilon"] < 2


def test_an_interactive_search_leaves_the_share_for_pairs() -> None:
    """They spend what is left, so they must see their part only."""
    for method in ("em-pc", "svt-pc", "curate"):
        book = Ledger(":memory:")
        discover(schema(ADD), method=method, ledger=book, epsilon=4)
        account = book.account("people")
        assert account is not None
        run = account.runs[0]
        own = [entry.cost for entry in run.entries if "cells" not in entry.what]
        bought = Fraction(1, 50) * run.reserved / 5 if len(own) < len(run.entries) else 0
        assert sum(own) - bought <= run.reserved * Fraction(4, 5)


# -- which arrows are drawn


def drawn(graph: Graph, *told: Orientation) -> tuple[Graph, tuple[str, ...]]:
    """The graph with these orientations of its pairs."""
    known = Schema(
        name="s",
        columns=tuple(Column(name=n, kind="numeric", bounds=(0, 1)) for n in graph.nodes),
    )
    releases = [
        Release(
            query=PairTable(x=one.a, y=one.b, bins=2),
            values=np.zeros(4, dtype=np.int64),
            variance=1.0,
            mechanism="Laplace",
        )
        for one in told
    ]
    by_pair = {frozenset((one.a, one.b)): one for one in told}

    def judge(_schema: Any, pair: Any, _releases: Any, _choices: Any) -> Orientation:
        return by_pair[frozenset((pair.x, pair.y))]

    way = replace(ways.way_named("auto"), judge=judge)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privet.pairs.edges.way_named", lambda _name: way)
        return edges.orient(graph, known, releases, 0)


def says(a: str, b: str, wrong: float = 0.01) -> Orientation:
    return Orientation(a=a, b=b, direction="-->", difference=1.0, wrong=wrong)


def lines(*pairs: str) -> tuple[Edge, ...]:
    return tuple(Edge(pair[0], pair[1], "---", confidence=0.9) for pair in pairs)


def test_what_follows_from_an_arrow_is_drawn_and_marked() -> None:
    """a --- b --- c with a and c apart: a --> b makes b --> c, else there were a new collider."""
    found, notes = drawn(Graph("cpdag", ("a", "b", "c"), lines("ab", "bc")), says("a", "b"))
    assert {str(edge) for edge in found.edges} == {"a --> b", "b --> c"}
    assert {edge.origin for edge in found.edges} == {"pairs"}
    assert {edge.confidence for edge in found.edges} == {0.9}
    assert "a --> b; b --> c followed" in notes[0]


def test_the_surest_comes_first_and_a_new_collider_is_refused() -> None:
    graph = Graph("cpdag", ("a", "b", "c"), lines("ab", "bc"))
    found, notes = drawn(graph, says("a", "b", 0.01), says("c", "b", 0.2))
    assert {str(edge) for edge in found.edges} == {"a --> b", "b --> c"}
    assert any("not drawn: c --> b" in note for note in notes)
    found, notes = drawn(graph, says("a", "b", 0.2), says("c", "b", 0.01))
    assert {str(edge) for edge in found.edges} == {"b --> a", "c --> b"}
    assert any("not drawn: a --> b" in note for note in notes)


def test_a_circle_is_refused() -> None:
    graph = Graph("cpdag", ("a", "b", "c"), lines("ab", "bc", "ac"))
    told = says("a", "b", 0.01), says("b", "c", 0.02), says("c", "a", 0.03)
    found, notes = drawn(graph, *told)
    assert {str(edge) for edge in found.edges} == {"a --> b", "b --> c", "a --> c"}
    assert any("not drawn: c --> a" in note for note in notes)


def test_a_tentative_arrow_is_asked_for_and_may_be_confirmed() -> None:
    edges_ = (Edge("a", "b", "-->", 0.9, 0.3, tentative="support"), Edge("c", "b", "-->", 0.9, 0.8))
    graph = Graph("cpdag", ("a", "b", "c"), edges_)
    found, notes = drawn(graph, says("a", "b"))
    told = found.edge("a", "b")
    assert told is not None and str(told) == "a --> b" and found.kind == "cpdag"
    assert (told.origin, told.tentative) == ("pairs", None) and "a --> b" in notes[0]
    found, notes = drawn(graph, says("b", "a"))
    assert found == graph and any("not drawn: b --> a" in note for note in notes)


def test_what_pairs_do_not_say_stays_undirected() -> None:
    open_one = Orientation(
        a="a",
        b="b",
        direction="undecided",
        difference=0.0,
        reason="too few rows",
        notes=("a warning",),
    )
    graph = Graph("cpdag", ("a", "b"), lines("ab"))
    found, notes = drawn(graph, open_one)
    assert found == graph
    assert notes == ("Pairs that did not say: a, b (too few rows).", "a warning")
    assert drawn(graph) == (graph, ())


def test_the_share_is_an_option_of_the_command_line() -> None:
    parse = build_parser().parse_args
    words = ["discover", "d.csv", "--output", "out"]
    assert parse(words).orient_pairs is None
    assert parse([*words, "--orient-pairs"]).orient_pairs == 0.2
    assert parse([*words, "--orient-pairs", "0.4"]).orient_pairs == 0.4
