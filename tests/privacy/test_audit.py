"""An attacker's view: how well can neighbours be told apart from what comes out?

Two neighbouring tables, many runs on each, and the best event that an attacker can look for
(a threshold on the likelihood ratio of everything released). If the run is (epsilon, delta)-DP,
P(event | one table) ≤ exp(epsilon) P(event | the other) + delta. The event is chosen on the first
runs and judged on the others, by an exact test, so an honest run is convicted with probability 1e-6
at most. With the noise halved the same auditor must convict it. No audit proves privacy; the proofs
do that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import erfc, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privet
from privet.attacks.bounds import FALSE_ALARM, lower_bound
from privet.attacks.evidence import Attacker
from privet.methods.options import Settings
from privet.methods.sources import tables
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.ledger import conversion
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import rho_for
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import Gaussian, Laplace, Select
from privet.privacy.queries.base import Release, Rows
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.central import Central

Floats = NDArray[np.float64]

EPSILON, DELTA = 1.0, 0.4  # where the fewest runs can tell half the noise from all of it
RUNS = 1_500  # on each of the two tables
CHOOSE = 0.1  # share of the runs on which the event is chosen
SCHEMA = Schema(
    name="audited",
    columns=tuple(Column(name=n, kind="categorical", levels=("0", "1")) for n in "ab"),
)
TABLE = [(0, 0)] * 6 + [(0, 1)] * 3 + [(1, 0)] * 2 + [(1, 1)] * 7
NEIGHBOUR = [*TABLE, (0, 1)]


@pytest.fixture(autouse=True)
def any_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """A delta that nobody may ask for needs fewer runs; the arithmetic is that of every delta."""
    monkeypatch.setattr(conversion, "LARGEST_DELTA", Fraction(1, 2))


class Reopened(Vault):
    """A vault whose rows are already encoded, so that thousands of runs take seconds.

    Only reading and encoding the data is left out; check, charge, compute, blur and hand out are
    those of every vault.
    """

    def __init__(self, rows: Rows, run: Run) -> None:
        self.schema, self._run, self._rows = SCHEMA, run, rows


def encoded(table: list[tuple[int, int]]) -> MemoryRows:
    codes = {n: np.array([row[i] for row in table], np.uint8) for i, n in enumerate("ab")}
    return MemoryRows(SCHEMA, lambda: codes, dict)


def private_run(rows: Rows) -> tuple[Release, ...]:
    """Everything that one run of interaction-pc releases, paid from a fresh budget."""
    run = Ledger(":memory:").begin(
        "audited",
        epsilon=EPSILON,
        delta=DELTA,
        accounting="gdp",  # which lets through all that (epsilon, delta) allows
        method="audit",
        unit=SCHEMA.unit,
    )
    return tables.measure(Central(vault=Reopened(rows, run), run=run), Settings())


def columns(table: list[tuple[int, int]]) -> dict[str, list[str]]:
    return {name: [str(row[i]) for row in table] for i, name in enumerate("ab")}


def attacker() -> Attacker:
    return Attacker((columns(TABLE), columns(NEIGHBOUR)), SCHEMA)


def heard(runs: int) -> tuple[Floats, Floats]:
    """The evidence in so many runs on the table and on its neighbour."""
    weigh = attacker().evidence
    first, second = (
        np.array([weigh(private_run(rows)) for _ in range(runs)])
        for rows in (encoded(TABLE), encoded(NEIGHBOUR))
    )
    return first, second


def refuted(without: Floats, present: Floats, epsilon: float, delta: float) -> bool:
    """Whether the runs say that (epsilon, delta) is not kept; if it is, they do so with
    probability FALSE_ALARM at most."""
    cut = int(CHOOSE * len(without))
    first, rest = (without[:cut], present[:cut]), (without[cut:], present[cut:])
    return lower_bound(first, rest, delta).lower > epsilon


def half(scale: Callable[..., float]) -> Callable[..., float]:
    return lambda self, sensitivity: scale(self, sensitivity) / 2


# --- whole runs ------------------------------------------------------------------------------


def test_whole_runs_keep_their_promise() -> None:
    """As many runs as convict half the noise, and the evidence in them is what the price
    says: each run's log likelihood ratio has mean ∓rho and variance 2 rho, since a record reaches
    every bound here."""
    without, present = heard(RUNS)
    assert not refuted(without, present, EPSILON, DELTA)
    rho = float(rho_for(EPSILON, DELTA, "gdp"))
    for values, mean in ((without, -rho), (present, rho)):
        deviation = (values.mean() - mean) / sqrt(2 * rho / len(values))
        assert erfc(abs(deviation) / sqrt(2)) > FALSE_ALARM, (values.mean(), mean)


def test_whole_runs_with_half_the_noise_are_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the ledger, the budget and the certificate would look as before."""
    monkeypatch.setattr(Gaussian, "scale", half(Gaussian.scale))
    without, present = heard(RUNS)
    assert refuted(without, present, EPSILON, DELTA)


