"""Separations as evidence, and the graph that they give."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import privet
from privet.errors import BudgetError, EvidenceError, MethodError
from privet.graph.knowledge import Knowledge
from privet.graph.meek import cpdag
from privet.methods.literature.decisions import Separation, as_release, read
from privet.methods.literature.separations import search
from privet.methods.options import Settings
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.tables import Components, Tables
from privet.results.saved import Saved, load, to_json
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.central import Central


def schema_of(size: int, knowledge: Knowledge | None = None) -> Schema:
    names = [f"v{i}" for i in range(size)]
    columns = tuple(
        Column(name=n, kind="categorical", levels=("a", "b"), missing="value", missing_value="a")
        for n in names
    )
    return Schema(name="toy", columns=columns, knowledge=knowledge or Knowledge())


def separations(dag: NDArray[np.bool_]) -> list[Separation]:
    graph = nx.DiGraph(np.argwhere(dag).tolist())
    graph.add_nodes_from(range(len(dag)))
    apart = ((i, j) for i, j in combinations(range(len(dag)), 2) if not (dag[i, j] or dag[j, i]))
    return [
        Separation(x=j, y=i, given=tuple(nx.find_minimal_d_separator(graph, {i}, {j})))
        for i, j in apart
    ]


@pytest.mark.parametrize("seed", range(40))
def test_true_separations_give_the_true_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    order = rng.permutation(size)
    dag = np.triu(rng.random((size, size)) < 0.4, 1)[np.ix_(order, order)]
    found = search(schema_of(size), (as_release(separations(dag), 5, "Select"),), Settings())
    assert np.array_equal(found.graph.matrix(), cpdag(dag))
    assert found.tests == 5


def test_knowledge_is_honoured() -> None:
    known = Knowledge(required=frozenset({("v0", "v1")}), forbidden=frozenset({("v1", "v2")}))
    apart = as_release(
        [Separation(x=0, y=1, given=()), Separation(x=0, y=2, given=())], 2, "Select"
    )
    edges = {str(e) for e in search(schema_of(3, known), (apart,), Settings()).graph.edges}
    assert edges == {"v0 --> v1", "v2 --> v1"}


@given(st.lists(st.permutations(range(6)).map(lambda p: p[: 2 + p[0]]), max_size=8))
def test_separations_are_read_as_they_were_told(members: list[list[int]]) -> None:
    given_ = [Separation(x=m[0], y=m[1], given=tuple(m[2:])) for m in members]
    assert read(as_release(given_, 9, "Select"), 6) == tuple(given_)


@pytest.mark.parametrize("flat", [[0], [0, 1], [0, 1, 2, 3], [0, 0, 0], [0, 9, 0], [0, 1, -1]])
def test_nonsense_is_refused(flat: list[int]) -> None:
    release = as_release([], 1, "Select")
    broken = replace(release, values=np.array(flat, dtype=np.int64))
    with pytest.raises(EvidenceError):
        read(broken, 4)


def test_decisions_are_kept_in_the_evidence_file(tmp_path: Path) -> None:
    apart = as_release([Separation(x=0, y=1, given=(2,))], 3, "Select")
    saved = Saved(schema=schema_of(3), releases=(apart,), certificate={"private": True})
    (tmp_path / "evidence.json").write_text(to_json(saved))
    again = load(tmp_path / "evidence.json").releases[0]
    assert again.query == apart.query and read(again, 3) == read(apart, 3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_share_is_never_exceeded_and_nearly_used(delta: float) -> None:
    schema = schema_of(2)
    data = {"v0": ["a", "b"], "v1": ["b", "b"]}
    run = Ledger(":memory:").begin("toy", epsilon=1, delta=delta, method="m", unit=schema.unit)
    curator = Central.open(data, schema, run)
    share = Fraction(1, 7)
    for asked, ask in enumerate((curator.laplace, curator.select), start=1):
        ask(Tables((("v0", "v1"),)), share)
        assert run.spent <= asked * share * run.budget
        assert run.spent >= asked * share * run.budget * (1 - Fraction(1, 10**12))
    total = Components(((),))
    answers = list(curator.sieve([total, total], share, positives=2, threshold=10**6))
    assert answers == [False, False] and curator.left >= 1 - 3 * share
    with pytest.raises(BudgetError):
        curator.select(Tables((("v0",),)), Fraction(1))


def test_noise_without_a_budget_is_refused() -> None:
    curator = Central.open({"v0": ["a"], "v1": ["b"]}, schema_of(2), None)
    with pytest.raises(BudgetError, match="without a budget"):
        curator.select(Tables((("v0",),)), Fraction(1, 2))


def toy_run(**options: Any) -> privet.Discovery:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 4000)
    data = {
        "v0": np.where(a, "a", "b"),
        "v1": np.where(a ^ (rng.random(4000) < 0.1), "a", "b"),
        "v2": np.where(rng.random(4000) < 0.5, "a", "b"),
    }
    return privet.discover(data, schema_of(3), epsilon=5.0, ledger=":memory:", **options)


def test_answers_are_of_use_to_the_method_that_was_told_them_alone() -> None:
    found = toy_run(method="em-pc")
    again = privet.discover(evidence=found.evidence)
    assert again.graph == found.graph and again.certificate["reused"]
    with pytest.raises(MethodError, match="curate can make nothing"):
        privet.discover(evidence=found.evidence, method="curate")
    for options in ({"alpha": 0.5}, {"max_order": 0}, {"statistic": "kendall"}, {"cap": 3}):
        with pytest.raises(MethodError, match="asked without it"):
            privet.discover(evidence=found.evidence, **options)
    known = schema_of(3, Knowledge(forbidden=frozenset({("v0", "v1")})))
    with pytest.raises(EvidenceError, match="other knowledge"):
        privet.discover(evidence=found.evidence, schema=known)


def test_a_sample_with_a_delta_is_refused_before_a_cap_is_set(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(MethodError, match="delta=0"):
        privet.discover(
            {"v0": ["a"], "v1": ["b"]},
            schema_of(2),
            epsilon=1,
            method="priv-pc",
            subsample=0.5,
            ledger=book,
        )
    assert book.accounts() == ()
