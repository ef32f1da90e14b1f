"""Where free numbers are cut, and that every user of the evidence follows the cuts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import EvidenceError
from privet.evidence.cuts import FEWEST, MOST, STEP, Spread, as_cut, chosen, groups, histograms
from privet.evidence.location import spread
from privet.evidence.table_replicas import table_replicas
from privet.evidence.tables import TableEvidence
from privet.methods.options import make_settings
from privet.methods.sources import tables
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.base import Release
from privet.privacy.queries.cut import Cut
from privet.privacy.together.wire import Answer, Ask
from privet.results import joint
from privet.results.joint import Sent
from privet.schema.column import Column
from privet.schema.cuts import FINE, fixed
from privet.schema.model import Schema
from privet.trust.central import Central
from privet.trust.curator import Curator
from privet.trust.together import Together, first_place
from tests.helpers import studies

ROWS = 20_000


def numeric(name: str, high: float, **more: Any) -> Column:
    return Column(name=name, kind="numeric", bounds=(0.0, high), **more)


SCHEMA = Schema(
    name="mixed",
    columns=(
        numeric("wage", 100.0),
        Column(name="side", kind="categorical", levels=("l", "r")),
        numeric("hours", 100.0, missing="level"),
        numeric("score", 1.0, cuts=(0.5,)),
    ),
)


def table(rows: int = ROWS, seed: int = 1) -> dict[str, Any]:
    """A skewed column in wide bounds, one with half of its rows at one number, one that is cut."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    hours = np.where(rng.random(rows) < 0.5, 40.0, np.round(40 + 12 * rng.normal(size=rows)))
    hours[rng.random(rows) < 0.1] = np.nan
    side = np.where(z + rng.normal(size=rows) > 0, "r", "l").astype(object)
    return {"wage": np.exp(1 + z), "side": side, "hours": hours, "score": rng.random(rows)}


def curator(schema: Schema = SCHEMA, epsilon: float | None = 1.0, **more: Any) -> Central:
    """``more``: rows, delta."""
    data = table(more.pop("rows", ROWS))
    run = None
    if epsilon is not None:
        asked = {"epsilon": epsilon, "delta": 1e-6, **more}
        run = Ledger(":memory:").begin(schema.name, method="m", unit=schema.unit, **asked)
    return Central.open(data, schema, run)


def measured(asked: Curator) -> tuple[Release, ...]:
    return tables.measure(asked, make_settings())


# --- from histograms to cuts -----------------------------------------------------------------


def told(rows: list[np.ndarray[Any, Any]]) -> Spread:
    names = tuple(f"x{i}" for i in range(len(rows)))
    return Spread(names, np.array(rows, dtype=float), (np.empty(0),) * len(rows))


def test_groups_are_even_where_numbers_spread() -> None:
    shape = np.exp(-(((np.arange(FINE) - 40) / 12) ** 2))
    for count in range(2, MOST + 1):
        found = told([shape])
        (cuts,) = (found.cuts(count),)
        share = found.shares(cuts)["x0"]
        assert len(share) == count
        assert share == pytest.approx(1 / count, abs=0.04)  # a step of the grid holds 0.047


