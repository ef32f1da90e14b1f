"""The results of a benchmark as one SVG page: skeleton F1 against epsilon, a panel per network."""

from __future__ import annotations

from collections.abc import Sequence

from privet.bench import chart
from privet.bench.central import COMPLETE, WITHOUT_PRIVACY, Grid
from privet.bench.chart import COLOURS, GREY, INK, MARKERS, Line, Look, Panel, Point, Scale
from privet.bench.results import AS_PUBLISHED, Results, average, where


def page(grid: Grid, found: Results) -> str:
    looks = _looks(grid)
    title = f"Skeleton F1 against ε ({grid.rows:,} rows, δ = {grid.delta:g}, {grid.runs} runs)"
    panels = [_panel(grid, found, network, looks) for network in grid.networks]
    return chart.page(title, looks, panels)


def _looks(grid: Grid) -> tuple[Look, ...]:
    """A colour and a marker per method; as published it has the same, but dashed."""
    looks = []
    own = list(dict.fromkeys(method.removesuffix(AS_PUBLISHED) for method in grid.private))
    for method in grid.private:
        at = own.index(method.removesuffix(AS_PUBLISHED))
        looks.append(
            Look(
                name=method,
                colour=COLOURS[at % len(COLOURS)],
                marker=MARKERS[at % len(MARKERS)],
                dashes=(4, 3) if method.endswith(AS_PUBLISHED) else (),
                label=method.replace(AS_PUBLISHED, AS_PUBLISHED.replace(")", ", not private)")),
            )
        )
    level = [
        Look(
            name=method,
            colour=INK,
            marker="",
            dashes=(1.5, 2.5),
            label=method + " (no privacy)" * (method == WITHOUT_PRIVACY),
        )
        for method in grid.open
    ]
    free = Look(
        name=COMPLETE, colour=GREY, marker="", dashes=(7, 4), label=f"{COMPLETE} (costs nothing)"
    )
    return (*looks, *level, free)


def _panel(grid: Grid, found: Results, network: str, looks: Sequence[Look]) -> Panel:
    scale = Scale(label="ε", ticks=tuple(sorted(grid.epsilons)))
    lines = []
    for look in looks:
        points = _points(found, network, look.name, scale)
        if points:
            lines.append(Line(look=look, points=points))
    return Panel(title=network, scale=scale, lines=tuple(lines))


def _points(found: Results, network: str, method: str, scale: Scale) -> tuple[Point, ...]:
    """Where the line goes; a method without epsilon is level."""
    level = average(where(found, network, method, None), lambda r: r.skeleton_f1)
    if level is not None:
        return scale.level(level.mean)
    points = []
    for epsilon in scale.ticks:
        here = average(where(found, network, method, epsilon), lambda r: r.skeleton_f1)
        if here is not None:
            points.append((epsilon, here.mean))
    return tuple(points)
