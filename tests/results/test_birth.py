"""Arrows into what people are born with, as a draft asks of them: questions, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.cli.main import main
from privet.graph.graph import Graph
from privet.results.birth import questioned
from privet.results.discovery import Discovery

ASKED = ("age.tier", "sex.tier")


def table(rows: int = 4_000, seed: int = 3) -> dict[str, list[str]]:
    """Ward and drug make a collider at "age": the arrows into it are sure."""
    rng = np.random.default_rng(seed)
    ward, drug, sex = (rng.random((3, rows)) < 0.5).astype(int)
    age = np.where(rng.random(rows) < 0.1, 1, 0) ^ (ward & drug)
    pain = age ^ (rng.random(rows) < 0.2)
    columns = {"ward": ward, "drug": drug, "age": age, "pain": pain, "sex": sex}
    return {name: np.where(codes, "yes", "no").tolist() for name, codes in columns.items()}


def schema(unconfirmed: tuple[str, ...] = (), **knowledge: Any) -> privet.Schema:
    columns = (
        privet.Column(name=name, kind="categorical", levels=("no", "yes"))
        for name in ("ward", "drug", "age", "pain", "sex")
    )
    return privet.Schema(
        name="clinic",
        columns=tuple(columns),
        unconfirmed=unconfirmed,
        knowledge=privet.Knowledge(**knowledge),
    )


def found(known: privet.Schema, method: str = "interaction-pc") -> Discovery:
    """With an alpha at which noise joins or parts nothing in a million runs."""
    budget = {"epsilon": 8.0, "delta": 1e-6, "alpha": 1e-6}
    return privet.discover(table(), known, method=method, ledger=":memory:", **budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["interaction-pc", "interaction-ges", "interaction-fci"])
def test_a_name_moves_nothing_but_what_people_see(method: str) -> None:
    asking = found(schema(ASKED), method)
    plain = privet.discover(evidence=asking.evidence, schema=schema(), method=method, alpha=1e-6)
    into = [edge for edge in plain.graph.edges if edge.target == "age" and edge.mark != "---"]
    assert into and all(edge.shown == edge.mark for edge in into)
    assert questioned(plain.graph, schema(ASKED)) == asking.graph
    assert asking.graph.kind == plain.graph.kind
    for edge, other in zip(asking.graph.edges, plain.graph.edges, strict=True):
        assert edge.mark == other.mark and {edge.source, edge.target} == {
            other.source,
            other.target,
        }
        if edge.target == "age" and edge.mark in ("-->", "o->", "<->"):
            assert edge.tentative == "birth" and edge.shown in ("---", "o-o")
            assert edge.why.startswith("age is a fact of birth by its name: confirm it")
        else:
            assert edge == other


def test_who_has_answered_is_not_asked() -> None:
    asking = found(schema(ASKED))
    tiers = (("age", "sex"), ("ward", "drug", "pain"))
    for known in (schema(), schema(("sex.tier",)), schema(ASKED, tiers=tiers)):
        again = privet.discover(evidence=asking.evidence, schema=known)
        assert not any(edge.tentative == "birth" for edge in again.graph.edges)
    kept = privet.discover(evidence=asking.evidence, schema=schema(ASKED, tiers=tiers))
    assert not any(edge.target == "age" and edge.mark == "-->" for edge in kept.graph.edges)


def test_the_question_stands_beside_it_everywhere(tmp_path: Path, capsys: Any) -> None:
    result = found(schema(ASKED))
    question = "age is a fact of birth by its name"
    result.save(tmp_path / "out")
    back = privet.load_graph(tmp_path / "out" / "graph.json")
    assert back == result.graph and any(edge.tentative == "birth" for edge in back.edges)
    assert str(result).count(question) == 1 and "ward --- age" in str(result)
    assert "ward --> age" not in str(result)
    for name in ("report.html", "graph.svg"):
        assert question in (tmp_path / "out" / name).read_text("utf-8")
    assert question in result.explain("ward", "age").text
    capsys.readouterr()
    arguments = ["--evidence", str(tmp_path / "out" / "evidence.json"), "--alpha", "1e-6"]
    assert main(["discover", *arguments, "--output", str(tmp_path / "again")]) == 0
    assert " ".join(capsys.readouterr().out.split()).count(question) == 1
    assert result.graph.kind in ("cpdag", "mpdag") and result.graph.extension().kind == "dag"


def test_differences_between_sites_do_not_hear_a_name(tmp_path: Path) -> None:
    sent = [
        privet.discover(
            table(seed=seed),
            schema(ASKED),
            epsilon=8,
            delta=1e-6,
            alpha=1e-6,
            method="interaction-pc",
            site=f"site-{seed}",
            ledger=tmp_path / f"{seed}.db",
        ).evidence
        for seed in (3, 4)
    ]
    asking, plain = (
        privet.combine(*sent, schema=known, use_differences=True, alpha=1e-6)
        for known in (schema(ASKED), schema())
    )
    assert questioned(plain.graph, schema(ASKED)) == asking.graph != plain.graph
    assert plain.sites is not None and asking.sites is not None
    assert all(edge.shown in str(asking.graph) for edge in asking.sites.edges)


def test_an_arrow_into_both_is_one_into_either() -> None:
    graph = Graph.from_edges(["age <-> pain", "sex o-> ward", "drug <-> sex"], kind="pag")
    edges = questioned(graph, schema(ASKED)).edges
    asked = {str(edge): edge.why.split(" is a fact")[0] for edge in edges}
    assert asked == {"age o-o pain": "age", "sex o-> ward": "", "sex o-o drug": "sex"}
    assert questioned(graph, schema()) is graph
