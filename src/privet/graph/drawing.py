"""A graph as one standalone SVG text: no fonts, scripts or files from elsewhere.

Colours are middling, so that the picture reads on a light and on a dark page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from privet.graph.edge import Edge
from privet.graph.formats.common import End, ends
from privet.graph.graph import Graph
from privet.graph.layout import BOX_HEIGHT, Arrow, Layout, Point, place

FONT_SIZE = 13
LABEL_SIZE = 9.5
MARGIN = 18.0
TITLE_HEIGHT = 32.0
LONGEST_NAME = 28
STYLE = (
    ".privet-graph text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;"
    "text-anchor:middle;fill:#16324a}"
    ".privet-graph .title{font-size:15px;font-weight:600;fill:#6f8296;text-anchor:start}"
    f".privet-graph .node text{{font-size:{FONT_SIZE}px}}"
    ".privet-graph .node rect{fill:#e6eef5;stroke:#5b7f9e;stroke-width:1.2}"
    ".privet-graph .edge path{fill:none;stroke:#6f8296;stroke-linecap:round}"
    ".privet-graph .edge polygon{fill:#6f8296}"
    ".privet-graph .edge circle{fill:none;stroke:#6f8296}"
    ".privet-graph .undecided line{stroke:#b9c4cf;stroke-width:1;stroke-dasharray:1 4;"
    "stroke-linecap:round}"
    f".privet-graph .label text{{font-size:{LABEL_SIZE}px}}"
    ".privet-graph .label rect{fill:#e6eef5;fill-opacity:.9}"
)
MOST_UNDECIDED = 20  # pairs that are drawn; more would hide the graph
_UNPRINTABLE = re.compile("[^\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def svg(graph: Graph, title: str | None = None) -> str:
    """The picture. Thick dark edges are sure ones; a number on an edge is its confidence. A
    dashed edge leans: an arrow that too little speaks for. Faint dots join pairs that are
    undecided, if these are few."""
    names = [_shown(node) for node in graph.nodes]
    widths = [max(44.0, _text_width(name, FONT_SIZE) + 22) for name in names]
    arrows = _downwards(graph)
    layout = place(widths, list(arrows))
    curves = _curves(layout, widths, arrows)
    labels = _labels(curves, arrows)
    top = MARGIN + (TITLE_HEIGHT if title else 0.0)
    width = max(layout.width, _text_width(title or "", 15) + 4) + 2 * MARGIN
    height = layout.height + top + MARGIN
    body = _undecided(graph, layout.centres)
    body += [_edge(edge, curves[arrow], arrow, graph) for arrow, edge in arrows.items()]
    body += [
        _node(node, name, layout.centres[i], widths[i])
        for i, (node, name) in enumerate(zip(graph.nodes, names, strict=True))
    ]
    heading = f'<text class="title" x="{MARGIN}" y="32">{_safe(title)}</text>' if title else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" class="privet-graph">'
        f"<style>{STYLE}</style>{heading}"
        f'<g transform="translate({MARGIN} {top})">\n' + "\n".join(body + labels) + "\n</g></svg>\n"
    )


def _downwards(graph: Graph) -> dict[Arrow, Edge]:
    """Every edge as (upper, lower) node; --> points down, o-> if it can, the rest as it comes."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    above: dict[str, set[str]] = {node: set() for node in graph.nodes}
    rather: dict[str, set[str]] = {node: set() for node in graph.nodes}
    for edge in graph.edges:
        if edge.mark in ("-->", "o->"):
            (above if edge.mark == "-->" else rather)[edge.target].add(edge.source)
    step: dict[str, int] = {}
    left = list(graph.nodes)
    while left:
        ready = [node for node in left if above[node] <= step.keys()] or left  # in a circle
        first = min(ready, key=lambda node: len((rather[node] | above[node]) - step.keys()))
        step[first] = len(step)
        left.remove(first)
    pairs = {}
    for edge in graph.edges:
        upper, lower = sorted((edge.source, edge.target), key=step.__getitem__)
        pairs[at[upper], at[lower]] = edge
    return pairs


