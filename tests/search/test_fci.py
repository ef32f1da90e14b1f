"""FCI and RFCI with a perfect judge: the true PAG, whatever is hidden and whatever the names are.

The judge answers by d-separation in a DAG of which it shows some nodes only, so every wrong mark
is a fault of the search. What the true PAG is does not rest on the search: ``true_pag`` is
compared with whole classes of MAGs in ``tests/graph/test_pag.py``.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import cast

import networkx as nx
import numpy as np
import pytest

from privet.arrays import Bools, Floats, Indices
from privet.graph.edge import Edge, Mark
from privet.graph.fci_rules import CIRCLE, HEAD, NONE, TAIL, Marks
from privet.graph.formats.matrices import from_causal_learn
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.pag import marks_of, respects, to_graph, true_mag, true_pag
from privet.search.constraints import Constraints
from privet.search.fci import _Search, fci, possible_d_sep
from privet.search.skeleton import Skeleton
from tests.helpers.separation import Separation, above
from tests.search.test_pc import DAGS4, Rumours, any_knowledge, random_dag, rng_of

Margins = Mapping[tuple[int, ...], float]
Separators = dict[tuple[int, int], tuple[int, ...]]
EVERY = 99  # no limit on the candidates for a separator


class Oracle:
    """Independence among the nodes of a DAG that are seen: margins of -10 where it holds, and
    between 10 and 47 where it does not."""

    def __init__(self, dag: Bools, hidden: Sequence[int] = ()) -> None:
        self.separated = Separation(dag)
        self.seen = [v for v in range(len(dag)) if v not in hidden]
        self.asked = 0

    def independent(self, x: int, y: int, given: Iterable[int]) -> bool:
        return self.separated(self.seen[x], self.seen[y], (self.seen[v] for v in given))

    def _answers(self, questions: Indices, no: bool, yes: bool) -> Bools:
        self.asked += len(questions)
        rows = questions.tolist()
        return np.array([yes if self.independent(x, y, z) else no for x, y, *z in rows])

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        return np.ones((len(self.seen), len(self.seen)))

    def margins(self, questions: Indices) -> Floats:
        weights = 7 * np.array(self.seen)
        varied = 10 + (weights[questions] ** 2).sum(axis=1) % 37
        return np.where(self._answers(questions, False, True), -10.0, varied)


def free(size: int) -> Constraints:
    return Constraints.of([str(i) for i in range(size)], Knowledge())


def found(dag: Bools, hidden: Sequence[int] = (), *, faster: bool = False) -> Marks:
    oracle = Oracle(dag, hidden)
    size = len(oracle.seen)
    return fci(oracle, free(size), max_order=size, faster=faster, widest=EVERY).marks


def confounded(seed: int, size: int, arrows: float, hidden: int) -> tuple[Bools, tuple[int, ...]]:
    """A random DAG on what is seen, and hidden nodes that cause two of these each."""
    rng = rng_of(seed)
    dag = np.zeros((size + hidden, size + hidden), dtype=bool)
    order = rng.permutation(size)
    upper = np.triu(rng.random((size, size)) < arrows / (size - 1), 1)
    dag[:size, :size] = upper[np.ix_(order, order)]
    for h in range(size, size + hidden):
        dag[h, rng.choice(size, 2, replace=False)] = True
    return dag, tuple(range(size, size + hidden))


def keeps_rfcis_promise(marks: Marks, dag: Bools, hidden: Sequence[int]) -> None:
    """What Colombo et al. (2012) prove: no edge is missing, arrowheads and tails tell the truth
    about ancestors, and with the true skeleton it is the true PAG (Theorems 3.2 to 3.4)."""
    seen = [v for v in range(len(dag)) if v not in hidden]
    ancestor, truth = above(dag)[np.ix_(seen, seen)], true_pag(dag, hidden)
    assert not ((truth != NONE) & (marks == NONE)).any()
    assert not ((marks == HEAD) & ancestor.T).any()
    assert not ((marks == TAIL) & ~ancestor.T).any()
    if np.array_equal(marks != NONE, truth != NONE):
        assert np.array_equal(marks, truth)


def test_the_oracle_agrees_with_networkx() -> None:
    rng = rng_of(3)
    for _ in range(20):
        dag = random_dag(rng, 7, 2.5)
        graph = nx.DiGraph(list(map(tuple, np.argwhere(dag).tolist())))
        graph.add_nodes_from(range(7))
        oracle = Oracle(dag, hidden=(0,))
        for x, y in combinations(range(6), 2):
            given = [v for v in range(6) if v not in (x, y) and rng.random() < 0.4]
            real = {v + 1 for v in given}
            assert oracle.independent(x, y, given) == nx.is_d_separator(
                graph, {x + 1}, {y + 1}, real
            )


# --- the true PAG -----------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [(), (0,), (1,), (2,), (3,)])
def test_every_dag_on_four_nodes_gives_its_pag(hidden: Sequence[int]) -> None:
    for dag in DAGS4:
        truth = true_pag(dag, hidden)
        assert np.array_equal(found(dag, hidden), truth), dag.astype(int)
        assert np.array_equal(found(dag, hidden, faster=True), truth), dag.astype(int)


def test_random_dags_on_five_nodes_with_two_of_them_hidden() -> None:
    rng = rng_of(4)
    for _ in range(250):
        dag = random_dag(rng, 5, float(rng.uniform(2, 4)))
        hidden = tuple(rng.choice(5, 2, replace=False).tolist())
        assert np.array_equal(found(dag, hidden), true_pag(dag, hidden))
        keeps_rfcis_promise(found(dag, hidden, faster=True), dag, hidden)


@pytest.mark.parametrize("seed", range(30))
def test_random_dags_with_up_to_three_nodes_hidden(seed: int) -> None:
    rng = rng_of(500 + seed)
    size = int(rng.integers(6, 13))
    dag = random_dag(rng, size, float(rng.uniform(1, 4)))
    hidden = tuple(rng.choice(size, int(rng.integers(0, 4)), replace=False).tolist())
    assert np.array_equal(found(dag, hidden), true_pag(dag, hidden))
    keeps_rfcis_promise(found(dag, hidden, faster=True), dag, hidden)


@pytest.mark.parametrize("size, hidden, times", [(5, 4, 60), (7, 6, 40), (9, 8, 12)])
def test_many_hidden_causes(size: int, hidden: int, times: int) -> None:
    """Discriminating paths in most of these, rules 8 to 10 in some."""
    for seed in range(times):
        dag, latent = confounded(seed, size, 1.5, hidden)
        assert np.array_equal(found(dag, latent), true_pag(dag, latent))
        keeps_rfcis_promise(found(dag, latent, faster=True), dag, latent)


# Of (nodes seen, arrows, hidden causes), the seeds of DAGs in which two nodes are apart that no
# set of neighbours of either separates.
BEYOND_NEIGHBOURS = [
    *((6, 1.5, 5, seed) for seed in (169, 1721, 2287, 5169, 6352, 7626)),
    *((7, 1.5, 5, seed) for seed in (510, 870, 1114, 1324, 1788, 1863, 2275, 4016, 4098, 4150)),
    *(
        (8, 2.0, 6, seed)
        for seed in (
            66,
            157,
            161,
            230,
            384,
            389,
            520,
            1718,
            2211,
            2262,
            2588,
            2698,
            2872,
            2960,
            3262,
            3446,
            3484,
            3872,
            4092,
            4144,
        )
    ),
]


def beyond_neighbours(dag: Bools, latent: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs that are apart, but by no set of neighbours of either."""
    mag, oracle = true_mag(dag, latent), Oracle(dag, latent)
    near = [np.flatnonzero(row).tolist() for row in mag]
    return [
        (x, y)
        for x, y in np.argwhere(np.triu(mag == NONE, 1)).tolist()
        if not any(
            oracle.independent(x, y, given)
            for end in (x, y)
            for order in range(len(near[end]) + 1)
            for given in combinations(near[end], order)
        )
    ]


