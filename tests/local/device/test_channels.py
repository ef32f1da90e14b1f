"""Channels and protocols: exact laws, true levels. Proof: proofs/local.md."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.errors import BudgetError, DataError, MethodError, PrivetError, SchemaError
from privet.local import Matrix, Protocol, RandomizedResponse, Randomizer, plan_protocol
from privet.local.collector.plan import people_per_one
from privet.local.device import geometric, planner
from privet.local.device.bits import Bits, Law
from privet.local.device.blocks import permutations
from privet.local.device.channel import log_up, odds_below
from privet.local.device.protocol import FAMILIES, centre
from privet.local.device.recipes import worth_it
from privet.local.device.tune import tune
from privet.networks import load
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.laws import categorical, fits, largest_ratio, law, log, numeric, rows_of

CLOSE = 1e-9

# --- draws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 3 << 60, 1 << 62])
def test_uniform_integers_are_uniform(limit: int) -> None:
    drawn = Bits().below(limit, 60_000)
    assert drawn.min() >= 0 and drawn.max() < limit
    parts = min(limit, 12)
    edges = [limit * i // parts for i in range(parts + 1)]
    law = {i: Fraction(b - a, limit) for i, (a, b) in enumerate(itertools.pairwise(edges))}
    found = np.searchsorted(edges, drawn, side="right") - 1
    assert fits(found.tolist(), law)
    if limit == 3 << 60:  # what a remainder without rejection would do
        biased = (Bits().words(60_000) % np.uint64(limit)).astype(np.int64)
        assert not fits((np.searchsorted(edges, biased, side="right") - 1).tolist(), law)


class Tape(Bits):
    """Words as they are given, then the operating system's; all that were read are kept."""

    def __init__(self, *words: int) -> None:
        self.left, self.read = list(words), list[int]()

    def words(self, size: int) -> np.ndarray:
        taken, self.left = self.left[:size], self.left[size:]
        found = [np.array(taken, dtype=np.uint64), super().words(size - len(taken))]
        self.read += np.concatenate(found).tolist()
        return np.concatenate(found)


def test_a_word_beyond_the_last_multiple_is_drawn_again() -> None:
    assert Tape((1 << 64) - 1, 10).below(3, 1).tolist() == [1]  # 2^64 = 1 modulo 3
    assert Tape((1 << 64) - 2).below(3, 1).tolist() == [2]
    assert Tape((1 << 64) - 1).below(4, 1).tolist() == [3]


WEIGHTS = [(1, 2), (1, 0, 3), (0, 5, 0), (10**40, 1, 10**40), (1,), (3, 1, 4, 1, 5, 9, 2, 6)]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_a_law_with_integer_weights_is_drawn_exactly(weights: tuple[int, ...]) -> None:
    drawn = Law(weights).draw(Bits(), 50_000)
    law = {i: Fraction(w, sum(weights)) for i, w in enumerate(weights) if w}
    assert fits(drawn.tolist(), law)
    if weights == (1, 2):
        assert not fits(drawn.tolist(), {0: Fraction(36, 100), 1: Fraction(64, 100)})


