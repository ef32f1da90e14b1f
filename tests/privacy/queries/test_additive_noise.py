"""Scores of additive-noise models: nobody in either half moves them by more (proofs/anm.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, kendalltau, spearmanr

from privet.errors import MethodError, PrivetError
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import Exact, Laplace
from privet.privacy.queries.additive_noise import SCORES, UNIT, Anm, AnmScores, Protect
from privet.privacy.queries.base import from_document, to_document
from privet.privacy.queries.ridge import FINE, GRID, Kernel
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

KEY = bytes(range(32))
MODEL = Anm(x="x", y="y", key=KEY)
EXTREME = [-1.0, -0.3, 0.0, 0.9, 1.0]


class Table:
    """Rows as a query sees them."""

    def __init__(self, rows: Floats) -> None:
        self.rows = rows

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        if len(self.rows):
            yield self.rows


def schema_for(rows: int, rows_per_person: int = 1, **column: object) -> Schema:
    columns = tuple(
        Column(name=name, kind="numeric", bounds=(-1, 1), **column)  # type: ignore[arg-type]
        for name in "xy"
    )
    sex = Column(name="sex", kind="categorical", levels=("f", "m"))
    return Schema(
        name="people",
        columns=(*columns, sex),
        adjacency=Adjacency.REPLACE_ONE,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def exact(query: AnmScores, rows: Floats, schema: Schema) -> Integers:
    values = query.evaluate(Table(rows), schema)  # type: ignore[arg-type]
    assert values.dtype == np.int64 and values.shape == (query.size(schema),)
    return values


def halves(rows: int) -> dict[str, Integers]:
    """Which places of a table are in which half."""
    order = MODEL.order(rows)
    return {"test": order[: rows // 2], "training": order[rows // 2 :]}


def random_rows(rng: np.random.Generator, rows: int) -> Floats:
    """Ties, constant columns, extreme rows and plain ones."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.choice(EXTREME, (rows, 2))
    table = rng.uniform(-1, 1, (rows, 2))
    if kind == 1:
        table[:, rng.integers(2)] = rng.choice(EXTREME)
    if kind == 2:
        table[:, 1] = np.clip(table[:, 0] ** 2 + table[:, 1] / 4, -1, 1)
    return table


def climb(query: AnmScores, rows: int, seed: int, steps: int) -> float:
    """The largest movement that hill climbing finds, by a record of the protected half, in
    units of the bound."""
    rng, schema, best = np.random.default_rng(seed), schema_for(rows), 0.0
    parts = ("test", "training") if query.protect == "both" else (query.protect,)
    for _ in range(3):
        for part in parts:
            place = int(halves(rows)[part][0])
            table, new = random_rows(rng, rows), rng.choice(EXTREME, 2)
            reached = 0.0
            for _ in range(steps):
                tried, fresh = table.copy(), new
                if rng.random() < 0.3:
                    fresh = rng.choice(EXTREME, 2)
                else:
                    tried[rng.integers(rows)] = random_rows(rng, 1)[0]
                after = tried.copy()
                after[place] = fresh
                moved = np.abs(exact(query, tried, schema) - exact(query, after, schema)).max()
                if moved >= reached:
                    table, new, reached = tried, fresh, float(moved)
            best = max(best, reached / query.bound(schema))
    return best


@pytest.mark.parametrize("release", ["scores", "sign"])
@pytest.mark.parametrize("score", ["sqrt-hsic", "hsic"])
@pytest.mark.parametrize("protect", ["both", "test", "training"])
def test_no_climb_moves_smooth_scores_by_more(
    score: str, release: Literal["scores", "sign"], protect: Protect
) -> None:
    """The parts of the bound are nearly attained (test_ridge.py); all at once they are not."""
    query = AnmScores(
        model=replace(MODEL, ridge=30.0),
        score=score,
        release=release,
        protect=protect,
        kernel=0.1 if protect == "test" else 2.0,
    )
    assert 0 < climb(query, 10, 1, 30) <= 1