def test_fci_goes_beyond_neighbours_where_it_must_and_rfci_keeps_its_promise() -> None:
    wider = 0
    for size, arrows, hidden, seed in BEYOND_NEIGHBOURS:
        dag, latent = confounded(seed, size, arrows, hidden)
        truth = true_pag(dag, latent)
        assert beyond_neighbours(dag, latent)
        assert np.array_equal(found(dag, latent), truth), seed
        marks = found(dag, latent, faster=True)
        keeps_rfcis_promise(marks, dag, latent)
        wider += ((truth == NONE) & (marks != NONE)).any()
    assert wider > 25  # RFCI does leave edges that FCI takes away


def test_possible_d_sep_holds_what_separates() -> None:
    """From the true colliders: each pair that is apart is separated by part of such a set."""
    for size, arrows, hidden, seed in BEYOND_NEIGHBOURS[:8]:
        dag, latent = confounded(seed, size, arrows, hidden)
        mag, oracle = true_mag(dag, latent), Oracle(dag, latent)
        far = possible_d_sep(mag)
        for x, y in beyond_neighbours(dag, latent):
            assert any(
                oracle.independent(x, y, given)
                for end in (x, y)
                for order in range(size)
                for given in combinations(set(np.flatnonzero(far[end]).tolist()) - {x, y}, order)
            )


