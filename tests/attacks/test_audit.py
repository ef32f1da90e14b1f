"""The audit convicts planted faults and acquits what is sound; false alarms are 1e-6 or rarer.

Noise halved takes more runs, which are cheaper in tests/privacy/test_audit.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, inf
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import privet
from privet.attacks.bounds import Event, lower_bound, smallest_epsilon
from privet.attacks.subjects import SHARPEST, Asked, names, subject, subjects
from privet.attacks.worst_cases import NAME, built_in, made_up
from privet.errors import BudgetError, MethodError, OutputError
from privet.methods import catalogue
from privet.methods.sources import white
from privet.pairs.way import all_ways
from privet.privacy.mechanisms import Exact, Gaussian, Laplace
from privet.privacy.queries.base import Histograms
from privet.privacy.queries.tables import Tables
from privet.privacy.queries.white import White
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central

RUNS = 1_000  # faults lie five deviations of their bound above the promise, or more
FOUR_ROWS = Schema(
    name="people",
    columns=tuple(Column(name=n, kind="categorical", levels=("0", "1")) for n in "ab"),
    rows_per_person=4,
)


# --- the bound -------------------------------------------------------------------------------


def test_the_bound_is_what_it_says() -> None:
    """Of a promise that is kept just so, it lies below; with many runs, not far below."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        hits, misses = rng.binomial(1000, 0.6), rng.binomial(1000, 0.6 * exp(-1))
        assert smallest_epsilon(hits, misses, 1000, 0.0) <= 1
        assert smallest_epsilon(hits, misses, 1000, 0.1) < smallest_epsilon(hits, misses, 1000, 0)
    assert 0.95 < smallest_epsilon(600_000, round(600_000 * exp(-1)), 1_000_000, 0.0) < 1
    assert smallest_epsilon(10, 0, 10, 0.0) < 1  # too few runs
    assert smallest_epsilon(500, 500, 1000, 0.0) == 0


@pytest.mark.parametrize("added", [True, False])
def test_both_directions_are_looked_at(added: bool) -> None:
    """An event that is likely on one table and never happens on the other, whichever it is."""
    rng = np.random.default_rng(2)
    often, never = (rng.random(2000) < 0.3).astype(float), np.zeros(2000)
    scores = (never, often) if added else (-often, -never)
    parts = [(scores[0][part], scores[1][part]) for part in (slice(1000), slice(1000, None))]
    bound = lower_bound(parts[0], parts[1], 0.0)
    assert bound.event.added is added and bound.misses == 0 and bound.lower > 2


def test_an_event_counts_alike_from_both_sides() -> None:
    scores = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    assert Event(threshold=2.0, added=True).counts(scores) == (2, 1)
    assert Event(threshold=1.0, added=False).counts(scores) == (2, 1)


# --- planted faults --------------------------------------------------------------------------


def quarter_of_the_noise(patch: pytest.MonkeyPatch) -> None:
    scale = Laplace.scale
    patch.setattr(Laplace, "scale", lambda self, l1: scale(self, l1) / 4)


def the_rows_of_a_person_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Histograms, "l1", lambda self, _schema: self.tables())


