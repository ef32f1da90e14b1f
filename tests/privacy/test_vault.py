"""The doors of the vault: what happens in which order, what a refusal costs, what never leaves."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import BudgetError, DataError, SchemaError
from privet.privacy.engines import memory, work
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import UNREADABLE
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import AboveThreshold, Exact, Gaussian, Laplace, Select
from privet.privacy.queries.base import Query
from privet.privacy.queries.tables import Tables
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Schema

SECRET = "zanzibar"  # stands in a cell, so it must never show
SCHEMA = Schema(
    name="people",
    columns=(
        Column(name="a", kind="categorical", levels=("no", "yes")),
        Column(name="b", kind="categorical", levels=("x", "y", SECRET)),
    ),
)
DATA = {"a": ["no", "yes", "yes"] * 10, "b": ["x", SECRET, SECRET] * 10}
ONE = Fraction(1)


@dataclass(frozen=True)
class Watched(Query):
    """A query that says when it is checked and computed."""

    events: list[str]
    reach: int = 1
    refuse: bool = False

    def __str__(self) -> str:
        return "watched"

    def check(self, schema: Schema) -> None:
        self.events.append("check")
        if self.refuse:
            raise SchemaError("refused")

    def size(self, schema: Schema) -> int:
        return 1

    def l1(self, schema: Schema) -> int:
        return self.reach

    l2_squared = linf = l1

    def evaluate(self, rows: Any, schema: Schema) -> Any:
        self.events.append("compute")
        return np.array([100], dtype=np.int64)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.begin("people", epsilon=100, delta=1e-6, method="test", unit=SCHEMA.unit)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Says when the ledger has recorded a charge and when rows are read."""
    found: list[str] = []
    spend, rows = Run.spend, Encoder.rows

    def watched_spend(self: Run, cost: Fraction, **more: Any) -> None:
        spend(self, cost, **more)
        found.append("charge")

    def watched_rows(self: Encoder, source: Any) -> Any:
        found.append("read")
        return rows(self, source)

    monkeypatch.setattr(Run, "spend", watched_spend)
    monkeypatch.setattr(Encoder, "rows", watched_rows)
    return found


def door(name: str, vault: Vault, query: Any) -> object:
    if name == "gaussian":
        return vault.release(query, Gaussian(rho=ONE))
    if name == "laplace":
        return vault.release(query, Laplace(epsilon=ONE))
    if name == "select":
        return vault.select(query, Select(epsilon=ONE))
    return next(vault.sieve([query], AboveThreshold(epsilon=ONE), 0))


DOORS = pytest.mark.parametrize("name", ["gaussian", "laplace", "select", "sieve"])


@DOORS
def test_the_charge_comes_before_the_computation(
    name: str, run: Run, ledger: Ledger, events: list[str]
) -> None:
    vault = Vault(DATA, SCHEMA, run)
    assert events == []  # opening reads no row
    door(name, vault, Watched(events))
    assert events == ["check", "charge", "read", "compute"]
    door(name, vault, Watched(events))
    assert events[4:] == ["check", "charge", "compute"]
    account = ledger.account("people")
    assert account is not None and len(account.runs[0].entries) == 2


@pytest.mark.parametrize("name", ["gaussian", "laplace", "sieve"])
def test_noise_that_does_not_fit_64_bits_is_refused_before_it_costs(
    name: str, run: Run, events: list[str]
) -> None:
    vault = Vault(DATA, SCHEMA, run)
    with pytest.raises(BudgetError, match=r"at most 2\^52"):
        door(name, vault, Watched(events, reach=2**107))
    assert events == ["check"] and run.spent == 0


@DOORS
def test_a_refused_check_costs_nothing(name: str, run: Run, events: list[str]) -> None:
    with pytest.raises(SchemaError):
        door(name, Vault(DATA, SCHEMA, run), Watched(events, refuse=True))
    assert events == ["check"] and run.spent == 0


@DOORS
def test_a_refused_charge_reads_nothing(name: str, ledger: Ledger, events: list[str]) -> None:
    poor = ledger.begin("people", epsilon=0.01, delta=1e-6, method="test", unit=SCHEMA.unit)
    with pytest.raises(BudgetError):
        door(name, Vault(DATA, SCHEMA, poor), Watched(events))
    assert events == ["check"] and poor.spent == 0


@DOORS
def test_without_a_run_only_exact_answers_come_out(name: str, events: list[str]) -> None:
    vault = Vault(DATA, SCHEMA, None)
    assert not vault.private
    with pytest.raises(BudgetError, match="exact"):
        door(name, vault, Watched(events))
    assert events == ["check"]
    release = vault.release(Tables((("a", "b"),)), Exact())
    assert release.values.tolist() == [10, 0, 0, 0, 0, 20] and release.variance == 0


@dataclass(frozen=True)
class Lopsided(Watched):
    """A query whose three sensitivities differ, so that none can stand in for another."""

    def l1(self, schema: Schema) -> int:
        return 7

    def l2_squared(self, schema: Schema) -> int:
        return 18

    def linf(self, schema: Schema) -> int:
        return 3


