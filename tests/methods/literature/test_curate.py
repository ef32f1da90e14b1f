"""curate: budgets by optimisation, every test charged, exact laws with the coin.

Statistical tests raise a false alarm once in a million runs.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import privet
from privet.errors import MethodError
from privet.graph.knowledge import Knowledge
from privet.methods.literature import curate
from privet.methods.literature.curate_budgets import COIN, allocate
from privet.methods.literature.decisions import Decisions, read
from privet.methods.literature.sequential import MARGINS, Bars
from privet.methods.options import Settings
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import Laplace
from privet.privacy.queries.base import Release
from privet.privacy.queries.dependence import UNIT, Dependence
from privet.trust.central import Central
from tests.helpers.asked import asked
from tests.helpers.encoded import Records, binary, encoded, neighbours, paid

FALSE_ALARM = 1e-6
CURRENCIES = pytest.mark.parametrize("delta", [0.0, 1e-6], ids=["pure", "zcdp"])
APART = Knowledge(forbidden=frozenset({("b", "c"), ("c", "b")}))
RECORDS: Records = [(0, 0, 0)] * 4 + [(1, 1, 0)] * 4 + [(1, 1, 1)] * 3 + [(0, 0, 1)] * 3
BUDGET = 1  # of the short transcripts


def dense() -> Records:
    """Four columns that tell of one hidden cause, so that no test says independent."""
    rng = np.random.default_rng(8)
    hidden = rng.integers(2, size=(4000, 1))
    return list(map(tuple, (hidden ^ (rng.random((4000, 4)) < 0.15)).tolist()))


DENSE = dense()


def objective(budgets: Any, kept: float, lost: float) -> float:
    """The paper's (2), written out."""
    wrongly_kept, all_right = 1.0, 1.0
    for epsilon in budgets:
        wrongly_kept *= COIN / 2 + math.exp(-kept * epsilon) / 2
        all_right *= 1 - (COIN / 2 + math.exp(-lost * epsilon) / 2)
    return wrongly_kept + 1 - all_right


# --- the optimisation ------------------------------------------------------------------------

TESTS = st.lists(st.integers(1, 10_000), min_size=1, max_size=4)


@settings(max_examples=60)
@given(
    TESTS,
    st.floats(1e-6, 1e3),
    st.floats(1e-3, 1e4),
    st.floats(1e-3, 1e4),
    st.sampled_from([1, 2]),
)
def test_budgets_fall_cost_the_total_and_are_no_worse_than_even_ones(
    tests: list[int], total: float, kept: float, lost: float, power: int
) -> None:
    def cost(each: Any) -> float:
        return float(sum(t * e**power for t, e in zip(tests, each, strict=True)))

    found = allocate(cost, total, len(tests), (kept, lost))
    assert (found >= 0).all() and (np.diff(found) <= 1e-9 * found[:-1]).all()
    assert cost(found) <= total * (1 + 1e-9) and cost(found) >= total * (1 - 1e-6)
    even = [(total / sum(tests)) ** (1 / power)] * len(tests)
    assert objective(found, kept, lost) <= objective(even, kept, lost) + 1e-9


def test_the_solver_finds_what_a_grid_finds() -> None:
    """Two orders, many tests in the second: the first gets more."""
    tests, total = (10, 90), 10.0
    found = allocate(lambda e: float(10 * e[0] + 90 * e[1]), total, 2, (30.0, 30.0))
    grid = [(x, (total - 10 * x) / 90) for x in np.linspace(0.1, 0.9999, 2000)]
    best = min(objective(pair, 30, 30) for pair in grid)
    assert objective(found, 30, 30) <= best + 1e-4
    assert found[0] > 1.5 * total / sum(tests) > found[1]


# --- what is charged -------------------------------------------------------------------------


@CURRENCIES
def test_a_clear_chain_is_found(delta: float) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(2, size=4000)
    b = a ^ (rng.random(4000) < 0.1)
    c = b ^ (rng.random(4000) < 0.1)
    records = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    curator = paid(binary("abc"), records, 400, delta)
    (apart,) = read(curate.measure(curator, Settings(beta1=0.1, beta2=0.1))[-1], 3)
    assert (apart.x, apart.y, apart.given) == (0, 2, (1,))


