"""Sites in one process: each with a budget of its own, and only evidence leaves it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privet.api.rehearse import Rehearsal, rehearse
from privet.errors import BudgetError, DataError, OutputError
from privet.graph.formats.files import load as load_graph
from privet.privacy.ledger.book import Ledger
from privet.results.saved import load


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Rehearsal:
    return rehearse(
        "cancer",
        rows=4000,
        sites=5,
        epsilon=1.0,
        delta=1e-6,
        differ="tilt",
        refuse=["site-2"],
        lose=["site-3"],
        central=True,
        output=tmp_path_factory.mktemp("played") / "out",
    )


def test_each_site_has_a_ledger_and_results_of_its_own(played: Rehearsal) -> None:
    people = set()
    for number in (1, 3, 4, 5):
        folder = played.folder / f"site-{number}"
        account = Ledger(folder / "ledger.sqlite").account("cancer")
        assert account is not None and account.epsilon == 1.0
        sent = load(folder / "evidence.json")
        assert sent.certificate["site"] == f"site-{number}" and sent.certificate["private"]
        people.add(sent.certificate["ledger"]["people"])
    assert len(people) == 4


def test_who_refuses_or_is_lost_is_left_out(played: Rehearsal) -> None:
    sites = [line["label"] for line in played.joint.certificate["sites"]]
    assert sites == ["site-1", "site-4", "site-5"]
    refused = played.folder / "site-2"
    assert [path.name for path in refused.iterdir()] == ["ledger.sqlite"]
    ledger = Ledger(refused / "ledger.sqlite")
    account = ledger.account("cancer")
    assert account is not None and account.epsilon == 0.5
    assert account.spent_epsilon == 0


def test_all_graphs_are_held_against_the_truth(played: Rehearsal) -> None:
    names = ["joint", "all rows in one place", *(f"site-{number}" for number in range(1, 6))]
    assert [score.name for score in played.scores] == names
    for score in played.scores:
        assert (score.skeleton_f1 is None) == (score.name == "site-2") == bool(score.why)
    saved = json.loads((played.folder / "comparison.json").read_text("utf-8"))
    assert [line["name"] for line in saved if line["lost"]] == ["site-3"]
    assert load_graph(played.folder / "joint" / "graph.json").nodes == played.joint.graph.nodes
    assert load_graph(played.folder / "truth.json").kind == "dag"


def test_what_makes_no_sense_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    good = {"rows": 100, "epsilon": 1.0, "output": tmp_path / "out"}
    for bad, message in (
        ({"refuse": ["site-6"]}, "there are site-1 to site-5"),
        ({"lose": ["hospital"]}, "no such site"),
        ({"sites": 3, "refuse": ["site-1"], "lose": ["site-2"]}, "1 of 3 sites would arrive"),
        ({"rows": 0}, "at least 1"),
        ({"sites": 1}, "from 2 to"),
    ):
        with pytest.raises(DataError, match=message):
            rehearse("cancer", **{**good, **bad})  # type: ignore[arg-type]
    with pytest.raises(BudgetError):
        rehearse("cancer", rows=100, epsilon=-1.0, output=tmp_path / "out")
    assert not any(tmp_path.iterdir())
    (tmp_path / "here").write_text("")
    with pytest.raises(OutputError, match="not an empty folder"):
        rehearse("cancer", rows=100, epsilon=1.0, output=tmp_path)
