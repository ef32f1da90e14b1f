"""Replicas have the right spread, are searched as if one by one, and are counted right."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from privet.arrays import Floats
from privet.errors import SchemaError
from privet.evidence import table_replicas as replicas
from privet.evidence.layers import Layer
from privet.evidence.table_replicas import table_replicas
from privet.evidence.tables import TableEvidence
from privet.evidence.white import Design
from privet.graph.confidence import with_confidence
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.independence.tables import TableJudge
from privet.methods import catalogue
from privet.methods.listener import Listener
from privet.methods.options import Settings
from privet.methods.sources import tables
from privet.networks import load
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import GRID
from privet.schema.model import Schema
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.pc import collider_weights, skeleton
from privet.search.skeleton import complete
from privet.search.stability import RESTARTS, replicated
from privet.trust.central import Central
from tests.helpers.stacks import stack


def exact_evidence(name: str, rows: int) -> tuple[TableEvidence, tuple[Release, ...]]:
    model = load(name)
    codes = model.sample(rows, np.random.default_rng(5))
    data = {name: np.array(model.levels[name])[codes[name]] for name in model.names}
    releases = tables.measure(Central.open(data, model.schema(), None), Settings())
    return TableEvidence.from_releases(model.schema(), model.names, releases), releases


# White under other shares than the table has, as they are where margins were noisy.
SHARES = [np.array([0.3, 0.4, 0.3]), np.array([0.7, 0.3])]
WHITE = tuple(np.array(u) / GRID for u in Design.of(("a", "b"), SHARES, 1.0).features)
# Of each number the privacy noise makes about as much as sampling.
measured = pytest.mark.parametrize(
    ("features", "noise"), [(None, 4e15), (WHITE, 3e4)], ids=["contrasts", "white"]
)


@measured
def test_replicas_spread_like_privacy_noise_and_sampling_together(
    features: tuple[Floats, ...] | None, noise: float
) -> None:
    """For a table of independent columns the spread of a replica is known exactly."""
    found, expected, rows = spread(features, noise)
    assert found == pytest.approx(expected, rel=0.06, abs=0.06 * expected.max())
    assert rows == pytest.approx(10.0, rel=0.05)


@pytest.mark.parametrize(("sampling", "privacy"), [(0.0, 1.0), (0.9, 1.0), (1.0, 0.5)])
@measured
def test_replicas_with_less_noise_are_caught(
    features: tuple[Floats, ...] | None,
    noise: float,
    sampling: float,
    privacy: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: shorter roots of the covariance of one record, or less of the privacy noise."""
    roots = replicas._sampling_roots
    monkeypatch.setattr(replicas, "_sampling_roots", lambda each: sampling * roots(each))
    found, expected, _ = spread(features, noise, privacy)
    assert found != pytest.approx(expected, rel=0.06, abs=0.06 * expected.max())


def spread(
    features: tuple[Floats, ...] | None, noise: float, told: float = 1.0
) -> tuple[Floats, Floats, float]:
    """The covariance of a pair in 20,000 replicas that are told this share of the noise, what it
    should be, and the deviation of rows."""
    rng = np.random.default_rng(1)
    p, q, rows = np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.6]), 50_000
    counts = np.round(rows * np.outer(p, q)).astype(int)
    one = stack(counts[None], {0: 100.0, 1: 1e4, 2: noise}, rng, features=features)
    layers = {order: _first(layer) for order, layer in one.layers.items()}
    single = replace(one, rows=np.array(float(rows)), layers=layers)
    less = {order: replace(each, variances=told * each.variances) for order, each in layers.items()}
    drawn = table_replicas(replace(single, layers=less), 20_000, rng)
    designs = (np.linalg.inv(single.inverses(np.array([i]))[0])[1:] for i in (0, 1))
    own = [h @ (np.diag(s) - np.outer(s, s)) @ h.T for h, s in zip(designs, (p, q), strict=True)]
    expected = rows * np.kron(*own) + noise * np.eye(2)
    return np.cov(drawn.layers[2].values.T), expected, float(drawn.rows.std())


def confidence(graph: Graph, source: str, target: str) -> float:
    edge = graph.edge(source, target)
    assert edge is not None and edge.confidence is not None
    return edge.confidence


def _first(layer: Layer) -> Layer:
    return replace(layer, values=layer.values[0])


def test_a_stack_is_searched_as_its_replicas_would_be_one_by_one() -> None:
    evidence, _ = exact_evidence("asia", 3_000)
    constraints = Constraints.of(evidence.names, load("asia").schema().knowledge)
    drawn = table_replicas(evidence, 6, np.random.default_rng(2))
    start = complete(8)

    def generators() -> list[np.random.Generator]:
        return np.random.default_rng(3).spawn(6)

    together = replicated(TableJudge(drawn, 0.2), start, constraints, 2, generators())
    for r, rng in enumerate(generators()):
        layers = {
            order: type(layer)(layer.keys, layer.offsets, layer.values[r], layer.variances)
            for order, layer in drawn.layers.items()
        }
        alone = TableEvidence(
            names=drawn.names,
            cardinalities=drawn.cardinalities,
            ordered=drawn.ordered,
            rows=drawn.rows[r],
            rows_variance=drawn.rows_variance,
            layers=layers,
        )
        judge = TableJudge(alone, 0.2)
        joined = skeleton(judge, constraints, 2)
        assert np.array_equal(together[r] | together[r].T, joined.adjacent)
        again = orient_as_replicas_are(judge, joined.adjacent, constraints, rng)
        assert np.array_equal(together[r], again)


