"""lap-table: interactions read off a noisy table, and what their noise is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import privet
from privet.errors import MethodError
from privet.evidence.unit_noise import MOST_CELLS
from privet.evidence.whole_table import _margins, interactions
from privet.methods import catalogue
from privet.methods.options import Settings
from privet.networks import load
from privet.privacy.laws import laplace_variance
from privet.privacy.ledger.book import Ledger
from privet.privacy.mechanisms import Exact
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components, Tables
from privet.privacy.vault import Vault
from privet.results import saved as evidence_file
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from tests.helpers.asked import asked

FALSE_ALARM = 1e-6
LEVELS = {"a": 2, "b": 3, "c": 2, "d": 4, "e": 2}
SCHEMA = Schema(
    name="people",
    columns=tuple(
        Column(
            name=name,
            kind="ordinal" if name == "d" else "categorical",
            missing="drop",
            levels=tuple(f"{name}{i}" for i in range(size)),
        )
        for name, size in LEVELS.items()
    ),
)
REPLACED = replace(
    SCHEMA,
    adjacency=Adjacency.REPLACE_ONE,
    rows=5000,
    columns=tuple(replace(c, missing="value", missing_value=c.levels[0]) for c in SCHEMA.columns),
)


def rows(count: int, seed: int = 0) -> dict[str, list[str]]:
    """a --> b --> c, a --> d, e apart."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, count)
    b = np.where(rng.random(count) < 0.7, a, rng.integers(0, 3, count))
    c = np.where(rng.random(count) < 0.7, b > 0, rng.integers(0, 2, count)).astype(int)
    d = np.where(rng.random(count) < 0.6, a, rng.integers(0, 4, count))
    codes = dict(zip("abcde", (a, b, c, d, rng.integers(0, 2, count)), strict=True))
    return {name: [f"{name}{i}" for i in values] for name, values in codes.items()}


LEVEL = 1e-9
TRUTH = {frozenset("ab"), frozenset("bc"), frozenset("ad")}


@pytest.mark.parametrize("schema", [SCHEMA, REPLACED], ids=["add-remove", "replace-one"])
def test_interactions_of_the_table_are_those_of_the_rows(schema: Schema) -> None:
    vault = Vault(rows(5000), schema, None)
    whole = vault.release(Tables((schema.names,)), Exact())
    seen: set[tuple[str, ...]] = set()
    for release in interactions(schema, whole):
        assert isinstance(release.query, Components)
        assert release.values.tolist() == vault.release(release.query, Exact()).values.tolist()
        seen |= set(release.asked(Components).sets)
    wanted = {s for order in (1, 2, 3) for s in combinations(schema.names, order)}
    assert seen == wanted | (set() if schema is REPLACED else {()})


def test_the_noise_of_interactions_is_what_their_releases_say() -> None:
    """Over 1,000 tables of nothing but noise: variances, and no covariance between two sets or
    two numbers. A sum of k numbers of variance s² with kurtosis up to 6 has, over N tables, a mean
    square within s² (1 ± z sqrt(5/N))."""
    rng, scale, count = np.random.default_rng(0), 30.0, 1000
    cells = int(np.prod(list(LEVELS.values())))
    drawn: dict[tuple[str, ...], list[np.ndarray]] = {}
    stated: dict[tuple[str, ...], float] = {}
    for _ in range(count):
        noise = np.rint(rng.laplace(scale=scale, size=cells)).astype(np.int64)
        whole = Release(
            query=Tables((SCHEMA.names,)),
            values=noise,
            variance=laplace_variance(scale),
            mechanism="Laplace",
        )
        for release in interactions(SCHEMA, whole):
            sizes = [Components((s,)).size(SCHEMA) for s in asked(release, Components).sets]
            parts = np.split(release.values.astype(float), np.cumsum(sizes)[:-1])
            for members, part in zip(asked(release, Components).sets, parts, strict=True):
                drawn.setdefault(members, []).append(part / sqrt(release.variance))
                stated[members] = release.variance
    together = np.hstack([np.array(part) for part in drawn.values()])
    found = together.T @ together / count
    bar = norm.isf(FALSE_ALARM / found.size) * sqrt(5 / count)
    assert np.abs(found - np.eye(len(found))).max() < bar + 0.01  # contrasts are rounded
    assert stated["a",] > 0 and stated["a", "b"] != stated["a", "c"]


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("schema", [SCHEMA, REPLACED], ids=["add-remove", "replace-one"])
def test_the_graph_is_found_and_its_evidence_can_be_searched_again(
    delta: float, schema: Schema, tmp_path: Path
) -> None:
    """At a level so small that noise joins no two columns, and these edges are far above it."""
    found = privet.discover(
        rows(5000),
        schema,
        epsilon=20,
        delta=delta,
        method="lap-table",
        alpha=LEVEL,
        ledger=Ledger(":memory:"),
    )
    assert found.graph.skeleton() == TRUTH
    (release,) = found.evidence.releases
    assert release.mechanism.startswith("Laplace") and release.variance > 0
    path = tmp_path / "evidence.json"
    path.write_text(evidence_file.to_json(found.evidence))
    assert privet.discover(evidence=path, alpha=LEVEL).graph == found.graph


def test_noise_is_twice_as_large_where_rows_are_replaced() -> None:
    spent = {}
    for schema in (SCHEMA, REPLACED):
        found = privet.discover(
            rows(5000), schema, epsilon=1, delta=0, method="lap-table", ledger=Ledger(":memory:")
        )
        spent[schema.adjacency] = found.evidence.releases[0].variance
    assert spent[Adjacency.ADD_REMOVE] == laplace_variance(1)
    assert spent[Adjacency.REPLACE_ONE] == laplace_variance(2)


def test_a_domain_that_is_too_large_is_refused_with_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Vault, "__init__", None)
    schema = load("child").schema("child")
    cells = int(np.prod([float(column.cardinality) for column in schema.columns]))
    with pytest.raises(MethodError, match=rf"{cells} cells.*{MOST_CELLS}.*merge levels"):
        catalogue.get("lap-table").serve(schema, 0.0, Settings())


def test_margins_of_a_table_as_large_as_allowed_are_quick() -> None:
    """20 columns of two levels: 1,351 tables, together less work than a few passes each."""
    whole = np.zeros((2,) * 20, dtype=np.int64)
    whole[(0,) * 20] = 7
    small = _margins(whole)
    assert len(small) == 1 + 20 + 190 + 1140 and small[()] == 7
    assert small[3, 5, 19].shape == (2, 2, 2) and small[3, 5, 19][0, 0, 0] == 7
