"""Several sites on the command line: plan, simulate, federate simulate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.garden import Run

PLAN = ("plan", "schema.toml", "--rows", "10000", "--epsilon", "1", "--delta", "1e-6")


def test_a_plan_for_sites_stands_beside_one_alone_and_one_place(home: Path, run: Run) -> None:
    (home / "data.csv").unlink()  # it needs no data
    shown = run(*PLAN, "--sites", "5", "--effect", "0.1")
    assert shown.code == 0, shown.err
    for word in ("one site alone", "one place", "together", "needs epsilon", "federate lock"):
        assert word in shown.out
    found = json.loads(run(*PLAN, "--sites", "5", "--effect", "0.1", "--json").out)
    assert found["sites"] == 5 and found["epsilon_for_effect"] > 0
    assert found["colluders"] == 1 and found["noise_factor"] == 1.25
    ways = ("central", "together", "common", "own", "alone")
    typical = [found[way][0]["typical"] for way in ways]
    assert typical == sorted(typical) and len(set(typical)) == 5
    one = json.loads(run(*PLAN, "--json").out)
    assert found["alone"] == one["lines"]
    together = json.loads(run(*PLAN, "--sites", "20", "--json").out)
    assert together["noise_factor"] == pytest.approx(20 / 14)
    assert not (home / "ledger.db").exists()


def test_few_sites_are_not_offered_to_share_noise(home: Path, run: Run) -> None:
    shown = run(*PLAN, "--sites", "4")
    assert shown.code == 0 and "ogether" not in shown.out
    assert json.loads(run(*PLAN, "--sites", "4", "--json").out)["together"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--sites", "1"), "from 2 to"),
        (("--sites", "3", "--local", "--people", "9"), "with --local"),
        (("--sites", "3", "--effect", "2"), "between 0 and 1"),
    ],
)
def test_plans_that_make_no_sense(home: Path, run: Run, words: tuple[str, ...], said: str) -> None:
    refused = run("plan", "schema.toml", "--epsilon", "1", *_rows(words), *words)
    assert refused.code == 2 and said in refused.err


def _rows(words: tuple[str, ...]) -> tuple[str, ...]:
    return () if "--local" in words else ("--rows", "1000")


def test_simulated_sites_can_be_combined(home: Path, run: Run) -> None:
    made = run("simulate", "cancer", "--sites", "2", "--rows", "3000", "--output", "rows")
    assert made.code == 0 and "site-2.csv" in made.out, made.err
    for number in (1, 2):
        asked = ("--schema", "rows/schema.toml", "--epsilon", "1", "--site", f"site-{number}")
        kept = ("--ledger", f"{number}.db", "--output", f"out-{number}", "--quiet")
        done = run("discover", f"rows/site-{number}.csv", *asked, *kept)
        assert done.code == 0, done.err
    files = [f"out-{number}/evidence.json" for number in (1, 2)]
    assert run("combine", *files, "--output", "joint", "--quiet").code == 0
    differ = ("--differ", "some", "--sites", "2", "--rows", "9", "--output", "x")
    refused = run("simulate", "cancer", *differ)
    assert refused.code == 2 and "none, root, tilt, all" in refused.err


def test_a_rehearsal_says_who_refused_and_who_was_lost(home: Path, run: Run) -> None:
    words = ("federate", "simulate", "cancer", "--rows", "2000", "--epsilon", "1", "--sites", "4")
    shown = run(*words, "--refuse", "site-2", "--lose", "site-4", "--output", "played")
    assert shown.code == 0, shown.err
    for word in ("joint", "site-1", "refused: its cap", "lost: its file", "played"):
        assert word in shown.out
    assert not (home / "ledger.db").exists()  # each site has a ledger of its own
    again = run(*words, "--output", "played")
    assert again.code == 2 and "choose another" in again.err
    told = run(*words, "--output", "told", "--json")
    assert [line["name"] for line in json.loads(told.out)][:2] == ["joint", "site-1"]


def test_sites_add_up_under_masks(home: Path, run: Run) -> None:
    words = ("federate", "simulate", "cancer", "--rows", "200", "--epsilon", "1")
    made = run(*words, "--together", "--tolerate", "2", "--output", "summed")
    assert made.code == 0 and "messages were sent to 5 sites" in made.out
    said = json.loads((home / "summed" / "joint" / "certificate.json").read_text("utf-8"))
    assert said["trust"] == "together" and said["tolerated"] == 2
    for more in (("--tolerate", "9"), ("--delta", "0"), ("--sites", "2")):
        assert run(*words, "--together", *more, "--output", "none").code == 2
        assert not (home / "none").exists()
    refused = run(*words, "--tolerate", "2", "--output", "apart")
    assert refused.code == 2 and "need trust nobody" in refused.err


def test_rivals_over_the_rows_of_sites(home: Path, run: Run) -> None:
    assert run("simulate", "cancer", "--sites", "3", "--rows", "2000", "--output", "rows").code == 0
    rows = [f"rows/site-{number}.csv" for number in (1, 2, 3)]
    words = ("federate", "rival", *rows, "--schema", "rows/schema.toml")
    shown = run(*words, "--no-privacy", "--output", "exact")
    assert shown.code == 0 and "NOT PRIVATE" in shown.out and "3 sites send" in shown.out
    loud = run(*words, "--as-published", "--epsilon", "1", "--output", "paper", "--json")
    assert loud.code == 0, loud.err
    certificate = json.loads(loud.out)["certificate"]
    assert certificate["as_published"]["epsilon"] == 1 and certificate["traffic"]["messages"] > 3
    refused = run(*words, "--output", "none")
    assert refused.code == 2 and "combine" in refused.err and not (home / "none").exists()
    quiet = run(*words, "--method", "pooled", "--no-privacy", "--quiet", "--output", "all")
    assert (quiet.code, quiet.out) == (0, "") and (home / "all" / "graph.svg").exists()
    assert not (home / "ledger.db").exists()
