"""When pairs are answered: seldom if nothing can tell, not if bins decide, else nearly always."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import privet
from privet import Adjacency, Column, Schema
from privet.networks.pairs import ADDITIVE, EITHER_WAY, Pair, random_pair
from privet.pairs import screen as spread
from privet.pairs.algorithms import judgement
from privet.pairs.way import Orientation
from privet.pairs.ways.noisy_table import LEAST_BINS

FALSE_ALARM = 1e-6


def orient(pair: Pair, wider: tuple[float, float] = (1.0, 1.0), **options: Any) -> Orientation:
    """With bounds so many times wider than three standard deviations."""
    columns = []
    for name, (low, high), factor in zip("xy", pair.bounds(), wider, strict=True):
        middle, reach = (low + high) / 2, (high - low) / 2 * factor
        bounds = (middle - reach, middle + reach)
        columns.append(Column(name=name, kind="numeric", bounds=bounds))
    known = Schema(
        name="pair", columns=tuple(columns), adjacency=Adjacency.REPLACE_ONE, rows=len(pair.x)
    )
    (found,) = privet.orient({"x": pair.x, "y": pair.y}, known, cause_effect=("x", "y"), **options)
    return found


def answered(rows: int, epsilon: float, wider: tuple[float, float], count: int) -> int:
    """How many Gaussian lines are."""
    rng = np.random.default_rng([31, rows])
    pairs = [random_pair(EITHER_WAY[0], rows, rng) for _ in range(count)]
    found = [orient(pair, wider, epsilon=epsilon, ledger=":memory:") for pair in pairs]
    return sum(one.direction != "undecided" for one in found)


@pytest.mark.parametrize(
    ("rows", "epsilon", "wider"),
    [(2000, 1.0, (1.0, 1.0)), (10_000, 2.0, (1.0, 1.0)), (10_000, 5.0, (1.5, 1.0))],
)
def test_pairs_that_nothing_can_tell_are_seldom_answered(
    rows: int, epsilon: float, wider: tuple[float, float]
) -> None:
    """Less than one in ten, in the long run; 0.15 is granted."""
    found = answered(rows, epsilon, wider, 80)
    assert binomtest(found, 80, 0.15, alternative="greater").pvalue > FALSE_ALARM


def test_without_the_allowance_for_bins_they_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That the test above can fail: then it is more than three of four."""
    monkeypatch.setattr(judgement, "BLUR", {})
    found = answered(10_000, 5.0, (1.5, 1.0), 30)
    assert binomtest(found, 30, 0.15, alternative="greater").pvalue < FALSE_ALARM


def test_additive_pairs_are_answered_and_rightly() -> None:
    """At rows × ε of 10,000, in the long run, 0.97 are answered, and of these 0.99 rightly."""
    rng = np.random.default_rng(32)
    told, right = 0, 0
    for i in range(60):
        pair = random_pair(ADDITIVE[i % len(ADDITIVE)], 10_000, rng)
        direction = orient(pair, epsilon=1.0, ledger=":memory:").direction
        told += direction != "undecided"
        right += direction == ("-->" if pair.forward else "<--")
    assert binomtest(told, 60, 0.94, alternative="less").pvalue > FALSE_ALARM
    assert binomtest(right, told, 0.97, alternative="less").pvalue > FALSE_ALARM


def curve(rows: int) -> Pair:
    """Plain to see: the effect rises ever more with its cause, and there is little noise."""
    rng = np.random.default_rng(33)
    x = rng.uniform(-1, 1, rows)
    return Pair(kind="curve", x=x, y=np.exp(2 * x) + rng.uniform(-0.5, 0.5, rows), forward=True)


@pytest.mark.parametrize(("rows", "bins"), [(1400, 12), (4000, 16), (20_000, 24)])
def test_no_answer_where_bins_decide_but_a_way_out(rows: int, bins: int) -> None:
    """A deviation of 0.9 bins is too few, one of 2 bins is enough: the noise would have to add or
    take more than five of its own standard deviations."""
    for least, enough in ((LEAST_BINS * 0.6, False), (2.0, True)):
        found = orient(curve(rows), (bins / 6 / least, 1.0), epsilon=1.0, ledger=":memory:")
        assert ("fills too little of its range" in found.reason) != enough
        assert (found.direction == "undecided") or enough
        assert enough or (len(found.notes) == 1 and offers_bounds(found))


def test_a_range_that_is_only_too_wide_for_few_bins_has_a_warning_too() -> None:
    """1.35 of 12 bins, without noise: bounds of four and a half deviations."""
    found = orient(curve(200), (12 / 6 / 1.35, 1.0), private=False)
    assert found.direction == "undecided" and "in 12 bins" in found.reason
    assert len(found.notes) == 1 and offers_bounds(found)


def offers_bounds(found: Orientation) -> bool:
    note = found.notes[0]
    return "values of x fill" in note and "--find-bounds" in note and "a fifth of the" in note


def unrelated_answered(method: str, epsilon: float, count: int) -> int:
    """How many pairs are in which nothing depends on anything, of columns of two shapes."""
    rng, told = np.random.default_rng(34), 0
    for _ in range(count):
        x, y = rng.uniform(-1, 1, 3000), rng.normal(size=3000)
        found = orient(
            Pair(kind="none", x=x, y=y, forward=True),
            method=method,
            epsilon=epsilon,
            ledger=":memory:",
        )
        told += found.direction != "undecided"
    return told


@pytest.mark.parametrize(("method", "epsilon"), [("loss-difference", 1.0), ("anm-sqrt-hsic", 20.0)])
def test_unrelated_columns_are_seldom_answered(method: str, epsilon: float) -> None:
    """One in twenty, in the long run; 0.1 is granted."""
    found = unrelated_answered(method, epsilon, 20)
    assert binomtest(found, 20, 0.1, alternative="greater").pvalue > FALSE_ALARM


def test_without_the_look_at_dependence_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "related", lambda *_, **__: True)
    found = unrelated_answered("loss-difference", 1.0, 20)
    assert binomtest(found, 20, 0.1, alternative="greater").pvalue < FALSE_ALARM


def test_a_smooth_regression_is_spoken_of_and_a_sharp_one_is_not() -> None:
    private = orient(curve(2000), method="anm-hsic", epsilon=20.0, ledger=":memory:")
    assert any("often wrong, however small" in note for note in private.notes)
    assert private.wrong is None  # it is not known
    assert not orient(curve(2000), method="anm-hsic", private=False).notes
