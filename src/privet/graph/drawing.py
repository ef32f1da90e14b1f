"""A graph as one standalone SVG text: no fonts, scripts or files from elsewhere.

Colours are middling, so that the picture reads on a light and on a dark page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from privet.graph.edge import DASHED, OPEN_MARKS, Edge
from privet.graph.figure import FONT_SIZE, Curve, Figure, figure, text_width
from privet.graph.formats.common import End, ends
from privet.graph.graph import Graph
from privet.graph.layout import BOX_HEIGHT, Arrow, Point
from privet.markup.pieces import BOTH, share

LABEL_SIZE, LEGEND_SIZE = 9.5, 10.5
MARGIN = 18.0
TITLE_HEIGHT = 32.0
STYLE = (
    ".privet-graph text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;"
    "text-anchor:middle;fill:#16324a}"
    ".privet-graph .title{font-size:15px;font-weight:600;fill:#6f8296;text-anchor:start}"
    f".privet-graph .node text{{font-size:{FONT_SIZE}px}}"
    ".privet-graph .node rect{fill:#e6eef5;stroke:#5b7f9e;stroke-width:1.2}"
    ".privet-graph .edge path{fill:none;stroke:#6f8296;stroke-linecap:round}"
    ".privet-graph .edge polygon{fill:#6f8296}"
    ".privet-graph .edge circle{fill:none;stroke:#6f8296}"
    ".privet-graph .tier rect{fill:#8aa0b4;fill-opacity:.1}"
    ".privet-graph .tier text{font-size:10px;fill:#6f8296;text-anchor:start}"
    f".privet-graph .legend{{font-size:{LEGEND_SIZE}px;fill:#6f8296;text-anchor:start}}"
    ".privet-graph .undecided line{stroke:#b9c4cf;stroke-width:1;stroke-dasharray:1 4;"
    "stroke-linecap:round}"
    f".privet-graph .label text{{font-size:{LABEL_SIZE}px}}"
    ".privet-graph .label rect{fill:#e6eef5;fill-opacity:.9}"
)
FEW_UNDECIDED = 20  # pairs; more would hide the graph
MOST_UNDECIDED = 300  # pairs that are drawn at all
SPOTS = sorted((i / 40 for i in range(6, 35)), key=lambda spot: abs(spot - 0.5))
BAND = 38.0  # from the middle of a layer to the edge of its tier
_UNPRINTABLE = re.compile("[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(
    graph: Graph,
    title: str | None = None,
    tiers: Sequence[Sequence[str]] = (),
    kinds: Sequence[str] = (),
) -> str:
    """The picture. Thick dark edges are sure ones; the numbers on an edge are its confidence and
    that of its arrow. What is tentative is dashed. Faint dots join pairs that are undecided; where
    these are many they are hidden, for a page to show on demand. A legend below says so. Tiers lie
    on bands, one above the other. ``kinds`` are classes of the edges, in their order, for a page to
    colour them by."""
    drawn = figure(graph, tuple(map(tuple, tiers)))
    layout, arrows, curves = drawn.layout, drawn.arrows, drawn.curves
    labels = _labels(drawn)
    top = MARGIN + (TITLE_HEIGHT if title else 0.0)
    told = _legend(graph, kinds)
    widest = max((text_width(text, LEGEND_SIZE) for text in told), default=0.0)
    width = max(layout.width, text_width(title or "", 15) + 4, widest) + 2 * MARGIN
    height = layout.height + top + MARGIN
    below = [
        f'<text class="legend" x="{MARGIN}" y="{height + 10 + 15 * i:.0f}">{_safe(text)}</text>'
        for i, text in enumerate(told)
    ]
    height += 15 * len(told) + (8 if told else 0)
    body = [*_bands(drawn), _undecided(graph, layout.centres)]
    classes = [f"edge {kind}" for kind in kinds] or ["edge"] * len(arrows)
    body += [
        _edge(edge, curves[arrow], arrow, graph, each)
        for (arrow, edge), each in zip(arrows.items(), classes, strict=True)
    ]
    body += [
        _node(node, drawn.names[i], layout.centres[i], drawn.widths[i])
        for i, node in enumerate(graph.nodes)
    ]
    heading = f'<text class="title" x="{MARGIN}" y="32">{_safe(title)}</text>' if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" class="privet-graph">'
        f"<style>{STYLE}</style>{heading}"
        f'<g transform="translate({MARGIN} {top})">\n'
        + "\n".join(body + labels)
        + "\n</g>"
        + "".join(below)
        + "</svg>\n"
    )


def _legend(graph: Graph, kinds: Sequence[str]) -> list[str]:
    """What dashes, dots and numbers mean, of those that are there."""
    dashed = [edge for edge in graph.edges if edge.tentative is not None]
    told = []
    if any(edge.shown == DASHED for edge in dashed) or any(map(_doubtful, graph.edges)):
        told.append("dashed arrow: tentative, too little of the evidence draws it")
    if any(edge.shown in OPEN_MARKS for edge in dashed):
        told.append("dashed line: joined, its direction is open")
    if 0 < len(graph.undecided) <= FEW_UNDECIDED and not kinds:
        told.append("dotted: cannot say whether they are joined")
    if any(BOTH in edge.figures_short for edge in graph.edges):
        told.append(f"0.97{BOTH}0.79: confidence of the edge, and of its arrow")
    return told


def _edge(edge: Edge, curve: Curve, arrow: Arrow, graph: Graph, css: str) -> str:
    at_source, at_target = ends(edge.undirected if edge.shown in OPEN_MARKS else edge)
    downwards = graph.nodes[arrow[0]] == edge.source
    top, bottom = (at_source, at_target) if downwards else (at_target, at_source)
    sure = 0.6 if edge.confidence is None else edge.confidence
    width, opacity = 0.8 + 1.6 * sure, 1.0 if edge.confidence is None else 0.3 + 0.7 * sure
    room = {"tail": 0.0, "arrow": 8.0, "circle": 8.0}
    marks = _mark(top, curve, 0, 1.0, width) + _mark(bottom, curve, -1, -1.0, width)
    return (
        f'<g class="{css}" opacity="{opacity:.2f}"><title>{_safe(_told(edge))}</title>'
        f'<path d="{curve.path(room[top], room[bottom])}" stroke-width="{width:.2f}"'
        f"{_dashes(edge)}/>{marks}</g>"
    )


def _bands(drawn: Figure) -> list[str]:
    """A strip behind each tier but for every second one, and its number."""
    bands = []
    for at, tier in enumerate(drawn.tiers):
        rows = [drawn.layout.centres[node][1] for node in tier]
        top, bottom = min(rows) - BAND, max(rows) + BAND
        strip = (
            f'<rect x="0" y="{top:.1f}" width="{drawn.layout.width:.1f}" '
            f'height="{bottom - top:.1f}" rx="7"/>'
        )
        bands.append(
            f'<g class="tier">{strip if at % 2 == 0 else ""}'
            f'<text x="4" y="{top + 11:.1f}">tier {at + 1}</text></g>'
        )
    return bands


def _undecided(graph: Graph, centres: Mapping[int, Point]) -> str:
    """Straight dotted lines behind all else: the layout is that of the edges."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    lines = []
    for a, b in graph.undecided[:MOST_UNDECIDED]:
        (x, y), (u, v) = centres[at[a]], centres[at[b]]
        lines.append(
            f'<g class="undecided"><title>{_safe(f"{a} ? {b}: cannot say")}</title>'
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"/></g>'
        )
    hidden = ' display="none"' if len(graph.undecided) > FEW_UNDECIDED else ""
    return f'<g class="doubts"{hidden}>' + "\n".join(lines) + "</g>" if lines else ""


