"""The report of a discovery: picture, edges, promise, and what could have been seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from privet.errors import PrivetError
from privet.evidence.plan_table import effect_text, plan_table
from privet.graph.graph import Graph
from privet.graph.notebook import edges_table, marks_read
from privet.independence.effects import STRONG
from privet.markup.pieces import number, paragraphs, safe, section, table
from privet.methods.plan import plan
from privet.results.diagnostics import rounded, seen_by
from privet.results.report.page import badge, page, promise
from privet.results.saved import Saved

if TYPE_CHECKING:
    from privet.results.discovery import Discovery

MOST_UNDECIDED = 60  # pairs that the page lists


def report(found: Discovery) -> str:
    """The page as HTML text."""
    name = found.certificate["schema"]
    parts = [
        f"<h1>Causal graph of {safe(name)}</h1>{badge(found.certificate)}",
        _columns(found),
        section("The graph", str(found.plot()) + _reading(found.graph)),
        section("How sure each edge is", _edges(found.graph) + paragraphs(found.notes)),
        _undecided(found),
        _agreement(found),
        _sites(found),
        section("What is promised", promise(found.certificate)),
        _plan(found.evidence, found.certificate),
        section("How it was made", _made(found)),
    ]
    return page(name, parts)


def _columns(found: Discovery) -> str:
    """What to know of the columns before the graph is believed."""
    if not found.diagnostics:
        return ""
    lines = ((safe(one.kind), safe(one.text)) for one in found.diagnostics)
    return section("Look at these columns first", table(("what", "why"), lines))


def _reading(graph: Graph) -> str:
    missing = (
        "columns that matter may be missing, but"
        if graph.kind == "pag"
        else "no column that matters is missing, and"
    )
    return (
        f'<p class="soft">{marks_read(graph)}. Causes are claimed under the usual assumptions of '
        f"such a search: {missing} no effects cancel each other out.</p>"
        if graph.edges
        else '<p class="soft">No edge stands out of the noise. That is no proof of independence: '
        "see what could have been seen.</p>"
    )


def _edges(graph: Graph) -> str:
    if not graph.edges:
        return edges_table(graph)
    return edges_table(graph) + (
        '<p class="soft">Confidence is the share of redrawn evidence in which the edge (or its '
        "arrow) is found again; where all agree, the odds of the evidence itself. An arrow that "
        "too few of them draw is a line, and the name is where it leans: the two columns are "
        "joined, but which causes which is a guess.</p>"
    )


def _undecided(found: Discovery) -> str:
    """Pairs of which the evidence cannot say whether they are joined, the likeliest first."""
    open_ = found.undecided
    if not open_:
        return ""
    lines = (
        (
            " and ".join(map(safe, each.pair)),
            safe(", ".join(each.given) or "nothing"),
            f'<span class="number">{each.largest:.2f}</span>',
            *(f'<span class="number">{need}</span>' for need in each.needs),
        )
        for each in open_[:MOST_UNDECIDED]
    )
    more = len(open_) - MOST_UNDECIDED
    return section(
        "Pairs that are undecided",
        "<p>These are not in the graph, and are no proof of independence either: no test "
        f"rules out a strong dependence ({STRONG:g} or more). So many times the rows, or "
        "the epsilon, would do it in 8 of 10 runs, if there is none.</p>"
        + table(("pair", "given", "may be up to", "rows", "epsilon"), lines)
        + (f'<p class="soft">{more} more are in graph.json.</p>' if more > 0 else ""),
    )


def _agreement(found: Discovery) -> str:
    """A line for each pair that some method joins, if there is more than one method."""
    if not found.others:
        return ""
    methods = [found.method, *(other.method for other in found.others)]
    lines = (
        (
            f"{safe(line.a)}, {safe(line.b)}",
            *(f'<span class="mark">{safe(mark)}</span>' for mark in line.marks),
            f'<span class="number">{line.joined} of {len(methods)}</span>',
        )
        for line in found.agreement()
    )
    return section(
        "Where the methods agree",
        table(("pair", *map(safe, methods), "joined by"), lines)
        + '<p class="soft">All methods searched the same evidence. Marks are read from the first '
        "column to the second. The picture is that of the first method.</p>",
    )


def _sites(found: Discovery) -> str:
    """Which edges rest on one site alone, if several have sent evidence."""
    if found.sites is None:
        return ""
    rest = (
        (f'{safe(r.a)} <span class="mark">{safe(r.mark)}</span> {safe(r.b)}', safe(r.said()))
        for r in found.sites.edges
    )
    parts = (
        (safe(s.label), str(s.releases), str(s.triples), str(s.abstained)) for s in found.sites
    )
    body = table(("edge", "without one site"), rest) if found.sites.edges else ""
    return section(
        "What each site adds",
        body
        + table(("site", "releases", "triples", "triples of others that it did not measure"), parts)
        + '<p class="soft">The search was made again without each site in turn. An edge that rests '
        "on one site alone is as good as that site's numbers.</p>",
    )


def _plan(saved: Saved, certificate: Mapping[str, Any]) -> str:
    """What this budget could have shown, for about as many rows as the evidence says."""
    if certificate.get("trust") == "local":
        return _local_plan(saved)
    asked = seen_by(saved)
    if asked is None:
        return ""
    schema, rows = asked
    try:
        made = plan(schema, rows, certificate["epsilon"], certificate["delta"])
    except PrivetError:
        return ""
    return section(
        "What could have been seen",
        f"<p>With about {rows:,} rows, this budget and levels as common as they were found to be, "
        "these effects are found in 8 of 10 runs. Weaker ones may exist without showing here.</p>"
        + plan_table(made.lines),
    )


def _local_plan(saved: Saved) -> str:
    """What so many reports could have shown."""
    from privet.local.collector.counts import Reported
    from privet.local.collector.plan import line_of

    query = saved.releases[-1].asked(Reported)
    people = sum(query.people)
    line = line_of(query.protocol, people)
    given = "nothing" if line.order == 0 else f"up to {line.order} column(s)"
    return section(
        "What could have been seen",
        f"<p>{people:,} reports by {safe(line.protocol)} tell about as much on a pair of columns "
        f"as {rounded(line.worth):,} people without noise, which serves tests given {given}. In a "
        f"typical pair an effect ({safe(line.what)}) of {number(effect_text(line.effect))} is "
        "found in 8 of 10 runs. Weaker ones may exist without showing here.</p>",
    )


def _made(found: Discovery) -> str:
    options = ", ".join(f"{key} {value}" for key, value in found.certificate["options"].items())
    return (
        f"<p>Method {safe(found.method)} ({safe(options)}) by Privet. The evidence behind this "
        "graph is in evidence.json: searching it again, with other options or other background "
        "knowledge, costs no privacy.</p>"
        '<p class="mark">privet discover --evidence evidence.json '
        f"--method {safe(found.method)} --alpha 0.05 --output again</p>"
    )
