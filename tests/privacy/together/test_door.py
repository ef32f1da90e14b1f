"""The door of a site: what it charges, what it answers twice, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from privet.errors import BudgetError, MethodError, PrivetError, StudyError
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import GaussianShare
from privet.privacy.queries.dependence import Dependence
from privet.privacy.queries.tables import Components
from privet.privacy.together import door, wire
from privet.privacy.together.door import QUERIES, Door
from privet.privacy.together.keys import SecretKeys, load_secret
from privet.privacy.together.wire import UNIT, Ask, Question
from privet.privacy.vault import Vault
from privet.trust import study as trust
from privet.trust.together import added
from tests.helpers.hospitals import NAMES, patients
from tests.helpers.laws import FALSE_ALARM
from tests.helpers.studies import SITES, Study, ask_for, found

A = SITES[0]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return found(tmp_path)


def test_the_sum_is_that_of_all_rows_with_the_noise_that_was_paid_for(study: Study) -> None:
    ask = ask_for(study.lock, sets=[(name,) for name in NAMES], rho=0.02)
    every = {n: [x for name in SITES for x in study.rows[name][n]] for n in NAMES}
    query = ask.questions[0].query
    central = Vault(every, study.lock.schema, None)
    exact = central._evaluate(query)
    scale = float(np.sqrt(5 * query.l2_squared(study.lock.schema) / (2 * 0.02 * 4)))
    off = np.array(study.total(ask)) - exact
    assert off.any() and np.abs(off).max() < scale * norm.isf(FALSE_ALARM / 6)


def test_the_charge_is_on_disk_before_a_row_is_read(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    read = Vault._evaluate

    def spy(self: Vault, query: Any) -> Any:
        seen.append(study.entries(A))
        return read(self, query)

    monkeypatch.setattr(Vault, "_evaluate", spy)
    study.answer(A, ask_for(study.lock))
    assert seen == [1]
    study.refusal(A, study.signed("open"))
    assert seen == [1], "open reads nothing"


def test_the_same_question_gets_the_same_bytes_for_nothing(study: Study) -> None:
    request = study.signed("ask", ask_for(study.lock))
    first = study.door(A).answer(request)
    assert study.door(A).answer(request) == first == study.door(A).ask(ask_for(study.lock))
    assert study.entries(A) == 1
    again = study.answer(A, ask_for(study.lock, attempt=2))
    assert again.words().tolist() != study.answer(A, ask_for(study.lock)).words().tolist()
    assert study.entries(A) == 2


def test_noise_is_drawn_anew_for_each_attempt(study: Study) -> None:
    """With rosters R and R without one site: if noise were kept, the difference would show it."""
    sets = [("smoke", "cough"), ("cough", "dust")]
    ask = ask_for(study.lock, sets=sets, rho=0.004)
    totals = [
        np.array(study.total(replace(ask, place=replace(ask.place, attempt=k)))) for k in (1, 2)
    ]
    assert (totals[0] != totals[1]).all()
    smaller = replace(ask, place=replace(ask.place, attempt=3, roster=SITES[1:]))
    assert len(study.total(smaller)) == len(totals[0])


def refused(study: Study, ask: Ask, word: str, **changed: Any) -> None:
    """The site's own people learn why it does not answer; others learn that it does not."""
    with pytest.raises(PrivetError) as why:
        study.door(A, **changed).ask(ask)
    assert door._word(why.value) == word
    assert study.refusal(A, study.signed("ask", ask), **changed) == "failed"


