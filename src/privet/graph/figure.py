"""Where the boxes and lines of a picture go: the layout of its nodes, and a smooth curve for each
edge."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.graph.layout import BOX_HEIGHT, Arrow, Layout, Point, place

FONT_SIZE = 13
LONGEST_NAME = 28


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What there is to draw; ``curves`` are in the order of the graph's edges."""

    names: tuple[str, ...]
    widths: tuple[float, ...]
    layout: Layout
    arrows: dict[Arrow, Edge]
    curves: dict[Arrow, Curve]
    tiers: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=2)  # picture and page draw the same
def figure(graph: Graph, tiers: tuple[tuple[str, ...], ...] = ()) -> Figure:
    """The same graph gives the same figure. Tiers lie one above the other, unless an arrow goes
    from one to another before it."""
    order = {name: tier for tier, names in enumerate(tiers) for name in names}
    last = len(tiers)
    if any(
        e.mark in ("-->", "o->") and order.get(e.source, -1) > order.get(e.target, last)
        for e in graph.edges
    ):
        order = {}
    at = {name: i for i, name in enumerate(graph.nodes)}
    levels = tuple(tuple(at[n] for n in names if n in at) for names in tiers) if order else ()
    levels = tuple(level for level in levels if level)
    names = tuple(_shown(node) for node in graph.nodes)
    widths = [max(44.0, text_width(name, FONT_SIZE) + 22) for name in names]
    arrows = _downwards(graph, order)
    layout = place(widths, list(arrows), levels)
    curves = _curves(layout, widths, arrows)
    return Figure(
        names=names, widths=tuple(widths), layout=layout, arrows=arrows, curves=curves, tiers=levels
    )


def _downwards(graph: Graph, tier: Mapping[str, int]) -> dict[Arrow, Edge]:
    """Every edge as (upper, lower) node; --> points down, o-> if it can, the rest as tiers have
    it, or as it comes."""
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
        first = min(
            ready, key=lambda n: (tier.get(n, -1), len((rather[n] | above[n]) - step.keys()))
        )
        step[first] = len(step)
        left.remove(first)
    pairs = {}
    for edge in graph.edges:
        upper, lower = sorted((edge.source, edge.target), key=step.__getitem__)
        pairs[at[upper], at[lower]] = edge
    return pairs


@dataclass(frozen=True, kw_only=True)
class Curve:
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


def _curves(layout: Layout, widths: list[float], arrows: dict[Arrow, Edge]) -> dict[Arrow, Curve]:
    """Edges leave at the bottom of a box and enter at the top of another, side by side."""
    leave = _ports(layout, widths, list(arrows), upper=True)
    enter = _ports(layout, widths, list(arrows), upper=False)
    curves = {}
    for arrow in arrows:
        points = [leave[arrow], *layout.bends[arrow], enter[arrow]]
        curves[arrow] = Curve(points=points, slopes=_slopes(points))
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


def _shown(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def text_width(text: str, size: float) -> float:
    """About the width of the text; there is no font to measure."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    large = sum(c.isupper() or c in "mwMW@%" for c in text)
    return size * (0.54 * len(text) + 0.46 * wide + 0.14 * large)
