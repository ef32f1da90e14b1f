"""Known values, and the intervention distance against exact distributions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from privet.arrays import Bools, Floats
from privet.errors import GraphError
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.metrics import compare, structural_intervention_distance


def dag(nodes: str, *pairs: str) -> Graph:
    return Graph("dag", tuple(nodes), tuple(Edge(pair[0], pair[1], "-->") for pair in pairs))


def test_a_graph_agrees_with_itself() -> None:
    truth = dag("abcd", "ab", "cb", "bd")
    same = compare(truth, truth)
    assert (same.shd, same.sid, same.fpr) == (0, 0, 0.0)
    assert same.skeleton_f1 == same.directed_f1 == same.tpr == same.tdr == 1.0
    assert compare(truth, truth.cpdag()).sid is None
    assert compare(truth, truth.cpdag()).shd == 0


def test_known_values() -> None:
    truth = dag("abcd", "ab", "cb", "bd")  # all arrows are compelled
    edges = (Edge("b", "a", "---"), Edge("c", "b", "-->"), Edge("d", "c", "-->"))
    found = Graph("pdag", tuple("dcba"), edges)
    result = compare(truth, found)
    assert result.shd == 3  # a-b undirected, b-d missing, c-d extra
    assert result.skeleton_precision == result.skeleton_recall == pytest.approx(2 / 3)
    assert (result.tpr, result.tdr) == (result.skeleton_recall, result.skeleton_precision)
    assert result.fpr == pytest.approx(1 / 3)
    assert result.directed_precision == pytest.approx(2 / 4)  # a->b, b->a, c->b, d->c
    assert result.directed_recall == pytest.approx(2 / 3)
    assert result.directed_f1 == pytest.approx(2 * 2 / 7)


def test_dags_of_one_class_differ_in_nothing_but_interventions() -> None:
    result = compare(dag("abc", "ab", "bc"), dag("abc", "cb", "ba"))
    assert (result.shd, result.directed_f1) == (0, 1.0)
    assert result.sid == 6


def test_conventions_for_nothing() -> None:
    nothing, full = dag("abc"), dag("abc", "ab", "ac", "bc")
    assert compare(nothing, nothing).skeleton_f1 == compare(nothing, nothing).directed_f1 == 1.0
    missed = compare(full, nothing)
    assert (missed.tdr, missed.tpr, missed.fpr, missed.skeleton_f1) == (1.0, 0.0, 0.0, 0.0)
    invented = compare(nothing, full)
    assert (invented.tdr, invented.tpr, invented.fpr, invented.shd) == (0.0, 1.0, 1.0, 3)
    assert compare(dag(""), dag("")).shd == 0


def test_pags_are_compared_by_their_marks() -> None:
    one = Graph("pag", tuple("abc"), (Edge("a", "b", "o->"), Edge("b", "c", "o-o")))
    two = Graph("pag", tuple("cba"), (Edge("b", "a", "o->"), Edge("c", "b", "o-o")))
    assert compare(one, one).shd == 0
    result = compare(one, two)
    assert (result.shd, result.directed_f1, result.sid, result.skeleton_f1) == (1, None, None, 1.0)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(GraphError, match="only in the first: 'c'; only in the second: 'd', 'e'"):
        compare(dag("abc"), dag("abde"))
    with pytest.raises(GraphError, match=r"compare two PAGs.*truth.pag.*graph.skeleton"):
        compare(dag("ab"), Graph("pag", ("a", "b")))


def test_names_and_order_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        first, second = (np.triu(rng.random((7, 7)) < 0.4, 1) for _ in range(2))
        mixed = rng.permutation(7)
        second = second[np.ix_(mixed, mixed)]
        names, order = [f"v{i}" for i in range(7)], rng.permutation(7)
        plain = compare(
            Graph.from_matrix(names, first, "dag"), Graph.from_matrix(names, second, "dag")
        )
        shuffled = Graph.from_matrix([names[i] for i in order], second[np.ix_(order, order)], "dag")
        assert compare(Graph.from_matrix(names, first, "dag"), shuffled) == plain


def test_the_example_of_peters_and_buhlmann() -> None:
    effects = [x + y for x in "xz" for y in "abc"]  # Example 1: two causes, three effects
    truth = dag("xzabc", "xz", *effects)
    assert structural_intervention_distance(truth, dag("xzabc", "xz", "ab", *effects)) == 0
    assert structural_intervention_distance(truth, dag("xzabc", "zx", *effects)) == 8


def random_tables(rng: np.random.Generator, A: Bools) -> list[Floats]:
    """p(node = 1 | parents) for each setting of all binary nodes."""
    size = len(A)
    chance = [rng.uniform(0.05, 0.95, size=(2,) * int(A[:, v].sum())) for v in range(size)]
    factors = []
    for v in range(size):
        table = np.empty((2,) * size)
        for cell in product((0, 1), repeat=size):
            one = chance[v][tuple(cell[u] for u in np.flatnonzero(A[:, v]))]
            table[cell] = one if cell[v] else 1 - one
        factors.append(table)
    return factors


def marginal(joint: Floats, keep: set[int]) -> Floats:
    return joint.sum(axis=tuple(v for v in range(joint.ndim) if v not in keep), keepdims=True)


def false_effects(truth: Bools, found: Bools, rng: np.random.Generator) -> int:
    """Pairs whose effect comes out wrong by the adjustment formula, on one random distribution."""
    factors = random_tables(rng, truth)
    joint, size, wrong = np.prod(factors, axis=0), len(truth), 0
    for i, j in product(range(size), repeat=2):
        if i == j:
            continue
        done = np.prod([factor for v, factor in enumerate(factors) if v != i], axis=0)
        right = marginal(done, {i, j})
        Z = {int(v) for v in np.flatnonzero(found[:, i])}
        if j in Z:
            claimed = marginal(joint, {j}) + 0 * right
        else:
            given = marginal(joint, {i, j} | Z) / marginal(joint, {i} | Z)
            claimed = marginal(given * marginal(joint, Z), {i, j})
            claimed = claimed / claimed.sum(axis=j, keepdims=True)
        wrong += not np.allclose(claimed, right / right.sum(axis=j, keepdims=True), 0, 1e-12)
    return wrong


def distance(truth: Bools, found: Bools) -> int:
    names = "abcd"[: len(truth)]
    return structural_intervention_distance(
        Graph.from_matrix(names, truth, "dag"), Graph.from_matrix(names, found, "dag")
    )


def test_intervention_distance_on_all_pairs_of_three_nodes(dags3: list[Bools]) -> None:
    rng = np.random.default_rng(4)
    for truth, found in product(dags3, repeat=2):
        assert distance(truth, found) == false_effects(truth, found, rng)


def test_intervention_distance_on_random_pairs_of_four_nodes(dags4: list[Bools]) -> None:
    rng = np.random.default_rng(5)
    for _ in range(400):
        truth, found = (dags4[at] for at in rng.integers(len(dags4), size=2))
        assert distance(truth, found) == false_effects(truth, found, rng)