STEPS = {
    "before the charge": "privet.privacy.ledger.studies.claim",
    "after the charge": "privet.privacy.vault.Vault._evaluate",
    "before the message is kept": "privet.privacy.ledger.studies.keep",
}
KILLED = """
import os, sys
from pathlib import Path
from unittest.mock import patch
from privet.trust import study
from tests.helpers.hospitals import patients
folder, step = Path(sys.argv[1]), sys.argv[2]
lock = study.read_lock(folder / "study" / "study.lock")
door = study.site_of(folder / "hospital-a", lock, patients(0, 400), folder / "hospital-a.sqlite")
with patch(step, lambda *_: os._exit(9)):
    door.answer((folder / "request").read_bytes())
"""


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_it_never_answers_without_a_charge_or_twice(
    step: str, study: Study
) -> None:
    ask = ask_for(study.lock)
    (study.folder / "request").write_bytes(study.signed("ask", ask))
    arguments = [sys.executable, "-c", KILLED, str(study.folder), STEPS[step]]
    assert subprocess.run(arguments, check=False).returncode == 9
    charged = study.entries(A)
    assert charged == (0 if step == "before the charge" else 1)
    word = study.refusal(A, study.signed("ask", ask))
    if charged:
        assert word == "failed" and study.entries(A) == 1, "one question never gets two answers"
        ask = replace(ask, place=replace(ask.place, attempt=2))
    assert study.answer(A, ask).price and study.entries(A) == charged + 1


def test_a_thousand_opens_reserve_nothing(study: Study) -> None:
    door, request = study.door(A), study.signed("open")
    for _ in range(100):
        assert trust.refusal_in(door.answer(request), study.lock, A) is None
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and not account.runs


def test_one_run_however_often_it_is_entered(study: Study) -> None:
    for attempt in range(1, 4):
        study.answer(A, ask_for(study.lock, attempt=attempt, rho=0.001))
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and len(account.runs) == 1
    refused(study, ask_for(study.lock, attempt=9, rho=0.027), "budget")


def test_a_cap_that_counts_in_zcdp_pays_the_same_and_no_more(tmp_path: Path) -> None:
    """The study's rho is more than epsilon 1 is worth in zCDP; the run reserves what it takes."""
    study = found(tmp_path)
    (tmp_path / f"{A}.sqlite").unlink()
    study.ledger(A).create(f"people of {A}", epsilon=1.05, delta=1e-6, accounting="zcdp")
    assert study.refusal(A, study.signed("open")) == "budget"
    study.ledger(A).grant(f"people of {A}", epsilon=2)
    rho = study.lock.budget / UNIT
    study.answer(A, ask_for(study.lock, rho=rho * 0.999))
    refused(study, ask_for(study.lock, stage=2, rho=rho * 0.0011), "budget")
    study.answer(A, ask_for(study.lock, stage=2, rho=rho * 0.0009))


def test_closing_gives_back_and_destroys_the_keys(study: Study) -> None:
    study.answer(A, ask_for(study.lock, rho=0.001))
    door = study.door(A)
    assert trust.refusal_in(door.answer(study.signed("close")), study.lock, A) is None
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and account.runs[0].state == "closed"
    assert not (study.folder / A / "secret.json").exists()
    assert trust.refusal_in(door.answer(study.signed("ask", ask_for(study.lock))), study.lock, A)


# -- what comes from the wire


def test_every_other_kind_is_refused_with_the_same_bytes(shared: Study) -> None:
    door, keys = shared.door(A), load_secret(shared.folder / "study")
    kinds = [*dir(Door), *dir(object), "_getstate__", "", "Ask", "ask ", "\0", "x" * 1000]
    answers = set()
    for kind in set(kinds) - set(wire.KINDS):
        said = {"kind": kind, "study": shared.lock.study, "ask": None}
        answers.add(door.answer(keys.signed(wire.REQUEST, said)))
    assert len(answers) == 1
    assert trust.refusal_in(answers.pop(), shared.lock, A) == "request"