def charges_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Every answer is drawn sixteen times, and the ledger hears of one."""
    perturb = Laplace.perturb

    def many(self: Laplace, exact: Any, l1: int) -> Any:
        drawn, variance = perturb(self, np.tile(exact, 16), l1)
        return np.rint(drawn.reshape(16, -1).mean(axis=0)).astype(np.int64), variance

    patch.setattr(Laplace, "perturb", many)


FAULTS = (quarter_of_the_noise, the_rows_of_a_person_forgotten, charges_forgotten)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_are_convicted(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    found = privet.audit("lap-table", FOUR_ROWS, epsilon=1, runs=RUNS)
    assert found.violated and "violates" in str(found), found


def a_part_of_the_radius(patch: pytest.MonkeyPatch) -> None:
    linf = White.linf
    patch.setattr(White, "linf", lambda self, schema: linf(self, schema) // 16)


def weights_from_exact_margins(patch: pytest.MonkeyPatch) -> None:
    """Features and clips say what the margins are, and no number that is released is wrong."""
    measure = white.measure

    def leaky(curator: Central, settings: Any, margins: Any, _shares: Any, *rest: Any) -> Any:
        vault = curator.vault
        paid, vault._run = vault._run, None
        asked = (Tables(((name,),)) for name in curator.schema.names)
        counts = [vault.release(query, Exact()).values + 1.0 for query in asked]
        vault._run = paid
        return measure(curator, settings, margins, [c / c.sum() for c in counts], *rest)

    patch.setattr(white, "measure", leaky)


def stages_that_are_not_charged(patch: pytest.MonkeyPatch) -> None:
    """As if each answer was drawn sixty-four times, and the ledger heard of one."""
    perturb = Gaussian.perturb

    def many(self: Gaussian, exact: Any, l2_squared: int) -> Any:
        return perturb(replace(self, rho=64 * self.rho), exact, l2_squared)

    patch.setattr(Gaussian, "perturb", many)


WHITE_FAULTS = (a_part_of_the_radius, weights_from_exact_margins, stages_that_are_not_charged)


@pytest.mark.parametrize("fault", WHITE_FAULTS, ids=lambda fault: fault.__name__)
def test_faults_of_runs_with_a_delta_are_convicted(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large ones, so that few runs at a lower confidence convict; docs/attacks.md has smaller ones.
    The two tables are told apart in every run, but for one in 10,000 and fewer."""
    fault(monkeypatch)
    found = privet.audit("interaction-pc", epsilon=1, delta=SHARPEST, runs=100, confidence=0.999)
    assert found.violated, found


def test_a_delta_is_part_of_an_audit_that_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    a_part_of_the_radius(monkeypatch)
    found = privet.audit("interaction-pc", epsilon=1, runs=100, confidence=0.999)
    assert found.violated and found.delta == SHARPEST, found
    assert [other.delta for other in found.others] == [0] and not found.others[0].violated
    assert found.to_dict()["others"][0]["delta"] == 0 and found.confidence == 0.999


def test_runs_with_a_delta_ask_about_white_features() -> None:
    """On the built-in tables; else their faults could not be seen."""
    asked = Asked(
        method="interaction-pc",
        schema=None,
        epsilon=1.0,
        delta=None,
        as_published=False,
        options={},
    )
    pure, gaussian = subjects(asked)
    assert (pure.delta, gaussian.delta) == (0, SHARPEST)
    for side in (0, 1):
        for outcome in gaussian.listen(side, 10):
            assert isinstance(outcome.kind, tuple) and "White" in outcome.kind[0]
            assert any("White features" in name for name in outcome.questions)


def test_what_was_asked_says_nothing_that_answers_do_not() -> None:
    """Questions of honest runs differ from run to run, and give no bound above the promise."""
    found = privet.audit("interaction-pc", epsilon=1, delta=SHARPEST, runs=60)
    assert not found.violated and not found.others


