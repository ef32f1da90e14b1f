"""PC as it was compiled finds what Python finds, and tells a listener the same."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

from privet.arrays import Bools
from privet.evidence.moments import MomentEvidence
from privet.graph.knowledge import Knowledge
from privet.independence.fisher_z import MomentJudge
from privet.methods.listener import Listener
from privet.search import colliders, compiled
from privet.search.constraints import Constraints
from privet.search.pc import Told, arrows, collider_weights, skeleton
from privet.search.protocols import ClosedForm
from privet.search.skeleton import Skeleton, complete
from tests.helpers.population import sample
from tests.search.test_compiled import evidence
from tests.search.test_pc import no_knowledge, random_dag, rng_of

needed = pytest.mark.skipif(compiled.pc is None, reason="there was no compiler")
drawing = pytest.mark.skipif(compiled.orient is None, reason="there was no compiler")
ALPHA = 0.1


class Heard:
    """A judge on evidence, a listener, and what was compiled for both."""

    def __init__(self, held: MomentEvidence) -> None:
        metric = held.scaled_metric if held.noise else np.empty((0, 0))
        doubt = (held.rows / held.spread, held.noise, log(1 / ALPHA))
        self.judge, self.listener = MomentJudge(held, ALPHA), Listener()
        self.told = Told(ClosedForm(held.correlations, metric, doubt), self.listener.hear)

    def strengths(self, _pairs: Any = None) -> Any:
        return self.judge.strengths()

    def margins(self, questions: Any) -> Any:
        return self.listener.by(self.judge.margins)(questions)


def some_evidence(seed: int, size: int, edges: float, noise: float = 0.0) -> MomentEvidence:
    rows = (300, 3000, 30_000)[seed % 3]
    numbers = sample(random_dag(rng_of([51, seed]), size, edges), rows, seed)
    return evidence(numbers, noise=noise, seed=seed)


def fits(held: MomentEvidence) -> bool:
    """Noise has not made some columns tell others."""
    return bool(np.linalg.eigvalsh(held.correlations)[0] > 0.005)


def by_c(held: Heard, known: Constraints, order: int) -> Any:
    start = complete(len(known.possible), known.possible)
    return compiled.skeleton(held.told.tests, held.strengths(), start, order, mend=False)


def same_heard(one: Listener, other: Listener) -> None:
    assert one.count == other.count
    for each in (one, other):  # the last columns may not have been asked for
        each._make_room(len(one.lowest), max(one.given.shape[2], other.given.shape[2]))
    assert np.allclose(one.lowest, other.lowest, rtol=1e-9, atol=1e-9, equal_nan=True)
    assert np.array_equal(one.given, other.given)


@needed
@pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 6])
@pytest.mark.parametrize(("noise", "sharp"), [(0.0, False), (0.0, True), (0.02, False)])
def test_the_same_skeletons_as_in_python(order: int, noise: float, sharp: bool) -> None:
    """Sparse and dense ones, of more columns than separators are formed of."""
    served = 0
    for seed in range(12):
        held = some_evidence(seed, (4, 12, 20)[seed % 3], (2.0, 4.0, 9.0)[seed // 4], noise)
        if noise and not fits(held):
            continue
        one, other = Heard(held), Heard(held)
        free = no_knowledge(len(held.names))
        assert by_c(one, free, order) is not None
        found = skeleton(one, free, order, one.told, sharp)
        wanted = skeleton(other, free, order, sharp=sharp)
        assert np.array_equal(found.adjacent, wanted.adjacent), seed
        assert found.separators == wanted.separators
        assert found.lowest is not None and wanted.lowest is not None
        assert np.allclose(found.lowest, wanted.lowest, rtol=1e-9, atol=1e-9)
        same_heard(one.listener, other.listener)
        served += 1
    assert served > 3


@needed
def test_what_comes_back_is_asked_for_as_in_python() -> None:
    """Few rows: blunt tests contradict each other, and what was asked before is forgotten."""
    some = 0
    for seed in range(150):
        held = evidence(sample(random_dag(rng_of([53, seed]), 10, 4.0), 150, seed))
        one, other, free = Heard(held), Heard(held), no_knowledge(10)
        found = skeleton(one, free, 3, one.told, sharp=True)
        wanted = skeleton(other, free, 3, sharp=True)
        assert np.array_equal(found.adjacent, wanted.adjacent), seed
        assert found.separators == wanted.separators, seed
        some += other.listener.count > plain_count(held)
    assert some > 30


def plain_count(held: MomentEvidence) -> int:
    plain = Heard(held)
    skeleton(plain, no_knowledge(len(held.names)), 3)
    return plain.listener.count


@needed
def test_a_search_goes_on_from_a_start_as_in_python() -> None:
    """Some pairs apart already, for reasons that others may contradict."""
    for seed in range(6):
        held = some_evidence(seed, 14, 4.0)
        one, other, free = Heard(held), Heard(held), no_knowledge(14)
        before = skeleton(one.judge, free, 2)
        far = {pair: z for i, (pair, z) in enumerate(before.separators.items()) if i % 2}
        adjacent = free.possible.copy()
        for x, y in far:
            adjacent[x, y] = adjacent[y, x] = False
        start = Skeleton(adjacent, far)
        found = skeleton(one, free, 4, one.told, True, start)
        wanted = skeleton(other, free, 4, None, True, start)
        assert np.array_equal(found.adjacent, wanted.adjacent), seed
        assert found.separators == wanted.separators
        same_heard(one.listener, other.listener)


@needed
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_same_weights_of_colliders_as_in_python(noise: float) -> None:
    served = 0
    for seed in range(8):
        held = some_evidence(seed, 15, 4.0, noise)
        if noise and not fits(held):
            continue
        one, other = Heard(held), Heard(held)
        found = skeleton(one.judge, no_knowledge(15), 2)
        triples = colliders.unshielded(found.adjacent)
        known = compiled.collider_weights(one.told.tests, found.adjacent, triples)
        assert known is not None
        one.listener.hear(known[1])
        wanted = collider_weights(other.margins, found.adjacent, triples)
        assert np.allclose(known[0], wanted, rtol=1e-9, atol=1e-9)
        same_heard(one.listener, other.listener)
        served += len(triples)
    assert served > 30


@needed
def test_the_same_arrows_of_many_columns() -> None:
    """Sets of several words."""
    held = some_evidence(1, 140, 3.0)
    one, other = Heard(held), Heard(held)
    free, rngs = no_knowledge(140), (rng_of(3), rng_of(3))
    one_way, other_way = [
        arrows(each, skeleton(each, free, 3, told, sharp=True), free, rng, told=told)
        for each, rng, told in zip((one, other), rngs, (one.told, None), strict=True)
    ]
    assert np.array_equal(one_way, other_way)
    assert rngs[0].random() == rngs[1].random(), "what is drawn next is the same, too"
    same_heard(one.listener, other.listener)


@needed
def test_what_tells_another_is_left_to_python() -> None:
    numbers = np.random.default_rng(1).normal(size=(500, 4))
    numbers[:, 1] += numbers[:, 0]
    numbers[:, 3] = numbers[:, 0]
    held = Heard(evidence(numbers))
    assert by_c(held, no_knowledge(4), 2) is None
    found = skeleton(held, no_knowledge(4), 2, held.told)
    assert held.listener.count > 0 and found.adjacent[0, 3]
    triples = np.array([[0, 3, 1]])
    joined = np.ones((4, 4), dtype=bool)
    assert compiled.collider_weights(held.told.tests, joined, triples) is None


@needed
def test_knowledge_is_honoured_as_in_python() -> None:
    """What may not be joined is not, what goes in circles by knowledge neither; edges that must be
    there are left to Python."""
    names = tuple(f"c{i}" for i in range(9))
    for seed, known in enumerate(
        (
            Knowledge(tiers=(("c1", "c4"), ("c0", "c2", "c3"))),
            Knowledge(forbidden=frozenset({("c0", "c1"), ("c1", "c0"), ("c3", "c5")})),
            Knowledge(forbidden=frozenset({("c1", "c0"), ("c2", "c1"), ("c0", "c2")})),
            Knowledge(required=frozenset({("c0", "c1"), ("c7", "c8")})),
        )
    ):
        held = some_evidence(seed, 9, 5.0)
        one, other = Heard(held), Heard(held)
        constraints = Constraints.of(names, known)
        found = skeleton(one, constraints, 3, one.told, sharp=True)
        wanted = skeleton(other, constraints, 3, sharp=True)
        assert np.array_equal(found.adjacent, wanted.adjacent)
        assert found.separators == wanted.separators
        assert not (found.adjacent & ~constraints.possible).any()
        assert found.adjacent[constraints.required].all()
        same_heard(one.listener, other.listener)


@needed
@pytest.mark.parametrize("wrong", range(9))
def test_arrays_of_other_sizes_are_refused(wrong: int) -> None:
    shapes: list[tuple[tuple[int, ...], Any]] = [
        ((3, 3), float), ((3, 3, 2), np.int32), ((3, 3), np.uint8), ((3, 3, 3), np.int32),
        ((3, 3), float), ((3, 3), float), ((3, 3), float), ((3,), float), ((3, 3), float),
    ]  # fmt: skip
    arrays = [np.zeros(shape, dtype=kind) for shape, kind in shapes]
    arrays[5] += np.eye(3)
    assert compiled.pc.skeleton(*arrays, False) == 0
    arrays[wrong] = np.zeros((1 + shapes[wrong][0][0], *shapes[wrong][0][1:]), shapes[wrong][1])
    with pytest.raises(ValueError, match="wrong arrays"):
        compiled.pc.skeleton(*arrays, False)
    with pytest.raises(ValueError, match="wrong arrays"):
        compiled.pc.skeleton(*arrays)


@needed
def test_triples_of_other_columns_are_refused() -> None:
    arrays = [np.zeros((3, 3)), np.zeros((3, 3, 2), dtype=np.int32), np.zeros(1), np.eye(3)]
    arrays += [np.zeros((3, 3)), np.ones(3), np.zeros((3, 3), dtype=np.uint8)]
    compiled.pc.weigh(*arrays, np.array([[0, 1, 2]]))
    for triple in ([0, 1, 3], [-1, 1, 2]):
        with pytest.raises(ValueError, match="wrong arrays"):
            compiled.pc.weigh(*arrays, np.array([triple]))


# --- arrows ---------------------------------------------------------------------------------------


def drawn_by(
    compiled_too: bool, joined: Bools, weights: Any, allowed: Bools, monkeypatch: Any
) -> list[list[int]]:
    """From each of some orders by itself, and the best of all."""
    rng, triples = rng_of(8), colliders.unshielded(joined)
    orders = [rng.permutation(len(joined)) for _ in range(6)]
    with monkeypatch.context() as patch:
        if not compiled_too:
            patch.setattr(compiled, "orient", None)
        some = [[order] for order in orders] + [orders]
        return [colliders.best_dag(joined, triples, weights, allowed, each) for each in some]


@drawing
@pytest.mark.parametrize("seed", range(30))
def test_the_same_dags_as_in_python(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where weights tie, and where knowledge has a say."""
    rng = rng_of([52, seed])
    size = int(rng.integers(2, 80 if seed % 5 == 0 else 20))
    joined = random_dag(rng, size, float(rng.uniform(1, 5)))
    order = np.argsort(rng.permutation(size))
    allowed = np.ones((size, size), dtype=bool)
    if seed % 2:  # some go one way only, along an order
        allowed = (order[:, None] < order) | (rng.random((size, size)) < 0.7)
    joined = joined | joined.T
    weights = rng.normal(0, 5, len(colliders.unshielded(joined)))
    weights = np.round(weights) if seed % 3 else weights
    one, other = (drawn_by(c, joined, weights, allowed, monkeypatch) for c in (True, False))
    assert one == other


@drawing
@pytest.mark.parametrize("wrong", range(6))
def test_skeletons_of_other_sizes_are_refused(wrong: int) -> None:
    dag = np.zeros((3, 3), dtype=np.uint8)
    pairs, slots, weights = np.array([[0, 1], [1, 2]]), np.array([[0, 3]]), np.array([5])
    given: list[Any] = [dag, pairs, slots, weights, np.ones(4, np.uint8), np.array([[0, 1, 2]])]
    compiled.orient.draw(*given)
    assert dag.tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    given[wrong] = [
        np.zeros((2, 3), dtype=np.uint8), pairs + 1, slots + 1, np.array([5, 5]),
        np.ones(3, np.uint8), np.array([[0, 1, 3]]),
    ][wrong]  # fmt: skip
    with pytest.raises(ValueError, match="wrong arrays"):
        compiled.orient.draw(*given)
