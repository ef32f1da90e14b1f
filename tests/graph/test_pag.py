"""PAGs: marks to graphs and back, the true PAG of a DAG, and the rules against whole classes.

The truth of the rules is found without them: all MAGs on three and four nodes are listed,
grouped by their independences, and a mark stands where all members of a group share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import cast

import numpy as np
import pytest

from privet.arrays import Bools, Floats, Indices
from privet.errors import GraphError, KnowledgeError
from privet.graph.edge import Edge, Mark
from privet.graph.fci_rules import (
    CIRCLE,
    HEAD,
    NONE,
    TAIL,
    Marks,
    Weigh,
    closure,
    discriminating_paths,
    written,
)
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.metrics import compare
from privet.graph.pag import marks_of, pag_of_mag, respects, to_graph, true_mag, true_pag

# --- independence in a MAG, by walks ----------------------------------------------------------


def above(M: Marks) -> Bools:
    """[x, y]: x is y or an ancestor of y, by one more arrow at a time."""
    arrows = (M == HEAD) & (M.T == TAIL)
    out = np.eye(len(M), dtype=bool)
    for _ in range(len(M)):
        out = out | ((out.astype(int) @ arrows.astype(int)) > 0)
    return out


def connected(M: Marks, x: int, given: Sequence[int], anc: Bools) -> set[int]:
    """The nodes that an open walk from x reaches; a collider is open if it is above ``given``."""
    size = len(M)
    open_collider = [any(anc[v, z] for z in given) for v in range(size)]
    todo = [(v, M[x, v] == HEAD) for v in range(size) if M[x, v]]
    seen = set()
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        node, by_head = state
        for near in range(size):
            if M[node, near]:
                collider = by_head and M[near, node] == HEAD
                if open_collider[node] if collider else node not in given:
                    todo.append((near, M[node, near] == HEAD))
    return {node for node, _ in seen}


def independences(M: Marks) -> tuple[bool, ...]:
    """All the independences of a MAG, as one long answer."""
    size, anc, out = len(M), above(M), []
    for x in range(size):
        others = [v for v in range(size) if v != x]
        for order in range(size - 1):
            for given in combinations(others, order):
                reached = connected(M, x, given, anc)
                out += [y in reached for y in range(x + 1, size) if y not in given]
    return tuple(out)


def is_ancestral(M: Marks) -> bool:
    """No node has an arrowhead from one that it is above, nor beside an undirected edge."""
    anc = above(M) & ~np.eye(len(M), dtype=bool)
    lines = ((M == TAIL) & (M.T == TAIL)).any(axis=0)
    return not (anc & (M.T == HEAD)).any() and not (lines & (M == HEAD).any(axis=0)).any()


def is_maximal(M: Marks) -> bool:
    size, anc = len(M), above(M)
    for x, y in combinations(range(size), 2):
        rest = [v for v in range(size) if v not in (x, y)]
        sets = [given for order in range(size - 1) for given in combinations(rest, order)]
        if not M[x, y] and all(y in connected(M, x, given, anc) for given in sets):
            return False
    return True


def marked(size: int, pairs: list[tuple[int, int]], states: Sequence[tuple[int, int]]) -> Marks:
    M = np.zeros((size, size), dtype=np.int8)
    for (i, j), (at_i, at_j) in zip(pairs, states, strict=True):
        M[j, i], M[i, j] = at_i, at_j
    return M


def all_mags(size: int, *, selection: bool) -> list[Marks]:
    pairs = list(combinations(range(size), 2))
    states = [(NONE, NONE), (TAIL, HEAD), (HEAD, TAIL), (HEAD, HEAD)]
    states += [(TAIL, TAIL)] if selection else []
    listed = (marked(size, pairs, choice) for choice in product(states, repeat=len(pairs)))
    return [M for M in listed if is_ancestral(M) and is_maximal(M)]


def classes(mags: list[Marks]) -> list[list[Marks]]:
    found: dict[object, list[Marks]] = {}
    for M in mags:
        found.setdefault(independences(M), []).append(M)
    return list(found.values())


def shared(members: list[Marks]) -> Marks:
    """The marks that all members have, and circles where they differ."""
    stack = np.stack(members)
    return np.where((stack == stack[0]).all(axis=0), stack[0], CIRCLE)


@pytest.fixture(scope="module")
def mags4() -> list[list[Marks]]:
    return classes(all_mags(4, selection=False))


# --- the rules against whole classes ----------------------------------------------------------


def test_the_rules_give_every_class_of_four_nodes_without_selection(
    mags4: list[list[Marks]],
) -> None:
    assert len(mags4) == 248
    for members in mags4:
        for M in members:
            assert np.array_equal(pag_of_mag(M), shared(members)), M


def test_the_rules_give_every_class_of_four_nodes_with_selection() -> None:
    """Three classes more: squares of undirected edges."""
    found = classes(all_mags(4, selection=True))
    assert len(found) == 251
    for members in found:
        for M in members:
            assert np.array_equal(pag_of_mag(M, selection=True), shared(members)), M


@pytest.mark.parametrize("selection", [False, True])
def test_the_rules_give_every_class_of_three_nodes(selection: bool) -> None:
    found = classes(all_mags(3, selection=selection))
    assert len(found) == 11
    for members in found:
        assert all(
            np.array_equal(pag_of_mag(M, selection=selection), shared(members)) for M in members
        )


def colliders(M: Marks) -> frozenset[tuple[int, int, int]]:
    heads = M == HEAD
    return frozenset(
        (i, k, j)
        for i, j in combinations(range(len(M)), 2)
        for k in range(len(M))
        if heads[i, k] and heads[j, k] and not M[i, j]
    )


def members_over(M: Marks) -> Iterator[Marks]:
    """All MAGs without undirected edges that have the independences of M, by trying all marks."""
    pairs = [(int(i), int(j)) for i, j in np.argwhere(np.triu(M))]
    states = [(TAIL, HEAD), (HEAD, TAIL), (HEAD, HEAD)]
    wanted, wanted_colliders = independences(M), colliders(M)
    for choice in product(states, repeat=len(pairs)):
        other = marked(len(M), pairs, choice)
        same = colliders(other) == wanted_colliders and is_ancestral(other)
        if same and independences(other) == wanted:
            yield other


def random_mag(rng: np.random.Generator, size: int, arrows: float, hidden: int) -> Marks:
    """The MAG of a random DAG in which each hidden node causes two that are seen."""
    dag = np.zeros((size + hidden, size + hidden), dtype=bool)
    order = rng.permutation(size)
    upper = np.triu(rng.random((size, size)) < arrows / (size - 1), 1)
    dag[:size, :size] = upper[np.ix_(order, order)]
    for h in range(size, size + hidden):
        dag[h, rng.choice(size, 2, replace=False)] = True
    return true_mag(dag, range(size, size + hidden))


@pytest.mark.parametrize("size, most, times", [(5, 6, 40), (6, 7, 12)])
def test_the_rules_give_the_class_of_random_mags(size: int, most: int, times: int) -> None:
    rng, tried, sharpened = np.random.default_rng(2), 0, 0
    while tried < times:
        M = random_mag(rng, size, 1.3, size // 2)
        if not 5 <= (M != NONE).sum() / 2 <= most:
            continue
        pag = pag_of_mag(M)
        assert np.array_equal(pag, shared(list(members_over(M)))), M
        tried += 1
        sharpened += (pag == TAIL).any()
    assert sharpened >= 4


# --- single rules, by known examples ----------------------------------------------------------


def pag(nodes: Sequence[str], *edges: str) -> Graph:
    parts = [edge.split() for edge in edges]
    return Graph("pag", tuple(nodes), tuple(Edge(a, b, cast(Mark, m)) for a, m, b in parts))


def dag_of(nodes: Sequence[str], *pairs: str) -> Bools:
    at = {name: i for i, name in enumerate(nodes)}
    dag = np.zeros((len(at), len(at)), dtype=bool)
    for a, b in (pair.split() for pair in pairs):
        dag[at[a], at[b]] = True
    return dag


def found_pag(nodes: Sequence[str], hidden: Sequence[str], *pairs: str) -> Graph:
    dag = dag_of([*nodes, *hidden], *pairs)
    latent = range(len(nodes), len(nodes) + len(hidden))
    return to_graph(true_pag(dag, latent), nodes)


def test_a_y_structure_shows_a_cause() -> None:
    """Nothing hidden can stand behind c --> d [Spirtes, Glymour and Scheines 1993]."""
    assert found_pag("abcd", "", "a c", "b c", "c d") == pag(
        "abcd", "a o-> c", "b o-> c", "c --> d"
    )


def test_discriminating_paths_tell_a_hidden_cause_from_an_arrow() -> None:
    """t *-> a <-* b and a --> c: the independence of t and c says what joins b and c."""
    common = ("t a", "k a", "k b", "a c")
    assert found_pag("tabc", "kl", *common, "l b", "l c") == pag(
        "tabc", "t o-> a", "a <-> b", "a --> c", "b <-> c"
    )
    assert found_pag("tabc", "k", *common, "b c") == pag(
        "tabc", "t o-> a", "b o-> a", "a --> c", "b --> c"
    )


def test_smoking_income_and_genotype() -> None:
    """The running example of Zhang (2008, causal reasoning): parents' habits, income and genotype
    bear on smoking, a hidden profession on income and smoking; cancer has two causes."""
    names = ["income", "parents", "smoking", "genotype", "cancer"]
    found = found_pag(
        names,
        ["profession"],
        "profession income",
        "profession smoking",
        "parents smoking",
        "genotype smoking",
        "genotype cancer",
        "smoking cancer",
    )
    assert found == pag(
        names,
        "income o-> smoking",
        "parents o-> smoking",
        "genotype o-> smoking",
        "smoking --> cancer",
        "genotype --> cancer",
    )


ASIA = (
    "asia tub",
    "smoke lung",
    "smoke bronc",
    "tub either",
    "lung either",
    "either xray",
    "either dysp",
    "bronc dysp",
)


def test_asia_with_smoking_hidden() -> None:
    """bronc --> dysp is there by rule 9: bronc o-o lung o-> either --> dysp."""
    names = ["asia", "tub", "lung", "bronc", "either", "xray", "dysp"]
    assert found_pag(names, ["smoke"], *ASIA) == pag(
        names,
        "asia o-o tub",
        "tub o-> either",
        "lung o-> either",
        "lung o-o bronc",
        "either --> xray",
        "either --> dysp",
        "bronc --> dysp",
    )


def test_asia_with_either_hidden() -> None:
    """X-ray and shortness of breath now have a hidden cause; that x-ray causes nothing does not
    show. lung --> dysp is there by rule 9: lung o-o smoke o-o bronc o-> dysp."""
    names = ["asia", "tub", "smoke", "lung", "bronc", "xray", "dysp"]
    found = found_pag(names, ["either"], *ASIA)
    assert found == pag(
        names,
        "asia o-o tub",
        "smoke o-o lung",
        "smoke o-o bronc",
        "tub o-> xray",
        "lung o-> xray",
        "tub o-> dysp",
        "lung --> dysp",
        "bronc --> dysp",
        "xray o-> dysp",
    )
    members = list(members_over(marks_of(found_mag(names, ["either"], *ASIA))))
    assert np.array_equal(marks_of(found), shared(members))


def found_mag(nodes: Sequence[str], hidden: Sequence[str], *pairs: str) -> Graph:
    dag = dag_of([*nodes, *hidden], *pairs)
    return to_graph(true_mag(dag, range(len(nodes), len(nodes) + len(hidden))), nodes)


def test_selection_makes_a_square_of_undirected_edges() -> None:
    """Each edge of the square is a common effect that was selected on."""
    nodes = ["a", "b", "c", "d", "s", "t", "u", "v"]
    dag = dag_of(nodes, "a s", "b s", "b t", "c t", "c u", "d u", "d v", "a v")
    assert to_graph(true_pag(dag, selection=range(4, 8)), "abcd") == pag(
        "abcd", "a --- b", "b --- c", "c --- d", "a --- d"
    )


def test_rules_six_and_seven() -> None:
    """a --- b o-o c, then c --o d: tails only, as selection brings them."""
    M = marks_of(pag("abc", "a --- b", "b o-o c"))
    after = closure(M, lambda paths: np.ones(len(paths)), selection=True)
    assert after[2, 1] == TAIL  # rule 6: at b
    chain = marks_of(pag("abc", "b o-- a", "b o-o c"))  # a --o b o-o c
    assert closure(chain, lambda paths: np.ones(len(paths)), selection=True)[2, 1] == TAIL
    assert closure(chain, lambda paths: np.ones(len(paths)))[2, 1] == CIRCLE


def closed(graph: Graph, weigh: Weigh = lambda paths: np.ones(len(paths))) -> Graph:
    return to_graph(closure(marks_of(graph), weigh), graph.nodes)


def test_rules_two_and_eight() -> None:
    """What lies behind an arrow lies behind the whole way."""
    for way in (("a --> b", "b <-> c"), ("a <-> b", "b --> c")):
        assert str(closed(pag("abc", *way, "a o-o c")).edge("a", "c")) == "a o-> c"
    both = closed(pag("abc", "a --> b", "b --> c", "a o-o c"))
    assert str(both.edge("a", "c")) == "a --> c"


def test_the_surest_discriminating_path_decides() -> None:
    """Two paths for b o-> c, from t and from u: one says collider, the other not."""
    graph = pag("tuabc", "t o-> a", "u o-> a", "b o-> a", "a --> c", "b o-> c")
    for from_t, from_u, edge in (
        (5.0, -1.0, "b <-> c"),
        (1.0, -5.0, "b --> c"),
        (np.nan, np.nan, "b o-> c"),
    ):
        sure = np.array([from_t, from_u])

        def weigh(paths: Sequence[tuple[int, ...]], sure: Floats = sure) -> Floats:
            return sure[[path[0] for path in paths]]

        after = closed(graph, weigh)
        assert str(after.edge("b", "c")) == edge


def test_rule_ten() -> None:
    """a o-> c, and from a two ways that are apart lead to the parents b and d of c."""
    M = marks_of(pag("abcd", "a o-> c", "a o-o b", "a o-o d", "b --> c", "d --> c"))
    after = closure(M, lambda paths: np.ones(len(paths)))
    assert after[2, 0] == TAIL and after[0, 2] == HEAD
    joined = marks_of(pag("abcd", "a o-> c", "a o-o b", "a o-o d", "b --> c", "d --> c", "b o-o d"))
    assert closure(joined, lambda paths: np.ones(len(paths)))[2, 0] == CIRCLE


def test_discriminating_paths_are_followed_to_their_end() -> None:
    """t *-> u <-> a <-> b o-> c, and u, a are parents of c."""
    M = marks_of(pag("tuabc", "t o-> u", "u <-> a", "a <-> b", "b o-> c", "u --> c", "a --> c"))
    assert list(discriminating_paths(M)) == [(0, 1, 2, 3, 4)]
    broken = M.copy()
    broken[1, 4] = broken[4, 1] = CIRCLE  # u is no parent of c
    assert list(discriminating_paths(broken)) == []


# --- noisy marks ------------------------------------------------------------------------------


def noisy_marks(rng: np.random.Generator, size: int) -> Marks:
    joined = np.triu(rng.random((size, size)) < 0.4, 1)
    M = np.where(joined | joined.T, CIRCLE, NONE).astype(np.int8)
    M[(M == CIRCLE) & (rng.random(M.shape) < 0.3)] = HEAD
    return M


def test_from_contradictory_marks_no_circle_of_arrows_follows() -> None:
    """Heads at random, discriminating paths decided at random: the marks given stay, nothing is
    above a node that it has an arrowhead from, and the numbering does not matter."""
    rng, arrows = np.random.default_rng(5), 0
    for _ in range(150):
        M = noisy_marks(rng, 8)
        luck = rng.normal(size=(8, 8, 8))

        def weigh(paths: Sequence[tuple[int, ...]], luck: Floats = luck) -> Floats:
            return np.array([luck[min(p[0], p[-1]), p[-2], max(p[0], p[-1])] for p in paths])

        after = closure(M, weigh)
        to_graph(after, "abcdefgh")  # refuses circles of arrows
        anc = above(after) & ~np.eye(8, dtype=bool)
        assert not (anc & (after.T == HEAD)).any()
        assert np.array_equal(after[M != CIRCLE], M[M != CIRCLE])
        arrows += (after == TAIL).sum()
        order = rng.permutation(8)

        def renamed(
            paths: Sequence[tuple[int, ...]], order: Indices = order, luck: Floats = luck
        ) -> Floats:
            old = [[order[v] for v in path] for path in paths]
            return np.array([luck[min(p[0], p[-1]), p[-2], max(p[0], p[-1])] for p in old])

        again = closure(M[np.ix_(order, order)], renamed)
        assert np.array_equal(again, after[np.ix_(order, order)])
    assert arrows > 300


def test_what_is_written_gives_way_to_what_stands() -> None:
    M = marks_of(pag("abc", "a --> b", "b --> c", "a o-o c"))
    heads, none = np.zeros((3, 3), dtype=bool), np.zeros((3, 3), dtype=bool)
    heads[2, 0] = True  # an arrowhead at a, which is above c
    assert written(M, heads, none) is M
    both = np.zeros((3, 3), dtype=bool)
    both[0, 2] = True
    assert written(M, both, both) is M
    assert written(M, both, none)[0, 2] == HEAD


# --- graphs, knowledge, comparison ------------------------------------------------------------


def test_marks_and_graphs_turn_into_each_other() -> None:
    graph = pag("abcdef", "a o-> b", "c --> b", "c <-> d", "d o-o e", "e --- f", "f o-- a")
    M = marks_of(graph)
    assert to_graph(M, graph.nodes) == graph
    assert (M[0, 1], M[1, 0], M[2, 1], M[1, 2]) == (HEAD, CIRCLE, HEAD, TAIL)
    assert (M[5, 0], M[0, 5], M[0, 2]) == (TAIL, CIRCLE, NONE)
    assert to_graph(np.zeros((0, 0), dtype=np.int8), ()) == Graph("pag", ())


def test_the_mag_of_a_dag() -> None:
    """a <-- h --> b, b --> c: a <-> b --> c, and a, c are apart."""
    assert found_mag("abc", "h", "h a", "h b", "b c") == pag("abc", "a <-> b", "b --> c")
    # an inducing path by way of a seen node: a --> b <-- h --> c and b --> c
    found = found_mag("abc", "h", "a b", "b c", "h b", "h c")
    assert found == pag("abc", "a --> b", "b --> c", "a --> c")


def test_without_hidden_nodes_the_mag_is_the_dag(dags4: list[Bools]) -> None:
    for dag in dags4:
        arrows = np.where(dag, HEAD, np.where(dag.T, TAIL, NONE))
        assert np.array_equal(true_mag(dag), arrows)


def test_what_is_no_dag_has_no_true_pag() -> None:
    circle = dag_of("abc", "a b", "b c", "c a")
    with pytest.raises(GraphError, match="no DAG, so it has no true PAG; take out"):
        true_pag(circle)
    with pytest.raises(GraphError, match="no DAG"):
        true_pag(dag_of("ab", "a b", "b a"))


def test_knowledge_is_checked_on_a_pag() -> None:
    knowledge = Knowledge(required=frozenset({("a", "b")}), tiers=(("a", "b"), ("c",)))
    for good in (pag("abc", "a --> b", "b o-> c"), pag("abc", "a --> b", "b <-> c")):
        respects(marks_of(good), good.nodes, knowledge)
    for bad, message in (
        (pag("abc", "a o-> b"), "'a' --> 'b' is required, but the graph has 'a o-> b'"),
        (pag("abc", "b --> a"), "'a' --> 'b' is required, but the graph has 'b --> a'"),
        (pag("abc"), "'a' --> 'b' is required, but the graph has no edge between the two"),
        (pag("abc", "a --> b", "c --> b"), "'c' --> 'b' is forbidden, but the graph has 'c --> b'"),
        (pag("abc", "a --> b", "c o-> b"), "'c' --> 'b' is forbidden, but the graph has 'c o-> b'"),
    ):
        with pytest.raises(KnowledgeError, match=message):
            respects(marks_of(bad), bad.nodes, knowledge)


def test_pags_are_compared_mark_by_mark() -> None:
    truth = pag("abc", "a o-> b", "b o-o c")
    assert compare(truth, truth).mark_accuracy == 1.0
    found = pag("cba", "a --> b", "a o-o c")  # one edge in both, one of its two ends is right
    assert compare(truth, found).mark_accuracy == 0.5
    assert compare(truth, pag("abc")).mark_accuracy == 1.0
    dag = Graph("dag", tuple("abc"))
    assert compare(dag, dag).mark_accuracy is None
    with pytest.raises(GraphError, match=r"truth.pag\(\).* turns a DAG or CPDAG"):
        compare(dag, truth)