@pytest.mark.parametrize("weights", WEIGHTS)
def test_digits_that_leave_it_open_are_followed_by_more(weights: tuple[int, ...]) -> None:
    """All words that begin an end, and their neighbours; the outcome must be the one that the
    number with all the digits given falls on."""
    total, ends = sum(weights), list(itertools.accumulate(weights))
    starts = {(end << 64) // total + d for end in ends for d in (-1, 0, 1)}
    for first in sorted(w for w in starts if 0 <= w < 1 << 64):
        for second in (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
            tape = Tape(first, second)
            drawn = int(Law(weights).draw(tape, 1)[0])
            scale = 1 << 64 * len(tape.read)
            low = Fraction(int.from_bytes(b"".join(w.to_bytes(8) for w in tape.read)), scale)
            high = low + Fraction(1, scale)
            assert Fraction(ends[drawn] - weights[drawn], total) <= low
            assert Fraction(ends[drawn], total) >= high


def test_bits_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(os, "urandom", lambda size: asked.append(size) or bytes(size))
    assert Bits().words(5).tolist() == [0] * 5 and asked == [40]


# --- randomised response ------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/1000000", "1/7", "0.5", "1", "4", "8", "44", "100"])
def test_odds_are_the_largest_not_above_the_exponential(epsilon: str) -> None:
    wanted = Fraction(epsilon)
    odds = odds_below(wanted)
    with localcontext() as context:
        context.prec = 150
        power = Fraction((Decimal(wanted.numerator) / wanted.denominator).exp())
    assert odds <= power < odds + Fraction(1, 1 << 64)
    assert log_up(odds) <= wanted and wanted - log_up(odds) < CLOSE


def test_logarithms_are_rounded_up() -> None:
    for odds in (Fraction(1), Fraction(3), Fraction(10**30 + 1, 10**30), Fraction(2) ** 900):
        with localcontext() as context:
            context.prec = 1000
            exact = Fraction(Decimal(odds.numerator).ln() - Decimal(odds.denominator).ln())
        assert 0 <= log_up(odds) - exact < Fraction(1, 10**80)


@pytest.mark.parametrize(("cells", "width"), [(2, 1), (3, 1), (9, 1), (5, 2), (12, 5), (1, 1)])
def test_randomised_response_has_the_law_that_it_claims(cells: int, width: int) -> None:
    channel = RandomizedResponse(cells=cells, odds=Fraction(7, 2), width=width)
    inputs, outputs = range(channel.inputs), range(channel.outputs)
    for x in inputs:
        assert sum(channel.probability(x, y) for y in outputs) == 1
    exact = [[channel.probability(x, y) for y in outputs] for x in inputs]
    assert np.allclose(channel.matrix(), np.array(exact, dtype=float), atol=1e-15, rtol=0)
    ratio = max(max(column) / min(column) for column in zip(*exact, strict=True))
    assert ratio == (channel.odds if channel.inputs > 1 else 1)
    assert abs(channel.epsilon - math.log(ratio)) < CLOSE
    for x in inputs:
        drawn = channel.sample(np.full(30_000, x), Bits())
        assert fits(drawn.tolist(), dict(enumerate(exact[x])))
        if channel.inputs > 1:
            assert not fits(drawn.tolist(), dict(enumerate(exact[x - 1 if x else 1])))


def test_what_is_left_of_a_contrast_and_of_a_mean() -> None:
    """E[f(y) | x] = a f(x) for contrasts; with a window, E[y | x] grows by the same step."""
    channel = RandomizedResponse(cells=4, odds=Fraction(5))
    contrast = (3, -1, -4, 2)
    for x in range(4):
        mean = sum(channel.probability(x, y) * contrast[y] for y in range(4))
        assert mean == channel.attenuation * contrast[x]
    window = RandomizedResponse(cells=9, odds=Fraction(5), width=3)
    means = [sum(window.probability(x, y) * y for y in range(9)) for x in range(window.inputs)]
    assert {b - a for a, b in itertools.pairwise(means)} == {window.attenuation}


def test_inputs_that_cannot_be_are_refused() -> None:
    channel = RandomizedResponse(cells=3, odds=Fraction(2))
    for bad in ([3], [-1], [0, 7]):
        with pytest.raises(MethodError, match="not among the 3"):
            channel.sample(np.array(bad), Bits())
    with pytest.raises(MethodError, match="at most"):
        RandomizedResponse(cells=(1 << 62) + 1, odds=Fraction(2))
    with pytest.raises(MethodError, match="odds"):
        RandomizedResponse(cells=3, odds=Fraction(1, 2))
    for weights in (((1, 2), (2, 2)), ((1, 2), (3,)), ((0, 2), (1, 1))):
        with pytest.raises(MethodError, match="channel"):
            Matrix(weights=weights)


# --- geometric channels -------------------------------------------------------------------------

# levels, norm, p_max: least and largest e_x, true epsilon per unit, true epsilon
PUBLISHED = [
    ((5,), 1, "0.5", 0.656, 1.005, 1.075, 2.80),
    ((10,), 1, "0.5", 0.692, 1.093, 1.468, 7.70),
    ((20,), 1, "0.1", 0.085, 0.160, 0.187, 1.99),
    ((20,), 1, "0.5", 0.693, 1.099, 4.154, 17.98),
    ((5, 5), 2, "0.05", None, 0.121, 0.139, 0.44),
    ((5, 5), 2, "0.1", None, 0.528, 0.592, 1.97),
    ((5, 5), 2, "0.5", None, 1.966, 2.036, 8.14),
    ((10, 10), 2, "0.1", None, 0.768, 0.850, 6.90),
]


@pytest.mark.parametrize(("sizes", "norm", "p", "least", "most", "per_unit", "ldp"), PUBLISHED)
def test_true_levels_of_the_published_channel(
    sizes: tuple[int, ...],
    norm: float,
    p: str,
    least: float | None,
    most: float,
    per_unit: float,
    ldp: float,
) -> None:
    line = tune(sizes, success=Fraction(p), norm=norm)[1]
    assert line.rates is not None and line.epsilon_d is not None
    assert line.rates[1] == pytest.approx(most, abs=6e-4)
    assert least is None or line.rates[0] == pytest.approx(least, abs=6e-4)
    assert line.epsilon_d == pytest.approx(per_unit, abs=6e-4)
    assert line.epsilon_ldp == pytest.approx(ldp, abs=6e-3)
    assert line.epsilon_d > line.rates[1]  # what the published text takes for the level
    assert line.success == pytest.approx(float(p), abs=1e-12)


@pytest.mark.parametrize(
    ("sizes", "norm"), [((2,), 1), ((7,), 1), ((3, 4), 1), ((3, 4), 2), ((3, 3, 2), math.inf)]
)
@pytest.mark.parametrize("p", ["3/5", "999999/1000000"])
def test_the_fixed_channel_is_the_formula(sizes: tuple[int, ...], norm: float, p: str) -> None:
    channel = geometric.fixed(sizes, Fraction(p), norm)
    grid = np.array(list(itertools.product(*map(range, sizes))), dtype=float)
    matrix, logs = channel.matrix(), np.log(channel.matrix())
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-12)
    for x, place in enumerate(grid):
        apart = np.linalg.norm(grid - place, ord=norm, axis=1)
        others = apart > 0
        rate = (math.log(Fraction(p)) - logs[x, others]) / apart[others]
        assert np.ptp(rate) < 1e-9 and abs(matrix[x, x] - float(Fraction(p))) < 1e-15
    ratio = max(Fraction(max(c), min(c)) for c in zip(*channel.weights, strict=True))
    assert abs(channel.epsilon - log(ratio)) < CLOSE
    assert channel.epsilon == pytest.approx((logs.max(axis=0) - logs.min(axis=0)).max(), abs=1e-9)


@pytest.mark.parametrize(
    ("sizes", "norm"), [((2,), 1), ((10,), 1), ((3, 4), 2), ((3, 2, 2), math.inf), ((4, 4), 1)]
)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "8", "60"])
def test_p_max_for_an_epsilon_is_the_largest(
    sizes: tuple[int, ...], norm: float, epsilon: str
) -> None:
    p_max = geometric.p_max_for(sizes, Fraction(epsilon), norm)
    loss = geometric.fixed(sizes, p_max, norm).loss
    assert loss <= Fraction(epsilon) and Fraction(epsilon) - loss < CLOSE
    more = p_max + (1 - p_max) / 1000
    assert geometric.fixed(sizes, more, norm).loss > Fraction(epsilon)


