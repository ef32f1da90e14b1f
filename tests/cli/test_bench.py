"""``privet bench central`` and ``privet datasets``, as a user types them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from privet.bench import federated
from privet.networks import fetch as datasets
from privet.schema.model import Schema
from tests.helpers.garden import Run, snapshot

BENCH = (
    "bench",
    "central",
    "--networks",
    "cancer",
    "--epsilons",
    "1",
    "--methods",
    "interaction-pc",
    "--runs",
    "1",
    "--rows",
    "1000",
    "--processes",
    "1",
    "--output",
    "out",
)
PERSON = (
    "41, State-gov, 1, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "9, 0, 40, United-States, <=50K\n"
)


def test_bench_central(home: Path, run: Run) -> None:
    done = run(*BENCH)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (home / "out" / "runs.jsonl").read_text().splitlines()]
    assert [line["method"] for line in lines] == [
        "complete graph",
        "empty graph",
        "pc",
        "interaction-pc",
    ]
    for name in ("runs.jsonl", "central.md", "central.svg", "index.html"):
        assert name in done.out and (home / "out" / name).exists()
    assert "interaction-pc" in done.out and "skeleton F1" in done.out
    assert (home / "out" / "central.svg").read_text().startswith("<svg")
    before = (home / "out" / "runs.jsonl").read_bytes()
    again = run(*BENCH, "--quiet")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert (home / "out" / "runs.jsonl").read_bytes() == before
    assert not (home / "ledger.db").exists()  # simulated people have no budget


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--networks", "cancre", "did you mean 'cancer'"),
        ("--methods", "em-cp", "'em-cp'"),
        ("--epsilons", "1,one", "'one'"),
        ("--epsilons", "-1", "epsilon is -1"),
        ("--runs", "0", "runs is 0"),
        ("--rows", "-5", "rows is -5"),
        ("--processes", "0", "--processes is 0"),
        ("--delta", "2", "delta is 2"),
        ("--output", "data.csv/out", "data.csv"),
    ],
)
def test_bad_options_are_refused(home: Path, run: Run, option: str, value: str, says: str) -> None:
    words = list(BENCH)
    if option in words:
        at = words.index(option)
        del words[at : at + 2]
    before = snapshot(home)
    refused = run(*words, f"{option}={value}")
    assert refused.code == 2 and says in refused.err, refused.err
    assert snapshot(home) == before


def test_bench_federated(home: Path, run: Run) -> None:
    """The command that its page quotes is the grid that was run."""
    grid = federated.Grid(tables=("unlike",), rows=100, runs=1, networks=("asia",))
    done = run(*grid.command("out").split()[1:], "--processes", "1")
    assert done.code == 0 and "federated.md" in done.out, done.err
    lines = [json.loads(line) for line in (home / "out" / "runs.jsonl").read_text().splitlines()]
    assert len(lines) == len(list(grid.cells()))
    assert grid.command("out") in (home / "out" / "federated.md").read_text()
    refused = run("bench", "federated", "--columns", "five", "--output", "other")
    assert refused.code == 2 and "'five'" in refused.err and not (home / "other").exists()
    assert not (home / "ledger.db").exists()


@pytest.fixture
def archive(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sums = {}
    for name, text in (("adult.data", PERSON * 200), ("adult.test", "|\n" + PERSON)):
        (home / name).write_text(text)
        sums[name] = hashlib.sha256(text.encode()).hexdigest()
    monkeypatch.setattr(datasets, "SHA256", sums)
    return home


def test_datasets_fetch_and_discover(archive: Path, run: Run) -> None:
    done = run("datasets", "fetch", "adult", "--from", ".", "--output", "adult")
    assert done.code == 0, done.err
    assert "adult.csv" in done.out and "adult.schema.toml" in done.out
    assert len(Schema.load("adult/adult.schema.toml").columns) == 14
    words = ("--schema", "adult/adult.schema.toml", "--epsilon", "1", "--output", "out", "--quiet")
    found = run("discover", "adult/adult.csv", *words)
    assert found.code == 0, found.err
    twice = run("datasets", "fetch", "adult", "--from", ".", "--output", "adult")
    assert twice.code == 2 and "--force" in twice.err
    forced = ("datasets", "fetch", "adult", "--from", ".", "--output", "adult", "--force")
    assert run(*forced, "--quiet").out == ""


def test_datasets_list(home: Path, run: Run) -> None:
    assert "adult" in run("datasets", "list").out
    listed = json.loads(run("datasets", "list", "--json").out)
    found = {(d["name"], d["rows"], d["columns"]) for d in listed}
    assert found >= {("adult", 48842, 14), ("tuebingen", 201415, 2)}


def test_datasets_bad_input(archive: Path, run: Run) -> None:
    (archive / "adult.data").write_text(PERSON)
    wrong = run("datasets", "fetch", "adult", "--from", ".", "--output", "adult")
    assert wrong.code == 2 and "checksum" in wrong.err
    none = run("datasets", "fetch", "adult", "--from", "nil", "--output", "adult")
    assert none.code == 2 and "nil" in none.err
    unknown = run("datasets", "fetch", "titanic", "--output", "adult")
    assert unknown.code == 2 and "'titanic'" in unknown.err
    assert not (archive / "adult").exists()


def test_the_page_of_a_benchmark_has_its_tables_and_pictures(tmp_path: Path) -> None:
    from privet.bench.publish import publish

    text = "# All <methods>\n\n*Mean* of `f1`\n\n| a | b |\n|---|---|\n| 1 | **2** |\n"
    publish(tmp_path, {"x.md": text, "x.svg": "<svg></svg>", "none.svg": ""})
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "All &lt;methods&gt;" in page and "<td>1</td><td><strong>2</strong></td>" in page
    assert "<em>Mean</em> of" in page and page.count("<svg>") == 1
    assert not (tmp_path / "none.svg").exists()
