"""``privet randomize`` and ``privet local tune``."""

from __future__ import annotations

import csv
import gzip
import json
import math
from collections import Counter
from pathlib import Path

import pytest

from privet.local import Protocol, plan_protocol
from privet.schema.model import Schema
from tests.helpers.garden import SCHEMA, Run, snapshot

WORDS = ("--schema", "schema.toml", "--epsilon", "4")


def read(path: Path) -> list[dict[str, str]]:
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    import duckdb

    found = duckdb.execute(f"SELECT * FROM '{path}'")
    names = [column[0] for column in found.description]
    return [dict(zip(names, map(str, row), strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("name", ["reports.parquet", "deep/er/reports.csv"])
def test_reports_and_their_protocol(home: Path, run: Run, name: str) -> None:
    done = run("randomize", "data.csv", *WORDS, "--output", name, "--people", "1000")
    assert done.code == 0, done.err
    path = home / name
    protocol = Protocol.load(path.parent / "protocol.json")
    assert protocol.name == "planned-block" and protocol.epsilon == 4
    rows = read(path)
    assert len(rows) == 3000 and set(rows[0]) == {"protocol", "block", "cell"}
    assert {row["protocol"] for row in rows} == {protocol.id}
    assert {int(row["block"]) for row in rows} == {block.mask for block in protocol.blocks}
    for shown in (
        "planned-block",
        "epsilon of the whole report",
        "guessing the whole row",
        "all are worth",
        "sum of the epsilons",
    ):
        assert shown in done.out
    assert str(path.name) in done.out


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("one-pair", "block cell"),
        ("one-triple", "block cell"),
        ("combined", "block cell"),
        ("parity", "block key cell"),
        ("component-wise", "rain sprinkler wet"),
        ("geometric", "rain sprinkler wet"),
        ("geometric-combined", "rain sprinkler wet"),
    ],
)
def test_every_protocol_by_name(home: Path, run: Run, name: str, columns: str) -> None:
    done = run("randomize", "data.csv", *WORDS, "--protocol", name, "--output", "r.csv", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["rows"] == 3000 and found["protocol"] == name
    assert found["epsilon_ldp"] == pytest.approx(4, abs=1e-9) and found["epsilon_ldp"] <= 4
    assert 1 / 8 < found["success"] < 1 and set(found["successes"]) == {"rain", "sprinkler", "wet"}
    assert list(read(home / "r.csv")[0]) == ["protocol", *columns.split()]


def test_a_protocol_file_says_all(home: Path, run: Run) -> None:
    assert run("randomize", "data.csv", *WORDS, "--output", "one.csv", "--quiet").out == ""
    again = run("randomize", "data.csv", "--protocol", "protocol.json", "--output", "two.csv")
    assert again.code == 0, again.err
    ids = {row["protocol"] for name in ("one.csv", "two.csv") for row in read(home / name)}
    assert len(ids) == 1
    assert (home / "one.csv").read_bytes() != (home / "two.csv").read_bytes()  # fresh randomness
    for option in (("--epsilon", "1"), ("--schema", "schema.toml"), ("--norm", "2")):
        words = ("--protocol", "protocol.json", "--output", "three.csv")
        refused = run("randomize", "data.csv", *words, *option)
        assert refused.code == 2 and option[0] in refused.err


def test_people_are_known_by_a_column(home: Path, run: Run) -> None:
    rows = ["id,rain,sprinkler,wet", *(f"p{i % 100},no,yes,no" for i in range(300)), ",no,no,no"]
    (home / "named.csv").write_text("\n".join(rows))
    words = ("--schema", "schema.toml", "--epsilon", "1", "--protocol", "component-wise")
    done = run("randomize", "named.csv", *words, "--person", "id", "--output", "r.csv")
    assert done.code == 0, done.err
    found = [tuple(row.values())[1:] for row in read(home / "r.csv")]
    times = Counter(found)
    nameless = [report for report in times if report[0] == ""]
    assert len(nameless) == 1 and times.pop(nameless[0]) == 1
    assert len(times) == len({name for name, *_ in times}) == 100 and set(times.values()) == {3}
    rows[5] = "p0,yes,yes,yes"
    (home / "named.csv").write_text("\n".join(rows))
    before = snapshot(home)
    refused = run("randomize", "named.csv", *words, "--person", "id", "--output", "s.csv")
    assert refused.code == 2 and "named twice" in refused.err and "p0" not in refused.err
    assert snapshot(home) == before
    unknown = run("randomize", "named.csv", *words, "--person", "idd", "--output", "s.csv")
    assert unknown.code == 2 and "did you mean 'id'" in unknown.err


def test_a_bar_only_on_a_terminal_and_only_when_it_takes_long(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("randomize", "data.csv", *WORDS, "--output", "r.csv", "--force")
    monkeypatch.setattr("privet.cli.progress.PATIENCE", 0.0)
    assert run(*words).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    seen = run(*words).err
    assert "━" in seen and "randomising: 3,000 rows" in seen
    assert run(*words, "--quiet").err == run(*words, "--json").err == ""
    monkeypatch.setattr("privet.cli.progress.PATIENCE", 1e9)
    assert "randomising" not in run(*words).err


def test_the_share_that_is_done(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the lines that the file seems to have; a packed file does not say."""
    from privet.local.device.files import randomize_file

    monkeypatch.setattr("privet.privacy.engines.source.BLOCK_ROWS", 1000)
    protocol = plan_protocol(Schema.load("schema.toml"), 4)
    (home / "data.csv.gz").write_bytes(gzip.compress((home / "data.csv").read_bytes()))
    steps: list[tuple[str, float]] = []

    def on_step(what: str, share: float) -> None:
        steps.append((what, share))

    for name, shares in (("data.csv", [0, 1 / 3, 2 / 3, 1]), ("data.csv.gz", [0, 0, 0, 0])):
        steps.clear()
        randomize_file(name, protocol, "r.csv", force=True, on_step=on_step)
        assert [share for _, share in steps] == pytest.approx(shares, abs=0.01)
        assert steps[-1][0] == "randomising: 3,000 rows"


def test_a_table_without_rows(home: Path, run: Run) -> None:
    (home / "data.csv").write_text("rain,sprinkler,wet\n")
    for name in ("r.csv", "r.parquet"):
        done = run("randomize", "data.csv", *WORDS, "--output", name, "--json")
        assert done.code == 0 and json.loads(done.out)["rows"] == 0
        assert read(home / name) == []


def test_answers_are_never_an_error(home: Path, run: Run) -> None:
    odd = b'rain,sprinkler,wet\nno\n"yes,x\xff",,,,,\n\n yes , no ,\xe9\n\0,no,no\n'
    (home / "data.csv").write_bytes(odd)
    done = run("randomize", "data.csv", *WORDS, "--output", "r.csv", "--json")
    assert done.code == 0 and json.loads(done.out)["rows"] == 4


def test_files_are_not_replaced_unasked(home: Path, run: Run) -> None:
    assert run("randomize", "data.csv", *WORDS, "--output", "r.csv").code == 0
    before = snapshot(home)
    assert "exists" in run("randomize", "data.csv", *WORDS, "--output", "r.csv").err
    other = ("--schema", "schema.toml", "--epsilon", "3", "--output", "s.csv")
    mixed = run("randomize", "data.csv", *other)
    assert mixed.code == 2 and "do not mix" in mixed.err
    assert snapshot(home) == before
    assert run("randomize", "data.csv", *other, "--force").code == 0
    (home / "folder.csv").mkdir()
    assert "folder" in run("randomize", "data.csv", *other[:-1], "folder.csv").err


DROP = SCHEMA.replace('levels = ["no", "yes"]', 'levels = ["no", "yes"]\nmissing = "drop"', 1)
LARGE = 'name = "large"\n' + "".join(
    f'[columns.c{i}]\nkind = "numeric"\nbounds = [0, 1]\nbins = 40\n' for i in range(12)
)
TWINS = SCHEMA.replace("sprinkler", "Rain")


@pytest.mark.parametrize(
    ("schema", "words", "match"),
    [
        (SCHEMA, ("--epsilon", "0"), "epsilon is 0"),
        (SCHEMA, ("--epsilon", "-1"), "above 0"),
        (SCHEMA, ("--epsilon", "nan"), "epsilon"),
        (SCHEMA, ("--epsilon", "500"), "above 100"),
        (SCHEMA, (), "give --epsilon"),
        (SCHEMA, ("--epsilon", "1", "--success", "0.9"), "one of the"),
        (SCHEMA, ("--epsilon", "1", "--protocol", "planed-block"), "did you mean 'planned-block'"),
        (SCHEMA, ("--success", "0.5", "--protocol", "geometric"), "impossible for 2 values"),
        (SCHEMA, ("--success", "0.1", "--protocol", "combined"), "impossible for 8 values"),
        (SCHEMA, ("--success", "1", "--protocol", "combined"), "no protection"),
        (SCHEMA, ("--success", "0.9"), "does not say which protocol"),
        (SCHEMA, ("--epsilon", "1", "--protocol", "sign-bit"), "numeric columns"),
        (SCHEMA, ("--epsilon", "1", "--people", "0"), "--people is 0"),
        (SCHEMA, ("--epsilon", "1", "--person", "who"), "not in the header"),
        (SCHEMA, ("--epsilon", "1", "--protocol", "none.json"), "leave --schema away"),
        (DROP, ("--epsilon", "1"), "stays silent"),
        (LARGE, ("--epsilon", "1", "--protocol", "combined"), "2^62"),
        (LARGE, ("--epsilon", "1", "--protocol", "geometric-combined"), "4096"),
        (LARGE, ("--epsilon", "1"), "not in the header"),
        (TWINS, ("--epsilon", "1", "--protocol", "component-wise"), "upper and lower case"),
    ],
)
def test_refusals_write_nothing(
    home: Path, run: Run, schema: str, words: tuple[str, ...], match: str
) -> None:
    (home / "schema.toml").write_text(schema)
    if schema == TWINS:
        (home / "data.csv").write_text("rain,Rain,wet\nno,no,no\n")
    before = snapshot(home)
    ran = run("randomize", "data.csv", "--schema", "schema.toml", "--output", "r.parquet", *words)
    assert ran.code == 2 and match in ran.err, ran.err
    assert ran.err.count("\n") == 1 and snapshot(home) == before


def test_files_that_are_not_answers(home: Path, run: Run) -> None:
    assert run("randomize", "none.csv", *WORDS, "--output", "s.csv", "--force").code == 2
    assert "ends in" in run("randomize", "data.csv", *WORDS, "--output", "s.txt").err
    (home / "protocol.json").write_text("{}")
    bad = run("randomize", "data.csv", "--protocol", "protocol.json", "--output", "s.csv")
    assert bad.code == 2 and "no protocol" in bad.err


def test_the_protocols_of_comparison(home: Path, run: Run) -> None:
    for line in (
        "component-wise --epsilon 2 --split levels",
        "geometric --epsilon 2 --clamped",
        "geometric --success 0.6",
        "geometric-combined --success 0.3 --norm inf",
        "geometric-combined --epsilon 2 --norm 2 --clamped",
        "combined --success 0.3",
        "component-wise --success 0.7",
    ):
        words = line.split()
        done = run(
            "randomize",
            "data.csv",
            "--schema",
            "schema.toml",
            "--output",
            "r.csv",
            "--force",
            "--json",
            "--protocol",
            *words,
        )
        assert done.code == 0, done.err
        found = json.loads(done.out)
        assert found["epsilon_ldp"] <= found["epsilon"] < found["epsilon_ldp"] + 1e-9
        if words[1] == "--success":
            each = [found["success"]] if "combined" in words[0] else found["successes"].values()
            assert all(value == pytest.approx(float(words[2])) for value in each)


def test_tune(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("local", "tune", "--success", "0.5", "--levels", "20")
    assert shown.code == 0, shown.err
    for figure in ("2.944", "17.98", "4.154", "0.6931 to 1.099"):
        assert figure in shown.out
    found = json.loads(
        run("local", "tune", "--epsilon", "2", "--levels", "3,4", "--norm", "2", "--json").out
    )
    assert [line["channel"] for line in found] == [
        "randomised response",
        "geometric, as published",
        "geometric, one rate",
    ]
    assert all(line["epsilon_ldp"] == pytest.approx(2, abs=1e-9) for line in found)
    prior = run(
        "local", "tune", "--success", "0.6", "--levels", "2", "--prior", "0.9,0.1", "--json"
    )
    assert json.loads(prior.out)[0]["success"] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("levels", "shown", "reason"),
    [
        (
            "10,10,10,10",
            1,
            "Not geometric, as published; geometric, one rate: a geometric channel on "
            "10000 cells is too large",
        ),
        ("10000000000", 1, "4096"),
        ("130", 2, "Not geometric, clamped: "),
    ],
)
def test_tune_shows_what_is_possible_and_why_the_rest_is_not(
    run: Run, levels: str, shown: int, reason: str
) -> None:
    for aim in (("--epsilon", "2"), ("--success", "0.5")):
        words = ("local", "tune", *aim, "--levels", levels)
        done = run(*words)
        assert done.code == 0 and reason in done.out and "randomised response" in done.out
        found = json.loads(run(*words, "--json").out)
        assert all(line["epsilon_ldp"] > 0 for line in found[:shown])
        assert len(found) == 3 and all("too large" in line["refused"] for line in found[shown:])
        values = math.prod(map(int, levels.split(",")))
        wanted = math.exp(2) / (math.exp(2) + values - 1) if aim[0] == "--epsilon" else 0.5
        assert found[0]["success"] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("--success", "0.05", "--levels", "5"), "impossible for 5 values"),
        (("--success", "0.1", "--levels", "10"), "1/10"),
        (("--success", "1", "--levels", "5"), "no protection"),
        (("--success", "nan", "--levels", "5"), "probability"),
        (("--levels", "5"), "required"),
        (("--success", "0.5", "--epsilon", "1", "--levels", "5"), "not allowed"),
        (("--epsilon", "0", "--levels", "5"), "epsilon is 0"),
        (("--epsilon", "1", "--levels", "abc"), "--levels is 'abc'; write whole numbers from 2 on"),
        (("--epsilon", "1", "--levels", "5,"), "--levels is '5,'"),
        (("--epsilon", "1", "--levels", "1"), "from 2 on"),
        (("--epsilon", "1", "--levels", "9999999999,9999999999"), "2^62"),
        (("--epsilon", "1", "--levels", "9999", "--prior", "1,0"), "9999 probabilities"),
        (("--epsilon", "1", "--levels", "5", "--norm", "0.5"), "norm is 0.5"),
        (("--epsilon", "1", "--levels", "5", "--prior", "a"), "--prior"),
        (("--epsilon", "1", "--levels", "5", "--prior", "1,0"), "5 probabilities"),
    ],
)
def test_what_tune_refuses(run: Run, words: tuple[str, ...], match: str) -> None:
    ran = run("local", "tune", *words)
    assert ran.code == 2 and match in ran.err, ran.err
