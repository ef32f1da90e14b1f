"""Chi-square tests on evidence: Pearson's without noise, and of the right size with it.

Size. Each cell draws tables in which x ⊥ y | Z holds, with the noise of a whole interaction-pc
run on ten such columns (100,000 rows, delta 1e-6), and counts p-values below 0.05 and 0.01. The
count must lie within the exact binomial limits (1e-6) of a stated band: that of the ideal test,
except where strata or expected counts are so small that Pearson's own approximation fails. The
Bayes factor, on which the search decides, is an e-value in every cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import inf, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, chi2_contingency
from scipy.stats import chi2 as chi2_law

from privet.evidence.tables import TableEvidence
from privet.independence import chi2
from privet.independence.tables import TableJudge
from privet.methods.sources import tables as measured
from privet.privacy.ledger.conversion import rho_for
from privet.privacy.mechanisms import Gaussian
from privet.privacy.queries.contrasts import GRID, design_inverse
from privet.privacy.queries.tables import Components
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.stacks import Noise, Tables, stack

FALSE_ALARM = 1e-6
ROWS = 100_000
NO_NOISE = dict.fromkeys(range(5), 0.0)
TESTS: dict[str, Callable[[TableEvidence, Any], chi2.Tested]] = {
    "pooled": chi2.pooled,
    "full": chi2.full,
}


def ask(test: str, evidence: TableEvidence) -> chi2.Tested:
    """x = column 0, y = column 1, Z = the others; one answer per table of the stack."""
    every = TESTS[test](evidence, np.arange(len(evidence.names), dtype=np.intp)[None])
    return chi2.Tested(**{part: answers[:, 0] for part, answers in vars(every).items()})


# --- without noise: Pearson ---------------------------------------------------------------


def pearson(table: NDArray[Any]) -> tuple[float, int]:
    """Statistic and degrees of freedom, summed over strata with at least ten rows."""
    statistic, freedom = 0.0, 0
    for stratum in np.moveaxis(table.reshape(*table.shape[:2], -1), 2, 0):
        seen = stratum[np.ix_(stratum.any(axis=1), stratum.any(axis=0))]
        if stratum.sum() >= 10 and min(seen.shape) > 1:
            found = chi2_contingency(seen, correction=False)
            statistic, freedom = statistic + found.statistic, freedom + found.dof
    return statistic, freedom


SHAPES = [(2, 2), (3, 4), (5, 2), (2, 2, 2), (4, 3, 3), (2, 3, 5), (2, 2, 2, 3), (3, 3, 2, 2)]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_without_noise_it_is_pearsons_test(shape: tuple[int, ...], ordered: bool) -> None:
    rng = np.random.default_rng(len(shape))
    tables = rng.multinomial(4000, rng.dirichlet(np.full(np.prod(shape), 2.0)), size=20)
    tables = tables.reshape(-1, *shape)
    evidence = stack(tables, NO_NOISE, rng, ordered=(ordered,) * len(shape))
    found = ask("full" if len(shape) > 2 else "pooled", evidence)
    for at, table in enumerate(tables):
        statistic, freedom = pearson(table)
        assert found.freedom[at] == freedom
        assert found.statistic[at] == pytest.approx(statistic, rel=1e-5)
        assert found.p_value[at] == pytest.approx(chi2_law.sf(statistic, freedom), rel=1e-4)
    if len(shape) == 2:
        np.testing.assert_allclose(ask("full", evidence).statistic, found.statistic, rtol=1e-9)


def test_without_noise_the_pooled_test_of_two_binary_columns_is_cochrans() -> None:
    rng = np.random.default_rng(5)
    tables = rng.multinomial(3000, rng.dirichlet(np.full(24, 3.0)), size=20).reshape(-1, 2, 2, 2, 3)
    found = ask("pooled", stack(tables, NO_NOISE, rng))
    t = tables.reshape(-1, 2, 2, 6).astype(float)
    n, row, col = t.sum(axis=(1, 2)), t.sum(axis=2)[:, 0], t.sum(axis=1)[:, 0]
    difference = (t[:, 0, 0] - row * col / n).sum(axis=1)
    variance = (row * (n - row) * col * (n - col) / n**3).sum(axis=1)
    np.testing.assert_allclose(found.statistic, difference**2 / variance, rtol=1e-6)
    assert (found.freedom == 1).all()


@pytest.mark.parametrize("test", TESTS)
def test_levels_never_seen_take_degrees_of_freedom_away(test: str) -> None:
    rng = np.random.default_rng(6)
    tables = rng.multinomial(3000, np.full(24, 1 / 24), size=5).reshape(-1, 3, 4, 2)
    for at, unseen in enumerate([(0,), (2,), (1,), (2,), (0,)]):
        tables[at, list(unseen)] = 0
    found = ask(test, stack(tables, NO_NOISE, rng))
    strata = 2 if test == "full" else 1
    assert (found.freedom == strata * 1 * 3).all()
    if test == "full":
        expected = [pearson(table)[0] for table in tables]
        np.testing.assert_allclose(found.statistic, expected, rtol=1e-5)


def test_strata_with_few_rows_are_left_out_with_their_degrees_of_freedom() -> None:
    rng = np.random.default_rng(7)
    tables = rng.multinomial(900, np.full(12, 1 / 12), size=6).reshape(-1, 2, 2, 3)
    tables[:, :, :, 1] = [[2, 3], [4, 0]]
    found = ask("full", stack(tables, NO_NOISE, rng))
    assert (found.freedom == 2).all()
    np.testing.assert_allclose(found.statistic, [pearson(t)[0] for t in tables], rtol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("test", TESTS)
def test_almost_no_rows_are_no_evidence(test: str, rows: int) -> None:
    """Nothing to learn is an answer (p = 1 or so), never an error or a NaN."""
    rng = np.random.default_rng(8)
    for shape, noise in product([(2, 2), (3, 2, 2)], [NO_NOISE, run_noise(1.0, (2, 3))]):
        tables = rng.multinomial(rows, np.full(np.prod(shape), 1 / np.prod(shape)), size=200)
        found = ask(test, stack(tables.reshape(-1, *shape), noise, rng))
        for numbers in vars(found).values():
            assert np.isfinite(numbers).all()
        assert (found.log_bayes < log(10)).mean() > 0.95


# --- with noise: the formula, written out ----------------------------------------------------


def written_out(table: NDArray[Any], noise: Noise) -> tuple[float, float]:
    """Full and pooled statistic with the covariance of the whole table's noise formed as it is
    defined: Σ = Σ_A s_A² ⊗_i (B_i[:,1:] B_i[:,1:]' if i in A else B_i[:,0] B_i[:,0]')."""
    inverses = [design_inverse(k, False) for k in table.shape]
    sigma = np.zeros((table.size, table.size))
    for order in range(table.ndim + 1):
        for members in combinations(range(table.ndim), order):
            factor: NDArray[np.floating[Any]] = np.ones((1, 1))
            for i, b in enumerate(inverses):
                part = b[:, 1:] if i in members else b[:, :1]
                factor = np.kron(factor, part @ part.T)
            sigma += noise[order] * factor
    k_x, k_y = table.shape[:2]
    strata = np.moveaxis(table.reshape(k_x, k_y, -1), 2, 0)
    count, m = len(strata), (k_x - 1) * (k_y - 1)
    d, sampling = np.zeros((count, m)), np.zeros((count * m, count * m))
    linear = np.zeros((count, m, k_x, k_y, count))
    for z, stratum in enumerate(strata):
        n = stratum.sum()
        p, q = stratum.sum(axis=1) / n, stratum.sum(axis=0) / n
        d[z] = (stratum - n * np.outer(p, q))[:-1, :-1].ravel()
        spread = n * np.kron(np.diag(p) - np.outer(p, p), np.diag(q) - np.outer(q, q))
        kept = np.arange(k_x * k_y).reshape(k_x, k_y)[:-1, :-1].ravel()
        block = slice(z * m, (z + 1) * m)
        sampling[block, block] = spread[np.ix_(kept, kept)]
        left, right = (np.eye(len(v)) - np.outer(v, np.ones(len(v))) for v in (p, q))
        linear[z, :, :, :, z] = np.kron(left[:-1], right[:-1]).reshape(m, k_x, k_y)
    whole = linear.reshape(count * m, -1)
    covariance = sampling + whole @ sigma @ whole.T
    add_up = np.tile(np.eye(m), count)
    pooled_d = add_up @ d.ravel()
    return (
        float(d.ravel() @ np.linalg.solve(covariance, d.ravel())),
        float(pooled_d @ np.linalg.solve(add_up @ covariance @ add_up.T, pooled_d)),
    )


@pytest.mark.parametrize("loud", [None, 0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (2, 2, 2), (3, 2, 3), (2, 3, 2, 2)], ids=str)
def test_with_noise_the_statistic_is_the_formula_written_out(
    shape: tuple[int, ...], loud: int | None
) -> None:
    """One order of components much noisier than the others, in turn, so that no term can hide."""
    rng = np.random.default_rng(13)
    drawn = rng.multinomial(100_000, rng.dirichlet(np.full(np.prod(shape), 8.0)), size=8)
    noise = {o: (GRID**o * (300.0 if o == loud else 30.0)) ** 2 for o in range(5)}
    evidence = stack(drawn.reshape(-1, *shape), noise, rng)
    every = np.arange(len(shape), dtype=np.intp)[None]
    tables = evidence.tables(every).reshape(-1, *shape)
    expected = np.array([written_out(table, noise) for table in tables])
    np.testing.assert_allclose(ask("full", evidence).statistic, expected[:, 0], rtol=1e-5)
    np.testing.assert_allclose(ask("pooled", evidence).statistic, expected[:, 1], rtol=1e-5)


# --- with the noise of a run: size ----------------------------------------------------------


@lru_cache
def run_noise(epsilon: float, levels: tuple[int, ...]) -> Noise:
    """Noise variances of interaction-pc on ten columns with these numbers of levels, when the
    second half measures all triples (which is the noisiest that it can be)."""
    if epsilon == inf:
        return NO_NOISE
    columns = tuple(
        Column(
            name=f"c{i}",
            kind="categorical",
            levels=tuple(f"l{j}" for j in range(levels[i % len(levels)])),
        )
        for i in range(10)
    )
    schema, rho = Schema(name="s", columns=columns), rho_for(epsilon, 1e-6, "gdp")
    precision: dict[int, float] = {}

    def release(query: Components, share: Fraction) -> None:
        order = len(query.sets[0])
        variance = Gaussian(rho=rho * share).scale(query.l2_squared(schema)) ** 2
        precision[order] = precision.get(order, 0.0) + 1 / variance

    curator: Any = SimpleNamespace(
        schema=schema,
        private=True,
        pure=False,
        releases=lambda asked: tuple(release(*one) for one in asked),
    )
    for orders, share in (((0, 1, 2), measured.FIRST_SHARE), ((1, 2, 3), 1 - measured.FIRST_SHARE)):
        sets = [members for order in orders for members in combinations(range(10), order)]
        measured._release(curator, sets, share)
    return {order: 1 / total for order, total in precision.items()}


def test_the_noise_of_a_run_is_what_was_planned() -> None:
    """In unit scale, binary columns: 1 + 10/2 + 45/4 = 17.25 for half of rho."""
    noise, rho = run_noise(1.0, (2,)), float(rho_for(1.0, 1e-6, "gdp"))
    assert noise[0] == pytest.approx(17.25 / rho, rel=0.01)
    assert noise[3] / 2**60 == pytest.approx((10 / 2 + 45 / 4 + 120 / 8) / rho, rel=0.01)


@dataclass(frozen=True)
class Band:
    """The shares of p-values below 0.05 and below 0.01 that are accepted."""

    five: tuple[float, float]
    one: tuple[float, float]


EXACT = Band((0.047, 0.053), (0.009, 0.011))
# Two rare conditioning columns make strata of 10 and 500 rows, where the noise at epsilon 0.1 is
# about 100 rows: the shares in them are guesses.
NEAR = Band((0.042, 0.055), (0.008, 0.012))
# Steep margins and rare strata: expected counts below one row. Pearson's test itself (no noise)
# rejects up to 0.077 and 0.035 there, the pooled test at epsilon 0.1 up to 0.084 and 0.022.
ROUGH = Band((0.050, 0.085), (0.010, 0.036))


@dataclass(frozen=True)
class Cell:
    levels: tuple[int, ...]
    epsilon: float
    rare: bool
    test: str
    steep: float = 0.0

    @property
    def band(self) -> Band:
        if self.steep:
            return ROUGH
        return NEAR if self.rare and self.epsilon < 1 and len(self.levels) == 4 else EXACT

    @property
    def replicates(self) -> int:
        return 20_000 if max(self.levels) == 2 else 10_000

    def __str__(self) -> str:
        words = [self.test, "x".join(map(str, self.levels)), f"eps{self.epsilon:g}"]
        return "-".join(words + ["rare"] * self.rare + ["steep"] * bool(self.steep))


def null_tables(
    cell: Cell, rng: np.random.Generator, strength: float = 0.0, count: int | None = None
) -> Tables:
    """Tables in which x ⊥ y | Z, both strongly driven by Z; ``strength`` > 0 plants dependence.

    ``rare``: the last level of each conditioning column has probability 0.01. ``steep``: each
    level of x and y is so many times as likely as the one before.
    """
    k_x, k_y, *k_z = cell.levels
    ranks = [[(np.arange(k) + z) % k for k in (k_x, k_y)] for z in range(int(np.prod(k_z)))]
    given = np.ones(1)
    for k in k_z:
        shares = np.full(k, 1 / k)
        if cell.rare:
            shares = np.append(np.full(k - 1, 0.99 / (k - 1)), 0.01)
        given = np.multiply.outer(given, shares).ravel()
    joint = np.zeros((k_x, k_y, len(given)))
    for z, weight in enumerate(given):
        p, q = (cell.steep**rank if cell.steep else 1.0 + 3 * rank for rank in ranks[z])
        p, q = p / p.sum(), q / q.sum()
        joint[:, :, z] = weight * np.outer(p, q)
        common_x, common_y = np.argsort(p)[-2:], np.argsort(q)[-2:]
        push = weight * strength * p[common_x].min() * q[common_y].min()
        joint[:, :, z][np.ix_(common_x, common_y)] += push * np.array([[1, -1], [-1, 1]])
    drawn = rng.multinomial(ROWS, joint.ravel(), size=count or cell.replicates)
    return drawn.reshape(-1, *cell.levels)


CELLS = [
    Cell(levels, epsilon, rare, test)
    for levels in [(2, 2), (3, 4), (2, 2, 2), (3, 4, 3), (2, 2, 2, 2), (3, 3, 2, 3)]
    for epsilon in (0.1, 1.0, inf)
    for rare in ((False, True) if len(levels) > 2 else (False,))
    for test in (("pooled", "full") if len(levels) == 3 else ("pooled",))
] + [
    Cell((3, 4, 3), 0.1, True, "pooled", steep=10.0),
    Cell((3, 4, 3), 0.1, True, "full", steep=10.0),
    Cell((3, 4, 3), inf, True, "full", steep=10.0),
    Cell((3, 3, 2, 3), 0.1, True, "pooled", steep=10.0),
]


def limits(replicates: int, low: float, high: float) -> tuple[int, int]:
    return (
        int(binom.ppf(FALSE_ALARM / 2, replicates, low)),
        int(binom.ppf(1 - FALSE_ALARM / 2, replicates, high)),
    )


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_size_is_right_and_the_bayes_factor_is_an_e_value(cell: Cell) -> None:
    rng = np.random.default_rng(CELLS.index(cell))
    noise = run_noise(cell.epsilon, cell.levels)
    found = ask(cell.test, stack(null_tables(cell, rng), noise, rng))
    for alpha, band in ((0.05, cell.band.five), (0.01, cell.band.one)):
        low, high = limits(cell.replicates, *band)
        count = int((found.p_value < alpha).sum())
        assert low <= count <= high, (alpha, count / cell.replicates)
    for alpha in (0.1, 0.01):
        count = int((found.log_bayes > log(1 / alpha)).sum())
        assert count <= limits(cell.replicates, 0, alpha)[1], (alpha, count / cell.replicates)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, inf])
def test_the_judges_average_of_both_tests_is_an_e_value_too(epsilon: float) -> None:
    cell = Cell((2, 3, 2), epsilon, True, "both")
    rng = np.random.default_rng(9)
    evidence = stack(null_tables(cell, rng), run_noise(epsilon, cell.levels), rng)
    for alpha in (0.1, 0.01):
        margins = TableJudge(evidence, alpha).margins(np.array([[0, 1, 2]], dtype=np.intp))
        assert (margins > 0).sum() <= limits(cell.replicates, 0, alpha)[1]


def test_the_bayes_factor_is_an_e_value_where_most_cells_are_empty() -> None:
    cell = Cell((3, 4, 3), inf, False, "full", steep=30.0)
    rng = np.random.default_rng(12)
    found = ask("full", stack(null_tables(cell, rng), NO_NOISE, rng))
    count = int((found.log_bayes > log(100)).sum())
    assert count <= limits(cell.replicates, 0, 0.01)[1], count / cell.replicates


def test_the_check_of_size_catches_noise_that_is_not_accounted_for() -> None:
    """A planted fault: evidence that claims half the noise it has is far outside the band."""
    cell = Cell((2, 2, 2), 0.1, False, "pooled")
    rng = np.random.default_rng(10)
    noise = run_noise(cell.epsilon, cell.levels)
    evidence = stack(null_tables(cell, rng), noise, rng)
    for layer in evidence.layers.values():
        layer.variances[:] = layer.variances / 4
    found = ask("pooled", evidence)
    for alpha, band in ((0.05, ROUGH.five), (0.01, ROUGH.one)):
        assert (found.p_value < alpha).sum() > limits(cell.replicates, *band)[1]


# --- power -----------------------------------------------------------------------------------

POWER = [cell for cell in CELLS if not cell.rare and cell.epsilon < inf]


@pytest.mark.parametrize("cell", POWER, ids=str)
def test_the_share_of_rejections_grows_with_the_dependence(cell: Cell) -> None:
    rng = np.random.default_rng(100 + CELLS.index(cell))
    noise = run_noise(cell.epsilon, cell.levels)
    shares, strengths = [], []
    for strength in (0.0, 0.05, 0.2, 0.8):
        found = ask(cell.test, stack(null_tables(cell, rng, strength, 1_000), noise, rng))
        shares.append(float((found.p_value < 0.05).mean()))
        strengths.append(float(np.median(found.log_bayes)))
    assert shares == sorted(shares) and strengths == sorted(strengths)
    assert shares[0] < 0.1 and shares[-1] > 0.9


@pytest.mark.parametrize("epsilon", [0.1, 1.0, inf])
def test_what_a_common_cause_explains_is_dependent_without_it(epsilon: float) -> None:
    """x and y both follow z: independent given z, plainly dependent when z is not given."""
    cell = Cell((2, 2, 2), epsilon, False, "pooled")
    rng = np.random.default_rng(11)
    evidence = stack(null_tables(cell, rng, count=200), run_noise(epsilon, cell.levels), rng)
    alone = chi2.pooled(evidence, np.array([[0, 1]], dtype=np.intp))
    assert (alone.p_value < 1e-6).all() and (alone.log_bayes > log(1e6)).all()
