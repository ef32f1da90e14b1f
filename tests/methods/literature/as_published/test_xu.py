"""The promises of Xu, Yuan, Wu 2017 as published, held against runs: the audit convicts them, and
acquits the methods that Privet has in their place, on the same neighbours and the same events.

Two data sets differ in one record. Over so many runs on each, an event is counted; by
Clopper-Pearson, with a false alarm in at most one of 1e6, its probabilities P and P' then break
P <= exp(epsilon) P' + delta or do not. There are no retries. The published runs are seeded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

import privet
from privet.methods import catalogue
from privet.methods.literature import em_pc, priv_pc_star
from privet.methods.literature.as_published import em_pc as published_em_pc
from privet.methods.literature.decisions import read
from privet.methods.options import Settings
from privet.privacy.queries.base import Release
from privet.privacy.queries.box_moments import BoxMoments
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central

FALSE_ALARM = 1e-6
Data = dict[str, list[Any]]
Event = Callable[[tuple[Release, ...]], bool]


def convicted(likely: int, unlikely: int, runs: int, epsilon: float, delta: float = 0.0) -> bool:
    """Whether so many events on two neighbours are too different for the promise."""
    low = beta.ppf(FALSE_ALARM / 2, likely, runs - likely + 1) if likely else 0.0
    high = beta.ppf(1 - FALSE_ALARM / 2, unlikely + 1, runs - unlikely) if unlikely < runs else 1.0
    return bool(low > exp(epsilon) * high + delta)


def as_published(
    name: str, data: Data, schema: Schema, epsilon: float, event: Event, runs: int
) -> int:
    """How often an event happens in the method as published."""
    method = catalogue.get(name)
    assert method.published is not None
    curator = Central.open(data, schema, None)
    return sum(
        event(method.published.measure(curator, Settings(seed=seed), epsilon, 0.0))
        for seed in range(runs)
    )


def as_built(
    measure: Callable[[Central, Settings], tuple[Release, ...]],
    data: Data,
    schema: Schema,
    epsilon: float,
    event: Event,
    runs: int,
) -> int:
    """How often it happens in the method as it is here, with a fresh budget for each run."""
    purse = Purse(dataset=schema.name, budget=Fraction(epsilon))
    curator = Central(vault=Vault(data, schema, purse), run=purse)  # type: ignore[arg-type]
    hits = 0
    for _ in range(runs):
        purse.spent = Fraction(0)
        hits += event(measure(curator, Settings()))
    return hits


@dataclass
class Purse:
    """Stands for a run of a ledger, which would take most of the time; it refuses as one does."""

    dataset: str
    budget: Fraction
    spent: Fraction = Fraction(0)
    currency: str = "pure"

    def spend(self, amount: Fraction, *, what: str) -> None:
        self.spent += amount
        assert self.spent <= self.budget, what


def binary(names: str, rows: int | None) -> Schema:
    columns = tuple(
        Column(name=n, kind="categorical", levels=("0", "1"), missing="value", missing_value="0")
        for n in names
    )
    adjacency = Adjacency.ADD_REMOVE if rows is None else Adjacency.REPLACE_ONE
    return Schema(name="audit", columns=columns, adjacency=adjacency, rows=rows)


def rows_of(names: str, counts: dict[str, int]) -> Data:
    """Rows given as texts of 0 and 1 with their numbers."""
    return {
        name: [text[i] for text, count in counts.items() for _ in range(count)]
        for i, name in enumerate(names)
    }


def test_the_audit_itself_errs_on_neither_side() -> None:
    assert convicted(500, 50, 1000, epsilon=1.0)
    assert not convicted(500, 250, 1000, epsilon=1.0)
    assert not convicted(1000, 0, 20, epsilon=1.0)  # too few runs
    rng = np.random.default_rng(0)  # a promise that is kept just so
    for _ in range(200):
        likely, unlikely = rng.binomial(1000, 0.6), rng.binomial(1000, 0.6 * exp(-1))
        assert not convicted(likely, unlikely, 1000, epsilon=1.0)


# --- em-pc -----------------------------------------------------------------------------------


@pytest.fixture
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy distances of a table are computed once, not in each run."""
    honest = published_em_pc.distance

    @lru_cache
    def known(flat: bytes, shape: tuple[int, ...], tau: float) -> int:
        return honest(np.frombuffer(flat, dtype=np.int64).reshape(shape), tau)

    def distance(table: NDArray[np.int64], tau: float) -> int:
        return known(np.ascontiguousarray(table).tobytes(), table.shape, tau)

    monkeypatch.setattr(published_em_pc, "distance", distance)


@pytest.mark.parametrize(
    ("first", "second", "distances"),
    [((0, 0, 0, 20), (1, 0, 0, 19), (19, 0)), ((1, 4, 4, 21), (2, 3, 4, 21), (20, 3))],
)
def test_the_greedy_distance_jumps(
    first: tuple[int, ...], second: tuple[int, ...], distances: tuple[int, int]
) -> None:
    """The numbers that the authors' code gives for these neighbours."""
    found = tuple(
        published_em_pc.distance(np.array(each).reshape(2, 2, 1), 0.01) for each in (first, second)
    )
    assert found == distances


ALIKE = rows_of("xy", {"11": 300})
ONE_APART = rows_of("xy", {"11": 299, "00": 1})


def keeps(releases: tuple[Release, ...]) -> bool:
    return not read(releases[-1], 2)


