"""svt-pc and priv-pc: the walk over tests, what is charged, exact laws of short transcripts.

Statistical tests raise a false alarm once in a million runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

import privet
from privet.errors import MethodError
from privet.graph.knowledge import Knowledge
from privet.methods.literature import priv_pc, sequential, svt_pc
from privet.methods.literature.decisions import Decisions, Separation, read
from privet.methods.literature.sequential import MARGINS, Bars
from privet.methods.literature.walk import Walk
from privet.methods.options import Settings
from privet.privacy import mechanisms
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import AboveThreshold
from privet.privacy.queries.base import Release
from privet.privacy.queries.dependence import UNIT, Dependence
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.trust.central import Central
from tests.helpers.asked import asked
from tests.helpers.encoded import Records, binary, encoded, neighbours, paid

FALSE_ALARM = 1e-6
BOTH = pytest.mark.parametrize("method", [svt_pc, priv_pc], ids=["svt-pc", "priv-pc"])
CURRENCIES = pytest.mark.parametrize("delta", [0.0, 1e-6], ids=["pure", "zcdp"])
APART = Knowledge(forbidden=frozenset({("b", "c"), ("c", "b")}))
# a tells of b, and hardly of c: 14 records, of which one more or less shows
RECORDS: Records = [(0, 0, 0)] * 4 + [(1, 1, 0)] * 4 + [(1, 1, 1)] * 3 + [(0, 0, 1)] * 3


def chain(rows: int = 4000) -> list[tuple[int, int, int]]:
    """a --> b --> c, each like the one before in nine of ten."""
    rng = np.random.default_rng(3)
    a = rng.integers(2, size=rows)
    b = a ^ (rng.random(rows) < 0.1)
    c = b ^ (rng.random(rows) < 0.1)
    return list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))


def separations(releases: tuple[Release, ...], columns: int = 3) -> tuple[Separation, ...]:
    return read(releases[-1], columns)


# --- the walk --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_with_true_answers_the_walk_finds_the_true_skeleton(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 8))
    dag = np.triu(rng.random((size, size)) < 0.4, 1)
    graph = nx.DiGraph(np.argwhere(dag).tolist())
    graph.add_nodes_from(range(size))
    walk = Walk(Constraints.of(binary("abcdefgh"[:size]).names, Knowledge()), size)
    for x, y, *given in walk:
        assert walk.adjacent[x, y] and walk.at == (x, y, *given)
        if nx.is_d_separator(graph, {x}, {y}, set(given)):
            walk.separate(x, y, *given)
    assert np.array_equal(walk.adjacent, dag | dag.T)
    assert all(nx.is_d_separator(graph, {s.x}, {s.y}, set(s.given)) for s in walk.separations)


def test_the_walk_tests_neither_what_is_forbidden_nor_what_is_required() -> None:
    knowledge = Knowledge(
        required=frozenset({("a", "b")}), forbidden=frozenset({("b", "c"), ("c", "b")})
    )
    walk = Walk(Constraints.of(("a", "b", "c"), knowledge), 1)
    assert list(walk) == [(0, 2), (0, 2, 1)] and walk.tests == 2
    assert np.argwhere(walk.adjacent).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    assert walk.enough == 1


def test_rounds_ask_each_edge_its_next_test() -> None:
    walk = Walk(Constraints.of(("a", "b", "c", "d"), Knowledge()), 1)
    first = walk.round(1, set())
    assert first == [(0, 1, 2), (0, 2, 1), (0, 3, 1), (1, 2, 0), (1, 3, 0), (2, 3, 0)]
    walk.separate(*first[1])
    second = walk.round(1, set(first))
    assert second[:2] == [(0, 1, 3), (0, 3, 2)]
    asked = {*first, *second}
    while more := walk.round(1, asked):
        asked |= set(more)
    assert not any(test[:2] == (0, 2) for test in asked - set(first))


# --- what comes out, and what it costs -------------------------------------------------------


@BOTH
@CURRENCIES
def test_a_clear_chain_is_found(method: object, delta: float) -> None:
    """Every test is more than ten noise scales from its bar."""
    curator = paid(binary("abc"), chain(), 200, delta)
    releases = method.measure(curator, Settings())  # type: ignore[attr-defined]
    assert separations(releases) == (Separation(x=0, y=2, given=(1,)),)
    expected = 5 if method is svt_pc else 6  # its one positive is used up after five
    assert asked(releases[-1], Decisions).tests == expected and curator.run is not None
    assert curator.run.spent <= curator.run.budget


@CURRENCIES
@pytest.mark.parametrize("cap", [1, 2])
def test_the_search_stops_after_the_cap(delta: float, cap: int) -> None:
    """Three independent columns, so every pair would go."""
    records = list(np.ndindex(2, 2, 2)) * 500
    curator = paid(binary("abc"), records, 500, delta)
    releases = svt_pc.measure(curator, Settings(cap=cap))
    assert len(separations(releases)) == cap and asked(releases[-1], Decisions).tests == cap
    examined = priv_pc.measure(paid(binary("abc"), records, 500, delta), Settings(cap=cap))
    assert len(separations(examined)) == cap


def test_a_pure_run_pays_one_sieve_and_a_zcdp_run_one_for_each_positive() -> None:
    records = list(np.ndindex(2, 2, 2)) * 500
    pure, zcdp = (paid(binary("abc"), records, 500, delta) for delta in (0.0, 1e-6))
    for curator in (pure, zcdp):
        svt_pc.measure(curator, Settings(cap=3))
    assert pure.run is not None and zcdp.run is not None
    assert [e.cost / pure.run.budget for e in pure.run.entries] == [MARGINS, 1 - MARGINS]
    shares = [float(e.cost / zcdp.run.budget) for e in zcdp.run.entries]
    assert shares == pytest.approx([1 / 20, 19 / 60, 19 / 60, 19 / 60])
    assert zcdp.run.spent <= zcdp.run.budget


@BOTH
@CURRENCIES
def test_a_silent_run_is_charged_too(method: object, delta: float) -> None:
    """Three equal columns: no test says independent, and the sieve has its price all the same."""
    curator = paid(binary("abc"), [(0, 0, 0), (1, 1, 1)] * 1000, 500, delta)
    assert separations(method.measure(curator, Settings(max_order=0))) == ()  # type: ignore[attr-defined]
    assert curator.run is not None
    kinds = [entry.what.split(" ")[0] for entry in curator.run.entries]
    assert kinds == ["3", "sieve"]
    assert curator.run.entries[1].cost > 0


def test_an_examination_is_one_more_charge_whatever_it_finds() -> None:
    records = list(np.ndindex(2, 2, 2)) * 500
    curator = paid(binary("abc"), records, 500)
    priv_pc.measure(curator, Settings(cap=3))
    assert curator.run is not None
    shares = [e.cost / curator.run.budget for e in curator.run.entries]
    half = (1 - MARGINS) / 2
    assert shares == [MARGINS, half, half / 3, half / 3, half / 3]


@BOTH
def test_what_is_asked_follows_from_answers_alone(
    method: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers on other rows lead to the same questions at the same prices."""
    told: list[bool] = []
    above = mechanisms.Sieve.above
    monkeypatch.setattr(
        mechanisms.Sieve, "above", lambda self, score: told.append(above(self, score)) or told[-1]
    )
    released: list[Release] = []
    release = Central.release
    monkeypatch.setattr(
        Central,
        "release",
        lambda self, query, share: released.append(release(self, query, share)) or released[-1],
    )
    first = paid(binary("abcd"), list(np.ndindex(2, 2, 2, 2)) * 20, 1)
    one = method.measure(first, Settings())  # type: ignore[attr-defined]
    answers, values = iter(told), iter(released)

    def replay(self: mechanisms.Sieve, score: int) -> bool:
        answer = next(answers)
        self._left -= answer
        return answer

    def replayed(self: Central, query: object, share: Fraction) -> Release:
        release(self, query, share)  # type: ignore[arg-type]
        return next(values)

    monkeypatch.setattr(mechanisms.Sieve, "above", replay)
    monkeypatch.setattr(Central, "release", replayed)
    second = paid(binary("abcd"), [(0, 0, 0, 0)] * 3, 1)
    other = method.measure(second, Settings())  # type: ignore[attr-defined]
    assert separations(one, 4) == separations(other, 4)
    assert first.run is not None and second.run is not None
    assert first.run.entries == second.run.entries


