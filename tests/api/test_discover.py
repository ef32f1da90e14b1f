"""The front door: what is checked before anything is spent, and what comes out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privet
from privet.errors import (
    BudgetError,
    DataError,
    EvidenceError,
    MethodError,
    OutputError,
    PrivetError,
    SchemaError,
)
from privet.methods import catalogue
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.run import Run
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components
from privet.results import saved as evidence_file
from privet.results.diagnostics import about_rows
from privet.results.folder import FILES, Stage
from privet.results.report import graph as html
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central
from tests.helpers.asked import asked

NAMES = ("a", "b", "c")
SCHEMA = Schema(
    name="people",
    columns=tuple(Column(name=n, kind="categorical", levels=("no", "yes")) for n in NAMES),
)


def table(rows: int = 4000) -> dict[str, list[str]]:
    """a --> b <-- c, strongly."""
    rng = np.random.default_rng(1)
    a, c = rng.random((2, rows)) < 0.5
    b = rng.random(rows) < np.where(a & c, 0.95, 0.1)
    words = np.array(["no", "yes"])
    return {name: words[x.astype(int)].tolist() for name, x in zip(NAMES, (a, b, c), strict=True)}


def ask(data: Any = None, schema: Any = SCHEMA, **options: Any) -> privet.Discovery:
    options = {"epsilon": 5.0, "ledger": ":memory:", **options}
    return privet.discover(table() if data is None else data, schema, **options)


def test_it_finds_what_is_plain_to_see() -> None:
    """At this budget the noise has a standard deviation of a few rows in 4000."""
    found = ask(epsilon=50.0)
    assert {str(edge) for edge in found.graph.edges} == {"a --> b", "c --> b"}
    assert set(found.confidence) == set(found.graph.edges)
    assert all(0 <= value <= 1 for value in found.confidence.values())
    assert found.method == "interaction-pc" and found.certificate.private


def test_every_kind_of_table_will_do(tmp_path: Path) -> None:
    frame = pd.DataFrame(table())
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    tables = [frame, pl.DataFrame(table()), tmp_path / "t.csv", str(tmp_path / "t.parquet")]
    graphs = {str(ask(data, epsilon=None, private=False).graph) for data in tables}
    assert graphs == {"a --> b\nc --> b"}


def test_a_schema_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA.to_toml())
    assert ask(schema=tmp_path / "s.toml").graph.nodes == NAMES
    assert ask(schema=str(tmp_path / "s.toml")).graph.nodes == NAMES


def test_the_order_of_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header is read before the budget is reserved, the budget before the measurement, and
    the run is closed before the search."""
    events: list[str] = []

    def spy(owner: Any, name: str, event: str) -> None:
        inner = getattr(owner, name)

        def call(*args: Any, **more: Any) -> Any:
            events.append(event)
            return inner(*args, **more)

        monkeypatch.setattr(owner, name, call)

    method = catalogue.get("interaction-pc")
    steps: dict[str, Any] = {
        "measure": lambda *args: (events.append("measure"), method.measure(*args))[1],
        "search": lambda *args: (events.append("search"), method.search(*args))[1],
    }
    monkeypatch.setattr(catalogue, "get", lambda _name: replace(method, **steps))
    spy(Central, "open", "open")
    spy(Ledger, "begin", "reserve")
    spy(Run, "spend", "charge")
    spy(Run, "close", "close")
    ask()
    kept = [event for i, event in enumerate(events) if event != "charge" or events[i - 1] != event]
    assert kept == ["open", "reserve", "open", "measure", "charge", "close", "search"]


NUMERIC = replace(
    SCHEMA, columns=(*SCHEMA.columns[:2], Column(name="c", kind="numeric", bounds=(0, 1)))
)
REFUSED: tuple[tuple[type[PrivetError], dict[str, Any]], ...] = (
    (SchemaError, {"schema": None}),
    (SchemaError, {"schema": 7}),
    (SchemaError, {"schema": "nil.toml"}),
    (SchemaError, {"schema": replace(SCHEMA, columns=SCHEMA.columns[:1])}),
    (DataError, {"data": "nil.csv"}),
    (DataError, {"data": {"a": [], "b": []}}),
    (DataError, {"data": 7}),
    (BudgetError, {"epsilon": None}),
    (BudgetError, {"epsilon": 0}),
    (BudgetError, {"epsilon": True}),
    (BudgetError, {"epsilon": "1"}),
    (BudgetError, {"epsilon": float("nan")}),
    (BudgetError, {"delta": 1.0}),
    (BudgetError, {"private": False}),
    (MethodError, {"method": "nil"}),
    (MethodError, {"method": "pc"}),
    (MethodError, {"method": "moment-pc", "schema": NUMERIC}),
    (MethodError, {"alpha": 0.0}),
    (MethodError, {"alpha": "0.1"}),
    (MethodError, {"max_order": 1.5}),
    (MethodError, {"max_order": -1}),
    (MethodError, {"seed": -1}),
    (MethodError, {"seed": True}),
    (EvidenceError, {"evidence": "nil.json"}),
)


