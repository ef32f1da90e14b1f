"""Results as a notebook shows them: what a page has, in short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privet.graph.notebook import edges_table, marks_read
from privet.markup.pieces import notebook, paragraphs, safe
from privet.results.report.page import badge, not_measured
from privet.results.report.pairs import pairs_table

if TYPE_CHECKING:
    from privet.graph.graph import Graph
    from privet.results.certificate import Certificate
    from privet.results.discovery import Discovery
    from privet.results.orientations import Orientations


def discovery_html(found: Discovery) -> str:
    """Picture, edges, what to know of them, and the promise."""
    first = [f"{each.kind}: {each.text}" for each in found.diagnostics]
    open_ = len(found.undecided)
    undecided = [f"{open_} pairs are undecided: see found.undecided."] if open_ else []
    return notebook(
        not_measured(found.certificate),
        f"<p><b>{safe(found.certificate['schema'])}</b> by {safe(found.method)}: "
        f"{safe(found.graph.told())} {badge(found.certificate)}</p>",
        _pictured(found.graph),
        paragraphs((*first, *found.notes, *undecided)),
        _promise(found.certificate),
    )


def graph_and_promise_html(graph: Graph, certificate: Certificate, method: str) -> str:
    """A graph to compare with, and what it promises."""
    head = f"<p>{safe(method)}: {safe(graph.told())} {badge(certificate)}</p>"
    return notebook(head, _pictured(graph), _promise(certificate))


def certificate_html(certificate: Certificate) -> str:
    """The promise, and what it rests on."""
    assumed = "".join(f"<li>{safe(text)}</li>" for text in certificate["assumptions"])
    rests = f"<details><summary>It assumes that</summary><ul>{assumed}</ul></details>"
    return notebook(badge(certificate), _promise(certificate), rests if assumed else "")


def orientations_html(found: Orientations) -> str:
    return notebook(
        not_measured(found.certificate),
        f"<p>{safe(found.method)} {badge(found.certificate)}</p>",
        pairs_table(found.pairs),
        _promise(found.certificate),
    )


def _pictured(graph: Graph) -> str:
    reading = f'<p class="soft">{marks_read(graph)}</p>' if graph.edges else ""
    return f"{graph.plot()}{edges_table(graph)}{reading}"


def _promise(certificate: Certificate) -> str:
    return paragraphs(certificate.lines())