def test_discover_itself_releases_no_more_than_a_run_may() -> None:
    """Runs through the front door: the evidence in what it hands out fits the price too."""
    weigh, rho = attacker().evidence, float(rho_for(EPSILON, DELTA, "gdp"))
    for table, mean in ((TABLE, -rho), (NEIGHBOUR, rho)):
        data = columns(table)
        seen = []
        for _ in range(60):
            found = privet.discover(
                data, SCHEMA, epsilon=EPSILON, delta=DELTA, ledger=Ledger(":memory:")
            )
            assert found.method == "interaction-pc" and found.certificate["epsilon"] == EPSILON
            seen.append(weigh(found.evidence.releases))
        deviation = (np.mean(seen) - mean) / sqrt(2 * rho / len(seen))
        assert erfc(abs(deviation) / sqrt(2)) > FALSE_ALARM, (np.mean(seen), mean)


# --- single answers --------------------------------------------------------------------------


@dataclass(frozen=True)
class Single:
    """One mechanism on two neighbouring answers, and what it promises."""

    mechanism: Any
    runs: int
    epsilon: float
    delta: float

    def __str__(self) -> str:
        return type(self.mechanism).__name__


RHO = rho_for(EPSILON, DELTA, "gdp")
# So many runs that half the noise goes unseen with less than 1e-6: the bound's mean lies at least
# five of its deviations above the promise (10,000 runs of Laplace failed in 1.5% of trials).
SINGLES = (
    Single(Gaussian(rho=RHO), 10_000, EPSILON, DELTA),
    Single(Laplace(epsilon=Fraction(1)), 40_000, 1.0, 0.0),
    Single(Select(epsilon=Fraction(2)), 5_000, 2.0, 0.0),
)


def listen(single: Single) -> tuple[Floats, Floats]:
    mechanism = single.mechanism
    if isinstance(mechanism, Select):  # every score moves, by one and in the worst direction
        scores = np.zeros((2, 30), dtype=np.int64)
        scores[0, 1:], scores[1, 0] = 1, 1
        first, second = (
            np.array([mechanism.pick(each, 1) == 0 for _ in range(single.runs)], float)
            for each in scores
        )
        return first, second
    first, second = (
        mechanism.perturb(np.full(single.runs, answer), 1)[0].astype(float) for answer in (0, 1)
    )
    return first, second


@pytest.mark.parametrize("single", SINGLES, ids=str)
def test_single_answers_keep_their_promise(single: Single) -> None:
    assert not refuted(*listen(single), single.epsilon, single.delta)


@pytest.mark.parametrize("single", SINGLES, ids=str)
def test_single_answers_with_half_the_noise_are_convicted(
    single: Single, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(single.mechanism)
    monkeypatch.setattr(kind, "scale", half(kind.scale))
    assert refuted(*listen(single), single.epsilon, single.delta)


def test_the_bound_is_not_fooled_by_chance() -> None:
    """On two samples of one law there is nothing to find."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert not refuted(rng.normal(size=2000), rng.normal(size=2000), 0.0, 0.0)