@CURRENCIES
def test_every_test_is_charged_whatever_it_finds(delta: float) -> None:
    """Every test keeps its edge, and each has the price of its order."""
    curator = paid(binary("abcd"), DENSE, 400, delta)
    releases = curate.measure(curator, Settings())
    assert read(releases[-1], 4) == () and curator.run is not None
    # 6 pairs; 6 x 2 with one given, in two rounds; 6 with two given
    entries = curator.run.entries[1:]
    assert asked(releases[-1], Decisions).tests == 24
    counts = [int(entry.what.split()[2]) for entry in entries]
    assert counts == [6, 6, 6, 6]
    prices = [entry.cost / count for entry, count in zip(entries, counts, strict=True)]
    assert prices[1] == prices[2] and min(prices) > 0
    assert 0.9 < float(curator.run.spent / curator.run.budget) <= 1


@CURRENCIES
def test_noise_of_a_test_does_not_depend_on_its_round(
    delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test in a round of six has the noise of a test by itself at the same price."""
    seen: list[tuple[int, float, Fraction]] = []
    release = Central.release

    def watched(self: Central, query: Any, share: Fraction) -> Release:
        answer = release(self, query, share)
        seen.append((query.size(self.schema), answer.variance, share))
        return answer

    monkeypatch.setattr(Central, "release", watched)
    curate.measure(paid(binary("abcd"), DENSE, 1, delta), Settings(max_order=0))
    size, variance, share = seen[-1]
    assert size == 6
    alone = paid(binary("abcd"), DENSE, 1, delta)
    one = release(alone, Dependence("kendall", (("a", "b"),)), share / 6)
    assert one.variance == pytest.approx(variance, rel=1e-6)


def test_the_search_stops_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a price of a third for each test there are two tests, and the graph stays."""
    monkeypatch.setattr(curate, "_share", lambda *_: Fraction(1, 3))
    curator = paid(binary("abcd"), DENSE, 50)
    releases = curate.measure(curator, Settings())
    assert asked(releases[-1], Decisions).tests == 2 and curator.run is not None
    assert curator.run.spent == curator.run.budget * (MARGINS + Fraction(2, 3))


def test_what_is_asked_and_paid_follows_from_answers_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same answers and coins on other rows lead to the same questions and prices."""
    heard: list[Release] = []
    release = Central.release
    monkeypatch.setattr(secrets, "randbits", lambda _: 1)
    monkeypatch.setattr(
        Central,
        "release",
        lambda self, query, share: heard.append(release(self, query, share)) or heard[-1],
    )
    first = paid(binary("abcd"), list(np.ndindex(2, 2, 2, 2)) * 20, 1)
    one = curate.measure(first, Settings())
    answers: Iterator[Release] = iter(heard)

    def replayed(self: Central, query: Any, share: Fraction) -> Release:
        release(self, query, share)
        return next(answers)

    monkeypatch.setattr(Central, "release", replayed)
    second = paid(binary("abcd"), [(0, 0, 0, 0)] * 3, 1)
    other = curate.measure(second, Settings())
    assert read(one[-1], 4) == read(other[-1], 4)
    assert first.run is not None and second.run is not None
    assert first.run.entries == second.run.entries


# --- exact laws ------------------------------------------------------------------------------

BAR = 4 * UNIT  # pinned, so that scores are whole numbers known beforehand
BAND = Settings(max_order=0, beta1=0.9, beta2=2.0)


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bars, "height", lambda self, question: float(BAR))


def tail(at_least: int, scale: float) -> float:
    """P(discrete Laplace >= k)."""
    q = math.exp(-1 / scale)
    return q**at_least / (1 + q) if at_least >= 1 else 1 - q ** (1 - at_least) / (1 + q)


def law(
    records: Records, epsilon: Fraction, knowledge: Knowledge, statistic: str = "kendall"
) -> dict[Hashable, float]:
    """Whether a-b and a-c go, each by noise of the same scale and a coin of its own.

    ``epsilon`` is that of one test, and ``a-c`` is not tested where it is forbidden.
    """
    schema = binary("abc", knowledge)
    names = [n for n in "bc" if knowledge.may("a", n)]
    query = Dependence(statistic, tuple(("a", n) for n in names), (BAR,) * len(names))
    scale = Laplace(epsilon=epsilon).scale(query.linf(schema))
    goes = []
    for score in query.evaluate(encoded(schema, records), schema).tolist():
        clearly = tail(math.floor(BAND.beta1 * BAR) + 1 - score, scale)
        doubt = tail(math.ceil(-BAND.beta2 * BAR) - score, scale) - clearly
        goes.append(clearly + doubt / 2)
    return {
        said: math.prod(p if gone else 1 - p for gone, p in zip(said, goes, strict=True))
        for said in product((True, False), repeat=len(goes))
    }


def sample(records: Records, knowledge: Knowledge) -> tuple[bool, ...]:
    releases = curate.measure(paid(binary("abc", knowledge), records, BUDGET), BAND)
    gone = {separation.y for separation in read(releases[-1], 3)}
    return tuple(y in gone for y, n in ((1, "b"), (2, "c")) if knowledge.may("a", n))


def fits(outcomes: list[Hashable], expected: dict[Hashable, float]) -> bool:
    counts, n = Counter(outcomes), len(outcomes)
    pairs = [(counts[k], n * p) for k, p in expected.items()]
    assert min(e for _, e in pairs) > 10
    statistic = sum((o - e) ** 2 / e for o, e in pairs)
    return bool(chi2.sf(statistic, len(pairs) - 1) > FALSE_ALARM)


ONLY_AB = Knowledge(forbidden=frozenset({("b", "c"), ("c", "b"), ("a", "c"), ("c", "a")}))
CASES = pytest.mark.parametrize(
    ("knowledge", "tests"), [(ONLY_AB, 1), (APART, 2)], ids=["one test", "two tests"]
)
RUNS = 800


def price(tests: int) -> Fraction:
    """Epsilon of each test: an equal part of all but the margins' share, rounded down."""
    share = Fraction(int(float(1 - MARGINS) / tests * curate.FINEST), curate.FINEST)
    return BUDGET * share


@CASES
def test_short_transcripts_have_the_exact_law(bar: None, knowledge: Knowledge, tests: int) -> None:
    expected = law(RECORDS, price(tests), knowledge)
    outcomes: list[Hashable] = [sample(RECORDS, knowledge) for _ in range(RUNS)]
    assert fits(outcomes, expected)


@pytest.mark.parametrize("fault", ["coin", "noise"])
def test_a_planted_fault_is_found(bar: None, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coin that always says keep, as in the published code; or a quarter of the noise."""
    expected = law(RECORDS, price(2), APART)
    if fault == "coin":
        monkeypatch.setattr(secrets, "randbits", lambda _: 0)
    else:
        scale = Laplace.scale
        monkeypatch.setattr(Laplace, "scale", lambda self, l1: scale(self, l1) / 4)
    outcomes: list[Hashable] = [sample(RECORDS, APART) for _ in range(RUNS)]
    assert not fits(outcomes, expected)


@CASES
@pytest.mark.parametrize(("statistic", "nearly"), [("t1", 0.25), ("kendall", 0.1)])
def test_no_neighbour_moves_a_transcript_by_more_than_epsilon(
    knowledge: Knowledge, tests: int, statistic: str, nearly: float
) -> None:
    """T1 comes near its bound where the first record of its kind enters."""
    epsilon = 20 * price(tests)  # so that the coin does not hide it
    worst = 0.0
    for records in (RECORDS, RECORDS[:2], [(0, 0, 0), (1, 1, 1)] * 30, [(0, 0, 0)] * 60):
        here = law(records, epsilon, knowledge, statistic)
        for near in neighbours(records, 3):
            there = law(near, epsilon, knowledge, statistic)
            worst = max(worst, *(abs(math.log(here[k] / there[k])) for k in here))
    assert nearly < worst / float(epsilon * tests) <= 1


# --- options ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"cap": 3}, "no such option"),
        ({"beta1": 1.0}, "beta1 is 1.0"),
        ({"statistic": "chi"}, "'chi'; choose one of"),
    ],
)
def test_what_is_refused(options: dict[str, Any], fix: str) -> None:
    ledger = Ledger(":memory:")
    with pytest.raises(MethodError, match=fix):
        privet.discover({}, binary("abc"), epsilon=1, method="curate", ledger=ledger, **options)
    assert ledger.account("people") is None


def test_a_sampled_run_is_charged_whole() -> None:
    ledger = Ledger(":memory:")
    data = {n: [str(r[i]) for r in DENSE] for i, n in enumerate("abcd")}
    found = privet.discover(
        data, binary("abcd"), epsilon=400, delta=0, method="curate", subsample=0.25, ledger=ledger
    )
    assert len(found.graph.edges) == 6
    account = ledger.account("people")
    assert account is not None and account.left == 0 and len(account.runs[0].entries) == 1