def test_a_number_that_half_of_the_rows_have_is_a_group_of_its_own() -> None:
    rows = np.ones(FINE)
    rows[100] = FINE - 1
    found = told([rows])
    cuts = found.cuts(4)
    assert {100, 101} <= set(cuts[0][1])
    assert found.shares(cuts)["x0"].max() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_few_numbers_are_few_groups(count: int) -> None:
    """Never a group without rows, and always a cut."""
    for filled in ([0], [0, 255], [10, 20, 30], [7, 8, 9, 10, 200]):
        rows = np.zeros(FINE)
        rows[filled] = 1.0
        found = told([rows])
        cuts = found.cuts(count)
        share = found.shares(cuts)["x0"]
        assert len(share) >= 2
        assert (share > 0).all() or len(filled) == 1
        assert len(share) <= max(len(filled), 2)
    assert told([np.zeros(FINE)]).cuts(count) == (("x0", (FINE // 2,)),)


def test_the_more_a_pair_tells_the_more_groups() -> None:
    found = [groups(worth) for worth in (0.0, 50.0, 1_000.0, 3_000.0, 10_000.0, 1e5, 1e9)]
    assert found == sorted(found)
    assert (found[0], found[2], found[-1]) == (FEWEST, 4, MOST)


def test_a_histogram_without_noise_is_believed() -> None:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 1000, (3, 64)).astype(float)
    assert spread(counts, 0.0) == pytest.approx(counts)


def test_noise_is_taken_away_where_it_hides_the_rows() -> None:
    """Among six normal columns, half of the error or less is left; noise that is called none
    stays as it is."""
    rng = np.random.default_rng(3)
    bins = np.arange(128) + 0.5
    shape = np.array([np.exp(-(((bins - c) / 9) ** 2) / 2) for c in range(40, 100, 10)])
    truth = 10_000 * shape / shape.sum(axis=1, keepdims=True)
    noisy = truth + rng.normal(0, 150, truth.shape)
    before = np.square(noisy - truth).sum()
    assert np.square(spread(noisy, 150.0**2) - truth).sum() < before / 4
    assert np.square(spread(noisy, 1e-9) - truth).sum() == pytest.approx(before)


def test_a_histogram_counts_what_is_missing_apart() -> None:
    query = histograms(SCHEMA)
    assert query is not None
    assert [name for name, _ in query.cuts] == ["wage", "hours"]
    found = Spread.of(curator(epsilon=None).exact(query), SCHEMA)
    data = table()
    assert found.total == ROWS
    assert float(found.missing[1].sum()) == np.isnan(data["hours"]).sum()
    places = found.rows.reshape(2, -1, STEP).sum(axis=2)
    exact = np.histogram(np.clip(data["wage"], 0, 100), bins=FINE // STEP, range=(0, 100))[0]
    assert places[0] == pytest.approx(exact)
    assert histograms(fixed(SCHEMA)) is None


# --- a run -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [None, 4.0])
def test_a_run_cuts_free_columns_into_even_groups(epsilon: float | None) -> None:
    """Noise of the histogram has a deviation of 15 rows: groups of 20,000 rows are as even as the
    grid allows, but for a few hundred."""
    schema, kept = as_cut(SCHEMA, measured(curator(epsilon=epsilon)))
    data = table()
    assert schema.column("score") == SCHEMA.column("score")
    wage = np.searchsorted(schema.column("wage").cuts, data["wage"], side="right")
    shares = np.bincount(wage) / ROWS
    assert len(shares) > 4
    assert shares.max() - shares.min() < 0.12
    assert all(b > 40 >= a for a, b in [_around(schema.column("hours").cuts, 40.0)])
    assert not any(isinstance(release.query, Cut) for release in kept)


def _around(cuts: tuple[float, ...], value: float) -> tuple[float, float]:
    return max((c for c in cuts if c <= value), default=0), min(c for c in cuts if c > value)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_budget_is_spent_and_no_more(delta: float) -> None:
    asked = curator(delta=delta)
    measured(asked)
    assert asked.run is not None
    assert 0 <= asked.run.budget - asked.run.spent < asked.run.budget / 1000


def test_tables_of_the_evidence_are_those_of_the_rows() -> None:
    releases = measured(curator(epsilon=None))
    schema, _ = as_cut(SCHEMA, releases)
    evidence = TableEvidence.from_releases(SCHEMA, SCHEMA.names, releases)
    assert evidence.cardinalities == tuple(column.cardinality for column in schema.columns)
    data = table()
    wage = np.searchsorted(schema.column("wage").cuts, data["wage"], side="right")
    exact = np.zeros((schema.column("wage").cardinality, 2))
    np.add.at(exact, (wage, (data["side"] == "r").astype(int)), 1)
    assert evidence.tables(np.array([[0, 1]]))[0] == pytest.approx(exact, abs=1e-6)
    assert table_replicas(evidence, 3, np.random.default_rng(0)).replicas == (3,)


def test_evidence_is_searched_again(tmp_path: Path) -> None:
    found = privet.discover(table(), SCHEMA, epsilon=1, delta=1e-6, ledger=":memory:")
    found.save(tmp_path / "out")
    again = privet.discover(evidence=tmp_path / "out" / "evidence.json")
    assert again.graph == found.graph
    assert "20,000" in (tmp_path / "out" / "report.html").read_text("utf-8")
    for name in ("interaction-ges", "interaction-fci", "interaction-mmhc"):
        privet.discover(evidence=tmp_path / "out" / "evidence.json", method=name)


@pytest.mark.parametrize("name", ["pc", "ges", "pc of order 3"])
def test_without_privacy_all_tables_are_cut_alike(name: str, tmp_path: Path) -> None:
    """Those of scores and of large separators are counted apart."""
    options: dict[str, Any] = {"max_order": 3} if "order" in name else {}
    method = name.split()[0]
    found = privet.discover(table(2000), SCHEMA, private=False, method=method, **options)
    assert {one.asked(Cut).cuts for one in found.evidence.releases[1:]} == {
        chosen(found.evidence.releases)
    }
    found.save(tmp_path / "out")
    again = privet.discover(evidence=tmp_path / "out" / "evidence.json", method=method, **options)
    assert again.graph == found.graph


# --- sites -----------------------------------------------------------------------------------


def test_a_site_keeps_the_cuts_of_the_schema() -> None:
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "ledger": ":memory:"}
    own = privet.discover(table(), SCHEMA, site="a", **asked).evidence
    assert not any(isinstance(release.query, Cut) for release in own.releases)
    assert own.schema.column("wage").cuts == (25.0, 50.0, 75.0)
    alone = privet.discover(table(seed=2), SCHEMA, **asked).evidence
    other = replace(alone, certificate={**alone.certificate, "site": "b"})
    with pytest.raises(EvidenceError, match="own rows"):
        joint.combined([Sent(origin="a", saved=own), Sent(origin="b", saved=other)])


def test_sites_that_add_up_cut_alike(tmp_path: Path) -> None:
    """The sum of all sites tells the cuts, and every site answers for them."""
    study = studies.found(tmp_path, schema=SCHEMA, method="interaction-pc")
    rows = {name: table(400, seed) for seed, name in enumerate(studies.SITES)}
    study = replace(study, rows=rows)

    def post(ask: Ask) -> list[Answer]:
        return [study.answer(name, ask) for name in ask.place.roster]

    asked = Together(study.lock, post, place=first_place(study.lock))
    releases = measured(asked)
    query = histograms(study.lock.schema)
    assert query is not None
    at = [one.query for one in releases].index(query)
    told, later = releases[at], releases[at + 1 :]
    assert {one.asked(Cut).cuts for one in later} == {asked._cuts}
    wage = told.values[: FINE // STEP]
    assert abs(wage.sum() - 5 * 400) < 6 * np.sqrt(len(wage) * told.variance)
    evidence = TableEvidence.from_releases(study.lock.schema, SCHEMA.names, releases)
    assert evidence.cardinalities[0] == asked.schema.column("wage").cardinality
