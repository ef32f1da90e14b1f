"""The results on several sites as one SVG page: F1 against sites, columns, shares and noise."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from privet.bench import chart
from privet.bench import federated_data as data
from privet.bench.chart import COLOURS, MARKERS, Line, Look, Panel, Scale
from privet.bench.federated import MANY, PERIS, Grid, Results
from privet.bench.federated_methods import METHODS


def page(grid: Grid, found: Results) -> str:
    """Empty if no table has anything to draw."""
    names = tuple(METHODS)
    looks = {
        name: Look(
            name=name,
            colour=COLOURS[at % len(COLOURS)],
            marker=MARKERS[at % len(MARKERS)],
            dashes=() if at < len(COLOURS) else (4, 3),
        )
        for at, name in enumerate(names)
    }
    panels = []
    if "synthetic" in grid.tables:
        for what, values in (("sites", grid.sites), ("columns", grid.columns)):
            panels.append(_panel(found, looks, "synthetic", "random graphs", what, values, names))
    for graph in data.STRUCTURES:
        if "many" in grid.tables:
            panels.append(_panel(found, looks, "many", graph, "share", grid.shares, MANY))
        if "noise" in grid.tables:
            panels.append(_panel(found, looks, "noise", graph, "noise", grid.noises, PERIS))
    shown = [panel for panel in panels if panel.lines]
    if not shown:
        return ""
    return chart.page("F1 of arcs, without privacy", tuple(looks.values()), shown)


LABELS = {
    "sites": "sites",
    "columns": "columns",
    "share": "share of the sites asked",
    "noise": "scale of the noise on regrets",
}


def _panel(
    found: Results,
    looks: dict[str, Look],
    table: str,
    title: str,
    what: str,
    values: Sequence[float],
    methods: Sequence[str],
) -> Panel:
    scale = Scale(label=LABELS[what], ticks=tuple(sorted(values)))
    lines = []
    for method in methods:
        points = []
        for value in scale.ticks:
            runs = [
                result.f1
                for cell, result in found.items()
                if (cell.table, cell.method, getattr(cell, what)) == (table, method, value)
                and cell.graph in ("random", title)
            ]
            if runs:
                points.append((value, fmean(runs)))
        if points:
            lines.append(Line(look=looks[method], points=tuple(points)))
    return Panel(title=title, scale=scale, lines=tuple(lines))
