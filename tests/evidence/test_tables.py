"""Evidence: tables come back exactly, noise has the stated covariance, labels do not matter."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import isqrt, prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2 as chi2_law

from privet.errors import EvidenceError
from privet.evidence.tables import TableEvidence, components_query
from privet.independence import chi2
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.mechanisms import Exact, Gaussian
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import GRID, contrasts, design_inverse
from privet.privacy.queries.tables import Components
from privet.schema.column import Column, Kind
from privet.schema.model import Adjacency, Schema
from tests.helpers.stacks import stack

FALSE_ALARM = 1e-6
KINDS: tuple[Kind, ...] = ("categorical", "ordinal", "categorical", "ordinal", "categorical")
LEVELS = (2, 3, 5, 7, 4)


def make_schema(levels: tuple[int, ...] = LEVELS) -> Schema:
    return Schema(
        name="s",
        columns=tuple(
            Column(name=f"c{i}", kind=KINDS[i % 5], levels=tuple(f"l{j}" for j in range(k)))
            for i, k in enumerate(levels)
        ),
    )


def rows_of(schema: Schema, table: NDArray[Any]) -> MemoryRows:
    codes = {name: table[:, i].astype(np.uint16) for i, name in enumerate(schema.names)}
    return MemoryRows(schema, lambda: codes, dict)


def subsets(size: int, largest: int) -> list[tuple[int, ...]]:
    return [s for order in range(largest + 1) for s in combinations(range(size), order)]


def exact_releases(schema: Schema, rows: MemoryRows, largest: int) -> list[Release]:
    releases = []
    for order in range(largest + 1):
        sets = [s for s in subsets(len(schema.columns), largest) if len(s) == order]
        query = components_query(schema.names, sets)
        values, variance = Exact().perturb(query.evaluate(rows, schema))
        releases.append(Release(query=query, values=values, variance=variance, mechanism="exact"))
    return releases


@pytest.fixture(scope="module")
def whole() -> tuple[Schema, MemoryRows, TableEvidence]:
    """Five columns, 3,000 rows, all components up to order 4, no noise."""
    schema, rng = make_schema(), np.random.default_rng(1)
    table = np.stack([rng.integers(k, size=3000) for k in LEVELS], axis=1)
    table[:, 2] = (table[:, 0] + table[:, 1] + table[:, 2]) % 5
    rows = rows_of(schema, table)
    return (
        schema,
        rows,
        TableEvidence.from_releases(schema, schema.names, exact_releases(schema, rows, 4)),
    )


@pytest.mark.parametrize("members", [s for s in subsets(5, 4) if s], ids=str)
def test_tables_come_back_exactly(
    members: tuple[int, ...], whole: tuple[Schema, MemoryRows, TableEvidence]
) -> None:
    """To the nearest integer nothing is lost, whatever the order of the columns asked for."""
    schema, rows, evidence = whole
    for order in permutations(members):
        counts = rows.counts(tuple(schema.names[i] for i in order))
        found = evidence.tables(np.array([order], dtype=np.intp))[0]
        np.testing.assert_allclose(found, counts, atol=1e-6)


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("k", range(2, 34))
def test_the_design_is_inverted_as_it_is(k: int, ordered: bool) -> None:
    """The inverse is that of the rounded contrasts: the rounding is no error."""
    design = np.vstack([np.ones(k, dtype=np.int64), contrasts(k, ordered)])
    np.testing.assert_allclose(design_inverse(k, ordered) @ design, np.eye(k), atol=1e-11)
    ideal = design[1:] / GRID
    assert np.abs(ideal @ ideal.T - np.eye(k - 1)).max() < 0.01
    assert np.abs(ideal.sum(axis=1)).max() <= k / 2 / GRID


@pytest.mark.parametrize("k", range(2, 34))
def test_ordered_contrasts_are_those_of_exact_arithmetic(k: int) -> None:
    """So that evidence saved by one machine means the same on another."""
    at = [Fraction(2 * i - (k - 1)) for i in range(k)]
    rows = [[Fraction(1)] * k]
    for _ in range(k - 1):  # three-term recurrence of the discrete orthogonal polynomials
        last, before = rows[-1], rows[-2] if len(rows) > 1 else [Fraction(0)] * k
        norm = sum(b * b for b in before) or Fraction(1)
        back = sum(x * a * b for x, a, b in zip(at, last, before, strict=True)) / norm
        rows.append([x * a - back * b for x, a, b in zip(at, last, before, strict=True)])

    def rounded(value: Fraction, norm: Fraction) -> int:
        square = 4 * GRID**2 * value**2 / norm
        size = (isqrt(square.numerator // square.denominator) + 1) // 2
        return size if value >= 0 else -size

    norms = [sum((u * u for u in row), Fraction(0)) for row in rows]
    expected = [[rounded(v, norms[i]) for v in row] for i, row in enumerate(rows)][1:]
    assert contrasts(k, True).tolist() == expected


def test_the_first_ordered_contrast_is_the_trend() -> None:
    for k in range(2, 34):
        trend = contrasts(k, True)[0]
        assert (np.diff(trend) > 0).all() and trend.tolist() == (-trend[::-1]).tolist()


def test_two_measurements_are_combined_by_inverse_variance() -> None:
    schema = make_schema((2, 3))
    query = Components(sets=(("c0", "c1"),))

    def release(values: list[int], variance: float, sets: Any = query) -> Release:
        return Release(query=sets, values=np.array(values), variance=variance, mechanism="")

    empty = TableEvidence.empty(schema, schema.names)
    both = empty.add(release([10, 20], 4.0)).add(release([40, 50], 12.0))
    blocks, variance = both.blocks(np.array([[0, 1]], dtype=np.intp))
    assert blocks.ravel().tolist() == [17.5, 27.5] and variance.tolist() == [3.0]
    swapped = empty.add(release([40, 50], 12.0)).add(release([10, 20], 4.0))
    np.testing.assert_allclose(swapped.blocks(np.array([[1, 0]]))[0].ravel(), [17.5, 27.5])
    surely = both.add(release([7, 8], 0.0)).add(release([100, 100], 9.0))
    blocks, variance = surely.blocks(np.array([[0, 1]], dtype=np.intp))
    assert blocks.ravel().tolist() == [7.0, 8.0] and variance.tolist() == [0.0]
    rows = Components(sets=((),))
    total = empty.add(release([100], 4.0, rows)).add(release([140], 12.0, rows))
    assert float(total.rows) == 110.0 and total.rows_variance == 3.0


def test_a_second_release_keeps_what_only_the_first_measured() -> None:
    schema, rng = make_schema((2, 3, 4)), np.random.default_rng(2)
    table = np.stack([rng.integers(k, size=500) for k in (2, 3, 4)], axis=1)
    rows = rows_of(schema, table)
    releases = exact_releases(schema, rows, 2)
    again = replace(
        releases[2],
        query=Components(sets=(("c1", "c2"),)),
        values=Components(sets=(("c1", "c2"),)).evaluate(rows, schema),
    )
    once = TableEvidence.from_releases(schema, schema.names, releases)
    twice = once.add(again)
    assert once.members(2) == twice.members(2) == [(0, 1), (0, 2), (1, 2)]
    for members in twice.members(2):
        sets = np.array([members], dtype=np.intp)
        np.testing.assert_allclose(once.tables(sets), twice.tables(sets))
    assert twice.measured(np.array([[2, 1], [0, 2]])).all()
    assert not twice.measured(np.array([[0, 1, 2]])).any()


def test_sets_out_of_order_are_refused() -> None:
    schema = make_schema((2, 3))
    query = Components(sets=(("c1", "c0"),))
    release = Release(query=query, values=np.array([1, 2]), variance=1.0, mechanism="")
    with pytest.raises(EvidenceError, match="order"):
        TableEvidence.empty(schema, schema.names).add(release)


def test_a_public_number_of_rows_needs_no_release() -> None:
    schema = replace(make_schema((2, 2)), adjacency=Adjacency.REPLACE_ONE, rows=70)
    evidence = TableEvidence.empty(schema, schema.names)
    assert float(evidence.rows) == 70 and evidence.rows_variance == 0


# --- noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "ordered"), [((2, 3), (False, True)), ((2, 3, 2), (False, False, False))]
)
def test_the_noise_of_a_table_has_the_stated_covariance(
    levels: tuple[int, ...], ordered: tuple[bool, ...]
) -> None:
    """Σ = Σ_A s_A² ⊗ (B_i[:,1:] B_i[:,1:]' for i in A, else B_i[:,0] B_i[:,0]').

    If it is right, e' Σ⁻¹ e is chi-square and every variance ratio is near one; both within
    limits that fail by chance once in a million.
    """
    rng, draws, size = np.random.default_rng(3), 20_000, prod(levels)
    noise = {order: (30.0 * GRID**order) ** 2 * (1 + order) for order in range(len(levels) + 1)}
    evidence = stack(np.full((draws, *levels), 1000), noise, rng, ordered=ordered)
    every = np.arange(len(levels), dtype=np.intp)[None]
    errors = evidence.tables(every).reshape(draws, size) - 1000.0
    covariance = np.zeros((size, size))
    for members in subsets(len(levels), len(levels)):
        factor: NDArray[np.floating[Any]] = np.ones((1, 1))
        for i, (k, straight) in enumerate(zip(levels, ordered, strict=True)):
            inverse = design_inverse(k, straight)
            part = inverse[:, 1:] if i in members else inverse[:, :1]
            factor = np.kron(factor, part @ part.T)
        covariance += noise[len(members)] * factor
    total = float((errors @ np.linalg.inv(covariance) * errors).sum())
    within(total, draws * size)
    for direction in (*np.linalg.eigh(covariance)[1].T, *np.eye(size)):
        seen = float(((errors @ direction) ** 2).sum())
        within(seen / float(direction @ covariance @ direction), draws)


def within(statistic: float, freedom: int) -> None:
    low, high = chi2_law.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], freedom)
    assert low <= statistic <= high, (statistic / freedom, low / freedom, high / freedom)


def test_real_releases_have_the_variance_that_they_state() -> None:
    """Through the mechanism: many releases of one component, against their stated variance."""
    schema = make_schema((2, 3))
    rows = rows_of(schema, np.zeros((10, 2)))
    query = Components(sets=(("c0", "c1"),))
    exact = query.evaluate(rows, schema)
    many = np.tile(exact, 10_000)
    noisy, variance = Gaussian(rho=Fraction(1, 10)).perturb(many, query.l2_squared(schema))
    within(float(((noisy - many).astype(float) ** 2).sum()) / variance, len(many))
    assert variance == pytest.approx(query.l2_squared(schema) * 5, rel=1e-12)


# --- labels ----------------------------------------------------------------------------------


def renamed(
    tables: NDArray[Any], columns: tuple[int, ...], levels: list[NDArray[Any]]
) -> NDArray[Any]:
    """The same tables with the columns, and the levels of each column, in another order."""
    for axis, order in enumerate(levels):
        tables = np.take(tables, order, axis=axis + 1)
    return tables.transpose(0, *(i + 1 for i in columns))


@pytest.mark.parametrize("test", [chi2.pooled, chi2.full], ids=["pooled", "full"])
@pytest.mark.parametrize("noisy", [False, True])
def test_names_and_order_of_columns_and_levels_do_not_matter(noisy: bool, test: Any) -> None:
    """Evidence is a noisy table in disguise: the same noisy table under other labels gives the
    same statistic for every question.

    The noise travels along: the noisy components are turned into a table, which is relabelled
    and measured again without further noise; the stated variances are the same, as all
    components of one order have the same noise.
    """
    rng, levels = np.random.default_rng(4), (2, 3, 4, 2)
    close = 2e-3 if noisy else 1e-5  # contrasts are rounded, so levels differ a little in noise
    drawn = rng.multinomial(20_000, rng.dirichlet(np.full(prod(levels), 3.0)), size=6)
    noise = {o: (20.0 * GRID**o) ** 2 * noisy for o in range(5)}
    evidence = stack(drawn.reshape(-1, *levels), noise, rng)
    every = np.arange(4, dtype=np.intp)[None]
    tables = evidence.tables(every).reshape(-1, *levels)
    for _ in range(3):
        columns = tuple(int(i) for i in rng.permutation(4))
        other = renamed(tables, columns, [rng.permutation(k) for k in levels])
        again = with_variances(stack(other, dict.fromkeys(range(5), 0.0), rng), noise)
        place = {old: new for new, old in enumerate(columns)}
        for size in (2, 3, 4):
            for question in permutations(range(4), size):
                asked = np.array([question], dtype=np.intp)
                moved = np.array([[place[i] for i in question]], dtype=np.intp)
                before, after = test(evidence, asked), test(again, moved)
                np.testing.assert_allclose(after.statistic, before.statistic, close, 1e-3)
                np.testing.assert_allclose(after.log_bayes, before.log_bayes, close, 1e-3)
                assert (after.freedom == before.freedom).all()


def with_variances(evidence: TableEvidence, noise: dict[int, float]) -> TableEvidence:
    layers = {
        order: replace(layer, variances=np.full(len(layer.keys), noise[order]))
        for order, layer in evidence.layers.items()
    }
    return replace(evidence, layers=layers, rows_variance=noise[0])


@pytest.mark.parametrize("test", [chi2.pooled, chi2.full], ids=["pooled", "full"])
def test_x_and_y_and_the_order_of_z_can_be_exchanged(test: Any) -> None:
    rng, levels = np.random.default_rng(5), (3, 3, 2, 2)
    drawn = rng.multinomial(20_000, rng.dirichlet(np.full(prod(levels), 3.0)), size=6)
    noise = {o: (20.0 * GRID**o) ** 2 for o in range(5)}
    evidence = stack(drawn.reshape(-1, *levels), noise, rng)
    base = test(evidence, np.array([[0, 1, 2, 3]], dtype=np.intp))
    for question in [(1, 0, 2, 3), (0, 1, 3, 2), (1, 0, 3, 2)]:
        other = test(evidence, np.array([question], dtype=np.intp))
        np.testing.assert_allclose(other.statistic, base.statistic, rtol=1e-9)
        np.testing.assert_allclose(other.log_bayes, base.log_bayes, rtol=1e-9, atol=1e-9)


def test_many_questions_at_once_are_answered_like_one_by_one() -> None:
    rng, levels = np.random.default_rng(6), (2, 3, 4, 2, 3)
    drawn = rng.multinomial(20_000, rng.dirichlet(np.full(prod(levels), 3.0)), size=4)
    noise = {o: (20.0 * GRID**o) ** 2 for o in range(5)}
    evidence = stack(drawn.reshape(-1, *levels), noise, rng)
    for size, test in ((2, chi2.pooled), (3, chi2.full), (4, chi2.pooled)):
        asked = np.array(list(permutations(range(5), size)), dtype=np.intp)
        together = test(evidence, asked).statistic
        for at in range(0, len(asked), 7):
            alone = test(evidence, asked[at : at + 1]).statistic[:, 0]
            np.testing.assert_allclose(together[:, at], alone, rtol=1e-9)
