"""Geometric channels on a grid, in any norm: exact rows, true levels. Proof: proofs/local.md."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privet.errors import MethodError
from privet.local import plan_protocol
from privet.local.device import geometric
from privet.local.device.exposure import epsilon_d
from privet.local.device.tune import tune
from tests.helpers.laws import categorical, log

CLOSE = 1e-9
NORMS = [1, 2, 3, math.inf]
GRIDS = [(2, 2), (3, 4), (3, 3, 2), (5, 5)]


def apart(sizes: tuple[int, ...], norm: float) -> np.ndarray:
    grid = np.array(list(itertools.product(*map(range, sizes))), dtype=float)
    return np.linalg.norm(grid[:, None] - grid[None], ord=norm, axis=2)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sizes", GRIDS)
@pytest.mark.parametrize("odds", ["11/10", "3", "1000"])
def test_one_rate_is_the_formula(sizes: tuple[int, ...], norm: float, odds: str) -> None:
    channel = geometric.one_rate(sizes, Fraction(odds), norm)
    assert len({sum(row) for row in channel.weights}) == 1
    wanted = float(Fraction(odds)) ** -apart(sizes, norm)
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert np.allclose(channel.matrix(), wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sizes", GRIDS)
@pytest.mark.parametrize("epsilon", ["1/1000000", "0.01", "1", "8", "60", "100"])
def test_one_rate_loses_epsilon_and_no_more(
    sizes: tuple[int, ...], norm: float, epsilon: str
) -> None:
    odds = geometric.odds_for(sizes, Fraction(epsilon), norm)
    channel = geometric.one_rate(sizes, odds, norm)
    ratio = max(Fraction(max(y), min(y)) for y in zip(*channel.weights, strict=True))
    assert channel.loss <= Fraction(epsilon) and Fraction(epsilon) - channel.loss < CLOSE
    assert abs(log(ratio) - float(Fraction(epsilon))) < CLOSE
    more = 1 + (odds - 1) * Fraction(1001, 1000)
    assert geometric.one_rate(sizes, more, norm).loss > Fraction(epsilon)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sizes", GRIDS)
def test_the_level_per_unit_is_enumerated(sizes: tuple[int, ...], norm: float) -> None:
    """In exact fractions over all triples of two inputs and an output, for both versions; it lies
    between the rate and twice the rate if there is one."""
    odds = Fraction(2)
    far = apart(sizes, norm)
    channels = (geometric.one_rate(sizes, odds, norm), geometric.fixed(sizes, Fraction(3, 5), norm))
    for channel in channels:
        worst = 0.0
        for x, z in itertools.combinations(range(channel.inputs), 2):
            pairs = zip(channel.weights[x], channel.weights[z], strict=True)
            loss = max(max(Fraction(a, b), Fraction(b, a)) for a, b in pairs)
            worst = max(worst, log(loss) / far[x, z])
        assert epsilon_d(channel, sizes, norm) == pytest.approx(worst, abs=CLOSE)
        if channel is channels[0]:
            assert math.log(2) <= worst * (1 + CLOSE) and worst <= 2 * math.log(2) * (1 + CLOSE)


def test_on_two_values_all_versions_are_randomised_response() -> None:
    odds = Fraction(7, 2)
    even, clamped = geometric.one_rate((2,), odds), geometric.clamped(2, odds)
    assert np.allclose(even.matrix(), clamped.matrix(), atol=1e-15)
    assert even.matrix()[0, 0] == pytest.approx(3.5 / 4.5)


def test_a_rate_is_not_the_level() -> None:
    """Normalising adds to what the rate loses, so a claim of the rate would be found out: per unit
    of distance, and in all if the rate is small (from the middle of a line to its end)."""
    naive = geometric.one_rate((5, 5), Fraction(2), 2)
    assert epsilon_d(naive, (5, 5), 2) > math.log(2) + 0.1
    slow = geometric.one_rate((9, 9), Fraction(21, 20), math.inf)
    assert slow.epsilon > math.log(1.05) * 8 + 0.01


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("p", ["0.3", "0.5", "0.99"])
def test_tune_shows_one_rate_beside_the_published_channel(norm: float, p: str) -> None:
    krr, published, even = tune((3, 4), success=Fraction(p), norm=norm)
    for line in (krr, published, even):
        assert line.success == pytest.approx(float(p), abs=1e-11)
    assert even.epsilon_d is not None and published.epsilon_d is not None
    assert even.epsilon_ldp > krr.epsilon_ldp
    back = tune((3, 4), epsilon=even.epsilon_ldp, norm=norm)[2]
    assert back.success == pytest.approx(float(p), abs=1e-9) and back.channel == even.channel


@pytest.mark.parametrize("clamped", [False, True])
def test_a_domain_that_is_too_large_and_norms_that_are_none_are_refused(clamped: bool) -> None:
    schema = categorical(*(9,) * 4)
    with pytest.raises(MethodError, match=r"6561 cells is too large .* at most 4096"):
        plan_protocol(schema, 8, "geometric-combined", clamped=clamped)
    for norm in (0, 0.5, 1.5, -1, math.nan, -math.inf):
        with pytest.raises(MethodError, match="the norm is"):
            plan_protocol(categorical(3, 3), 1, "geometric-combined", norm=norm, clamped=clamped)
    with pytest.raises(MethodError, match="norm 63 is too large for 3 levels; use inf"):
        plan_protocol(categorical(3, 3), 1, "geometric-combined", norm=63, clamped=clamped)
    assert plan_protocol(categorical(2, 2), 1, "geometric-combined", norm=63, clamped=clamped)
