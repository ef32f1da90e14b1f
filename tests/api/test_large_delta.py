"""A delta that is no promise is refused; one above one over the number of rows is warned of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import privet
from privet.bench import central, pairs
from privet.cli.main import main
from privet.errors import BudgetError
from privet.methods.plan import plan
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import weak_delta
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

ROWS = 40
SCHEMA = Schema(
    name="people",
    columns=tuple(Column(name=n, kind="numeric", bounds=(0, 1)) for n in "ab"),
)
DECLARED = replace(SCHEMA, adjacency=Adjacency.REPLACE_ONE, rows=ROWS)
DATA = {name: [0.1, 0.9] * (ROWS // 2) for name in "ab"}
CAREFUL = f"delta 0.05 is above 1 / {ROWS}"


def ask(ledger: Ledger, delta: float, method: str) -> object:
    if method == "discover":
        return privet.discover(DATA, SCHEMA, epsilon=1, delta=delta, ledger=ledger)
    chosen = "anm-kendall" if method == "tested" else "auto"
    return privet.orient(
        DATA,
        DECLARED,
        cause_effect=("a", "b"),
        epsilon=1,
        delta=delta,
        ledger=ledger,
        method=chosen,
    )


@pytest.mark.parametrize("method", ["discover", "orient", "tested"])
def test_a_run_is_refused_and_costs_nothing(method: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    with pytest.raises(BudgetError, match=r"delta is 0.5, but it must be at most 0.1.*1e-6"):
        ask(ledger, 0.5, method)
    assert ledger.accounts() == () and not ledger.path.exists()


@pytest.mark.parametrize(
    "entrance",
    [
        lambda book: book.create("people", epsilon=1, delta=0.11),
        lambda book: book.create("people", epsilon=1, delta=0, test_delta=0.11),
        lambda book: book.create("people", epsilon=1, delta=0.1, test_delta=1e-9),
        lambda book: book.begin("people", epsilon=1, delta=0.2, method="m", unit="u"),
        lambda book: book.begin(
            "people", epsilon=1, delta=0, test_delta=Fraction(1, 5), method="m", unit="u"
        ),
        lambda _: plan(SCHEMA, 100, 1, 0.2),
        lambda _: central.Grid(delta=0.2, methods=("em-pc",)),
        lambda _: pairs.Grid(delta=0.2),
    ],
)
def test_every_other_entrance_refuses(entrance: Callable[[Ledger], object]) -> None:
    book = Ledger(":memory:")
    with pytest.raises(BudgetError, match=r"must be at most 0.1: .* such as 1e-6"):
        entrance(book)
    assert book.accounts() == ()


def test_a_cap_is_not_raised_to_what_is_no_promise() -> None:
    book = Ledger(":memory:")
    book.create("people", epsilon=1, delta=0.1)
    before = book.account("people")
    for more in ({"delta": 0.2}, {"test_delta": 0.01}):
        with pytest.raises(BudgetError, match=r"must be at most 0.1"):
            book.grant("people", epsilon=2, **more)
    assert book.account("people") == before


def test_a_ledger_of_old_with_a_larger_cap_still_serves(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.create("people", epsilon=1, delta=0.1)
    with book._transaction() as db:
        db.execute("UPDATE caps SET delta = '1/2'")
    again = Ledger(tmp_path / "ledger.db")
    account = again.account("people")
    assert account is not None and account.delta == 0.5 and account.left > 0
    again.begin("people", epsilon=0.1, delta=1e-6, method="m", unit="u").close()
    with pytest.raises(BudgetError, match=r"must be at most 0.1"):
        again.begin("people", epsilon=0.1, delta=0.5, method="m", unit="u")
    again.grant("people", epsilon=2)
    assert main(["ledger", "show", "--ledger", str(book.path)]) == 0


def test_the_certificate_warns_above_one_over_the_number_of_rows() -> None:
    def warned(schema: Schema, delta: float) -> tuple[str, ...]:
        found = privet.discover(DATA, schema, epsilon=1, delta=delta, ledger=":memory:")
        said = "delta 0.05 is above" in str(found.certificate)
        assert said == bool(found.certificate.warnings) == bool(found.certificate["warnings"])
        return found.certificate.warnings

    (text,) = warned(DECLARED, 0.05)
    assert text.startswith(CAREFUL) and "such as 1e-4" in text
    assert warned(DECLARED, 1 / ROWS) == warned(DECLARED, 0.0) == ()
    (text,) = warned(SCHEMA, 0.05)  # how many rows there are is nobody's business
    assert "if there are more than 20;" in text and "such as 1e-6" in text
    assert warned(SCHEMA, 1e-3) == ()


def test_the_delta_of_tests_counts() -> None:
    found = privet.orient(
        DATA,
        DECLARED,
        cause_effect=("a", "b"),
        epsilon=1,
        delta=0.05,
        ledger=":memory:",
        method="anm-kendall",
    )
    assert found.certificate.warnings[0].startswith(CAREFUL)


def test_a_warning_is_exact_and_a_plan_has_it_too() -> None:
    assert weak_delta(1e-3, 1000) == weak_delta(1e-3, None) == weak_delta(0, 10**9) == ()
    assert "above 1 / 1001," in weak_delta(1e-3, 1001)[0]
    assert plan(SCHEMA, 1001, 1, 1e-3).warnings == weak_delta(1e-3, 1001)
    assert plan(SCHEMA, 1000, 1, 1e-3).warnings == ()


@pytest.mark.parametrize("command", ["discover", "orient", "plan"])
@pytest.mark.parametrize("json_too", [True, False])
def test_the_command_line_warns_on_standard_error(
    command: str,
    json_too: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("a,b\n" + "0.1,0.9\n" * ROWS)
    columns = "".join(f'[columns.{n}]\nkind = "numeric"\nbounds = [0, 1]\n' for n in "ab")
    head = f'name = "people"\nadjacency = "replace-one"\nrows = {ROWS}\n'
    Path("s.toml").write_text(head + columns)
    words = [command, "s.toml"] if command == "plan" else [command, "d.csv", "--schema", "s.toml"]
    words += ["--epsilon", "1", "--delta", "0.05"] + ["--json"] * json_too
    words += {"orient": ["--all-pairs"]}.get(command, [])
    more = [] if command == "plan" else ["--ledger", "l.db", "--output", "out"]
    assert main([*words, *more]) == 0
    shown = capsys.readouterr()
    of_delta = [line for line in shown.err.splitlines() if CAREFUL in line]
    assert len(of_delta) == 1 and of_delta[0].startswith(f"privet: careful: {CAREFUL}")
    if json_too:
        told = json.loads(shown.out)
        text, *_ = told["warnings"] if command == "plan" else told["certificate"]["warnings"]
        assert text.startswith(CAREFUL)