@pytest.mark.parametrize("levels", [2, 3, 6, 20])
def test_the_clamped_channel_is_exactly_private_per_step(levels: int) -> None:
    odds = odds_below(Fraction(1, 3))
    channel = geometric.clamped(levels, odds)
    steps = {
        channel.probability(x, y) / channel.probability(x + 1, y)
        for x in range(levels - 1)
        for y in range(levels)
    }
    assert steps == {odds, 1 / odds}
    assert log_up(odds ** (levels - 1)) >= channel.loss > log_up(odds ** (levels - 1)) * 0.999999999
    q = float(1 / odds)  # an unbounded geometric variable, its tails moved to the ends
    far = np.arange(-5000, 5001)
    mass = (1 - q) / (1 + q) * q ** np.abs(far).astype(float)
    for x in range(levels):
        moved = np.bincount(np.clip(x + far, 0, levels - 1), weights=mass, minlength=levels)
        assert np.allclose(channel.matrix()[x], moved, atol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "p"), [((5,), "0.05"), ((10,), "0.1"), ((5, 2), "0.1"), ((4,), "1"), ((4,), "0")]
)
def test_an_impossible_success_is_refused(sizes: tuple[int, ...], p: str) -> None:
    with pytest.raises(MethodError, match="a success of"):
        geometric.fixed(sizes, Fraction(p))
    with pytest.raises(MethodError, match="a success of"):
        tune(sizes, success=Fraction(p))
    with pytest.raises(MethodError, match="a success of"):
        plan_protocol(categorical(*sizes, 3), name="geometric", success=Fraction(p))


