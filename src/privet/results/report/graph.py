"""The report of a discovery: picture, edges, promise, and what could have been seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from privet.errors import PrivetError
from privet.evidence.plan import Plan
from privet.evidence.plan_table import effect_text, plan_table
from privet.independence.effects import STRONG
from privet.markup.pieces import number, paragraphs, safe, section, table
from privet.methods.plan import plan
from privet.results.diagnostics import rounded, seen_by
from privet.results.explanation import Explanation
from privet.results.report.edges import edges, explained, picture
from privet.results.report.page import head, method_of, page, promise
from privet.results.saved import Saved

if TYPE_CHECKING:
    from privet.results.comparison import Comparison
    from privet.results.discovery import Discovery

MOST_UNDECIDED = 60  # pairs that the page lists


def report(found: Discovery) -> str:
    """The page as HTML text."""
    name, told = found.certificate["schema"], explained(found)
    parts = [
        head(f"Causal graph of {name}", found.certificate),
        _columns(found),
        picture(found.graph, found.plot(), len(found.graph.undecided)),
        section("How sure each edge is", edges(found.graph, told) + paragraphs(found.notes)),
        _undecided(found),
        _agreement(found),
        _sites(found),
        section("What is promised", promise(found.certificate)),
        _ledger(found.certificate),
        _plan(found, told),
        section("How it was made", _made(found)),
        section("How to cite it", _cite(found)),
    ]
    return page(name, parts)


def plain_report(found: Comparison) -> str:
    """The page of a graph without evidence."""
    name = found.certificate["schema"]
    return page(
        name,
        [
            head(f"{found.method} on {name}", found.certificate),
            picture(found.graph, found.plot()),
            section("The edges", edges(found.graph, ()) + paragraphs(found.notes)),
            section("What is promised", promise(found.certificate)),
        ],
    )


def _columns(found: Discovery) -> str:
    """What to know of the columns before the graph is believed."""
    if not found.diagnostics:
        return ""
    lines = ((safe(one.kind), safe(one.text)) for one in found.diagnostics)
    return section("Look at these columns first", table(("what", "why"), lines))


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
        "the epsilon, would do it in 8 of 10 runs, if there is none; where there was enough, there "
        "may be a weak one.</p>"
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
        (f'{safe(r.a)} <span class="mark">{safe(r.shown)}</span> {safe(r.b)}', safe(r.said()))
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


def _ledger(certificate: Mapping[str, Any]) -> str:
    """What the run has left of the budget of its people."""
    kept = certificate.get("ledger")
    if not kept or not kept["durable"]:
        return ""
    spent = certificate["spent"]
    left = kept.get("left_epsilon")
    lines = [
        ("promised by this run", certificate["epsilon"], certificate["delta"]),
        ("spent by it", spent["epsilon"], certificate["delta"]),
        ("allowed to all runs on these people", kept["cap_epsilon"], kept["cap_delta"]),
        *([] if left is None else [("left when this run ended", left, kept["cap_delta"])]),
    ]
    cells = (
        (what, number(f"{epsilon:.6g}"), number(f"{delta:g}")) for what, epsilon, delta in lines
    )
    return section(
        "The ledger",
        table(("", "epsilon", "delta"), cells)
        + f'<p class="soft">Run {safe(kept["run"])} of data set {safe(certificate["schema"])}. '
        '<span class="mark">privet ledger show</span> has all its runs.</p>',
    )


def _plan(found: Discovery, told: Sequence[Explanation]) -> str:
    """What this budget could have shown, for about as many rows as the evidence says, and what it
    has shown."""
    certificate = found.certificate
    if certificate.get("trust") == "local":
        return _local_plan(found.evidence)
    asked = seen_by(found.evidence)
    if asked is None:
        return ""
    schema, rows = asked
    try:
        made = plan(schema, rows, certificate["epsilon"], certificate["delta"])
    except PrivetError:
        return ""
    return section(
        "What could have been seen, and what was",
        f"<p>With about {rows:,} rows, this budget and levels as common as they were found to be, "
        "these effects are found in 8 of 10 runs. Weaker ones may exist without showing here.</p>"
        + plan_table(made.lines)
        + _outcome(made, told, len(found.graph.undecided)),
    )


def _outcome(made: Plan, told: Sequence[Explanation], undecided: int) -> str:
    visible = next((line.typical for line in made.lines if line.order == 0), None)
    sizes = [abs(test.effect) for each in told for test in each.tests if not test.given]
    if visible is None or not sizes:
        return ""
    below = sum(size < visible for size in sizes)
    return (
        f"<p>Found: {len(told)} edges. The weakest has an effect of {min(sizes):.3f} given "
        f"nothing; {below} lie below the {visible:.3f} that a typical pair needs. {undecided} "
        "pairs are undecided.</p>"
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
    return (
        f"<p>{method_of(found.certificate)}. The evidence behind this "
        "graph is in evidence.json: searching it again, with other options or other background "
        "knowledge, costs no privacy.</p>"
        '<p class="mark">privet discover --evidence evidence.json '
        f"--method {safe(found.method)} --alpha 0.05 --output again</p>"
    )


def _cite(found: Discovery) -> str:
    made = f"method {found.method}"
    if found.certificate["private"]:
        made += f", epsilon {found.certificate['epsilon']:g}"
        made += f", delta {found.certificate['delta']:g}"
    release = version("privet")
    text = (
        f"The Privet developers. Privet: causal discovery that keeps people private, version "
        f"{release} ({made})."
    )
    entry = (
        "@software{privet,\n  author = {{The Privet developers}},\n"
        "  title = {Privet: causal discovery that keeps people private},\n"
        f"  version = {{{release}}},\n  note = {{{made}}}\n}}"
    )
    return f"<p>{safe(text)}</p><pre>{escape(entry)}</pre>"