def test_possible_d_sep_passes_triangles_and_colliders() -> None:
    """x - a - b is in a triangle, a *-> b <-* v is a collider, and b - v - w is neither."""
    names = ["x", "a", "b", "v", "w"]
    edges = ("x o-o a", "x o-o b", "a o-> b", "v o-> b", "v o-o w")
    parts = [edge.split() for edge in edges]
    graph = Graph("pag", tuple(names), tuple(Edge(s, t, cast(Mark, m)) for s, m, t in parts))
    assert possible_d_sep(marks_of(graph))[0].tolist() == [False, True, True, True, False]


@pytest.mark.parametrize("seed", [1102, 2327, 3990])
def test_rfci_checks_the_edges_of_discriminating_paths(seed: int) -> None:
    """In these DAGs one such edge is false, and only this check takes it away."""
    dag, latent = confounded(seed, 9, 2.0, 8)
    assert np.array_equal(found(dag, latent, faster=True), true_pag(dag, latent))


def test_separators_separate() -> None:
    for seed in range(20):
        dag, latent = confounded(seed, 7, 1.5, 5)
        oracle = Oracle(dag, latent)
        for faster in (False, True):
            result = fci(oracle, free(7), max_order=7, faster=faster, widest=EVERY)
            apart = {(x, y) for x, y in np.argwhere(np.triu(result.marks == NONE, 1)).tolist()}
            assert set(result.separators) == apart
            assert all(oracle.independent(x, y, z) for (x, y), z in result.separators.items())


def test_the_limit_on_the_order_is_kept() -> None:
    """Two causes between a and d: order 1 cannot part the two, order 2 can."""
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[0, 2] = dag[1, 3] = dag[2, 3] = True
    for faster in (False, True):
        for order, joined in ((1, True), (2, False)):
            marks = fci(Oracle(dag), free(4), max_order=order, faster=faster).marks
            assert (marks[0, 3] != NONE) == joined


def test_rfci_asks_less_than_fci() -> None:
    fewer = []
    for seed in range(10):
        dag, latent = confounded(seed, 9, 1.5, 7)
        asked = []
        for faster in (False, True):
            oracle = Oracle(dag, latent)
            fci(oracle, free(9), max_order=9, faster=faster, widest=EVERY)
            asked.append(oracle.asked)
        fewer.append(asked[1] <= asked[0])
    assert all(fewer)


# --- names, noise -----------------------------------------------------------------------------


@pytest.mark.parametrize("faster", [False, True])
def test_the_numbering_of_columns_does_not_matter(faster: bool) -> None:
    for size, arrows, hidden, seed in BEYOND_NEIGHBOURS[:6]:
        dag, latent = confounded(seed, size, arrows, hidden)
        base = found(dag, latent, faster=faster)
        order = rng_of(seed).permutation(size)
        both = [*order, *latent]
        again = found(dag[np.ix_(both, both)], latent, faster=faster)
        assert np.array_equal(again, base[np.ix_(order, order)])


class RumourJudge(Rumours):
    """Answers without any DAG behind them; some of them that nothing can be said."""

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        return self.strength

    def margins(self, questions: Indices) -> Floats:
        answers = self.ask(questions) + 1.2
        return np.where(answers > 3.0, np.inf, answers)


@pytest.mark.parametrize("faster", [False, True])
def test_contradictory_answers_give_a_graph_that_depends_on_no_numbering(faster: bool) -> None:
    turned = 0
    for seed in range(8):
        rng, size, results = rng_of(700 + seed), 9, set()
        for _ in range(4):
            labels = [int(v) for v in rng.permutation(size)]
            judge = RumourJudge(seed, labels)
            marks = fci(judge, free(size), max_order=3, faster=faster, widest=5).marks
            to_graph(marks, [str(v) for v in labels])  # refuses circles of arrows
            results.add(
                frozenset(
                    (labels[i], labels[j], int(marks[i, j])) for i, j in np.argwhere(marks).tolist()
                )
            )
        assert len(results) == 1, seed
        turned += sum(mark != CIRCLE for *_, mark in next(iter(results)))
    assert turned > 50