@pytest.mark.parametrize(
    ("name", "mechanism", "method", "place", "sensitivity"),
    [
        ("gaussian", Gaussian, "perturb", 1, 18),
        ("laplace", Laplace, "perturb", 1, 7),
        ("select", Select, "pick", 1, 3),
        ("sieve", AboveThreshold, "start", 1, 3),
    ],
)
def test_every_door_uses_the_sensitivity_of_its_mechanism(
    name: str,
    mechanism: Any,
    method: str,
    place: int,
    sensitivity: int,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: list[int] = []
    real = getattr(mechanism, method)

    def watched(self: Any, *arguments: Any) -> Any:
        used.append(arguments[place])
        return real(self, *arguments)

    monkeypatch.setattr(mechanism, method, watched)
    door(name, Vault(DATA, SCHEMA, run), Lopsided([]))
    assert used == [sensitivity]


def test_a_budget_buys_no_exact_answer(run: Run, events: list[str]) -> None:
    vault = Vault(DATA, SCHEMA, run)
    assert vault.private
    with pytest.raises(BudgetError, match="not private"):
        vault.release(Tables((("a",),)), Exact())
    assert events == [] and run.spent == 0


def test_gaussian_noise_needs_delta(ledger: Ledger, events: list[str]) -> None:
    pure = ledger.begin("people", epsilon=1, delta=0, method="test", unit=SCHEMA.unit)
    with pytest.raises(BudgetError, match="delta"):
        Vault(DATA, SCHEMA, pure).release(Tables((("a",),)), Gaussian(rho=ONE))
    assert events == []


def test_a_release_is_near_the_truth_and_carries_its_noise(run: Run) -> None:
    release = Vault(DATA, SCHEMA, run).release(Tables((("a", "b"),)), Gaussian(rho=Fraction(1, 2)))
    assert release.values.dtype == np.int64 and release.variance == pytest.approx(1.1, rel=0.01)
    moved = np.abs(release.values - [10, 0, 0, 0, 0, 20])
    assert moved.max() <= 6  # six standard deviations; false alarm below 1e-7


def test_select_finds_a_clear_winner(run: Run) -> None:
    table = {"a": ["yes"] * 500, "b": ["y"] * 500}  # wrong with probability below 5 exp(-250)
    assert Vault(table, SCHEMA, run).select(Tables((("a", "b"),)), Select(epsilon=ONE)) == 4


def test_the_sieve_is_lazy_charged_once_and_stops(run: Run, events: list[str]) -> None:
    vault = Vault(DATA, SCHEMA, run)
    far = AboveThreshold(epsilon=Fraction(2), positives=2)
    answers = vault.sieve((Watched(events) for _ in range(9)), far, -10_000)
    assert events == []
    assert next(answers) is True and events == ["check", "charge", "read", "compute"]
    assert list(answers) == [True]  # the second positive was the last one paid for
    assert events.count("charge") == 1 and events.count("compute") == 2
    assert run.spent == far.cost(run.currency)
    assert list(vault.sieve([], far, 0)) == [] and events.count("charge") == 1


def test_a_sieve_may_depend_on_its_own_answers(run: Run, events: list[str]) -> None:
    said: list[bool] = []

    def questions() -> Iterator[Watched]:
        yield Watched(events)
        while len(said) < 4:
            yield Watched(events)

    for answer in Vault(DATA, SCHEMA, run).sieve(questions(), AboveThreshold(epsilon=ONE), 9**9):
        said.append(answer)
    assert said == [False] * 4


def test_a_sieve_refuses_a_larger_sensitivity_and_a_table(run: Run, events: list[str]) -> None:
    vault = Vault(DATA, SCHEMA, run)
    mixed = [Watched(events), Watched(events, reach=2)]
    with pytest.raises(SchemaError, match="largest sensitivity first"):
        list(vault.sieve(mixed, AboveThreshold(epsilon=ONE), 9**9))
    assert events.count("compute") == 1
    with pytest.raises(SchemaError, match="size 1"):
        list(vault.sieve([Tables((("a",),))], AboveThreshold(epsilon=ONE), 0))


def test_nothing_public_shows_a_row(run: Run) -> None:
    vault = Vault(DATA, SCHEMA, run)
    vault.release(Tables((("a", "b"),)), Gaussian(rho=ONE))
    assert repr(vault) == str(vault) == "Vault('people')"
    shown = {name for name in dir(vault) if not name.startswith("_")}
    doors = {"release", "select", "sieve", "tested", "share"}
    assert shown == {"schema", "private", "sample", "engine", "place", *doors}
    assert SECRET not in repr(vault._rows)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        for thing in (vault, vault._rows):
            with pytest.raises(TypeError):
                attempt(thing)


def test_a_file_that_vanishes_gives_a_constant_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"a,b\nno,{SECRET}\n")
    vault = Vault(path, SCHEMA, run)
    path.unlink()
    with pytest.raises(DataError) as caught:
        vault.release(Tables((("a",),)), Gaussian(rho=ONE))
    assert str(caught.value) == UNREADABLE
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert run.spent == 1  # the charge stays


