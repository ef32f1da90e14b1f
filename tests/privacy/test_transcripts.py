"""A whole run, step by step: what is paid when, and that nothing is read that was not paid for.

Through the real vault and ledger; spies only listen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import BudgetError
from privet.methods import catalogue
from privet.methods.options import Settings
from privet.methods.sources import tables
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import Currency
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import Exact, Gaussian, Laplace
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import White
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central

SCHEMA = Schema(
    name="people",
    columns=(
        Column(name="a", kind="categorical", levels=("n", "y")),
        Column(name="b", kind="ordinal", levels=("1", "2", "3")),
        Column(name="c", kind="categorical", levels=("n", "y"), missing="level"),
        Column(name="d", kind="numeric", bounds=(0, 1), cuts=(0.5,)),
    ),
)


def table(rows: int = 600, seed: int = 1) -> dict[str, list[Any]]:
    """a --> b --> c, d apart."""
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=rows)
    b = np.minimum(a + rng.integers(2, size=rows), 2)
    c = (b + (rng.random(rows) < 0.1)) % 2
    return {
        "a": np.array(["n", "y"])[a].tolist(),
        "b": np.array(["1", "2", "3"])[b].tolist(),
        "c": np.array(["n", "y"])[c].tolist(),
        "d": rng.random(rows).tolist(),
    }


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


@dataclass(frozen=True)
class Heard:
    """One event, and what the ledger on disk said the data set had spent at that moment."""

    what: str
    on_disk: Fraction


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch, ledger: Ledger) -> list[Heard]:
    """Charges, readings and computations, in the order in which they happen."""
    found: list[Heard] = []
    path = ledger.path

    def hear(what: str) -> None:
        account = Ledger(path).account("people")  # a second look, as another process would have
        entries = account.runs[-1].entries if account else ()
        found.append(Heard(what, sum((entry.cost for entry in entries), Fraction(0))))

    def spy(owner: Any, name: str, what: str, *, after: bool = False) -> None:
        real = getattr(owner, name)

        def listening(*args: Any, **options: Any) -> Any:
            if not after:
                hear(what)
            answer = real(*args, **options)
            if after:
                hear(what)
            return answer

        monkeypatch.setattr(owner, name, listening)

    spy(Run, "spend", "charge", after=True)
    spy(Encoder, "rows", "read")
    spy(Components, "evaluate", "compute")
    spy(White, "evaluate", "compute")
    spy(MemoryRows, "table_batch", "count")
    spy(Gaussian, "perturb", "blur")
    spy(Laplace, "perturb", "blur")
    return found


def begin(ledger: Ledger, currency: Currency = "gdp") -> Run:
    return ledger.begin(
        "people",
        epsilon=1.0,
        delta=0.0 if currency == "pure" else 1e-6,
        accounting="zcdp" if currency == "zcdp" else "gdp",
        method="interaction-pc",
        unit=SCHEMA.unit,
    )


def measure(run: Run, schema: Schema = SCHEMA) -> tuple[Release, ...]:
    return tables.measure(Central.open(table(), schema, run), Settings())


CURRENCIES = pytest.mark.parametrize("currency", ["gdp", "zcdp", "pure"])
REPLACED = replace(SCHEMA, adjacency=Adjacency.REPLACE_ONE, rows=600)
DROPPED = replace(
    REPLACED,
    columns=(replace(SCHEMA.columns[0], missing="drop", missing_value=None), *SCHEMA.columns[1:]),
)
SCHEMAS = pytest.mark.parametrize(
    "schema",
    [SCHEMA, REPLACED, DROPPED, replace(SCHEMA, rows_per_person=3)],
    ids=["add-remove", "replace-one", "replace-one-drop", "three-rows-each"],
)


@pytest.mark.parametrize(
    ("currency", "whole"),
    [("gdp", False), ("zcdp", False), ("pure", False), ("pure", True)],
    ids=["gdp", "zcdp", "pure", "whole"],
)
def test_each_answer_is_charged_on_disk_before_it_is_computed(
    currency: Currency,
    whole: bool,
    ledger: Ledger,
    events: list[Heard],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "whole_is_quieter", lambda _schema: whole)
    run = begin(ledger, currency)
    releases = measure(run)
    whats = [event.what for event in events]
    once = ["charge", *([] if whole else ["compute"]), "count", "blur"]
    assert whats == ["charge", "read", *once[1:], *once * (len(releases) - 1)]
    costs = [entry.cost for entry in run.entries]
    paid = Fraction(0)
    for event in events:
        if event.what == "charge":
            paid += costs.pop(0)
        assert event.on_disk == paid, event
    assert costs == [] and paid == run.budget


@SCHEMAS
@CURRENCIES
def test_a_run_spends_its_whole_budget_and_no_more(
    currency: Currency, schema: Schema, ledger: Ledger
) -> None:
    run = begin(ledger, currency)
    releases = measure(run, schema)
    assert run.left == 0 and run.spent == run.budget and run.currency == currency
    assert all(isinstance(entry.cost, Fraction) for entry in run.entries)
    assert sum(entry.cost for entry in run.entries) == run.budget
    run.close()
    account = ledger.account("people")
    assert account is not None
    (record,) = account.runs
    assert record.state == "closed" and record.entries == run.entries
    assert account.left == 0
    assert [entry.what for entry in record.entries] == [str(r.query) for r in releases]


@SCHEMAS
@CURRENCIES
def test_every_release_has_the_noise_that_was_paid_for(
    currency: Currency, schema: Schema, ledger: Ledger
) -> None:
    """price × variance covers the sensitivity, for each answer by itself."""
    run = begin(ledger, currency)
    releases = measure(run, schema)
    for entry, release in zip(run.entries, releases, strict=True):
        query = release.query
        if currency != "pure":
            needed = Fraction(query.l2_squared(schema)) / (2 * entry.cost) + Fraction(1, 10)
            assert release.variance >= float(needed) * (1 - 1e-9)
        else:
            scale = float(Fraction(query.l1(schema)) / entry.cost)
            assert release.variance >= 2 * scale**2 * (1 - 1e-6) - 1
        assert len(release.values) == query.size(schema)


def test_what_is_asked_second_follows_from_the_first_answers_and_public_facts_alone(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same first answers on very different rows lead to the same further questions."""
    first = measure(begin(ledger))
    replayed = list(first)

    def replay(self: Vault, query: Any, mechanism: Any) -> Release:
        answer = replayed.pop(0)
        assert query == answer.query
        return answer

    monkeypatch.setattr(Vault, "release", replay)
    other = {name: values[::-1] for name, values in table(50, seed=2).items()}
    again = tables.measure(Central.open(other, SCHEMA, begin(Ledger(":memory:"))), Settings())
    assert again == first and replayed == []


