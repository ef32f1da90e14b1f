"""Reports as Binkyte et al. (2023) make them: the mechanisms are theirs, and the epsilons true."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from scipy.stats import chi2

from privet.bench import local_published as local
from privet.bench.local_published import (
    GEO_EACH,
    GEO_ROWS,
    KRR_EACH,
    KRR_ROWS,
    MECHANISMS,
    Rows,
    noised,
)
from privet.errors import MethodError
from privet.local.device import geometric
from privet.local.device.answers import Answers
from privet.schema.column import Column
from privet.schema.model import Schema

FALSE_ALARM = 1e-6


def numbers(columns: int, bins: int) -> Schema:
    made = (Column(name=f"x{i}", kind="numeric", bounds=(0, 1)) for i in range(columns))
    return local.binned(Schema(name="numbers", columns=tuple(made)), [bins] * columns)


@pytest.mark.parametrize(("sizes", "p_max"), [((4,), 0.4), ((3, 4), 0.3), ((3, 3, 2), 0.1)])
def test_rows_are_the_channel_that_is_written_down(sizes: tuple[int, ...], p_max: float) -> None:
    """Epsilon and p_max are those of the exact channel; a draw has its law, held against 20,000
    from one row at a false-alarm rate of 1e-6."""
    rows = Rows(sizes=sizes, log_p_max=log(p_max))
    exact = geometric.fixed(sizes, Fraction(str(p_max)))
    assert rows.epsilon == pytest.approx(exact.epsilon, abs=1e-9)
    planned = Rows.planned(sizes, success=None, epsilon=3)
    assert planned.success == pytest.approx(float(geometric.p_max_for(sizes, Fraction(3))))
    assert planned.epsilon == pytest.approx(3, abs=1e-9)
    row = np.array([size // 3 for size in sizes])
    drawn = rows.draw(np.tile(row, (20_000, 1)), np.random.default_rng(1))
    every = list(product(*map(range, sizes)))
    law = exact.matrix()[every.index(tuple(row))]
    seen = np.array([(drawn == y).all(axis=1).sum() for y in every])
    distance = ((seen - 20_000 * law) ** 2 / (20_000 * law)).sum()
    assert chi2.sf(distance, len(every) - 1) > FALSE_ALARM


def test_kinds_of_rows_stand_for_all_rows() -> None:
    sizes = (3, 4, 3)
    kinds, widths = local.kinds_of_rows(sizes)
    assert len(kinds) == 3 * 2
    every = np.array(list(product(*map(range, sizes))))
    near = np.minimum(every, np.array(sizes) - 1 - every)
    by_width = {(*sorted((a, c)), b) for a, b, c in near.tolist()}
    assert {(*sorted(k[:2]), k[2]) for k in kinds.tolist()} == by_width
    assert widths[0].tolist() == [3, 3, 4]
    with pytest.raises(MethodError, match="kinds"):
        local.kinds_of_rows((100, 99, 98, 97))


def test_levels_are_told_as_they_are() -> None:
    """Ten columns of ten bins at a success of one half: epsilons of 22, 23, 77 and 268."""
    schema = numbers(10, 10)
    codes = np.random.default_rng(1).integers(0, 10, (50, 10))
    found = {
        name: noised(codes, schema, name, np.random.default_rng(2), success=0.5)
        for name in MECHANISMS
    }
    epsilons = {name: round(each.epsilon, 1) for name, each in found.items()}
    assert epsilons == {KRR_EACH: 22.0, KRR_ROWS: 23.0, GEO_EACH: 77.0, GEO_ROWS: 267.6}
    for name, each in found.items():
        assert each.success == pytest.approx(0.5) and each.codes.shape == codes.shape
        equal = noised(codes, schema, name, np.random.default_rng(2), epsilon=8)
        assert equal.epsilon == pytest.approx(8, abs=1e-9) and equal.success < 0.5
        assert equal.codes.min() >= 0 and equal.codes.max() <= 9


@pytest.mark.parametrize("name", MECHANISMS)
def test_hardly_any_noise_leaves_the_answers(name: str) -> None:
    """At epsilon 50 per column nothing changes but with probability 100 exp(-50 / 2) < 1e-6."""
    schema = numbers(2, 3)
    codes = np.random.default_rng(1).integers(0, 3, (100, 2))
    assert 100 * 2 * exp(-25) < 1e-6
    found = noised(codes, schema, name, np.random.default_rng(3), epsilon=100)
    assert (found.codes == codes).all()


def test_a_success_below_chance_is_impossible() -> None:
    schema, codes = numbers(3, 5), np.zeros((4, 3), dtype=np.int64)
    rng = np.random.default_rng(1)
    for name in (KRR_EACH, GEO_EACH):
        with pytest.raises(MethodError, match="impossible"):
            noised(codes, schema, name, rng, success=0.1)
    for name in (KRR_ROWS, GEO_ROWS):
        assert noised(codes, schema, name, rng, success=0.1).success == pytest.approx(0.1)
    with pytest.raises(MethodError, match="no mechanism"):
        noised(codes, schema, "laplace", rng, success=0.5)


def test_bins_mean_what_they_mean_on_a_device() -> None:
    schema = numbers(1, 7)
    values = np.array([-1.0, 0.0, 0.1428, *schema.columns[0].cuts, 0.5, 0.99, 1.0, 3.0])
    codes = local.coded({"x0": values}, schema.columns)
    texts = [[repr(float(value)) for value in values]]
    assert (codes == Answers(schema.columns).of_columns(texts)).all()
    middles = local.as_data(codes, schema)
    assert (local.coded(middles, schema.columns) == codes).all()
    levels = Schema(name="l", columns=(Column(name="a", kind="ordinal", levels=("0", "1")),))
    ones = np.array([1, 0, 1], dtype=np.uint8)
    as_they_are = local.as_data(local.coded({"a": ones}, levels.columns), levels)
    assert as_they_are["a"].tolist() == [1, 0, 1]


def test_the_number_of_bins_follows_the_paper() -> None:
    assert local.bins_for(np.arange(5.0)) == 2
    assert local.bins_for(np.repeat(np.arange(400), 3)) == 40
    assert local.bins_for(np.arange(5000.0)) == 100


def test_a_direction_is_that_of_the_rows() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(0, 1, 2000)
    y = np.clip(x**3 + rng.normal(0, 0.02, 2000), 0, 1)
    schema = numbers(2, 50)
    codes = local.coded({"x0": x, "x1": y}, schema.columns)
    forward = local.direction(codes, schema, "reci")
    assert forward != 0 and local.direction(codes[:, ::-1], schema, "reci") == -forward
    assert local.direction(np.zeros((20, 2), dtype=np.int64), schema, "reci") == 0