def test_every_machine_gets_the_same_channel() -> None:
    """Its first weights, from decimals; a change here changes what collectors assume."""
    channel = geometric.fixed((4,), Fraction(1, 2), 1)
    assert sum(channel.weights[0]) == 1 << (channel.total.bit_length() - 1)
    even = geometric.one_rate((3, 2), Fraction(3, 2), 2)
    geometric._rate.cache_clear()
    geometric._distance.cache_clear()
    with localcontext() as context:
        context.prec = 9  # whoever calls may compute with fewer digits
        assert geometric.fixed((4,), Fraction(1, 2), 1) == channel
        assert geometric.one_rate((3, 2), Fraction(3, 2), 2) == even


def test_tune_translates_there_and_back() -> None:
    for line in tune((7,), success=0.4):
        assert line.success == pytest.approx(0.4, abs=1e-12)
        back = {t.channel: t for t in tune((7,), epsilon=line.epsilon_ldp)}[line.channel]
        assert back.success == pytest.approx(0.4, abs=1e-9)
    skewed = (0.7, 0.1, 0.1, 0.1)
    exact = {t.channel: t.success for t in tune((4,), success=0.5, prior=skewed)}
    krr = [[Fraction(1, 2) if x == y else Fraction(1, 6) for y in range(4)] for x in range(4)]
    wanted = sum(
        max(p * float(row[y]) for p, row in zip(skewed, krr, strict=True)) for y in range(4)
    )
    assert exact["randomised response"] == pytest.approx(wanted, abs=1e-12)
    for bad in (
        {"success": 0.5, "epsilon": 1},
        {},
        {"success": 0.5, "prior": (0.5, 0.5)},
        {"success": 0.5, "prior": (0.5, 0.5, 0.5, -0.5)},
    ):
        with pytest.raises(MethodError):
            tune((4,), **bad)


# --- whole protocols ----------------------------------------------------------------------------

SMALL: dict[str, Schema] = {
    "planned-block": categorical(2, 3, 2, 2),
    "one-pair": categorical(2, 3, 2),
    "one-triple": categorical(2, 3, 2, 2),
    "combined": categorical(2, 3, 2),
    "parity": categorical(2, 4, 3),
    "component-wise": categorical(2, 3, 2),
    "geometric": categorical(2, 4, 3),
    "geometric-combined": categorical(2, 3, 3),
    "sign-bit": numeric(3),
    "sign-block": numeric(4),
    "piecewise": numeric(2),
}
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in FAMILIES),
    ("component-wise", {"split": "levels"}),
    ("geometric", {"clamped": True}),
    ("geometric-combined", {"norm": 2}),
    ("geometric-combined", {"norm": math.inf}),
    *(("geometric-combined", {"norm": norm, "clamped": True}) for norm in (1, 2, math.inf)),
]


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_a_whole_report_loses_epsilon_and_no_more(
    name: str, options: dict[str, Any], epsilon: str
) -> None:
    """Every report and every two rows of a small protocol, in exact fractions."""
    protocol = plan_protocol(SMALL[name], Fraction(epsilon), name, **options)
    laws = [law(protocol, row) for row in rows_of(protocol)]
    assert all(sum(each.values()) == 1 for each in laws)
    assert all(set(each) == set(laws[0]) for each in laws)
    ratio = largest_ratio(laws)
    assert log_up(ratio) <= Fraction(epsilon)
    assert abs(log(ratio) - float(epsilon)) < CLOSE
    assert abs(protocol.levels().epsilon_ldp - float(epsilon)) < CLOSE
    assert protocol.levels().epsilon_ldp >= float(log_up(ratio)) - 1e-15


