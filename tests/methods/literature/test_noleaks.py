"""noleaks and curate-score: what they spend, what they find, what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import privet
from privet.errors import EvidenceError, MethodError
from privet.graph.knowledge import Knowledge
from privet.methods.catalogue import get
from privet.methods.literature import noleaks
from privet.methods.literature import weights as evidence
from privet.methods.literature.descent import CONSTANT, Looks, descend, fitted
from privet.methods.literature.weights import GRID, Weights
from privet.methods.options import Settings
from privet.privacy.ledger.conversion import rho_for
from privet.privacy.queries.gradient import WEIGHT
from privet.results.saved import load, to_json
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.search.constraints import Constraints

Floats = NDArray[np.float64]
NAMES = ("a", "b", "c", "d")
BOTH = ("noleaks", "curate-score")
TRUTH = np.array([[0, 1.2, 0, 0], [0, 0, -0.9, 0.8], [0, 0, 0, 1.1], [0, 0, 0, 0]])
ARROWS = {("a", "b"), ("b", "c"), ("b", "d"), ("c", "d")}


def numbers(rows: int, seed: int = 1) -> dict[str, Floats]:
    """A linear model with errors of variance 1, far from 0 and in units of ten."""
    noise = np.random.default_rng(seed).normal(size=(rows, 4))
    drawn = 500 + 10 * noise @ np.linalg.inv(np.eye(4) - TRUTH)
    return dict(zip(NAMES, drawn.T, strict=True))


def schema_of(**changed: Any) -> Schema:
    columns = tuple(Column(name=n, kind="numeric", bounds=(0, 1000)) for n in NAMES)
    return replace(Schema(name="people", columns=columns), **changed)


def words(rows: int) -> tuple[dict[str, list[str]], Schema]:
    """A chain of ordered levels a --> b --> c, and d by itself."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.7, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.7, b, rng.integers(0, 3, rows))
    d = rng.integers(0, 3, rows)
    levels = ("low", "mid", "high")
    columns = tuple(Column(name=n, kind="ordinal", levels=levels) for n in NAMES)
    data = {n: [levels[i] for i in x] for n, x in zip(NAMES, (a, b, c, d), strict=True)}
    return data, Schema(name="words", columns=columns)


def found(data: Any, schema: Schema, method: str = "noleaks", **options: Any) -> Any:
    given: dict[str, Any] = {"epsilon": 10.0, "delta": 1e-6, "ledger": ":memory:"} | options
    return privet.discover(data, schema, method=method, **given)


# --- budgets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 10, 97])
@pytest.mark.parametrize("name", sorted(noleaks.SCHEDULES))
def test_schedules_sum_to_one_and_rise(name: str, steps: int) -> None:
    shares = noleaks.schedule(name, steps)
    assert sum(shares) == Fraction(1) and len(shares) == steps
    assert all(a < b for a, b in pairwise(shares))
    assert sum(noleaks.even(steps)) == Fraction(1)


def test_schedules_grow_as_they_are_called() -> None:
    growth = {
        name: noleaks.schedule(name, 100)[99] / noleaks.schedule(name, 100)[0]
        for name in noleaks.SCHEDULES
    }
    assert growth["additive"] == pytest.approx(1.99, abs=1e-4)
    assert growth["exponential"] == pytest.approx(np.exp(0.99), abs=1e-4)
    assert growth["multiplicative"] == pytest.approx(10**0.99, abs=1e-3)


@pytest.mark.parametrize("method", BOTH)
def test_a_run_spends_its_budget_and_no_more(method: str) -> None:
    """Every charge is listed: for the places of the columns, second moments, each gradient."""
    told = found(numbers(500), schema_of(), method, epsilon=1.0, steps=4).certificate
    costs = [query["cost"] for query in told["queries"]]
    rho = float(rho_for(1.0, 1e-6, "gdp"))
    assert len(costs) == 6 and sum(costs) == pytest.approx(rho, rel=1e-9)
    assert Fraction(told["spent"]["rho_exact"]) <= rho_for(1.0, 1e-6, "gdp")
    assert costs[:2] == pytest.approx([rho / 10, rho / 2], rel=1e-9)
    later = costs[2:]
    if method == "noleaks":
        assert later == pytest.approx([rho / 10] * 4, rel=1e-9)
    else:
        assert later == sorted(later) and later[-1] > 3 * later[0]


# --- what gradients say ----------------------------------------------------------------------


def answers(covariance: Floats, mean: Floats, kept: Floats) -> Floats:
    """The mean of y r' in a population."""
    second = covariance + np.outer(mean, mean)
    return np.vstack([CONSTANT * mean, second]) @ kept


def population() -> tuple[Floats, Floats]:
    total = np.linalg.inv(np.eye(4) - TRUTH)
    return total.T @ total, np.array([0.3, -0.2, 0.1, 0.0])


def test_looks_without_noise_give_the_covariance() -> None:
    covariance, mean = population()
    rng, looks = np.random.default_rng(0), Looks(4)
    for _ in range(3):
        kept = np.eye(4) - rng.normal(size=(4, 4)) / 3
        looks.add(kept, answers(covariance, mean, kept), 0.0)
    assert np.allclose(looks.covariance(), covariance)