def test_a_test_record_can_use_most_of_its_bound() -> None:
    """All rows are alike but one, and that one leaves: 2 / sqrt(6) of the bound."""
    schema, query = schema_for(40), AnmScores(model=replace(MODEL, ridge=1000.0), kernel=0.1)
    rows = np.full((40, 2), -1.0)
    after = rows.copy()
    after[halves(40)["test"][3]] = 1.0
    moved = np.abs(exact(query, rows, schema) - exact(query, after, schema))
    bound = replace(query, protect="test").bound(schema)
    assert (moved > 0.8 * bound).all() and (moved <= bound).all()


@pytest.mark.parametrize("score", ["kendall", "spearman"])
@pytest.mark.parametrize("ridge", [2**-10, 1000.0])
def test_no_climb_moves_ranks_by_more(score: str, ridge: float) -> None:
    query = AnmScores(model=replace(MODEL, ridge=ridge), score=score, protect="test")
    best = max(climb(query, rows, 2, 80) for rows in (6, 11))
    assert 0.7 < best <= 1


def test_bounds_are_those_of_the_proof() -> None:
    schema, m = schema_for(1001), 500
    eta = MODEL.eta(schema) / FINE
    slope = Kernel.of(0.5, 4.0).slope
    assert eta == pytest.approx(4 * (1 + 1 / sqrt(6)) / (3 * 501), rel=1e-4)
    bounds = {
        ("kendall", "test"): 4 / m,
        ("spearman", "test"): 6 / (m + 1),
        ("sqrt-hsic", "test"): sqrt(6) * (m - 1) / m**2,
        ("hsic", "test"): sqrt(6) / (m - 1),
        ("sqrt-hsic", "training"): eta / 0.5,
        ("hsic", "training"): slope * eta * (m / (m - 1)) ** 2,
    }
    for (score, protect), bound in bounds.items():
        query = AnmScores(model=MODEL, score=score, protect=protect)  # type: ignore[arg-type]
        assert query.bound(schema) * query.unit(schema) == pytest.approx(bound, rel=1e-4)
        assert query.bound(schema) * query.unit(schema) >= bound * (1 - 1e-12)
        signed = replace(query, release="sign")
        assert signed.bound(schema) == 2 * query.bound(schema)
    both = AnmScores(model=MODEL, score="hsic")
    parts = [replace(both, protect=p).bound(schema) for p in ("test", "training")]
    assert both.bound(schema) == both.linf(schema) == max(parts)
    assert both.l1(schema) == 2 * max(parts) and both.l2_squared(schema) == 2 * max(parts) ** 2
    assert both.bound(schema_for(1001, rows_per_person=3)) == 3 * max(parts)
    turned = AnmScores(model=MODEL, score="kendall", pairs=2000)
    assert turned.bound(schema) == 4000
    assert replace(turned, score="spearman").bound(schema) == 4 * 499 * 2000


def test_a_promise_to_one_half_cannot_be_bought() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    data = {"x": rows[:, 0], "y": rows[:, 1], "sex": ["f", "m"] * 20}
    schema = schema_for(40)
    ledger = Ledger(":memory:")
    run = ledger.begin("people", epsilon=1, delta=0, method="anm", unit=schema.unit)
    vault = Vault(data, schema, run)
    half: tuple[Protect, ...] = ("test", "training")
    for protect in half:
        with pytest.raises(MethodError, match="promises nothing to people in the"):
            vault.release(AnmScores(model=MODEL, protect=protect), Laplace(epsilon=run.budget))
    for pairs in (None, 3):  # by way of a test of stability only
        query = AnmScores(model=MODEL, score="kendall", pairs=pairs)
        with pytest.raises(MethodError, match="no bound for people in the training half"):
            vault.release(query, Laplace(epsilon=run.budget))
    assert run.spent == 0
    assert len(vault.release(AnmScores(model=MODEL), Laplace(epsilon=run.budget)).values) == 2
    free = Vault(data, schema, None)
    assert len(free.release(AnmScores(model=MODEL, protect="test"), Exact()).values) == 2


