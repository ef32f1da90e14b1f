"""From answers to a graph with nobody in between: ``privet plan --local``, ``privet randomize``,
``privet discover --protocol``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.errors import BudgetError, DataError, EvidenceError, MethodError
from privet.graph.formats.files import load
from tests.helpers.garden import SCHEMA, Run, snapshot

DISCOVER = ("discover", "reports.csv", "--protocol", "protocol.json", "--output", "out")


@pytest.fixture
def reports(home: Path, run: Run) -> Path:
    done = run(
        "randomize",
        "data.csv",
        "--schema",
        "schema.toml",
        "--epsilon",
        "9",
        "--output",
        "reports.csv",
        "--quiet",
    )
    assert done.code == 0, done.err
    return home


def test_a_graph_from_reports(reports: Path, run: Run) -> None:
    done = run(*DISCOVER)
    assert done.code == 0, done.err
    for shown in (
        "privacy certificate",
        "epsilon 9 for all that one person sends",
        "3,000 reports were counted",
        "Nothing was spent",
    ):
        assert shown in " ".join(done.out.replace("│", " ").split()), shown
    certificate = json.loads((reports / "out/certificate.json").read_text())
    assert certificate["trust"] == "local" and certificate["private"]
    assert certificate["epsilon"] == 9 and certificate["delta"] == 0
    assert certificate["spent"] is None and certificate["ledger"] is None
    assert 8.999 < certificate["levels"]["epsilon_ldp"] <= 9
    assert certificate["reports"]["people"] == 3000
    assert certificate["reports"]["left_out"] == {
        "other_protocol": 0,
        "malformed": 0,
        "repeated": 0,
        "further": 0,
    }
    assert any("one report" in line for line in certificate["assumptions"])
    # at epsilon 9 nearly every report is true, and both parents of "wet" are strong
    assert load(reports / "out/graph.json").skeleton() >= {
        frozenset({"rain", "wet"}),
        frozenset({"sprinkler", "wet"}),
    }
    page = (reports / "out/report.html").read_text()
    assert "private before it was sent" in page and "3,000 reports by" in page
    assert not (reports / "ledger.json").exists()


def test_the_evidence_is_searched_again_and_knowledge_may_come(reports: Path, run: Run) -> None:
    assert run(*DISCOVER, "--quiet").code == 0
    knowledge = '[knowledge]\nforbidden = [["rain", "wet"], ["wet", "rain"]]\n'
    (reports / "knowing.toml").write_text(f"{SCHEMA}\n{knowledge}")
    again = ("discover", "--evidence", "out/evidence.json", "--output", "again", "--schema")
    done = run(*again, "knowing.toml")
    assert done.code == 0, done.err
    assert frozenset({"rain", "wet"}) not in load(reports / "again/graph.json").skeleton()
    assert json.loads((reports / "again/certificate.json").read_text())["reused"]
    done = run(*DISCOVER, "--schema", "knowing.toml", "--force")
    assert done.code == 0, done.err
    assert frozenset({"rain", "wet"}) not in load(reports / "out/graph.json").skeleton()


def test_several_methods_share_the_reports(reports: Path, run: Run) -> None:
    done = run(*DISCOVER, "--methods", "local-pc,local-fci,local-mmhc", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert set(found["others"]) == {"local-fci", "local-mmhc"}


def test_odd_reports_are_counted_and_left_out(reports: Path, run: Run) -> None:
    lines = (reports / "reports.csv").read_text().splitlines()
    name, block, _ = lines[1].split(",")
    odd = [f"{name},{block},999", f"{name},0,0", f"{name},x,y", "0123456789ab,3,1", "junk"]
    (reports / "reports.csv").write_text("\n".join([*lines, *odd]) + "\n")
    done = run(*DISCOVER, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)["certificate"]["reports"]
    assert told["people"] == 3000
    assert told["left_out"] == {"other_protocol": 1, "malformed": 4, "repeated": 0, "further": 0}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--epsilon", "1"), "--epsilon"),
        (("--delta", "1e-6"), "--delta"),
        (("--ledger", "l.json"), "--ledger"),
        (("--no-privacy",), "--no-privacy"),
        (("--as-published",), "--as-published"),
        (("--evidence", "e.json"), "--evidence"),
        (("--orient-pairs",), "--orient-pairs"),
        (("--method", "pc"), "local-pc"),
        (("--method", "local-pcc"), "local-pc"),
        (("--cap", "3"), "cap"),
        (("--max-order", "9"), "--max-order"),
    ],
)
def test_what_does_not_go_with_reports(
    reports: Path, run: Run, more: tuple[str, ...], said: str
) -> None:
    before = snapshot(reports)
    done = run(*DISCOVER, *more)
    assert done.code == 2 and said in done.err, done.err
    assert snapshot(reports) == before


def test_reports_and_protocol_that_are_none(reports: Path, run: Run) -> None:
    (reports / "other.json").write_text("{}")
    for words, said in (
        (("data.csv", "--protocol", "protocol.json"), "column 'protocol'"),
        (("nowhere.csv", "--protocol", "protocol.json"), "nowhere.csv"),
        (("reports.csv", "--protocol", "nowhere.json"), "nowhere.json"),
        (("reports.csv", "--protocol", "other.json"), "no protocol of Privet's"),
        (("--protocol", "protocol.json"), "no data were named"),
    ):
        done = run("discover", *words, "--output", "out")
        assert done.code == 2 and said in done.err, (words, done.err)
        assert not (reports / "out").exists()


def test_a_method_for_reports_does_not_take_rows(home: Path, run: Run) -> None:
    done = run(
        "discover",
        "data.csv",
        "--schema",
        "schema.toml",
        "--epsilon",
        "1",
        "--method",
        "local-pc",
        "--output",
        "out",
    )
    assert done.code == 2 and "reports" in done.err


def test_evidence_of_reports_is_no_tables(reports: Path, run: Run) -> None:
    assert run(*DISCOVER, "--quiet").code == 0
    done = run(
        "discover",
        "--evidence",
        "out/evidence.json",
        "--method",
        "interaction-pc",
        "--output",
        "again",
    )
    assert done.code == 2 and "local-pc" in done.err
    saved = json.loads((reports / "out/evidence.json").read_text())
    for part in ("reports", "levels"):
        broken = {**saved, "certificate": {**saved["certificate"], part: {}}}
        (reports / "broken.json").write_text(json.dumps(broken))
        done = run("discover", "--evidence", "broken.json", "--output", "again")
        assert done.code == 2 and "evidence" in done.err, done.err


def test_from_python(reports: Path) -> None:
    found = privet.discover(reports / "reports.csv", protocol=reports / "protocol.json")
    assert found.method == "local-pc" and found.certificate.local
    refused: list[tuple[type[Exception], dict[str, Any]]] = [
        (BudgetError, {"epsilon": 1.0}),
        (BudgetError, {"private": False}),
        (BudgetError, {"ledger": reports / "l.json"}),
        (MethodError, {"method": ["local-pc", "pc"]}),
        (DataError, {"protocol": 7}),
        (EvidenceError, {"schema": privet.Schema.load(_renamed(reports))}),
    ]
    for error, more in refused:
        with pytest.raises(error):
            privet.discover(
                reports / "reports.csv", **{"protocol": reports / "protocol.json", **more}
            )
    with pytest.raises(DataError):
        privet.discover(protocol=reports / "protocol.json")


def _renamed(home: Path) -> Path:
    path = home / "renamed.toml"
    path.write_text(SCHEMA.replace("sprinkler", "hose"))
    return path


def test_a_plan_says_what_each_protocol_tells(home: Path, run: Run) -> None:
    words = ("plan", "--local", "schema.toml", "--people", "20000", "--epsilon", "3")
    done = run(*words, "--effect", "0.1")
    assert done.code == 0, done.err
    for shown in ("planned-block", "component-wise", "people for 0.1", "would use planned-block"):
        assert shown in done.out.replace("\n", " ") or shown.split()[0] in done.out
    found = json.loads(run(*words, "--effect", "0.1", "--json").out)
    assert found["best"] == "planned-block" and found["people"] == 20_000
    lines = {line["protocol"]: line for line in found["lines"]}
    best, worst = lines["planned-block"], lines["component-wise"]
    assert best["cost"] < worst["cost"] and best["people"] < worst["people"]
    assert best["worth"] == pytest.approx(20_000 / best["cost"])
    assert 0 < best["effect"] < worst["effect"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--local",), "--people"),
        (("--local", "--people", "0"), "at least 1"),
        (("--local", "--people", "10", "--rows", "10"), "--rows"),
        (("--local", "--people", "10", "--delta", "0"), "--delta"),
        (("--local", "--people", "10", "--effect", "2"), "effect"),
        (("--rows", "10", "--people", "10"), "--local"),
    ],
)
def test_plans_that_make_no_sense(home: Path, run: Run, words: tuple[str, ...], said: str) -> None:
    done = run("plan", "schema.toml", "--epsilon", "1", *words)
    assert done.code == 2 and said in done.err, done.err


def test_bench_local_in_small(home: Path, run: Run) -> None:
    done = run(
        "bench",
        "local",
        "--sources",
        "none",
        "--networks",
        "cancer",
        "--epsilons",
        "4",
        "--protocols",
        "planned-block",
        "--runs",
        "1",
        "--rows",
        "2000",
        "--processes",
        "1",
        "--output",
        "bench",
    )
    assert done.code == 0, done.err
    assert {path.name for path in (home / "bench").iterdir()} >= {"runs.jsonl", "local.md"}
    done = run("bench", "local", "--networks", "nowhere", "--output", "bench")
    assert done.code == 2 and "nowhere" in done.err


def test_people_who_reported_twice_are_told_what_that_means(home: Path, run: Run) -> None:
    """Copies of a report cost nothing more; others do, though they are left out."""
    words = ("randomize", "data.csv", "--schema", "schema.toml", "--epsilon", "2", "--quiet")
    named = "\n".join(
        ("who," if i == 0 else f"p{i},") + line
        for i, line in enumerate((home / "data.csv").read_text().splitlines())
    )
    (home / "data.csv").write_text(named + "\n")
    for file in ("reports.csv", "second.csv"):
        assert run(*words, "--person", "who", "--output", file).code == 0
    first = (home / "reports.csv").read_text().splitlines()
    second = (home / "second.csv").read_text().splitlines()
    for more, said in ((first[1:100], False), (second[1:100], True)):
        (home / "reports.csv").write_text("\n".join([*first, *more]) + "\n")
        found = json.loads(run(*DISCOVER, "--force", "--json").out)
        left = found["certificate"]["reports"]["left_out"]
        assert left["repeated"] + left["further"] == 99 and bool(left["further"]) == said
        shown = " ".join(run(*DISCOVER, "--force").out.replace("│", " ").split())
        assert ("sum of the epsilons of all that they sent" in shown) == said


def test_a_name_with_line_breaks_is_one_report(home: Path, run: Run) -> None:
    lines = ["who,rain,sprinkler,wet", *[f"p{i},no,no,no" for i in range(300)]]
    assert (
        run(
            "randomize",
            "data.csv",
            "--schema",
            "schema.toml",
            "--epsilon",
            "4",
            "--quiet",
            "--output",
            "reports.csv",
        ).code
        == 0
    )
    name = (home / "reports.csv").read_text().splitlines()[1].split(",")[0]
    odd = "".join(f"\n{name},zz{i},3,0" for i in range(500))
    lines.append(f'"m{odd}",no,no,no')
    (home / "data.csv").write_text("\n".join(lines) + "\n")
    assert (
        run(
            "randomize",
            "data.csv",
            "--schema",
            "schema.toml",
            "--epsilon",
            "4",
            "--quiet",
            "--person",
            "who",
            "--output",
            "reports.csv",
            "--force",
        ).code
        == 0
    )
    found = json.loads(run(*DISCOVER, "--json").out)
    assert found["certificate"]["reports"]["people"] <= 301


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: saved["certificate"].update(epsilon=1.0),
        lambda saved: saved["certificate"].update(trust="central"),
        lambda saved: saved["releases"][0].update(mechanism="k-RR as published"),
    ],
    ids=["epsilon", "trust", "as-published"],
)
def test_evidence_is_held_against_its_certificate(reports: Path, run: Run, change: Any) -> None:
    assert run(*DISCOVER, "--quiet").code == 0
    saved = json.loads((reports / "out/evidence.json").read_text())
    change(saved)
    (reports / "changed.json").write_text(json.dumps(saved))
    done = run("discover", "--evidence", "changed.json", "--output", "again")
    assert done.code == 2 and "damaged" in done.err, done.err


def test_a_plan_that_no_protocol_serves_is_refused_once(home: Path, run: Run) -> None:
    (home / "drop.toml").write_text(SCHEMA.replace('"yes"]', '"yes"]\nmissing = "drop"', 1))
    done = run("plan", "--local", "drop.toml", "--people", "1000", "--epsilon", "1")
    assert done.code == 2 and done.err.count("missing") >= 1 and not done.out


def test_plans_fit_a_narrow_terminal(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    words = ("plan", "--local", "schema.toml", "--people", "20000", "--epsilon", "0.01")
    out = run(*words, "--effect", "0.01").out
    assert max(map(len, out.splitlines())) <= 80 and "effect" in out and "people" in out


def test_bench_pairs_knows_its_methods(home: Path, run: Run) -> None:
    done = run("bench", "pairs", "--methods", "table-colisions", "--output", "bench")
    assert done.code == 2 and "table-collisions" in done.err and not (home / "bench").exists()