def test_a_refused_run_changes_nothing(ledger: Ledger, events: list[Heard]) -> None:
    privet.discover(table(), SCHEMA, epsilon=1.0, ledger=ledger, method="interaction-pc")
    before, heard = ledger.path.read_bytes(), len(events)
    with pytest.raises(BudgetError, match="left"):
        privet.discover(
            table(), SCHEMA, epsilon=1.0, ledger=ledger, method="interaction-pc", reuse=False
        )
    assert ledger.path.read_bytes() == before and len(events) == heard


def test_a_run_that_asks_for_more_than_it_has_is_stopped_before_the_rows(
    ledger: Ledger, events: list[Heard]
) -> None:
    run = begin(ledger)
    curator = Central.open(table(), SCHEMA, run)
    query = Components(sets=(("a", "b"),))
    curator.release(query, Fraction(2, 3))
    heard = len(events)
    with pytest.raises(BudgetError, match="left"):
        curator.release(query, Fraction(1, 2))
    assert len(events) == heard and run.left == run.budget / 3
    curator.release(query, Fraction(1, 3))
    assert run.left == 0


def test_a_private_run_never_gets_an_exact_answer(ledger: Ledger, events: list[Heard]) -> None:
    run = begin(ledger)
    vault = Vault(table(), SCHEMA, run)
    with pytest.raises(BudgetError, match="exact"):
        vault.release(Components(sets=(("a",),)), Exact())
    assert events == [] and run.spent == 0


@CURRENCIES
def test_the_search_touches_neither_vault_nor_ledger(
    currency: Currency, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searching is free: it works with every door bricked up, as often as one likes."""
    run = begin(ledger, currency)
    releases = measure(run)
    run.close()
    before = ledger.path.read_bytes()
    method = catalogue.get("interaction-pc")
    found = method.search(SCHEMA, releases, Settings())
    for owner, names in (
        (Vault, ("__init__", "release", "select", "sieve", "tested", "_evaluate")),
        (Run, ("__init__", "spend", "close")),
        (Ledger, ("__init__", "begin", "account", "_transaction")),
        (Encoder, ("rows",)),
        (Gaussian, ("perturb",)),
        (Laplace, ("perturb",)),
    ):
        for name in names:
            monkeypatch.setattr(owner, name, bricked_up)
    assert method.search(SCHEMA, releases, Settings()) == found
    for alpha, order in ((0.01, 0), (0.3, 1)):
        method.search(SCHEMA, releases, Settings(alpha=alpha, max_order=order))
    assert ledger.path.read_bytes() == before


def bricked_up(*_: Any, **__: Any) -> None:
    raise AssertionError("a search must not come here")


def test_the_entries_are_public_words() -> None:
    """What is written down depends on the schema and on released answers only: on two very
    different tables the entries of the first stage are the same."""

    def entries(data: dict[str, list[Any]]) -> Sequence[tuple[str, Fraction]]:
        run = begin(Ledger(":memory:"))
        tables.measure(Central.open(data, SCHEMA, run), Settings())
        return [(entry.what, entry.cost) for entry in run.entries[:2]]

    assert entries(table()) == entries({name: values[:1] for name, values in table().items()})
