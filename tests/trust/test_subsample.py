"""A run on a secret sample: exact laws, the charge, refusals. Proof: proofs/subsample.md.

Statistical tests raise a false alarm once in a million runs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

import privet
from privet.errors import BudgetError, MethodError, SchemaError
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import Laplace
from privet.privacy.queries.tables import Tables
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central
from privet.trust.subsample import amplified, check, sample

FALSE_ALARM = 1e-6
SCHEMA = Schema(
    name="people",
    columns=tuple(Column(name=n, kind="categorical", levels=("0", "1")) for n in "ab"),
)
QUARTER = Fraction(1, 4)
SPAN = range(-400, 401)


def table(ones: int, zeros: int = 0) -> dict[str, list[str]]:
    return {"a": ["1"] * ones + ["0"] * zeros, "b": ["0"] * (ones + zeros)}


def begin(epsilon: float = 1, delta: float = 0, ledger: Ledger | None = None) -> Run:
    book = ledger or Ledger(":memory:")
    return book.begin("people", epsilon=epsilon, delta=delta, method="test", unit=SCHEMA.unit)


class Encoded(Vault):
    """A vault whose rows are already encoded, so that thousands of runs take seconds."""

    def __init__(self, ones: int, run: Run) -> None:
        self.schema, self._run, self._rows, self._keep = SCHEMA, run, None, None
        codes = {"a": np.ones(ones, np.uint8), "b": np.zeros(ones, np.uint8)}
        self._source: Any = None
        self._encoder: Any = self
        self.rows = lambda _: MemoryRows(SCHEMA, lambda: codes, dict)


def answer(ones: int, epsilon: float, rate: float) -> int:
    """The noisy number of ones, from a sample, for the whole inner budget."""
    run = begin(epsilon)
    curator = sample(Central(vault=Encoded(ones, run), run=run), rate)
    return int(curator.release(Tables((("a",),)), Fraction(1)).values[1])


def law(ones: int, epsilon: float, rate: Fraction) -> dict[int, float]:
    """Of the same: a binomial number with discrete Laplace noise of scale 1 / epsilon'."""
    q = exp(-float(amplified(Fraction(epsilon), rate)))
    noise = {k: (1 - q) / (1 + q) * q ** abs(k) for k in SPAN}
    r = float(rate)
    kept = [comb(ones, k) * r**k * (1 - r) ** (ones - k) for k in range(ones + 1)]
    return {x: sum(p * noise.get(x - k, 0.0) for k, p in enumerate(kept)) for x in SPAN}


def fits(sample: list[int], expected: dict[int, float]) -> bool:
    """Pearson's test, outcomes expected less than ten times in one class."""
    counts, n = Counter(sample), len(sample)
    common = {k: n * p for k, p in expected.items() if n * p >= 10}
    pairs = [(counts[k], e) for k, e in common.items()]
    rest = n - sum(o for o, _ in pairs), n - sum(e for _, e in pairs)
    pairs += [rest] if rest[1] >= 10 else []
    statistic = sum((o - e) ** 2 / e for o, e in pairs)
    return bool(chi2.sf(statistic, len(pairs) - 1) > FALSE_ALARM)


RATES = (Fraction(1, 1 << 32), Fraction(1, 1000), Fraction(1, 2), 1 - Fraction(1, 1 << 32))


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("epsilon", ["1e-12", "1e-3", "1", "30", "1e4", "1e12"])
def test_the_inner_budget_is_covered_and_not_wasteful(epsilon: str, rate: Fraction) -> None:
    """1 + q (exp(e') - 1) <= exp(e), with 300 digits, on a scale that does not overflow."""
    outer = Fraction(epsilon)
    inner = amplified(outer, rate)
    with localcontext() as context:
        context.prec = 300
        e, i = (Decimal(v.numerator) / Decimal(v.denominator) for v in (outer, inner))
        q = Decimal(rate.numerator) / Decimal(rate.denominator)
        used = i + (q + (1 - q) * (-i).exp()).ln()  # ln(1 + q (exp(i) - 1))
        assert 0 <= used <= e
        if outer >= Fraction(1, 1000):
            assert used >= e * (1 - Decimal(10) ** -9)


def test_the_law_of_an_answer_from_a_sample() -> None:
    sample = [answer(3, 1.0, 0.25) for _ in range(2000)]
    assert fits(sample, law(3, 1.0, QUARTER))


