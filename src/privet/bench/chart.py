"""Panels of lines on one SVG page: a score from 0 to 1 against a number on a logarithmic scale.

No fonts, scripts or files from elsewhere. Lines differ by colour and by marker, and each is named
at its end, so that neither the legend nor colour vision is needed to follow one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

COLUMNS = 3
WIDTH, HEIGHT = 210.0, 190.0  # of a panel's axes
NAMES = 132.0  # room for the names at the lines' ends
LEFT, TOP, BOTTOM = 44.0, 34.0, 46.0  # room around a panel's axes
MARGIN = 20.0
NARROWEST = 500.0  # the title needs so much
HEAD = 52.0
LEGEND_STEP = 234.0
LINE = 10.5  # least distance of two names
COLOURS = (
    "#0067a5",
    "#c8550e",
    "#00836b",
    "#b0478f",
    "#7a6a00",
    "#6250c4",
    "#c0394b",
    "#3d8bb5",
    "#567d2e",
    "#8a5a3c",
)
MARKERS = "osd^"
GREY, INK = "#7b8794", "#22303c"
STYLE = (
    "text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;font-size:10px;"
    f"fill:{INK}}}"
    ".title{font-size:15px;font-weight:600}.panel{font-size:12px;font-weight:600}"
    ".tick{fill:#5b6875;font-size:9px}.name{font-size:9px}"
    f".axis{{stroke:{GREY};stroke-width:1}}.grid{{stroke:#e3e8ed;stroke-width:1}}"
)

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a line is drawn."""

    name: str
    colour: str
    marker: str
    dashes: str = ""
    label: str = ""  # in the legend, if that is not the name


@dataclass(frozen=True, kw_only=True)
class Line:
    """Points in the panel's own units: to the right and down from its upper left corner."""

    look: Look
    points: tuple[Point, ...]


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A logarithmic axis over some numbers, with some room at the ends."""

    label: str
    ticks: tuple[float, ...]

    def x(self, value: float) -> float:
        low, high = math.log(min(self.ticks)), math.log(max(self.ticks))
        share = 0.5 if low == high else (math.log(value) - low) / (high - low)
        return 10 + share * (WIDTH - 20)


@dataclass(frozen=True, kw_only=True)
class Panel:
    title: str
    scale: Scale
    lines: tuple[Line, ...]


def height_of(score: float) -> float:
    return (1 - score) * HEIGHT


def page(title: str, looks: Sequence[Look], panels: Sequence[Panel], columns: int = COLUMNS) -> str:
    across = min(columns, len(panels))
    width = max(NARROWEST, 2 * MARGIN + across * (LEFT + WIDTH + NAMES))
    legend, legend_height = _legend(looks, width - 2 * MARGIN)
    top = HEAD + legend_height
    down = math.ceil(len(panels) / across)
    height = top + down * (TOP + HEIGHT + BOTTOM) + MARGIN
    body = []
    for i, panel in enumerate(panels):
        x = MARGIN + (i % across) * (LEFT + WIDTH + NAMES) + LEFT
        y = top + (i // across) * (TOP + HEIGHT + BOTTOM) + TOP
        body.append(f'<g transform="translate({x:.1f} {y:.1f})">{_drawn(panel)}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>{escape(title)}</title>'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text class="title" x="{MARGIN}" y="32">{escape(title)}</text>'
        f'<g transform="translate({MARGIN} {HEAD})">{legend}</g>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _legend(looks: Sequence[Look], width: float) -> tuple[str, float]:
    across = max(1, int(width // LEGEND_STEP))
    parts = []
    for i, look in enumerate(looks):
        x, y = (i % across) * LEGEND_STEP, (i // across) * 16.0 + 6
        sample = Line(look=look, points=((x, y), (x + 13, y), (x + 26, y)))
        parts.append(_stroke(sample, sample.points[1:2]))
        label = escape(look.label or look.name)
        parts.append(f'<text x="{x + 32:.1f}" y="{y + 3.5:.1f}">{label}</text>')
    return "".join(parts), math.ceil(len(looks) / across) * 16.0 + 6


def _drawn(panel: Panel) -> str:
    strokes = [_stroke(line, line.points) for line in panel.lines]
    return _frame(panel) + "".join(strokes) + _names(panel.lines)


def _frame(panel: Panel) -> str:
    parts = [f'<text class="panel" x="0" y="-12">{escape(panel.title)}</text>']
    for score in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = height_of(score)
        parts.append(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="-6" y="{y + 3:.1f}" text-anchor="end">{score:.1f}</text>'
        )
    for tick in panel.scale.ticks:
        x = panel.scale.x(tick)
        parts.append(
            f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT}" y2="{HEIGHT + 4}"/>'
            f'<text class="tick" x="{x:.1f}" y="{HEIGHT + 14}" text-anchor="middle">'
            f"{tick:g}</text>"
        )
    parts.append(f'<line class="axis" x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}"/>')
    parts.append(
        f'<text class="tick" x="{WIDTH / 2}" y="{HEIGHT + 28}" text-anchor="middle">'
        f"{escape(panel.scale.label)}</text>"
    )
    return "".join(parts)


def _stroke(line: Line, marked: Sequence[Point]) -> str:
    """The line, with the marker of its method, if that has one, at some of the points."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line.points)
    dashes = f' stroke-dasharray="{line.look.dashes}"' if line.look.dashes else ""
    marks = "".join(_marker(line.look, point) for point in marked if line.look.marker)
    return (
        f'<g><title>{escape(line.look.name)}</title><path d="{path}" fill="none" '
        f'stroke="{line.look.colour}" stroke-width="1.6"{dashes}/>{marks}</g>'
    )


def _marker(look: Look, point: Point) -> str:
    x, y = point
    if look.marker == "o":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{look.colour}"/>'
    shapes = {
        "s": ((-2.7, -2.7), (2.7, -2.7), (2.7, 2.7), (-2.7, 2.7)),
        "d": ((0, -3.8), (3.8, 0), (0, 3.8), (-3.8, 0)),
        "^": ((0, -3.7), (3.5, 2.6), (-3.5, 2.6)),
    }
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in shapes[look.marker])
    return f'<polygon points="{corners}" fill="{look.colour}"/>'


def _names(lines: Sequence[Line]) -> str:
    """The name of each line at its end, moved up or down so that none hides another."""
    ends = sorted(lines, key=lambda line: line.points[-1][1])
    parts = []
    for line, y in zip(ends, spread([line.points[-1][1] for line in ends]), strict=True):
        x, own = line.points[-1]
        parts.append(
            f'<path d="M{x + 5:.1f} {own:.1f}L{WIDTH + 8:.1f} {y:.1f}" fill="none" '
            f'stroke="{line.look.colour}" stroke-width="0.5" opacity="0.6"/>'
            f'<text class="name" x="{WIDTH + 11:.1f}" y="{y + 3:.1f}" '
            f'style="fill:{line.look.colour}">{escape(line.look.name)}</text>'
        )
    return "".join(parts)


def spread(wanted: Sequence[float]) -> list[float]:
    """Rising heights at least one line apart, near the wanted ones, inside the panel if they
    fit: pushed down from the top, then up from the bottom."""
    placed: list[float] = []
    for y in wanted:
        placed.append(max(y, placed[-1] + LINE) if placed else y)
    limit = max(HEIGHT, LINE * (len(placed) - 1))
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - LINE
    return placed
