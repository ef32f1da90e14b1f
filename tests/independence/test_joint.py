"""Judgements on several sites: who says nothing changes nothing, and errors stay rare.

Size. Sites draw tables (or covariances) in which x ⊥ y | Z holds at each, alike or with margins of
their own, with the noise of a run on ten columns. The joint Bayes factor is a mean of products of
Bayes factors, so the share of those above 1/alpha must not exceed alpha, but for chance (1e-6).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from privet.evidence.moments import MomentEvidence, planned_noise
from privet.evidence.tables import TableEvidence
from privet.evidence.unit_noise import of_interactions
from privet.independence import chi2
from privet.independence.joint import JointMomentJudge, JointTableJudge
from privet.independence.tables import TableJudge
from privet.methods import catalogue
from privet.methods.options import make_settings
from privet.methods.plan import plan_sites
from privet.methods.searches import pc
from privet.methods.sources import moments, tables
from privet.networks import load, random_linear_gaussian
from privet.privacy.ledger.conversion import budget_for
from privet.privacy.queries.base import Release
from privet.privacy.queries.contrasts import GRID
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.session import Session
from tests.helpers.stacks import Noise, stack

FALSE_ALARM = 1e-6
ROWS = 20_000
ALPHAS = (0.2, 0.02)
Shares = NDArray[np.float64]


@lru_cache
def noise_of(epsilon: float, orders: int = 3) -> dict[int, float]:
    """Of a run on ten columns, in grid units, for components of up to so many columns."""
    column = {"kind": "categorical", "levels": ("a", "b", "c")}
    columns = tuple(Column(name=f"c{i}", **column) for i in range(10))  # type: ignore[arg-type]
    unit = of_interactions(Schema(name="t", columns=columns), epsilon, 1e-6)[1]
    return {order: unit * GRID ** (2 * order) for order in range(orders + 1)}


def leaning(share: Shares, lean: float) -> Shares:
    """A distribution whose odds move by ``lean`` from the first level to the last."""
    out = share * np.exp(lean * np.linspace(0.0, 1.0, share.shape[-1]))
    return np.asarray(out / out.sum(axis=-1, keepdims=True))


def null_shares(site: int, given: bool, leans: bool) -> Shares:
    """x (3 levels) and y (2) are independent given z (3), if there is one, at this site."""
    lean = (1.5 if site % 2 else -1.5) if leans else 0.0
    z = leaning(np.array([0.5, 0.3, 0.2]), lean)
    x = leaning(np.array([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]), lean)
    y = leaning(np.array([[0.7, 0.3], [0.5, 0.5], [0.3, 0.7]]), lean)
    if given:
        return np.einsum("z,zx,zy->xyz", z, x, y)
    return np.einsum("x,y->xy", x[1], y[1])


def drawn(shares: Shares, noise: Noise, runs: int, rng: np.random.Generator) -> TableEvidence:
    """Evidence on so many tables of one site, a replica each."""
    counts = rng.multinomial(ROWS, shares.ravel(), size=runs).reshape(runs, *shares.shape)
    return stack(counts, noise, rng)


def question(width: int) -> NDArray[np.intp]:
    return np.arange(width, dtype=np.intp)[None]


def at_most(hits: int, runs: int, share: float) -> bool:
    return float(binom.sf(hits - 1, runs, share)) > FALSE_ALARM


# --- size


@pytest.mark.parametrize("leans", [False, True], ids=["alike", "leaning"])
@pytest.mark.parametrize("epsilon", [1.0, 0.2])
@pytest.mark.parametrize(("sites", "runs"), [(5, 3000), (20, 1000)])
@pytest.mark.parametrize("given", [False, True], ids=["nothing", "z"])
def test_tables_err_with_probability_alpha_at_most(
    sites: int, runs: int, epsilon: float, leans: bool, given: bool
) -> None:
    rng = np.random.default_rng((sites, int(10 * epsilon), leans, given))
    noise = noise_of(epsilon)
    every = [drawn(null_shares(i, given, leans), noise, runs, rng) for i in range(sites)]
    for alpha in ALPHAS:
        margins = JointTableJudge(tuple(every), alpha).margins(question(2 + given))
        hits = int((margins > 0).sum())
        assert at_most(hits, runs, alpha), hits / runs


@pytest.mark.parametrize("given", [False, True], ids=["nothing", "z"])
def test_noise_that_nobody_reckons_with_is_found_out(given: bool) -> None:
    """The test of size can fail: sites whose noise is louder than they say."""
    rng, runs = np.random.default_rng(5), 1000
    said, real = noise_of(0.2), {order: 9 * value for order, value in noise_of(0.2).items()}
    every = [drawn(null_shares(i, given, False), real, runs, rng) for i in range(5)]
    every = [_said(site, said) for site in every]
    margins = JointTableJudge(tuple(every), 0.02).margins(question(2 + given))
    assert not at_most(int((margins > 0).sum()), runs, 0.02)


def _said(site: TableEvidence, noise: Noise) -> TableEvidence:
    layers = {
        order: replace(layer, variances=np.full_like(layer.variances, noise[order]))
        for order, layer in site.layers.items()
    }
    return replace(site, layers=layers, rows_variance=noise[0])


def covariance_of(site: int, leans: bool) -> Shares:
    """x <- z -> y; at sites that differ, with weights and scales of their own."""
    lean = (1.5 if site % 2 else 0.6) if leans else 1.0
    weights = np.zeros((3, 3))
    weights[2, :2] = 0.6 * lean, -0.5 / lean
    effects = np.linalg.inv(np.eye(3) - weights)
    scales = np.array([1.0, lean, 1 / lean])
    return np.asarray(effects.T @ np.diag(scales**2) @ effects)


def ten_numbers() -> Schema:
    columns = (Column(name=f"c{i}", kind="numeric", bounds=(-4, 4)) for i in range(10))
    return Schema(name="t", columns=tuple(columns))


def moments_of(
    covariance: Shares, noise: float, runs: int, rng: np.random.Generator, spread: float = 1.0
) -> MomentEvidence:
    """Noisy covariances of samples, a replica each; at this size Wishart's law is the normal."""
    root = np.linalg.cholesky(covariance)

    def round_noise() -> NDArray[Any]:
        g = rng.standard_normal((runs, 3, 3))
        return np.asarray((g + g.swapaxes(1, 2)) / sqrt(2))

    errors = round_noise() * sqrt(spread / ROWS) + sqrt(noise) * round_noise()
    return MomentEvidence(
        names=("x", "y", "z"),
        rows=float(ROWS),
        covariance=root @ (np.eye(3) + errors) @ root.T,
        metric=covariance,
        noise=noise,
        spread=spread,
    )


