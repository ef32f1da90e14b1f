"""What each of several sites has added to a graph: which edges would not be there without it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from privet.evidence.whole_table import is_whole
from privet.graph.graph import Graph
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import White
from privet.results.saved import Saved

VERSION = 1
TRIPLE = 3


@dataclass(frozen=True, kw_only=True)
class Site:
    """How much a site has sent, and on how many triples of columns that another has measured it
    has nothing to say."""

    label: str
    releases: int
    triples: int
    abstained: int


@dataclass(frozen=True, kw_only=True)
class Rest:
    """An edge, and the sites each of which it needs: without it, it is not found. ``shown`` is its
    mark as people see it."""

    a: str
    mark: str
    b: str
    needs: tuple[str, ...]
    shown: str

    def said(self) -> str:
        if not self.needs:
            return "needs no single site"
        if len(self.needs) == 1:
            return f"rests on {self.needs[0]} alone"
        return f"needs each of {', '.join(self.needs)}"


@dataclass(frozen=True, kw_only=True)
class Sites:
    """What sites.json holds."""

    sites: tuple[Site, ...]
    edges: tuple[Rest, ...]

    def __iter__(self) -> Iterator[Site]:
        return iter(self.sites)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the graph must know."""
        return (
            *(f"{r.a} {r.shown} {r.b} {r.said()}." for r in self.edges if len(r.needs) == 1),
            *(
                f"{site.label} abstained on {site.abstained} triple(s) of columns that other sites "
                f"have measured."
                for site in self.sites
                if site.abstained
            ),
        )

    def to_json(self) -> str:
        edges = [
            {"from": r.a, "to": r.b, "mark": r.mark, "needs": list(r.needs)} for r in self.edges
        ]
        said = {"privet sites": VERSION, "sites": [asdict(site) for site in self], "edges": edges}
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


def sites_of(saved: Saved, graph: Graph, without: Mapping[str, Graph]) -> Sites:
    """``without`` are the graphs that are found when one site is left out."""
    joined = {
        label: {frozenset((e.source, e.target)) for e in g.edges} for label, g in without.items()
    }
    edges = tuple(
        Rest(
            a=e.source,
            mark=e.mark,
            shown=e.shown,
            b=e.target,
            needs=tuple(x for x, found in joined.items() if {e.source, e.target} not in found),
        )
        for e in graph.edges
    )
    return Sites(sites=tuple(_sites(saved)), edges=edges)


def _sites(saved: Saved) -> Iterator[Site]:
    measured = {
        str(site.certificate["site"]): set(_triples(site, site.releases)) for site in saved.sites
    }
    every = set().union(*measured.values())
    for site in saved.sites:
        label = str(site.certificate["site"])
        own = measured[label]
        yield Site(
            label=label,
            releases=len(site.releases),
            triples=len(own),
            abstained=len(every) - len(own),
        )


def _triples(saved: Saved, releases: Sequence[Release]) -> Iterator[tuple[str, ...]]:
    for release in releases:
        if isinstance(release.query, Components | White):
            yield from (members for members in release.query.sets if len(members) == TRIPLE)
        elif is_whole(release, saved.schema):
            yield from combinations(saved.schema.names, TRIPLE)
