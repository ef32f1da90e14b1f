"""Graphs to files and back, in Privet's format and in those of others.

What a format can carry: JSON, DOT, GraphML and networkx everything; dowhy's GML DAGs with
confidences; CSV, causal-learn, pcalg and dagitty nodes and marks, but no confidences.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from privet.errors import GraphError, OutputError
from privet.graph.formats.dagitty import from_dagitty, to_dagitty
from privet.graph.formats.dot import from_dot, to_dot
from privet.graph.formats.matrices import (
    from_causal_learn,
    from_csv,
    from_pcalg,
    to_causal_learn,
    to_csv,
    to_pcalg,
)
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
    "to_graphml",
    "to_json",
    "to_networkx",
    "to_pcalg",
]

_FORMATS: dict[str, tuple[Callable[[Graph], str], Callable[[str], Graph]]] = {
    ".json": (to_json, from_json),
    ".dot": (to_dot, from_dot),
    ".gv": (to_dot, from_dot),
    ".graphml": (to_graphml, from_graphml),
    ".csv": (to_csv, from_csv),
    ".gml": (to_dowhy_gml, from_dowhy_gml),
    ".dagitty": (to_dagitty, from_dagitty),
    ".txt": (to_dagitty, from_dagitty),
}


def save(graph: Graph, path: str | Path) -> None:
    """Write the graph in the format that the suffix names; a file that is there is replaced."""
    write, _read = _format(path)
    data = write(graph).encode()
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror}); choose another place") from None


def load(path: str | Path) -> Graph:
    """Read a graph in the format that the suffix names."""
    _write, read = _format(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise GraphError(f"cannot read {path} ({error.strerror}); check the path") from None
    except UnicodeDecodeError:
        raise GraphError(f"{path} is not UTF-8 text; save the graph again") from None
    try:
        return read(text)
    except GraphError as error:
        raise GraphError(f"{path}: {error.said}") from None


def _format(path: str | Path) -> tuple[Callable[[Graph], str], Callable[[str], Graph]]:
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise GraphError(
            f"{path} ends in {suffix or 'no suffix'}, which names no graph format; "
            f"use one of {' '.join(_FORMATS)}"
        )
    return _FORMATS[suffix]
