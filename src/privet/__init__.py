"""Privet: causal discovery that keeps people private.

    import privet

    found = privet.discover("data.csv", "schema.toml", epsilon=1.0, delta=1e-6)
    print(found)
    found.save("out")

Names are imported when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.api.combine import combine
    from privet.api.discover import discover
    from privet.api.orient import orient
    from privet.api.verify import sign, verify
    from privet.attacks.audit import audit
    from privet.errors import PrivetError
    from privet.graph.edge import Edge
    from privet.graph.formats.files import load as load_graph
    from privet.graph.formats.files import save as save_graph
    from privet.graph.graph import Graph
    from privet.graph.knowledge import Knowledge
    from privet.graph.metrics import compare
    from privet.methods.plan import plan, plan_sites
    from privet.networks.simulate import simulate, simulate_random
    from privet.pairs.way import Orientation
    from privet.privacy.ledger.book import Ledger
    from privet.results.certificate import Certificate
    from privet.results.discovery import Discovery
    from privet.schema.column import Column
    from privet.schema.model import Adjacency, Schema
    from privet.trust.owner import draft

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
    "audit",
    "combine",
    "compare",
    "discover",
    "draft",
    "load_graph",
    "orient",
    "plan",
    "plan_sites",
    "save_graph",
    "sign",
    "simulate",
    "simulate_random",
    "verify",
]

_HOME = {
    "Adjacency": "schema.model:Adjacency",
    "Certificate": "results.certificate:Certificate",
    "Column": "schema.column:Column",
    "Discovery": "results.discovery:Discovery",
    "Edge": "graph.edge:Edge",
    "Graph": "graph.graph:Graph",
    "Knowledge": "graph.knowledge:Knowledge",
    "Ledger": "privacy.ledger.book:Ledger",
    "Orientation": "pairs.way:Orientation",
    "PrivetError": "errors:PrivetError",
    "Schema": "schema.model:Schema",
    "audit": "attacks.audit:audit",
    "combine": "api.combine:combine",
    "compare": "graph.metrics:compare",
    "discover": "api.discover:discover",
    "draft": "trust.owner:draft",
    "load_graph": "graph.formats.files:load",
    "orient": "api.orient:orient",
    "plan": "methods.plan:plan",
    "plan_sites": "methods.plan:plan_sites",
    "save_graph": "graph.formats.files:save",
    "sign": "api.verify:sign",
    "simulate": "networks.simulate:simulate",
    "simulate_random": "networks.simulate:simulate_random",
    "verify": "api.verify:verify",
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