def test_the_enumeration_would_see_too_large_odds() -> None:
    fine = plan_protocol(categorical(2, 3), 1, "one-pair")
    with pytest.raises(MethodError, match="more than the epsilon"):
        Protocol(
            name="one-pair",
            schema=fine.schema,
            epsilon=fine.epsilon,
            blocks=fine.blocks,
            odds=(fine.odds[0] + Fraction(1, 1 << 60),),
        )
    claimed = Protocol(
        name="one-pair",
        schema=fine.schema,
        epsilon=Fraction(2),
        blocks=fine.blocks,
        odds=(odds_below(Fraction(2)),),
    )
    assert log(largest_ratio(law(claimed, row) for row in rows_of(claimed))) > 1.9


@pytest.mark.parametrize(
    ("name", "success"),
    [
        ("component-wise", "0.7"),
        ("combined", "0.2"),
        ("geometric", "0.6"),
        ("geometric-combined", "0.5"),
    ],
)
def test_a_protocol_for_a_success_claims_what_it_loses(name: str, success: str) -> None:
    protocol = plan_protocol(SMALL[name], name=name, success=Fraction(success))
    ratio = largest_ratio(law(protocol, row) for row in rows_of(protocol))
    assert log_up(ratio) <= protocol.epsilon < log_up(ratio) + Fraction(1, 10**9)
    levels = protocol.levels()
    found = levels.successes.values() if "combined" not in name else [levels.success]
    assert all(each == pytest.approx(float(success), abs=1e-9) for each in found)


PRIORS = {2: (0.9, 0.1), 3: (0.5, 0.3, 0.2), 4: (0.1, 0.2, 0.3, 0.4)}


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize(("name", "options"), [o for o in OPTIONS if o[0] != "piecewise"])
def test_an_attackers_success_is_that_of_the_best_guess(
    name: str, options: dict[str, Any], given: bool
) -> None:
    """Against going through all rows and reports."""
    protocol = plan_protocol(SMALL[name], 1, name, **options)
    rows, names = rows_of(protocol), protocol.schema.names
    sizes = protocol.sizes
    priors = [PRIORS[k] if given else (1 / k,) * k for k in sizes]
    found = protocol.levels(dict(zip(names, priors, strict=True)) if given else None)
    belief = {row: math.prod(p[x] for p, x in zip(priors, row, strict=True)) for row in rows}
    laws = {row: {r: float(p) for r, p in law(protocol, row).items()} for row in rows}
    reports = list(laws[rows[0]])
    whole = sum(max(belief[row] * laws[row][r] for row in rows) for r in reports)
    assert found.success == pytest.approx(whole, abs=1e-12)
    assert found.by_chance == pytest.approx(max(belief.values()), abs=1e-12)
    for at, column in enumerate(names):
        one = 0.0
        for r in reports:
            mass = [0.0] * sizes[at]
            for row in rows:
                mass[row[at]] += belief[row] * laws[row][r]
            one += max(mass)
        assert found.successes[column] == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize(("name", "options"), [o for o in OPTIONS if o[0] != "piecewise"])
def test_the_level_per_distance_is_the_largest_ratio(name: str, options: dict[str, Any]) -> None:
    protocol = plan_protocol(SMALL[name], 1, name, **options)
    found = protocol.levels()
    laws = {row: law(protocol, row) for row in rows_of(protocol)}
    norm = protocol.norm if found.metric != "number of columns that differ" else None
    worst = 0.0
    for a, b in itertools.combinations(laws, 2):
        apart = np.array(a) - np.array(b)
        distance = np.count_nonzero(apart) if norm is None else np.linalg.norm(apart, ord=norm)
        loss = max(abs(log(laws[a][r] / laws[b][r])) for r in laws[a])
        worst = max(worst, loss / float(distance))
    assert found.epsilon_d == pytest.approx(worst, abs=1e-9)


def test_a_prior_must_be_one() -> None:
    protocol = plan_protocol(categorical(2, 3), 1, "one-pair")
    for prior in ({}, {"a0": (1.0, 0.0)}, {"a0": (0.5, 0.6), "a1": (1, 0, 0)}):
        with pytest.raises(MethodError, match="prior"):
            protocol.levels(prior)


