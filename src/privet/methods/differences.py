"""Arrows from differences between sites, on tables that each site has released.

Whether a column differs between sites given some of its neighbours follows from the sites' own
evidence and its noise, so that it costs nothing. What is made of it is in ``search/context.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.arrays import Floats
from privet.errors import MethodError
from privet.evidence.site_column import with_site
from privet.evidence.tables import TableEvidence
from privet.graph.classes import CLASSES, kind_of
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.independence.tables import TableJudge
from privet.methods.sources.source import by_site
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.context import Claim, Given, claims, drawn

ORIGIN = "differences"  # of an arrow that differences between sites have told


def check(kinds: set[str], graph: str) -> None:
    """Refuse evidence and graphs that have nothing to be told so."""
    if kinds != {"tables"}:
        raise MethodError(
            f"⟦use_differences⟧ needs tables of each site, but these hold {' and '.join(kinds)}, "
            "from which no difference of means is left; leave it away"
        )
    if graph not in CLASSES:
        raise MethodError(
            f"⟦use_differences⟧ gives lines of a CPDAG a direction, and this search finds a "
            f"{graph.upper()}; leave it away, or use interaction-pc or interaction-ges"
        )


def oriented(
    graph: Graph, schema: Schema, releases: Sequence[Release]
) -> tuple[Graph, tuple[str, ...]]:
    """The graph with the arrows that differences tell and those that follow, and what is said."""
    sites = [TableEvidence.from_releases(schema, schema.names, each) for each in by_site(releases)]
    judge = _Judge(TableJudge(with_site(sites), alpha=1.0), len(schema.names))
    before, open_ = graph.matrix(), graph.as_shown().matrix()
    allowed = Constraints.of(schema.names, schema.knowledge).allowed
    after, held = drawn(before, claims(open_, judge.differ), allowed)
    agreed = {(claim.cause, claim.effect) for claim in held}
    fresh = {(int(i), int(j)) for i, j in np.argwhere(before & before.T & after & ~after.T)}
    fresh |= {pair for pair in agreed if open_[pair] and open_[pair[::-1]]}
    names = graph.nodes
    edges = {frozenset((e.source, e.target)): e for e in graph.edges}
    for i, j in fresh:
        old = edges[frozenset((names[i], names[j]))]
        edges[frozenset((names[i], names[j]))] = Edge(
            names[i], names[j], "-->", confidence=old.confidence, origin=ORIGIN
        )
    told = replace(graph, kind=kind_of(after), edges=tuple(edges.values()))
    return told, _notes(names, held, fresh)


class _Judge:
    """How much speaks for a difference in a column between sites, given others."""

    def __init__(self, judge: TableJudge, site: int) -> None:
        self._judge, self._site = judge, site

    def differ(self, column: int, sets: Sequence[Given]) -> Floats:
        """Log Bayes factors; not a number where not the whole table was measured by all."""
        out = np.full(len(sets), np.nan)
        for width in {len(given) for given in sets}:
            at = [i for i, given in enumerate(sets) if len(given) == width]
            asked = np.array([(self._site, column, *sets[i]) for i in at], dtype=np.intp)
            known = self._judge.table_known(asked) if width else np.ones(len(at), dtype=bool)
            out[at] = np.where(known, self._judge.margins(asked), np.nan)
        return out


def _notes(
    names: Sequence[str], held: Sequence[Claim], fresh: set[tuple[int, int]]
) -> tuple[str, ...]:
    if not fresh:
        return ("Differences between sites have given no line a direction.",)
    told = [
        f"{names[c.cause]} --> {names[c.effect]} ({_why(names, c)})"
        for c in held
        if (c.cause, c.effect) in fresh
    ]
    asked = {(c.cause, c.effect) for c in held}
    more = [f"{names[i]} --> {names[j]}" for i, j in sorted(fresh - asked)]
    follow = f"; {', '.join(more)} followed" if more else ""
    return (
        f"From differences between sites: {'; '.join(told)}{follow}. That rests on what differs "
        "being a matter of these columns, and not of a hidden cause of two of them.",
    )


def _why(names: Sequence[str], claim: Claim) -> str:
    def given(members: Given) -> str:
        return f"given {' and '.join(names[v] for v in members)}" if members else "by itself"

    return (
        f"{names[claim.about]} differs {given(claim.other)}, and is the same everywhere "
        f"{given(claim.same)}"
    )
