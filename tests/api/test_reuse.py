"""A run that was made before is not paid for again, and whether it was is a matter of public facts
alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.api import reuse
from privet.errors import BudgetError, EvidenceError
from privet.graph.knowledge import Knowledge
from privet.methods.options import Settings, make_settings
from privet.privacy.ledger.book import Ledger
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.session import Session

DAY = "2026-10-31"
SCHEMA = Schema(
    name="people",
    as_of=DAY,
    columns=tuple(
        Column(name=name, kind="categorical", levels=("no", "yes")) for name in ("a", "b", "c")
    ),
)
NUMBERS = Schema.of(["x", "y"], name="numbers", as_of=DAY, bounds={"x": [0, 1], "y": [0, 1]})


def table(seed: int = 1, rows: int = 300) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {
        name: np.where(rng.random(rows) < 0.5, "no", "yes").tolist() for name in ("a", "b", "c")
    }


def ask(ledger: Any, data: Any = None, schema: Schema = SCHEMA, **more: Any) -> privet.Discovery:
    asked = {"epsilon": 1.0, "alpha": 0.01, **more}
    return privet.discover(table() if data is None else data, schema, ledger=ledger, **asked)


def runs(ledger: Any) -> list[str]:
    account = Ledger(ledger).account("people")
    return [] if account is None else [run.state for run in account.runs]


def test_the_same_again_costs_nothing_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    first = ask(path)
    again = ask(path)
    assert (first.reused, again.reused) == (False, True)
    assert again.graph == first.graph and runs(path) == ["closed"]
    assert again.evidence.certificate == first.evidence.certificate
    assert again.certificate["identical_run"] == first.certificate["ledger"]["run"]
    assert "reuse=False" in str(again) and "reused" in repr(again)
    assert "REUSED" not in str(first) and "reused" not in repr(first)


def test_an_exhausted_cap_does_not_stop_it_and_asking_anew_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ask(path)
    with pytest.raises(BudgetError, match="left of its cap"):
        ask(path, reuse=False)
    assert ask(path).reused
    Ledger(path).grant("people", epsilon=5)
    anew = ask(path, table(2), reuse=False)
    assert not anew.reused and runs(path) == ["closed", "closed"]
    assert ask(path).certificate["identical_run"] == anew.certificate["ledger"]["run"]


def test_rows_have_no_part_in_it(tmp_path: Path) -> None:
    """Another table of the same label gets the old answer, wherever it lies."""
    path = tmp_path / "ledger.db"
    first = ask(path)
    for data in (table(2), table(3, rows=1), as_file(tmp_path / "moved.csv", table(4))):
        assert ask(path, data).graph == first.graph


def as_file(path: Path, data: dict[str, list[str]]) -> Path:
    rows = zip(*data.values(), strict=True)
    path.write_text("\n".join(map(",".join, ([*data], *rows))) + "\n")
    return path


OTHERS: dict[str, Callable[[], dict[str, Any]]] = {
    "epsilon": lambda: {"epsilon": 1.5},
    "delta": lambda: {"delta": 1e-7},
    "method": lambda: {"method": "interaction-ges", "alpha": None},
    "option": lambda: {"alpha": 0.02},
    "seed": lambda: {"seed": 1},
    "site": lambda: {"site": "hospital-a"},
    "name": lambda: {"schema": replace(SCHEMA, name="others")},
    "label": lambda: {"as_of": "2026-11-30"},
    "knowledge": lambda: {"schema": replace(SCHEMA, knowledge=Knowledge(tiers=(("a",), ("b",))))},
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_public_fact_is_another_run(what: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path).create("people", epsilon=9, delta=1e-6)
    Ledger(path).create("others", epsilon=9, delta=1e-6)
    ask(path)
    assert not ask(path, **OTHERS[what]()).reused
    assert ask(path, **OTHERS[what]()).reused


def test_every_option_is_in_the_key() -> None:
    def key(**given: Any) -> str | None:
        return reuse.key_of("discover", SCHEMA, make_settings(**given), 1, 0, None)

    plain = key()
    changed: dict[str, Any] = {"replicas": 3, "seed": 2, "max_order": 1, "orient_pairs": 0.2}
    assert len({plain, *(key(**{n: v}) for n, v in changed.items() if n != "replicas")}) == 4
    assert reuse.key_of("discover", SCHEMA, replace(Settings(), replicas=3), 1, 0, None) != plain
    assert reuse.key_of("orient", SCHEMA, Settings(), 1, 0, None) != plain
    assert reuse.key_of("discover", SCHEMA, make_settings(on_step=print), 1.0, 0.0, None) == plain


def evidence_of(path: Path) -> Path:
    (file,) = path.with_name(f"{path.name}.evidence").iterdir()
    return file


def test_evidence_that_was_changed_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ask(path)
    file = evidence_of(path)
    document = json.loads(file.read_text())
    document["releases"][0]["values"][0] += 1
    whole = file.read_text()
    file.write_text(json.dumps(document))
    with pytest.raises(EvidenceError, match=r"has been changed.*reuse=False"):
        ask(path)
    file.unlink()
    with pytest.raises(EvidenceError, match=r"is missing.*reuse=False"):
        ask(path)
    assert runs(path) == ["closed"]
    file.write_text(whole)
    assert ask(path).reused


def test_a_run_that_was_stopped_leaves_nothing_to_reuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    Ledger(path).create("people", epsilon=9, delta=1e-6)

    def stop(what: str, share: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "statement", lambda self: stop("", 0.0))
        with pytest.raises(KeyboardInterrupt):
            ask(path)
    assert runs(path) == ["closed"] and not ask(path).reused


def test_what_was_paid_for_is_there_though_the_search_was_stopped(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    def stop(_saved: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(path, on_measured=stop)
    assert ask(path).reused and runs(path) == ["closed"]


def test_a_ledger_in_memory_remembers_as_long_as_it_lives() -> None:
    book = Ledger(":memory:")
    assert [ask(book).reused, ask(book).reused] == [False, True]
    assert not ask(":memory:").reused and not ask(":memory:").reused


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.with_name("ledger.db.evidence").write_text("in the way")
    Ledger(path).create("people", epsilon=9, delta=1e-6)
    assert not ask(path).reused and not ask(path).reused


def test_two_at_once_both_have_an_answer(tmp_path: Path) -> None:
    """Each pays, or finds what the other has paid for; the ledger is whole afterwards."""
    path = tmp_path / "ledger.db"
    Ledger(path).create("people", epsilon=9, delta=1e-6)
    found: list[privet.Discovery] = []
    threads = [threading.Thread(target=lambda: found.append(ask(path))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2 and set(runs(path)) == {"closed"}
    assert ask(path).reused


def test_pairs_are_reused_too(tmp_path: Path) -> None:
    data = {"x": [0.1, 0.5, 0.9] * 50, "y": [0.2, 0.4, 0.7] * 50}
    asked: dict[str, Any] = {"cause_effect": ("x", "y"), "epsilon": 1.0, "ledger": tmp_path / "l"}
    first, again = (privet.orient(data, NUMBERS, **asked) for _ in range(2))
    assert (first.reused, again.reused) == (False, True)
    assert list(first) == list(again)
    Ledger(tmp_path / "l").grant("numbers", epsilon=2)
    assert not privet.orient(data, NUMBERS, reuse=False, **asked).reused


def test_without_privacy_nothing_is_kept(tmp_path: Path) -> None:
    privet.discover(table(), SCHEMA, private=False)
    assert list(tmp_path.iterdir()) == []
