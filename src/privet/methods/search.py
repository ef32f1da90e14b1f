"""What a search is, and how one is set on evidence, with a confidence for each edge.

A search is one file in ``methods/searches``. It knows judges and scores only, so it serves every
source of evidence that gives what it ``needs``; the catalogue is their product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Literal

import numpy as np

from privet.arrays import Bools
from privet.errors import MethodError
from privet.graph.classes import kind_of
from privet.graph.confidence import claimed, with_confidence
from privet.graph.copies import hang
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge
from privet.methods.absences import absences, doubts, joined
from privet.methods.basis import Basis, Replicas
from privet.methods.copies import said, without_copies
from privet.methods.method import Finding
from privet.methods.options import EXACT_ORDER, Settings
from privet.methods.record import Record
from privet.schema.model import Schema
from privet.search.pc import WIDEST

NOTHING = Knowledge()
# What a search needs of evidence: answers to tests, also with any number of columns given, gains of
# arrows, at each site by itself or at all together, scores of whole families, or second moments to
# which it fits weights.
Need = Literal["tests", "wide", "gains", "sites", "families", "weights"]
# Those that moments alone give.
OF_MOMENTS = ("wide", "weights")
# The search itself: a graph that honours the knowledge in the schema.
Find = Callable[[Basis, Schema, Settings, np.random.Generator], Graph]
# The same on all replicas at once, where that is faster than one after the other.
Together = Callable[[Replicas, Schema, Settings, Sequence[np.random.Generator]], list[Graph]]

# The scores that each kind of evidence serves; the first is the one of "auto".
SCORES: dict[str, tuple[str, ...]] = {
    "tables": (),
    "moments": ("bic", "bge"),
    "counts": ("bic", "bdeu"),
}
NEEDS = {
    "bic": "exact tables or moments",
    "bdeu": "exact tables of categories (ges, mmhc, exact or mcmc with ⟦private=False⟧)",
    "bge": "moments of numeric columns (moment-ges, say)",
}
_KINDS = {"tables": "noisy interactions", "moments": "moments", "counts": "exact tables"}


def _nothing(_schema: Schema, _settings: Settings) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search by name. ``probable`` says that it knows itself how probable each edge is, where
    evidence is exact. Else confidence comes from replicas of the evidence (at most ``replicas``,
    if a search is slow), on which ``again`` (or the search itself) is repeated, or ``together``
    on all of them. ``bounded`` says that --max-parents bounds its families, ``untested`` that it
    asks for no tests where scores are exact, ``wide`` that its tests have more columns given where
    tables are exact, ``refines`` that its graph is held against the evidence in the end, where that
    answers questions of any width, ``draws`` that it may draw at random."""

    name: str
    summary: str
    cite: str
    graph: str
    needs: Need
    find: Find
    again: Find | None = None
    together: Together | None = None
    probable: bool = False
    replicas: int | None = None
    bounded: bool = True
    untested: bool = False
    wide: bool = False
    refines: bool = False
    draws: bool = True
    check: Callable[[Schema, Settings], None] = _nothing
    notes: tuple[str, ...] = ()

    @property
    def scored(self) -> bool:
        """Whether it scores families, so that --score matters."""
        return self.needs in ("gains", "families")

    @property
    def uses(self) -> frozenset[str]:
        """The special options that it knows."""
        if self.needs == "weights":
            return frozenset({"sparsity", "threshold"})
        if self.needs == "sites":
            return frozenset({"objective", "max_parents"})
        if not self.scored:
            return frozenset()
        return frozenset({"score", "penalty", *(["max_parents"] if self.bounded else [])})


def run(search: Search, basis: Basis, schema: Schema, settings: Settings) -> Finding:
    """The graph that a search finds on this basis, with confidence."""
    settings = replace(settings, max_order=_order(search, basis, settings))
    sure = search.probable and not basis.noisy
    count = 0 if sure or basis.replicas is None else _most(search, settings)
    rng = np.random.default_rng(settings.seed)
    first, *others = rng.spawn(count + 1) if search.draws or count else [rng]
    settings.on_step("searching", 0.5)
    declared, known = schema, schema.knowledge
    schema, basis = without_copies(schema, basis)
    graph = search.find(basis, schema, settings, first)
    tests, basis.listener.joined = basis.listener.count, joined(graph)
    record = Record(
        graph=graph,
        basis=basis,
        schema=declared,
        threshold=-log(settings.level(len(declared.columns))),
        weighed=search.needs == "weights",
    )
    why = absences(basis, graph, 1 / settings.level(len(schema.columns)))
    notes = (*search.notes, *basis.notes, *basis.listener.notes, *said(basis.copies))
    again = []
    if basis.replicas is not None and others:
        again = _repeated(search, basis.replicas(count, first), schema, settings, others)
    graph = marked(with_confidence(graph, again, doubts(basis, graph)), known)
    graph = claimed(graph, settings.min_arrow, settings.min_confidence)
    if why.undecided:
        graph = replace(graph, undecided=why.undecided)
    graph = hang(graph, basis.copies, known)
    return Finding(
        graph=graph, tests=tests, notes=notes, absences=why, order=settings.order, record=record
    )


