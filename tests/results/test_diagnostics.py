"""What released margins and pairs show to be wrong with columns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.results.diagnostics import Diagnosis, against_sense
from privet.results.discovery import Discovery
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.budgets import capped

ROWS = 20_000
RNG = np.random.default_rng(5)
CAUSE = RNG.integers(2, size=ROWS)
TABLE = {
    "smoker": np.where(CAUSE == 1, "yes", "no").tolist(),
    "town": RNG.choice(["north", "south"], size=ROWS).tolist(),
    "wage": np.where(RNG.random(ROWS) < 0.6, 0.0, RNG.uniform(0, 100, ROWS)).tolist(),
    "height": RNG.normal(170, 10, ROWS).tolist(),
}


def schema_of(**levels: Any) -> Schema:
    columns = [
        Column(name=name, kind="categorical", **{"levels": ("no", "yes"), **facts})
        for name, facts in levels.items()
    ]
    return Schema(name="people", columns=tuple(columns))


TOWN = {"levels": ("north", "south")}


def found(schema: Schema, **facts: Any) -> Discovery:
    given = facts or {"epsilon": 1, "ledger": ":memory:"}
    return privet.discover({name: TABLE[name] for name in schema.names}, schema, **given)


def said(result: Discovery) -> dict[str, Diagnosis]:
    return {one.kind: one for one in result.diagnostics}


def test_sound_columns_are_not_spoken_of() -> None:
    assert not found(schema_of(smoker={}, town=TOWN)).diagnostics


@pytest.mark.parametrize("facts", [{}, {"private": False}], ids=["private", "exact"])
def test_a_misspelt_level_is_named_with_its_likely_cause(facts: dict[str, Any]) -> None:
    misspelt = {"levels": ("no", "Yes"), "missing": "level"}
    one = said(found(schema_of(smoker=misspelt, town=TOWN), **facts))["unseen level"]
    assert one.columns == ("smoker",)
    assert "'Yes' of 'smoker'" in one.text and "count as 'missing'" in one.text
    assert "spelt otherwise" in one.text and "privet schema check" in one.text


def test_a_misspelt_level_that_empties_its_column() -> None:
    """Without a level for missing cells they all count as the first one."""
    one = said(found(schema_of(smoker={"levels": ("no", "Yes")}, town=TOWN)))["constant"]
    assert one.columns == ("smoker",) and "'no'" in one.text and "spelt otherwise" in one.text


def test_an_empty_level_without_a_suspect() -> None:
    towns = {"levels": ("north", "south", "west"), "missing": "drop"}
    one = said(found(schema_of(smoker={}, town=towns)))["unseen level"]
    assert "'west' of 'town'" in one.text and "spelt" not in one.text and "merge" in one.text


def test_a_misspelt_level_that_drops_every_row() -> None:
    towns = {"levels": ("North", "South"), "missing": "drop"}
    one = said(found(schema_of(smoker={}, town=towns), private=False))["no rows"]
    assert one.columns == ("town",) and "spelt otherwise" in one.text


def test_where_noise_leaves_it_open_nothing_is_said() -> None:
    """At epsilon 0.001 noise is as large as the table."""
    misspelt = schema_of(smoker={"levels": ("no", "Yes"), "missing": "level"}, town=TOWN)
    assert not found(misspelt, epsilon=0.001, ledger=":memory:").diagnostics


def test_levels_that_noise_may_have_hidden_are_not_called_empty() -> None:
    """Thirty levels of 67 rows each, and noise of half as many."""
    fine = Column(name="fine", kind="categorical", levels=tuple(f"l{i}" for i in range(30)))
    schema = Schema(name="people", columns=(fine, *schema_of(a={}, b={}).columns))
    table = {n: ["no", "yes"] * 1000 for n in ("a", "b")}
    table["fine"] = [fine.levels[i % 30] for i in range(2000)]
    for _ in range(5):
        result = privet.discover(
            table, schema, epsilon=0.4, ledger=capped(schema.name, epsilon=0.4)
        )
        assert "unseen level" not in said(result)


def numbers(**bounds: tuple[float, float]) -> Schema:
    columns = (Column(name=n, kind="numeric", bounds=b) for n, b in bounds.items())
    return Schema(name="people", columns=tuple(columns))


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["table", "histogram"])
def test_numbers_that_pile_up_at_a_bound(delta: float) -> None:
    schema = numbers(wage=(0.0, 100.0), height=(100.0, 240.0))
    result = found(schema, epsilon=1, delta=delta, ledger=":memory:")
    assert {one.columns for one in result.diagnostics} == {("wage",)}
    one = said(result)["bound"]
    assert "at its bound 0" in one.text and "'wage'" in one.text


def test_a_column_is_spoken_of_once() -> None:
    """Of numbers beside categories a histogram and, later, groups are released."""
    town = Column(name="town", kind="categorical", levels=("north", "south"))
    mixed = replace(numbers(wage=(0, 100)), columns=(town, *numbers(wage=(0, 100)).columns))
    piles = [one for one in found(mixed).diagnostics if one.kind == "bound"]
    assert [one.columns for one in piles] == [("wage",)]


def test_bounds_that_are_much_too_wide() -> None:
    one = said(found(numbers(wage=(0.0, 100.0), height=(-1e5, 1e5)), private=False))
    assert one["constant"].columns == ("height",) and "too wide" in one["constant"].text


def test_levels_that_are_too_many_for_the_budget() -> None:
    columns = [Column(name=n, kind="categorical", levels=("no", "yes")) for n in ("a", "b", "c")]
    fine = Column(name="fine", kind="categorical", levels=tuple(f"l{i}" for i in range(30)))
    schema = Schema(name="people", columns=(*columns, fine))
    rng = np.random.default_rng(7)
    table = {n: rng.choice(["no", "yes"], size=2000).tolist() for n in ("a", "b", "c")}
    table["fine"] = rng.choice(fine.levels, size=2000).tolist()
    results = [
        privet.discover(table, schema, epsilon=e, ledger=capped(schema.name, epsilon=e))
        for e in (0.2, 50)
    ]
    assert [said(result).get("levels") is not None for result in results] == [True, False]
    assert said(results[0])["levels"].columns == ("fine",)


def test_too_few_rows_are_said_once() -> None:
    """No column is to blame where even two of two levels would hide a strong effect."""
    names = [f"x{i}" for i in range(14)]
    schema = Schema.of(names, levels={name: ["a", "b", "c"] for name in names}, name="few")
    rng = np.random.default_rng(3)
    table = {name: rng.choice(["a", "b", "c"], size=178).tolist() for name in names}
    result = privet.discover(table, schema, epsilon=1, delta=1e-6, ledger=":memory:")
    kinds = [one.kind for one in result.diagnostics]
    assert kinds.count("few rows") == 1 and "levels" not in kinds
    text = said(result)["few rows"].text
    assert "too few for these 14 columns at epsilon 1: in" in text and "of 91 pairs" in text
    assert "give or take" in text  # their number is private
    made = privet.plan(schema, rows=178, epsilon=1, delta=1e-6)
    assert any("about 178 rows are too few" in warning for warning in made.warnings)
    many = privet.plan(schema, rows=10**7, epsilon=1, delta=0)
    assert not any("too few" in warning for warning in many.warnings)


def with_copy(**facts: Any) -> Discovery:
    """cause --> effect, and a copy of the cause under other names."""
    flip = RNG.random(ROWS) < 0.2
    table = {
        "cause": np.where(CAUSE, "yes", "no").tolist(),
        "effect": np.where(CAUSE ^ flip, "yes", "no").tolist(),
        "twin": np.where(CAUSE, "no", "yes").tolist(),
    }
    return privet.discover(table, schema_of(cause={}, effect={}, twin={}), **facts)


@pytest.mark.parametrize("method", ["pc", "ges", "fci", "exact", "interaction-pc"])
def test_no_search_gets_a_column_and_its_copy(method: str) -> None:
    """The tests have dozens of deviations to spare, whatever noise does."""
    private = method.startswith("interaction")
    budget = {"epsilon": 4, "ledger": ":memory:"} if private else {"private": False}
    result = with_copy(method=method, **budget)
    pairs = {frozenset((e.source, e.target)): e.origin for e in result.graph.edges}
    assert pairs[frozenset(("cause", "twin"))] == "copy"
    assert set(pairs) == {frozenset(("cause", "twin")), frozenset(("cause", "effect"))}
    assert said(result)["copy"].columns == ("twin", "cause")
    assert any("'twin' (of 'cause')" in note for note in result.notes)


@pytest.mark.parametrize("method", ["pc", "ges", "moment-pc", "moment-ges"])
def test_numbers_that_say_the_same(method: str) -> None:
    """height --> reach, and the height in inches; one with a little noise is no copy."""
    height = np.array(TABLE["height"])
    table = {
        "height": height.tolist(),
        "reach": (height + RNG.normal(0, 10, ROWS)).tolist(),
        "inches": (height / 2.54).tolist(),
        "rough": (height + RNG.normal(0, 2, ROWS)).tolist(),
    }
    schema = numbers(height=(0, 300), reach=(0, 300), inches=(0, 120), rough=(0, 300))
    private = method.startswith("moment")
    budget = {"epsilon": 4, "ledger": ":memory:"} if private else {"private": False}
    result = privet.discover(table, schema, method=method, **budget)
    edges = [e for e in result.graph.edges if "inches" in (e.source, e.target)]
    assert [(e.source, e.target, e.origin) for e in edges] == [("height", "inches", "copy")]
    assert [one.columns for one in result.diagnostics] == [("inches", "height")]
    assert "correlation is 1.000" in result.diagnostics[0].text


def test_files_terminal_and_page_say_it(tmp_path: Path, capsys: Any) -> None:
    from privet.cli.main import main

    result = found(schema_of(smoker={"levels": ("no", "Yes")}, town=TOWN))
    result.save(tmp_path / "out")
    text = result.diagnostics[0].text
    written = json.loads((tmp_path / "out" / "diagnostics.json").read_text())
    assert [one["text"] for one in written["findings"]] == [text]
    assert "Look at these columns first" in (tmp_path / "out" / "report.html").read_text()
    again = ["discover", "--evidence", str(tmp_path / "out" / "evidence.json"), "--output"]
    assert main([*again, str(tmp_path / "again")]) == 0  # from the evidence alone
    assert f"- {text}" in " ".join(capsys.readouterr().out.split())
    assert main([*again, str(tmp_path / "third"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["diagnostics"][0]["text"] == text


def test_arrows_into_what_people_are_born_with() -> None:
    graph = Graph(
        "pag",
        ("age", "wage", "sex"),
        (
            Edge("wage", "age", "o->"),
            Edge("sex", "age", "-->"),
            Edge("sex", "wage", "-->"),
        ),
    )
    (one,) = against_sense(graph)
    assert one.columns == ("age",) and "wage o-> age" in one.text and "sex" not in one.columns
    assert 'tiers = [["age", "sex"], ["wage"]]' in one.text
    assert not against_sense(replace(graph, edges=graph.edges[:0]))
