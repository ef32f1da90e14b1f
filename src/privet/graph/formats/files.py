"""Graphs to files and back, in Privet's format and in those of others.

What a format can carry: JSON, DOT, GraphML and networkx everything; dowhy's GML DAGs with
confidences; CSV, lists of edges, causal-learn, pcalg and dagitty nodes and marks, but no
confidences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from privet.errors import GraphError, OutputError, expect
from privet.graph.drawing import svg
from privet.graph.formats.dagitty import from_dagitty, to_dagitty
from privet.graph.formats.dot import from_dot, to_dot
from privet.graph.formats.edges import from_edge_list, has_header, to_edge_list
from privet.graph.formats.matrices import (
    from_causal_learn,
    from_csv,
    from_pcalg,
    to_causal_learn,
    to_csv,
    to_pcalg,
)
from privet.graph.formats.names import SUFFIXES
from privet.graph.formats.native import from_json, to_json
from privet.graph.formats.nx import (
    from_dowhy_gml,
    from_graphml,
    from_networkx,
    to_dowhy_gml,
    to_graphml,
    to_networkx,
)
from privet.graph.graph import Graph

__all__ = [
    "from_causal_learn",
    "from_csv",
    "from_dagitty",
    "from_dot",
    "from_dowhy_gml",
    "from_edge_list",
    "from_graphml",
    "from_json",
    "from_networkx",
    "from_pcalg",
    "load",
    "save",
    "to_causal_learn",
    "to_csv",
    "to_dagitty",
    "to_dot",
    "to_dowhy_gml",
    "to_edge_list",
    "to_graphml",
    "to_json",
    "to_networkx",
    "to_pcalg",
]

_DAGITTY = re.compile(r"\s*(dag|pdag|pag|mag|digraph)\b[^{]*\{")
_WRITERS: dict[str, Callable[[Graph], str]] = {
    ".json": to_json,
    ".dot": to_dot,
    ".gv": to_dot,
    ".graphml": to_graphml,
    ".csv": to_csv,
    ".gml": to_dowhy_gml,
    ".edges": to_edge_list,
    ".dagitty": to_dagitty,
    ".txt": to_dagitty,
    ".svg": svg,
}
_READERS: dict[str, Callable[[str], Graph]] = {
    ".json": from_json,
    ".dot": from_dot,
    ".gv": from_dot,
    ".graphml": from_graphml,
    ".csv": from_csv,
    ".gml": from_dowhy_gml,
    ".dagitty": from_dagitty,
    ".txt": from_dagitty,
}


def save(graph: Graph, path: str | Path) -> None:
    """Write the graph in the format that the suffix names; a file that is there is replaced.

    >>> graph = privet.Graph.from_edges(["smoke --> cancer"])
    >>> privet.save_graph(graph, "graph.dot")
    >>> privet.load_graph("graph.dot") == graph
    True
    """
    expect(graph, Graph, "graph", "give a privet.Graph, such as found.graph", GraphError)
    data = _WRITERS[_suffix(path)](graph).encode()
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror}); choose another place") from None


def load(path: str | Path, nodes: Sequence[str] = ()) -> Graph:
    """Read a graph in the format that the suffix names. ``nodes`` are those of which a list of
    edges need not speak, since they may have none.

    >>> _ = open("truth.csv", "w").write("cause,effect\\nsmoke,cancer\\n")
    >>> privet.load_graph("truth.csv", nodes=["smoke", "cancer", "age"])
    Graph: dag, 3 nodes, 1 edges
      smoke --> cancer
    """
    suffix = _suffix(path)
    expect(nodes, (list, tuple), "nodes", "give a list of names", GraphError)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise GraphError(f"cannot read {path} ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise GraphError(f"{path} is not UTF-8 text; save the graph again") from None
    try:
        if _is_edge_list(suffix, text):
            return from_edge_list(text, nodes)
        if suffix not in _READERS:
            raise GraphError(f"{suffix} is for pictures; give one of {' '.join(_READERS)}")
        return _READERS[suffix](text)
    except GraphError as error:
        raise GraphError(f"{path}: {error.said}") from None


def _is_edge_list(suffix: str, text: str) -> bool:
    if suffix == ".csv":
        return has_header(text.partition("\n")[0])
    return suffix == ".edges" or (suffix == ".txt" and not _DAGITTY.match(text))


def _suffix(path: str | Path) -> str:
    expect(path, (str, Path), "path¦the graph file", "give the path of a graph file", GraphError)
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise GraphError(
            f"{path} ends in {suffix or 'no suffix'}, which names no graph format; "
            f"use one of {' '.join(SUFFIXES)}"
        )
    return suffix