@pytest.mark.parametrize(("error", "options"), REFUSED)
def test_a_refusal_never_touches_the_ledger(
    error: type[PrivetError], options: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "ledger.db"
    with pytest.raises(error):
        ask(**{"ledger": path, **options})
    assert not path.exists()


def test_the_budget_is_kept_between_runs(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert ask(ledger=path).certificate["ledger"]["cap_set_by_this_run"]
    with pytest.raises(BudgetError, match=r"grant\(.people"):
        ask(ledger=path, reuse=False)
    Ledger(path).grant("people", epsilon=20)
    second = ask(ledger=Ledger(path), reuse=False)
    assert not second.certificate["ledger"]["cap_set_by_this_run"]
    account = Ledger(path).account("people")
    assert account is not None and [run.state for run in account.runs] == ["closed"] * 2


@pytest.mark.parametrize(
    "other",
    [{"rows_per_person": 2}, {"adjacency": Adjacency.REPLACE_ONE, "rows": 4000}],
    ids=["rows per person", "adjacency"],
)
def test_a_cap_does_not_mix_promises(other: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path).create("people", epsilon=20, delta=1e-6)
    ask(ledger=path)
    before = path.read_bytes()
    with pytest.raises(BudgetError, match="another data set name"):
        ask(schema=replace(SCHEMA, **other), ledger=path)
    assert path.read_bytes() == before
    ask(schema=replace(SCHEMA, name="others", **other), ledger=path)


def test_an_error_in_the_middle_says_what_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    method = catalogue.get("interaction-pc")

    def fail(*args: Any) -> Any:
        method.measure(*args)
        raise DataError("the disk is gone")

    monkeypatch.setattr(catalogue, "get", lambda _name: replace(method, measure=fail))
    with pytest.raises(DataError) as caught:
        ask()
    assert "was spent before that" in caught.value.__notes__[0]


def test_saved_evidence_gives_the_same_graph_again(tmp_path: Path) -> None:
    first = ask()
    first.save(tmp_path / "out")
    again = privet.discover(evidence=tmp_path / "out" / "evidence.json")
    assert again.graph == first.graph
    assert again.certificate["reused"] and again.certificate["spent"] == first.certificate["spent"]
    assert privet.discover(evidence=first.evidence).graph == first.graph
    strict = privet.discover(evidence=first.evidence, alpha=0.001, max_order=0, seed=3)
    assert strict.certificate["options"] == {"alpha": 0.001, "max_order": 0, "seed": 3}


def test_what_was_measured_is_heard_of_before_it_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, and only if it was measured on data."""
    heard: list[object] = []
    method = catalogue.get("interaction-pc")

    def search(*args: Any) -> Any:
        assert len(heard) == 1
        return method.search(*args)

    monkeypatch.setattr(catalogue, "get", lambda _name: replace(method, search=search))
    found = ask(on_measured=heard.append)
    assert heard == [found.evidence]
    privet.discover(evidence=found.evidence, on_measured=heard.append)
    assert len(heard) == 1


def test_evidence_is_neither_paid_for_nor_mixed_with_data() -> None:
    saved = ask().evidence
    for more in ({"epsilon": 1.0}, {"data": table()}):
        with pytest.raises(EvidenceError, match="leave one"):
            privet.discover(evidence=saved, **more)
    with pytest.raises(EvidenceError, match="measured with"):
        privet.discover(evidence=saved, schema=replace(SCHEMA, name="others"))
    with pytest.raises(MethodError, match="interaction-pc"):
        privet.discover(evidence=saved, method="moment-pc")


def test_evidence_with_a_broken_certificate_is_refused() -> None:
    saved = ask().evidence
    with pytest.raises(EvidenceError, match="fresh copy"):
        privet.discover(evidence=replace(saved, certificate={"private": True}))


EXACT = (
    {"mechanism": "Exact()"},
    {"variance": 0.0},
    {"mechanism": "Exact()", "variance": 0.0},
)


@pytest.mark.parametrize("change", EXACT, ids=str)
def test_exact_answers_under_a_promise_of_privacy_are_refused(
    change: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "evidence.json"
    saved = ask().evidence
    releases = (*saved.releases[:-1], replace(saved.releases[-1], **change))
    path.write_text(evidence_file.to_json(replace(saved, releases=releases)))
    with pytest.raises(EvidenceError, match="damaged"):
        privet.discover(evidence=path)


def test_answers_that_need_no_noise_are_not_refused(tmp_path: Path) -> None:
    """Without privacy, and for what nobody can change: the number of rows under replace-one."""
    free = ask(epsilon=None, private=False).evidence
    paid = ask(schema=replace(SCHEMA, adjacency=Adjacency.REPLACE_ONE, rows=4000)).evidence
    rows = Release(
        query=Components(sets=((),)), values=np.array([4000]), variance=0.0, mechanism="Gaussian()"
    )
    for saved in (free, paid, replace(paid, releases=(rows, *paid.releases))):
        path = tmp_path / "evidence.json"
        path.write_text(evidence_file.to_json(saved))
        assert len(evidence_file.load(path).releases) == len(saved.releases)


def test_no_privacy(tmp_path: Path) -> None:
    found = ask(epsilon=None, private=False, ledger=tmp_path / "l.db")
    assert not found.certificate.private and found.method == "pc"
    assert not (tmp_path / "l.db").exists()
    assert "NOT PRIVATE" in str(found)


def test_a_discovery_shows_itself() -> None:
    found = ask(epsilon=50.0)
    assert found.plot()._repr_svg_().startswith("<svg")
    assert set(found.to_networkx().nodes) == set(NAMES)
    assert "a --> b" in str(found) and found.certificate["promise"] in str(found)


def test_saving(tmp_path: Path) -> None:
    found = ask()
    files = found.save(tmp_path / "new" / "out")
    assert [path.name for path in files] == list(FILES)
    assert all(path.exists() for path in files)
    assert privet.load_graph(files[0]) == found.graph
    assert json.loads(files[1].read_text()) == dict(found.certificate)
    with pytest.raises(OutputError, match="force"):
        found.save(tmp_path / "new" / "out")
    found.save(tmp_path / "new" / "out", force=True)
    assert sorted(p.name for p in (tmp_path / "new").rglob("*")) == sorted(["out", *FILES])


def test_no_file_says_where_the_data_are(tmp_path: Path) -> None:
    data = tmp_path / "zanzibar.csv"
    pd.DataFrame(table()).to_csv(data, index=False)
    for path in ask(data).save(tmp_path / "out"):
        assert "zanzibar" not in path.read_text()


def test_the_report_rounds_the_number_of_rows_that_was_released() -> None:
    found = ask(epsilon=50.0)  # noise of a few rows
    assert about_rows(found.evidence) in (3900, 4000, 4100)
    assert f"about {about_rows(found.evidence):,} rows" in html.report(found)


def test_a_failure_leaves_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Stage(tmp_path / "x" / "out") as stage:
        stage.write("graph.json", "{}")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_steps_are_told_in_order() -> None:
    told: list[tuple[str, float]] = []
    ask(on_step=lambda what, share: told.append((what, share)))
    shares = [share for _, share in told]
    assert len(told) > 2 and shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1


def test_without_privacy_nothing_is_measured_twice() -> None:
    """Measuring again averages noise out; exact answers only take time."""
    rng = np.random.default_rng(3)
    x = rng.random(4000) < 0.5
    y, z = x ^ (rng.random(4000) < 0.2), rng.random(4000) < 0.5
    names = ("x", "y", "z", "both")
    data = dict(zip(names, (x, y, z, x ^ z ^ (rng.random(4000) < 0.1)), strict=True))
    columns = tuple(Column(name=n, kind="categorical", levels=("true", "false")) for n in names)
    for schema in (Schema(name="t", columns=columns), Schema(name="t", columns=columns[:3:2])):
        found = privet.discover(data, schema, private=False, method="pc")
        sets = [
            members for one in found.evidence.releases for members in asked(one, Components).sets
        ]
        assert len(set(sets)) == len(sets)
