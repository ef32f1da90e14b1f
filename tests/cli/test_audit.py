"""``privet audit``: its words, its files and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.garden import Run


def test_it_says_what_it_found(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    line = ["audit", "parity", "--epsilon", "1", "--runs", "400"]
    done = run(*line, "--output", str(out))
    assert done.code == 0 and "no violation found" in done.out and "promised 1" in done.out
    assert (out / "audit.svg").exists()
    assert json.loads((out / "audit.json").read_text())["violated"] is False
    assert json.loads(run(*line, "--json").out)["runs_on_each_table"] == 400
    again = run(*line, "--output", str(out))
    assert again.code == 2 and "--force" in again.err


def test_a_paper_is_named(run: Run) -> None:
    done = run("audit", "em-pc", "--as-published", "--epsilon", "1", "--runs", "40")
    assert done.code == 0 and "claimed 1" in done.out and "What is wrong" in done.out


@pytest.mark.parametrize(
    "line",
    [
        ["audit"],
        ["audit", "parity"],
        ["audit", "no-such-method", "--epsilon", "1"],
        ["audit", "parity", "--epsilon", "1", "--runs", "1"],
        ["audit", "parity", "--epsilon", "-1"],
        ["audit", "parity", "--epsilon", "1", "--confidence", "2"],
        ["audit", "curate", "--epsilon", "1", "--schema", "nowhere.toml"],
        ["audit", "curate", "--epsilon", "1", "--subsample", "2"],
    ],
)
def test_mistakes_have_exit_code_2(run: Run, line: list[str]) -> None:
    done = run(*line)
    assert done.code == 2 and done.err.startswith("privet: ") and "Traceback" not in done.err
