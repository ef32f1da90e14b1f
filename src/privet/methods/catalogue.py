"""Which methods there are: every source of evidence with every search that it serves, and the
methods of the literature.

A file in ``sources`` with a ``SOURCE``, one in ``searches`` with ``SEARCHES`` or anywhere in this
room one with ``METHODS`` is found by being there.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache, lru_cache, partial
from types import ModuleType

import privet.methods
from privet.errors import MethodError
from privet.graph.knowledge import Knowledge
from privet.methods.method import USUAL_DELTA, Finding, Method
from privet.methods.options import Settings
from privet.methods.search import OF_MOMENTS, Search, check_parents, check_score, run
from privet.methods.sources.source import Source
from privet.privacy.ledger.conversion import Number
from privet.privacy.queries.base import Release
from privet.schema.column import did_you_mean
from privet.schema.model import Schema

# Columns of moments up to which GES finds better graphs than PC (``docs/benchmarks.md``).
MOST_FOR_GES = 100


def available() -> tuple[Method, ...]:
    """All methods, in order of their names."""
    return _methods(_modules())


@lru_cache(maxsize=1)
def _methods(modules: tuple[ModuleType, ...]) -> tuple[Method, ...]:
    found = [method for module in modules for method in getattr(module, "METHODS", ())]
    found += [
        product(source, search)
        for source in sources()
        for search in searches()
        if search.needs in source.gives
    ]
    return tuple(sorted(found, key=lambda method: method.name))


def sources() -> list[Source]:
    return [module.SOURCE for module in _modules() if hasattr(module, "SOURCE")]


def searches() -> list[Search]:
    return [search for module in _modules() for search in getattr(module, "SEARCHES", ())]


@cache
def _modules() -> tuple[ModuleType, ...]:
    found = pkgutil.walk_packages(privet.methods.__path__, "privet.methods.")
    return tuple(importlib.import_module(module.name) for module in found)


@cache
def product(source: Source, search: Search) -> Method:
    """One search on one source of evidence."""
    uses = search.uses if source.scores else search.uses - {"score", "penalty"}
    return Method(
        name=f"{source.prefix}{search.name}",
        summary=f"{search.summary}, {source.phrase}",
        kinds=frozenset({"numeric"}) if search.needs in OF_MOMENTS else source.kinds,
        private=source.private,
        needs_delta=source.needs_delta,
        cite="; ".join(filter(None, (search.cite, source.cite))),
        evidence=source.evidence,
        check=partial(_check, source, search),
        measure=source.measure_for(search),
        play=source.play_for(search),
        search=partial(_search, source, search),
        delta=source.delta,
        alpha=source.alpha,
        plan=source.plan,
        graph=search.graph,
        uses=uses | source.uses,
    )


def _check(source: Source, search: Search, schema: Schema, settings: Settings) -> None:
    source.check(schema, settings, search)
    if search.scored:
        check_score(source.kind(schema, search), settings)
        check_parents(schema, settings.max_parents)
    search.check(schema, settings)


def _search(
    source: Source,
    search: Search,
    schema: Schema,
    releases: tuple[Release, ...],
    settings: Settings,
) -> Finding:
    basis = source.basis(schema, releases, settings, search)
    return run(search, basis, schema, settings)


def get(name: str) -> Method:
    methods = {method.name: method for method in available()}
    if name not in methods:
        raise MethodError(
            f"there is no method {name!r}{did_you_mean(name, methods)}; "
            f"choose auto or one of {', '.join(methods)}"
        )
    return methods[name]


def on_evidence(kind: str) -> list[str]:
    """The names of the methods that search this kind of evidence."""
    return [method.name for method in available() if method.evidence == kind]


def auto(schema: Schema, delta: float, private: bool) -> Method:
    """Moments if every column is numeric and Gaussian noise may be used, else tables. GES is best
    on moments, unless there are very many columns, and PC on tables. Where knowledge has a say, GES
    is not compiled, and all its replicas on noisy moments might take a minute: PC serves there."""
    search = "ges" if schema.has_moments and len(schema.columns) <= MOST_FOR_GES else "pc"
    if not private:
        return get(search)
    search = search if schema.knowledge == Knowledge() else "pc"
    return get(f"moment-{search}" if schema.has_moments and delta > 0 else "interaction-pc")


def best_delta(
    schema: Schema, epsilon: Number, name: str = "auto", most: float | None = None
) -> float:
    """The delta that serves a method best, at most this one (None: the usual one)."""
    most = USUAL_DELTA if most is None else most
    method = auto(schema, most, private=True) if name == "auto" else get(name)
    return method.delta(schema, epsilon, most)


def for_sites(name: str) -> str:
    """What searches the evidence of several sites that this method has measured: their moments have
    no score together, so that GES is no better than PC there, and slower, and answer no tests of
    any width."""
    return "moment-pc" if name in ("moment-ges", "moment-refined-pc") else name