@pytest.mark.parametrize("leans", [False, True], ids=["alike", "leaning"])
@pytest.mark.parametrize("epsilon", [1.0, 0.2])
@pytest.mark.parametrize("sites", [5, 20])
def test_moments_err_with_probability_alpha_at_most(
    sites: int, epsilon: float, leans: bool
) -> None:
    rng, runs = np.random.default_rng((sites, int(10 * epsilon), leans)), 4000
    noise = planned_noise(ten_numbers(), ROWS, budget_for(epsilon, 1e-6, "gdp"))
    every = [moments_of(covariance_of(i, leans), noise, runs, rng) for i in range(sites)]
    for alpha in ALPHAS:
        margins = JointMomentJudge(tuple(every), alpha).margins(question(3))
        hits = int((margins > 0).sum())
        assert at_most(hits, runs, alpha), hits / runs
    quiet = [replace(site, noise=site.noise / 9, rows=9.0 * ROWS) for site in every]
    margins = JointMomentJudge(tuple(quiet), 0.02).margins(question(3))
    assert not at_most(int((margins > 0).sum()), runs, 0.02)  # it can fail


# --- power


def two_by_two(effect: float) -> Shares:
    """Even margins and this Cramér's V, which is negative for the other direction."""
    return np.asarray(np.array([[1 + effect, 1 - effect], [1 - effect, 1 + effect]]) / 4)


def ten_columns() -> Schema:
    columns = (Column(name=f"c{i}", kind="categorical", levels=("a", "b")) for i in range(10))
    return Schema(name="t", columns=tuple(columns))


ALPHA = 0.2  # the usual level of ten columns


def seen(effects: list[float], epsilon: float, runs: int) -> tuple[float, float, float]:
    """The shares of runs in which the judge, own factors alone and the common factor alone find
    these effects of the sites."""
    rng = np.random.default_rng(int(1e6 * abs(effects[0])))
    unit = of_interactions(ten_columns(), epsilon, 1e-6)[0]
    noise = {order: unit * GRID ** (2 * order) for order in range(3)}
    every = tuple(drawn(two_by_two(effect), noise, runs, rng) for effect in effects)
    asked = np.ones((len(every), 1), dtype=bool)
    *own, common = chi2.jointly(every, question(2), asked, strata=False)
    product, bar = sum(one.log_bayes for one in own), log(1 / ALPHA)
    margins = JointTableJudge(every, ALPHA).margins(question(2))
    found = (margins > 0, np.asarray(product) > bar, common.log_bayes > bar)
    both, alone, shared = (float(np.mean(each)) for each in found)
    return both, alone, shared