def test_who_cannot_say_removes_nothing_and_turns_nothing() -> None:
    class Silent:
        def strengths(self, _pairs: Bools | None = None) -> Floats:
            return np.ones((4, 4))

        def margins(self, questions: Indices) -> Floats:
            return np.full(len(questions), np.inf)

    for faster in (False, True):
        marks = fci(Silent(), free(4), max_order=2, faster=faster).marks
        assert np.array_equal(marks == CIRCLE, ~np.eye(4, dtype=bool))


class Told:
    """Margins as told, and unknown where they are not."""

    def __init__(self, told: Margins) -> None:
        self.told = told

    def strengths(self, _pairs: Bools | None = None) -> Floats:
        return np.ones((4, 4))

    def margins(self, questions: Indices) -> Floats:
        return np.array([self.told.get(tuple(row), np.inf) for row in questions.tolist()])


def collided(told: Margins, joined: list[tuple[int, int]], separators: Separators) -> Marks:
    """The marks that colliders leave on these edges, separated by what they say."""
    adjacent = np.zeros((4, 4), dtype=bool)
    for i, j in joined:
        adjacent[i, j] = adjacent[j, i] = True
    search = _Search(Told(told), free(4), np.ones((4, 4)), 1, 8)
    return search.colliders(Skeleton(adjacent, separators))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "told, separator, collider",
    [
        ({(0, 2): 0.0, (0, 2, 1): 0.3}, (1,), False),  # too little, as two in three are none
        ({(0, 2): 0.0, (0, 2, 1): 5.0}, (1,), True),
        ({(0, 2): 5.0, (0, 2, 1): 0.0}, (1,), False),
        ({(0, 2): 3.0, (0, 2, 1): 3.0}, (1,), False),  # alike: what separated the two decides
        ({(0, 2): 3.0, (0, 2, 1): 3.0}, (), True),
        ({(0, 2): 0.0}, (1,), False),  # it cannot be said how well it fits with 1 given
        ({}, (1,), False),
    ],
)
def test_a_collider_needs_more_than_a_weak_test(
    told: Margins, separator: tuple[int, ...], collider: bool
) -> None:
    marks = collided(told, [(0, 1), (1, 2)], {(0, 2): separator})
    assert (marks[0, 1] == HEAD and marks[2, 1] == HEAD) == collider


def test_triples_of_one_node_are_weighed_together() -> None:
    """0 and 1 meet in 3, it says, and so, less surely, do 1 and 2; but 0 and 2 surely do not."""
    told = {(0, 1): 0.0, (0, 1, 3): 14.0, (1, 2): 0.0, (1, 2, 3): 5.0, (0, 2): 14.0, (0, 2, 3): 0.0}
    separators: Separators = dict.fromkeys([(0, 1), (0, 2), (1, 2)], (3,))
    marks = collided(told, [(0, 3), (1, 3), (2, 3)], separators)
    assert str(to_graph(marks, "abcd")) == "a o-> d\nb o-> d\nc o-o d"


def test_bounded_weights_are_told_apart_by_more_than_their_numbers() -> None:
    """Three colliders in one node that exclude each other in part, all surer than the bound."""
    told = {(0, 1): 0.0, (0, 1, 3): 90.0, (0, 2): 0.0, (0, 2, 3): 30.0}
    told |= {(1, 2): 99.0, (1, 2, 3): 0.0}
    edges = [(0, 3), (1, 3), (2, 3)]
    separators: Separators = dict.fromkeys([(0, 1), (0, 2), (1, 2)], (3,))
    plain = collided(told, edges, separators)
    swap = {0: 0, 1: 2, 2: 1, 3: 3}
    turned = {(*sorted((swap[x], swap[y])), *(3 for _ in z)): v for (x, y, *z), v in told.items()}
    order = [0, 2, 1, 3]
    assert np.array_equal(collided(turned, edges, separators), plain[np.ix_(order, order)])


# --- knowledge --------------------------------------------------------------------------------


def tiered(rng: np.random.Generator, dag: Bools) -> tuple[tuple[str, ...], ...]:
    """Tiers that the DAG follows."""
    order = list(nx.topological_sort(nx.DiGraph(dag)))
    cuts = sorted(rng.choice(len(order), 2, replace=False).tolist())
    parts = (order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :])
    return tuple(tuple(f"c{v}" for v in part) for part in parts)


