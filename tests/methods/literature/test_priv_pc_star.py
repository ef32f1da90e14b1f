"""priv-pc-star: second moments in a box, their bounds (proofs/box-moments.md) and their noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

import privet
from privet.errors import MethodError, SchemaError
from privet.methods import catalogue
from privet.methods.literature import priv_pc_star
from privet.methods.options import Settings
from privet.networks import LinearGaussian
from privet.privacy.laws import laplace_variance
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.base import Release
from privet.privacy.queries.box_moments import GRID, BoxMoments, matrix
from privet.privacy.vault import Vault
from privet.results import saved as evidence_file
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.trust.central import Central
from tests.helpers.totals import Totals

Floats = NDArray[np.float64]
FALSE_ALARM = 1e-6
EITHER = pytest.mark.parametrize("adjacency", list(Adjacency), ids=lambda a: a.value)

LEVEL = 1e-9  # so small that noise joins no two columns; the edges here are far above it


class Table(Totals):
    """Rows as a query sees them."""

    def __init__(self, rows: Floats, block: int = 1 << 16) -> None:
        self.rows, self.block = rows, block

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        for start in range(0, len(self.rows), self.block):
            yield self.rows[start : start + self.block]


def schema_for(
    size: int, adjacency: Adjacency = Adjacency.ADD_REMOVE, rows_per_person: int = 1
) -> Schema:
    columns = tuple(Column(name=f"x{i}", kind="numeric", bounds=(-2, 6)) for i in range(size))
    rows = 10 if adjacency is Adjacency.REPLACE_ONE else None
    return Schema(
        name="people",
        columns=columns,
        adjacency=adjacency,
        rows=rows,
        rows_per_person=rows_per_person,
    )


def exact(rows: Floats, schema: Schema, block: int = 1 << 16) -> NDArray[np.object_]:
    query = BoxMoments(columns=schema.names)
    query.check(schema)
    table = Table(rows.reshape(-1, len(schema.names)), block)
    values = query.evaluate(table, schema)  # type: ignore[arg-type]
    assert values.dtype == np.int64 and values.shape == (query.size(schema),)
    return values.astype(object)


def beyond(moved: NDArray[np.object_], schema: Schema, part: int = 1) -> list[str]:
    """The bounds (or their ``part``-th parts) that a change exceeds."""
    query = BoxMoments(columns=schema.names)
    norms = {
        "l1": int(abs(moved).sum()),
        "l2_squared": int((moved**2).sum()),
        "linf": int(abs(moved).max()),
    }
    return [name for name, found in norms.items() if part * found > getattr(query, name)(schema)]


def corners(size: int) -> list[Floats]:
    """Rows in the corners, the middles of the sides and the middle of the box."""
    return [np.array(row) for row in product((-2.0, 2.0, 6.0), repeat=size)]


@EITHER
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_pair_of_rows_in_the_corners_exceeds_a_bound(size: int, adjacency: Adjacency) -> None:
    """All rows (a dropped one is none) and all pairs of them."""
    schema = schema_for(size, adjacency)
    one = [exact(row, schema) for row in corners(size)]
    for first in one:
        assert not beyond(first, schema)
        if adjacency is Adjacency.REPLACE_ONE:
            assert not any(beyond(first - second, schema) for second in one)


@EITHER
def test_the_bound_is_attained(adjacency: Adjacency) -> None:
    """By a row in a corner; and a row in the place of another one comes near it, with half of
    the columns turned round."""
    schema = schema_for(9, adjacency)
    bound = BoxMoments(columns=schema.names).l1(schema)
    row, other = np.full(9, 6.0), np.full(9, 6.0)
    other[:5] = -2.0
    assert abs(exact(row, schema)).sum() == bound
    replaced = abs(exact(row, schema) - exact(other, schema)).sum()
    assert 0.9 * bound < replaced <= bound


@EITHER
def test_the_checker_catches_a_bound_that_is_halved(adjacency: Adjacency) -> None:
    schema = schema_for(3, adjacency)
    moved = [exact(row, schema) for row in corners(3)]
    if adjacency is Adjacency.REPLACE_ONE:
        moved = [a - b for a in moved for b in moved]
    assert {name for each in moved for name in beyond(each, schema, 2)} >= {"l1", "linf"}
    assert "l2_squared" in {name for each in moved for name in beyond(each, schema, 4)}


CELLS = st.one_of(st.floats(-3, 7), st.sampled_from([-2.0, 6.0, 2.0, 1e-300, 5.9999999]))


@settings(max_examples=150)
@given(
    st.integers(1, 3),
    st.sampled_from(list(Adjacency)),
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=6, max_size=12),
    st.integers(0, 3),
)
def test_one_person_moves_an_answer_by_at_most_its_sensitivity(
    own: int, adjacency: Adjacency, cells: list[tuple[float, ...]], dropped: int
) -> None:
    """A person with up to 3 rows comes, or has them replaced, some by rows that are dropped."""
    schema, rows = schema_for(3, adjacency, own), np.array(cells)
    others, old, new = rows[2 * own :], rows[:own], rows[own : 2 * own][dropped:]
    after = others if adjacency is Adjacency.ADD_REMOVE else np.vstack([new, others])
    moved = exact(np.vstack([old, others]), schema) - exact(after, schema)
    assert not beyond(moved, schema)


def test_a_row_contributes_the_same_whatever_stands_beside_it() -> None:
    rows = np.random.default_rng(0).uniform(-3, 7, (5000, 4))
    schema = schema_for(4)
    alone = sum(exact(row, schema) for row in rows[:100]) + exact(rows[100:], schema)
    for block in (1 << 16, 777):
        assert (exact(rows, schema, block) == alone).all()
        assert (exact(rows[::-1], schema, block) == alone).all()


def test_the_answer_is_the_sum_of_products() -> None:
    rows = np.random.default_rng(1).uniform(-2, 6, (300, 3))
    v = np.hstack([np.ones((300, 1)), (rows - 2) / 4])
    found = matrix(exact(rows, schema_for(3)).astype(np.int64), 3)
    assert np.abs(found - v.T @ v).max() < 300 / GRID


@pytest.mark.parametrize("columns", [(), ("x0", "x0"), ("kind",), ("nowhere",)])
def test_columns_that_have_no_moments_are_refused(columns: tuple[str, ...]) -> None:
    kind = Column(name="kind", kind="categorical", levels=("a", "b"), missing="drop")
    schema = replace(schema_for(2), columns=(*schema_for(2).columns, kind))
    with pytest.raises(SchemaError):
        BoxMoments(columns=columns).check(schema)


# --- the search ------------------------------------------------------------------------------

WEIGHTS = np.zeros((4, 4))  # a --> b --> c, d apart
WEIGHTS[0, 1] = WEIGHTS[1, 2] = 0.8
CHAIN = LinearGaussian(
    name="chain", names=tuple("abcd"), weights=WEIGHTS, noise=np.array([1, 0.6, 0.6, 1])
)


def release_of(data: dict[str, Floats], schema: Schema) -> Release:
    return Central.open(data, schema, None).exact(BoxMoments(columns=schema.names))


def test_the_noise_in_correlations_is_what_the_evidence_says() -> None:
    """Simulated noise, far larger than that of sampling: partial correlations that are nothing,
    over the deviation that is reckoned with, have variance 1 (or a little less: noise on the
    diagonal is taken for twice what it is)."""
    schema = CHAIN.schema()
    data = CHAIN.sample(50_000, np.random.default_rng(0))
    data["d"] = data["d"] - 3  # far off the middle, so that noise in the means counts
    plain, rng = release_of(data, schema), np.random.default_rng(1)
    scale, count = 150 * float(GRID**2), 3000
    questions = {2: np.array([[0, 3]]), 3: np.array([[0, 2, 1]])}
    seen: dict[int, list[float]] = {2: [], 3: []}
    for _ in range(count):
        noise = np.rint(rng.laplace(scale=scale, size=len(plain.values))).astype(np.int64)
        noisy = replace(plain, values=plain.values + noise, variance=laplace_variance(scale))
        judge = priv_pc_star.BoxJudge(priv_pc_star.evidence(schema, noisy), 0.1)
        for size, question in questions.items():
            r, variance = judge._correlations(question)
            seen[size].append(float(r[0] / sqrt(variance[0])))
    for values in seen.values():
        squared = float((np.array(values) ** 2).mean())
        spread = norm.isf(FALSE_ALARM / 2) * sqrt(5 / count)  # Laplace sums have kurtosis below 6
        assert 0.75 - spread < squared < 1.05 + spread


def test_without_noise_it_is_the_test_of_a_correlation() -> None:
    schema = CHAIN.schema()
    judge = priv_pc_star.BoxJudge(
        priv_pc_star.evidence(
            schema, release_of(CHAIN.sample(20_000, np.random.default_rng(3)), schema)
        ),
        0.1,
    )
    rows = np.stack(list(CHAIN.sample(20_000, np.random.default_rng(3)).values()))
    pairs = np.array(list(combinations(range(4), 2)))
    r, variance = judge._correlations(pairs)
    assert np.abs(r - np.asarray(np.corrcoef(rows))[pairs[:, 0], pairs[:, 1]]).max() < 1e-3
    assert np.allclose(variance, 1 / 20_000, rtol=1e-3)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_chain_is_found_and_its_evidence_can_be_searched_again(
    delta: float, tmp_path: Path
) -> None:
    data = CHAIN.sample(40_000, np.random.default_rng(4))
    found = privet.discover(
        data,
        CHAIN.schema(),
        epsilon=20,
        delta=delta,
        method="priv-pc-star",
        alpha=LEVEL,
        ledger=Ledger(":memory:"),
    )
    assert found.graph.skeleton() == {frozenset("ab"), frozenset("bc")}
    assert found.certificate["private"] is True
    (release,) = found.evidence.releases
    assert release.mechanism.startswith("Laplace")
    path = tmp_path / "evidence.json"
    path.write_text(evidence_file.to_json(found.evidence))
    assert privet.discover(evidence=path, alpha=LEVEL).graph == found.graph


def test_under_replace_one_the_rows_are_those_of_the_schema() -> None:
    schema = CHAIN.schema(adjacency=Adjacency.REPLACE_ONE, rows=40_000)
    data = CHAIN.sample(40_000, np.random.default_rng(4))
    budget: dict[str, Any] = {"epsilon": 20, "delta": 0, "ledger": Ledger(":memory:")}
    found = privet.discover(data, schema, method="priv-pc-star", alpha=LEVEL, **budget)
    assert priv_pc_star.evidence(schema, found.evidence.releases[0]).rows == 40_000
    assert found.graph.skeleton() == {frozenset("ab"), frozenset("bc")}


def test_overwhelming_noise_gives_an_empty_graph_and_no_error() -> None:
    data = CHAIN.sample(50, np.random.default_rng(4))
    found = privet.discover(
        data,
        CHAIN.schema(),
        epsilon=1e-4,
        delta=0,
        method="priv-pc-star",
        ledger=Ledger(":memory:"),
    )
    assert not found.graph.edges


def test_what_it_cannot_do_is_refused_before_a_row_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Vault, "__init__", None)
    kind = Column(name="kind", kind="categorical", levels=("a", "b"), missing="drop")
    mixed = replace(CHAIN.schema(), columns=(*CHAIN.schema().columns, kind))
    for schema in (mixed, CHAIN.schema()):
        with pytest.raises(MethodError, match=r"categorical|max_order"):
            catalogue.get("priv-pc-star").serve(schema, 0.0, Settings(max_order=99))
