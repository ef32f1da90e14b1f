"""Columns that another one gives away: found through noise, and never because of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.api.discover import measure
from privet.evidence.copies import Guess, copies, counted, guesses
from privet.evidence.counts import Counts, PairCounts, every_pair, pairs_by_shape
from privet.evidence.tables import TableEvidence
from privet.methods.options import make_settings
from privet.privacy.mechanisms import Exact
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

LEVELS = {"a": 4, "same": 4, "coarse": 2, "nearly": 4, "free": 3}


def schema_of(levels: dict[str, int]) -> Schema:
    columns = tuple(
        Column(name=name, kind="categorical", levels=tuple(f"l{i}" for i in range(k)))
        for name, k in levels.items()
    )
    return Schema(name="s", columns=columns)


def codes(rows: int, seed: int = 1) -> dict[str, NDArray[Any]]:
    """A copy under other labels, a function, a near copy (one row in ten differs), and noise."""
    rng = np.random.default_rng(seed)
    a = rng.choice(4, size=rows, p=[0.4, 0.3, 0.2, 0.1])
    other = rng.integers(4, size=rows)
    return {
        "a": a,
        "same": (a + 1) % 4,
        "coarse": (a > 1).astype(int),
        "nearly": np.where(rng.random(rows) < 0.1, other, a),
        "free": rng.integers(3, size=rows),
    }


def evidence_of(
    table: dict[str, NDArray[Any]], levels: dict[str, int], epsilon: float | None
) -> TableEvidence:
    cells = {name: [f"l{i}" for i in column] for name, column in table.items()}
    private = epsilon is not None
    saved = measure(
        cells,
        schema_of(levels),
        make_settings(),
        epsilon=epsilon,
        delta=1e-6 if private else None,
        private=private,
        ledger=":memory:" if private else None,
    )
    return TableEvidence.from_releases(saved.schema, saved.schema.names, saved.releases)


def found(evidence: TableEvidence) -> set[tuple[str, str]]:
    return {(one.given, one.column) for one in guesses([evidence])}


def test_pairs_without_noise_are_those_that_are_there() -> None:
    """From what was measured, and as they are counted; and they tell the same copies."""
    table, schema = codes(500), schema_of(LEVELS)
    evidence, cells = evidence_of(table, LEVELS, None), [*table.values()]
    vault = Vault({name: [f"l{i}" for i in each] for name, each in table.items()}, schema, None)
    measured = PairCounts.of(evidence)
    again = PairCounts.counted(schema, vault.release(every_pair(schema.names), Exact()))
    assert measured is not None
    assert np.array_equal(measured.matrix, again.matrix)
    assert np.array_equal(measured.matrix, measured.matrix.T)
    for x, own in enumerate(cells):
        for y, other in enumerate(cells):
            plain = np.zeros([[*LEVELS.values()][i] for i in (x, y)], dtype=int)
            np.add.at(plain, (own, other), 1)
            assert np.array_equal(measured.tables(np.array([[x, y]]))[0], plain)
    for some in pairs_by_shape(evidence):
        assert np.array_equal(measured.tables(some), np.rint(evidence.tables(some)))
    both = [*zip(counted(schema.names, measured), guesses([evidence]), strict=True)]
    for first, second in both:  # one from rounded tables, the other not
        assert (first.given, first.column) == (second.given, second.column)
        assert (first.share, first.least) == pytest.approx((second.share, second.least))
    assert {(one.given, one.column) for one, _ in both} == GIVEN_AWAY


@pytest.mark.parametrize("adjacency", Adjacency)
def test_counted_pairs_tell_what_components_would(adjacency: Adjacency) -> None:
    public = 500 if adjacency is Adjacency.REPLACE_ONE else None
    table, schema = codes(500), replace(schema_of(LEVELS), adjacency=adjacency, rows=public)
    vault = Vault({name: [f"l{i}" for i in each] for name, each in table.items()}, schema, None)
    counts = PairCounts.counted(schema, vault.release(every_pair(schema.names), Exact()))
    told = counts.components(schema)
    assert [len(query.sets[0]) for query, _ in told] == [*range(3 - len(told), 3)]
    for query, values in told:
        assert np.array_equal(values, vault.release(query, Exact()).values)


def test_one_column_has_no_pairs() -> None:
    schema = schema_of({"a": 2})
    assert PairCounts.of(TableEvidence.empty(schema, schema.names)) is None


GIVEN_AWAY = {("a", "same"), ("same", "a"), ("a", "coarse"), ("same", "coarse")}


@pytest.mark.parametrize("epsilon", [None, 4.0], ids=["exact", "private"])
def test_copies_and_functions_are_told_from_near_ones(epsilon: float | None) -> None:
    """Noise at epsilon 4 is dozens of deviations away from the bars."""
    evidence = evidence_of(codes(50_000), LEVELS, epsilon)
    assert found(evidence) == GIVEN_AWAY


def test_noise_makes_no_copies() -> None:
    """A hundred rows at epsilon 0.05: what noise would call a copy is none, once it is known."""
    table = {f"c{i}": np.random.default_rng(i).integers(8, size=100) for i in range(6)}
    evidence = replace(evidence_of(table, dict.fromkeys(table, 8), 0.05), rows=np.array(1000.0))
    assert not found(evidence)
    layers = {
        order: replace(layer, variances=np.zeros_like(layer.variances))
        for order, layer in evidence.layers.items()
    }
    deaf = replace(evidence, layers=layers, rows_variance=0.0)
    assert found(deaf)  # the same numbers, their noise not reckoned with


def test_few_rows_make_no_copies() -> None:
    """Where each level has one row, everything is a function of everything."""
    table = {name: np.random.default_rng(i).permutation(16) for i, name in enumerate("xyz")}
    assert not found(evidence_of(table, dict.fromkeys("xyz", 16), None))


def test_noise_of_sums_of_cells() -> None:
    """Its variance is the sum over all components of what each adds to the sum."""
    evidence = evidence_of(codes(500), LEVELS, 1.0)
    sets = np.array([[0, 4], [1, 4]], dtype=np.intp)
    weights = np.random.default_rng(2).normal(size=(2, 4, 3))
    expected = np.full(2, evidence.rows_variance) * _gain(
        evidence, sets, weights, rows=np.array(float(evidence.rows) + 1)
    )
    for order, layer in evidence.layers.items():
        spread = np.repeat(layer.variances, np.diff(layer.offsets))
        for at in np.flatnonzero(spread) if order < 3 else ():
            values = layer.values.copy()
            values[at] += 1.0
            moved = {**evidence.layers, order: replace(layer, values=values)}
            expected = expected + spread[at] * _gain(evidence, sets, weights, layers=moved)
    told = Counts.of([evidence], sets).deviations(weights)
    assert told**2 == pytest.approx(expected, rel=1e-6)
    both = Counts.of([evidence, evidence], sets)
    assert both.deviations(weights) == pytest.approx(told * 2**0.5)
    assert both.tables == pytest.approx(2 * evidence.tables(sets))


def _gain(evidence: TableEvidence, sets: Any, weights: Any, **changes: Any) -> Any:
    """The squared change of the sums if one component were larger by one."""
    more = replace(evidence, **changes).tables(sets) - evidence.tables(sets)
    return (more * weights).sum(axis=(1, 2)) ** 2


def guess(given: str, column: str) -> Guess:
    return Guess(given=given, column=column, share=1.0, least=1.0)


def test_the_first_of_several_copies_is_kept() -> None:
    names = ("x", "y", "z", "w")
    every = [guess(a, b) for a in "xyz" for b in "xyz" if a != b] + [guess("x", "w")]
    assert copies(every, names) == {"y": "x", "z": "x"}
    assert copies(every, names, kept=["z"]) == {"x": "z", "y": "z"}
    assert copies(every, names, kept=["z", "x"]) == {"y": "x"}