@pytest.mark.parametrize("faster", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_true_knowledge_sharpens_the_pag_and_tells_no_lies(seed: int, faster: bool) -> None:
    rng = rng_of(seed)
    sharper = 0
    for _ in range(12):
        size = int(rng.integers(5, 8))
        dag = random_dag(rng, size, 2.5)
        hidden = tuple(rng.choice(size, 2, replace=False).tolist())
        seen = [v for v in range(size) if v not in hidden]
        names, ancestor = [f"c{v}" for v in seen], above(dag)
        arrows = [(f"c{i}", f"c{j}") for i in seen for j in seen if dag[i, j]]
        knowledge = Knowledge(
            tiers=tuple(tuple(n for n in tier if n in names) for tier in tiered(rng, dag)),
            required=frozenset(arrow for arrow in arrows if rng.random() < 0.3),
            forbidden=frozenset(
                (f"c{i}", f"c{j}")
                for i in seen
                for j in seen
                if not ancestor[i, j] and rng.random() < 0.2
            ),
        )
        knowledge.check(names)
        marks = fci(
            Oracle(dag, hidden),
            Constraints.of(names, knowledge),
            max_order=size,
            faster=faster,
            widest=EVERY,
        ).marks
        respects(marks, names, knowledge)
        plain, real = true_pag(dag, hidden), true_mag(dag, hidden)
        assert np.array_equal(marks != NONE, plain != NONE)
        assert np.array_equal(marks[marks != CIRCLE], real[marks != CIRCLE])
        assert (marks != CIRCLE)[plain != CIRCLE].all()
        sharper += (marks != plain).any()
    assert sharper > 4


@pytest.mark.parametrize("faster", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_wrong_knowledge_is_obeyed_and_never_an_error(seed: int, faster: bool) -> None:
    rng = rng_of(300 + seed)
    for _ in range(15):
        dag = random_dag(rng, int(rng.integers(3, 9)), degree=2.5)
        names = [f"c{v}" for v in range(len(dag))]
        knowledge = any_knowledge(names, rng)
        marks = fci(Oracle(dag), Constraints.of(names, knowledge), max_order=3, faster=faster).marks
        respects(marks, names, knowledge)
        to_graph(marks, names)


def test_two_forbidden_arrows_leave_a_hidden_cause() -> None:
    names, pair = ["a", "b"], np.array([[0, 1], [0, 0]], dtype=bool)
    knowledge = Knowledge(forbidden=frozenset({("a", "b"), ("b", "a")}))
    marks = fci(Oracle(pair), Constraints.of(names, knowledge), max_order=0).marks
    assert str(to_graph(marks, names)) == "a <-> b"


def test_a_required_arrow_is_not_even_asked_about() -> None:
    names, apart = ["a", "b"], np.zeros((2, 2), dtype=bool)
    oracle = Oracle(apart)
    knowledge = Knowledge(required=frozenset({("b", "a")}))
    marks = fci(oracle, Constraints.of(names, knowledge), max_order=2).marks
    assert str(to_graph(marks, names)) == "b --> a" and oracle.asked == 0


# --- a peer -----------------------------------------------------------------------------------


def peers_pag(dag: Bools, size: int) -> Marks:
    """What causal-learn's FCI finds, with its own d-separation."""
    from causallearn.search.ConstraintBased import FCI as search

    graph = nx.DiGraph(list(map(tuple, np.argwhere(dag).tolist())))
    graph.add_nodes_from(range(len(dag)))
    nothing = rng_of(0).normal(size=(50, size))  # it wants rows, and does not look at them
    with contextlib.redirect_stdout(io.StringIO()):
        result, _ = search.fci(nothing, "d_separation", 0.5, show_progress=False, true_dag=graph)
    return marks_of(from_causal_learn(result.graph, [str(v) for v in range(size)], "pag"))


@pytest.mark.parametrize(
    "size, arrows, hidden, times, apart",
    [(5, 1.5, 0, 20, ()), (6, 1.2, 3, 40, (23,)), (8, 1.5, 4, 40, (5, 35))],
)
def test_causal_learn_finds_the_same_pag_but_for_its_rule_ten(
    size: int, arrows: float, hidden: int, times: int, apart: tuple[int, ...]
) -> None:
    """Its rule 10 asks for potentially directed paths, but not that they be uncovered. So for the
    seeds in ``apart`` it has a tail where some graph of the class has an arrowhead."""
    for seed in range(times):
        dag, latent = confounded(seed, size, arrows, hidden)
        ours, theirs = found(dag, latent), peers_pag(dag, size)
        differ = ours != theirs
        assert differ.any() == (seed in apart), seed
        assert (ours[differ] == CIRCLE).all() and (theirs[differ] == TAIL).all()
        assert np.array_equal(ours, true_pag(dag, latent))
