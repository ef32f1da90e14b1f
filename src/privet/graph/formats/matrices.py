"""Matrices: adjacency CSV, causal-learn and pcalg. None of them can carry confidences.

Every format says what stands in row i and column j when a --> b, with a = 0 and b = 1.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import GraphError
from privet.graph.edge import KINDS, Edge, Kind
from privet.graph.formats.common import End, ends, join, narrowest
from privet.graph.graph import Graph, edges_of

_CAUSAL_LEARN: dict[End, int] = {"tail": -1, "arrow": 1, "circle": 2}
_PCALG_PAG: dict[End, int] = {"circle": 1, "arrow": 2, "tail": 3}


def to_causal_learn(graph: Graph) -> NDArray[np.int_]:
    """The endpoint matrix of a GeneralGraph, in the order of graph.nodes.

    a --> b: M[0, 1] = -1, M[1, 0] = 1. M[i, j] is the end at i: -1 tail, 1 arrow, 2 circle.
    """
    return _end_matrix(graph, _CAUSAL_LEARN).T


def from_causal_learn(matrix: Any, names: Sequence[str], kind: Kind | None = None) -> Graph:
    """from_causal_learn(found.G.graph, found.G.get_node_names()); without a kind, the narrowest
    that allows the marks, so say kind="cpdag" for a search whose edges all turned out directed."""
    M = _square(matrix, names)
    return narrowest(kind, names, _edges_of_ends(M.T, names, _CAUSAL_LEARN))


def to_pcalg(graph: Graph) -> NDArray[np.int_]:
    """pcalg's amat.cpdag (of all kinds but a PAG) or amat.pag (PAG), in the order of graph.nodes.

    amat.cpdag, a --> b: M[0, 1] = 0, M[1, 0] = 1; both 1 is a --- b.
    amat.pag, a --> b: M[0, 1] = 2, M[1, 0] = 3; M[i, j] is the end at j: 1 circle, 2 arrow, 3 tail.
    """
    if graph.kind == "pag":
        return _end_matrix(graph, _PCALG_PAG)
    return graph.matrix().T.astype(np.int_)


def from_pcalg(amat: Any, names: Sequence[str], kind: Kind = "cpdag") -> Graph:
    """The graph of ``to_pcalg``. The kind must be said: the same numbers mean different things.
    What is called a cpdag and is none, as with knowledge, becomes an mpdag or a pdag."""
    M = _square(amat, names)
    if kind == "pag":
        return narrowest(kind, names, _edges_of_ends(M, names, _PCALG_PAG))
    return _of_zeros_and_ones(M.T, names, kind)


def to_csv(graph: Graph) -> str:
    """A table with the kind in its corner and the names as header and first column.

    a --> b: row a, column b is 1 and row b, column a is 0; both 1 is a --- b. A PAG has the
    numbers of pcalg's amat.pag in place of 0 and 1.
    """
    pag = graph.kind == "pag"
    M = _end_matrix(graph, _PCALG_PAG) if pag else graph.matrix().astype(np.int_)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([graph.kind, *graph.nodes])
    writer.writerows([name, *row.tolist()] for name, row in zip(graph.nodes, M, strict=True))
    return out.getvalue()


def from_csv(text: str) -> Graph:
    """The graph of ``to_csv``; another corner than a kind is taken for 0/1 of a DAG or CPDAG."""
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise GraphError(f"this is not a CSV table ({error}); save the graph again") from None
    if not rows:
        raise GraphError("the CSV file is empty; it needs a header with the node names")
    corner, *names = rows[0]
    for name, row in zip(names, rows[1:], strict=False):
        if row[0] != name:
            raise GraphError(
                f"row {row[0]!r} stands where {name!r} should; rows and columns must have the "
                "same names in the same order"
            )
    if len(rows) != len(names) + 1 or any(len(row) != len(names) + 1 for row in rows):
        raise GraphError(
            f"the CSV has {len(names)} names in its header, so it needs {len(names)} rows of "
            "a name and as many numbers; put in what is missing"
        )
    M = _square([row[1:] for row in rows[1:]], names)
    if corner == "pag":
        return narrowest("pag", names, _edges_of_ends(M, names, _PCALG_PAG))
    return _of_zeros_and_ones(M, names, corner if corner in KINDS else None)


def _end_matrix(graph: Graph, codes: dict[End, int]) -> NDArray[np.int_]:
    """M[i, j] is the code of the end at j."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    M = np.zeros((len(at), len(at)), dtype=np.int_)
    for edge in graph.edges:
        i, j = at[edge.source], at[edge.target]
        at_source, at_target = ends(edge)
        M[i, j], M[j, i] = codes[at_target], codes[at_source]
    return M


def _edges_of_ends(M: NDArray[np.int_], names: Sequence[str], codes: dict[End, int]) -> list[Edge]:
    end_of = {code: end for end, code in codes.items()}
    edges = []
    for i, j in np.argwhere((M != 0) | (M.T != 0)):
        if i <= j:
            pair = int(M[j, i]), int(M[i, j])
            if not set(pair) <= set(end_of):
                raise GraphError(
                    f"the matrix has the numbers {pair} between {names[i]!r} and {names[j]!r}; "
                    f"both must be among {sorted(end_of)} (or both 0 for no edge)"
                )
            edges.append(join(names[i], end_of[pair[0]], names[j], end_of[pair[1]]))
    return edges


def _of_zeros_and_ones(M: NDArray[np.int_], names: Sequence[str], kind: str | None) -> Graph:
    for i, j in np.argwhere((M != 0) & (M != 1)):
        raise GraphError(
            f"the matrix has {M[i, j]} between {names[i]!r} and {names[j]!r}, but only 0 and 1 "
            'are allowed here; for circles, say that the kind is "pag"'
        )
    return narrowest(kind, names, edges_of(names, M == 1))


def _square(matrix: Any, names: Sequence[str]) -> NDArray[np.int_]:
    """The matrix as whole numbers, one row and column per name."""
    side = len(names)
    try:
        M = np.asarray(matrix, dtype=np.float64).reshape(np.shape(matrix) if side else (0, 0))
    except (TypeError, ValueError):
        raise GraphError("the matrix holds something that is no number; change it") from None
    if M.shape != (side, side):
        raise GraphError(
            f"the matrix has shape {M.shape}, but {side} names need {side} rows and columns; "
            "give one name per row"
        )
    if not np.isfinite(M).all() or (np.round(M) != M).any():
        raise GraphError("the matrix holds numbers that are not whole; see the convention")
    return M.astype(np.int_)
