"""Directions of associations, from what was released."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import privet
from privet.results.association import Association, of_levels, of_numbers
from privet.results.saved import Saved

ROWS, RUNS = 3_000, 150


def people(seed: int, effect: float) -> dict[str, list[Any]]:
    """More crp, more deaths: by so much for each of five steps; a drug that helps half as much."""
    rng = np.random.default_rng(seed)
    crp, drug, ward = (
        rng.integers(5, size=ROWS),
        rng.integers(2, size=ROWS),
        rng.integers(3, size=ROWS),
    )
    death = rng.random(ROWS) < 0.3 + effect * (crp - 2) - effect * drug / 2
    return {
        "crp": [f"{code}" for code in crp],
        "drug": np.where(drug, "yes", "no").tolist(),
        "death": np.where(death, "yes", "no").tolist(),
        "ward": [f"w{code}" for code in ward],
    }


def schema(death: tuple[str, str] = ("no", "yes")) -> privet.Schema:
    columns = (
        privet.Column(name="crp", kind="ordinal", levels=tuple("01234")),
        privet.Column(name="drug", kind="categorical", levels=("no", "yes")),
        privet.Column(name="death", kind="categorical", levels=death),
        privet.Column(name="ward", kind="categorical", levels=("w0", "w1", "w2")),
    )
    return privet.Schema(name="ward", columns=columns)


def measured(seed: int, effect: float, epsilon: float | None, known: privet.Schema) -> Saved:
    table = people(seed, effect)
    if epsilon is None:
        return privet.discover(table, known, method="pc", private=False).evidence
    return privet.discover(
        table, known, epsilon=epsilon, delta=1e-6, ledger=":memory:", method="interaction-pc"
    ).evidence


PAIRS = [("crp", "death"), ("drug", "death"), ("crp", "drug"), ("ward", "death")]


def told(saved: Saved) -> list[Association | None]:
    return of_levels(saved, PAIRS)


def test_signs_without_noise_are_those_of_the_rows() -> None:
    table = people(1, 0.08)
    crp, helped, free, ward = told(measured(1, 0.08, None, schema()))
    assert crp is not None and helped is not None and free is not None and ward is None
    assert crp.sign == "+" and crp.measure == "correlation of levels"
    levels = np.array([int(code) for code in table["crp"]])
    died = np.array(table["death"]) == "yes"
    given = np.array(table["drug"]) == "yes"
    assert crp.value == pytest.approx(np.corrcoef(levels, died)[0, 1], abs=1e-6)
    assert helped.measure == "risk difference" and free.sign in (None, "+", "-")
    risk = died[given].mean() - died[~given].mean()
    assert helped.value == pytest.approx(risk, abs=1e-6)
    assert crp.text.startswith("More crp goes with death = yes (correlation of levels 0.")
    wide = 1.96 * np.sqrt(died[given].var() / given.sum() + died[~given].var() / (~given).sum())
    assert helped.high - helped.low == pytest.approx(2 * wide, rel=1e-3)


def test_the_order_of_two_levels_turns_nothing() -> None:
    """Whichever of yes and no is declared first, the sentence is about yes."""
    usual, turned = (
        told(measured(1, 0.08, None, schema(levels))) for levels in (("no", "yes"), ("yes", "no"))
    )
    assert usual == turned


def test_what_the_interval_leaves_open_is_not_known() -> None:
    crp, drug = schema().columns[:2]
    open_ = of_numbers(crp, drug, 0.1, -0.05, 0.25)
    assert open_.sign is None and open_.to_dict()["sign"] is None
    assert open_.text.startswith("Whether more crp goes with drug = yes is not known (")
    less = of_numbers(crp, drug, -0.1, -0.15, -0.05)
    assert less.sign == "-" and less.text.startswith("More crp goes with drug = no (")


def test_intervals_hold_as_often_as_they_say() -> None:
    """95 times in 100, up to first-order theory (0.04) and chance (1e-6); not at a third."""
    found = [told(measured(seed, 0.0, 1.0, schema()))[0] for seed in range(RUNS)]
    sure = [2 * abs(each.value) / (each.high - each.low) for each in found if each is not None]
    hits, few = (sum(each <= wide for each in sure) for wide in (1, 1 / 3))
    assert binomtest(hits, RUNS, 0.91, alternative="less").pvalue > 1e-6, hits / RUNS
    assert binomtest(few, RUNS, 0.91, alternative="less").pvalue < 1e-6, few / RUNS


def test_numbers_and_missing_cells() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=ROWS)
    y = -x + rng.normal(size=ROWS)
    columns = tuple(privet.Column(name=n, kind="numeric", bounds=(-9, 9)) for n in "xy")
    known = privet.Schema(name="n", columns=columns)
    numbers = {"x": x.tolist(), "y": y.tolist()}
    found = privet.discover(numbers, known, private=False).explain("x", "y").association
    assert found is not None and found.sign == "-" and found.measure == "correlation"
    assert found.text.startswith("More x goes with less y (correlation -0.7")
    holes = replace(schema().columns[2], missing="level", missing_value=None)
    open_ = replace(schema(), columns=(*schema().columns[:2], holes, schema().columns[3]))
    table = people(1, 0.08)
    table["death"] = [None if i % 3 else each for i, each in enumerate(table["death"])]
    saved = privet.discover(table, open_, method="pc", private=False).evidence
    (each,) = of_levels(saved, [("crp", "death")])
    levels = np.array([int(code) for code in table["crp"]])[::3]
    died = np.array(table["death"][::3]) == "yes"
    assert each is not None
    assert each.value == pytest.approx(np.corrcoef(levels, died)[0, 1], abs=1e-6)