@dataclass(frozen=True, kw_only=True)
class _Curve:
    """Points from top to bottom, and at each the slope dx/dy."""

    points: list[Point]
    slopes: list[float]

    def path(self, from_end: float, to_end: float) -> str:
        """The SVG path, cut short by these lengths to leave room for the end marks."""
        points = list(self.points)
        points[0] = self.shifted(0, from_end)
        points[-1] = self.shifted(-1, -to_end)
        text = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
        for i, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
            third = (y1 - y0) / 3
            text += (
                f"C{x0 + self.slopes[i] * third:.1f} {y0 + third:.1f} "
                f"{x1 - self.slopes[i + 1] * third:.1f} {y1 - third:.1f} {x1:.1f} {y1:.1f}"
            )
        return text

    def shifted(self, at: int, length: float, aside: float = 0.0) -> Point:
        """The point, moved along the curve by a length (and aside by another)."""
        (x, y), slope = self.points[at], self.slopes[at]
        norm = (1 + slope * slope) ** 0.5
        return x + (length * slope + aside) / norm, y + (length - aside * slope) / norm

    def middle(self, share: float) -> Point:
        """A point at this share of the height."""
        y = self.points[0][1] + share * (self.points[-1][1] - self.points[0][1])
        at = max(i for i, point in enumerate(self.points[:-1]) if point[1] <= y)
        (x0, y0), (x1, y1) = self.points[at], self.points[at + 1]
        t, h = (y - y0) / (y1 - y0), y1 - y0
        bend = t * (1 - t) * h * ((1 - t) * self.slopes[at] - t * self.slopes[at + 1])
        return x0 + (3 - 2 * t) * t * t * (x1 - x0) + bend, y


def _curves(layout: Layout, widths: list[float], arrows: dict[Arrow, Edge]) -> dict[Arrow, _Curve]:
    """Edges leave at the bottom of a box and enter at the top of another, side by side."""
    leave = _ports(layout, widths, list(arrows), upper=True)
    enter = _ports(layout, widths, list(arrows), upper=False)
    curves = {}
    for arrow in arrows:
        points = [leave[arrow], *layout.bends[arrow], enter[arrow]]
        curves[arrow] = _Curve(points=points, slopes=_slopes(points))
    return curves


def _ports(
    layout: Layout, widths: list[float], arrows: list[Arrow], upper: bool
) -> dict[Arrow, Point]:
    """Where the edges touch the boxes at their upper (lower) ends, spread over the box."""
    touching: dict[int, list[tuple[float, Arrow]]] = {}
    for arrow in arrows:
        node, other = arrow if upper else arrow[::-1]
        path = layout.bends[arrow] or [layout.centres[other]]
        towards = path[0] if upper else path[-1]
        touching.setdefault(node, []).append((towards[0], arrow))
    ports = {}
    for node, there in touching.items():
        x, y = layout.centres[node]
        step = min(14.0, 0.75 * widths[node] / len(there))
        for i, (_towards, arrow) in enumerate(sorted(there)):
            shift = (i - (len(there) - 1) / 2) * step
            ports[arrow] = (x + shift, y + (BOX_HEIGHT if upper else -BOX_HEIGHT) / 2)
    return ports


def _slopes(points: list[Point]) -> list[float]:
    """Smooth through the bends; steep there, so that the curve keeps clear of the boxes."""
    slopes = [_slope(points[0], points[1])]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        turns = (here[0] - before[0]) * (after[0] - here[0]) <= 0
        slopes.append(0.0 if turns else max(-0.7, min(0.7, _slope(before, after))))
    return [*slopes, _slope(points[-2], points[-1])]


def _slope(a: Point, b: Point) -> float:
    return (b[0] - a[0]) / (b[1] - a[1])