@pytest.mark.parametrize("score", SCORES)
def test_scores_are_what_they_are_called(score: str) -> None:
    """Without regression to speak of, residuals are the effects."""
    rng, schema = np.random.default_rng(4), schema_for(400)
    x = rng.uniform(-1, 1, 400)
    rows = np.stack([x, np.clip(np.sin(3 * x) + rng.normal(size=400) / 4, -1, 1)], axis=1)
    query = AnmScores(model=replace(MODEL, ridge=1024.0), score=score, kernel=0.3)
    forward, backward = exact(query, rows, schema) * query.unit(schema)
    a, b = rows[halves(400)["test"]].T
    if score in ("kendall", "spearman"):
        peer = {"kendall": kendalltau, "spearman": spearmanr}[score](a, b)[0]
        assert forward == pytest.approx(abs(peer), abs=0.02)
    else:
        gram = [np.exp(-((v[:, None] - v) ** 2) / (2 * 0.3**2)) for v in (a, b)]
        m = len(a)
        centre = np.eye(m) - 1 / m
        trace = np.trace(gram[0] @ centre @ gram[1] @ centre)
        peer = trace / (m - 1) ** 2 if score == "hsic" else sqrt(trace) / m
        assert forward == pytest.approx(peer, rel=0.03)
    assert backward == pytest.approx(forward, rel=0.05)
    signed = exact(replace(query, release="sign"), rows, schema)
    assert signed[0] == np.diff(exact(query, rows, schema))[0]


def test_the_causal_direction_leaves_less_dependence() -> None:
    rng, schema = np.random.default_rng(5), schema_for(2000)
    x = rng.uniform(-1, 1, 2000)
    y = np.clip(np.tanh(3 * x) / 1.5 + rng.uniform(-1, 1, 2000) / 4, -1, 1)
    model = replace(MODEL, ridge=2**-8)
    for score in ("sqrt-hsic", "hsic"):
        query = AnmScores(model=model, score=score, kernel=0.1)
        forward, backward = exact(query, np.stack([x, y], axis=1), schema)
        assert forward < backward / 2
        assert exact(query, np.stack([y, x], axis=1), schema).tolist() == [backward, forward]


def test_another_test_record_changes_no_other_residual() -> None:
    """Bit for bit: ranks would not forgive a last digit."""
    rng, schema = np.random.default_rng(6), schema_for(300)
    rows = rng.uniform(-1, 1, (300, 2))
    place = halves(300)["test"][7]
    after = rows.copy()
    after[place] = (1.0, -1.0)
    first, second = (MODEL.residuals(Table(r), schema) for r in (rows, after))  # type: ignore[arg-type]
    for a, b in zip(first, second, strict=True):
        assert (np.delete(a.left, 7) == np.delete(b.left, 7)).all()
        assert np.abs(a.left).max() <= 2 * FINE and np.abs(a.cause).max() <= GRID


def test_a_training_record_moves_residuals_by_no_more_than_eta() -> None:
    rng = np.random.default_rng(7)
    for rows, ridge in ((4, 3.0), (20, 0.1), (60, 30.0)):
        schema, model = schema_for(rows), replace(MODEL, ridge=ridge)
        for _ in range(20):
            table = random_rows(rng, rows)
            after = table.copy()
            after[halves(rows)["training"][0]] = rng.choice(EXTREME, 2)
            first, second = (model.residuals(Table(r), schema) for r in (table, after))  # type: ignore[arg-type]
            for a, b in zip(first, second, strict=True):
                assert np.abs(a.left - b.left).max() <= model.eta(schema)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("declared", [1, 2, 3, 4, 9])