@pytest.mark.parametrize(("fault", "draws"), [("all rows", 300), ("less noise", 2000)])
def test_a_planted_fault_is_found(fault: str, draws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "all rows":
        monkeypatch.setattr(MemoryRows, "sampled", lambda self, keep: self)
    else:
        scale = Laplace.scale
        monkeypatch.setattr(Laplace, "scale", lambda self, l1: scale(self, l1) / 2)
    sample = [answer(3, 1.0, 0.25) for _ in range(draws)]
    assert not fits(sample, law(3, 1.0, QUARTER))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("rate", [Fraction(1, 100), QUARTER, Fraction(9, 10)])
def test_no_neighbour_moves_the_law_by_more_than_epsilon(epsilon: float, rate: Fraction) -> None:
    """And some come close to it, so that the amplified budget is not too small either."""
    worst = 0.0
    for ones in range(4):
        one, other = law(ones, epsilon, rate), law(ones + 1, epsilon, rate)
        worst = max(worst, *(abs(log(one[x] / other[x])) for x in range(-8, 12)))
    assert 0.99 * epsilon <= worst <= epsilon * (1 + 1e-9)


def test_one_sample_serves_the_whole_run() -> None:
    """With hardly any noise, both answers of a run count the same rows; those of two runs
    do not. The number of rows is binomial."""
    seen = []
    for _ in range(40):
        curator = sample(Central.open(table(400, 600), SCHEMA, begin(1e6)), 0.25)
        first, second = (
            curator.release(Tables((("a",),)), Fraction(1, 2)).values.tolist() for _ in range(2)
        )
        assert first == second
        seen.append(sum(first))
    assert len(set(seen)) > 1  # 40 equal ones: probability below 1e-60
    total = sum(seen)
    assert binom.cdf(total, 40_000, 0.25) > FALSE_ALARM / 2
    assert binom.sf(total, 40_000, 0.25) > FALSE_ALARM / 2


def test_the_whole_budget_is_charged_before_a_row_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    spend, rows, urandom = Run.spend, Encoder.rows, os.urandom

    def heard(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def listening(*args: Any, **options: Any) -> Any:
            answered = real(*args, **options)
            events.append(name)
            return answered

        return listening

    monkeypatch.setattr(Run, "spend", heard("charge", spend))
    monkeypatch.setattr(Encoder, "rows", heard("read", rows))
    monkeypatch.setattr(os, "urandom", heard("draw", urandom))
    outer = begin(1.0)
    curator = sample(Central.open(table(5), SCHEMA, outer), 0.5)
    assert events == ["charge"] and outer.left == 0
    assert outer.entries[0].what == "a run on a secret sample of 0.5 of the rows"
    curator.release(Tables((("a",),)), Fraction(1, 2))
    assert events == ["charge", "charge", "read", "draw"]
    curator.release(Tables((("b",),)), Fraction(1, 2))
    assert events[4:] == ["charge"] and curator.left == 0
    with pytest.raises(BudgetError, match="left"):
        curator.release(Tables((("b",),)), Fraction(1, 1000))
    assert events[5:] == []


def test_a_run_that_has_spent_amplifies_what_it_has_left() -> None:
    outer = begin(1.0)
    curator = Central.open(table(5), SCHEMA, outer)
    curator.release(Tables((("a",),)), Fraction(3, 4))
    inner = sample(curator, 0.5)
    assert outer.left == 0 and inner.run is not None
    assert inner.run.budget == amplified(Fraction(1, 4), Fraction(1, 2))


def test_a_vault_is_sampled_once_and_never_without_a_run() -> None:
    inner = sample(Central.open(table(5), SCHEMA, begin()), 0.5)
    with pytest.raises(BudgetError, match="once"):
        sample(inner, 0.5)
    free = Central.open(table(5), SCHEMA, None)
    with pytest.raises(BudgetError, match="begin a run"):
        free.vault.sample(1, price=Fraction(1), run=begin())


@pytest.mark.parametrize(
    ("schema", "delta", "fix"),
    [
        (replace(SCHEMA, adjacency=Adjacency.REPLACE_ONE, rows=5), 0, "add-remove"),
        (replace(SCHEMA, rows_per_person=2), 0, "rows_per_person = 1"),
        (SCHEMA, 1e-6, "delta=0"),
    ],
    ids=["replace-one", "two rows", "delta"],
)
@pytest.mark.parametrize("method", ["priv-pc", "curate"])
def test_what_the_theorem_does_not_cover_is_refused_before_a_row_is_read(
    schema: Schema, delta: float, fix: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(Encoder, "rows", never)
    ledger = Ledger(":memory:")
    with pytest.raises(MethodError, match=fix):
        privet.discover(
            table(5), schema, epsilon=1, delta=delta, method=method, subsample=0.5, ledger=ledger
        )
    account = ledger.account("people")
    assert account is None or account.spent == 0


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0, 1e-11])
def test_a_rate_that_is_none(rate: float) -> None:
    run = begin()
    with pytest.raises(MethodError):
        sample(Central.open(table(5), SCHEMA, run), rate)
    assert run.spent == 0
    check(SCHEMA)


def test_a_sample_has_no_numbers() -> None:
    codes = {"a": np.zeros(3, np.uint8), "b": np.zeros(3, np.uint8)}
    rows = MemoryRows(SCHEMA, lambda: codes, dict).sampled(1 << 31)
    with pytest.raises(SchemaError, match="only tables"):
        next(rows.numbers(("a",)))
    with pytest.raises(TypeError):
        rows.__reduce__()
