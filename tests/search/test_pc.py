"""The search with a perfect judge: it must find the true class, whatever the names are.

The judge answers by d-separation in a known DAG, so every wrong edge is a fault of the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from privet.errors import KnowledgeError
from privet.graph.classes import class_of
from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge, cpdag, extension, is_acyclic
from privet.search import colliders
from privet.search import skeleton as search
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.pc import (
    HEAVIEST_TRIPLE,
    arrows,
    collider_factors,
    collider_weights,
    log_odds,
    skeleton,
)
from privet.search.questions import distinct
from privet.search.skeleton import (
    Separators,
    Skeleton,
    candidates,
    complete,
    explained,
    nearest,
    prune,
    separated,
    strongest,
)
from tests.helpers.cpdags import is_valid_cpdag
from tests.helpers.separation import Separation

Matrix = NDArray[np.bool_]


class Oracle:
    """Independence as the DAG has it: margins of ±10, all edges alike."""

    def __init__(self, dag: Matrix) -> None:
        self.size, self.asked = len(dag), 0
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from(range(self.size))
        self.graph.add_edges_from(np.argwhere(dag).tolist())
        self.independent = Separation(dag)

    def strengths(self, _pairs: Any = None) -> NDArray[np.float64]:
        return np.ones((self.size, self.size))

    def _answers(self, questions: NDArray[np.intp], no: float, yes: float) -> Any:
        self.asked += len(questions)
        return np.array(
            [yes if self.independent(x, y, z) else no for x, y, *z in questions.tolist()]
        )

    def margins(self, questions: NDArray[np.intp]) -> Any:
        return self._answers(questions, 10.0, -10.0)

    def weights(self, triples: NDArray[np.intp]) -> NDArray[np.float64]:
        """How much speaks for each collider: decided by a separator of any size."""
        ends = {(i, j) for i, _, j in triples.tolist()}
        found = {(i, j): nx.find_minimal_d_separator(self.graph, {i}, {j}) for i, j in ends}
        return np.array([-17.0 if k in found[i, j] else 13.0 for i, k, j in triples.tolist()])


def no_knowledge(size: int) -> Constraints:
    return Constraints.of([str(i) for i in range(size)], Knowledge())


def rng_of(seed: int | Sequence[int]) -> np.random.Generator:
    return np.random.default_rng(seed)


def all_dags(size: int) -> list[Matrix]:
    pairs, found = list(combinations(range(size), 2)), []
    for states in product(range(3), repeat=len(pairs)):
        A = np.zeros((size, size), dtype=bool)
        for (i, j), state in zip(pairs, states, strict=True):
            A[i, j], A[j, i] = state == 1, state == 2
        if is_acyclic(A):
            found.append(A)
    return found


def random_dag(rng: np.random.Generator, size: int, degree: float) -> Matrix:
    upper = np.triu(rng.random((size, size)) < degree / (size - 1), k=1)
    order = rng.permutation(size)
    return upper[np.ix_(order, order)]


def unlimited(oracle: Oracle, constraints: Constraints) -> Skeleton:
    """All orders, with separators from all neighbours."""
    found = complete(oracle.size, constraints.possible)
    for order in range(oracle.size - 1):
        found = prune(
            found, order, oracle.margins, strength=oracle.strengths(), required=constraints.required
        )
    return found


def whole_search(oracle: Oracle, names: list[str], knowledge: Knowledge, order: int) -> Matrix:
    """What a method does with a judge, step by step."""
    constraints = Constraints.of(names, knowledge)
    found = skeleton(oracle, constraints, order)
    turned = arrows(oracle, found, constraints, rng_of(0))
    return apply_knowledge(turned, names, knowledge)


DAGS4 = all_dags(4)


def test_there_are_543_dags_on_four_nodes() -> None:
    assert len(DAGS4) == 543


@pytest.mark.parametrize("part", range(3))
def test_every_dag_on_four_nodes_gives_its_cpdag(part: int) -> None:
    names = [str(i) for i in range(4)]
    for dag in DAGS4[part::3]:
        found = whole_search(Oracle(dag), names, Knowledge(), 2)
        assert np.array_equal(found, cpdag(dag)), dag.astype(int)


@pytest.mark.parametrize("seed", range(40))
def test_random_dags_give_their_cpdag_without_a_limit_on_the_order(seed: int) -> None:
    rng = rng_of(seed)
    dag = random_dag(rng, int(rng.integers(5, 11)), degree=float(rng.uniform(1, 4)))
    oracle, free = Oracle(dag), no_knowledge(len(dag))
    found = unlimited(oracle, free)
    assert np.array_equal(found.adjacent, dag | dag.T)
    for (x, y), given in found.separators.items():
        assert oracle.independent(x, y, frozenset(given))
    triples = unshielded(found.adjacent)
    turned = orient(found.adjacent, triples, oracle.weights(triples), allowed=free.allowed, rng=rng)
    assert np.array_equal(turned, cpdag(dag))


@pytest.mark.parametrize("seed", range(10))
def test_trees_need_separators_of_one_only_and_come_out_whole(seed: int) -> None:
    """Polytrees of 12 columns, by the search as the methods run it."""
    rng = rng_of(seed)
    tree = nx.random_labeled_tree(12, seed=seed)
    dag = np.zeros((12, 12), dtype=bool)
    for i, j in tree.edges:
        a, b = (i, j) if rng.random() < 0.5 else (j, i)
        dag[a, b] = True
    found = whole_search(Oracle(dag), [str(i) for i in range(12)], Knowledge(), 2)
    assert np.array_equal(found, cpdag(dag))


class Told:
    """What was told of each question (x, y, *Z) of three columns; dependent where nothing was."""

    def __init__(self, independent: set[tuple[int, ...]]) -> None:
        self.told = independent
        # 0 and 1 say nearly the same, and 2 is a little nearer to 0
        self.strength = np.array([[0.0, 0.9, 0.5], [0.9, 0.0, 0.4], [0.5, 0.4, 0.0]])

    def ask(self, questions: NDArray[np.intp]) -> Any:
        rows = map(tuple, questions.tolist())
        return np.array([-1.0 if question in self.told else 1.0 for question in rows])

    def joined(self) -> set[tuple[int, int]]:
        found = complete(3)
        for order in (0, 1):
            found = prune(
                found,
                order,
                self.ask,
                strength=self.strength,
                required=np.zeros((3, 3), dtype=bool),
            )
        return {(x, y) for x, y in np.argwhere(np.triu(found.adjacent)).tolist()}


def test_two_columns_do_not_explain_each_other_away() -> None:
    """Blunt tests say 1 ⊥ 2 | 0 and 0 ⊥ 2 | 1: the weaker pair goes, the other stays, though a
    path from 2 by a fourth column would let 1 explain it."""
    judge = Told({(1, 2, 0), (0, 2, 1)})
    assert judge.joined() == {(0, 1), (0, 2)}
    separators: dict[tuple[int, int], tuple[int, ...]] = {(1, 2): (0,)}
    around = complete(4).adjacent
    around[1, 2] = around[2, 1] = False
    question = np.array([[0, 2, 1]], dtype=np.intp)
    for circles, still in ((False, True), (True, False)):
        found = separated(
            Skeleton(around, separators), question, judge.ask, np.ones((4, 4)), circles
        )
        assert bool(found.adjacent[0, 2]) == still


def barred(
    x: int, y: int, *given: int, by: Separators, sure: float = 2.0, margin: float = -1.0
) -> bool:
    """Whether given columns may not separate x from y after what has been separated, though a
    test says so (with this margin) and all others are joined. The least margin for dependence of
    all pairs was ``sure`` one order before."""
    around, lowest = complete(5).adjacent, np.full((5, 5), sure)
    for pair in by:
        around[pair] = around[pair[::-1]] = False
    question, answer = np.array([[x, y, *given]], dtype=np.intp), np.array([margin])
    found = explained(Skeleton(around, by, lowest), question, answer, np.ones((5, 5)))
    return bool(found.adjacent[x, y])


def test_separators_do_not_contradict_each_other() -> None:
    """If 1 ⊥ 2 | S, then {1} ∪ S separates 0 from 2 only if S does [contraction]; if
    1 ⊥ 2 | {0} ∪ S, too [intersection]. Whether S does is a matter of what is surer."""
    for rest in ((), (3,)):
        for before in (rest, (0, *rest)):
            assert barred(0, 2, 1, *rest, by={(1, 2): before})
            always = before == (0,)  # what the other end alone explains
            assert barred(0, 2, 1, *rest, by={(1, 2): before}, sure=0.5) == always
    assert not barred(0, 2, 1, by={(1, 2): (3,)}) and not barred(0, 2, 1, 3, by={(1, 2): ()})
    assert not barred(0, 2, 1, by={(1, 3): ()}) and not barred(0, 2, 1, 3, by={(1, 2): (4,)})


def test_what_is_sure_by_itself_is_not_doubted() -> None:
    for before, still in (((), False), ((0,), True)):  # but the other end alone is no explanation
        assert barred(0, 2, 1, by={(1, 2): before}, sure=9.0, margin=-2.9)
        assert barred(0, 2, 1, by={(1, 2): before}, sure=9.0, margin=-3.1) == still


@pytest.mark.parametrize("margin", [-1.0, -9.0])
def test_explanations_do_not_go_round_in_circles(margin: float) -> None:
    """Not even sure ones: if 3 explains 1 - 2, and 0 explains 3 - 2, 1 does not explain 0 - 2."""
    for end, other in ((2, 0), (0, 2)):
        ends = (min(1, end), max(1, end)), (min(3, end), max(3, end))
        round_it: Separators = {ends[0]: (3,), ends[1]: (other,)}
        assert barred(0, 2, 1, by=round_it, margin=margin)
        assert not barred(0, 2, 1, 4, by=round_it, margin=margin), "4 is no part of it"
        round_it = {pair: (4, *given) for pair, given in round_it.items()}
        assert barred(0, 2, 1, by=round_it, margin=margin), "one of several is enough"
        assert barred(0, 2, 1, 3, by=round_it, margin=margin)
    assert not barred(0, 2, 1, by={(1, 2): (3,), (2, 3): (4,)}, margin=margin)
    assert not barred(0, 2, 1, by={(1, 2): (3,), (2, 3): (1,)}, margin=margin), "another circle"
    assert not barred(0, 2, 1, by={(1, 2): (3,), (0, 3): (2,)}, margin=margin), "of both ends"


def test_an_order_remembers_its_lowest_margins() -> None:
    """Of each pair that was asked about, whatever became of it."""
    margins = {(0, 1): 3.0, (0, 2): 1.0, (1, 2): -1.0}
    ask = lambda rows: np.array([margins[x, y] for x, y in rows.tolist()])  # noqa: E731
    found = prune(
        complete(3), 0, ask, strength=np.ones((3, 3)), required=np.zeros((3, 3), dtype=bool)
    )
    assert found.lowest is not None and not found.adjacent[1, 2]
    assert {pair: found.lowest[pair] for pair in margins} == margins


def test_the_limit_on_the_order_is_kept() -> None:
    """0 --> 1 --> 2: without a separator of one column, all three stay joined."""
    chain = np.zeros((3, 3), dtype=bool)
    chain[0, 1] = chain[1, 2] = True
    for order, edges in ((0, 3), (1, 2), (2, 2)):
        found = skeleton(Oracle(chain), no_knowledge(3), order)
        assert found.adjacent.sum() == 2 * edges


@pytest.mark.parametrize("seed", range(6))
def test_the_numbering_of_columns_does_not_matter(seed: int) -> None:
    rng = rng_of(seed)
    dag = random_dag(rng, 8, degree=2.5)
    oracle, free = Oracle(dag), no_knowledge(8)
    base = orient_fully(oracle, free)
    for _ in range(4):
        order = rng.permutation(8)
        renamed = Oracle(dag[np.ix_(order, order)])
        assert np.array_equal(orient_fully(renamed, free), base[np.ix_(order, order)])


def orient_fully(oracle: Oracle, free: Constraints) -> Matrix:
    found = unlimited(oracle, free)
    triples = unshielded(found.adjacent)
    weights = oracle.weights(triples)
    return orient(found.adjacent, triples, weights, allowed=free.allowed, rng=rng_of(1))


class Rumours:
    """Answers without any DAG behind them, the same for the same columns under any numbering."""

    def __init__(self, seed: int, labels: list[int]) -> None:
        self.labels, self.seed = labels, seed
        size = len(labels)
        self.strength = np.ones((size, size))
        for i, j in combinations(range(size), 2):
            both = sorted((labels[i], labels[j]))
            self.strength[i, j] = self.strength[j, i] = rng_of([seed, 7, *both]).random()

    def ask(self, questions: NDArray[np.intp]) -> Any:
        out = []
        for x, y, *given in questions.tolist():
            ends, rest = (sorted(self.labels[i] for i in part) for part in ((x, y), given))
            out.append(rng_of([self.seed, len(rest), *ends, *rest]).normal() + 0.3)
        return np.array(out)


@pytest.mark.parametrize("seed", range(6))
def test_the_numbering_does_not_matter_for_contradictory_answers_either(seed: int) -> None:
    rng, size = rng_of(100 + seed), 9
    results = set()
    for _ in range(4):
        labels = [int(i) for i in rng.permutation(size)]
        judge, found = Rumours(seed, labels), complete(size)
        for order in range(3):
            found = prune(
                found,
                order,
                judge.ask,
                strength=judge.strength,
                required=np.zeros((size, size), dtype=bool),
                widest=4,
            )
        results.add(
            (
                frozenset(
                    frozenset((labels[i], labels[j])) for i, j in np.argwhere(found.adjacent)
                ),
                frozenset(
                    (frozenset((labels[x], labels[y])), frozenset(labels[z] for z in given))
                    for (x, y), given in found.separators.items()
                ),
            )
        )
    assert len(results) == 1
    assert len(next(iter(results))[1]) > 3  # it did remove edges


# --- knowledge -------------------------------------------------------------------------------


def true_knowledge(dag: Matrix, rng: np.random.Generator) -> tuple[list[str], Knowledge]:
    """Some facts about the DAG: arrows it has, arrows it lacks, an order that it follows."""
    size = len(dag)
    names = [f"c{i}" for i in range(size)]
    have = [(names[i], names[j]) for i, j in np.argwhere(dag) if rng.random() < 0.3]
    lack = [
        (names[i], names[j])
        for i, j in permutations(range(size), 2)
        if not dag[i, j] and rng.random() < 0.2
    ]
    order = list(nx.topological_sort(nx.DiGraph(list(map(tuple, np.argwhere(dag).tolist())))))
    cut = len(order) // 2
    tiers = ([names[i] for i in order[:cut]], [names[i] for i in order[cut:]]) if cut else ()
    with_tiers = tuple(tuple(tier) for tier in tiers) if rng.random() < 0.5 else ()
    return names, Knowledge(tiers=with_tiers, required=frozenset(have), forbidden=frozenset(lack))


@pytest.mark.parametrize("part", range(3))
def test_true_knowledge_sharpens_the_class_and_never_leaves_it(part: int) -> None:
    """The result is the true CPDAG, with what knowledge decides and what follows from it."""
    rng = rng_of(part)
    for dag in DAGS4[part::3]:
        names, knowledge = true_knowledge(dag, rng)
        knowledge.check(names)
        found = whole_search(Oracle(dag), names, knowledge, 2)
        assert np.array_equal(found, apply_knowledge(cpdag(dag), names, knowledge))
        assert found[dag].all()  # the truth is still one of the DAGs that it stands for


@pytest.mark.parametrize("seed", range(20))
def test_true_knowledge_on_larger_dags(seed: int) -> None:
    rng = rng_of(200 + seed)
    dag = random_dag(rng, int(rng.integers(6, 10)), degree=2.5)
    names, knowledge = true_knowledge(dag, rng)
    oracle, constraints = Oracle(dag), Constraints.of(names, knowledge)
    found = constraints.without_circles(unlimited(oracle, constraints), oracle.strengths())
    triples = unshielded(found.adjacent)
    turned = orient(
        found.adjacent, triples, oracle.weights(triples), allowed=constraints.allowed, rng=rng
    )
    closed = apply_knowledge(turned, names, knowledge)
    assert np.array_equal(closed, apply_knowledge(cpdag(dag), names, knowledge))


def any_knowledge(names: list[str], rng: np.random.Generator) -> Knowledge:
    """Knowledge that does not contradict itself; the data may well contradict it."""
    pairs = list(permutations(names, 2))
    while True:
        dense = rng.uniform(0, 0.5)
        tiers: tuple[tuple[str, ...], ...] = ()
        if rng.random() < 0.5:
            level = rng.integers(0, 4, size=len(names))  # level 3: in no tier
            tiers = tuple(
                tuple(n for n, at in zip(names, level, strict=True) if at == t) for t in range(3)
            )
        knowledge = Knowledge(
            tiers=tiers,
            required=frozenset(pair for pair in pairs if rng.random() < 0.06),
            forbidden=frozenset(pair for pair in pairs if rng.random() < dense),
        )
        try:
            knowledge.check(names)
        except KnowledgeError:
            continue
        return knowledge


def obeys(found: Matrix, names: list[str], knowledge: Knowledge) -> bool:
    arrows_kept = all(
        found[names.index(a), names.index(b)] and not found[names.index(b), names.index(a)]
        for a, b in knowledge.required
    )
    return arrows_kept and all(
        knowledge.may(names[i], names[j]) for i, j in np.argwhere(found).tolist()
    )


@pytest.mark.parametrize("seed", range(5))
def test_constraints_are_what_knowledge_says_of_each_arrow(seed: int) -> None:
    names = [f"c{i}" for i in range(7)]
    known = any_knowledge(names, rng_of(400 + seed))
    may = np.array([[a != b and known.may(a, b) for b in names] for a in names])
    must = np.array([[known.must(a, b) for b in names] for a in names])
    found = Constraints.of(names, known)
    assert np.array_equal(found.allowed, may)
    assert np.array_equal(found.possible, may | may.T)
    assert np.array_equal(found.required, must | must.T)


@pytest.mark.parametrize("seed", range(12))
def test_wrong_knowledge_is_obeyed_and_never_an_error(seed: int) -> None:
    rng = rng_of(300 + seed)
    for _ in range(15):
        dag = random_dag(rng, int(rng.integers(3, 9)), degree=2.5)
        names = [f"c{i}" for i in range(len(dag))]
        knowledge = any_knowledge(names, rng)
        found = whole_search(Oracle(dag), names, knowledge, 2)
        assert obeys(found, names, knowledge), (dag.astype(int), knowledge)
        assert extension(found) is not None
        if knowledge == Knowledge():
            assert is_valid_cpdag(found)


def test_the_check_of_obedience_can_fail() -> None:
    chain = np.array([[0, 1], [0, 0]], dtype=bool)
    assert obeys(chain, ["a", "b"], Knowledge(required=frozenset({("a", "b")})))
    assert not obeys(chain, ["a", "b"], Knowledge(forbidden=frozenset({("a", "b")})))
    assert not obeys(chain.T, ["a", "b"], Knowledge(required=frozenset({("a", "b")})))
    assert not obeys(chain | chain.T, ["a", "b"], Knowledge(forbidden=frozenset({("b", "a")})))


def test_a_required_edge_is_not_even_asked_about() -> None:
    """Two columns that have nothing to do with each other, joined because a person says so."""
    names, apart = ["a", "b"], np.zeros((2, 2), dtype=bool)
    oracle = Oracle(apart)
    found = whole_search(oracle, names, Knowledge(required=frozenset({("b", "a")})), 2)
    assert found.tolist() == [[False, False], [True, False]] and oracle.asked == 0


def test_kept_gains_are_those_that_would_be_computed_anew() -> None:
    """After every turn: value, gains and ranking as if the colliders were counted from scratch;
    at the end of a climb no turn that may be had is left."""
    rng = np.random.default_rng(5)
    turns = 0
    for _ in range(20):
        size = int(rng.integers(3, 15))
        joined = np.triu(rng.random((size, size)) < 0.35, 1)
        joined |= joined.T
        triples = unshielded(joined)
        weights = rng.normal(size=len(triples))
        state = Checked(joined, triples, weights, np.ones_like(joined))
        state.told = triples, weights
        for _ in state.starts([rng.permutation(size) for _ in range(2)]):
            assert_as_counted(state, triples, weights)
            state.climb()
            assert not any(
                gain > 0 and state._can_turn(arrow)
                for gain, arrow in zip(state.gains, state.arrows, strict=True)
            )
        turns += state.turns
    assert turns > 100


class Checked(colliders.Orientation):
    """Counted anew after every turn."""

    told: tuple[NDArray[np.intp], NDArray[np.float64]]
    turns = 0

    def _turn(self, arrow: int) -> None:
        super()._turn(arrow)
        self.turns += 1
        assert_as_counted(self, *self.told)


def assert_as_counted(
    state: colliders.Orientation, triples: NDArray[np.intp], weights: NDArray[np.float64]
) -> None:
    grains = np.rint(weights * colliders.GRAIN).astype(int)

    def value(arrows: list[int]) -> int:
        drawn = {(state.tails[s], state.heads[s]) for s in arrows}
        rows = zip(triples.tolist(), grains.tolist(), strict=True)
        return sum(w for (i, k, j), w in rows if {(i, k), (j, k)} <= drawn)

    def turned(at: int) -> list[int]:
        return [s ^ 1 if s >> 1 == at else s for s in state.arrows]

    now = value(state.arrows)
    anew = [value(turned(at)) - now for at in range(len(state.arrows))]
    assert (state.value, state.gains) == (now, anew)
    edges = len(anew)
    assert state.ranking == sorted(at - gain * edges for at, gain in enumerate(anew) if gain > 0)
    for s in state.arrows:
        assert state.parents[state.heads[s]] >> state.tails[s] & 1


def test_a_tie_is_a_tie_whatever_was_added_first() -> None:
    """0.1 + 0.2 - 0.3 is not 0 in floating point; in grains it is."""
    star = np.zeros((5, 5), dtype=bool)
    star[4, :4] = star[:4, 4] = True
    triples = unshielded(star)
    assert triples.tolist() == [[i, 4, j] for i, j in combinations(range(4), 2)]
    weights = np.array([0.1, 0.2, -0.3, 0.0, 0.0, 0.0])  # all of 0 with another
    state = colliders.Orientation(star, triples, weights, np.ones_like(star))
    next(state.starts([np.arange(5)]))
    assert state.gains == [0, *state.gains[1:]] and state.value == 0


def test_the_search_ends_at_once_where_all_wanted_colliders_stand() -> None:
    """The bound is reached by the first start; permutations are drawn all the same, so that what
    is drawn next does not depend on it."""
    joined = np.zeros((3, 3), dtype=bool)
    joined[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    first, second = rng_of(1), rng_of(1)
    triples, free = unshielded(joined), np.ones_like(joined)
    turned = orient(joined, triples, np.array([1.0]), allowed=free, rng=first, restarts=7)
    assert turned.tolist() == [[False, True, False], [False] * 3, [False, True, False]]
    for _ in range(7):
        second.permutation(3)
    assert first.random() == second.random()


def test_the_class_of_a_dag_on_bits_is_the_one_that_meeks_rules_give() -> None:
    rng = rng_of(9)
    for dag in [*DAGS4, *(random_dag(rng, int(rng.integers(5, 30)), 3.0) for _ in range(150))]:
        parents = [sum(1 << i for i in np.flatnonzero(column).tolist()) for column in dag.T]
        assert np.array_equal(class_of(parents), cpdag(dag))


@pytest.mark.parametrize("seed", range(5))
def test_triples_are_those_that_a_loop_finds(seed: int) -> None:
    rng = rng_of(seed)
    joined = np.triu(rng.random((9, 9)) < 0.4, 1)
    joined |= joined.T
    expected = [
        [i, k, j]
        for k in range(9)
        for i, j in combinations(np.flatnonzero(joined[k]).tolist(), 2)
        if not joined[i, j]
    ]
    assert unshielded(joined).tolist() == expected
    assert unshielded(np.zeros((3, 3), dtype=bool)).shape == (0, 3)


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("widest", [None, 4])
def test_questions_by_index_are_those_of_combinations(
    order: int, widest: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = rng_of(order)
    for density in (0.2, 0.5, 0.9):
        joined = np.triu(rng.random((11, 11)) < density, 1)
        joined |= joined.T
        required, strength = np.zeros_like(joined), rng.random((11, 11))
        required[0] = required[:, 0] = True
        near = [strongest(joined[x], strength[x], widest) for x in range(11)]
        expected = []
        for x, y in np.argwhere(np.triu(joined & ~required)).tolist():
            pools = ([z for z in near[end] if z not in (x, y)] for end in (x, y))
            sets = {given for pool in pools for given in combinations(pool, order)}
            expected += [[x, y, *given] for given in sorted(sets)]
        chosen = nearest(joined, strength, widest)
        asked = candidates(joined, chosen, order, required)
        assert asked.shape == (len(expected), order + 2) and asked.tolist() == expected
        monkeypatch.setattr(search, "MOST_QUESTIONS", 20)
        parts = list(search.batches(joined, chosen, order, required))
        assert [row for part in parts for row in part.tolist()] == expected
        most = max(len(list(combinations(range(11), order))), 1)
        assert all(0 < len(part) <= 20 + 2 * most for part in parts)
        monkeypatch.undo()


def test_rows_are_numbered_in_their_order_even_where_numbers_would_overflow() -> None:
    rng = rng_of(3)
    rows = rng.integers(0, 1000, size=(300, 10))
    rows[100:200] = rows[:100]
    different, place = distinct(rows, 1000)
    assert different.tolist() == sorted({tuple(row): list(row) for row in rows.tolist()}.values())
    assert np.array_equal(different[place], rows)


def test_collider_questions_ask_with_the_middle_and_without() -> None:
    """0 - 1 - 2 with 3 beside 0: each side takes the mean factor of nothing and 3."""
    joined = np.zeros((4, 4), dtype=bool)
    for x, y in ((0, 1), (1, 2), (0, 3)):
        joined[x, y] = joined[y, x] = True
    answers = {(0, 2): 5.0, (0, 2, 3): 1.0, (0, 2, 1): 4.0, (0, 2, 1, 3): 9.0}
    heard = []

    def margins(questions: NDArray[np.intp]) -> Any:
        rows = [tuple(row) for row in questions.tolist()]
        heard.extend(rows)
        return np.array([answers[row] for row in rows])

    (weight,) = collider_weights(margins, joined, np.array([[0, 1, 2]]))
    factor = np.log(np.exp([-5.0, -1.0]).mean() / np.exp([-4.0, -9.0]).mean())
    assert weight == pytest.approx(factor + log_odds(np.array([factor])))
    assert sorted(heard) == sorted(answers)


@pytest.mark.parametrize(
    ("without", "with_k", "factor"),
    [
        ((np.inf, np.inf), (np.inf, np.inf), 0.0),
        ((np.inf, 2.0), (np.inf, np.inf), HEAVIEST_TRIPLE),
        ((np.inf, 2.0), (2.0, np.inf), 0.0),
        ((2.0, 2.0), (3.0, np.inf), 1.0 + np.log(2.0)),  # what was not measured does not hold
        ((2.0, 2.0), (1.9, np.inf), 0.0),  # but is not enough for a collider
        ((2.0, 2.0), (0.0, np.inf), np.log(2.0) - 2.0),
    ],
)
def test_answers_without_end_are_weighed(
    without: tuple[float, float], with_k: tuple[float, float], factor: float
) -> None:
    asked = [(np.empty((0, 3), dtype=np.intp), (np.arange(4), np.array([0, 0, 1, 1])))]
    (found,) = collider_factors([np.array([*without, *with_k])], asked, 1)
    assert found == pytest.approx(factor)


class Moody:
    """Answers at random, the same to the same question: explanations contradict each other."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed, self.asked = size, seed, dict[int, int]()

    def strengths(self, _pairs: Any = None) -> NDArray[np.float64]:
        drawn = np.random.default_rng(self.seed).random((self.size, self.size)) + 0.1
        return np.asarray(drawn + drawn.T)

    def margins(self, questions: NDArray[np.intp]) -> NDArray[np.float64]:
        order = questions.shape[1] - 2
        self.asked[order] = self.asked.get(order, 0) + len(questions)
        rows = [np.random.default_rng([self.seed, *row]) for row in questions.tolist()]
        return np.array([rng.normal((-1.0, 8.0, 8.0, 2.0)[order], 4.0) for rng in rows])


def test_what_could_explain_nothing_is_not_asked_in_the_last_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide, explained_by_three = {3: 0, 9: 0}, 0
    for seed in range(20):
        found = []
        for dear in wide:
            monkeypatch.setattr("privet.search.pc.DEAR", dear)
            judge = Moody(10, seed)
            found.append(skeleton(judge, no_knowledge(10), 3))
            wide[dear] += judge.asked.get(3, 0)
        assert (found[0].adjacent == found[1].adjacent).all()
        assert found[0].separators == found[1].separators
        explained_by_three += sum(len(given) == 3 for given in found[1].separators.values())
    assert wide[3] < wide[9]
    assert explained_by_three > 0
