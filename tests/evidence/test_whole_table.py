"""Where the table of all columns is small: it is measured whole, and a run that names no delta
promises none."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
import pytest

import privet
from privet.evidence import unit_noise
from privet.evidence.tables import TableEvidence
from privet.evidence.whole_table import is_whole
from privet.methods import catalogue
from privet.networks import load
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.contrasts import GRID
from privet.privacy.queries.tables import Tables
from privet.schema.column import Column
from privet.schema.model import Schema

SMALL, LARGE = "cancer", "sachs"


def table(name: str, rows: int = 3000) -> tuple[dict[str, list[str]], Schema]:
    network = load(name)
    codes = network.sample(rows, np.random.default_rng(1))
    return {
        column: np.array(network.levels[column])[values].tolist()
        for column, values in codes.items()
    }, network.schema()


def numbers(columns: int) -> Schema:
    made = tuple(Column(name=f"c{i}", kind="numeric", bounds=(-4, 4)) for i in range(columns))
    return Schema(name="t", columns=made)


@pytest.mark.parametrize("delta", [None, 0.0, 1e-6])
def test_a_small_table_is_measured_whole_whatever_delta_is_allowed(delta: float | None) -> None:
    """(epsilon, 0) implies (epsilon, delta): the quieter noise is taken."""
    data, schema = table(SMALL)
    found = privet.discover(data, schema, epsilon=1.0, delta=delta, ledger=":memory:")
    (release,) = found.evidence.releases
    assert release.query == Tables((schema.names,)) and is_whole(release, schema)
    assert found.certificate["delta"] == 0.0
    assert found.certificate["spent"]["epsilon_exact"] == "1/1"
    for method in ("interaction-ges", "interaction-fci", "lap-table"):
        again = privet.discover(evidence=found.evidence, method=method)
        assert again.certificate["reused"] and again.certificate["delta"] == 0.0


def test_a_delta_that_is_allowed_gives_no_smaller_a_promise_than_none(tmp_path: Path) -> None:
    """A cap without delta takes a run that names one; only a method that needs it is refused."""
    data, schema = table(SMALL, 300)
    book = Ledger(tmp_path / "ledger.sqlite")
    book.create(schema.name, epsilon=2.0, delta=0)
    assert (
        privet.discover(data, schema, epsilon=1, delta=1e-6, ledger=book).certificate["delta"] == 0
    )
    numeric = numbers(3)
    book.create(numeric.name, epsilon=2.0, delta=0)
    rows = {name: [0.0, 1.0] for name in numeric.names}
    with pytest.raises(privet.PrivetError, match="has delta 0"):
        privet.discover(rows, numeric, epsilon=1, delta=1e-6, method="moment-pc", ledger=book)


def test_a_large_table_is_not() -> None:
    data, schema = table(LARGE, 500)
    found = privet.discover(data, schema, epsilon=1.0, ledger=":memory:")
    assert found.certificate["delta"] == 1e-6
    assert not any(isinstance(one.query, Tables) for one in found.evidence.releases)


@pytest.mark.parametrize(
    ("method", "schema", "delta"),
    [
        ("auto", load(SMALL).schema(), 0.0),
        ("interaction-mcmc", load(SMALL).schema(), 0.0),
        ("em-pc", load(SMALL).schema(), 1e-6),
        ("lap-table", load(LARGE).schema(), 0.0),
        ("auto", load(LARGE).schema(), 1e-6),
        ("auto", load("child").schema(), 1e-6),
        ("auto", numbers(3), 1e-6),
        ("priv-pc-star", numbers(3), 0.0),
    ],
)
def test_the_delta_of_a_run_that_names_none(method: str, schema: Schema, delta: float) -> None:
    chosen = catalogue.auto(schema, 1e-6, True) if method == "auto" else catalogue.get(method)
    assert chosen.delta(schema, 0.5, 1e-6) == delta


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_kind_of_a_cap_is_kept_to(delta: float, tmp_path: Path) -> None:
    data, schema = table(SMALL, 300)
    book = Ledger(tmp_path / "ledger.sqlite")
    book.create(schema.name, epsilon=2.0, delta=delta)
    for _ in range(2):
        found = privet.discover(data, schema, epsilon=0.5, ledger=book)
        assert found.certificate["delta"] == (1e-6 if delta else 0.0)


def test_what_is_called_quieter_is() -> None:
    """The planned variance of a pair, against what releases say of the noise in them."""
    data, schema = table(SMALL, 100)
    pure = privet.discover(data, schema, epsilon=0.1, delta=0.0, ledger=":memory:")
    (whole,) = pure.evidence.releases
    levels = [column.cardinality for column in schema.columns]
    for r, c in combinations(levels, 2):
        real = whole.variance * prod(levels) / (r * c)
        planned = unit_noise.of_whole(schema, r, c, 0.1)
        assert real == pytest.approx(planned, rel=0.01)  # discrete noise is a little quieter
    book = Ledger(":memory:")
    book.create(schema.name, epsilon=0.1, delta=1e-6)
    blurred = privet.discover(data, schema, epsilon=0.1, features="contrasts", ledger=book)
    evidence = TableEvidence.from_releases(schema, schema.names, blurred.evidence.releases)
    assert evidence.layers[2].variances.min() / GRID**4 > planned
    assert unit_noise.pure_is_quieter(schema, 0.1, 1e-6)


def test_no_epsilon_makes_a_large_table_quieter() -> None:
    schema = load("child").schema()
    assert not unit_noise.whole_is_quieter(schema)
    assert not any(unit_noise.pure_is_quieter(schema, e, 1e-6) for e in (0.01, 0.1, 1.0, 10.0))


def test_a_table_of_other_columns_is_not_the_whole() -> None:
    """An evidence file may come from anywhere."""
    data, schema = table(SMALL, 300)
    found = privet.discover(data, schema, epsilon=1.0, ledger=":memory:")
    (whole,) = found.evidence.releases
    for names in (schema.names[::-1], schema.names[:2]):
        assert not is_whole(replace(whole, query=Tables((names,))), schema)
