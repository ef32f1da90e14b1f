"""PC beside causal-learn's: the same class from perfect answers, and from plain data."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from privet.arrays import Bools
from privet.graph.meek import cpdag
from privet.search.colliders import orient, unshielded
from privet.search.pc import arrows, skeleton
from tests.helpers.population import sample, sampled
from tests.search.test_pc import Oracle, no_knowledge, random_dag, rng_of


def arrows_of(endpoints: np.ndarray) -> Bools:
    """causal-learn: -1 at a tail, 1 at a head."""
    out: Bools = (endpoints != 0) & ~((endpoints == 1) & (endpoints.T == -1))
    return out


@pytest.mark.parametrize("seed", range(30))
def test_the_same_class_from_perfect_answers(seed: int) -> None:
    from causallearn.search.ConstraintBased.PC import pc

    rng = rng_of(900 + seed)
    dag = random_dag(rng, int(rng.integers(4, 9)), 2.0)
    graph = nx.DiGraph(list(map(tuple, np.argwhere(dag).tolist())))
    graph.add_nodes_from(range(len(dag)))
    nothing = rng.normal(size=(50, len(dag)))  # it wants rows, and does not look at them
    theirs = pc(nothing, 0.5, "d_separation", show_progress=False, true_dag=graph)
    oracle = Oracle(dag)
    found = skeleton(oracle, no_knowledge(len(dag)), len(dag))
    triples = unshielded(found.adjacent)
    ours = orient(
        found.adjacent,
        triples,
        oracle.weights(triples),
        allowed=no_knowledge(len(dag)).allowed,
        rng=rng_of(0),
    )
    assert np.array_equal(ours, arrows_of(theirs.G.graph))
    assert np.array_equal(ours, cpdag(dag))


def test_the_same_classes_from_plain_data() -> None:
    """Many rows, strong effects, and a strict level there, as Bayes factors are strict here. Both
    may err on a sample; ours must not err more often."""
    from causallearn.search.ConstraintBased.PC import pc

    right = np.zeros(2, dtype=int)
    same = 0
    for seed in range(20):
        dag = random_dag(rng_of(950 + seed), 7, 1.5)
        numbers, judge = sample(dag, 50_000, seed), sampled(dag, 50_000, seed)
        theirs = arrows_of(pc(numbers, 1e-4, "fisherz", show_progress=False).G.graph)
        found = skeleton(judge, no_knowledge(len(dag)), 3)
        ours = arrows(judge, found, no_knowledge(len(dag)), rng_of(seed))
        right += np.array_equal(ours, cpdag(dag)), np.array_equal(theirs, cpdag(dag))
        same += np.array_equal(ours, theirs)
    assert right[0] >= right[1] >= 10 and same >= 10
