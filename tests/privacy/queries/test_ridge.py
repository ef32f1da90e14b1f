"""Regression and dependence without rows: kernels, and how far one row moves anything
(proofs/anm.md)."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations, product
from math import pi, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.errors import MethodError
from privet.privacy.queries.ridge import (
    FINE,
    GRID,
    LARGEST_RIDGE,
    LEAST_BANDWIDTH,
    LEAST_RIDGE,
    MOST_ROWS,
    WAVE,
    Kernel,
    _wave_table,
    concordance,
    cross_covariance,
    predictions,
    public_bandwidth,
    rank_product,
    residual_bound,
    solve,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
KERNELS = [Kernel.of(b, s) for b, s in ((LEAST_BANDWIDTH, 4.0), (0.1, 2.0), (0.5, 4.0), (4.0, 2.0))]
NARROW = Kernel.of(LEAST_BANDWIDTH, 2.0), Kernel.of(LEAST_BANDWIDTH, 4.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_make_a_kernel_between_0_and_1(kernel: Kernel) -> None:
    values = np.linspace(-2, 2, 301)
    features = kernel.features(values)
    apart = values[:, None] - values
    assert (
        np.abs(
            features @ features.T - np.cos(pi * apart / kernel.period) ** (2 * kernel.power)
        ).max()
        < 1e-12
    )
    assert kernel.weights.min() >= 0 and abs(kernel.weights.sum() - 1) < 1e-15
    near = np.abs(apart) < 3 * kernel.bandwidth
    gaussian = np.exp(-((apart / kernel.bandwidth) ** 2) / 2)
    assert np.abs(features @ features.T - gaussian)[near].max() < 0.02


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_and_kernel_change_no_faster_than_they_say(kernel: Kernel) -> None:
    values = np.linspace(-1, 1, 201)
    features = kernel.features(values)
    apart = np.abs(values[:, None] - values)
    moved = np.sqrt(((features[:, None] - features) ** 2).sum(axis=2))
    assert (moved <= apart / kernel.bandwidth + 1e-6).all()
    fine = np.linspace(0, kernel.period / 2, 20_001)
    steepest = np.abs(np.diff(np.cos(pi * fine / kernel.period) ** (2 * kernel.power))).max()
    assert 0.999 < steepest / (kernel.slope * fine[1]) <= 1 + 1e-9


def test_features_in_a_regression_are_whole_and_not_longer_than_1() -> None:
    for kernel in (Kernel.of(LEAST_BANDWIDTH, 2.0), Kernel.of(0.3, 2.0), Kernel.of(4.0, 2.0)):
        table = _wave_table(kernel)
        assert (table == np.trunc(table)).all()
        assert (table**2).sum(axis=1).max() <= WAVE**2
        assert (table**2).sum(axis=1).min() > 0.999 * WAVE**2
        assert table.shape[1] <= 133  # what the proof counts on
    assert WAVE**2 * MOST_ROWS <= 2**53 and WAVE * GRID * MOST_ROWS <= 2**53


def random_codes(rng: np.random.Generator, rows: int) -> Integers:
    """Rows with ties, constant columns and extreme values."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.integers(-GRID, GRID + 1, (rows, 2))
    if kind == 1:
        return rng.choice([-GRID, 0, GRID], (rows, 2))
    codes = rng.integers(-GRID // 8, GRID // 8, (rows, 2))
    codes[:, 1] = GRID
    return codes


@pytest.mark.parametrize("ridge", [LEAST_RIDGE, 0.03, 0.3, 3.0, LARGEST_RIDGE])
@pytest.mark.parametrize("bandwidth", [LEAST_BANDWIDTH, 0.3, 2.0])
def test_floating_point_adds_no_more_than_is_charged(ridge: float, bandwidth: float) -> None:
    """Held against the same system solved with 11 more bits."""
    rng, kernel = np.random.default_rng(1), Kernel.of(bandwidth, 2.0)
    table = _wave_table(kernel) / np.longdouble(WAVE)
    for rows in (1, 5, 400):
        codes = random_codes(rng, rows)
        fitted = predictions(codes[:, 0], codes[:, 1], kernel, ridge)
        features = table[codes[:, 0] + GRID]
        matrix = features.T @ features + np.eye(features.shape[1]) * np.longdouble(ridge) * rows / 2
        w = solve(matrix, features.T @ (codes[:, 1] / np.longdouble(GRID)))
        error = np.abs(np.clip(table @ w, -1, 1) * FINE - fitted).max()
        charged = 2 / ridge * (1 + ridge / 2) * (1 + 1 / sqrt(2 * ridge)) / 2**36 * FINE
        assert error <= 0.5 + charged / 4, "a fourth of what is charged"


def test_the_same_rows_give_the_same_bits() -> None:
    rng, kernel = np.random.default_rng(2), Kernel.of(0.1, 2.0)
    codes = random_codes(rng, 3000)
    first = predictions(codes[:, 0], codes[:, 1], kernel, 0.1)
    mixed = rng.permutation(codes)
    assert (predictions(mixed[:, 0], mixed[:, 1], kernel, 0.1) == first).all()


@pytest.mark.parametrize("ridge", [LEAST_RIDGE, 0.03, 0.3, 3.0, 30.0])
def test_no_row_moves_a_prediction_by_more_than_eta(ridge: float) -> None:
    """Hill climbing over tables and over the row that takes another's place."""
    rng, best = np.random.default_rng(3), 0.0
    kernel = Kernel.of(0.5, 2.0)

    def ratio(codes: Integers) -> float:
        """How far the last row in the place of the one before it moves predictions, in η."""
        first, second = codes[:-1], np.delete(codes, -2, axis=0)
        moved = [predictions(c[:, 0], c[:, 1], kernel, ridge) for c in (first, second)]
        return float(np.abs(moved[0] - moved[1]).max() / residual_bound(ridge, len(first)))

    for _ in range(6):
        codes = random_codes(rng, int(rng.choice([2, 3, 5, 30])))
        reached = ratio(codes)
        for _ in range(40):
            tried = codes.copy()
            tried[rng.integers(len(codes))] = random_codes(rng, 1)[0]
            if (found := ratio(tried)) >= reached:
                codes, reached = tried, found
        best = max(best, reached)
    assert best <= 1
    assert best > (0.2 if ridge >= 0.3 else 0), "not so loose that a mistake would hide"


def test_eta_is_that_of_the_proof() -> None:
    for ridge, rows in ((0.03, 1000), (3.0, 50), (1.0, 10**6)):
        eta = 4 * (1 + 1 / sqrt(2 * ridge)) / (ridge * rows)
        assert 1 <= residual_bound(ridge, rows) / FINE / min(eta, 2) < 1.01
    assert residual_bound(1.0, 0) == 2 * FINE


def concordant(x: Integers, y: Integers) -> int:
    signs = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    return int(signs.sum()) // 2


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 60])
def test_ranks_are_counted_right(rows: int) -> None:
    rng = np.random.default_rng(rows)
    for levels in (1, 3, 1000):
        x, y = rng.integers(-levels, levels, (2, rows))
        assert concordance(x, y) == concordant(x, y)
        a, b = (np.sign(v[:, None] - v).sum(axis=1) for v in (x, y))
        assert rank_product(x, y) == int((a * b).sum())


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_no_row_moves_ranks_by_more(size: int) -> None:
    """All tables on a grid of three by three values, so with ties (up to four rows), and all
    orders without ties: any row in the place of any other."""
    bounds = {concordance: 2 * (size - 1), rank_product: 2 * size * (size - 1)}
    points = np.array(list(product(range(0, 6, 2), repeat=2)))
    tied = combinations_with_replacement(points, size - 1) if size < 5 else ()
    bases = [np.array(b).reshape(-1, 2) for b in tied]
    places = np.arange(0, 2 * size - 2, 2)
    bases += [np.stack([places, p], axis=1) for p in map(np.array, permutations(places))]
    new = np.array(list(product(range(-1, 2 * size - 2), repeat=2)))
    for statistic, bound in bounds.items():
        most = 0
        for base in bases:
            values = [statistic(*np.vstack([base, row]).T) for row in new]
            most = max(most, max(values) - min(values))
        assert most == bound


