"""A study by files, as five hospitals would run it at the command line."""

from __future__ import annotations

import csv
import json
from contextlib import chdir
from pathlib import Path

import pytest

from privet.cli.main import main
from tests.helpers.hospitals import SCHEMA, patients

SITES = [f"hospital-{letter}" for letter in "abcde"]


def write_rows(path: Path, seed: int) -> None:
    rows = patients(seed, 2500)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(rows)
        out.writerows(zip(*rows.values(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keys, ledgers and a lock that all have joined."""
    home = tmp_path_factory.mktemp("study")
    (home / "schema.toml").write_text(SCHEMA.to_toml(), "utf-8")
    for seed, name in enumerate(SITES):
        write_rows(home / f"{name}.csv", seed)
        run(home, "site", "key", name, "--account", name, "--output", name)
        cap = ("--epsilon", "1", "--ledger", f"{name}.sqlite")
        run(home, "ledger", "create", name, *cap)
    keys = [f"{name}/public.json" for name in SITES]
    asked = ("--schema", "schema.toml", "--epsilon", "1")
    run(home, "federate", "lock", *keys, *asked, "--output", "study")
    return home


def run(home: Path, *words: str, code: int = 0) -> None:
    with chdir(home):
        assert main(words) == code


def measure(home: Path, name: str, target: str, *more: str, code: int = 0) -> None:
    given = ("--study", "study/study.lock", "--keys", name, "--ledger", f"{name}.sqlite")
    run(home, "measure", f"{name}.csv", *given, *more, "--output", target, code=code)


def test_from_keys_to_a_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measure(folder, SITES[0], "early.masked", code=2)
    assert "privet site join" in capsys.readouterr().err
    run(folder, "site", "code", "study/study.lock")
    code = capsys.readouterr().out.strip()
    assert len(code.split()) == 8
    for name in SITES:
        run(folder, "site", "join", "study/study.lock", "--keys", name, "--code", code)
        weaker = " ".join(capsys.readouterr().out.split())
        assert "the guarantee to your people would weaken to epsilon" in weaker
        measure(folder, name, f"{name}-1.masked")
    first = [f"{name}-1.masked" for name in SITES]
    run(folder, "combine", *first, "--study", "study/study.lock", "--output", "joint", code=2)
    assert "privet federate ask" in capsys.readouterr().err
    ask = ("--study", "study/study.lock", "--keys", "study", "--output", "request.json")
    every = first
    for stage in (2, 3):
        run(folder, "federate", "ask", *every, *ask)
        for name in SITES:
            measure(folder, name, f"{name}-{stage}.masked", "--request", "request.json")
        every = [*every, *(f"{name}-{stage}.masked" for name in SITES)]
    more = ("--output", "joint", "--alpha", "1e-9")
    run(folder, "combine", *every, "--study", "study/study.lock", *more)
    graph = json.loads((folder / "joint" / "graph.json").read_text("utf-8"))
    assert len(graph["edges"]) == 2
    said = json.loads((folder / "joint" / "certificate.json").read_text("utf-8"))
    assert said["trust"] == "together" and said["code"] == code
    others = [each for each in said["assumptions"] if "weaken to" in each]
    assert len(others) == 2 and f"epsilon {said['alone_epsilon']:.3g}" in others[0]
    assert not any("left" in each for each in said["assumptions"])
    page = (folder / "joint" / "report.html").read_text("utf-8")
    assert "private in the sum over 5 sites" in page
    assert "would weaken to epsilon" in page and "would be left" not in page
    capsys.readouterr()
    run(folder, "federate", "ask", *every, *ask, code=2)
    assert "all questions of this study are answered" in capsys.readouterr().err
    without = ("--without", SITES[1])
    run(folder, "federate", "ask", *every, *ask, *without, code=2)
    assert "nothing is left of the budget" in capsys.readouterr().err
    run(folder, "federate", "ask", *first, *ask, *without)
    measure(folder, SITES[0], "again.masked", "--request", "request.json", code=2)
    assert "privet: " in capsys.readouterr().err, "the later stages have spent the rest"
    closing = ("--keys", SITES[0], "--ledger", f"{SITES[0]}.sqlite")
    run(folder, "site", "close", "study/study.lock", *closing)
    measure(folder, SITES[0], "late.masked", code=2)
    assert "privet site key" in capsys.readouterr().err


def test_wrong_files_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.masked").write_bytes(b"{}")
    study = ("--study", "study/study.lock", "--output", "joint")
    run(folder, "combine", "odd.masked", *study, "--force", code=2)
    assert "signed by no site of this study" in capsys.readouterr().err
    run(folder, "combine", "missing.masked", *study, "--force", code=2)
    assert "cannot read" in capsys.readouterr().err
    run(
        folder,
        "combine",
        "odd.masked",
        "--study",
        "odd.masked",
        "--output",
        "joint",
        "--force",
        code=2,
    )
    assert "no lock of a study" in capsys.readouterr().err
    keys = [f"{name}/public.json" for name in SITES[:2]]
    asked = ("--schema", "schema.toml", "--epsilon", "1", "--output", "study")
    run(folder, "federate", "lock", *keys, *asked, code=2)
    assert "3 to 1000" in capsys.readouterr().err
    several = [f"{name}/public.json" for name in SITES]
    run(folder, "federate", "lock", *several, *asked, "--method", "em-pc", code=2)
    assert "sites add up tables or moments" in capsys.readouterr().err
    run(folder, "federate", "lock", *several, *asked, "--delta", "0", code=2)
    assert "needs a delta" in capsys.readouterr().err
