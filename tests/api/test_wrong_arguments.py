"""Every public function, each of its arguments in turn given something wrong: what comes back is a
result or a PrivetError, never an error of Python's."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.api.verify import new_key
from privet.errors import PrivetError

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 7, 1.5, float("nan"), float("inf"), 10**400, 1j, Fraction(1, 3)),
    *("", "nonsense", "a\x00b", "\ud800", b"bytes", Path("nowhere"), object(), print),
    *("n" * 300, Path("n" * 5000), "elsewhere://n?table=" + "n" * 300),  # no file can be called so
    *([], [1], ["x"], [["x", 1]], (), {}, {"x": 1}, {1: 2}, {"x"}, np.zeros((2, 2)), np.int64(3)),
)
NAMES = ("smoke", "cancer", "cough")
TABLE = {name: ["no", "yes"] * 20 for name in NAMES}
SCHEMA = privet.Schema.of(TABLE, name="clinic", levels={name: ["no", "yes"] for name in NAMES})
NUMBERS = {"x": [0.1, 0.9] * 20, "y": [0.2, 0.7] * 20}
BOUNDS = privet.Schema.of(NUMBERS, name="bodies", bounds={"x": [0, 1], "y": [0, 1]})
GRAPH = privet.Graph.from_edges(["smoke --> cancer", "cough --- smoke"])
KNOWN = privet.Knowledge(tiers=(("smoke",), ("cancer",)))
FOUND = privet.discover(TABLE, SCHEMA, private=False)
SITES = [
    privet.discover(TABLE, SCHEMA, epsilon=1, delta=1e-6, site=name, ledger=":memory:").evidence
    for name in ("north", "south")
]
EXACT: dict[str, Any] = {"schema": SCHEMA, "private": False}


def book() -> privet.Ledger:
    made = privet.Ledger(":memory:")
    made.create("clinic", epsilon=1, delta=0)
    return made


# A good call of each, into which wrong things are put. What listens is not called here.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "discover": (privet.discover, {"data": TABLE, **EXACT}),
    "discover with privacy": (
        privet.discover,
        {"data": TABLE, "schema": SCHEMA, "epsilon": 1.0, "delta": 0.0, "ledger": ":memory:"},
    ),
    "orient": (
        privet.orient,
        {"data": NUMBERS, "schema": BOUNDS, "cause_effect": ("x", "y"), "private": False},
    ),
    "combine": (
        lambda evidence, **more: privet.combine(evidence, SITES[1], **more),
        {"evidence": SITES[0], "schema": SCHEMA, "method": "auto", "use_differences": False},
    ),
    "plan": (
        privet.plan,
        {"schema": SCHEMA, "rows": 100, "epsilon": 1, "delta": 1e-6, "margins": "even"},
    ),
    "plan_sites": (
        privet.plan_sites,
        {"schema": SCHEMA, "rows": 100, "epsilon": 1, "delta": 1e-6, "sites": 3},
    ),
    "audit": (
        privet.audit,
        {
            "method": "parity",
            "schema": None,
            "epsilon": 1,
            "delta": None,
            "runs": 40,
            "as_published": False,
            "confidence": 0.95,
        },
    ),
    "verify": (privet.verify, {"folder": "out", "ledger": None, "key": None}),
    "sign": (privet.sign, {"folder": "out", "key": "keys"}),
    "compare": (privet.compare, {"truth": GRAPH, "found": GRAPH}),
    "draft": (privet.draft, {"data": TABLE, "name": "clinic"}),
    "load_graph": (privet.load_graph, {"path": "graph.json", "nodes": ()}),
    "save_graph": (privet.save_graph, {"graph": GRAPH, "path": "graph.json"}),
    "simulate": (
        privet.simulate,
        {
            **{"model": "asia", "rows": 3, "seed": 1, "output": "a.csv", "force": True},
            **{"sites": None, "differ": "none"},
        },
    ),
    "simulate_random": (
        privet.simulate_random,
        {
            **{"nodes": 3, "density": 0.5, "rows": 3, "seed": 1, "output": "r.csv"},
            **{"force": True, "levels": (2, 3), "gaussian": False, "sites": None, "differ": "none"},
        },
    ),
    "Column": (
        privet.Column,
        {
            **{"name": "x", "kind": "numeric", "bounds": (0, 1), "levels": (), "cuts": ()},
            **{"missing": "value", "missing_value": None, "shares": ()},
        },
    ),
    "Column of levels": (
        privet.Column,
        {"name": "x", "kind": "ordinal", "levels": ("a", "b"), "missing_value": "a"},
    ),
    "Schema": (
        privet.Schema,
        {
            **{"name": "x", "columns": SCHEMA.columns, "adjacency": SCHEMA.adjacency},
            **{"rows": None, "rows_per_person": 1, "person": None, "most_rows": 99},
            **{"sites_per_person": 1, "knowledge": KNOWN, "unconfirmed": ()},
        },
    ),
    "Schema.of": (
        privet.Schema.of,
        {
            **{"data": TABLE, "name": "x", "levels": {"smoke": ["0", "1"]}, "bounds": {}},
            **{"ordinal": (), "missing": {}, "tiers": (), "required": (), "forbidden": ()},
            **{"rows": None, "rows_per_person": 1, "person": None},
        },
    ),
    "Schema.draft": (privet.Schema.draft, {"data": TABLE, "name": None}),
    "Schema.load": (privet.Schema.load, {"path": "schema.toml"}),
    "Schema.from_toml": (privet.Schema.from_toml, {"text": ""}),
    "Schema.from_dict": (privet.Schema.from_dict, {"document": SCHEMA.to_dict()}),
    "Schema.column": (SCHEMA.column, {"name": "smoke"}),
    "Knowledge": (privet.Knowledge, {"tiers": (), "required": (), "forbidden": ()}),
    "Knowledge.may": (KNOWN.may, {"a": "smoke", "b": "cancer"}),
    "Knowledge.must": (KNOWN.must, {"a": "smoke", "b": "cancer"}),
    "Knowledge.check": (KNOWN.check, {"names": NAMES}),
    "Edge": (
        privet.Edge,
        {"source": "a", "target": "b", "mark": "-->", "confidence": 0.5, "tentative": None},
    ),
    "Graph": (
        privet.Graph,
        {"kind": "mpdag", "nodes": GRAPH.nodes, "edges": GRAPH.edges, "undecided": ()},
    ),
    "Graph.from_edges": (
        privet.Graph.from_edges,
        {"edges": ["a --> b"], "nodes": (), "kind": None},
    ),
    "Graph.from_matrix": (
        privet.Graph.from_matrix,
        {"names": ["a", "b"], "A": [[0, 1], [0, 0]], "kind": "dag"},
    ),
    "Graph.edge": (GRAPH.edge, {"a": "smoke", "b": "cancer"}),
    "Graph.parents": (GRAPH.parents, {"node": "smoke"}),
    "Graph.children": (GRAPH.children, {"node": "smoke"}),
    "Graph.neighbours": (GRAPH.neighbours, {"node": "smoke"}),
    "Graph.pag": (GRAPH.pag, {"hidden": ()}),
    "Graph.relabel": (GRAPH.relabel, {"names": {}}),
    "Graph.plot": (GRAPH.plot, {"title": None}),
    "Graph.edges_frame": (GRAPH.edges_frame, {"library": None}),
    "Picture.save": (GRAPH.plot().save, {"path": "graph.svg"}),
    "Discovery.explain": (FOUND.explain, {"a": "smoke", "b": "cancer"}),
    "Discovery.save": (FOUND.save, {"folder": "out", "force": True}),
    "Ledger": (privet.Ledger, {"path": ":memory:"}),
    "Ledger.create": (
        lambda **given: privet.Ledger(":memory:").create(**given),
        {"dataset": "x", "epsilon": 1, "delta": 0, "test_delta": 0, "accounting": "gdp"},
    ),
    "Ledger.grant": (
        lambda **given: book().grant(**given),
        {"dataset": "clinic", "epsilon": 2, "delta": 0, "test_delta": 0},
    ),
    "Ledger.account": (lambda **given: book().account(**given), {"dataset": "clinic"}),
}
MORE = {  # arguments that a good call leaves away
    "discover": ("epsilon", "delta", "method", "evidence", "protocol", "ledger", "as_published"),
    "discover with privacy": ("site", "reuse", "alpha", "seed", "max_order", "features"),
    "orient": ("all_pairs", "epsilon", "delta", "method", "evidence", "ledger", "as_published"),
}


def wrong(name: str) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    _, good = CALLS[name]
    for argument in (*good, *MORE.get(name, ())):
        for value in WRONG:
            yield argument, value, {**good, argument: value}


@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments_are_refused_by_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_LEDGER", str(tmp_path / "ledger.sqlite"))
    (tmp_path / "schema.toml").write_text(SCHEMA.to_toml())
    privet.save_graph(GRAPH, "graph.json")
    FOUND.save("out")
    new_key("mine", "keys")
    call, good = CALLS[name]
    call(**good) if name != "Schema.from_toml" else None
    bad = []
    for argument, value, given in wrong(name):
        try:
            call(**given)
        except PrivetError as error:
            assert str(error)
        except Exception as error:
            bad.append(f"{argument}={value!r:.40}: {type(error).__name__}: {error}")
    assert not bad, "\n".join(bad[:12])


def test_every_public_function_is_called() -> None:
    named = {name for name in privet.__all__ if inspect.isfunction(getattr(privet, name))}
    assert named <= set(CALLS)