def test_running_out_of_memory_gives_the_same_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Encoder, source: Any) -> Any:
        raise MemoryError(SECRET)

    monkeypatch.setattr(Encoder, "rows", full)
    with pytest.raises(DataError) as caught:
        Vault(DATA, SCHEMA, run).release(Tables((("a",),)), Gaussian(rho=ONE))
    assert str(caught.value) == UNREADABLE


CELLS = st.one_of(st.none(), st.sampled_from(["no", "yes", "x", " y ", "", "1", SECRET]), st.text())
ROWS = st.tuples(CELLS, CELLS)


@settings(max_examples=40)
@given(st.lists(ROWS, max_size=6), ROWS, st.sampled_from(["value", "level", "drop"]))
def test_one_more_row_adds_exactly_its_own_count(
    table: list[tuple[Any, Any]], row: tuple[Any, Any], missing: Any
) -> None:
    """Encoding is row by row: the table of D + r is the table of D plus the table of r."""
    schema = Schema(
        name="people",
        columns=tuple(
            Column(name=c.name, kind=c.kind, levels=c.levels, missing=missing)
            for c in SCHEMA.columns
        ),
    )

    def exact(rows: list[tuple[Any, Any]]) -> Any:
        data = {"a": [r[0] for r in rows], "b": [r[1] for r in rows]}
        return Vault(data, schema, None).release(Tables((("a", "b"),)), Exact()).values

    moved = exact([*table, row]) - exact(table)
    assert moved.tolist() == exact([row]).tolist()
    assert moved.sum() == 1 or (missing == "drop" and moved.sum() == 0)
    assert np.abs(moved).sum() <= Tables((("a", "b"),)).l1(schema)


# --- the numbers that the noise is added to are exact ------------------------------------------


def table_schema(sizes: Sequence[int]) -> Schema:
    return Schema(
        name="table",
        columns=tuple(
            Column(name=f"c{i}", kind="categorical", levels=tuple(map(str, range(k))))
            for i, k in enumerate(sizes)
        ),
    )


@settings(max_examples=60)
@given(st.data())
def test_tables_equal_a_plain_count(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(2, 9), min_size=1, max_size=6))
    rows = data.draw(st.lists(st.tuples(*(st.integers(0, k - 1) for k in sizes)), max_size=30))
    names = [f"c{i}" for i in range(len(sizes))]
    schema = table_schema(sizes)
    table = np.array(rows, dtype=np.uint8).reshape(-1, len(sizes))
    codes = {n: table[:, i] for i, n in enumerate(names)}
    held = MemoryRows(schema, lambda: codes, dict)
    subsets = st.lists(st.sampled_from(names), max_size=4).map(tuple)
    sets = data.draw(st.lists(subsets, max_size=8))
    for columns, found in zip(sets, held.table_batch(sets), strict=True):
        places = [names.index(n) for n in columns]
        plain = Counter(tuple(row[i] for i in places) for row in rows)
        assert found.dtype == np.int64 and found.shape == tuple(sizes[i] for i in places)
        assert all(found[cell] == plain[cell] for cell in np.ndindex(*found.shape))
        assert np.array_equal(found, held.counts(columns))


def test_counting_over_several_blocks_of_rows_and_cells() -> None:
    draw = np.random.default_rng(3)
    n, sizes = 2 * work.BLOCK_ROWS + 17, (40, 50, 60, 3)
    schema = table_schema(sizes)
    held = {f"c{i}": draw.integers(0, k, n, dtype=np.uint8) for i, k in enumerate(sizes)}
    rows = MemoryRows(schema, lambda: held, dict)
    sets = [s for r in (1, 2, 3) for s in itertools.permutations(schema.names, r)]
    for columns, found in zip(sets, rows.table_batch(sets), strict=True):
        plain = np.zeros(found.shape, dtype=np.int64)
        np.add.at(plain, tuple(held[name] for name in columns), 1)
        assert np.array_equal(found, plain)


def test_the_plan_covers_every_set_once_and_saves_passes() -> None:
    p = 20
    sets = list(itertools.combinations(range(p), 2))
    sizes = np.log2([2 + j % 4 for j in range(p)])
    blocks = list(memory.plan(sets, sizes))
    assert sorted(i for _, covered in blocks for i in covered) == list(range(len(sets)))
    assert all(set(sets[i]) <= set(block) for block, covered in blocks for i in covered)
    assert all(sizes[block].sum() <= np.log2(memory.BLOCK_CELLS) + 1e-6 for block, _ in blocks)
    assert len(blocks) < len(sets) / 6


def test_a_run_pays_for_its_own_data_set_only(ledger: Ledger) -> None:
    other = ledger.begin("others", epsilon=1, delta=1e-6, method="test", unit=SCHEMA.unit)
    with pytest.raises(BudgetError, match=r"pays for data set 'others'.*'people'"):
        Vault(DATA, SCHEMA, other)
    assert other.spent == 0