def test_em_pc_as_published_is_convicted_of_its_greedy_distance(remembered: None) -> None:
    """Two columns that are constant but for one record: the edge is hardly ever kept with that
    record, and in one run of four without it."""
    schema, runs, epsilon = binary("xy", 300), 1000, 0.5
    kept = [
        as_published("em-pc", data, schema, epsilon, keeps, runs) for data in (ONE_APART, ALIKE)
    ]
    assert convicted(kept[0], kept[1], runs, epsilon)
    assert convicted(kept[0], kept[1], runs, 4 * epsilon)  # and not by a little


def test_em_pc_as_built_is_acquitted() -> None:
    schema, runs, epsilon = binary("xy", 300), 1000, 0.5
    kept = [
        as_built(em_pc.measure, data, schema, epsilon, keeps, runs) for data in (ONE_APART, ALIKE)
    ]
    for first, second in (kept, kept[::-1], (runs - kept[0], runs - kept[1])):
        assert not convicted(first, second, runs, epsilon)


def copies(odd: str) -> Data:
    """x and y are a in nine records of ten, and b is a copy of a in all records but one."""
    cells = {"00": 81, "01": 9, "10": 9, "11": 1}
    likely = {
        f"{x}{y}" + a * 2: 5 * cells[f"{int(x != a)}{int(y != a)}"]
        for x in "01"
        for y in "01"
        for a in "01"
    }
    return rows_of("xyab", {**likely, odd: 1})


def separated_by_a(releases: tuple[Release, ...]) -> bool:
    return any({each.x, each.y} == {0, 1} and each.given == (2,) for each in read(releases[-1], 4))


def test_em_pc_as_published_is_convicted_of_its_exact_separators(remembered: None) -> None:
    """One record decides which of two copies has the larger p-value; it is never the other."""
    schema, runs, epsilon = binary("xyab", 1001), 300, 2.0
    by_a = [
        as_published("em-pc", copies(odd), schema, epsilon, separated_by_a, runs)
        for odd in ("0001", "0010")
    ]
    assert min(by_a) == 0
    assert convicted(max(by_a), min(by_a), runs, epsilon)


def test_em_pc_as_built_is_acquitted_of_its_separators() -> None:
    schema, runs, epsilon = binary("xyab", 1001), 300, 2.0
    by_a = [
        as_built(em_pc.measure, copies(odd), schema, epsilon, separated_by_a, runs)
        for odd in ("0001", "0010")
    ]
    assert min(by_a) > 0
    assert not convicted(max(by_a), min(by_a), runs, epsilon)


# --- lap-table -------------------------------------------------------------------------------


def lap_event(releases: tuple[Release, ...]) -> bool:
    """As many 11 as there are without the change, or more; and no 00."""
    table = releases[0].values.reshape(2, 2)
    return bool(table[1, 1] >= 300 and table[0, 0] <= 0)


def test_lap_table_as_published_is_convicted_where_records_are_replaced() -> None:
    schema, runs, epsilon = binary("xy", 300), 1500, 2.0
    hits = [
        as_published("lap-table", d, schema, epsilon, lap_event, runs) for d in (ALIKE, ONE_APART)
    ]
    assert convicted(hits[0], hits[1], runs, epsilon)
    assert not convicted(hits[0], hits[1], runs, 2 * epsilon)  # which is the true promise


def test_lap_table_as_built_is_acquitted() -> None:
    schema, runs, epsilon = binary("xy", 300), 1500, 2.0
    hits = [
        as_built(catalogue.get("lap-table").measure, d, schema, epsilon, lap_event, runs)
        for d in (ALIKE, ONE_APART)
    ]
    assert not convicted(hits[0], hits[1], runs, epsilon)


# --- priv-pc-star ----------------------------------------------------------------------------

RUNS = 400
NUMBERS = Schema(
    name="audit",
    columns=tuple(Column(name=n, kind="numeric", bounds=(-60, 60)) for n in "xy"),
    adjacency=Adjacency.REPLACE_ONE,
    rows=200,
)


def spread(outlier: bool) -> Data:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (200, 2))
    if outlier:
        rows[0] = 50.0
    return {"x": rows[:, 0].tolist(), "y": rows[:, 1].tolist()}


def together(releases: tuple[Release, ...]) -> bool:
    """The covariance of the two columns is more than a hundredth of the box."""
    sums = releases[0].values
    assert isinstance(releases[0].query, BoxMoments)
    return bool(sums[4] > 0.01 * sums[0])


def test_priv_pc_star_as_published_is_convicted() -> None:
    """One record far away makes two independent columns nearly the same."""
    hits = [
        as_published("priv-pc-star", spread(far), NUMBERS, 1.0, together, RUNS)
        for far in (True, False)
    ]
    assert convicted(hits[0], hits[1], RUNS, 1.0)
    assert hits[0] == RUNS and hits[1] == 0


def test_priv_pc_star_as_built_is_acquitted() -> None:
    hits = [
        as_built(priv_pc_star.measure, spread(far), NUMBERS, 1.0, together, RUNS)
        for far in (True, False)
    ]
    for first, second in (hits, hits[::-1]):
        assert not convicted(first, second, RUNS, 1.0)


# --- how they are told -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["em-pc", "lap-table", "priv-pc-star"])
def test_a_published_version_never_says_that_it_is_private(name: str) -> None:
    schema, data = (
        (NUMBERS, spread(False)) if name == "priv-pc-star" else (binary("xy", 300), ONE_APART)
    )
    found = privet.discover(data, schema, epsilon=1.0, delta=0.0, method=name, as_published=True)
    assert found.certificate["private"] is False
    published = catalogue.get(name).published
    assert published is not None and name in published.why
    assert published.why in str(dict(found.certificate))