def test_permutations_and_keys_are_one_to_one() -> None:
    for levels in (2, 3, 4, 5):
        each = math.factorial(levels - 1)
        made = permutations(np.arange(each**2), levels, 2)
        assert (np.sort(made, axis=2) == np.arange(levels)).all() and (made[:, :, 0] == 0).all()
        assert len({tuple(map(tuple, pair)) for pair in made.tolist()}) == each**2


def test_shifts_would_change_nothing_about_a_parity() -> None:
    """The set of cells with the reported sum has the same law if 0 may be moved as well."""

    def sets(orders: list[tuple[int, ...]], x: tuple[int, int]) -> dict[frozenset[Any], Fraction]:
        found: dict[frozenset[Any], Fraction] = {}
        for a, b in itertools.product(orders, repeat=2):
            truth = (a[x[0]] + b[x[1]]) % 3
            for y in range(3):
                cells = frozenset(
                    v for v in itertools.product(range(2), range(3)) if (a[v[0]] + b[v[1]]) % 3 == y
                )
                weight = Fraction(4 if y == truth else 1, 6 * len(orders) ** 2)
                found[cells] = found.get(cells, Fraction(0)) + weight
        return found

    every = list(itertools.permutations(range(3)))
    for x in itertools.product(range(2), range(3)):
        assert sets(every, x) == sets([order for order in every if order[0] == 0], x)


# --- plans and files ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "epsilon", "cost", "size"),
    [
        ("cancer", 1, 106, 3),
        ("cancer", 4, 2.5, 5),
        ("survey", 1, 258, 2),
        ("survey", 4, 5.8, 4),
        ("asia", 1, 297, 3),
        ("asia", 4, 7.1, 5),
        ("asia", 8, 1.2, 8),
        ("sachs", 4, 41, 3),
        ("sachs", 8, 5.7, 6),
        ("child", 1, 8750, 2),
        ("child", 4, 133, 3.2),
        ("child", 8, 16.6, 6.3),
    ],
)
def test_the_plan_costs_what_the_design_found(
    name: str, epsilon: int, cost: float, size: float
) -> None:
    protocol = plan_protocol(load(name).schema(name), epsilon, "planned-block")
    blocks, sizes = protocol.blocks, protocol.sizes
    assert people_per_one(protocol) == pytest.approx(cost, rel=0.04)
    total = sum(block.weight for block in blocks)
    mean = sum(block.weight * len(block.attributes) for block in blocks) / total
    assert mean == pytest.approx(size, abs=0.6)
    assert len({block.mask for block in blocks}) == len(blocks)
    seen = {pair for block in blocks for pair in itertools.combinations(block.attributes, 2)}
    assert len(seen) == math.comb(len(sizes), 2)
    pairs = planner.all_of(len(sizes), 2)
    assert planner.cost(sizes, protocol.odds[0], blocks) <= planner.cost(
        sizes, protocol.odds[0], pairs
    )


@pytest.mark.parametrize("name", ["cancer", "child", "alarm", "hailfinder"])
@pytest.mark.parametrize("epsilon", [1, 4, 6])
def test_no_plan_is_worse_than_all_pairs_or_all_triples(name: str, epsilon: int) -> None:
    """On the list that is written down, not only while rules are compared."""
    sizes = tuple(c.cardinality for c in load(name).schema(name).columns)
    odds = odds_below(Fraction(epsilon))
    found = planner.cost(sizes, odds, planner.plan_blocks(sizes, odds))
    for size in (2, 3):
        assert found <= planner.cost(sizes, odds, planner.all_of(len(sizes), size))


def test_the_cost_of_a_plan_is_its_definition() -> None:
    protocol = plan_protocol(categorical(2, 3, 4, 2), Fraction(3, 2), "one-triple")
    total = 0.0
    for pair in itertools.combinations(range(4), 2):
        worth = sum(
            protocol.channel(block).attenuation ** 2
            for block in protocol.blocks
            if set(pair) <= set(block.attributes)
        )
        total += float(len(protocol.blocks) / worth / 6)
    assert people_per_one(protocol) == pytest.approx(total)
    wise = plan_protocol(categorical(2, 3), 1, "component-wise")
    a, b = (channel.attenuation for channel in wise.channels)  # type: ignore[attr-defined]
    assert people_per_one(wise) == pytest.approx(float(1 / (a * b) ** 2))
    assert planner.cost((2, 2, 2), Fraction(2), planner.all_of(3, 2)[:2]) == math.inf