def far_apart(rng: np.random.Generator, rows: int) -> Floats:
    return np.stack([rng.choice([-1.0, 0.0, 1.0], rows), rng.choice([-2.0, 0.0, 2.0], rows)], 1)


def covered(rows: np.ndarray) -> float:
    x, y = rows.T
    return float(cross_covariance(x, y, NARROW))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_no_row_moves_the_cross_covariance_by_more(size: int) -> None:
    points = np.array(list(product([-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0])))
    most = 0.0
    for base in combinations_with_replacement(points, size - 1):
        roots = [covered(np.vstack([base, row])) for row in points]
        most = max(most, max(roots) - min(roots))
    assert 2 * (size - 1) / size**2 * 0.999 < most <= sqrt(6) * (size - 1) / size**2


def test_no_climb_moves_the_cross_covariance_by_more() -> None:
    rng = np.random.default_rng(5)
    for size in (5, 9):
        best = 0.0
        for equal in range(8):
            rows, reached = far_apart(rng, size + 1), 0.0
            rows[:equal] = rows[0]
            for _ in range(150):
                tried = rows.copy()
                tried[rng.integers(len(rows))] = (
                    far_apart(rng, 1)[0] if rng.random() < 0.5 else rng.uniform(-1, 1, 2) * (1, 2)
                )
                roots = [covered(np.delete(tried, i, 0)) for i in (-1, -2)]
                if abs(roots[0] - roots[1]) > reached:
                    rows, reached = tried, abs(roots[0] - roots[1])
            best = max(best, reached)
        assert best * size**2 / (size - 1) <= sqrt(6)
        assert best * size**2 / (size - 1) > 1.9


