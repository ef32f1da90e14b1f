"""Every graph that leaves is valid for its kind, whatever has found it, and so is its extension."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import GraphError, MethodError
from privet.graph.edge import Edge
from privet.graph.formats import files
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.meek import cpdag, extension, meek, vstructures
from privet.methods import catalogue
from privet.networks import load, random_linear_gaussian
from privet.networks.network import Network
from privet.results.saved import Saved
from privet.schema.model import Schema

METHODS = {each.name: each for each in catalogue.available() if each.private}
EXACT = sorted(each.name for each in catalogue.available() if each.evidence == "exact")
SEEDS = range(2)


def invalid(graph: Graph) -> str:
    """What is wrong with a graph of its kind; "" if nothing is."""
    if graph.kind == "pag":
        return ""
    A = graph.matrix()
    dag = extension(A)
    if dag is None:
        return "it has no consistent extension"
    if graph.kind == "dag":
        return "" if np.array_equal(dag, A) else "it is no DAG"
    if graph.kind == "cpdag":
        return "" if np.array_equal(cpdag(dag), A) else "it is not the CPDAG of its extension"
    if graph.kind != "mpdag":
        return f"it claims no class ({graph.kind})"
    if vstructures(dag) != vstructures(A):
        return "its extension has other colliders"
    return "" if np.array_equal(meek(A), A) else "it is not closed under Meek's rules"


def check(graph: Graph) -> None:
    """Valid, in what other programs get as well, and worth as much as its extension."""
    assert invalid(graph) == ""
    if graph.kind == "pag":
        return
    assert invalid(graph.extension()) == "" and graph.extension().kind == "dag"
    names = graph.nodes
    for again in (
        files.from_json(files.to_json(graph)),
        files.from_dot(files.to_dot(graph)),
        files.from_networkx(graph.to_networkx()),
        files.from_pcalg(graph.to_pcalg(), names, graph.kind),
        files.from_causal_learn(graph.to_causal_learn(), names, graph.kind),
    ):
        assert again.kind == graph.kind and again.skeleton() == graph.skeleton()
        assert np.array_equal(again.matrix(), graph.matrix())
    found = privet.compare(graph.extension(), graph)
    assert found.skeleton_f1 == 1.0 and (graph.kind != "cpdag" or found.shd == 0)


def test_the_check_can_fail() -> None:
    """A DAG where a class is claimed, an arrow that is not followed up, a ring without a chord."""
    chain = Graph.from_edges(["a --> b", "b --> c"])
    forged = replace(chain.cpdag())
    object.__setattr__(forged, "edges", chain.edges)
    assert "CPDAG" in invalid(forged)
    late = Graph("pdag", tuple("abc"), (Edge("a", "b", "-->"), Edge("b", "c", "---")))
    object.__setattr__(late, "kind", "mpdag")
    assert "Meek" in invalid(late)
    ring = Graph(
        "pdag", tuple("abcd"), tuple(Edge(p[0], p[1], "---") for p in ("ab", "bc", "cd", "ad"))
    )
    assert "extension" in invalid(ring)
    with pytest.raises(GraphError, match="are no cpdag"):
        replace(chain, kind="cpdag")


@cache
def words(seed: int) -> tuple[Schema, dict[str, Any]]:
    model = load("asia")
    return model.schema(), sample(model, 3_000, seed)


def sample(model: Network, rows: int, seed: int) -> dict[str, Any]:
    codes = model.sample(rows, np.random.default_rng(seed))
    return {n: np.array(model.levels[n])[codes[n]].tolist() for n in model.names}


@cache
def numbers(seed: int) -> tuple[Schema, dict[str, Any]]:
    """Strongly associated columns."""
    rng = np.random.default_rng(seed)
    model = random_linear_gaussian(7, density=0.6, rng=rng)
    return model.schema(), model.sample(2_000, rng)


def knowledge(schema: Schema, which: str) -> Schema:
    a, b, *rest = schema.names
    known = {
        "none": Knowledge(),
        "tiers": Knowledge(tiers=((a, b), tuple(rest))),
        "required": Knowledge(required=frozenset({(rest[0], a)})),
        "forbidden": Knowledge(forbidden=frozenset({(x, a) for x in rest})),
    }
    return replace(schema, knowledge=known[which])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("data", [words, numbers], ids=["words", "numbers"])
@pytest.mark.parametrize("name", EXACT)
def test_without_privacy(name: str, data: Any, seed: int) -> None:
    schema, table = data(seed)
    for which in ("none", "tiers", "required"):
        known = knowledge(schema, which)
        try:
            found = privet.discover(table, known, private=False, method=name, seed=seed)
        except MethodError:
            assert name in ("lingam", "notears", "dagma", "refined-pc")
            return
        check(found.graph)
        assert which != "none" or found.graph.kind in (METHODS.get(name) or _named(name)).graph


def _named(name: str) -> Any:
    return next(each for each in catalogue.available() if each.name == name)


@cache
def evidence(kind: str, seed: int, epsilon: float) -> Saved:
    schema, table = (words if kind == "tables" else numbers)(seed)
    method = "interaction-pc" if kind == "tables" else "moment-pc"
    found = privet.discover(
        table, schema, epsilon=epsilon, delta=1e-6, method=method, ledger=":memory:"
    )
    check(found.graph)
    return found.evidence


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize(
    "name", sorted(n for n, each in METHODS.items() if each.evidence in ("tables", "moments"))
)
def test_searches_on_noisy_evidence_with_knowledge_and_thresholds(
    name: str, epsilon: float
) -> None:
    slow = METHODS[name].graph == "dag"  # and an arrow is all that it draws
    for seed in SEEDS[: 1 if slow else None]:
        saved = evidence(METHODS[name].evidence, seed, epsilon)
        for which in ("none", "tiers", "required", "forbidden")[slow:]:
            schema = knowledge(saved.schema, which)
            found = privet.discover(evidence=saved, schema=schema, method=name, seed=seed)
            check(found.graph)
        high = privet.discover(evidence=saved, method=name, min_confidence=0.9, min_arrow=0.9)
        check(high.graph)


@pytest.mark.parametrize("which", ["none", "tiers"])
@pytest.mark.parametrize("name", ["interaction-pc", "interaction-ges", "interaction-peri"])
def test_several_sites_and_their_differences(name: str, which: str) -> None:
    model = load("asia")
    sites = [
        privet.discover(
            sample(model, 2_000, 10 + at),
            model.schema(),
            site=f"site-{at}",
            epsilon=4.0,
            features="contrasts",
            ledger=":memory:",
        ).evidence
        for at in range(3)
    ]
    schema = knowledge(model.schema(), which)
    for more in (False, True):
        found = privet.combine(*sites, schema=schema, method=name, use_differences=more)
        check(found.graph)


def test_pairs_that_give_lines_a_direction() -> None:
    schema, table = numbers(1)
    for epsilon in (1.0, 20.0):
        found = privet.discover(
            table, schema, epsilon=epsilon, delta=1e-6, orient_pairs=0.5, ledger=":memory:"
        )
        check(found.graph)


def test_copies_hang_on_a_class() -> None:
    """A copy of an effect of two causes is an arrow in the class, and a line for people."""
    rng = np.random.default_rng(5)
    a, b = rng.random((2, 4_000)) < 0.5
    c = np.where(rng.random(4_000) < 0.9, a & b, ~a)
    columns = {"a": a, "b": b, "c": c, "c2": c, "a2": a}
    yes_no = {"kind": "categorical", "levels": ["no", "yes"]}
    schema = Schema.from_dict({"name": "copies", "columns": dict.fromkeys(columns, yes_no)})
    data = {name: np.where(each, "yes", "no").tolist() for name, each in columns.items()}
    found = privet.discover(data, schema, private=False, method="pc")
    check(found.graph)
    copies = [edge for edge in found.graph.edges if edge.origin == "copy"]
    assert copies and all(edge.shown == "---" for edge in copies)
    assert any(edge.mark == "-->" and "say the same" in edge.why for edge in copies)


def test_ges_is_no_worse_than_its_own_search() -> None:
    """What is tentative stays in the class: as near to the truth as with all arrows shown."""
    for seed in range(6):
        schema, table = words(20 + seed)
        truth = load("asia").graph()
        found, every = (
            privet.discover(table, schema, private=False, method="ges", min_arrow=least).graph
            for least in (0.5, 0.0)
        )
        assert privet.compare(truth, found).shd == privet.compare(truth, every).shd
        assert np.array_equal(found.matrix(), every.matrix())
