"""An identical run on the command line: nobody gets an old answer without being told."""

from __future__ import annotations

import json
from pathlib import Path

from privet.privacy.ledger.book import Ledger
from tests.api.test_reuse import as_file, runs, table
from tests.api.test_same_table import BARE, LOUD
from tests.helpers.garden import Run


def test_the_command_says_it_first_and_last(home: Path, run: Run) -> None:
    path = home / "book.db"
    Ledger(path).create("people", epsilon=9, delta=1e-6)
    as_file(home / "people.csv", table())
    (home / "s.toml").write_text(BARE.to_toml())
    known = ("--schema", "s.toml", "--epsilon", "1", "--ledger", str(path))
    words = ("discover", "people.csv", *known, "--output")
    assert run(*words, "out").code == 0
    refused = run(*words, "other", "--quiet")
    assert refused.code == 2 and "--reuse" in refused.err and "--no-reuse" in refused.err
    assert not (home / "other").exists() and runs(path) == ["closed"]
    quiet = run(*words, "quiet", "--quiet", "--reuse")
    assert quiet.code == 0 and quiet.out == "" and LOUD.match(quiet.err.removeprefix("privet: "))
    loud = run(*words, "loud", "--reuse")
    assert loud.err.startswith("privet: REUSED") and LOUD.match(loud.out.splitlines()[-1])
    parsed = run(*words, "json", "--reuse", "--json")
    assert json.loads(parsed.out)["certificate"]["measured_on"] and "REUSED" in parsed.err
    again = quiet.err.rpartition("measure again, and to pay: privet ")[2].split()
    assert run(*again).code == 0 and len(runs(path)) == 2  # the command that it names
    assert run(*words, "x", "--reuse", "--no-reuse").code == 2
    assert run(*words, "x", "--no-privacy", "--reuse").code == 2


def test_a_file_that_is_not_there_has_no_answer(home: Path, run: Run) -> None:
    as_file(home / "people.csv", table())
    (home / "s.toml").write_text(BARE.to_toml())
    asked = ("--schema", "s.toml", "--epsilon", "1", "--as-of", "2026-10-31", "--quiet")
    assert run("discover", "people.csv", *asked, "--output", "out").code == 0
    for more in ((), ("--reuse",), ("--no-reuse",)):
        gone = run("discover", "THIS_FILE_DOES_NOT_EXIST.csv", *asked, *more, "--output", "other")
        assert gone.code == 2 and "cannot read" in gone.err and not (home / "other").exists()
    again = run("discover", "people.csv", *asked, "--output", "other")
    assert again.code == 0 and LOUD.match(again.err.removeprefix("privet: "))
