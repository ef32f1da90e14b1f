"""Arrows are right on every DAG with four nodes, whatever the names."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privet.arrays import Bools
from privet.errors import GraphError, KnowledgeError
from privet.graph.knowledge import Knowledge
from privet.graph.meek import (
    apply_knowledge,
    cpdag,
    extension,
    is_acyclic,
    meek,
    vstructures,
)
from tests.helpers.cpdags import is_valid_cpdag

NAMES = "abcd"


def arrows(size: int, *pairs: tuple[int, int]) -> Bools:
    A = np.zeros((size, size), dtype=np.bool_)
    for i, j in pairs:
        A[i, j] = True
    return A


def lines(size: int, *pairs: tuple[int, int]) -> Bools:
    return arrows(size, *pairs) | arrows(size, *pairs).T


def random_dag(rng: np.random.Generator, size: int, density: float) -> Bools:
    order = rng.permutation(size)
    return np.triu(rng.random((size, size)) < density, 1)[np.ix_(order, order)]


def test_there_are_543_dags_in_185_classes(dags4: list[Bools], classes4: list[list[Bools]]) -> None:
    assert (len(dags4), len(classes4)) == (543, 185)


def test_the_cpdag_has_an_arrow_just_where_the_whole_class_agrees(
    classes4: list[list[Bools]],
) -> None:
    for members in classes4:
        union = np.any(members, axis=0)
        for dag in members:
            assert np.array_equal(cpdag(dag), union)


def test_an_extension_is_in_the_class_and_a_cpdag_is_valid(classes4: list[list[Bools]]) -> None:
    for members in classes4:
        found = cpdag(members[0])
        dag = extension(found)
        assert dag is not None
        assert any(np.array_equal(dag, member) for member in members)
        assert is_valid_cpdag(found)
        assert vstructures(dag) == vstructures(members[0])


def test_only_cpdags_pass_as_cpdags(classes4: list[list[Bools]]) -> None:
    valid = {np.any(members, axis=0).tobytes() for members in classes4}
    pairs = list(combinations(range(4), 2))
    for code in range(4 ** len(pairs)):
        A = np.zeros((4, 4), dtype=np.bool_)
        for at, (i, j) in enumerate(pairs):
            state = code >> 2 * at & 3
            A[i, j], A[j, i] = state & 1, state & 2
        assert is_valid_cpdag(A) == (A.tobytes() in valid)


def test_an_extension_exists_just_if_brute_force_finds_one(dags4: list[Bools]) -> None:
    """On every graph with the square a-b-d-c as its skeleton."""
    pairs = [(0, 1), (0, 2), (1, 3), (2, 3)]
    for code in range(3 ** len(pairs)):
        A = lines(4, *pairs)
        for at, (i, j) in enumerate(pairs):
            state = code // 3**at % 3
            A[i, j], A[j, i] = state != 1, state != 2
        fits = [
            dag
            for dag in dags4
            if np.array_equal(dag | dag.T, A | A.T)
            and not (dag & ~A).any()
            and vstructures(dag) == vstructures(A)
        ]
        found = extension(A)
        assert (found is None) == (not fits)
        assert found is None or any(np.array_equal(found, dag) for dag in fits)


def test_meek_with_knowledge_is_sound_and_complete(classes4: list[list[Bools]]) -> None:
    """Two wanted arrows: exactly what all DAGs of the class with them share, or a refusal."""
    for members in classes4:
        union = np.any(members, axis=0)
        free = [tuple(pair) for pair in np.argwhere(union & union.T)]
        for wanted in combinations(free, 2):
            agree = [dag for dag in members if all(dag[pair] for pair in wanted)]
            required = frozenset((NAMES[i], NAMES[j]) for i, j in wanted)
            knowledge = Knowledge(required=required)
            if agree:
                oriented = apply_knowledge(union, NAMES, knowledge)
                assert np.array_equal(oriented, np.any(agree, axis=0))
            else:
                with pytest.raises((GraphError, KnowledgeError)):
                    apply_knowledge(union, NAMES, knowledge)


@pytest.mark.parametrize(
    ("before", "implied"),
    [
        (arrows(3, (0, 1)) | lines(3, (1, 2)), (1, 2)),
        (arrows(3, (0, 1), (1, 2)) | lines(3, (0, 2)), (0, 2)),
        (arrows(4, (2, 1), (3, 1)) | lines(4, (0, 1), (0, 2), (0, 3)), (0, 1)),
        (arrows(4, (3, 2), (2, 1)) | lines(4, (0, 1), (0, 2), (0, 3)), (0, 1)),
    ],
)
def test_each_rule_of_meek(before: Bools, implied: tuple[int, int]) -> None:
    after = meek(before)
    assert after[implied] and not after[implied[::-1]]


def test_meek_does_not_depend_on_the_order_and_changes_nothing_twice() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        dag = random_dag(rng, 12, 0.3)
        order = rng.permutation(12)
        permuted = cpdag(dag[np.ix_(order, order)])
        assert np.array_equal(permuted, cpdag(dag)[np.ix_(order, order)])
        assert np.array_equal(meek(permuted), permuted)


def test_contradictions_stay_undirected_and_have_no_extension() -> None:
    A = arrows(4, (0, 1), (3, 2)) | lines(4, (1, 2))
    assert np.array_equal(meek(A), A)
    assert extension(A) is None
    assert extension(lines(4, (0, 1), (1, 2), (2, 3), (3, 0))) is None


def test_large_graphs() -> None:
    rng = np.random.default_rng(2)
    for density in (0.01, 0.1, 1.0):
        found = cpdag(random_dag(rng, 300, density))
        assert is_valid_cpdag(found)
    circle = arrows(300, *((i, (i + 1) % 300) for i in range(300)))
    assert not is_acyclic(circle)
    circle[299, 0] = False
    assert is_acyclic(circle)


def test_empty_matrices() -> None:
    nothing = np.zeros((0, 0), dtype=np.bool_)
    empty = extension(nothing)
    assert empty is not None and empty.shape == (0, 0)
    assert is_valid_cpdag(nothing)
    assert is_acyclic(nothing)


@pytest.mark.parametrize(
    ("A", "knowledge", "text"),
    [
        (
            arrows(2, (0, 1)),
            Knowledge(forbidden=frozenset({("a", "b")})),
            "which knowledge forbids",
        ),
        (arrows(2, (0, 1)), Knowledge(tiers=(("b",), ("a",))), "which knowledge forbids"),
        (
            lines(2, (0, 1)),
            Knowledge(forbidden=frozenset({("a", "b"), ("b", "a")})),
            "knowledge forbids",
        ),
        (arrows(2, (1, 0)), Knowledge(required=frozenset({("a", "b")})), "the other way round"),
        (arrows(2), Knowledge(required=frozenset({("a", "b")})), "does not join the two"),
    ],
)
def test_knowledge_against_the_graph_is_refused(A: Bools, knowledge: Knowledge, text: str) -> None:
    with pytest.raises(KnowledgeError, match=text):
        apply_knowledge(A, NAMES, knowledge)


def test_tiers_and_forbidden_arrows_decide_undirected_edges() -> None:
    A = lines(3, (0, 1), (1, 2))
    later = Knowledge(tiers=(("a",), ("b", "c")))
    assert np.array_equal(apply_knowledge(A, "abc", later), arrows(3, (0, 1), (1, 2)))
    never = Knowledge(forbidden=frozenset({("c", "b")}))
    assert np.array_equal(apply_knowledge(A, "abc", never), arrows(3, (1, 2)) | lines(3, (0, 1)))
