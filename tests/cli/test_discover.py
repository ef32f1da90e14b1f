"""``privet discover``: what it prints, what it writes, and what is left when it is stopped."""

from __future__ import annotations

import json
import re
import threading
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet.cli.progress import progress
from privet.graph.formats.files import load
from privet.methods import catalogue
from privet.privacy.ledger.book import Ledger
from privet.results.folder import FILES
from privet.schema.model import Schema
from tests.helpers.garden import SCHEMA, Run, rows, snapshot
from tests.helpers.patience import PATIENCE

GOOD = ("discover", "data.csv", "--schema", "schema.toml", "--epsilon", "1", "--output", "out")
AGAIN = ("discover", "--evidence", "out/evidence.json", "--output")


def change_method(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Every method asked for is interaction-pc with these parts replaced."""
    method = replace(catalogue.get("interaction-pc"), **changes)
    monkeypatch.setattr(catalogue, "get", lambda _name: method)


def stop_with(error: BaseException) -> Any:
    def stop(*_: Any) -> Any:
        raise error

    return stop


def test_the_folder_holds_everything(home: Path, run: Run) -> None:
    result = run(*GOOD)
    assert result.code == 0, result.err
    assert {path.name for path in (home / "out").iterdir()} == set(FILES)
    graph = load(home / "out" / "graph.json")
    assert graph.nodes == ("rain", "sprinkler", "wet")
    certificate = json.loads((home / "out" / "certificate.json").read_text())
    assert certificate["private"] is True
    assert (certificate["epsilon"], certificate["delta"]) == (1.0, 0.0)  # 8 cells
    assert certificate["spent"]["epsilon"] <= 1
    assert (home / "out" / "graph.svg").read_text().startswith("<svg")


def test_the_terminal_shows_graph_certificate_cap_and_files(home: Path, run: Run) -> None:
    out = run(*GOOD).out
    for edge in load("out/graph.json").edges:
        assert re.search(rf"{edge.source} +{edge.mark} +{edge.target} +{edge.confidence:.3f}", out)
    assert "privacy certificate" in out and "epsilon 1, delta 0" in out
    assert "set the cap of data set 'people' to epsilon 1" in out
    assert "privet ledger grant people --epsilon 2" in out
    for name in FILES:
        assert f"out/{name}" in out
    Ledger(home / "ledger.db").grant("people", epsilon=5)
    assert "set the cap" not in run(*GOOD[:-1], "out2").out


def test_json_is_one_object_and_quiet_is_quiet(home: Path, run: Run) -> None:
    result = run(*GOOD, "--json", "--ledger", "other.db")
    found = json.loads(result.out)
    assert set(found) == {"graph", "certificate", "files"}
    assert found["graph"] == json.loads((home / "out" / "graph.json").read_text())
    assert found["certificate"] == json.loads((home / "out" / "certificate.json").read_text())
    assert {name: Path(path) for name, path in found["files"].items()} == {
        name: Path("out") / name for name in FILES
    }
    quiet = run(*GOOD[:-1], "out2", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_force_replaces_results_and_nothing_else(home: Path, run: Run) -> None:
    (home / "out").mkdir()
    (home / "out" / "notes.txt").write_text("mine")
    (home / "out" / "graph.json").write_text("old")
    assert run(*GOOD, "--force").code == 0
    assert (home / "out" / "notes.txt").read_text() == "mine"
    assert load(home / "out" / "graph.json").nodes
    assert {path.name for path in (home / "out").iterdir()} == {*FILES, "notes.txt"}


def test_parents_of_the_output_are_made(home: Path, run: Run) -> None:
    assert run(*GOOD[:-1], "a/b/out").code == 0
    assert (home / "a" / "b" / "out" / "report.html").exists()
    assert [path.name for path in (home / "a" / "b").iterdir()] == ["out"]


def test_evidence_is_searched_again_for_nothing(home: Path, run: Run) -> None:
    run(*GOOD)
    ledger = (home / "ledger.db").read_bytes()
    (home / "data.csv").unlink()
    result = run(*AGAIN, "again", "--json")
    assert result.code == 0, result.err
    assert load(home / "again" / "graph.json") == load(home / "out" / "graph.json")
    first, second = (
        json.loads((home / folder / "certificate.json").read_text()) for folder in ("out", "again")
    )
    assert second["reused"] is True
    assert {**second, "reused": False} == first
    assert (home / "ledger.db").read_bytes() == ledger
    assert "cost nothing" in run(*AGAIN, "third").out


def test_evidence_can_be_searched_with_other_knowledge(home: Path, run: Run) -> None:
    run(*GOOD)
    more = SCHEMA + '[knowledge]\ntiers = [["wet"], ["rain", "sprinkler"]]\n'
    (home / "more.toml").write_text(more)
    assert run(*AGAIN, "again", "--schema", "more.toml").code == 0
    knowledge = Schema.load(home / "more.toml").knowledge
    for edge in load(home / "again" / "graph.json").edges:
        assert edge.mark != "-->" or knowledge.may(edge.source, edge.target)
    (home / "more.toml").write_text(SCHEMA.replace('"yes"', '"YES"'))
    result = run(*AGAIN, "other", "--schema", "more.toml")
    assert result.code == 2 and "measured with" in result.err


def test_no_privacy_says_so_everywhere(home: Path, run: Run) -> None:
    words = [word for word in GOOD if word not in ("--epsilon", "1")]
    result = run(*words, "--no-privacy")
    assert result.code == 0, result.err
    assert "NOT PRIVATE" in result.out
    assert "NOT PRIVATE" in (home / "out" / "report.html").read_text()
    certificate = json.loads((home / "out" / "certificate.json").read_text())
    assert certificate["private"] is False and certificate["reason"]
    assert not (home / "ledger.db").exists()


def test_pure_privacy_runs(home: Path, run: Run) -> None:
    found = json.loads(run(*GOOD, "--delta", "0", "--json").out)
    assert found["certificate"]["delta"] == 0
    assert found["certificate"]["spent"]["rho"] is None
    assert found["certificate"]["spent"]["epsilon"] <= 1
    assert {q["mechanism"] for q in found["certificate"]["queries"]} == {"Laplace"}


def test_the_report_is_one_safe_file(home: Path, run: Run) -> None:
    """Names are text in it, whatever they look like, and it can load nothing."""
    evil = "<script>alert(1)</script>&\"'[red]"
    quoted = '"' + evil.replace('"', '""') + '"'
    (home / "data.csv").write_text(rows(3000).replace("wet", quoted, 1))
    column = json.dumps(evil)
    text = SCHEMA.replace("[columns.wet]", f"[columns.{column}]")
    (home / "schema.toml").write_text(text.replace('"people"', column))
    result = run(*GOOD)
    assert result.code == 0, result.err
    assert "[red]" in result.out
    page = (home / "out" / "report.html").read_text()
    assert page.count("<script") == 1 and "alert(1)</script>" not in page
    assert "Content-Security-Policy" in page and "default-src 'none'" in page
    links = set(re.findall(r"(?:https?:)?//[\w.]+", page))
    assert links <= {"http://www.w3.org"}, links  # the name space of SVG, which nothing fetches
    assert not re.search(r"(src|href)\s*=", page)
    for part in ("The graph", "How sure each edge is", "What is promised", "could have been seen"):
        assert part in page


def test_a_stopped_search_keeps_what_was_paid_for(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        change_method(patch, search=stop_with(KeyboardInterrupt()))
        result = run(*GOOD)
    assert result.code == 130
    assert result.err.startswith("privet: stopped; epsilon ") and "was spent" in result.err
    assert result.err.count("was spent before that") == 1
    assert [path.name for path in (home / "out").iterdir()] == ["rescued-evidence.json"]
    words = result.err.rpartition("privet discover ")[2].split()
    again = run("discover", *words)
    assert again.code == 0, again.err
    assert set(FILES) < {path.name for path in (home / "out").iterdir()}


def test_what_was_paid_for_is_on_disk_while_it_is_searched(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No signal can be caught that kills at once, so nothing is left to an error handler."""
    search = catalogue.get("interaction-pc").search
    seen: list[Path] = []

    def look(*args: Any) -> Any:
        seen.extend(home.glob(".*/evidence.json"))
        return search(*args)

    change_method(monkeypatch, search=look)
    assert run(*GOOD).code == 0
    assert len(seen) == 1


def test_results_that_cannot_be_written_keep_what_was_paid_for(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_found: Any) -> Any:
        raise KeyboardInterrupt  # a fresh one each time: notes stay on an error

    monkeypatch.setattr("privet.results.report.graph.report", stop)
    result = run(*GOOD)
    assert result.code == 130 and result.err.count("was spent before that") == 1
    assert [path.name for path in (home / "out").iterdir()] == ["rescued-evidence.json"]
    again = run(*AGAIN[:2], "out/rescued-evidence.json", "--output", "again")
    assert again.err == "privet: stopped\n"  # a search for free has spent nothing


def test_a_stopped_measurement_says_what_was_spent(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = catalogue.get("interaction-pc").measure

    def stop_late(*args: Any) -> Any:
        measure(*args)
        raise KeyboardInterrupt

    change_method(monkeypatch, measure=stop_late)
    result = run(*GOOD)
    assert result.code == 130 and "was spent before that" in result.err
    assert not (home / "out").exists()
    account = Ledger(home / "ledger.db").account("people")
    assert account is not None and account.runs[0].state == "closed" and account.spent > 0


def test_stopped_before_the_first_charge_costs_nothing(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_method(monkeypatch, measure=stop_with(KeyboardInterrupt()))
    result = run(*GOOD)
    assert (result.code, result.err) == (130, "privet: stopped\n")
    account = Ledger(home / "ledger.db").account("people")
    assert account is not None and account.spent == 0


def test_a_bug_shows_its_place_but_never_its_text(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception may quote a cell."""
    error = ValueError("zanzibar")
    error.add_note("zanzibar again")
    change_method(monkeypatch, measure=stop_with(error))
    result = run(*GOOD)
    assert result.code == 1
    assert "zanzibar" not in result.err + result.out
    assert "ValueError at api/discover.py:" in result.err and "report" in result.err
    assert result.err.count("\n") == 1
    assert not (home / "out").exists()
    monkeypatch.setenv("PRIVET_DEBUG", "1")
    assert "zanzibar" in run(*GOOD, "--ledger", "new.db").err


def test_a_folder_that_fills_up_meanwhile_loses_nothing(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else makes the output folder while the search runs."""
    search = catalogue.get("interaction-pc").search

    def slow(*args: Any) -> Any:
        (home / "out").mkdir()
        (home / "out" / "graph.json").write_text("other")
        return search(*args)

    change_method(monkeypatch, search=slow)
    result = run(*GOOD)
    assert result.code == 2 and "exists by now" in result.err
    assert (home / "out" / "graph.json").read_text() == "other"
    kept = re.search(r"'([^']*\.privet-\w+)'", result.err)
    assert kept and {path.name for path in Path(kept[1]).iterdir()} == set(FILES)


def test_progress_shows_only_on_a_terminal_and_only_when_it_takes_long(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privet.cli.progress.PATIENCE", 0.0)
    assert run(*GOOD, "--ledger", "a.db").err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "━" in run(*GOOD, "--ledger", "b.db", "--force").err
    assert run(*GOOD, "--ledger", "c.db", "--force", "--quiet").err == ""
    monkeypatch.setattr("privet.cli.progress.PATIENCE", 1e9)
    assert "measuring" not in run(*GOOD, "--ledger", "d.db", "--force").err


def test_off_a_terminal_there_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a thread; the work waits here until it has spoken."""
    said, lines = threading.Event(), []

    class Listener:
        def isatty(self) -> bool:
            return False

        def write(self, text: str) -> None:
            lines.append(text)
            said.set()

        def flush(self) -> None: ...

    monkeypatch.setattr("privet.cli.progress.INTERVAL", 0.01)
    monkeypatch.setattr("sys.stderr", Listener())
    with progress(Namespace(quiet=True)) as on_step:
        on_step("searching", 0.5)
    assert not lines
    with progress(Namespace(quiet=False)) as on_step:
        on_step("searching\x1b", 0.5)
        assert said.wait(PATIENCE)
    assert "searching\\x1b (50%, about" in "".join(lines)


def test_a_name_with_control_characters_cannot_steer_the_terminal(home: Path, run: Run) -> None:
    text = SCHEMA.replace('"people"', r'"peo\u001B[31mple"').replace('"no", ', r'"n\u001Bo", ')
    (home / "schema.toml").write_text(text)
    result = run(*GOOD)
    assert result.code == 0, result.err
    assert "\x1b" not in result.out
    refused = run(*GOOD[:-1], "out2", "--no-reuse")
    assert refused.code == 2 and "\x1b" not in refused.err


@pytest.mark.parametrize(("columns", "code"), ((120, 0), (1000, 2)))
def test_many_columns_run_or_the_limit_is_said(
    columns: int, code: int, home: Path, run: Run
) -> None:
    names = [f"c{i}" for i in range(columns)]
    column = '[columns.{}]\nkind = "categorical"\nlevels = ["0", "1"]\n'
    text = 'name = "wide"\n' + "".join(column.format(name) for name in names)
    (home / "schema.toml").write_text(text)
    (home / "data.csv").write_text(",".join(names) + "\n" + (",".join("0" * columns) + "\n") * 50)
    result = run(*GOOD, "--quiet")
    assert result.code == code, result.err
    if code == 0:
        assert load("out/graph.json").nodes == tuple(names)
    else:
        assert "1000 columns" in result.err and "up to" in result.err
        assert not (home / "ledger.db").exists()


def test_nothing_is_left_beside_the_output(home: Path, run: Run) -> None:
    before = set(snapshot(home))
    run(*GOOD)
    kept = ("out", "ledger.db.evidence")
    after = {name for name in snapshot(home) if not name.startswith(kept)}
    assert after - before == {"ledger.db"}


def test_too_few_rows_are_said_before_anything_is_spent(home: Path, run: Run) -> None:
    """Where their number is public; the run is refused for its data, and has warned before."""
    public = 'name = "few"\nadjacency = "replace-one"\nrows = 178\n' + SCHEMA.split("\n", 1)[1]
    (home / "few.toml").write_text(public.replace('adjacency = "add-remove"\n', ""))
    words = ("few.toml", "--epsilon", "0.1", "--ledger", "few.db", "--output", "few")
    said = run("discover", "nowhere.csv", "--schema", *words)
    assert said.code == 2 and "about 178 rows are too few for these" in said.err
    assert not Path("few.db").exists() or Ledger("few.db").accounts() == ()
    many = public.replace("rows = 178", "rows = 3000000")
    (home / "few.toml").write_text(many.replace('adjacency = "add-remove"\n', ""))
    assert "too few" not in run("discover", "nowhere.csv", "--schema", *words).err