# --- exact laws ------------------------------------------------------------------------------

BAR = UNIT  # pinned, so that scores are whole numbers known beforehand


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bars, "height", lambda self, question: float(BAR))


def scores(records: Records, statistic: str) -> list[int]:
    schema = binary("abc", APART)
    query = Dependence(statistic, (("a", "b"), ("a", "c")), (BAR, BAR))
    return query.evaluate(encoded(schema, records), schema).tolist()


def tail(at_least: np.ndarray, scale: float) -> np.ndarray:
    """P(discrete Laplace >= k)."""
    q = math.exp(-1 / scale)
    upper = q ** np.maximum(at_least, 1) / (1 + q)
    return np.where(at_least >= 1, upper, 1 - q ** np.maximum(1 - at_least, 1) / (1 + q))


def law(
    records: Records, epsilon: Fraction, positives: int, runs: int, statistic: str = "kendall"
) -> dict[Hashable, float]:
    """Of what the two tests say, for runs of one sieve after the other."""
    reach = Dependence(statistic, (("a", "b"),)).linf(binary("abc"))
    first, each = AboveThreshold(epsilon=epsilon, positives=positives).scales(reach)
    span = np.arange(-int(40 * first), int(40 * first) + 1)
    bar = np.exp(-np.abs(span) / first)
    bar /= bar.sum()
    yes = [tail(span - score, each) for score in scores(records, statistic)]
    found: dict[Hashable, float] = {}
    for one, two in ((True, True), (True, False), (False, True), (False, False)):
        p, q = (yes[0] if one else 1 - yes[0]), (yes[1] if two else 1 - yes[1])
        if one and positives == 1:  # the second test meets a sieve of its own, or none
            alone = float((bar * q).sum()) if runs > 1 else float(not two)
            found[one, two] = float((bar * p).sum()) * alone
        else:
            found[one, two] = float((bar * p * q).sum())
    return found


