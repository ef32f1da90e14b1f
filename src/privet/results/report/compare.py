"""The page of a comparison: the found graph, coloured by what is right in it, and the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.metrics import Comparison, as_classes
from privet.graph.notebook import comparison_table, named
from privet.markup.pieces import bar, cell, mark, safe, section, table
from privet.results.report.edges import picture
from privet.results.report.page import page

RIGHT, TURNED, EXTRA = "right", "turned", "extra"
SAID = {
    RIGHT: '<span class="good">right</span>',
    TURNED: '<span class="odd">joined, but otherwise</span>',
    EXTRA: '<span class="bad">not in the truth</span>',
}


def report(truth: Graph, found: Graph, result: Comparison) -> str:
    """Both graphs as they were compared: as classes, if they have one."""
    truth, found = as_classes(truth, found)
    missing = tuple(
        (edge.source, edge.target) for edge in truth.edges if not found.adjacent(*_pair(edge))
    )
    kinds = [_kind(truth, edge) for edge in found.edges]
    drawn = replace(found, undecided=missing)
    return page(
        "Comparison",
        [
            "<h1>A found graph beside the true one</h1>",
            f"<p>{SAID[RIGHT]}; {SAID[TURNED]}; {SAID[EXTRA]}; dotted: missing</p>",
            f'<div class="compared">{_picture(drawn, kinds)}</div>',
            section("How close it is", comparison_table(result)),
            section("The edges that were found", _edges(truth, found, kinds)),
            section("The edges that are missing", _missing(truth, missing)) if missing else "",
        ],
    )


def _picture(drawn: Graph, kinds: Sequence[str]) -> str:
    from privet.graph.drawing import svg

    return picture(drawn, svg(drawn, kinds=kinds), len(drawn.undecided), "missing")


def _pair(edge: Edge) -> tuple[str, str]:
    return edge.source, edge.target


def _kind(truth: Graph, edge: Edge) -> str:
    true = truth.edge(*_pair(edge))
    if true is None:
        return EXTRA
    return RIGHT if (*_pair(true), true.mark) == (*_pair(edge), edge.mark) else TURNED


def _edges(truth: Graph, found: Graph, kinds: Sequence[str]) -> str:
    if not found.edges:
        return "<p>There are none.</p>"
    lines = []
    for edge, kind in zip(found.edges, kinds, strict=True):
        true = truth.edge(*_pair(edge))
        told = "The truth does not join them." if true is None else f"The truth has {true}."
        shown = f"<details><summary>{named(edge)}</summary><p>{safe(told)}</p></details>"
        truly = (
            "-" if true is None else f"{safe(true.source)} {mark(true.shown)} {safe(true.target)}"
        )
        lines.append((shown, SAID[kind], truly, cell(edge.confidence, bar(edge.confidence))))
    facts = [f' data-edge="{i}"' for i in range(len(lines))]
    return table(("edge", "is", "in the truth", "confidence"), lines, facts)


def _missing(truth: Graph, missing: Sequence[tuple[str, str]]) -> str:
    edges = [truth.edge(a, b) for a, b in missing]
    return table(("edge",), ((named(edge),) for edge in edges if edge is not None))