def oddities(lock_study: str) -> dict[str, Any]:
    place = {"attempt": 1, "stage": 1, "roster": list(SITES), "budget": 10}
    query = {"kind": "Components", "sets": [["smoke"]]}
    question = {"query": query, "price": 10}
    good = {"place": place, "questions": [question]}

    def asked(**changed: Any) -> dict[str, Any]:
        return {"kind": "ask", "study": lock_study, "ask": {**good, **changed}}

    return {
        "no question": {"kind": "ask", "study": lock_study, "ask": None},
        "a number for a question": {"kind": "ask", "study": lock_study, "ask": 1},
        "a field more": asked(extra=1),
        "no questions": asked(questions=[]),
        "a thousand questions": asked(questions=[question] * 1000),
        "a price of nothing": asked(questions=[{**question, "price": 0}]),
        "a negative price": asked(questions=[{**question, "price": -1}]),
        "a fraction of a price": asked(questions=[{**question, "price": 0.5}]),
        "a price in words": asked(questions=[{**question, "price": "1e-8000000"}]),
        "true as a price": asked(questions=[{**question, "price": True}]),
        "a huge price": asked(questions=[{**question, "price": 10**4000}]),
        "an unknown query": asked(questions=[{**question, "query": {"kind": "Rows"}}]),
        "a query of a file": asked(questions=[{**question, "query": {"kind": "os.system"}}]),
        "an unknown column": asked(questions=[{**question, "query": {**query, "sets": [["x"]]}}]),
        "numbers for columns": asked(questions=[{**question, "query": {**query, "sets": [[1]]}}]),
        "half a million sets": asked(
            questions=[{**question, "query": {**query, "sets": [["smoke"]] * 500_000}}]
        ),
        "attempt 0": asked(place={**place, "attempt": 0}),
        "attempt 10^9": asked(place={**place, "attempt": 10**9}),
        "no roster": asked(place={**place, "roster": []}),
        "an unsorted roster": asked(place={**place, "roster": list(reversed(SITES))}),
        "a site twice": asked(place={**place, "roster": [A, A, *SITES[1:]]}),
        "a strange site": asked(place={**place, "roster": [*SITES, "hospital-z"]}),
        "a site with NUL": asked(place={**place, "roster": [A + "\0", *SITES]}),
        "without me": asked(place={**place, "roster": list(SITES[1:])}),
        "too few": asked(place={**place, "roster": list(SITES[:2])}),
        "no budget": asked(place={**place, "budget": 0}),
        "more than the study": asked(place={**place, "budget": 1 << 90}),
        "another study": {"kind": "open", "study": "00" * 32, "ask": None},
    }


def test_odd_questions_are_refused_and_cost_nothing(study: Study) -> None:
    keys, door = load_secret(study.folder / "study"), study.door(A)
    for what, said in oddities(study.lock.study).items():
        answer = door.answer(keys.signed(wire.REQUEST, said))
        assert trust.refusal_in(answer, study.lock, A) in ("request", "failed"), what
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and not any(run.entries for run in account.runs)


def test_odd_bytes_are_refused_in_little_memory(shared: Study) -> None:
    door = shared.door(A)
    good = shared.signed("open")
    deep = b'{"said":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    odd = [
        b"",
        b"\xff\xfe",
        b"null",
        b"[1]",
        b"9" * 1_000_000,
        b'{"said":{"price":' + b"9" * 1_000_000 + b'},"signature":"00"}',
        b'{"said":NaN,"signature":"' + b"0" * 128 + b'"}',
        deep,
        b"{" + b'"a":1,' * 400_000 + b'"b":1}',
        b"x" * (wire.MOST_BYTES + 1),
        good[:-3],
        good.replace(b"open", b"0pen"),
        json.dumps({**json.loads(good), "signature": "00" * 64}).encode(),
    ]
    tracemalloc.start()
    answers = {door.answer(text) for text in odd}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6
    assert len(answers) == 1 and trust.refusal_in(answers.pop(), shared.lock, A) == "request"


def test_only_the_coordinators_signature_counts(shared: Study) -> None:
    said = {"kind": "open", "study": shared.lock.study, "ask": None}
    door = shared.door(A)
    for keys in (SecretKeys.make("coordinator"), load_secret(shared.folder / SITES[1])):
        answer = door.answer(keys.signed(wire.REQUEST, said))
        assert trust.refusal_in(answer, shared.lock, A) == "request"
    mine = load_secret(shared.folder / "study")
    forged = mine.signed(wire.ANSWER, said)  # for another purpose
    assert trust.refusal_in(door.answer(forged), shared.lock, A) == "request"


