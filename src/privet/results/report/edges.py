"""The picture of a report, the list of its edges, and what is known of each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from privet.errors import EvidenceError
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.notebook import READING, arrow_of, marks_read, named
from privet.markup.pieces import bar, cell, number, safe, share, table
from privet.results.association import Association
from privet.results.explanation import Answer, Explanation, explanations

if TYPE_CHECKING:
    from privet.results.discovery import Discovery


def explained(found: Discovery) -> tuple[Explanation, ...]:
    """Of each edge; of none where the evidence has no effects of pairs."""
    pairs = [(edge.source, edge.target) for edge in found.graph.edges]
    try:
        return explanations(found.evidence, found.graph, found.certificate, pairs, found.record)
    except EvidenceError:
        return ()


def picture(graph: Graph, drawn: str, undecided: int = 0, doubts: str = "undecided") -> str:
    """The graph, and what makes it move; the page's script unfolds that."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    ends = [[at[e.source], at[e.target], e.confidence, arrow_of(e)] for e in graph.edges]
    facts = f'data-columns="{_data(graph.nodes)}" data-edges="{_data(ends)}"'
    known = [e.confidence for e in graph.edges], [arrow_of(e) for e in graph.edges]
    return (
        f'<section class="graph" {facts}><h2>The graph</h2>\n'
        f'<div class="controls" hidden>{_controls(graph, known, undecided, doubts)}</div>'
        f'<div class="picture">{drawn}</div>'
        '<div class="told" aria-live="polite" hidden></div>'
        f"{_reading(graph)}</section>"
    )


def _controls(
    graph: Graph, known: Sequence[Sequence[float | None]], undecided: int, doubts: str
) -> str:
    names = "".join(f'<option value="{safe(name)}">' for name in graph.nodes)
    find = (
        '<label>Find a column <input type="search" list="columns" autocomplete="off"></label>'
        f'<datalist id="columns">{names}</datalist>'
    )
    sliders = _slider("edge", "Confidence of edges", known[0])
    sliders += _slider("arrow", "of arrows", known[1])
    open_ = f'<label><input type="checkbox"> {doubts} pairs ({undecided})</label>'
    zoom = (
        '<span><button type="button" data-zoom="in" aria-label="zoom in">+</button> '
        '<button type="button" data-zoom="out" aria-label="zoom out">&minus;</button> '
        '<button type="button" data-zoom="fit">whole</button></span>'
    )
    return find + sliders + (open_ if undecided else "") + zoom


def _slider(name: str, what: str, confidences: Sequence[float | None]) -> str:
    """For those that are as sure; nothing where no confidence is known."""
    count = sum(each is not None for each in confidences)
    if not count:
        return ""
    return (
        f'<label>{what} <input type="range" name="{name}" min="0" max="1" step="0.01" '
        f'value="0"><output>0.00 or more: {count} of {count}</output></label>'
    )


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


def edges(graph: Graph, told: Sequence[Explanation]) -> str:
    """A line for each, the surest first."""
    if not graph.edges:
        return "<p>There are no edges.</p>"
    order = sorted(range(len(graph.edges)), key=lambda i: -(graph.edges[i].confidence or 0.0))
    headings = ["edge", "confidence", "confidence of its arrow"]
    if told:
        headings[1:1] = [f"effect ({safe(told[0].what)})", "more of one with", "left where decided"]
    lines = [tuple(_line(graph.edges[i], told[i] if told else None)) for i in order]
    return table(headings, lines, [f' data-edge="{i}"' for i in order]) + (
        '<p class="soft">Confidence is a score from 0 to 1: the share of redrawn evidence that has '
        "the edge (or its arrow) again or, where all of it agrees, what the odds of the evidence "
        "say. For an arrow, evidence with a line counts half. An arrow that is not sure enough is "
        "tentative, and dashed: the two columns are joined, but which causes which is a guess. "
        "Intervals of effects hold in 95 of 100 cases, noise included. More of one column goes "
        "with more or less of the other by a correlation (of levels in their order, where there "
        "are levels) or a difference of risks; where its interval holds 0, that is not known. What "
        "decided about an edge is said where its line unfolds.</p>"
    )


def _line(edge: Edge, told: Explanation | None) -> Iterator[str]:
    text = f"<p>{safe(told.text if told else _plainly(edge))}</p>"
    yield f"<details><summary>{named(edge)}</summary>{text}</details>"
    if told:
        first = next((test for test in told.tests if not test.given), None)
        yield _effect(first)
        yield _signed(told.association)
        yield _effect(next((test for test in told.tests if test.given), None))
    yield cell(edge.confidence, bar(edge.confidence))
    yield cell(arrow_of(edge), bar(arrow_of(edge)))


def _signed(association: Association | None) -> str:
    """Whether more of one goes with more of the other."""
    if association is None:
        return cell(None, '<span class="soft">-</span>')
    said = {"+": "more", "-": "less", None: "not known"}[association.sign]
    interval = f"[{association.low:.3f}, {association.high:.3f}]"
    figure = number(f'{association.value:+.3f} <span class="soft">{interval}</span>')
    return cell(association.value, f"{said} {figure}")


def _plainly(edge: Edge) -> str:
    sure = "" if edge.confidence is None else f" Confidence {share(edge.confidence)}."
    why = f" {edge.why[0].upper()}{edge.why[1:]}." if edge.why else ""
    return f"{edge.source} and {edge.target}: {READING[edge.shown]}.{sure}{why}"


def _effect(test: Answer | None) -> str:
    if test is None:
        return cell(None, '<span class="soft">-</span>')
    given = f' <span class="soft">given {safe(", ".join(test.given))}</span>' if test.given else ""
    interval = f'<span class="soft">[{test.low:.3f}, {test.high:.3f}]</span>'
    return cell(test.effect, number(f"{test.effect:.3f} {interval}") + given)


def _data(value: object) -> str:
    return safe(json.dumps(value, ensure_ascii=False))