def sample(curator: Central, cap: int) -> tuple[bool, bool]:
    releases = svt_pc.measure(curator, Settings(cap=cap, max_order=0))
    gone = {s.y for s in separations(releases)}
    return 1 in gone, 2 in gone


def fits(outcomes: list[Hashable], expected: Mapping[Hashable, float]) -> bool:
    counts, n = Counter(outcomes), len(outcomes)
    if any(not expected.get(outcome) for outcome in counts):
        return False
    pairs = [(counts[k], n * p) for k, p in expected.items() if p]
    assert min(e for _, e in pairs) > 10
    statistic = sum((o - e) ** 2 / e for o, e in pairs)
    return bool(chi2.sf(statistic, len(pairs) - 1) > FALSE_ALARM)


FORMS = pytest.mark.parametrize(
    ("cap", "delta"), [(1, 0.0), (2, 0.0), (2, 0.1)], ids=["one", "two", "restarted"]
)
RUNS = 800


def budgets(curator: Central, cap: int) -> tuple[Fraction, int, int]:
    """Epsilon, positives and number of the sieves of a run."""
    share = 1 - MARGINS
    if curator.pure:
        return curator._epsilon(share), cap, 1
    return curator._epsilon(share / cap), 1, cap


@FORMS
def test_short_transcripts_have_the_exact_law(bar: None, cap: int, delta: float) -> None:
    schema = binary("abc", APART)
    expected = law(RECORDS, *budgets(paid(schema, RECORDS, 3, delta), cap))
    assert sum(expected.values()) == pytest.approx(1)
    assert fits([sample(paid(schema, RECORDS, 3, delta), cap) for _ in range(RUNS)], expected)