def test_looks_are_put_together_as_well_as_their_noise_allows() -> None:
    """Four looks of equal precision at W = 0 have half the error of one: its mean square, over
    500 tries of 10 numbers each, lies within 6 deviations (false alarm 2e-9) of a quarter."""
    covariance, mean = population()
    rng, sd = np.random.default_rng(3), 1e-3
    errors = {1: 0.0, 4: 0.0}
    for count in errors:
        for _ in range(500):
            looks = Looks(4)
            for _ in range(count):
                noise = rng.normal(size=(5, 4)) * sd
                looks.add(np.eye(4), answers(covariance, 0 * mean, np.eye(4)) + noise, sd**2)
            off = (looks.covariance() - covariance)[np.triu_indices(4, 1)]
            errors[count] += float((off**2).mean()) / 500
    assert errors[1] == pytest.approx(sd**2 / 2, rel=6 * np.sqrt(2 / 3000))
    assert errors[4] == pytest.approx(sd**2 / 8, rel=6 * np.sqrt(2 / 3000))


def test_descent_finds_the_model_of_a_population() -> None:
    """Gradients without noise, asked where the descent wants them; answers are never reused."""
    covariance, mean = population()
    asked: list[Floats] = []

    def ask(step: int, whole: NDArray[np.int64], length: float) -> tuple[Floats, float]:
        assert step == len(asked) and length > 0
        asked.append(whole / WEIGHT)
        return answers(covariance, mean, np.eye(4) - whole / WEIGHT), 0.0

    free = Constraints.of(NAMES, Knowledge())
    model = descend(ask, np.ones(4), free, sparsity=1e-3, steps=5, rows=1e9)
    assert len(asked) == 6 and not asked[0].any()
    assert np.abs(model.weights - TRUTH).max() < 0.01
    assert (model.deviations[TRUTH != 0] < 1e-3).all()


def test_deviations_are_those_of_the_weights() -> None:
    """Weights from noisy looks scatter no more than their deviations say (which do not count on
    the symmetry of moments, that helps), nor much less: mean squares of 1,000 tries, whose
    standard error is 4.5 %, within 6 of these (false alarm below 1e-8)."""
    covariance, mean = population()[0], np.zeros(4)
    rng, sd, arrows = np.random.default_rng(8), 3e-3, TRUTH != 0
    errors, said = np.zeros((4, 4)), np.zeros((4, 4))
    for _ in range(1000):
        looks = Looks(4)
        for kept in (np.eye(4), np.eye(4) - TRUTH):
            noise = rng.normal(size=(5, 4)) * sd
            looks.add(kept, answers(covariance, mean, kept) + noise, sd**2)
        fit = fitted(arrows, looks.covariance(), looks.precision, 1e12)
        errors += (fit.weights - TRUTH) ** 2
        said += fit.deviations**2
    ratio = errors[arrows] / said[arrows]
    assert (ratio > 0.3).all() and (ratio < 1 + 6 * np.sqrt(2 / 1000)).all()


# --- through the front door ------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH)
def test_a_linear_model_is_found_with_its_directions(method: str) -> None:
    result = found(numbers(20_000), schema_of(), method)
    assert result.graph.kind == "dag" and result.certificate["private"]
    assert {(e.source, e.target) for e in result.graph.edges} == ARROWS
    assert any("units" in note for note in result.notes)


@pytest.mark.parametrize("method", BOTH)
def test_levels_are_taken_for_numbers(method: str) -> None:
    data, schema = words(20_000)
    result = found(data, schema, method)
    assert result.graph.skeleton() == {frozenset("ab"), frozenset("bc")}
    assert any("order" in note for note in result.notes)


def test_numbers_and_levels_together() -> None:
    data, schema = words(20_000)
    place = {"low": 0.0, "mid": 1.0, "high": 2.0}
    mixed = {**data, "b": [place[level] for level in data["b"]]}
    numeric = Column(name="b", kind="numeric", bounds=(-10, 10))
    columns = tuple(numeric if c.name == "b" else c for c in schema.columns)
    result = found(mixed, replace(schema, columns=columns))
    assert result.graph.skeleton() == {frozenset("ab"), frozenset("bc")}


def test_without_privacy_answers_are_exact() -> None:
    result = privet.discover(numbers(20_000), schema_of(), private=False, method="noleaks")
    assert {(e.source, e.target) for e in result.graph.edges} == ARROWS
    assert not result.certificate["private"]


def test_knowledge_is_honoured() -> None:
    known = Knowledge(required=frozenset({("d", "a")}), forbidden=frozenset({("b", "c")}))
    result = found(numbers(20_000), schema_of(knowledge=known))
    drawn = {(e.source, e.target) for e in result.graph.edges}
    assert ("d", "a") in drawn and ("b", "c") not in drawn