def test_the_plan_is_the_same_everywhere() -> None:
    code = (
        "from privet.networks import load; from privet.local import plan_protocol\n"
        "print(plan_protocol(load('child').schema('child'), 4, 'planned-block').id)"
    )
    here = plan_protocol(load("child").schema("child"), 4, "planned-block").id
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [here]


@pytest.mark.parametrize(
    ("schema", "epsilon", "name"),
    [
        (categorical(2, 3, 6), 1, "parity"),
        (categorical(2, 3, 7), 1, "planned-block"),
        (categorical(2, 3), 1.01, "planned-block"),
        (numeric(3), 1.5, "sign-bit"),
        (numeric(3), 1.6, "sign-block"),
        (categorical(3), 1, "component-wise"),
    ],
)
def test_auto_chooses_what_experiments_found_best(
    schema: Schema, epsilon: float, name: str
) -> None:
    assert plan_protocol(schema, epsilon).name == name


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_a_protocol_survives_its_file(name: str, options: dict[str, Any], tmp_path: Any) -> None:
    protocol = plan_protocol(SMALL[name], Fraction(7, 3), name, **options)
    (tmp_path / "protocol.json").write_text(protocol.to_json(), "utf-8")
    again = Protocol.load(tmp_path / "protocol.json")
    assert again == protocol and again.id == protocol.id and again.to_json() == protocol.to_json()


def edited(**changes: Any) -> str:
    document = json.loads(plan_protocol(categorical(2, 3, 2), 1, "one-pair").to_json())
    return json.dumps(document | changes)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("{", "no protocol"),
        ("[]", "no protocol"),
        ('{"form": "other"}', "no protocol"),
        (edited(version=2), "version 2"),
        (edited(name="two-pair"), "one-pair"),
        (edited(name=["a"]), "no protocol"),
        (edited(epsilon="1/0"), "no protocol"),
        (edited(epsilon="0.5"), "more than the epsilon"),
        (edited(odds=["1/2"]), "odds"),
        (edited(odds=[]), "parameters"),
        (edited(odds=["nan"]), "no protocol"),
        (edited(blocks=[]), "parameters"),
        (edited(blocks=[[8, 1]]), "parameters"),
        (edited(blocks=[[3, 0]]), "parameters"),
        (edited(blocks=[[3, -1]]), "parameters"),
        (edited(blocks=[[-1, 1]]), "parameters"),
        (edited(blocks=[[0, 1]]), "parameters"),
        (edited(blocks="xy"), "no protocol"),
        (edited(p_max=["1/2"]), "parameters"),
        (edited(schema={"name": "x"}), "no columns"),
        (edited(name="geometric"), "parameters"),
    ],
)
def test_a_broken_protocol_is_refused(text: str, match: str) -> None:
    with pytest.raises(PrivetError, match=match):
        Protocol.from_json(text)


