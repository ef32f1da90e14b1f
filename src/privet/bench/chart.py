"""Panels of lines on one SVG page: a score from 0 to 1 against a number on a logarithmic scale.

Lines differ by colour and by marker, so that colour vision is not needed to follow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from math import ceil
from typing import Any

from privet.errors import MethodError

COLUMNS = 3
COLOURS = (
    *("#0067a5", "#c8550e", "#00836b", "#b0478f", "#7a6a00"),
    *("#6250c4", "#c0394b", "#3d8bb5", "#567d2e", "#8a5a3c"),
)
MARKERS = "osd^"
GREY, INK = "#7b8794", "#22303c"

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a line is drawn; ``dashes`` are lengths in points."""

    name: str
    colour: str
    marker: str
    dashes: tuple[float, ...] = ()
    label: str = ""  # in the legend, if that is not the name


@dataclass(frozen=True, kw_only=True)
class Line:
    look: Look
    points: tuple[Point, ...]  # a number, and its score


@dataclass(frozen=True, kw_only=True)
class Scale:
    """An axis over some numbers."""

    label: str
    ticks: tuple[float, ...]

    def level(self, score: float) -> tuple[Point, ...]:
        """The same score everywhere."""
        return (min(self.ticks), score), (max(self.ticks), score)


@dataclass(frozen=True, kw_only=True)
class Panel:
    title: str
    scale: Scale
    lines: tuple[Line, ...]


def page(title: str, looks: Sequence[Look], panels: Sequence[Panel], columns: int = COLUMNS) -> str:
    """The SVG text; the same each time that it is made."""
    pyplot = _pyplot()
    across = min(columns, len(panels))
    down = ceil(len(panels) / across)
    legend = 0.22 * ceil(len(looks) / across) + 0.5
    size = (3.6 * across, 2.9 * down + legend + 0.5)
    figure, axes = pyplot.subplots(down, across, figsize=size, squeeze=False)
    for at, axis in enumerate(axes.flat):
        if at < len(panels):
            _draw(axis, panels[at])
        else:
            axis.set_axis_off()
    handles = [_stroke(pyplot.Line2D, look, [], []) for look in looks]
    names = [look.label or look.name for look in looks]
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(handles, names, loc="lower left", ncols=across, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, legend / size[1], 1, 1))
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Title": title})
    pyplot.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]  # what is before it names a host


def _draw(axis: Any, panel: Panel) -> None:
    for line in panel.lines:
        at, scores = zip(*line.points, strict=True)
        axis.add_line(_stroke(type(axis.plot([], [])[0]), line.look, at, scores))
    axis.set(xscale="log", ylim=(-0.03, 1.03), xlabel=panel.scale.label)
    low, high = min(panel.scale.ticks), max(panel.scale.ticks)
    axis.set_xlim(low / (high / low) ** 0.06 if high > low else low / 2, high * 1.1)
    axis.set_xticks(panel.scale.ticks, [f"{tick:g}" for tick in panel.scale.ticks], fontsize=8)
    axis.minorticks_off()
    axis.tick_params(axis="y", labelsize=8)
    axis.grid(axis="y", color="#e3e8ed")
    axis.set_title(panel.title, loc="left", fontsize=9, fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)


def _stroke(kind: Any, look: Look, at: Sequence[float], scores: Sequence[float]) -> Any:
    style = (0, look.dashes) if look.dashes else "-"
    marker = look.marker or "None"
    return kind(at, scores, color=look.colour, marker=marker, ms=4, lw=1.4, ls=style)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MethodError(
            "the pictures of the benchmark need matplotlib, which is not installed; "
            "pip install 'privet[bench]'"
        ) from None
    matplotlib.use("svg")
    # text stays text, and names inside the file do not change from run to run
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "privet"})
    from matplotlib import pyplot

    return pyplot
