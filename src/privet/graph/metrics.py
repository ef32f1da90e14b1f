"""How close a found graph is to the true one.

Graphs are compared as classes: a DAG is first turned into its CPDAG, since data alone cannot
tell more. The arrows that an MPDAG has beyond its CPDAG count, and so do those that are tentative.
A graph whose arrows run in a circle has no class; then both are compared as they are.
Conventions where a share has nothing to divide by: the precision of no edges and the recall of no
true edges are 1, so empty against empty has F1 = 1; the false positive rate without true gaps is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.arrays import Bools
from privet.errors import GraphError
from privet.graph.edge import SYMMETRIC
from privet.graph.exports import Exports
from privet.graph.fci_rules import NONE
from privet.graph.graph import Graph
from privet.graph.pag import marks_of

State = tuple[str, str]


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """``shd`` counts the pairs whose edge (absent, -->, <--, ---) differs.

    ``skeleton_*`` and ``tpr, fpr, tdr`` look at joined pairs, ``directed_*`` at arrows (an
    undirected edge counts as two; None for PAGs). ``sid`` counts the ordered pairs whose
    intervention effect the found DAG gets wrong; None unless both graphs are DAGs.
    ``mark_accuracy`` looks at the ends of the edges that both graphs have: the share with the
    same mark (circle, arrowhead, tail); 1 if there is no such edge, None unless both are PAGs.

    >>> privet.compare(["smoke --> cancer"], ["cancer --> smoke"])
    Comparison: SHD 0, skeleton F1 1.00, directed F1 1.00
    """

    shd: int
    skeleton_precision: float
    skeleton_recall: float
    skeleton_f1: float
    directed_precision: float | None
    directed_recall: float | None
    directed_f1: float | None
    tpr: float
    fpr: float
    tdr: float
    sid: int | None
    mark_accuracy: float | None = None

    def __repr__(self) -> str:
        directed = "" if self.directed_f1 is None else f", directed F1 {self.directed_f1:.2f}"
        return f"Comparison: SHD {self.shd}, skeleton F1 {self.skeleton_f1:.2f}{directed}"

    def _repr_html_(self) -> str:
        from privet.graph.notebook import comparison_html

        return comparison_html(self)


def compare(truth: Exports | Iterable[Any], found: Exports | Iterable[Any]) -> Comparison:
    """All the measures of ``found`` against ``truth`` (the order of the two matters). Each is a
    graph, a result that holds one, or a list of edges.

    >>> found = privet.Graph.from_edges(["smoke --> cancer", "cough --> cancer"])
    >>> privet.compare([("smoke", "cancer"), ("cancer", "cough")], found).shd
    2
    """
    second = _graph(found, "found", ())
    return _compared(_graph(truth, "truth", second.nodes), second)


def _compared(truth: Graph, found: Graph) -> Comparison:
    _check_comparable(truth, found)
    dags = truth.kind == found.kind == "dag"
    sid = structural_intervention_distance(truth, found) if dags else None
    pags = truth.kind == "pag"
    truth, found = as_classes(truth, found)
    true_pairs, found_pairs = truth.skeleton(), found.skeleton()
    precision, recall, f1 = _scores(true_pairs, found_pairs)
    directed = (None, None, None) if pags else _scores(truth.arcs(), found.arcs())
    nodes = len(truth.nodes)
    gaps = nodes * (nodes - 1) // 2 - len(true_pairs)
    return Comparison(
        shd=_shd(truth, found),
        skeleton_precision=precision,
        skeleton_recall=recall,
        skeleton_f1=f1,
        directed_precision=directed[0],
        directed_recall=directed[1],
        directed_f1=directed[2],
        tpr=recall,
        fpr=len(found_pairs - true_pairs) / gaps if gaps else 0.0,
        tdr=precision,
        sid=sid,
        mark_accuracy=_mark_accuracy(truth, found) if pags else None,
    )


def as_classes(truth: Graph, found: Graph) -> tuple[Graph, Graph]:
    """Both as they are compared: a DAG as its CPDAG, unless one of the two has no class."""
    if {"pag", "cyclic"} & {truth.kind, found.kind}:
        return truth, found
    first, second = (graph.cpdag() if graph.kind == "dag" else graph for graph in (truth, found))
    return first, second


def _graph(value: Any, name: str, nodes: tuple[str, ...]) -> Graph:
    """The graph that is meant; a list of edges need not name the nodes that have none."""
    held = getattr(value, "graph", value)
    if isinstance(held, Graph):
        return held
    if not isinstance(held, list | tuple | set | frozenset):
        raise GraphError(
            f"{name} is a {type(value).__name__}; give a privet.Graph, a result with one, or a "
            "list of edges such as ['a --> b']"
        )
    return Graph.from_edges(sorted(held) if isinstance(held, Set) else held, nodes)


def _check_comparable(truth: Graph, found: Graph) -> None:
    missing = sorted(set(truth.nodes) - set(found.nodes))
    extra = sorted(set(found.nodes) - set(truth.nodes))
    if missing or extra:
        raise GraphError(
            f"the graphs have different nodes (only in the first: {_few(missing)}; only in the "
            f"second: {_few(extra)}); relabel or drop nodes so that both have the same"
        )
    if (truth.kind == "pag") != (found.kind == "pag"):
        raise GraphError(
            f"a {truth.kind} cannot be compared with a {found.kind}, because circles have no "
            "counterpart in a CPDAG; compare two PAGs: "
            "⟦truth.pag()¦`privet convert truth.json pag.json --pag`⟧ turns a DAG or "
            "CPDAG into the PAG that can be found of it at "
            "best; or compare the skeletons, graph.skeleton()"
        )


def _few(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return (shown or "none") + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _scores(true: Set[Any], found: Set[Any]) -> tuple[float, float, float]:
    """Precision, recall, F1."""
    hits = len(true & found)
    precision = hits / len(found) if found else 1.0
    recall = hits / len(true) if true else 1.0
    total = len(true) + len(found)
    return precision, recall, 2 * hits / total if total else 1.0


def _shd(truth: Graph, found: Graph) -> int:
    true_states, found_states = _states(truth), _states(found)
    pairs = true_states.keys() | found_states.keys()
    return sum(true_states.get(pair) != found_states.get(pair) for pair in pairs)


def _states(graph: Graph) -> dict[frozenset[str], State]:
    """Each joined pair with its mark and the end that the mark starts from."""
    return {
        frozenset((e.source, e.target)): (e.mark, "" if e.mark in SYMMETRIC else e.source)
        for e in graph.edges
    }


def _mark_accuracy(truth: Graph, found: Graph) -> float:
    true_marks, found_marks = marks_of(truth), marks_of(found)
    order = [found.nodes.index(name) for name in truth.nodes]
    found_marks = found_marks[np.ix_(order, order)]
    both = (true_marks != NONE) & (found_marks != NONE)
    return float((true_marks == found_marks)[both].mean()) if both.any() else 1.0


def structural_intervention_distance(truth: Graph, found: Graph) -> int:
    """The number of pairs (i, j) for which ``found`` gives a false p(x_j | do(x_i)).

    ``found`` adjusts for its parents Z of i. By Peters and Bühlmann (2015, Proposition 6) that is
    right just if: j in Z and j is no descendant of i in ``truth`` (no effect is claimed and none
    exists); or j not in Z, no node on a directed path from i to j has a descendant in Z, and Z
    blocks every path from i to j that is not directed.
    """
    G = truth.matrix()
    order = [found.nodes.index(name) for name in truth.nodes]
    H = found.matrix()[np.ix_(order, order)]
    reach = _reach(G)
    return sum(int(_false_effects(G, reach, i, H[:, i]).sum()) for i in range(len(G)))


def _reach(G: Bools) -> Bools:
    """reach[i, j]: j is i or a descendant of i."""
    reach = G | np.eye(len(G), dtype=np.bool_)
    while True:
        further = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        if np.array_equal(further, reach):
            return reach
        reach = further


def _false_effects(G: Bools, reach: Bools, i: int, Z: Bools) -> Bools:
    """For each j, whether adjusting for Z gets the effect of i on j wrong."""
    above_Z = reach[:, Z].any(axis=1)
    descends = reach[i].copy()
    descends[i] = False
    spoilt = reach[descends & above_Z].any(axis=0) & descends
    biased = spoilt | _open_beside_causal(G, i, Z)
    wrong: Bools = (Z & descends) | (~Z & biased)
    wrong[i] = False
    return wrong


def _open_beside_causal(G: Bools, i: int, Z: Bools) -> Bools:
    """The nodes that an open path from i reaches other than along arrows all the way.

    A walk that never returns to i is followed; its state is the node, whether it came in by an
    arrowhead, and whether it has run along arrows so far. It passes a node with two arrowheads
    if the node is in Z (to use a descendant in Z it goes there and turns back), any other if the
    node is not in Z. Where a walk along a directed path turns back but no path does, a node on
    that path has a descendant in Z, and ``_false_effects`` counts the pair anyhow.
    """
    children = [np.flatnonzero(row).tolist() for row in G]
    parents = [np.flatnonzero(column).tolist() for column in G.T]
    todo = [(c, True, True) for c in children[i]] + [(p, False, False) for p in parents[i]]
    seen = set(todo)
    reached = np.zeros(len(G), dtype=np.bool_)
    while todo:
        node, by_head, causal = todo.pop()
        reached[node] |= not causal
        steps = []
        if not Z[node]:
            steps += [(child, True, causal) for child in children[node]]
        if by_head == Z[node]:
            steps += [(parent, False, False) for parent in parents[node]]
        for step in steps:
            if step[0] != i and step not in seen:
                seen.add(step)
                todo.append(step)
    return reached