def test_an_effect_that_changes_its_sign_is_seen_by_own_factors() -> None:
    """In 9 of 10 runs and more; added up nothing is left of it, so that the common factor errs with
    probability alpha at most."""
    runs = 1000
    both, own, common = seen([0.04, -0.04, 0.04, -0.04], 1.0, runs)
    assert within(both, 0.9, 1.0, runs) and within(own, 0.9, 1.0, runs), (both, own)
    assert within(common, 0.0, ALPHA, runs), common


def test_an_effect_too_weak_for_any_site_is_seen_in_common() -> None:
    """In 9 of 10 runs and more; by own factors alone in fewer than half."""
    runs = 1000
    both, own, common = seen([0.01] * 20, 1.0, runs)
    assert within(both, 0.9, 1.0, runs) and within(common, 0.9, 1.0, runs), (both, common)
    assert within(own, 0.0, 0.5, runs), own


@pytest.mark.parametrize("epsilon", [1.0, 0.2])
@pytest.mark.parametrize("sites", [3, 5, 20])
def test_the_planned_effect_of_sites_is_found_in_eight_of_ten_runs(
    sites: int, epsilon: float
) -> None:
    """Up to first-order theory (0.03) and chance (1e-6). The factor that is not planned for sees
    something as well, which no plan counts on: up to 0.02 more."""
    runs = 4000
    made = plan_sites(ten_columns(), ROWS, epsilon, 1e-6, sites=sites)
    shared, own = made.common[0].typical, made.own[0].typical
    found = seen([shared] * sites, epsilon, runs)[0]
    assert within(found, 0.77, 0.85, runs), found
    found = seen([own if i % 2 else -own for i in range(sites)], epsilon, runs)[0]
    assert within(found, 0.77, 0.85, runs), found


@pytest.mark.parametrize("epsilon", [1.0, 0.2])
@pytest.mark.parametrize("sites", [3, 20])
def test_the_planned_correlation_of_sites_is_found_in_eight_of_ten_runs(
    sites: int, epsilon: float
) -> None:
    """With the same tolerance."""
    rng, runs, table = np.random.default_rng(sites), 4000, ten_numbers()
    noise = planned_noise(table, ROWS, budget_for(epsilon, 1e-6, "gdp"))
    made = plan_sites(table, ROWS, epsilon, 1e-6, sites=sites)
    for line, turns in ((made.common[0], 1), (made.own[0], -1)):
        every = []
        for i in range(sites):
            covariance = np.eye(3)
            covariance[0, 1] = covariance[1, 0] = line.typical * turns**i
            every.append(moments_of(covariance, noise, runs, rng, spread=1.2))
        margins = JointMomentJudge(tuple(every), ALPHA).margins(question(2))
        found = float((margins > 0).mean())
        assert within(found, 0.77, 0.85, runs), found


def within(found: float, low: float, high: float, runs: int) -> bool:
    hits = round(found * runs)
    below = float(binom.cdf(hits, runs, low))
    above = float(binom.sf(hits - 1, runs, high))
    return min(below, above if high < 1 else 1.0) > FALSE_ALARM


# --- Simpson


def test_roots_that_lean_together_over_sites_are_not_joined() -> None:
    """Independent at each site; the rows of all in one place join them."""
    rng, runs, noise = np.random.default_rng(8), 1000, noise_of(1.0)
    rows = [leaning(np.array([0.4, 0.6]), 1.5 if i % 2 else -1.5) for i in range(5)]
    counts = [
        rng.multinomial(ROWS, np.outer(row, row).ravel(), size=runs).reshape(runs, 2, 2)
        for row in rows
    ]
    pooled = stack(np.sum(counts, axis=0), noise, rng)
    assert (TableJudge(pooled, 0.2).margins(question(2)) > 0).all()
    every = tuple(stack(table, noise, rng) for table in counts)
    hits = int((JointTableJudge(every, 0.02).margins(question(2)) > 0).sum())
    assert at_most(hits, runs, 0.02)


# --- who says what


def some_sites(rng: np.random.Generator, noises: list[Noise], runs: int) -> list[TableEvidence]:
    shares = rng.dirichlet(np.full(36, 20.0)).reshape(2, 3, 3, 2)
    return [drawn(shares, noise, runs, rng) for noise in noises]


def asked(rng: np.random.Generator, width: int) -> NDArray[np.intp]:
    return np.array([rng.permutation(4)[:width] for _ in range(20)])


