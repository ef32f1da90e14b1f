"""The other commands: schema draft, plan, compare, simulate, ledger, methods, convert."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.graph.edge import Edge
from privet.graph.formats.files import load, save
from privet.graph.graph import Graph
from privet.methods import catalogue
from privet.pairs import way as ways
from privet.schema.model import Schema
from tests.helpers.garden import Run

CHAIN = Graph("dag", ("a", "b", "c"), (Edge("a", "b", "-->"), Edge("b", "c", "-->")))
COLLIDER = Graph("dag", ("a", "b", "c"), (Edge("a", "b", "-->"), Edge("c", "b", "-->")))


def test_a_draft_is_a_schema_that_discover_accepts(home: Path, run: Run) -> None:
    draft = run("schema", "draft", "data.csv")
    assert draft.code == 0, draft.err
    (home / "draft.toml").write_text(draft.out)
    assert Schema.load("draft.toml").names == ("rain", "sprinkler", "wet")
    words = ("--schema", "draft.toml", "--epsilon", "1", "--output", "out", "--json")
    result = run("discover", "data.csv", *words)
    assert result.code == 0, result.err
    assumed = json.loads(result.out)["certificate"]["assumptions"]
    assert sum("rain.levels" in text and "nobody has confirmed" in text for text in assumed) == 1


def test_plan_says_which_epsilon_an_effect_needs_without_being_told_one(
    home: Path, run: Run
) -> None:
    words = ("plan", "schema.toml", "--rows", "10000", "--effect", "0.1")
    found = json.loads(run(*words, "--json").out)
    assert 0 < found["epsilon_for_effect"] < 10 and found["delta"] == 0
    uneven = json.loads(run(*words, "--margins", "uneven", "--json").out)
    assert uneven["epsilon_for_effect"] > found["epsilon_for_effect"]
    assert "needs epsilon" in run(*words).out
    assert "needs epsilon" in run(*words, "--sites", "3").out


def test_plan_names_what_it_guesses_and_what_will_not_show(home: Path, run: Run) -> None:
    shown = run("plan", "schema.toml", "--rows", "50", "--epsilon", "0.1")
    assert "--margins uneven" in shown.out and "would show in" not in shown.out
    assert "about 50 rows are too few for these 3 columns at epsilon 0.1: in 3 of 3" in shown.err
    words = ("plan", "schema.toml", "--rows", "50", "--epsilon", "0.1", "--margins", "uneven")
    assert "equally common" not in run(*words).out
    assert json.loads(run(*words, "--json").out)["invisible"][0] == ["rain", "sprinkler"]


def test_plan_and_run_promise_the_delta_that_serves_best_of_those_allowed(
    home: Path, run: Run
) -> None:
    """The table of three columns is small: Laplace noise is smaller than any delta would allow."""
    for words in ((), ("--delta", "1e-6")):
        shown = run("plan", "schema.toml", "--rows", "1000", "--epsilon", "1", *words)
        assert "epsilon 1, delta 0:" in " ".join(shown.out.split())
        shown = run(
            *("discover", "data.csv", "--schema", "schema.toml", "--epsilon", "1", *words),
            *("--ledger", f"ledger{len(words)}.db", "--output", f"out{len(words)}"),
        )
        kept = json.loads((home / f"out{len(words)}" / "certificate.json").read_text("utf-8"))
        assert shown.code == 0 and kept["delta"] == 0, shown.err


def test_plan_prints_a_table_and_what_an_effect_needs(home: Path, run: Run) -> None:
    (home / "data.csv").unlink()  # it needs no data
    words = ("plan", "schema.toml", "--rows", "10000", "--epsilon", "1")
    shown = run(*words, "--effect", "0.1")
    assert shown.code == 0, shown.err
    assert "typical pair" in shown.out and "needs epsilon" in shown.out
    found = json.loads(run(*words, "--effect", "0.1", "--json").out)
    assert found["epsilon_for_effect"] > 0
    assert [line["order"] for line in found["lines"]] == [0, 1]
    assert all(0 < line["best"] <= line["typical"] <= line["worst"] for line in found["lines"])
    small = run(*words, "--effect", "0.0001")
    assert small.code == 0 and "more rows" in small.out
    assert not (home / "ledger.db").exists()


def test_compare(home: Path, run: Run) -> None:
    save(CHAIN, "truth.json")
    save(COLLIDER, "found.json")
    same = json.loads(run("compare", "truth.json", "truth.json", "--json").out)
    assert same["shd"] == 0 and same["directed_f1"] == 1 and same["sid"] == 0
    found = json.loads(run("compare", "truth.json", "found.json", "--json").out)
    assert found["shd"] == 2 and found["skeleton_f1"] == 1
    shown = run("compare", "truth.json", "found.json").out
    for word in ("SHD", "SID", "TPR", "FPR", "TDR", "precision", "recall", "F1"):
        assert word in shown


def test_simulate_a_network_and_discover_it(home: Path, run: Run) -> None:
    made = run("simulate", "survey", "--rows", "2000", "--seed", "3", "--output", "s.csv")
    assert made.code == 0, made.err
    for name in ("s.csv", "s.schema.toml", "s.truth.json"):
        assert name in made.out and (home / name).exists()
    words = ("--schema", "s.schema.toml", "--epsilon", "1", "--output", "out", "--quiet")
    assert run("discover", "s.csv", *words).code == 0
    assert run("compare", "s.truth.json", "out/graph.json").code == 0
    again = ("simulate", "survey", "--rows", "2000", "--seed", "3", "--output", "s.csv")
    before = (home / "s.csv").read_bytes()
    assert run(*again, "--force", "--quiet").out == ""
    assert (home / "s.csv").read_bytes() == before


@pytest.mark.parametrize("options", (("--levels", "3"), ("--levels", "2-4"), ("--gaussian",)))
def test_simulate_random(home: Path, run: Run, options: tuple[str, ...]) -> None:
    words = ("--nodes", "4", "--density", "0.5", "--rows", "50", "--output", "r.csv")
    result = run("simulate", "random", *words, *options)
    assert result.code == 0, result.err
    columns = Schema.load("r.schema.toml").columns
    assert len(columns) == 4
    if options[-1] == "3":
        assert {column.cardinality for column in columns} == {3}
    assert load("r.truth.json").nodes == tuple(column.name for column in columns)


def test_ledger_create_show_grant(home: Path, run: Run) -> None:
    assert "No data set has a budget yet" in run("ledger", "show").out
    assert not (home / "ledger.db").exists()
    assert run("ledger", "create", "people", "--epsilon", "2", "--delta", "1e-5").code == 0
    twice = run("ledger", "create", "people", "--epsilon", "2")
    assert twice.code == 2 and "privet ledger grant people" in twice.err
    words = ("--schema", "schema.toml", "--epsilon", "0.5", "--output", "out", "--quiet")
    assert run("discover", "data.csv", *words).code == 0
    shown = run("ledger", "show", "people").out
    assert "interaction-pc" in shown and "components" in shown and "closed" in shown
    assert run("ledger", "grant", "people", "--epsilon", "3").code == 0
    (account,) = json.loads(run("ledger", "show", "--json").out)
    assert (account["epsilon"], account["delta"]) == (3.0, 1e-5)
    assert 0 < account["spent_epsilon"] <= 0.5 and account["left_epsilon"] < 3
    assert len(account["runs"]) == 1 and account["runs"][0]["queries"]
    assert run("ledger", "grant", "people", "--epsilon", "1").code == 2
    assert "people" not in run("ledger", "show", "--ledger", "other.db").out
    assert account["accounting"] == "gdp" and "Gaussian differential privacy" in shown


def test_a_ledger_says_how_it_counts(home: Path, run: Run) -> None:
    create = ("ledger", "create", "people", "--epsilon", "2", "--accounting")
    assert run(*create, "rdp").code == 2
    assert run(*create, "zcdp").code == 0
    assert "Accounting: zero-concentrated" in run("ledger", "show", "people").out
    (account,) = json.loads(run("ledger", "show", "--json").out)
    assert account["accounting"] == "zcdp"
    words = ("--schema", "schema.toml", "--epsilon", "0.5", "--output", "out", "--quiet")
    assert run("discover", "data.csv", *words).code == 0
    certificate = json.loads((home / "out" / "certificate.json").read_text())
    assert certificate["accounting"] == "zcdp"  # the cap's, not the method's


def test_the_run_of_a_certificate_is_in_the_ledger(home: Path, run: Run) -> None:
    words = ("--schema", "schema.toml", "--epsilon", "0.5", "--output", "out", "--json")
    certificate = json.loads(run("discover", "data.csv", *words).out)["certificate"]
    (account,) = json.loads(run("ledger", "show", "people", "--json").out)
    (recorded,) = account["runs"]
    assert certificate["ledger"]["run"] == recorded["id"]
    keys = ("what", "cost", "test_delta")
    assert [{key: q[key] for key in keys} for q in certificate["queries"]] == recorded["queries"]
    assert certificate["spent"]["epsilon"] == account["spent_epsilon"]
    assert certificate["ledger"]["left_epsilon"] == account["left_epsilon"]


def test_methods(home: Path, run: Run) -> None:
    """Those for graphs, then those for pairs."""
    names = [("discover", method.name) for method in catalogue.available()]
    names += [("orient", way.name) for way in ways.all_ways()]
    shown, table = run("methods").out, run("methods", "--markdown").out
    listed = json.loads(run("methods", "--json").out)
    assert [(line["command"], line["method"]) for line in listed] == names
    for _, name in names:
        assert name in shown and f"| `{name}` |" in table
    assert table.startswith("| method |") and table.count("| `") == len(names)
    assert table.index("| `pc` |") < table.index("For `privet orient`") < table.index("| `anm` |")


def test_methods_in_groups_that_fit_a_narrow_terminal(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("methods").out
    assert shown.count("\n") < 3 * (len(catalogue.available()) + len(ways.all_ways()))
    titles = ("Central privacy", "Local privacy", "No privacy", "For `privet orient`")
    places = [shown.index(title) for title in titles]
    assert places == sorted(places)
    assert places[1] < shown.index("local-pc") < places[2] < shown.index(" lingam ") < places[3]
    assert " noleaks * +" in shown and "--as-published" in shown
    groups = {
        group: [line["method"] for line in json.loads(run("methods", group, "--json").out)]
        for group in ("central", "local", "open", "pairs")
    }
    listed = [line["method"] for line in json.loads(run("methods", "--json").out)]
    assert sorted(name for names in groups.values() for name in names) == sorted(listed)
    for group, names in groups.items():
        brief, table = run("methods", group).out, run("methods", group, "--markdown").out
        assert table.count("| `") == len(names) and all(name in brief for name in names)
        assert sum(title in brief for title in titles) == 1
    wrong = run("methods", "lokal")
    assert wrong.code == 2 and "central" in wrong.err


def test_convert(home: Path, run: Run) -> None:
    save(CHAIN, "a.json")
    for suffix in (".dot", ".graphml", ".gml", ".csv", ".dagitty"):
        assert run("convert", "a.json", f"b{suffix}").code == 0
        assert run("convert", f"b{suffix}", "c.json", "--force").code == 0
        assert load("c.json") == CHAIN
    assert run("convert", "a.json", "a.svg").code == 0
    assert (home / "a.svg").read_text().startswith("<svg")


def test_help_of_every_command(run: Run) -> None:
    for words in ((), ("discover",), ("plan",), ("ledger", "grant"), ("schema", "draft")):
        result = run(*words, "--help")
        assert result.code == 0 and "usage: privet" in result.out


def test_a_true_graph_as_a_search_for_hidden_causes_may_find_it(home: Path, run: Run) -> None:
    """The fix that `compare` names for a PAG beside a DAG."""
    assert run("simulate", "asia", "--rows", 50, "--output", "asia.csv").code == 0
    assert run("convert", "asia.truth.json", "pag.json", "--pag").code == 0
    refused = run("compare", "asia.truth.json", "pag.json")
    assert refused.code == 2 and "privet convert" in refused.err and "--pag" in refused.err
    assert run("compare", "pag.json", "pag.json").code == 0
    assert run("convert", "asia.truth.json", "less.json", "--pag", "--hide", "smoke").code == 0
    assert "smoke" not in (home / "less.json").read_text()
    assert run("convert", "asia.truth.json", "no.json", "--pag", "--hide", "smog").code == 2
    assert run("convert", "asia.truth.json", "no.json", "--hide", "smoke").code == 2


def test_a_draft_goes_into_a_file_and_never_over_another(home: Path, run: Run) -> None:
    assert run("schema", "draft", "data.csv", "--output", "new.toml").code == 0
    assert Schema.load(home / "new.toml").names
    again = run("schema", "draft", "data.csv", "--output", "new.toml")
    assert again.code == 2 and "exists" in again.err
    assert run("schema", "draft", "data.csv", "--output", "none/new.toml").code == 2