@pytest.mark.parametrize(
    "data",
    [
        {n: np.array([]) for n in NAMES},
        {n: np.array([500.0]) for n in NAMES},
        {n: np.full(1000, 7.0) for n in NAMES},
        {n: np.where(np.arange(1000) % 2, 0.0, 1000.0) for n in NAMES},
    ],
    ids=["no rows", "one row", "constant columns", "equal columns"],
)
@pytest.mark.parametrize("epsilon", [0.01, 100.0])
def test_all_data_have_an_answer(data: dict[str, Floats], epsilon: float) -> None:
    assert found(data, schema_of(), epsilon=epsilon, steps=3).graph.kind == "dag"


# --- evidence --------------------------------------------------------------------------------


def test_saved_weights_are_searched_again(tmp_path: Path) -> None:
    result = found(numbers(20_000), schema_of())
    path = tmp_path / "evidence.json"
    path.write_text(to_json(result.evidence))
    saved = load(path)
    again = privet.discover(evidence=saved)
    assert again.graph == result.graph and again.certificate["reused"]
    assert not privet.discover(evidence=saved, threshold=100.0).graph.edges
    strong = privet.discover(evidence=saved, threshold=1.0).graph
    assert {(e.source, e.target) for e in strong.edges} == {("a", "b"), ("c", "d")}
    with pytest.raises(MethodError, match="fitted with"):
        privet.discover(evidence=saved, sparsity=0.5)
    with pytest.raises(MethodError, match="fitted with"):
        privet.discover(evidence=saved, steps=3)


def test_weights_that_noise_may_have_made_do_not_count() -> None:
    schema = schema_of()
    kind = Weights(columns=NAMES, scales=(1.0, 1.0, 2.0, 1.0), floor=0.05, steps=9, sparsity=0.1)
    own, noise = np.zeros((4, 4)), np.zeros((4, 4))
    own[0, 1], noise[0, 1] = 0.5, 0.1  # clear
    own[1, 2], noise[1, 2] = 0.5, 0.3  # noise may have made it
    own[2, 3], noise[2, 3] = 0.04, 0.0  # below the floor
    release = evidence.as_release(kind, own, noise, "Gaussian")
    graph = noleaks.search(schema, (release,), Settings()).graph
    assert {(e.source, e.target) for e in graph.edges} == {("a", "b")}
    fixed = noleaks.search(schema, (release,), Settings(threshold=0.6)).graph
    assert {(e.source, e.target) for e in fixed.edges} == {("b", "c")}  # 0.5 * 2 / 1 in own units
    assert release.values[1] == GRID // 2


def test_foreign_or_damaged_weights_are_refused(tmp_path: Path) -> None:
    result = found(numbers(100), schema_of(), steps=2)
    text = to_json(result.evidence)
    floor = f'"floor": {noleaks.FLOOR}'
    for old, new in (('"scales": [', '"scales": [-1.0, '), (floor, '"floor": NaN')):
        assert old in text
        path = tmp_path / "damaged.json"
        path.write_text(text.replace(old, new))
        with pytest.raises(EvidenceError):
            load(path)
    with pytest.raises(EvidenceError, match="weights"):
        noleaks.search(schema_of(), (), Settings())


# --- refusals --------------------------------------------------------------------------------


def refused(match: str, schema: Schema, method: str = "noleaks", **options: Any) -> None:
    with pytest.raises(MethodError, match=match):
        found({n: [1.0] for n in schema.names}, schema, method, **options)


def test_what_cannot_be_done_is_refused_with_the_fix() -> None:
    level = replace(schema_of().columns[0], missing="level", missing_value=None)
    refused("steps", schema_of(), steps=0)
    refused("1000 gradients", schema_of(), steps=1001)
    refused(
        "additive, exponential, multiplicative", schema_of(), "curate-score", schedule="additve"
    )
    refused("no such option", schema_of(), "noleaks", schedule="additive")
    refused("delta", schema_of(), delta=0.0)
    refused("missing", schema_of(columns=(level, *schema_of().columns[1:])))
    many = tuple(Column(name=f"x{i}", kind="numeric", bounds=(0, 1)) for i in range(201))
    refused("201 columns", Schema(name="many", columns=many))


# --- as published ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("data", ["numbers", "words"])
def test_as_published_runs_and_says_that_it_is_not_private(method: str, data: str) -> None:
    rows: Callable[[], tuple[Any, Schema]] = (
        (lambda: (numbers(5000), schema_of())) if data == "numbers" else (lambda: words(5000))
    )
    result = privet.discover(
        *rows(), epsilon=1.0, delta=1e-6, method=method, as_published=True, seed=1
    )
    told = result.certificate
    assert told["private"] is False and "one record" in told["as_published"]["why"]
    assert result.graph.kind == "dag" and get(method).published is not None


def test_as_published_finds_a_model_if_its_noise_is_next_to_nothing() -> None:
    data = {name: (x - 500) / 10 for name, x in numbers(20_000).items()}
    columns = tuple(Column(name=n, kind="numeric", bounds=(-50, 50)) for n in NAMES)
    schema = Schema(name="people", columns=columns)
    result = privet.discover(
        data, schema, epsilon=1e6, delta=0.1, method="noleaks", as_published=True, steps=1000
    )
    assert {(e.source, e.target) for e in result.graph.edges} == ARROWS
