"""``privet orient``: what it prints, what it writes, and what is left when it is stopped."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.graph.formats.files import load
from privet.pairs import edges
from privet.pairs.way import chance
from privet.pairs.ways import noisy_table as on_tables
from privet.privacy.ledger.book import Ledger
from tests.helpers.garden import Run

FILES = {"orientation.json", "certificate.json", "evidence.json", "seal.json", "report.html"}
SCHEMA = """\
name = "people"
[columns.age]
kind = "numeric"
bounds = [0, 100]
[columns.pressure]
kind = "numeric"
bounds = [40, 160]
[columns.sex]
kind = "categorical"
levels = ["f", "m"]
"""
# A search joins columns that have nothing to do with each other now and then (its alpha, not the
# noise, says how often). Where the whole graph is foretold, there are no such columns.
ONLY_THE_PAIR = SCHEMA.partition("[columns.sex]")[0]
PAIR = ("--cause-effect", "age,pressure")
GOOD = ("orient", "d.csv", "--schema", "s.toml", *PAIR, "--epsilon", "2", "--output", "out")
AGAIN = ("orient", "--evidence", "out/evidence.json", "--output")


@pytest.fixture(autouse=True)
def pair(home: Path) -> None:
    rng = np.random.default_rng(1)
    age = rng.uniform(18, 80, 6000)
    pressure = 100 + 40 * np.tanh((age - 40) / 15) + rng.normal(0, 6, 6000)
    lines = (f"{a:.2f},{p:.2f},f\n" for a, p in zip(age, pressure, strict=True))
    (home / "d.csv").write_text("age,pressure,sex\n" + "".join(lines))
    (home / "s.toml").write_text(SCHEMA)


def test_the_folder_holds_everything_and_the_terminal_says_it(home: Path, run: Run) -> None:
    result = run(*GOOD)
    assert result.code == 0, result.err
    assert {path.name for path in (home / "out").iterdir()} == FILES
    found = json.loads((home / "out" / "orientation.json").read_text())
    assert found["pairs"][0]["direction"] == "-->"
    assert re.search(r"age +--> +pressure +-\d.* < 0.001", result.out)
    assert "privacy certificate" in result.out and "epsilon 2, delta 0" in result.out
    assert "set the cap of data set 'people' to epsilon 2" in result.out
    assert all(f"out/{name}" in result.out for name in FILES)
    certificate = json.loads((home / "out" / "certificate.json").read_text())
    assert certificate["private"] is True and certificate["spent"]["epsilon"] == 2


def test_json_is_one_object_and_quiet_is_quiet(home: Path, run: Run) -> None:
    found = json.loads(run(*GOOD, "--json", "--ledger", "other.db").out)
    assert set(found) == {"privet orientation", "method", "pairs", "certificate", "files"}
    assert found["pairs"] == json.loads((home / "out/orientation.json").read_text())["pairs"]
    assert set(found["files"]) == FILES
    quiet = run(*GOOD[:-1], "out2", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_evidence_is_judged_again_for_nothing(home: Path, run: Run) -> None:
    run(*GOOD)
    ledger = (home / "ledger.db").read_bytes()
    (home / "d.csv").unlink()
    result = run(*AGAIN, "again")
    assert result.code == 0 and "cost nothing" in result.out
    one, two = (json.loads((home / f / "orientation.json").read_text()) for f in ("out", "again"))
    assert one == two
    assert run(*AGAIN, "both", "--method", "table-both", *PAIR).code == 0
    assert (home / "ledger.db").read_bytes() == ledger
    refused = run(*AGAIN, "iqr", "--method", "anm-iqr")
    assert refused.code == 2 and "table-collisions" in refused.err
    assert not (home / "iqr").exists()


def test_all_pairs_and_what_cannot_be_said(home: Path, run: Run) -> None:
    """Ranges that are far too wide: no answer, a warning once, and the way out."""
    (home / "s.toml").write_text(SCHEMA.replace("[0, 100]", "[-2000, 2000]"))
    words = [word for word in GOOD if word not in PAIR]
    result = run(*words, "--all-pairs")
    assert result.code == 0, result.err
    assert re.search(r"age +\? +pressure", result.out)
    assert "age and pressure: undecided: age fills too little of its range" in result.out
    assert result.out.count("--find-bounds") == 1
    Ledger(home / "ledger.db").grant("people", epsilon=10)
    found = run(*words[:-1], "found", "--all-pairs", "--find-bounds", "--epsilon", "5")
    assert re.search(r"age +--> +pressure", found.out), found.err


def test_only_a_difference(home: Path, run: Run) -> None:
    result = run(*GOOD, "--method", "loss-difference")
    assert "difference" in result.out and "forward" not in result.out
    assert "a range that is too wide decides its answer" in result.out
    assert "turned:" in result.out and "wrong" not in result.out  # which it does not know


def test_doubts_of_undecided_pairs_are_shown_too(home: Path, run: Run) -> None:
    """By few rows for so small an epsilon; and arrows of the page are not broken."""
    result = run(*GOOD, "--epsilon", "0.01")
    (pair,) = json.loads((home / "out" / "orientation.json").read_text())["pairs"]
    assert pair["direction"] == "undecided" and None not in (pair["flipped"], pair["wrong"])
    doubts = re.escape(chance(pair["flipped"])) + " +" + re.escape(chance(pair["wrong"]))
    assert re.search(rf"age +\? +pressure( +-?\d\S*){{2}} +{doubts}", result.out), result.out
    page = (home / "out" / "report.html").read_text()
    assert f">{html.escape(chance(pair['wrong']))}<" in page and ">wrong</th>" in page
    assert 'score of <span class="mark">--&gt;</span>' in page


def test_lines_are_as_wide_as_the_terminal_and_whole_in_a_pipe(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*GOOD, "--method", "loss-difference", "--force", "--no-reuse")
    monkeypatch.setenv("COLUMNS", "60")
    remark = "columns in units of their ranges, so a range that is too wide decides its answer"
    assert remark in run(*words).out
    monkeypatch.setenv("FORCE_COLOR", "1")  # which rich takes for a terminal
    Ledger(home / "ledger.db").grant("people", epsilon=10)
    lines = run(*words).out.splitlines()
    about = [line for line in lines if line.startswith(("turned:", "age and pressure:"))]
    assert len(about) >= 2 and max(map(len, about)) <= 60


def test_no_privacy_says_so_everywhere(home: Path, run: Run) -> None:
    words = [word for word in GOOD if word not in ("--epsilon", "2")]
    result = run(*words, "--no-privacy", "--method", "reci")
    assert result.code == 0 and "NOT PRIVATE" in result.out
    assert "NOT PRIVATE" in (home / "out" / "report.html").read_text()
    assert not (home / "ledger.db").exists()
    counted = run(*words[:-1], "counted", "--no-privacy", "--method", "anm-hsic")
    assert counted.code == 0 and re.search(r"age +--> +pressure", counted.out), counted.err
    (home / "s.toml").write_text('adjacency = "replace-one"\nrows = 6000\n' + SCHEMA)
    half = run(*GOOD[:-1], "half", "--as-published", "--method", "anm-hsic", "--protect", "test")
    assert half.code == 0 and "NOT PRIVATE" in half.out and "training half" in half.out
    assert not (home / "ledger.db").exists()


def test_the_report_is_one_safe_file(home: Path, run: Run) -> None:
    evil = "<script>alert(1)</script>[red]"
    text = (home / "d.csv").read_text().replace("age", evil, 1)
    (home / "d.csv").write_text(text)
    (home / "s.toml").write_text(SCHEMA.replace("[columns.age]", f"[columns.{json.dumps(evil)}]"))
    result = run(*GOOD[:4], "--all-pairs", *GOOD[6:])
    assert result.code == 0, result.err
    assert "[red]" in result.out
    page = (home / "out" / "report.html").read_text()
    assert page.count("<script") == 1 and "alert(1)</script>" not in page
    assert "Content-Security-Policy" in page
    assert not re.search(r"(src|href)\s*=", page)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*GOOD[:4], "--epsilon", "1", "--output", "out"), "--cause-effect A,B"),
        ((*GOOD, "--all-pairs"), "leave one of the two away"),
        ((*GOOD[:5], "age", *GOOD[6:]), "a comma between them"),
        ((*GOOD[:5], "age,sex", *GOOD[6:]), "'sex' is categorical"),
        ((*GOOD[:5], "age,presure", *GOOD[6:]), "did you mean 'pressure'"),
        ((*GOOD[:6], "--output", "out"), "there is no epsilon"),
        ((*GOOD, "--method", "anm-hsic"), "need the number of rows"),
        ((*GOOD, "--method", "anm-hsic", "--bandwidth", "median"), "taken from the rows"),
        (
            (*GOOD, "--method", "anm-iqr-tested", "--protect", "test", "--as-published"),
            "anm-iqr-tested has no such option",
        ),
        ((*GOOD, "--method", "tables"), "no method 'tables' for pairs"),
        ((*GOOD, "--no-privacy"), "--epsilon 2.0 was given with --no-privacy"),
        ((*GOOD, "--evidence", "e.json"), "--epsilon 2.0 was given with --evidence"),
        (("orient", "d.csv", "--evidence", "e.json", "--output", "out"), "reads no data"),
        (("orient", "--evidence", "e.json", "--no-privacy", "--output", "out"), "as private as"),
        (("orient", "--evidence", "e.json", "--output", "out"), "cannot read"),
        (("orient", "--schema", "s.toml", "--output", "out"), "no data were named"),
    ],
)
def test_refusals_cost_nothing(home: Path, run: Run, words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert result.code == 2 and message in result.err, result.err
    assert not (home / "out").exists() and not (home / "ledger.db").exists()


def stop(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_a_stopped_judgement_keeps_what_was_paid_for(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(on_tables, "judge", stop)
        result = run(*GOOD)
    assert result.code == 130 and "was spent" in result.err
    assert [path.name for path in (home / "out").iterdir()] == ["rescued-evidence.json"]
    words = result.err.rpartition("privet orient ")[2].split()
    again = run("orient", *words)
    assert again.code == 0, again.err
    assert {path.name for path in (home / "out").iterdir()} > FILES


def test_pairs_of_a_graph(home: Path, run: Run) -> None:
    """``privet discover --orient-pairs``: the arrow and where it is from. The score is 11 standard
    deviations from 0 and 9 from doubt, so noise turns or hides it less than once in a million."""
    (home / "s.toml").write_text(ONLY_THE_PAIR)
    words = ("discover", "d.csv", "--schema", "s.toml", "--epsilon", "3", "--output")
    result = run(*words, "graph", "--orient-pairs")
    assert result.code == 0, result.err
    (edge,) = load(home / "graph" / "graph.json").edges
    assert (str(edge), edge.origin) == ("age --> pressure", "pairs")
    assert "From pairs of columns looked at by themselves: age --> pressure" in result.out
    assert run(*words, "no", "--orient-pairs", "2").code == 2


def test_pairs_that_are_stopped_leave_the_evidence(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "s.toml").write_text(ONLY_THE_PAIR)
    words = ("discover", "d.csv", "--schema", "s.toml", "--epsilon", "3", "--output", "graph")
    with monkeypatch.context() as patch:
        patch.setattr(edges, "ask", stop)
        result = run(*words, "--orient-pairs")
    assert result.code == 130 and "was spent before that" in result.err
    assert [path.name for path in (home / "graph").iterdir()] == ["rescued-evidence.json"]
    again = run("discover", *result.err.rpartition("privet discover ")[2].split())
    assert again.code == 0, again.err
    assert [str(e) for e in load(home / "graph" / "graph.json").edges] == ["age --- pressure"]
