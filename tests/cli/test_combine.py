"""``privet combine``, ``discover --site`` and ``schema check`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.results.folder import FILES, SITES
from privet.results.words import words
from tests.helpers.garden import Run, rows
from tests.helpers.hospitals import changed

SITE = ("discover", "data.csv", "--schema", "schema.toml", "--epsilon", "300", "--delta", "1e-6")


@pytest.fixture
def files(home: Path, run: Run) -> list[str]:
    """What two sites have sent; each has a ledger of its own."""
    found: list[str] = []
    for label in ("site-a", "site-b"):
        (home / "data.csv").write_text(rows(3000 + len(found)))
        result = run(*SITE, "--ledger", f"{label}.db", "--site", label, "--output", label)
        assert result.code == 0, result.err
        kept = words((home / label / "evidence.json").read_text())
        assert kept in " ".join(result.out.replace("│", " ").split())
        found.append(f"{label}/evidence.json")
    return found


def test_from_two_sites_to_one_graph(home: Path, run: Run, files: list[str]) -> None:
    result = run("combine", *files, "--output", "joint")
    assert result.code == 0, result.err
    assert {path.name for path in (home / "joint").iterdir()} == {*FILES, SITES}
    said = " ".join(result.out.replace("│", " ").split())
    for file in files:
        assert words((home / file).read_text()) in said
    assert "if one site is left out" in result.out and f"joint/{SITES}" in result.out
    again = run("discover", "--evidence", "joint/evidence.json", "--output", "again")
    assert again.code == 0, again.err


def test_as_json_and_quietly(run: Run, files: list[str]) -> None:
    told = json.loads(run("combine", *files, "--output", "j", "--json").out)
    assert [site["label"] for site in told["certificate"]["sites"]] == ["site-a", "site-b"]
    assert SITES in told["files"]
    quiet = run("combine", *files, "--output", "j", "--force", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_methods_and_options(run: Run, files: list[str]) -> None:
    both = ("--methods", "interaction-pc,interaction-ges", "--max-order", "1")
    result = run("combine", *files, "--output", "j", *both)
    assert result.code == 0 and "All 2 methods searched the same evidence" in result.out
    clash = run("combine", *files, "--output", "k", *both, "--method", "interaction-pc")
    assert clash.code == 2 and "leave one of the two away" in clash.err
    assert run("combine", *files, "--output", "k", "--orient-pairs", "0.2").code == 2
    assert run("combine", *files, "--output", "k", "--epsilon", "1").code == 2


def test_a_refusal_names_the_file_and_leaves_nothing(
    home: Path, run: Run, files: list[str]
) -> None:
    def change(document: dict[str, object]) -> None:
        document["certificate"]["site"] = None  # type: ignore[index]

    bad = changed(home / files[1], change)
    result = run("combine", files[0], bad, "--output", "joint")
    assert result.code == 2 and bad.name in result.err and "--site LABEL" in result.err
    assert not (home / "joint").exists()
    alone = run("combine", files[0], "--output", "joint")
    assert alone.code == 2 and "at least 2" in alone.err


@pytest.mark.parametrize(
    "more",
    [
        ("--site", "Hospital A", "--epsilon", "1"),
        ("--site", "a", "--no-privacy"),
        ("--site", "a", "--as-published", "--epsilon", "1", "--method", "em-pc"),
    ],
)
def test_a_site_that_cannot_be(home: Path, run: Run, more: tuple[str, ...]) -> None:
    result = run("discover", "data.csv", "--schema", "schema.toml", "--output", "out", *more)
    assert result.code == 2 and "site" in result.err, result.err
    assert not (home / "ledger.db").exists() and not (home / "out").exists()


def test_a_site_with_evidence(run: Run, files: list[str]) -> None:
    result = run("discover", "--evidence", files[0], "--site", "a", "--output", "out")
    assert result.code == 2 and "--site a was given with --evidence" in result.err


# -- schema check


CHECKED = """name = "people"
[columns.a]
kind = "categorical"
levels = ["no", "yes"]
[columns.n]
kind = "numeric"
bounds = [0, 10]
[columns.g]
kind = "ordinal"
levels = ["1", "2", "3"]
missing = "level"
"""
ODD = "a,n,g\nno,3,1\nYes,11,2.0\n yes ,x,4\n,NA,?\nmaybe [red],-1,1\n"


@pytest.fixture
def checked(home: Path) -> Path:
    (home / "people.toml").write_text(CHECKED)
    return home


def test_what_does_not_fit_is_named(checked: Path, run: Run) -> None:
    (checked / "odd.csv").write_text(ODD)
    result = run("schema", "check", "odd.csv", "--schema", "people.toml")
    assert result.code == 2 and "do not send this" in result.out
    assert "'Yes', 'maybe [red]'" in result.out and "5 rows were read" in result.out
    assert "3 column(s)" in result.err and "code book" in result.err
    told = json.loads(run("schema", "check", "odd.csv", "--schema", "people.toml", "--json").out)
    figures = {
        name: [column[key] for key in ("missing", "undeclared", "outside")]
        for name, column in told["columns"].items()
    }
    assert figures == {"a": [1, 2, 0], "n": [1, 1, 2], "g": [1, 1, 0]}
    assert told["columns"]["n"]["named"] == ["x"] and not told["fits"] and told["rows"] == 5
    assert not (checked / "ledger.db").exists()


def test_what_fits_is_said(checked: Path, run: Run) -> None:
    (checked / "good.csv").write_text("a,n,g\nno,3,1\n yes ,10,2.0\n,,\n")
    result = run("schema", "check", "good.csv", "--schema", "people.toml")
    assert result.code == 0 and "do not send this" in result.out and result.err == ""
    (checked / "empty.csv").write_text("a,n,g\n")
    assert run("schema", "check", "empty.csv", "--schema", "people.toml").code == 0


def test_parquet_is_checked_too(checked: Path, run: Run) -> None:
    import polars as pl

    columns = {"a": ["no", "oui", None], "n": [1.0, 12.0, float("nan")], "g": [1, 2, 5]}
    pl.DataFrame(columns).write_parquet(checked / "odd.parquet")
    ran = run("schema", "check", "odd.parquet", "--schema", "people.toml", "--json")
    told = json.loads(ran.out)["columns"]
    assert [told["a"][key] for key in ("missing", "undeclared", "named")] == [1, 1, ["oui"]]
    assert [told["n"][key] for key in ("missing", "undeclared", "outside")] == [1, 0, 1]
    assert told["g"]["named"] == ["5"]


def test_a_column_that_is_not_there(checked: Path, run: Run) -> None:
    (checked / "odd.csv").write_text("a,n\nno,3\n")
    result = run("schema", "check", "odd.csv", "--schema", "people.toml")
    assert result.code == 2 and "column 'g'" in result.err and result.out == ""