def test_moved_residuals_move_the_cross_covariance_by_no_more() -> None:
    rng = np.random.default_rng(6)
    kernels = Kernel.of(0.5, 2.0), Kernel.of(0.5, 4.0)
    best, best_squared = 0.0, 0.0
    for _ in range(300):
        rows, eta = int(rng.integers(2, 12)), float(rng.choice([0.01, 0.1, 1.0]))
        x, r = rng.choice([-1.0, -0.4, 0.4, 1.0], rows), rng.uniform(-1, 1, rows)
        away = np.sign(x - rng.uniform(-1, 1)) if rng.random() < 0.7 else rng.uniform(-1, 1, rows)
        roots = [cross_covariance(x, r + eta * s * away, kernels) for s in (0, 1)]
        best = max(best, abs(roots[0] - roots[1]) / (eta / kernels[1].bandwidth))
        squared = abs(roots[0] ** 2 - roots[1] ** 2)
        best_squared = max(best_squared, squared / (kernels[1].slope * eta))
    assert 0.3 < best <= 1
    assert 0.3 < best_squared <= 1


def test_the_cross_covariance_is_the_root_of_hsic() -> None:
    rng = np.random.default_rng(8)
    kernels = Kernel.of(0.3, 2.0), Kernel.of(0.2, 4.0)
    for rows in (2, 9, 5000):
        x = rng.uniform(-1, 1, rows)
        r = np.clip(x**2 + rng.normal(size=rows) / 3, -2, 2)
        root = cross_covariance(x, r, kernels)
        assert root <= 0.5
        if rows < 100:
            gram = [
                np.cos(pi * (v[:, None] - v) / k.period) ** (2 * k.power)
                for k, v in zip(kernels, (x, r), strict=True)
            ]
            centre = np.eye(rows) - 1 / rows
            trace = np.trace(gram[0] @ centre @ gram[1] @ centre)
            assert abs(root - sqrt(max(trace, 0)) / rows) < 2**-36
    assert cross_covariance(x[:1], r[:1], kernels) == 0


@pytest.mark.parametrize("value", ["median", "silverman", 0.01, 9.0, float("nan")])
def test_a_bandwidth_from_the_rows_is_refused(value: float | str) -> None:
    with pytest.raises(MethodError, match="half a column's range"):
        public_bandwidth(value)
    assert public_bandwidth(0.1) == 0.1