def test_only_answers_that_add_up_have_shares(study: Study) -> None:
    """The door knows four kinds of questions; the vault looks at the question itself, too."""
    assert all(kind.additive for kind in QUERIES) and not Dependence.additive
    query = Dependence("g2", ((NAMES[0], NAMES[1]),))
    share = GaussianShare(rho=Fraction(1), honest=4)
    with study.ledger(A).begin("patients", unit="u", epsilon=1, delta=1e-6, method="m") as run:
        vault = Vault(study.rows[A], study.lock.schema, run)
        with pytest.raises(MethodError, match="measure apart"):
            vault.share([(query, share)], "x", lambda _db: None)
        assert not run.entries


# -- what is the site's own


def changed_policy(study: Study, old: str, new: str) -> None:
    path = study.folder / A / "policy.toml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("largest_epsilon = 1.0", "largest_epsilon = 0.5", "policy"),
        ("alone_epsilon = 5.0", "alone_epsilon = 2.0", "policy"),
        ("tolerated = 1 ", "tolerated = 2 ", "sites"),
        ("fewest_sites = 3", "fewest_sites = 5", "sites"),
        ("methods = []", 'methods = ["moment-pc"]', "method"),
        ("rows_per_person = 1", "rows_per_person = 2", "schema"),
        ("# expires = 2030-12-31", "expires = 2020-01-01", "policy"),
        (f'account = "people of {A}"', 'account = "others"', "budget"),
        ("methods = []", "method = []", "data"),
        ("tolerated = 1 ", 'tolerated = "1" ', "data"),
    ],
)
def test_what_the_policy_does_not_allow_is_refused(
    old: str, new: str, word: str, study: Study
) -> None:
    changed_policy(study, old, new)
    assert study.refusal(A, study.signed("open")) == word
    refused(study, ask_for(study.lock), word)
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and not account.runs


def test_no_study_sets_a_cap(study: Study) -> None:
    changed_policy(study, f"people of {A}", "nobody's cap")
    with pytest.raises(BudgetError, match=r"\.create\("):
        study.door(A).ask(ask_for(study.lock))
    assert study.ledger(A).account("nobody's cap") is None


def test_another_unit_in_the_ledger_is_refused(study: Study) -> None:
    people, unit = f"people of {A}", "replace-one of 3 rows"
    study.ledger(A).begin(people, unit=unit, epsilon=0.1, delta=1e-6, method="m").close()
    assert study.refusal(A, study.signed("open")) == "budget"


def test_who_has_not_joined_does_not_answer(study: Study) -> None:
    (study.folder / A / "joined").unlink()
    assert study.refusal(A, study.signed("open")) == "policy"


