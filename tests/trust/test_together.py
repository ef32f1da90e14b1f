"""A curator over many sites: sums, stages, attempts, and what it cannot say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import norm

import privet
from privet.api.conduct import Conductor
from privet.errors import MethodError, StudyError
from privet.methods.options import Settings
from privet.privacy.ledger.conversion import epsilon_for, rho_for
from privet.privacy.queries.base import Query
from privet.privacy.queries.moments import FINE, Locations, Moments
from privet.privacy.queries.tables import Components, Tables
from privet.privacy.together.wire import Answer, Ask
from privet.privacy.vault import Vault
from privet.results.saved import load
from privet.results.together import certificate
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.together import Together, first_place
from tests.helpers.hospitals import NAMES, NUMBERS, SCHEMA
from tests.helpers.laws import FALSE_ALARM
from tests.helpers.studies import SITES, Study, ask_for, found

ADDITIVE: tuple[tuple[Query, Schema], ...] = (
    (Components(((),)), SCHEMA),
    (Components(((NAMES[0],), (NAMES[1],))), SCHEMA),
    (Components((NAMES,)), SCHEMA),
    (Tables((NAMES[:2], NAMES)), SCHEMA),
    (Locations(columns=NAMES), NUMBERS),
)


@settings(max_examples=40, deadline=None)
@given(data=some.data())
def test_answers_about_sites_add_up_to_that_about_all_rows(data: some.DataObject) -> None:
    query, schema = data.draw(some.sampled_from(ADDITIVE))
    cell: some.SearchStrategy[Any] = some.sampled_from(["no", "yes", "?", ""])
    if schema is NUMBERS:
        cell = some.floats(-10, 10) | some.none()
    rows = data.draw(some.lists(some.tuples(cell, cell, cell), max_size=12))
    cut = data.draw(some.integers(0, len(rows)))
    parts = [rows[:cut], rows[cut:], rows]
    first, second, every = (_exact(query, schema, part) for part in parts)
    assert (first + second == every).all()


def _exact(query: Query, schema: Schema, rows: Sequence[tuple[Any, ...]]) -> Any:
    columns = list(zip(*rows, strict=True)) or [()] * len(NAMES)
    data = {n: np.array(c, dtype=object) for n, c in zip(NAMES, columns, strict=True)}
    return Vault(data, schema, None)._evaluate(query)


def test_moments_add_up() -> None:
    rng = np.random.default_rng(0)
    query = Moments(
        columns=NAMES,
        centres=(0.0, 0.5, -1.0),
        reaches=(4.0, 4.0, 2.0),
        transform=tuple(tuple(row) for row in (np.eye(3) / FINE).tolist()),
        constant=100,
        radius=1.0,
    )
    rows = [tuple(row) for row in rng.normal(size=(50, 3)).tolist()]
    parts = [_exact(query, NUMBERS, part) for part in (rows[:20], rows[20:], rows)]
    assert (parts[0] + parts[1] == parts[2]).all() and parts[2].any()


class Doors:
    """Carries messages in this process; some sites can be told to be gone, or to garble."""

    def __init__(self, study: Study) -> None:
        self.study, self.heard = study, 0
        self.gone_after: dict[str, int] = {}
        self.garbled: set[str] = set()

    def __call__(self, names: Sequence[str], request: bytes) -> Mapping[str, bytes]:
        self.heard += 1
        here = [n for n in names if self.heard <= self.gone_after.get(n, 99)]
        sent = {name: self.study.door(name).answer(request) for name in here}
        return {n: b"x" + text if n in self.garbled else text for n, text in sent.items()}


def conductor(study: Study, doors: Doors, notes: list[str] | None = None) -> Conductor:
    return Conductor(
        lock=study.lock,
        keys=study.folder / "study",
        kept=study.folder / "answers",
        send=doors,
        on_note=(notes if notes is not None else []).append,
    )


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return found(tmp_path, rows=2000)


FEW = Settings(replicas=0)


def test_a_study_finds_the_graph_and_says_what_it_promises(study: Study) -> None:
    result = conductor(study, Doors(study)).run(replace(FEW, alpha=1e-9))
    assert {str(edge) for edge in result.graph.edges} == {"smoke --> cough", "dust --> cough"}
    said = result.certificate
    assert said["trust"] == "together" and said["epsilon"] == 1.0 and said["tolerated"] == 1
    assert said["alone_epsilon"] == study.lock.alone_epsilon
    assert [line["label"] for line in said["sites"]] == list(SITES)
    spent = sum(line["rho"] for line in said["sites"]) / 5
    assert 0.999 * study.lock.budget / 2**64 < spent <= study.lock.budget / 2**64
    assert "if every other site" in str(said).lower()
    result.save(study.folder / "out")
    again = privet.discover(evidence=study.folder / "out" / "evidence.json", alpha=1e-9)
    assert again.graph == result.graph or len(again.graph.edges) == 2
    assert load(study.folder / "out" / "evidence.json").certificate["trust"] == "together"


def test_who_refuses_is_left_out_before_anything_is_spent(study: Study) -> None:
    (study.folder / SITES[2] / "joined").unlink()
    notes: list[str] = []
    result = conductor(study, Doors(study), notes).run(FEW)
    assert notes == [f"{SITES[2]} is left out: policy"]
    assert SITES[2] not in [line["label"] for line in result.certificate["sites"]]
    assert study.entries(SITES[2]) == 0 and study.entries(SITES[0]) == 3


def test_too_few_sites_are_told_before_anything_is_spent(study: Study) -> None:
    for name in SITES[:3]:
        (study.folder / name / "joined").unlink()
    with pytest.raises(StudyError, match="2 of 5 sites would answer"):
        conductor(study, Doors(study)).run(FEW)
    assert not any(study.entries(name) for name in SITES)


def test_a_site_that_gets_lost_costs_one_attempt(study: Study) -> None:
    doors = Doors(study)
    notes: list[str] = []
    doors.gone_after[SITES[1]] = 3  # open, open, the first question
    result = conductor(study, doors, notes).run(FEW)
    assert "did not answer stage 2" in notes[0]
    assert study.entries(SITES[1]) == 1 and study.entries(SITES[0]) == 4
    roster = [line["label"] for line in result.certificate["sites"]]
    assert roster == [name for name in SITES if name != SITES[1]]
    budget = Fraction(study.lock.budget, 1 << 64)
    account = study.ledger(SITES[0]).account(f"people of {SITES[0]}")
    assert account is not None and account.runs[0].spent <= budget


def test_garbled_messages_are_no_messages(study: Study) -> None:
    doors = Doors(study)
    notes: list[str] = []
    doors.garbled.add(SITES[4])
    conductor(study, doors, notes).run(FEW)
    assert notes == [f"{SITES[4]} is left out: no answer"]


def test_a_coordinator_that_was_stopped_goes_on_for_nothing(study: Study) -> None:
    doors = Doors(study)

    def stop(names: Sequence[str], request: bytes) -> Mapping[str, bytes]:
        if doors.heard == 4:
            raise KeyboardInterrupt
        return doors(names, request)

    first = replace_send(conductor(study, doors), stop)
    with pytest.raises(KeyboardInterrupt):
        first.run(FEW)
    spent = [study.entries(name) for name in SITES]
    assert spent == [1] * 5
    again = conductor(study, Doors(study))
    result = again.run(FEW)
    assert [study.entries(name) for name in SITES] == [3] * 5
    assert len(result.certificate["sites"]) == 5


def replace_send(made: Conductor, send: Any) -> Conductor:
    made.send = send
    return made


def test_the_folder_of_another_study_is_refused(study: Study, tmp_path: Path) -> None:
    kept = study.folder / "answers"
    kept.mkdir()
    (kept / "state.json").write_text('{"study": "00", "attempt": 1, "roster": [], "budget": 1}')
    with pytest.raises(StudyError, match="not the state of this study"):
        conductor(study, Doors(study)).run(FEW)


def test_the_noise_of_a_sum_is_that_which_was_paid_for(tmp_path: Path) -> None:
    """1,770 numbers of one question: their noise against what honest sites must add by
    proofs/together.md, written down anew here, and against what the release says of it."""
    columns = tuple(Column(name=f"c{i}", kind="categorical", levels=("n", "y")) for i in range(60))
    schema = Schema(name="many", columns=columns)
    study = found(tmp_path, schema=schema, tolerate=2)
    rng = np.random.default_rng(3)
    words = np.array(["n", "y"])
    rows = {site: words[rng.integers(0, 2, (60, 40))] for site in SITES}
    for site, drawn in rows.items():
        study.rows[site].clear()
        study.rows[site].update({c.name: x.tolist() for c, x in zip(columns, drawn, strict=True)})
    query = Components(tuple(combinations(schema.names, 2)))
    asked: list[Ask] = []

    def post(ask: Ask) -> list[Answer]:
        asked.append(ask)
        return [study.answer(name, ask) for name in ask.place.roster]

    curator = Together(study.lock, post, place=first_place(study.lock))
    release = curator.release(query, Fraction(1))
    every = np.hstack(list(rows.values()))
    data = {c.name: x for c, x in zip(columns, every, strict=True)}
    noise = release.values - Vault(data, schema, None)._evaluate(query)
    rho, honest = asked[0].questions[0].rho, len(SITES) - 2
    planned = 5 * float(query.l2_squared(schema) / (2 * rho * honest))
    far = norm.isf(FALSE_ALARM / 2) * np.sqrt(2 / len(noise))
    assert abs(np.mean(noise.astype(float) ** 2) / planned - 1) < far < 0.2
    assert release.variance == pytest.approx(planned, rel=1e-6)


def test_a_person_at_two_sites_moves_the_sum_twice_as_far(study: Study) -> None:
    """So that the noise protects them as if the budget were four times as large."""
    lock = replace(study.lock, schema=replace(study.lock.schema, sites_per_person=2))
    answers = [study.answer(name, ask_for(study.lock)) for name in SITES]
    said = certificate(lock, answers)
    rho = rho_for(1, 1e-6, "gdp")
    assert said["epsilon"] == pytest.approx(epsilon_for(4 * rho, 1e-6, "gdp"), rel=1e-9)
    assert said["epsilon_at_one_site"] == 1.0 < said["epsilon"]


def test_what_a_sum_cannot_say_is_refused(study: Study) -> None:
    curator = Together(study.lock, lambda _ask: [], place=first_place(study.lock))
    query = Components(((),))
    asked: tuple[Callable[[], object], ...] = (
        lambda: curator.laplace(query, Fraction(1)),
        lambda: curator.select(query, Fraction(1)),
        lambda: curator.sieve([query], Fraction(1), positives=1, threshold=0),
        lambda: curator.exact(query),
        lambda: curator.sample(0.5),
    )
    for ask in asked:
        with pytest.raises(MethodError, match="sites that add up cannot give"):
            ask()
    assert curator.left == 1 and curator.private and not curator.pure
    assert curator.variance(query, Fraction(1, 2)) == pytest.approx(
        5 / 4 / (2 * study.lock.budget / 2**65)
    )


def test_sites_that_differ_are_named_where_they_are_compared(tmp_path: Path) -> None:
    """Two roots lean together over the sites: no site has an edge between them, the sum has."""
    study = found(tmp_path, rows=3000, compare_sites=True)
    rng = np.random.default_rng(5)
    words = np.array(["no", "yes"])
    for at, name in enumerate(SITES):
        lean = (at + 1) / 6
        draws = {n: words[(rng.random(3000) < lean).astype(int)] for n in ("smoke", "dust")}
        draws["cough"] = words[(rng.random(3000) < 0.5).astype(int)]
        study.rows[name].update({n: x.tolist() for n, x in draws.items()})
    result = conductor(study, Doors(study)).run(replace(FEW, alpha=1e-9))
    assert any("dust, smoke differ between sites" in text for text in result.certificate.warnings)
    assert result.graph.nodes[-1] == "site"
    assert all(edge.source == "site" for edge in result.graph.edges)
    alike = found(tmp_path / "alike", rows=2000, compare_sites=True)
    calm = conductor(alike, Doors(alike)).run(replace(FEW, alpha=1e-9))
    assert not calm.certificate.warnings