def test_few_rows_and_other_numbers_of_rows_are_no_error(score: str, declared: int) -> None:
    schema = schema_for(declared)
    query = AnmScores(model=MODEL, score=score, protect="test")
    for found in (0, 1, declared, declared + 3):
        rows = np.ones((found, 2))
        assert (np.abs(exact(query, rows, schema)) <= UNIT).all()
        assert query.bound(schema) >= 1
        if found:  # a row less and one more is still one record
            after = np.vstack([rows[1:], [[-1.0, 0.5]]])
            moved = np.abs(exact(query, rows, schema) - exact(query, after, schema))
            assert (moved <= replace(query, protect="both", pairs=9**2).bound(schema)).all()


def test_every_row_is_as_often_in_either_half() -> None:
    """Each count misses its binomial interval with probability 1e-6 / rows."""
    rows, draws = 11, 3000
    counts = np.zeros(rows)
    for _ in range(draws):
        counts[Anm(x="x", y="y").order(rows)[: rows // 2]] += 1
    level = 1e-6 / rows / 2
    for count in counts:
        low = beta.ppf(level, count, draws - count + 1)
        high = beta.ppf(1 - level, count + 1, draws - count)
        assert low <= (rows // 2) / rows <= high


def test_the_key_stays_secret() -> None:
    query = AnmScores(model=MODEL)
    for text in (repr(query), str(query), json.dumps(to_document(query))):
        assert "key" not in text and KEY.hex() not in text and repr(KEY)[2:20] not in text
    assert Anm(x="x", y="y").key != Anm(x="x", y="y").key
    again = from_document(json.loads(json.dumps(to_document(query))))
    assert again == query and again.model.key != KEY


def test_ranges_take_the_place_of_bounds() -> None:
    rng, schema = np.random.default_rng(9), schema_for(100)
    rows = rng.uniform(-0.5, 0.5, (100, 2))
    narrow = replace(MODEL, x_range=(-0.5, 0.5), y_range=(-0.5, 0.5))
    wide = exact(AnmScores(model=MODEL), 2 * rows, schema)
    assert (exact(AnmScores(model=narrow), rows, schema) == wide).all()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (AnmScores(model=Anm(x="x", y="x")), "two different"),
        (AnmScores(model=Anm(x="x", y="sex")), "numbers"),
        (AnmScores(model=Anm(x="x", y="z")), "no column"),
        (AnmScores(model=Anm(x="x", y="y", ridge=0.0)), "ridge"),
        (AnmScores(model=Anm(x="x", y="y", ridge=float("nan"))), "ridge"),
        (AnmScores(model=Anm(x="x", y="y", bandwidth="median")), "taken from the rows"),  # type: ignore[arg-type]
        (AnmScores(model=MODEL, kernel="median"), "taken from the rows"),  # type: ignore[arg-type]
        (AnmScores(model=MODEL, score="pearson"), "choose a score"),
        (AnmScores(model=MODEL, release="all"), "release"),  # type: ignore[arg-type]
        (AnmScores(model=MODEL, protect="none"), "protect"),  # type: ignore[arg-type]
        (AnmScores(model=MODEL, score="kendall", pairs=-1), "pairs"),
    ],
)
def test_parameters_outside_the_proof_are_refused(query: AnmScores, words: str) -> None:
    with pytest.raises(PrivetError, match=words):
        query.check(schema_for(100))


def test_a_private_number_of_rows_is_refused() -> None:
    columns = schema_for(5).columns
    with pytest.raises(MethodError, match="replace-one"):
        AnmScores(model=MODEL).check(Schema(name="people", columns=columns))
    with pytest.raises(MethodError, match="missing"):
        AnmScores(model=MODEL).check(schema_for(5, missing="drop"))
    with pytest.raises(MethodError, match="at most"):
        AnmScores(model=MODEL).check(schema_for(1 << 22))
    turned = AnmScores(model=MODEL, score="kendall", pairs=4)
    with pytest.raises(MethodError, match="rows_per_person"):
        turned.bound(schema_for(50, rows_per_person=2))