def test_a_protocol_that_is_not_there(tmp_path: Any) -> None:
    with pytest.raises(DataError, match="cannot read"):
        Protocol.load(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not a text file"):
        Protocol.load(tmp_path / "bytes.json")


def test_what_no_protocol_can_serve_is_refused() -> None:
    def column(**more: Any) -> Column:
        return Column(name="a", kind="categorical", levels=("x", "y"), **more)

    two = categorical(2, 2).columns
    with pytest.raises(SchemaError, match="stays silent"):
        plan_protocol(Schema(name="s", columns=(*two, column(missing="drop"))), 1)
    with pytest.raises(SchemaError, match="rows_per_person = 2"):
        plan_protocol(Schema(name="s", columns=two, rows_per_person=2), 1)
    with pytest.raises(SchemaError, match="2 to 62 columns"):
        plan_protocol(categorical(*(2,) * 63), 4)
    assert plan_protocol(categorical(*(2,) * 63), 4, "component-wise").name == "component-wise"
    reserved = Column(name="person", kind="categorical", levels=("x", "y"))
    with pytest.raises(SchemaError, match="rename"):
        plan_protocol(Schema(name="s", columns=(*two, reserved)), 1, "component-wise")
    assert plan_protocol(Schema(name="s", columns=(*two, reserved)), 1, "one-pair")
    with pytest.raises(SchemaError, match="numeric columns"):
        plan_protocol(categorical(2, 2), 1, "sign-bit")
    with pytest.raises(MethodError, match="2\\^62"):
        plan_protocol(categorical(*(9,) * 20), 8, "combined")
    with pytest.raises(MethodError, match=r"37 columns .* 1.37e\+11 cells.* 4 .*planned-block"):
        worth_it(plan_protocol(categorical(*(2,) * 37), 4, "combined"))
    with pytest.raises(MethodError, match="tell nothing"):
        Randomizer(categorical(*(2,) * 37), 4, protocol="combined")
    rare = Fraction(2, 1 << 37)
    with pytest.raises(MethodError, match="tell nothing"):
        worth_it(plan_protocol(categorical(*(2,) * 37), None, "combined", success=rare))
    assert worth_it(plan_protocol(categorical(*(2,) * 37), None, "combined", success=0.5))
    assert worth_it(plan_protocol(categorical(*(2,) * 37), 30, "combined"))
    hopeless = plan_protocol(categorical(2, 2, 2), 1e-12, "combined")
    assert worth_it(hopeless) is hopeless  # no protocol would do
    with pytest.raises(MethodError, match="4096"):
        plan_protocol(categorical(*(9,) * 4), 8, "geometric-combined")
    with pytest.raises(MethodError, match="at most 13"):
        plan_protocol(categorical(14, 2), 1, "parity")
    for epsilon in (0, -1, math.nan, math.inf, 101, "1"):
        with pytest.raises(BudgetError, match="epsilon is"):
            plan_protocol(categorical(2, 2), epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1, "success": 0.5},
        {"success": 0.5},
        {"epsilon": 1, "name": "nothing"},
        {"success": 0.5, "name": "one-pair"},
        {"success": "x", "name": "combined"},
        {"success": math.nan, "name": "combined"},
        {"epsilon": 1, "split": "levels"},
        {"epsilon": 1, "split": "so", "name": "component-wise"},
        {"epsilon": 1, "clamped": True},
        {"success": 0.6, "clamped": True, "name": "geometric"},
        {"epsilon": 1, "norm": 2},
        {"epsilon": 1, "norm": 1.5, "name": "geometric-combined"},
        {"epsilon": 1, "norm": 0, "name": "geometric-combined"},
        {"epsilon": 1, "norm": math.nan, "name": "geometric-combined"},
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(MethodError):
        plan_protocol(categorical(2, 2), **options)


def test_the_centre_is_the_middle_of_the_cuts() -> None:
    def at(*cuts: float) -> float:
        return centre(Column(name="x", kind="numeric", bounds=(0.0, 10.0), cuts=cuts))

    assert (at(), at(3.0), at(2.0, 3.0), at(1.0, 2.0, 9.0)) == (5.0, 3.0, 2.5, 2.0)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("one-pair", {"epsilon": "300", "odds": [str(10**130)]}),
        ("one-pair", {"blocks": [[3, 1]]}),
        ("one-pair", {"blocks": [[3, 10**400], [5, 1], [6, 1]]}),
        ("parity", {"blocks": [[7, 1]]}),
        ("parity", {"blocks": [[1, 1], [2, 1], [4, 1]]}),
    ],
)
def test_a_protocol_that_somebody_has_made_up_is_refused(name: str, change: dict[str, Any]) -> None:
    made = json.loads(plan_protocol(categorical(2, 3, 2), 1, name).to_json())
    assert Protocol.from_json(json.dumps(made))
    with pytest.raises(PrivetError):
        Protocol.from_json(json.dumps(made | change))


def test_a_clamped_channel_that_is_too_large_is_refused() -> None:
    with pytest.raises(MethodError, match="at most 128"):
        plan_protocol(categorical(129, 2), 1, "geometric", clamped=True)
