"""The spline code length, against rows and regressions written out slowly."""

from __future__ import annotations

from itertools import combinations
from math import log

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.scores.spline_mdl import SHARES, SplineMoments, spline_mdl
from privet.search.peri import peri
from privet.search.regret import Scored
from tests.search.test_pc import no_knowledge

Floats = NDArray[np.float64]


def standardised(numbers: Floats) -> Floats:
    return np.asarray((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))


def rows_of(seed: int, count: int = 400) -> Floats:
    """a --> c <-- b with a product, c --> d with a bend; e is apart."""
    rng = np.random.default_rng(seed)
    a, b, e = rng.normal(size=(3, count))
    c = a * b + np.maximum(a, 0.2) + 0.3 * rng.normal(size=count)
    d = np.abs(c) + 0.3 * rng.normal(size=count)
    return standardised(np.stack([a, b, c, d, e], axis=1))


def candidates(numbers: Floats, knots: Floats, parents: list[int]) -> list[Floats]:
    out = []
    for j in parents:
        x = numbers[:, j]
        out += [x, *(np.maximum(x - knot, 0) for knot in knots[j])]
    for i, j in combinations(parents, 2):
        x, y = numbers[:, i], numbers[:, j]
        out += [x * y, x * np.maximum(y, 0), np.maximum(x, 0) * y]
        out += [np.maximum(x, 0) * np.maximum(y, 0)]
    return out


def slowly(numbers: Floats, knots: Floats, child: int, parents: list[int]) -> float:
    """Regressions on rows, a term at a time."""
    rows, columns = numbers.shape
    left = candidates(numbers, knots, parents)
    price = 16.5 * log(2) + log(len(left)) if left else 0.0
    chosen = [np.ones(rows)]

    def length(terms: list[Floats]) -> float:
        design = np.stack(terms, axis=1)
        fit = design @ np.linalg.lstsq(design, numbers[:, child], rcond=None)[0]
        return rows / 2 * log(float(np.mean((numbers[:, child] - fit) ** 2)))

    while left:
        best = min(range(len(left)), key=lambda at: length([*chosen, left[at]]))
        if length(chosen) - length([*chosen, left[best]]) <= price:
            break
        chosen.append(left.pop(best))
    count = len(parents)
    terms = price * (len(chosen) - 1)
    return -(length(chosen) + terms + log(max(count, 1)) + count * log(columns))


@pytest.mark.parametrize("seed", range(2))
def test_the_score_is_that_of_regressions_on_rows(seed: int) -> None:
    numbers = rows_of(seed)
    knots = np.quantile(numbers, SHARES, axis=0).T
    local = spline_mdl(SplineMoments.of(numbers))
    for child in range(5):
        others = [v for v in range(5) if v != child]
        for width in range(4):
            sets = [list(s) for s in combinations(others, width)][::2]
            found = local(child, np.array(sets, dtype=np.intp).reshape(len(sets), width))
            expected = [slowly(numbers, knots, child, parents) for parents in sets]
            assert found == pytest.approx(expected, abs=1e-6)


def test_given_knots_are_used() -> None:
    numbers = rows_of(1)
    knots = np.tile([-1.0, 1.5], (5, 1))
    local = spline_mdl(SplineMoments.of(numbers, knots))
    found = local(3, np.array([[2], [4]]))
    assert found == pytest.approx([slowly(numbers, knots, 3, [v]) for v in (2, 4)], abs=1e-6)
    assert found[0] != pytest.approx(spline_mdl(SplineMoments.of(numbers))(3, np.array([[2]]))[0])


def test_a_term_costs_the_same_whatever_the_number_of_rows() -> None:
    """Too few rows for any term: what is left are the names of the parents."""
    local = spline_mdl(SplineMoments.of(rows_of(3, 8)))
    assert local(4, np.array([[0, 1, 2]]))[0] == pytest.approx(-log(3) - 3 * log(5))
    assert local(4, np.zeros((1, 0), dtype=np.intp))[0] == pytest.approx(0.0)


def test_rows_that_are_copies_of_others_break_nothing() -> None:
    numbers = rows_of(4)
    numbers[:, 1] = numbers[:, 0]
    found = spline_mdl(SplineMoments.of(numbers))(2, np.array([[0, 1], [0, 4]]))
    assert np.isfinite(found).all()
    same = spline_mdl(SplineMoments.of(numbers))(1, np.array([[0]]))
    assert np.isfinite(same).all() and same[0] > 1000


def test_a_curve_is_shorter_the_right_way() -> None:
    """y = x² + noise of deviation 0.1: x tells y, y does not tell the sign of x. By thousands of
    nats, so no draw of the rows can turn it."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=3000)
    local = spline_mdl(
        SplineMoments.of(standardised(np.stack([x, x**2 + 0.1 * rng.normal(size=3000)], axis=1)))
    )
    nothing, other = np.zeros((1, 0), dtype=np.intp), np.array([[1], [0]])
    forward = local(0, nothing)[0] + local(1, other[1:])[0]
    backward = local(1, nothing)[0] + local(0, other[:1])[0]
    assert forward > backward + 1000


def test_sites_find_curves_products_and_their_directions() -> None:
    """A false edge must save its code length of 15 nats or more at three sites at once: a chance
    below 1e-15 for each. The true ones save hundreds."""
    truth = np.zeros((5, 5), dtype=bool)
    truth[[0, 1], 2] = truth[2, 3] = True
    sites = [Scored(spline_mdl(SplineMoments.of(rows_of(10 + i, 4000)))) for i in range(3)]
    for found in (peri(sites, no_knowledge(5)), peri(sites, no_knowledge(5), objective="sum")):
        assert np.array_equal(found.matrix, truth)
