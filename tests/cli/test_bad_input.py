"""What bad input gets: one line with the value and the fix, exit code 2, nothing spent, nothing
written. What depends on the rows is never an error."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from privet.privacy.ledger.book import Ledger
from tests.helpers.garden import SCHEMA, Run, snapshot

GOOD = ("discover", "data.csv", "--schema", "schema.toml", "--epsilon", "1", "--output", "out")
FREE = ("discover", "data.csv", "--schema", "schema.toml", "--no-privacy", "--output", "out")


def having(**options: object) -> tuple[str, ...]:
    """The good command with some options changed, added, or (None) left out."""
    words = list(GOOD)
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
        if value is not None:
            words += [option, str(value)]
    return tuple(words)


def schema(old: str, new: str) -> dict[str, str]:
    assert old in SCHEMA
    return {"schema.toml": SCHEMA.replace(old, new, 1)}


LEVELS = 'levels = ["no", "yes"]'
NUMERIC = 'kind = "numeric"\nbounds = [0, 1]'
CATEGORICAL = f'kind = "categorical"\n{LEVELS}'

LONG = "n" * 300
ONE = '{"kind": "dag", "nodes": ["a"], "edges": []}'  # a graph
# Commands that end in a path, after what their refusal calls it.
TAKE_A_PATH = (
    ("--ledger", "ledger", "show", "--ledger"),
    ("DATA", "schema", "draft"),
    ("DATA", "schema", "check", "--schema", "schema.toml"),
    ("--output", "simulate", "asia", "--rows", "10", "--output"),
    ("--ledger", *GOOD, "--ledger"),
    ("--output", *GOOD[:-1]),
    ("DATA", "discover", *GOOD[2:]),
    ("evidence", "discover", "--output", "out", "--evidence"),
    ("DIR", "verify"),
    ("the graph file", "compare", "a.json"),
    ("OUT", "convert", "a.json"),
    ("--output", "demo", "--output"),
    ("--output", "audit", "interaction-pc", "--epsilon", "1", "--output"),
    ("--output", "datasets", "fetch", "adult", "--output"),
    ("--output", "randomize", "data.csv", "--schema", "schema.toml", "--epsilon", "1", "--output"),
    ("DATA", "randomize", "--schema", "schema.toml", "--epsilon", "1", "--output", "x.csv"),
    ("--tuebingen", "bench", "pairs", "--output", "out", "--tuebingen"),
    ("--output", "measure", "data.csv", "--study", "x", "--keys", "y", "--output"),
)

# name: (files to write, command, what the message must say)
CASES: dict[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "no data file": ({}, ("discover", "nil.csv", *GOOD[2:]), ("nil.csv", "check the path")),
    "no data at all": ({}, ("discover", *GOOD[2:]), ("no data", "DATA")),
    "a folder as data": ({}, ("discover", ".", *GOOD[2:]), ("'.'", "directory")),
    "empty data": ({"data.csv": ""}, GOOD, ("data.csv", "empty", "header")),
    "blank header": ({"data.csv": "\n1\n"}, GOOD, ("data.csv", "name the columns")),
    "no Parquet": ({"d.parquet": "x"}, ("discover", "d.parquet", *GOOD[2:]), ("Parquet",)),
    "duplicate columns": (
        {"data.csv": "rain,rain,sprinkler,wet\n"},
        GOOD,
        ("'rain'", "rename or remove"),
    ),
    "missing column": (
        {"data.csv": "rain,sprinklr,wet\n"},
        GOOD,
        ("'sprinkler'", "did you mean 'sprinklr'"),
    ),
    **{
        f"a name too long for {words[0]} {at}": (
            {"a.json": ONE},
            (*words, LONG),
            (f"{what} is 'nnn", "nnn...", "no file"),
        )
        for at, (what, *words) in enumerate(TAKE_A_PATH)
    },
    "no schema": ({}, having(schema=None), ("privet schema draft DATA > schema.toml",)),
    "no schema file": ({}, having(schema="nil.toml"), ("nil.toml", "privet schema draft")),
    "bad TOML": ({"schema.toml": "name = \n"}, GOOD, ("not valid TOML", "line 1")),
    "unknown key": (schema("kind", "knid"), GOOD, ("'knid'", "did you mean 'kind'")),
    "unknown kind": (schema("categorical", "categoric"), GOOD, ("'categoric'", "categorical")),
    "one level": (schema(LEVELS, 'levels = ["no"]'), GOOD, ("'rain'", "at least 2")),
    "duplicate levels": (schema(LEVELS, 'levels = ["no", "no"]'), GOOD, ("'rain'", "'no'", "once")),
    "bounds reversed": (
        schema(CATEGORICAL, 'kind = "numeric"\nbounds = [9, 2]'),
        GOOD,
        ("9.0", "2.0", "below"),
    ),
    "one column": (
        {"schema.toml": SCHEMA.split("[columns.sprinkler]")[0]},
        GOOD,
        ("1 column", "at least 2"),
    ),
    "no columns": ({"schema.toml": 'name = "people"\n'}, GOOD, ("no columns", "[columns.NAME]")),
    "replace-one without rows": (
        {"schema.toml": 'adjacency = "replace-one"\n' + SCHEMA},
        GOOD,
        ("rows = N",),
    ),
    "rows per person": (
        {"schema.toml": "rows_per_person = 0\n" + SCHEMA},
        GOOD,
        ("rows_per_person = 0", "least 1"),
    ),
    "knowledge contradicts itself": (
        {
            "schema.toml": SCHEMA
            + '[knowledge]\nrequired = [["rain", "wet"]]\nforbidden = [["rain", "wet"]]\n'
        },
        GOOD,
        ("rain", "wet"),
    ),
    "knowledge of an unknown column": (
        {"schema.toml": SCHEMA + '[knowledge]\nrequired = [["rian", "wet"]]\n'},
        GOOD,
        ("'rian'",),
    ),
    "no epsilon": ({}, having(epsilon=None), ("--epsilon 1", "--no-privacy")),
    "epsilon zero": ({}, having(epsilon=0), ("0.0", "above 0")),
    "epsilon negative": ({}, having(epsilon=-1), ("-1.0", "above 0")),
    "epsilon nan": ({}, having(epsilon="nan"), ("nan", "above 0")),
    "epsilon infinite": ({}, having(epsilon="inf"), ("inf", "above 0")),
    "epsilon a word": ({}, having(epsilon="much"), ("--epsilon", "'much'", "--help")),
    "delta one": ({}, having(delta=1), ("1.0", "1e-6")),
    "delta negative": ({}, having(delta=-0.1), ("-0.1", "1e-6")),
    "delta no promise": ({}, having(delta=0.5), ("delta is 0.5", "at most 0.1", "1e-6")),
    "delta no promise, as published": (
        {},
        (*having(delta=0.5, method="em-pc"), "--as-published"),
        ("0.5", "at most 0.1", "1e-6"),
    ),
    "delta no promise, plan": (
        {},
        ("plan", "schema.toml", "--epsilon", "1", "--rows", "9", "--delta", "0.11"),
        ("0.11", "at most 0.1", "1e-6"),
    ),
    "delta no promise, orient": (
        {"schema.toml": SCHEMA.replace(CATEGORICAL, NUMERIC)},
        ("orient", *GOOD[1:], "--all-pairs", "--delta", "0.2"),
        ("0.2", "at most 0.1", "1e-6"),
    ),
    "delta no promise, cap": (
        {},
        ("ledger", "create", "people", "--epsilon", "1", "--delta", "0.3"),
        ("0.3", "at most 0.1", "1e-6"),
    ),
    "delta no promise, cap with tests": (
        {},
        ("ledger", "create", "people", "--epsilon", "1", "--delta", "0.06", "--test-delta", "0.06"),
        ("0.12", "delta for tests", "at most 0.1", "1e-6"),
    ),
    "delta nan": ({}, having(delta="nan"), ("nan", "1e-6")),
    "alpha zero": ({}, having(alpha=0), ("alpha", "0.0", "between 0 and 1")),
    "alpha one": ({}, having(alpha=1), ("alpha", "1.0", "between 0 and 1")),
    "alpha nan": ({}, having(alpha="nan"), ("alpha", "nan", "between 0 and 1")),
    "order negative": ({}, having(max_order=-1), ("--max-order", "-1", "from 0 on")),
    "order too high": ({}, having(max_order=9), ("9", "0, 1 or 2")),
    "order no whole number": (
        {},
        having(max_order="1.5"),
        ("--max-order", "'1.5'", "no whole number", "such as 10"),
    ),
    "epsilon with a comma": (
        {},
        having(epsilon="0,5"),
        ("--epsilon", "'0,5'", "no number", "such as 0.5", "discover --help"),
    ),
    "rows in powers of ten": (
        {},
        ("simulate", "asia", "--rows", "1e3", "--output", "x.csv"),
        ("--rows", "'1e3'", "no whole number", "simulate --help"),
    ),
    "seed negative": ({}, having(seed=-1), ("seed", "-1", "from 0 on")),
    "unknown method": (
        {},
        having(method="interaction-cp"),
        ("'interaction-cp'", "did you mean 'interaction-pc'"),
    ),
    "method for other columns": (
        {},
        having(method="moment-pc"),
        ("moment-pc", "numeric", "'rain'", "--method auto"),
    ),
    "method for another delta": (
        {"schema.toml": SCHEMA.replace(CATEGORICAL, NUMERIC)},
        having(method="moment-pc", delta=0),
        ("moment-pc", "delta", "1e-6"),
    ),
    "method without privacy": ({}, having(method="pc"), ("pc is not private", "--no-privacy")),
    "epsilon and no privacy": (
        {},
        (*GOOD, "--no-privacy"),
        ("--epsilon 1.0", "--no-privacy", "leave one"),
    ),
    "ledger and no privacy": (
        {},
        (*FREE, "--ledger", "l.db"),
        ("--ledger l.db", "--no-privacy", "leave one"),
    ),
    "delta and no privacy": ({}, (*FREE, "--delta", "0"), ("--delta 0.0", "leave one")),
    "output is a file": ({"out": "x"}, GOOD, ("'out'", "is a file", "folder")),
    "output is full": ({"out/x": "x"}, GOOD, ("'out'", "not empty", "--force")),
    "output below a file": ({"x": ""}, having(output="x/out"), ("x/out", "choose a folder")),
    "no output": ({}, having(output=None), ("--output", "required")),
    "ledger is a folder": ({}, having(ledger="."), ("directory", "name a file")),
    "ledger in no folder": ({}, having(ledger="nil/l.db"), ("nil/l.db", "--ledger FILE")),
    "ledger is no ledger": (
        {"l.db": "no SQLite " * 100},
        having(ledger="l.db"),
        ("l.db", "not a ledger", "--ledger"),
    ),
    "no evidence file": (
        {},
        ("discover", "--evidence", "nil.json", "--output", "out"),
        ("nil.json", "path"),
    ),
    "no evidence in the file": (
        {"e.json": "{}"},
        ("discover", "--evidence", "e.json", "--output", "out"),
        ("e.json",),
    ),
    "evidence and data": (
        {},
        ("discover", "data.csv", "--evidence", "e.json", "--output", "out"),
        ("leave one",),
    ),
    "evidence and epsilon": (
        {},
        ("discover", "--evidence", "e.json", "--epsilon", "1", "--output", "out"),
        ("--epsilon 1.0", "leave one"),
    ),
    "evidence and no privacy": (
        {},
        ("discover", "--evidence", "e.json", "--no-privacy", "--output", "out"),
        ("--no-privacy", "--evidence", "leave one"),
    ),
    "abbreviated option": ({}, (*GOOD, "--forc"), ("--forc", "--force", "privet discover --help")),
    "unknown command": ({}, ("discovr",), ("'discovr'", "discover", "compare")),
    "no command": ({}, (), ("COMMAND", "--help")),
    "draft of nothing": ({}, ("schema", "draft", "nil.csv"), ("nil.csv",)),
    "draft of an empty file": ({"e.csv": ""}, ("schema", "draft", "e.csv"), ("e.csv", "empty")),
    "plan without rows": ({}, ("plan", "schema.toml", "--epsilon", "1"), ("--rows 10000",)),
    "plan with no rows": (
        {},
        ("plan", "schema.toml", "--epsilon", "1", "--rows", "0"),
        ("--rows is 0", "at least 1"),
    ),
    "plan without epsilon": (
        {},
        ("plan", "schema.toml", "--rows", "9"),
        ("--epsilon 1", "--effect 0.1"),
    ),
    "plan with odd margins": (
        {},
        ("plan", "schema.toml", "--rows", "9", "--epsilon", "1", "--margins", "odd"),
        ("'odd'", "even or uneven"),
    ),
    "plan with a bad effect": (
        {},
        ("plan", "schema.toml", "--epsilon", "1", "--rows", "9", "--effect", "1.5"),
        ("--effect is 1.5", "between 0 and 1"),
    ),
    "plan with a bad epsilon": (
        {},
        ("plan", "schema.toml", "--epsilon", "-2", "--rows", "9"),
        ("-2.0", "above 0"),
    ),
    "compare with nothing": ({}, ("compare", "a.json", "b.json"), ("b.json", "check the path")),
    "compare with no graph": (
        {"a.json": "[]"},
        ("compare", "a.json", "a.json"),
        ("a.json", "JSON object"),
    ),
    "convert into an unknown format": (
        {"a.json": ONE},
        ("convert", "a.json", "a.xyz"),
        (".xyz", ".graphml"),
    ),
    "convert onto a file": (
        {"a.json": ONE, "a.dot": ""},
        ("convert", "a.json", "a.dot"),
        ("'a.dot'", "--force"),
    ),
    "simulate an unknown network": (
        {},
        ("simulate", "asai", "--rows", "9", "--output", "a.csv"),
        ("'asai'", "did you mean 'asia'", "random"),
    ),
    "simulate files of which one has too long a name": (
        {},
        ("simulate", "asia", "--rows", "9", "--output", "n" * 248 + ".csv"),
        ("--output is 'nnn", "no file", "shorter"),
    ),
    "simulate no rows": (
        {},
        ("simulate", "asia", "--rows", "0", "--output", "a.csv"),
        ("rows = 0", "at least 1"),
    ),
    "simulate onto a file": (
        {},
        ("simulate", "asia", "--rows", "9", "--output", "data.csv"),
        ("data.csv", "--force"),
    ),
    "simulate into no format": (
        {},
        ("simulate", "asia", "--rows", "9", "--output", "a.xls"),
        ("a.xls", ".parquet"),
    ),
    "simulate a network with nodes": (
        {},
        ("simulate", "asia", "--nodes", "5", "--rows", "9", "--output", "a.csv"),
        ("--nodes", "`random`"),
    ),
    "simulate bad levels": (
        {},
        ("simulate", "random", "--levels", "x", "--rows", "9", "--output", "a.csv"),
        ("--levels", "'x'", "2-5"),
    ),
    "show an unknown data set": ({}, ("ledger", "show", "nobody"), ("'nobody'", "ledger create")),
    "grant to an unknown data set": (
        {},
        ("ledger", "grant", "nobody", "--epsilon", "1"),
        ("'nobody'", "privet ledger create"),
    ),
    "create with a bad epsilon": (
        {},
        ("ledger", "create", "people", "--epsilon", "-1"),
        ("-1.0", "above 0"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_and_costs_nothing(name: str, home: Path, run: Run) -> None:
    files, command, said = CASES[name]
    for file, text in files.items():
        (home / file).parent.mkdir(exist_ok=True)
        (home / file).write_text(text)
    before = snapshot(home)
    result = run(*command)
    assert result.code == 2, result
    assert result.out == ""
    assert result.err.startswith("privet: ") and result.err.count("\n") == 1, result.err
    for part in said:
        assert part in result.err
    assert snapshot(home) == before


def test_a_budget_that_is_used_up_says_what_is_left_and_how_to_allow_more(
    home: Path, run: Run
) -> None:
    Ledger(home / "ledger.db").create("people", epsilon=0.5, delta=1e-6)
    before = snapshot(home)
    result = run(*GOOD)
    assert result.code == 2
    assert "epsilon 0.5 " in result.err and "left" in result.err
    assert "privet ledger grant people --epsilon" in result.err
    assert snapshot(home) == before
    words = result.err.rpartition("privet ledger grant ")[2].split()
    assert run("ledger", "grant", *words).code == 0
    assert run(*GOOD).code == 0  # the command that was proposed is enough


def test_a_locked_ledger_is_refused(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privet.privacy.ledger.store.BUSY_SECONDS", 0.05)
    Ledger(home / "ledger.db").create("people", epsilon=5, delta=1e-6)
    other = sqlite3.connect(home / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        result = run(*GOOD)
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert result.code == 2
    assert "locked" in result.err and "try again" in result.err
    assert not (home / "out").exists()
    account = Ledger(home / "ledger.db").account("people")
    assert account is not None and not account.runs


def test_a_pipe_is_refused(home: Path, run: Run) -> None:
    """Its header can be read only once, so its rows would be lost."""
    import os

    os.mkfifo(home / "pipe.csv")
    result = run("discover", "pipe.csv", *GOOD[2:])
    assert result.code == 2 and "pipe" in result.err
    assert not (home / "ledger.db").exists()


ODD = {
    "no rows": "rain,sprinkler,wet\n",
    "one row": "rain,sprinkler,wet\nno,yes,no\n",
    "three rows": "rain,sprinkler,wet\n" + "no,yes,no\n" * 3,
    "constant columns": "rain,sprinkler,wet\n" + "no,no,no\n" * 500,
    "strange cells": "rain,sprinkler,wet\n" + "maybe,,NaN\n" * 500,
    "ragged rows": "rain,sprinkler,wet\nno\nno,yes,no,yes,no\n,,,,,\n\n",
    "broken quotes": 'rain,sprinkler,wet\nno,"yes,no\nno,yes,"no""\n',
}


@pytest.mark.parametrize("free", (False, True))
@pytest.mark.parametrize("name", ODD)
def test_what_depends_on_rows_is_never_an_error(
    name: str, free: bool, home: Path, run: Run
) -> None:
    (home / "data.csv").write_text(ODD[name])
    result = run(*(FREE if free else GOOD), "--json")
    assert result.code == 0, result.err
    assert result.err == ""
    graph = json.loads(result.out)["graph"]
    assert graph["nodes"] == ["rain", "sprinkler", "wet"]
    if free:  # without noise, there is nothing to be found in any of these
        assert graph["edges"] == []


def test_numbers_out_of_bounds_and_constant_numbers_run(home: Path, run: Run) -> None:
    (home / "schema.toml").write_text(SCHEMA.replace(CATEGORICAL, NUMERIC))
    for cells in ("5,-1e300,inf", "0.5,0.5,0.5", "x,,nan"):
        (home / "data.csv").write_text("rain,sprinkler,wet\n" + f"{cells}\n" * 200)
        result = run(*having(epsilon=0.5, ledger=":memory:"), "--force", "--json")
        assert result.code == 0, result.err


def test_bytes_that_are_no_text_run(home: Path, run: Run) -> None:
    noise = np.random.default_rng(0).bytes(5000)
    (home / "data.csv").write_bytes(b"rain,sprinkler,wet\n" + noise)
    assert run(*GOOD, "--quiet").code == 0