@pytest.mark.parametrize("width", [2, 3, 4])
def test_the_order_of_sites_changes_nothing(width: int) -> None:
    rng = np.random.default_rng(width)
    noises: list[Noise] = [noise_of(1.0, 2), noise_of(1.0), noise_of(0.2), noise_of(0.5, 4)]
    every = some_sites(rng, noises, 6)
    questions = asked(rng, width)
    found = JointTableJudge(tuple(every), 0.1).margins(questions)
    assert found.shape == (6, 20) and (width == 4 or np.isfinite(found).all())
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        turned = JointTableJudge(tuple(every[i] for i in order), 0.1)
        assert np.allclose(turned.margins(questions), found, rtol=1e-9, atol=1e-9)
        assert np.allclose(
            turned.strengths(), JointTableJudge(tuple(every), 0.1).strengths(), rtol=1e-9
        )


def test_the_order_of_sites_changes_nothing_for_moments() -> None:
    rng = np.random.default_rng(4)
    every = [moments_of(covariance_of(i, True), 1e-5 * (i + 1), 5, rng) for i in range(4)]
    for questions in (question(3), question(2)):
        found = JointMomentJudge(tuple(every), 0.1).margins(questions)
        turned = JointMomentJudge(tuple(every[::-1]), 0.1).margins(questions)
        assert np.allclose(turned, found, rtol=1e-9, atol=1e-9)


def test_a_site_that_has_not_measured_abstains() -> None:
    """Given two columns, pairs and no triples tell nothing: the answer is that of the others, and
    no verdict turns to independent."""
    rng = np.random.default_rng(11)
    knows, other, silent = some_sites(rng, [noise_of(1.0), noise_of(1.0), noise_of(1.0, 2)], 200)
    questions = asked(rng, 4)
    assert not TableJudge(silent, 0.1).margins_known(questions).any()
    for spoke in ((knows,), (knows, other)):
        alone = JointTableJudge(spoke, 0.1).margins(questions)
        joint = JointTableJudge((*spoke, silent), 0.1).margins(questions)
        assert np.isfinite(alone).all() and (alone > 0).any() and (alone < 0).any()
        assert np.allclose(joint, alone, rtol=1e-9, atol=1e-9)
    one = TableJudge(knows, 0.1).margins(questions)
    assert ((JointTableJudge((knows, silent), 0.1).margins(questions) > 0) == (one > 0)).all()


def test_what_no_site_has_measured_nobody_calls_independent() -> None:
    rng = np.random.default_rng(12)
    silent = tuple(some_sites(rng, [noise_of(1.0, 2)] * 3, 10))
    assert np.isposinf(JointTableJudge(silent, 0.1).margins(asked(rng, 4))).all()
    assert np.isfinite(JointTableJudge(silent, 0.1).margins(asked(rng, 3))).all()


# --- one site


def released(kind: str) -> tuple[Schema, str, tuple[Release, ...]]:
    rng = np.random.default_rng(2)
    if kind == "tables":
        model = load("survey")
        codes = model.sample(5000, rng)
        data = {n: [model.levels[n][c] for c in codes[n]] for n in model.names}
        schema, name = model.schema(), "interaction-pc"
    else:
        numbers = random_linear_gaussian(5, density=0.5, rng=rng)
        data = {n: drawn.tolist() for n, drawn in numbers.sample(5000, rng).items()}
        schema, name = numbers.schema(), "moment-pc"
    session = Session(
        data, schema, ledger=":memory:", epsilon=1, delta=1e-6, accounting="gdp", method=name
    )
    with session:
        return schema, name, catalogue.get(name).measure(session.curator(), make_settings())


@pytest.mark.parametrize("kind", ["tables", "moments"])
def test_one_site_is_as_if_it_had_no_name(kind: str) -> None:
    """Bit for bit: every answer, edges, confidences, number of tests."""
    schema, name, releases = released(kind)
    named = tuple(replace(release, site="hospital-a") for release in releases)
    method, settings = catalogue.get(name), make_settings(seed=3)
    assert method.search(schema, named, settings) == method.search(schema, releases, settings)
    source = {"tables": tables.SOURCE, "moments": moments.SOURCE}[kind]
    old, new = (source.basis(schema, r, settings, pc.PC).judge for r in (releases, named))
    for width in (2, 3, 4):
        questions = np.array(list(permutations(range(len(schema.names)), width)), dtype=np.intp)
        assert np.array_equal(old.margins(questions), new.margins(questions))
    assert np.array_equal(old.strengths(), new.strengths())