def orient_as_replicas_are(
    judge: TableJudge, adjacent: np.ndarray, constraints: Constraints, rng: np.random.Generator
) -> np.ndarray:
    triples = unshielded(adjacent)
    weights = collider_weights(judge.margins, adjacent, triples)
    return orient(
        adjacent, triples, weights, allowed=constraints.allowed, rng=rng, restarts=RESTARTS
    )


def test_a_listener_keeps_what_was_found_and_what_was_dropped_with_doubt() -> None:
    def margins(questions: np.ndarray) -> np.ndarray:
        lowest = {(0, 1): 5.0, (0, 2): -0.5, (0, 3): -9.0}
        return np.array([lowest.get((x, y), -9.0) for x, y, *_ in questions.tolist()])

    listener = Listener()
    listener.by(margins)(np.array(list(combinations(range(4), 2))))
    listener.joined = np.zeros((4, 4), dtype=bool)
    listener.joined[2, 3] = True
    kept = listener.near(4)
    assert kept is not None
    assert {(x, y) for x, y in np.argwhere(np.triu(kept)).tolist()} == {(0, 1), (0, 2), (2, 3)}
    assert listener.count == 6


def test_shares_count_edges_and_arrows_and_are_never_certain() -> None:
    arrow, back, line, none = (
        Graph("mpdag", ("a", "b", "c"), edges)
        for edges in (
            (Edge("a", "b", "-->"),),
            (Edge("b", "a", "-->"),),
            (Edge("b", "a", "---"),),
            (),
        )
    )
    (edge,) = with_confidence(arrow, [arrow, arrow, line, none]).edges
    assert (edge.source, edge.target, edge.mark) == ("a", "b", "-->")
    assert (edge.confidence, edge.arrow_confidence) == (0.7, 0.6)  # a line counts half
    (edge,) = with_confidence(arrow, [back] * 4).edges
    assert (edge.confidence, edge.arrow_confidence) == (0.9, 0.45)  # no less sure than b --> a
    (edge,) = with_confidence(arrow, [arrow] * 4, {frozenset("ab"): 0.0}).edges
    assert (edge.confidence, edge.arrow_confidence) == (0.95, 0.9)
    (edge,) = with_confidence(arrow, [arrow] * 20, {frozenset("ab"): 0.0}).edges
    assert (edge.confidence, edge.arrow_confidence) == (0.95, 0.95)  # no surer than the edge
    (edge,) = with_confidence(line, [line] * 20).edges
    assert edge.confidence == pytest.approx(20.5 / 21, abs=1e-3)
    assert edge.arrow_confidence is None
    (edge,) = with_confidence(line, []).edges
    assert edge.confidence is None
    half = Graph("pag", ("a", "b"), (Edge("b", "a", "o->"),))
    other = Graph("pag", ("a", "b"), (Edge("a", "b", "o->"),))
    (edge,) = with_confidence(half, [half, other]).edges
    assert (edge.confidence, edge.arrow_confidence) == (0.833, 0.5)


def test_a_clear_edge_is_surer_than_a_doubtful_one() -> None:
    """One strong and one faint dependence, no privacy noise: confidence tells them apart."""
    rng = np.random.default_rng(8)
    rows = 4_000
    a = rng.random(rows) < 0.5
    b = a ^ (rng.random(rows) < 0.1)
    c = rng.random(rows) < np.where(a, 0.53, 0.47)
    columns = {"a": a, "b": b, "c": c}
    data = {name: np.where(column, "y", "n") for name, column in columns.items()}
    column = {"kind": "categorical", "levels": ["n", "y"]}
    schema = Schema.from_dict({"name": "t", "columns": {name: column for name in "abc"}})
    settings = Settings(alpha=0.9, replicas=40)
    releases = tables.measure(Central.open(data, schema, None), settings)
    graph = catalogue.get("interaction-pc").search(schema, releases, settings).graph
    sure = confidence(graph, "a", "b")
    assert sure > 0.95
    if graph.adjacent("a", "c"):
        assert confidence(graph, "a", "c") < sure


def test_components_that_do_not_fit_are_refused() -> None:
    schema = load("asia").schema()
    with pytest.raises(SchemaError, match="at most 3"):
        Components((("asia", "tub", "smoke", "lung"),)).check(schema)
    with pytest.raises(SchemaError, match="twice"):
        Components((("asia", "asia"),)).check(schema)
    with pytest.raises(SchemaError, match="one size"):
        Components((("asia",), ("asia", "tub"))).check(schema)