def _order(search: Search, basis: Basis, settings: Settings) -> int:
    """As asked for, but no more than the evidence serves. More columns given cost power, and exact
    numbers have the most; but what is refined need not be found at once."""
    usual = EXACT_ORDER if basis.sharp and not search.refines else basis.usual
    order = settings.order if usual is None or settings.max_order is not None else usual
    return order if basis.widest is None else min(order, basis.widest)


def _most(search: Search, settings: Settings) -> int:
    return settings.replicas if search.replicas is None else min(search.replicas, settings.replicas)


def _repeated(
    search: Search,
    replicas: Replicas,
    schema: Schema,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Graph]:
    step = "weighing how sure each edge is"
    graphs: list[Graph] = []
    if search.together is not None:
        settings.on_step(step, 0.7)
        return search.together(replicas, schema, settings, rngs)
    for basis, own in zip(replicas.each, rngs, strict=True):
        settings.on_step(step, 0.6 + 0.4 * len(graphs) / len(rngs))
        graphs.append((search.again or search.find)(basis, schema, settings, own))
    return graphs


def closed(arrows: Bools, schema: Schema) -> Graph:
    """The CPDAG, or the MPDAG with the arrows that knowledge adds; refused if it breaks
    knowledge."""
    if schema.knowledge != NOTHING:
        arrows = apply_knowledge(arrows, schema.names, schema.knowledge)
    return Graph.from_matrix(schema.names, arrows, kind_of(arrows))


def marked(graph: Graph, knowledge: Knowledge) -> Graph:
    """Required edges were not measured: they have an origin instead of a confidence."""
    if not knowledge.required:
        return graph
    edges = tuple(
        Edge(edge.source, edge.target, edge.mark, origin="knowledge")
        if knowledge.must(edge.source, edge.target)
        else edge
        for edge in graph.edges
    )
    return replace(graph, edges=edges)


def check_order(settings: Settings) -> None:
    """Refuse larger separators than any search forms."""
    if not 0 <= settings.order <= WIDEST:
        raise MethodError(
            f"⟦max_order⟧ is {settings.order}; separators are formed of the {WIDEST} strongest "
            f"neighbours of a column, so there are no larger ones; use 0 to {WIDEST}"
        )


def check_score(kind: str, settings: Settings) -> None:
    """Refuse a score that this kind of evidence cannot give."""
    served = ("auto", *SCORES[kind])
    if settings.score not in served:
        if settings.score not in NEEDS:
            raise MethodError(
                f"there is no score {settings.score!r}; choose auto, {', '.join(NEEDS)}"
            )
        raise MethodError(
            f"⟦score={settings.score!r}⟧ needs {NEEDS[settings.score]}, but this method has "
            f"{_KINDS[kind]}; use {' or '.join(served)}"
        )
    if settings.penalty != 1 and _named(kind, settings) != "bic":
        raise MethodError(
            f"⟦penalty⟧ is {settings.penalty:g}, but only BIC has one, and this search uses "
            f"{_named(kind, settings)}; leave ⟦penalty⟧ away"
            + (" and use ⟦alpha⟧, which keeps fewer edges when smaller" if kind == "tables" else "")
        )


def check_parents(schema: Schema, most: int | None) -> None:
    """Refuse a bound on parents that knowledge exceeds."""
    required = [effect for _, effect in schema.knowledge.required]
    for effect in sorted(set(required)):
        if most is not None and required.count(effect) > most:
            raise MethodError(
                f"knowledge requires {required.count(effect)} parents of {effect!r}, but at most "
                f"{most} are allowed; raise ⟦max_parents⟧, or require fewer"
            )


def _named(kind: str, settings: Settings) -> str:
    if settings.score != "auto":
        return settings.score
    return SCORES[kind][0] if SCORES[kind] else "Bayes factors of tests"
