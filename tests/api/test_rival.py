"""PERI and its rivals over the rows of several sites: for comparison, and never called private."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.api.rival import rival
from privet.errors import BudgetError, DataError, MethodError, PrivetError
from privet.graph.knowledge import Knowledge
from privet.methods.literature.as_published.rivals import RIVALS
from privet.methods.searches.causal_order import causal_order
from privet.networks import load
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.hospitals import NAMES, NUMBERS, SCHEMA, numbers, patients

FOUND = {"smoke --> cough", "dust --> cough"}
WORDS = [patients(seed) for seed in (1, 2, 3)]
FIGURES = [numbers(seed) for seed in (1, 2, 3)]
EXACT: dict[str, Any] = {"private": False}
NUMBERS_ONLY = {each.name for each in RIVALS if each.numbers_only}


def edges(found: Any) -> set[str]:
    return {str(edge) for edge in found.graph.edges}


def curved(seed: int, rows: int = 1500) -> dict[str, list[float]]:
    """cough is a curve of smoke, with which it has no correlation; dust has no part in it."""
    rng = np.random.default_rng([7, seed])
    smoke, rest, dust = rng.normal(size=(3, rows))
    cough = smoke**2 + 0.5 * rest
    return dict(zip(NAMES, (x.tolist() for x in (smoke, cough, dust)), strict=True))


@pytest.mark.parametrize("name", [each.name for each in RIVALS])
def test_each_finds_the_collider_and_promises_nothing(name: str, tmp_path: Path) -> None:
    for data, schema in ((WORDS, SCHEMA), (FIGURES, NUMBERS)):
        if schema is SCHEMA and name in NUMBERS_ONLY:
            with pytest.raises(MethodError, match="numeric columns"):
                rival(*data, schema=schema, method=name, **EXACT)
            continue
        found = rival(*data, schema=schema, method=name, **EXACT)
        if name not in NUMBERS_ONLY:  # whose arrows rest on scales, or on errors unlike these
            assert edges(found) == FOUND
        assert not found.certificate.private and "switched off" in str(found.certificate)
        assert found.certificate["sites"] == 3
        traffic = found.certificate["traffic"]
        if name == "pooled":
            assert traffic is None and "one place" in found.notes[0]
        else:
            assert traffic["messages"] >= 3 and traffic["bytes_up"] >= 3
    files = found.save(tmp_path / name)
    expected = {"graph.json", "certificate.json", "seal.json", "graph.svg", "report.html"}
    assert {file.name for file in files} == expected
    assert json.loads((tmp_path / name / "certificate.json").read_text())["private"] is False


@pytest.mark.parametrize("score", ["mdl", "bic", "aic"])
@pytest.mark.parametrize("objective", ["worst", "sum"])
def test_scores_and_objectives(score: str, objective: Any) -> None:
    found = rival(*FIGURES, schema=NUMBERS, score=score, objective=objective, **EXACT)
    assert edges(found) >= FOUND if score == "aic" else edges(found) == FOUND
    asked = {"score": score, "objective": objective, "share": 1.0, "seed": 0}
    assert found.certificate["options"] == asked


def test_mdl_sees_curves() -> None:
    data = [curved(seed) for seed in range(3)]
    for method in ("peri", "ges-union", "rfcd"):
        assert edges(rival(*data, schema=NUMBERS, method=method, **EXACT)) == {"smoke --- cough"}
    assert not edges(rival(*data, schema=NUMBERS, score="bic", **EXACT))


def test_lingam_asks_each_site_and_finds_the_order_of_one_table() -> None:
    rng = np.random.default_rng(3)
    groups = []
    for _ in range(3):
        a, b, c, d = rng.uniform(-1, 1, size=(4, 2000))
        groups.append(np.stack([0.8 * (a + b) + c, a + b, a, d + c], axis=1))
    names = ("p", "q", "r", "s")
    schema = Schema(
        name="groups",
        columns=tuple(Column(name=n, kind="numeric", bounds=(-9, 9)) for n in names),
    )
    data = [dict(zip(names, group.T.tolist(), strict=True)) for group in groups]
    found = rival(*data, schema=schema, method="direct-lingam", **EXACT)
    order = causal_order(groups, (np.zeros((4, 4), dtype=bool),))
    at = {names[v]: place for place, v in enumerate(order)}
    assert {"r --> q", "q --> p"} <= edges(found)
    assert all(at[edge.source] < at[edge.target] for edge in found.graph.edges)


def test_sites_share_what_one_table_would_say() -> None:
    """Tables and moments of all sites add up to those of all rows."""
    for data, schema in ((WORDS, SCHEMA), (FIGURES, NUMBERS)):
        whole = {name: [cell for table in data for cell in table[name]] for name in NAMES}
        halves = [{name: whole[name][part::2] for name in NAMES} for part in (0, 1)]
        found, again = (
            rival(*some, schema=schema, method="pooled", **EXACT) for some in (data, halves)
        )
        assert found.graph == again.graph


def test_some_of_the_sites_at_a_time() -> None:
    model = load("asia")
    codes = [model.sample(2000, np.random.default_rng(seed)) for seed in range(10)]
    data = [{n: np.array(model.levels[n])[one[n]] for n in model.names} for one in codes]
    every, some = (rival(*data, schema=model.schema(), share=s, **EXACT) for s in (1.0, 0.2))
    assert every.certificate["traffic"]["messages"] == 10 * _iterations(every)
    assert some.certificate["traffic"]["messages"] == 2 * _iterations(some)


def _iterations(found: Any) -> int:
    return int(found.certificate["traffic"]["iterations"])


def test_as_published_says_what_is_wrong() -> None:
    found = rival(*WORDS, schema=SCHEMA, as_published=True, epsilon=1e6, seed=1)
    assert edges(found) == FOUND  # its noise is next to nothing
    told = found.certificate
    assert not told.private and told["as_published"]["epsilon"] == 1e6
    assert "covers one regret" in told["as_published"]["why"]
    loud = [
        rival(*WORDS, schema=SCHEMA, as_published=True, epsilon=1e-6, seed=seed).graph
        for seed in (1, 2, 3, 4, 5, 6, 1)
    ]
    assert loud[0] == loud[-1] and len(set(loud)) > 1, "the noise decides, and has a seed"


def test_knowledge_is_honoured() -> None:
    known = Knowledge(forbidden=frozenset({("smoke", "cough"), ("cough", "smoke")}))
    for data, schema in ((WORDS, SCHEMA), (FIGURES, NUMBERS)):
        told = Schema(name="patients", columns=schema.columns, knowledge=known)
        for each in RIVALS:
            if schema is NUMBERS or each.name not in NUMBERS_ONLY:
                found = rival(*data, schema=told, method=each.name, **EXACT)
                assert found.graph.edge("smoke", "cough") is None, each.name


def test_a_column_that_never_changes_and_a_site_with_one_row() -> None:
    flat = [{**table, "dust": [0.0] * len(table["dust"])} for table in FIGURES]
    tiny = [*FIGURES, {name: [0.5] for name in NAMES}]
    for each in RIVALS:
        found = rival(*flat, schema=NUMBERS, method=each.name, **EXACT)
        assert found.graph.edge("smoke", "dust") is None, each.name
        rival(*tiny, schema=NUMBERS, method=each.name, **EXACT)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({}, MethodError, "combine with method=.interaction-peri"),
        ({"epsilon": 1.0}, MethodError, "is not private"),
        ({"private": False, "epsilon": 1.0}, BudgetError, "epsilon"),
        ({"as_published": True}, BudgetError, "no epsilon"),
        ({"as_published": True, "epsilon": 1.0, "private": False}, MethodError, "never charged"),
        ({"as_published": True, "epsilon": 1.0, "method": "rfcd"}, MethodError, "no noise"),
        ({"private": False, "method": "perl"}, MethodError, "did you mean 'peri'"),
        ({"private": False, "score": "mdl"}, MethodError, "mdl needs numeric"),
        ({"private": False, "objective": "least"}, MethodError, "worst or sum"),
        ({"private": False, "share": 0.0}, MethodError, "above 0 and at most 1"),
        ({"private": False, "share": "all"}, MethodError, "part of the sites"),
        ({"private": False, "share": 0.5, "method": "pooled"}, MethodError, "leave it away"),
    ],
)
def test_refusals(options: dict[str, Any], error: type[PrivetError], said: str) -> None:
    with pytest.raises(error, match=said):
        rival(*WORDS, schema=SCHEMA, **options)


def test_one_table_is_no_federation() -> None:
    with pytest.raises(DataError, match="at least 2"):
        rival(WORDS[0], schema=SCHEMA, **EXACT)