def written(folder: Path, many: int, form: str) -> tuple[Any, Path]:
    """Some rows as a table of a kind, and the file that holds them."""
    import duckdb

    rows = patients(0, many)
    lines = [",".join(NAMES), *(",".join(row) for row in zip(*rows.values(), strict=True))]
    (folder / "rows.csv").write_text("\n".join(lines), "utf-8")
    if form == "csv":
        return folder / "rows.csv", folder / "rows.csv"
    read = f"SELECT * FROM read_csv('{folder}/rows.csv', all_varchar=true)"
    if form == "duckdb":
        (folder / "rows.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(folder / "rows.duckdb")) as base:
            base.execute(f"CREATE TABLE t AS {read}")
        return f"duckdb:{folder}/rows.duckdb?table=t", folder / "rows.duckdb"
    (folder / "parts").mkdir(exist_ok=True)
    duckdb.sql(f"COPY ({read}) TO '{folder}/parts/b.parquet' (FORMAT parquet)")
    first = folder / "parts" / "a.parquet"
    if not first.exists():
        duckdb.sql(f"COPY ({read}) TO '{first}' (FORMAT parquet)")
    known = {"folder": str(folder / "parts"), "pattern": str(folder / "parts" / "*.parquet")}
    return known[form], folder / "parts" / "b.parquet"


@pytest.mark.parametrize("form", ["csv", "folder", "pattern", "duckdb"])
def test_data_that_changed_between_stages_are_refused(form: str, tmp_path: Path) -> None:
    """Whatever the data are: what is charged is answered, and the coordinator never learns from a
    word that they have changed."""
    study = found(tmp_path)
    data, _ = written(tmp_path, 50, form)
    assert study.refusal(A, study.signed("open"), data=data) is None
    for stage in (1, 2):
        study.door(A, data=data).ask(ask_for(study.lock, rho=0.001, stage=stage))
    assert study.entries(A) == 2
    written(tmp_path, 49, form)
    refused(study, ask_for(study.lock, rho=0.001, stage=3), "data", data=data)
    assert study.refusal(A, study.signed("open"), data=data) is None
    assert study.entries(A) == 2


def test_data_that_cannot_be_read_are_not_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = found(tmp_path)
    data, file = written(tmp_path, 50, "csv")

    def gone(_path: Path) -> str:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(door, "_digest", gone)
    refused(study, ask_for(study.lock), "data", data=data)
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and not account.runs


@pytest.mark.parametrize("data", ["postgresql://host/db?table=t", "spark:people"])
def test_a_table_of_a_server_is_refused_before_anything_is_charged(data: str, study: Study) -> None:
    assert study.refusal(A, study.signed("open"), data=data) == "data"
    with pytest.raises(StudyError, match="export the table as a file"):
        study.door(A, data=data).ask(ask_for(study.lock))
    account = study.ledger(A).account(f"people of {A}")
    assert account is not None and not account.runs


def test_a_ledger_restored_from_a_backup_is_noticed(study: Study) -> None:
    ledger = study.folder / f"{A}.sqlite"
    study.answer(A, ask_for(study.lock, rho=0.001))
    backup = ledger.read_bytes()
    study.answer(A, ask_for(study.lock, rho=0.001, stage=2))
    ledger.write_bytes(backup)
    refused(study, ask_for(study.lock, rho=0.001, stage=3), "budget")


def test_other_columns_are_refused_without_their_cells(study: Study) -> None:
    data = {"smoke": ["no"], "cough": ["no"]}
    request = study.signed("open")
    assert study.refusal(A, request, data=data) == "data"
    assert study.refusal(A, request, data=Path("/nowhere.csv")) == "data"


def test_people_counted_twice_are_noticed(study: Study) -> None:
    """Two sites that pay from one account."""
    other = SITES[1]
    policy = study.folder / other / "policy.toml"
    policy.write_text(
        policy.read_text("utf-8").replace(f"people of {other}", f"people of {A}"), "utf-8"
    )
    ask = ask_for(study.lock, rho=0.001)
    door = study.door(other, ledger=Ledger(study.folder / f"{A}.sqlite"))
    second = trust.read_answer(door.ask(ask), study.lock, other)
    first = study.answer(A, ask)
    assert (first.site, second.site) == (A, other) and study.entries(A) == 2
    with pytest.raises(StudyError, match="same people id"):
        added([first, second], ask, study.lock)


def test_the_private_side_knows_no_engine_of_others() -> None:
    code = "import sys, privet.privacy.together.door; print('nvflare' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]


def test_secrets_are_for_the_owners_eyes(shared: Study) -> None:
    for name in (A, "study"):
        assert (shared.folder / name / "secret.json").stat().st_mode & 0o077 == 0
    keys = load_secret(shared.folder / A)
    assert keys.sign not in repr(keys) and keys.agree not in str(keys)
    assert Question(query=Components(((),)), price=UNIT).rho == 1
    assert isinstance(ask_for(shared.lock), Ask)
