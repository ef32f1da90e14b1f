"""Privet: causal discovery that keeps people private.

    import privet

    found = privet.discover("data.csv", "schema.toml", epsilon=1.0, delta=1e-6)
    print(found)
    found.save("out")

Names are imported when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.certificate import Certificate
    from privet.discover import discover
    from privet.discovery import Discovery
    from privet.draft import draft
    from privet.errors import PrivetError
    from privet.evidence.plan import plan
    from privet.graph.graph import Edge, Graph
    from privet.graph.io import load as load_graph
    from privet.graph.io import save as save_graph
    from privet.graph.knowledge import Knowledge
    from privet.graph.metrics import compare
    from privet.ledger import Ledger
    from privet.orient import orient
    from privet.orientation.registry import Orientation
    from privet.schema import Adjacency, Column, Schema
    from privet.simulate import simulate, simulate_random

    __version__: str

__all__ = [
    "Adjacency",
    "Certificate",
    "Column",
    "Discovery",
    "Edge",
    "Graph",
    "Knowledge",
    "Ledger",
    "Orientation",
    "PrivetError",
    "Schema",
    "__version__",
    "compare",
    "discover",
    "draft",
    "load_graph",
    "orient",
    "plan",
    "save_graph",
    "simulate",
    "simulate_random",
]

_HOME = {
    "Adjacency": "schema:Adjacency",
    "Certificate": "certificate:Certificate",
    "Column": "schema:Column",
    "Discovery": "discovery:Discovery",
    "Edge": "graph.graph:Edge",
    "Graph": "graph.graph:Graph",
    "Knowledge": "graph.knowledge:Knowledge",
    "Ledger": "ledger:Ledger",
    "Orientation": "orientation.registry:Orientation",
    "PrivetError": "errors:PrivetError",
    "Schema": "schema:Schema",
    "compare": "graph.metrics:compare",
    "discover": "discover:discover",
    "draft": "draft:draft",
    "load_graph": "graph.io:load",
    "orient": "orient:orient",
    "plan": "evidence.plan:plan",
    "save_graph": "graph.io:save",
    "simulate": "simulate:simulate",
    "simulate_random": "simulate:simulate_random",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("privet")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0+unknown"


class _Package(ModuleType):
    """Keeps ``privet.discover`` the function: importing the file of the same name would put the
    module in its place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