def test_without_a_fault_there_is_none() -> None:
    found = privet.audit("lap-table", FOUR_ROWS, epsilon=1, runs=RUNS // 4)
    assert not found.violated and "no violation found" in str(found), found


def test_a_paper_is_convicted() -> None:
    found = privet.audit("em-pc", epsilon=1, runs=400, as_published=True)
    assert found.violated and "greedy" in found.why


@pytest.mark.parametrize("protocol", ["parity", "piecewise", "component-wise", "local-pc"])
def test_reports_reach_their_promise_and_no_more(protocol: str) -> None:
    """Above 1 lies one bound in a million; below 0.3 fewer, as the lowest, that of piecewise, is
    0.70 with a deviation of 0.03."""
    found = privet.audit(protocol, epsilon=1, runs=60_000)
    assert 0.3 < found.lower <= 1, found


def test_reports_with_twice_the_epsilon_are_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    from privet.local.device.randomizer import Randomizer

    honest = Randomizer.__init__

    def careless(self: Randomizer, source: Any, epsilon: float, **more: Any) -> None:
        honest(self, source, 2 * epsilon, **more)

    monkeypatch.setattr(Randomizer, "__init__", careless)
    assert privet.audit("parity", epsilon=1, runs=20_000).violated


# --- everything can be audited ---------------------------------------------------------------


def kinds() -> list[str]:
    """One of all that ask rows for the same, every protocol, and the sums of a study."""
    methods = {method.name: str(method.measure) for method in catalogue.available()}
    ways = {way.name: way.evidence for way in all_ways()}
    alike = {(methods | ways).get(name, name): name for name in names()}
    return [name for name in names() if name in alike.values()]


@pytest.mark.parametrize("name", kinds())
def test_every_door_runs(name: str) -> None:
    asked = Asked(method=name, schema=None, epsilon=1.0, delta=None, as_published=False, options={})
    about = subject(asked)
    for side in (0, 1):
        (outcome,) = about.listen(side, 1)
        assert -inf < outcome.known < inf


@pytest.mark.parametrize("name", ["priv-pc", "curate"])
def test_a_secret_sample_is_audited(name: str) -> None:
    assert not privet.audit(name, epsilon=1, runs=40, subsample=0.5).violated


def test_the_sums_of_a_study_are_audited() -> None:
    assert not privet.audit("together", epsilon=1, runs=64).violated


# --- tables, files, refusals -----------------------------------------------------------------


def differing(first: dict[str, list[Any]], second: dict[str, list[Any]]) -> tuple[int, int]:
    """How many rows there are, and how many are not where they were."""
    one, other = (list(zip(*table.values(), strict=True)) for table in (first, second))
    return len(other) - len(one), sum(a != b for a, b in zip(one, other, strict=False))


def test_the_tables_are_neighbours() -> None:
    assert differing(*built_in(numeric=False, replaced=False).tables) == (1, 0)
    assert differing(*built_in(numeric=True, replaced=True).tables) == (0, 1)
    assert differing(*made_up(FOUR_ROWS).tables) == (4, 0)
    public = replace(FOUR_ROWS, adjacency=Adjacency.REPLACE_ONE, rows=20)
    assert differing(*made_up(public).tables) == (0, 4)
    assert made_up(FOUR_ROWS).schema.name == NAME


def test_no_budget_is_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVET_LEDGER", str(tmp_path / "ledger.sqlite"))
    privet.audit("lap-table", FOUR_ROWS, epsilon=1, runs=40)
    assert not list(tmp_path.iterdir())


def test_an_audit_is_saved_with_its_picture(tmp_path: Path) -> None:
    found = privet.audit("parity", epsilon=1, runs=400)
    paths = found.save(tmp_path / "out")
    assert [path.name for path in paths] == ["audit.json", "audit.svg"]
    assert ElementTree.fromstring(paths[1].read_text("utf-8")).tag.endswith("svg")
    with pytest.raises(OutputError, match="already"):
        found.save(tmp_path / "out")
    found.save(tmp_path / "out", force=True)


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("interaction-pcc", {}, MethodError, "interaction-pc"),
        ("pc", {}, MethodError, "nothing private"),
        ("lap-table", {"epsilon": None}, BudgetError, "no epsilon"),
        ("lap-table", {"delta": 0.5}, BudgetError, "0.1"),
        ("lap-table", {"runs": 3}, MethodError, "whole number"),
        ("lap-table", {"confidence": 0.1}, MethodError, "between"),
        ("lap-table", {"subsample": 0.5}, MethodError, "no such option"),
        ("interaction-pc", {"as_published": True}, MethodError, "as published"),
        ("parity", {"as_published": True}, MethodError, "leave that away"),
        ("moment-pc", {"schema": FOUR_ROWS}, MethodError, "serves numeric"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    name: str, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        privet.audit(name, **{"epsilon": 1, "runs": 40, **options})
