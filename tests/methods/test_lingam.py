"""DirectLiNGAM: the order of the columns from rows, and the graph from that order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.errors import EvidenceError, SchemaError
from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge
from privet.methods.searches.causal_order import CausalOrder, Ordered, causal_order
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.source import open_source
from privet.privacy.queries.base import Release
from privet.results.saved import Saved, load, to_json
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.direct_lingam import direct_lingam
from privet.trust.central import Central
from tests.search.test_continuous import (
    Bools,
    Floats,
    any_knowledge,
    free,
    random_dag,
    random_weights,
    rng_of,
)


def rows_of(weights: Floats, count: int, law: str, rng: np.random.Generator) -> Floats:
    size = count, len(weights)
    errors = rng.uniform(-1, 1, size) if law == "uniform" else rng.laplace(size=size)
    return np.asarray(errors @ np.linalg.inv(np.eye(len(weights)) - weights))


def nothing(size: int) -> tuple[Bools, ...]:
    return (np.zeros((size, size), dtype=bool),)


def follows(order: list[int], dag: Bools) -> bool:
    return not dag[np.ix_(order, order)][np.tril_indices(len(order))].any()


@pytest.mark.parametrize("law", ["uniform", "laplace"])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_causal_learn(seed: int, law: str) -> None:
    from causallearn.search.FCMBased.lingam import DirectLiNGAM, MultiGroupDirectLiNGAM

    rng = rng_of(7, seed)
    dag = random_dag(rng, 6, 2.5)
    groups = [rows_of(random_weights(dag, rng), 600, law, rng) for _ in range(3)]
    peer = DirectLiNGAM()
    peer.fit(groups[0])
    assert causal_order(groups[:1], nothing(6)) == [int(i) for i in peer.causal_order_]
    peers = MultiGroupDirectLiNGAM()
    peers.fit(groups)
    assert causal_order(groups, nothing(6)) == [int(i) for i in peers.causal_order_]


@pytest.mark.parametrize("law", ["uniform", "laplace"])
@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_that_of_the_model(seed: int, law: str) -> None:
    rng = rng_of(7, seed)
    dag = random_dag(rng, 8, 2.5)
    groups = [rows_of(random_weights(dag, rng), 10_000, law, rng) for _ in range(2)]
    assert follows(causal_order(groups[:1], nothing(8)), dag)
    assert follows(causal_order(groups, nothing(8)), dag)


@pytest.mark.parametrize("seed", range(4))
def test_the_numbering_and_the_units_do_not_matter_to_an_order(seed: int) -> None:
    rng = rng_of(8, seed)
    x = rows_of(random_weights(random_dag(rng, 7, 2.5), rng), 1000, "laplace", rng)
    base = causal_order([x], nothing(7))
    order = rng.permutation(7)
    renamed = causal_order([x[:, order] * rng.uniform(0.1, 9, 7) + 3], nothing(7))
    assert [int(order[i]) for i in renamed] == base


def mixed(names: tuple[str, ...], levels: tuple[str, ...], **public: Any) -> Schema:
    columns = [Column(name=name, kind="numeric", bounds=(-500.0, 500.0)) for name in names]
    if levels:
        columns.append(Column(name="site", kind="categorical", levels=levels, missing="drop"))
    return Schema(name="people", columns=tuple(columns), **public)


def asked(data: dict[str, Any], schema: Schema) -> tuple[Release, Ordered]:
    numeric = tuple(column.name for column in schema.columns if column.bounds)
    query = CausalOrder(columns=numeric, group="site" if "site" in data else None)
    release = Central.open(data, schema, None).exact(query)
    assert len(release.values) == query.size(schema)
    return release, query.unpack(release.values, schema)


def test_groups_share_a_graph_and_have_weights_of_their_own() -> None:
    """Three sites of different sizes, signs and centres; taken together they would mislead."""
    rng = rng_of(9)
    names = tuple("abcde")
    dag = random_dag(rng, 5, 2.5)
    truths = [random_weights(dag, rng) for _ in range(3)]
    parts = [
        rows_of(weights, count, "laplace", rng) + 20 * rng.normal(size=5)
        for weights, count in zip(truths, (3000, 2000, 4000), strict=True)
    ]
    whole, site = np.concatenate(parts), np.repeat(["x", "y", "z"], [3000, 2000, 4000])
    shuffled = rng.permutation(len(whole))
    data = {name: whole[shuffled, i] for i, name in enumerate(names)}
    schema = mixed(names, ("x", "y", "z", "empty"))
    _, known = asked(data | {"site": site[shuffled]}, schema)
    assert known.rows == (3000, 2000, 4000, 0) and follows(list(known.order), dag)
    for part, found in zip(parts, known.correlations, strict=False):
        assert found == pytest.approx(np.corrcoef(part.T), abs=1e-9)
    found = direct_lingam(known.order, known.rows, known.correlations, free(5))
    assert np.array_equal(found.arrows, dag)
    for truth, part, weights in zip(truths, parts, found.weights, strict=False):
        scale = part.std(axis=0)
        assert weights * scale / scale[:, None] == pytest.approx(truth, abs=0.1)
    assert not found.weights[3].any()


def test_codes_and_numbers_of_a_row_stay_together(tmp_path: Path) -> None:
    """More rows than one block or one thread reads, in any order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 300_000
    site = rng_of(10).integers(0, 3, count)
    table = pa.table({"a": site * 100.0, "site": np.array(["x", "y", "z"])[site]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20_000)
    schema = mixed(("a",), ("z", "y", "x"))
    source, positions = open_source(tmp_path / "rows.parquet", schema)
    rows = Encoder(schema=schema, positions=positions).rows(source)
    blocks = np.concatenate(list(rows.numbers(("a", "site"))))
    assert len(blocks) == count and np.array_equal(blocks[:, 0], 200 - 100 * blocks[:, 1])


@pytest.mark.parametrize("seed", range(12))
def test_an_order_honours_knowledge_right_or_wrong(seed: int) -> None:
    rng = rng_of(11, seed)
    names = [f"c{i}" for i in range(6)]
    knowledge = any_knowledge(names, rng)
    x = rows_of(random_weights(random_dag(rng, 6, 2.5), rng), 400, "uniform", rng)
    schema = mixed(tuple(names), (), knowledge=knowledge)
    _, known = asked({name: x[:, i] for i, name in enumerate(names)}, schema)
    constraints = Constraints.of(names, knowledge)
    found = direct_lingam(known.order, known.rows, known.correlations, constraints).arrows
    assert np.array_equal(apply_knowledge(found, names, knowledge), found)


def test_tiers_put_right_what_the_rows_leave_open() -> None:
    """Gaussian errors tell no direction; tiers do, and lose no edge."""
    x = rng_of(12).normal(size=(2000, 2)) @ np.array([[1.0, 0.9], [0.0, 0.5]])
    for tiers in ((("a",), ("b",)), (("b",), ("a",))):
        knowledge = Knowledge(tiers=tiers)
        schema = mixed(("a", "b"), (), knowledge=knowledge)
        _, known = asked({"a": x[:, 0], "b": x[:, 1]}, schema)
        constraints = Constraints.of(["a", "b"], knowledge)
        found = direct_lingam(known.order, known.rows, known.correlations, constraints).arrows
        assert ("ab"[known.order[0]],) == tiers[0] and found.sum() == 1


def test_parents_without_effect_are_left_out_and_required_ones_stay() -> None:
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    correlation = np.asarray(np.corrcoef(rows_of(dag * 0.8, 5000, "laplace", rng_of(13)).T))[None]
    assert np.array_equal(direct_lingam(range(4), [5000], correlation, free(4)).arrows, dag)
    known = Constraints.of(list("abcd"), Knowledge(required=frozenset({("a", "d")})))
    dag[0, 3] = True
    assert np.array_equal(direct_lingam(range(4), [5000], correlation, known).arrows, dag)
    few = direct_lingam(range(4), [5], correlation, free(4))
    assert len(few.arrows) == 4  # five rows say nothing, and that is no error


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_few_rows_and_constant_columns_are_no_error(rows: int) -> None:
    data = {"a": [1.0] * rows, "b": [2.0, 3.0, 5.0][:rows], "c": [2.0, 3.0, 5.0][:rows]}
    _, known = asked({name: np.array(x) for name, x in data.items()}, mixed(("a", "b", "c"), ()))
    assert sorted(known.order) == [0, 1, 2] and known.rows == (rows,)
    assert np.isfinite(known.correlations).all()
    direct_lingam(known.order, known.rows, known.correlations, free(3))


def test_an_order_is_never_private() -> None:
    schema, query = mixed(("a", "b"), ()), CausalOrder(columns=("a", "b"))
    for bound in (query.l1, query.l2_squared, query.linf):
        with pytest.raises(SchemaError, match=r"no known bound .* private=False"):
            bound(schema)


def test_an_order_is_kept_in_evidence_but_not_under_a_promise(tmp_path: Path) -> None:
    schema, x = mixed(("a", "b"), ("x", "y")), rng_of(14).laplace(size=(50, 2))
    release, _ = asked({"a": x[:, 0], "b": x[:, 1], "site": ["x", "y"] * 25}, schema)
    path = tmp_path / "evidence.json"
    saved = Saved(schema=schema, releases=(release,), certificate={"private": False})
    path.write_text(to_json(saved))
    again = load(path).releases[0]
    assert again.query == release.query and np.array_equal(again.values, release.values)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"certificate": {"private": True}}))
    with pytest.raises(EvidenceError, match="damaged"):
        load(path)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (CausalOrder(columns=("a",)), "two or more different"),
        (CausalOrder(columns=("a", "a")), "two or more different"),
        (CausalOrder(columns=("a", "site")), "'site' is categorical"),
        (CausalOrder(columns=("a", "b"), group="b"), "'b' is numeric and cannot mark groups"),
        (CausalOrder(columns=("a", "who")), "who"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(query: CausalOrder, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        query.check(mixed(("a", "b"), ("x", "y")))
