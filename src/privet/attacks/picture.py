"""How often an attacker is right against how often wrong, and where a promise says it cannot be."""

from __future__ import annotations

from html import escape
from math import exp

import numpy as np

from privet.arrays import Floats
from privet.attacks.bounds import Bound, Two

SIDE, LEFT, TOP, RIGHT, BOTTOM = 360.0, 60.0, 64.0, 24.0, 74.0
POINTS = 200
INK, GREY, GREEN, BLUE, RED = "#22303c", "#7b8794", "#dcefe4", "#0067a5", "#c0394b"
STYLE = (
    "text{font-family:system-ui,'Segoe UI','Helvetica Neue',Arial,sans-serif;font-size:11px;"
    f"fill:{INK}}}.title{{font-size:15px;font-weight:600}}.soft{{fill:#5b6875}}"
)


def picture(title: str, scores: Two, bound: Bound, epsilon: float, delta: float) -> str:
    """A point is an event: to the right its share of the runs on the table, upwards that of the
    runs on its neighbour. Inside the green region the promise is kept."""
    width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
    colour = RED if bound.lower > epsilon else BLUE
    hits, misses = bound.hits / bound.runs, bound.misses / bound.runs
    at = (misses, hits) if bound.event.added else (1 - hits, 1 - misses)
    promise = (
        f"green: what ε = {epsilon:g}, δ = {delta:g} allows; the runs say ε ≥ {bound.lower:.3g}"
    )
    body = (
        f'<path d="{_path(_allowed(epsilon, delta))}Z" fill="{GREEN}"/>'
        f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="{GREY}"/>'
        f'<path d="{_path([(0, 0), (1, 1)])}" stroke="{GREY}" stroke-dasharray="3 3"/>'
        f'<path d="{_path(_curve(scores))}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
        f'<circle cx="{at[0] * SIDE:.1f}" cy="{(1 - at[1]) * SIDE:.1f}" r="4.5" fill="{colour}"/>'
        + "".join(_tick(share) for share in (0.0, 0.25, 0.5, 0.75, 1.0))
        + f'<text x="{SIDE / 2}" y="{SIDE + 34}" text-anchor="middle">said "neighbour" on the table'
        f"</text><text transform='translate(-40 {SIDE / 2}) rotate(-90)' text-anchor='middle'>"
        'said "neighbour" on the neighbour</text>'
        f'<text class="soft" x="0" y="{SIDE + 58}">dot: the event that was judged, in '
        f"{bound.runs:,} runs on either</text>"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>{escape(title)}</title>'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text class="title" x="16" y="26">{escape(title)}</text>'
        f'<text class="soft" x="16" y="46">{escape(promise)}</text>'
        f'<g transform="translate({LEFT} {TOP})">{body}</g></svg>\n'
    )


def _allowed(epsilon: float, delta: float) -> list[tuple[float, float]]:
    """The corners of the region: below min(exp(ε) x + δ, 1 - exp(-ε) (1 - δ - x)), and the same
    turned about the middle."""
    grow = exp(min(epsilon, 700.0))
    meet = (1 - delta) / (1 + grow)
    upper = [(0.0, delta), (meet, grow * meet + delta), (1 - delta, 1.0), (1.0, 1.0)]
    return upper + [(1 - x, 1 - y) for x, y in upper]


def _curve(scores: Two) -> list[tuple[float, float]]:
    without, present = (np.sort(side) for side in scores)
    both: Floats = np.concatenate([without, present])
    bars = np.unique(np.quantile(both, np.linspace(0, 1, POINTS), method="lower"))
    points = [(_share(without, bar), _share(present, bar)) for bar in bars[::-1].tolist()]
    return [(0.0, 0.0), *points, (1.0, 1.0)]


def _share(rising: Floats, bar: float) -> float:
    return 1 - float(np.searchsorted(rising, bar)) / len(rising)


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x * SIDE:.1f} {(1 - y) * SIDE:.1f}" for x, y in points)


def _tick(share: float) -> str:
    x, y = share * SIDE, (1 - share) * SIDE
    return (
        f'<text class="soft" x="{x:.1f}" y="{SIDE + 15}" text-anchor="middle">{share:g}</text>'
        f'<text class="soft" x="-6" y="{y + 4:.1f}" text-anchor="end">{share:g}</text>'
    )
