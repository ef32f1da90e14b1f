"""PAGs as matrices of marks, and the true PAG of a DAG of which some nodes are hidden.

``M[i, j]`` is the mark at j of the edge between i and j: no edge, a circle, an arrowhead or a
tail; i --> j is ``M[i, j] == HEAD, M[j, i] == TAIL``. A tail at i says that i is a cause of j
(perhaps by way of hidden nodes), an arrowhead at i that it is none, a circle that the
independences among what is seen leave it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from privet.arrays import Bools, Floats
from privet.errors import GraphError, KnowledgeError
from privet.graph.edge import Edge
from privet.graph.fci_rules import CIRCLE, HEAD, NONE, TAIL, Marks, Path, ancestors, closure
from privet.graph.formats.common import End, ends, join
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.meek import is_acyclic

_CODES: dict[End, int] = {"circle": CIRCLE, "arrow": HEAD, "tail": TAIL}
_ENDS = {code: end for end, code in _CODES.items()}


def to_graph(marks: Marks, names: Sequence[str]) -> Graph:
    """The PAG with these marks."""
    edges = [_edge(marks, names, i, j) for i, j in np.argwhere(np.triu(marks))]
    return Graph("pag", tuple(names), tuple(edges))


def _edge(marks: Marks, names: Sequence[str], i: int, j: int) -> Edge:
    return join(names[i], _ENDS[int(marks[j, i])], names[j], _ENDS[int(marks[i, j])])


def marks_of(graph: Graph) -> Marks:
    """The marks of a graph of any kind, in the order of its nodes."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    marks = np.zeros((len(at), len(at)), dtype=np.int8)
    for edge in graph.edges:
        i, j = at[edge.source], at[edge.target]
        marks[j, i], marks[i, j] = (_CODES[end] for end in ends(edge))
    return marks


def true_pag(dag: Bools, latent: Sequence[int] = (), selection: Sequence[int] = ()) -> Marks:
    """What independences among the other nodes can tell about a DAG, by perfect answers.

    The nodes of ``latent`` were not seen, and of ``selection`` only one value was. The matrix is
    that of the other nodes in their order. Without selection, a mark is an arrowhead or a tail
    just if it is one in every directed MAG with the same independences; with it, in every MAG.
    """
    if not is_acyclic(dag) or (dag & dag.T).any():
        raise GraphError("the matrix is no DAG, so it has no true PAG; take out a circle of arrows")
    return pag_of_mag(true_mag(dag, latent, selection), selection=bool(selection))


def true_mag(dag: Bools, latent: Sequence[int] = (), selection: Sequence[int] = ()) -> Marks:
    """The MAG of a DAG over its other nodes [Richardson and Spirtes 2002, section 4.2].

    Two nodes are joined if no set of seen nodes separates them; then their seen ancestors, and
    those of the selection, do not. A node has a tail if it is an ancestor of the other or of
    the selection.
    """
    hidden = np.zeros(len(dag), dtype=bool)
    hidden[list(latent)] = True
    chosen = np.zeros(len(dag), dtype=bool)
    chosen[list(selection)] = True
    above = ancestors(dag)
    above_chosen = np.asarray(above[:, chosen].any(axis=1))
    marks = np.zeros(dag.shape, dtype=np.int8)
    seen = np.flatnonzero(~hidden & ~chosen)
    for i, j in combinations(seen.tolist(), 2):
        if _inseparable(dag, above[:, i] | above[:, j] | above_chosen, hidden, i, j):
            marks[j, i] = TAIL if above[i, j] or above_chosen[i] else HEAD
            marks[i, j] = TAIL if above[j, i] or above_chosen[j] else HEAD
    return marks[np.ix_(seen, seen)]


def _inseparable(dag: Bools, kept: Bools, hidden: Bools, i: int, j: int) -> bool:
    """Whether hidden nodes alone lead from i to j in the moral graph of the ancestors ``kept``,
    so that conditioning on all the others does not separate the two [Lauritzen et al. 1990]."""
    inner = dag & kept[:, None] & kept
    moral = inner | inner.T | ((inner.astype(np.float32) @ inner.T.astype(np.float32)) > 0)
    reached, fresh = np.zeros_like(kept), np.zeros_like(kept)
    fresh[i] = True
    while fresh.any():
        near = np.asarray(moral[fresh].any(axis=0))
        if near[j]:
            return True
        reached |= fresh
        fresh = near & hidden & ~reached
    return False


def pag_of_mag(mag: Marks, *, selection: bool = False) -> Marks:
    """The PAG of a MAG: its unshielded colliders, and all that follows by Zhang's rules."""
    joined, heads = mag != NONE, mag == HEAD
    marks = np.where(joined, CIRCLE, NONE).astype(np.int8)
    apart = ~joined & ~np.eye(len(mag), dtype=bool)
    colliders = heads & ((apart.astype(np.float32) @ heads.astype(np.float32)) > 0)
    marks[colliders] = HEAD

    def is_collider(paths: Sequence[Path]) -> Floats:
        both = [heads[before, b] and heads[c, b] for *_, before, b, c in paths]
        return np.where(both, 1.0, -1.0)

    return closure(marks, is_collider, selection=selection)


def respects(marks: Marks, names: Sequence[str], knowledge: Knowledge) -> None:
    """Raise KnowledgeError unless the PAG says all that knowledge says about its edges.

    A forbidden arrow a --> b says that a is no cause of b, so an edge between the two has an
    arrowhead at a. If both directions are forbidden, a <-> b may still stand: what is hidden may
    cause both.
    """
    at = {name: i for i, name in enumerate(names)}
    for a, b in sorted(knowledge.required):
        if (marks[at[a], at[b]], marks[at[b], at[a]]) != (HEAD, TAIL):
            raise KnowledgeError(
                f"the arrow {a!r} --> {b!r} is required, but the graph has "
                f"{_shown(marks, names, at[a], at[b])}; "
                "search again with this knowledge, or drop the arrow from it"
            )
    for i, j in np.argwhere((marks != NONE) & (marks.T != HEAD)):
        if not knowledge.may(names[i], names[j]):
            raise KnowledgeError(
                f"the arrow {names[i]!r} --> {names[j]!r} is forbidden, but the graph has "
                f"{_shown(marks, names, i, j)}; "
                "search again with this knowledge, or allow the arrow in it"
            )


def _shown(marks: Marks, names: Sequence[str], i: int, j: int) -> str:
    return f"'{_edge(marks, names, i, j)}'" if marks[i, j] else "no edge between the two"