def _dashes(edge: Edge) -> str:
    dashed = edge.tentative is not None or _doubtful(edge)
    return ' stroke-dasharray="5 4"' if dashed else ""


def _doubtful(edge: Edge) -> bool:
    """Of an arrow that no class holds: drawn by less than half of the replicas."""
    return edge.arrow_confidence is not None and edge.arrow_confidence < 0.5


def _told(edge: Edge) -> str:
    told = str(edge)
    if edge.confidence is not None:
        told += f", confidence {share(edge.confidence)}"
    if edge.arrow_confidence is not None and edge.shown not in OPEN_MARKS:
        told += f", of its arrow {share(edge.arrow_confidence)}"
    return f"{told}; {edge.why}" if edge.why else told


def _mark(end: End, curve: Curve, at: int, inwards: float, width: float) -> str:
    if end == "arrow":
        size = 9.0
        tip = curve.shifted(at, 0.0)
        wings = [curve.shifted(at, inwards * size, aside) for aside in (-4.0, 4.0)]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in [tip, *wings])
        return f'<polygon points="{corners}"/>'
    if end == "circle":
        x, y = curve.shifted(at, inwards * 4.5)
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" stroke-width="{min(width, 1.6):.2f}"/>'
    return ""


def _labels(drawn: Figure) -> list[str]:
    """The confidences, each on its edge as near to its middle as nothing else stands; where there
    is no such place, none."""
    labels = []
    taken = [(x, y, w / 2, BOX_HEIGHT / 2) for (x, y), w in _boxes(drawn)]
    for at, (arrow, edge) in enumerate(drawn.arrows.items()):
        text = edge.figures_short
        if not text:
            continue
        half = 12.5 if BOTH not in text else 25.0
        for x, y in map(drawn.curves[arrow].middle, SPOTS):
            if all(abs(x - u) >= w + half or abs(y - v) >= h + 7 for u, v, w, h in taken):
                taken.append((x, y, half, 7.0))
                labels.append(
                    f'<g class="label" data-at="{at}"><rect x="{x - half:.1f}" y="{y - 6.5:.1f}" '
                    f'width="{2 * half:g}" height="13" rx="6"/>'
                    f'<text x="{x:.1f}" y="{y + 3.3:.1f}">{text}</text></g>'
                )
                break
    return labels


def _boxes(drawn: Figure) -> Iterable[tuple[Point, float]]:
    return ((drawn.layout.centres[i], width) for i, width in enumerate(drawn.widths))


def _node(node: str, name: str, centre: Point, width: float) -> str:
    x, y = centre
    return (
        f'<g class="node"><title>{_safe(node)}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX_HEIGHT:.0f}" rx="7"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{_safe(name)}</text></g>'
    )


def _safe(text: str) -> str:
    """The text for XML; characters that XML cannot hold become spaces."""
    return escape(_UNPRINTABLE.sub(" ", text))