def _edge(edge: Edge, curve: _Curve, arrow: Arrow, graph: Graph) -> str:
    at_source, at_target = ends(edge)
    downwards = graph.nodes[arrow[0]] == edge.source
    top, bottom = (at_source, at_target) if downwards else (at_target, at_source)
    sure = 0.6 if edge.confidence is None else edge.confidence
    width, opacity = 0.8 + 1.6 * sure, 1.0 if edge.confidence is None else 0.3 + 0.7 * sure
    room = {"tail": 0.0, "arrow": 8.0, "circle": 8.0}
    marks = _mark(top, curve, 0, 1.0, width) + _mark(bottom, curve, -1, -1.0, width)
    return (
        f'<g class="edge" opacity="{opacity:.2f}"><title>{_safe(_told(edge))}</title>'
        f'<path d="{curve.path(room[top], room[bottom])}" stroke-width="{width:.2f}"'
        f"{_dashes(edge)}/>{marks}</g>"
    )


def _undecided(graph: Graph, centres: Mapping[int, Point]) -> list[str]:
    """Straight dotted lines behind all else: the layout is that of the edges."""
    if len(graph.undecided) > MOST_UNDECIDED:
        return []
    at = {name: i for i, name in enumerate(graph.nodes)}
    lines = []
    for a, b in graph.undecided:
        (x, y), (u, v) = centres[at[a]], centres[at[b]]
        lines.append(
            f'<g class="undecided"><title>{_safe(f"{a} ? {b}: cannot say")}</title>'
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}"/></g>'
        )
    return lines


def _dashes(edge: Edge) -> str:
    doubtful = edge.lean is not None or (edge.arrow_confidence or 1.0) < 0.5
    return ' stroke-dasharray="5 4"' if doubtful else ""


def _told(edge: Edge) -> str:
    told = str(edge)
    if edge.confidence is not None:
        told += f", confidence {edge.confidence:.2f}"
    if edge.arrow_confidence is not None:
        where = "" if edge.lean is None else f" to {edge.lean}"
        told += f", of its direction{where} {edge.arrow_confidence:.2f}"
    return told


def _mark(end: End, curve: _Curve, at: int, inwards: float, width: float) -> str:
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


def _labels(curves: dict[Arrow, _Curve], arrows: dict[Arrow, Edge]) -> list[str]:
    """The confidences, each on its edge where no other label stands if there is such a place."""
    taken: list[Point] = []
    labels = []
    for arrow, edge in arrows.items():
        if edge.confidence is None:
            continue
        spots = [curves[arrow].middle(share) for share in (0.5, 0.38, 0.62, 0.28, 0.72)]
        free = [s for s in spots if all(abs(s[0] - x) > 27 or abs(s[1] - y) > 13 for x, y in taken)]
        x, y = (free or spots)[0]
        taken.append((x, y))
        labels.append(
            f'<g class="label"><rect x="{x - 12.5:.1f}" y="{y - 6.5:.1f}" width="25" height="13" '
            f'rx="6"/><text x="{x:.1f}" y="{y + 3.3:.1f}">{edge.confidence:.2f}</text></g>'
        )
    return labels


def _node(node: str, name: str, centre: Point, width: float) -> str:
    x, y = centre
    return (
        f'<g class="node"><title>{_safe(node)}</title>'
        f'<rect x="{x - width / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX_HEIGHT:.0f}" rx="7"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{_safe(name)}</text></g>'
    )


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _safe(text: str) -> str:
    """The text for XML; characters that XML cannot hold become spaces."""
    return escape(_UNPRINTABLE.sub(" ", text))


def _text_width(text: str, size: float) -> float:
    """About the width of the text; there is no font to measure."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    large = sum(c.isupper() or c in "mwMW@%" for c in text)
    return size * (0.54 * len(text) + 0.46 * wide + 0.14 * large)