def test_a_planted_fault_is_found(bar: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the noise, in bar and scores."""
    schema = binary("abc", APART)
    expected = law(RECORDS, *budgets(paid(schema, RECORDS, 3), 2))
    draw = mechanisms._laplace
    monkeypatch.setattr(mechanisms, "_laplace", lambda scale: draw(scale / 4))
    assert not fits([sample(paid(schema, RECORDS, 3), 2) for _ in range(RUNS)], expected)


@FORMS
@pytest.mark.parametrize(("statistic", "nearly"), [("t1", 0.15), ("kendall", 0.05)])
def test_no_neighbour_moves_a_transcript_by_more_than_epsilon(
    cap: int, delta: float, statistic: str, nearly: float
) -> None:
    """Every neighbour of these records by one, and of a few others, with the true statistic."""
    epsilon, positives, runs = budgets(paid(binary("abc"), RECORDS, 30, delta), cap)
    worst = 0.0
    for records in (RECORDS, [(0, 0, 0), (1, 1, 1)] * 30, [(0, 0, 0)] * 60):
        here = law(records, epsilon, positives, runs, statistic)
        for near in neighbours(records, 3):
            there = law(near, epsilon, positives, runs, statistic)
            worst = max(worst, *(abs(math.log(here[k] / there[k])) for k in here if here[k]))
    assert nearly < worst / (float(epsilon) * runs) <= 1


# --- options and refusals --------------------------------------------------------------------

WIDE = Schema(
    name="people",
    columns=tuple(
        Column(name=n, kind="categorical", levels=tuple(map(str, range(3)))) for n in "ab"
    ),
)
MANY = Schema(
    name="people",
    columns=tuple(
        Column(name=f"c{i}", kind="categorical", levels=tuple(map(str, range(60))))
        for i in range(4)
    ),
)


@pytest.mark.parametrize(
    ("schema", "options", "fix"),
    [
        (WIDE, {"statistic": "t3"}, r"'t3'; choose one of t1"),
        (WIDE, {"statistic": "cmh"}, r"'a' has 3; merge its levels"),
        (MANY, {}, r"12960000 cells.*smaller max_order"),
        (binary("abc"), {"cap": 0}, r"cap is 0"),
        (binary("abc"), {"beta1": 0.2}, r"no such option"),
    ],
)
@pytest.mark.parametrize("method", ["svt-pc", "priv-pc"])
def test_what_is_refused(schema: Schema, options: dict[str, Any], fix: str, method: str) -> None:
    ledger = Ledger(":memory:")
    with pytest.raises(MethodError, match=fix):
        privet.discover({}, schema, epsilon=1, method=method, ledger=ledger, **options)
    assert ledger.account("people") is None


def test_too_many_columns_are_refused() -> None:
    columns = tuple(replace(WIDE.columns[0], name=f"c{i}") for i in range(101))
    with pytest.raises(MethodError, match=r"101 columns.*up to 100"):
        sequential.check(Schema(name="people", columns=columns), Settings())


def columns_of(records: Records) -> dict[str, list[str]]:
    return {n: [str(r[i]) for r in records] for i, n in enumerate("abc")}


@pytest.mark.parametrize("statistic", ["auto", "t1", "cmh", "g2", "spearman"])
@pytest.mark.parametrize("method", ["svt-pc", "priv-pc", "curate"])
def test_without_privacy_the_tests_are_exact(method: str, statistic: str) -> None:
    data = columns_of(chain())
    found = privet.discover(data, binary("abc"), private=False, method=method, statistic=statistic)
    assert {frozenset((e.source, e.target)) for e in found.graph.edges} == {
        frozenset("ab"),
        frozenset("bc"),
    }
    assert found.tests == 6 and not found.certificate.private
    with pytest.raises(MethodError, match="subsample"):
        privet.discover(data, binary("abc"), private=False, method="priv-pc", subsample=0.5)


@pytest.mark.parametrize("method", ["svt-pc", "priv-pc", "curate"])
def test_as_published_promises_nothing(method: str) -> None:
    data = columns_of(chain())
    found = privet.discover(
        data, binary("abc"), epsilon=50, method=method, as_published=True, seed=4
    )
    assert not found.certificate.private and "docs/published.md" in found.certificate["reason"]
    again = privet.discover(
        data, binary("abc"), epsilon=50, method=method, as_published=True, seed=4
    )
    assert again.graph == found.graph
    edges = combinations("abc", 2)
    assert {frozenset((e.source, e.target)) for e in found.graph.edges} <= {*map(frozenset, edges)}


def test_a_sampled_run_is_charged_whole_and_finds_the_chain() -> None:
    ledger = Ledger(":memory:")
    found = privet.discover(
        columns_of(chain()),
        binary("abc"),
        epsilon=200,
        delta=0,
        method="priv-pc",
        subsample=0.5,
        ledger=ledger,
    )
    assert {frozenset((e.source, e.target)) for e in found.graph.edges} == {
        frozenset("ab"),
        frozenset("bc"),
    }
    account = ledger.account("people")
    assert account is not None and account.left == 0
    (entry,) = account.runs[0].entries
    assert entry.what.startswith("a run on a secret sample of 0.5")
