"""Graphs, what is known about them, and how they compare.

Names are imported when first used: a schema needs ``Knowledge`` but not numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.graph.drawing import svg
    from privet.graph.formats.files import load, save
    from privet.graph.graph import Edge, Graph
    from privet.graph.knowledge import Knowledge
    from privet.graph.metrics import Comparison, compare

__all__ = ["Comparison", "Edge", "Graph", "Knowledge", "compare", "load", "save", "svg"]

_HOME = {
    "Comparison": "metrics",
    "Edge": "graph",
    "Graph": "graph",
    "Knowledge": "knowledge",
    "compare": "metrics",
    "load": "formats.files",
    "save": "formats.files",
    "svg": "drawing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
