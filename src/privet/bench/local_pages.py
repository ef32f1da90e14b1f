"""The results on local privacy as Markdown and as SVG pages: mechanisms down, levels across."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from importlib.metadata import version

import numpy as np

from privet.bench import chart
from privet.bench.chart import COLOURS, GREY, INK, MARKERS, Line, Look, Panel, Scale
from privet.bench.local import (
    AUTO,
    BY_EPSILON,
    BY_SUCCESS,
    NAIVE,
    NO_NOISE,
    OURS,
    SHUFFLED,
    Cell,
    Grid,
    Result,
    Results,
)
from privet.bench.local_published import MECHANISMS
from privet.bench.pairs_pages import clopper_pearson
from privet.bench.tables import markdown
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.networks import load, tuebingen

HOW_TO_READ = """\
Mean ± standard deviation over the runs. ε is that of everything one person sends. k-RR is
randomised response, Geo the bounded geometric mechanism, C-wise on each column by itself, Comb on
whole rows; their reports are taken for answers, as Binkyte et al. (2023) do. The attacker's
success is that of guessing a column (C-wise) or the row (Comb) if all values are alike beforehand.
*Impossible*: the success is not above that of a guess without a report. *Refused*: the reasons
are in runs.jsonl. *Shuffled*: each column of a pair by itself, so that no relation is left; what a
method scores there it owes to the columns alone. Rows that name a protocol of Privet's have a
search that knows the channel.
"""
ON_PAPER = """\
## The experiments of the paper, in form

Bins of equal width; searches with Privet's defaults, on the middles of the bins as numbers.
"""
ON_NETWORKS = """\
## Protocols on networks
"""
PRIVETS = "Privet's protocol"
# Which method stands for all in the picture: the paper's first, and its best on pairs.
SHOWN, SHOWN_ON_PAIRS = "pc", "reci"

Of = Callable[[Result], float | None]
Runs = Sequence[Result]


@dataclass(frozen=True, kw_only=True)
class Table:
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        return f"**{self.title}**\n\n{markdown(self.header, self.rows)}"


def page(grid: Grid, found: Results, output: str) -> str:
    """The whole document. ``output`` is the folder's name in the command that it quotes."""
    head = (
        f"# Local privacy side by side\n\n{date.today()}, Privet {version('privet')}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores: `{grid.command(output)}`\n\n"
        f"{grid.runs} runs.\n\n{HOW_TO_READ}"
    )
    parts = [head]
    if grid.paper:
        parts.append(ON_PAPER)
    for name in grid.paper:
        parts.append(f"### {name}\n")
        parts += [table.markdown() for table in paper_tables(grid, found, name)]
    if grid.networks:
        parts.append(f"{ON_NETWORKS}\n{grid.rows:,} people.\n")
    for name in grid.networks:
        parts.append(f"### {name}\n\n{_about(name)}\n")
        parts += [table.markdown() for table in network_tables(grid, found, name)]
    return "\n".join(parts)


def paper_tables(grid: Grid, found: Results, name: str) -> Iterator[Table]:
    """At equal success, and at equal epsilon; the other level of each beside it."""
    scores: tuple[tuple[str, Callable[[Runs], str]], ...] = (
        ("Skeleton F1", partial(spread, of=lambda r: r.skeleton_f1)),
        ("SHD", partial(spread, of=lambda r: r.shd, digits=1)),
    )
    if name == tuebingen.FOLDER:
        scores = (("Directions found, with the weights of the pairs", _share),)
    others: dict[str, tuple[str, Of]] = {
        BY_SUCCESS: ("true ε of a report", lambda r: r.epsilon),
        BY_EPSILON: ("attacker's success", lambda r: r.success),
    }
    for by, (title, of) in others.items():
        across = _across(grid, by)
        header = tuple(_level(by, level) for level in across)
        show = partial(_mean_of, of=of)
        first = grid.methods(name)[0]
        rows = (
            (m, *(show(_where(found, name, m, first, by, level)) for level in across))
            for m in MECHANISMS
        )
        yield Table(
            title=f"At equal {by}: {title}", header=("mechanism", *header), rows=tuple(rows)
        )
        for score, shown in scores:
            yield Table(
                title=f"At equal {by}: {score}",
                header=("mechanism", "search", *header, *_clear(name)),
                rows=tuple(_lines(grid, found, name, by, shown)),
            )


def _lines(
    grid: Grid, found: Results, name: str, by: str, shown: Callable[[Runs], str]
) -> Iterator[tuple[str, ...]]:
    own = [(AUTO, OURS)] if by == BY_EPSILON and name != tuebingen.FOLDER else []
    pairs = [(mechanism, method) for mechanism in MECHANISMS for method in grid.methods(name)]
    for mechanism, method in (*pairs, *own):
        noisy = [_where(found, name, mechanism, method, by, x) for x in _across(grid, by)]
        clear = [_where(found, name, kind, method, None, None) for kind in _clear(name)]
        label = PRIVETS if mechanism == AUTO else mechanism
        yield label, method, *map(shown, noisy), *(shown(runs) if runs else "" for runs in clear)


def _clear(name: str) -> tuple[str, ...]:
    """What noise is held against."""
    return (NO_NOISE, SHUFFLED) if name == tuebingen.FOLDER else (NO_NOISE,)


def network_tables(grid: Grid, found: Results, name: str) -> Iterator[Table]:
    figures: tuple[tuple[str, Of], ...] = (
        ("Skeleton F1", lambda r: r.skeleton_f1),
        ("CPDAG F1", lambda r: r.directed_f1),
    )
    header = ("protocol", *(_level(BY_EPSILON, epsilon) for epsilon in grid.epsilons))
    for title, of in figures:
        rows = []
        for mechanism, method in _on_networks(grid):
            runs = [
                _where(found, name, mechanism, method, BY_EPSILON, epsilon)
                for epsilon in grid.epsilons
            ]
            rows.append((_naive(mechanism), *(spread(r, of=of) for r in runs)))
        clear = spread(_where(found, name, NO_NOISE, "pc", None, None), of=of)
        rows.append((NO_NOISE, *[clear] * len(grid.epsilons)))
        yield Table(title=title, header=header, rows=tuple(rows))


def _on_networks(grid: Grid) -> tuple[tuple[str, str], ...]:
    return (*((m, "pc") for m in NAIVE), *((p, OURS) for p in grid.protocols))


def _naive(mechanism: str) -> str:
    return f"{mechanism}, taken for answers" if mechanism in NAIVE else mechanism


def _across(grid: Grid, by: str) -> tuple[float, ...]:
    return grid.successes if by == BY_SUCCESS else grid.paper_epsilons


def _level(by: str, level: float) -> str:
    return f"p = {level:g}" if by == BY_SUCCESS else f"ε = {level:g}"


def _about(name: str) -> str:
    graph = load(name).graph()
    size = len(graph.nodes)
    complete = Graph.from_matrix(graph.nodes, ~np.eye(size, dtype=bool), "cpdag")
    score = compare(graph, complete)
    return (
        f"{size} columns, {len(graph.edges)} edges. The complete graph, which costs nothing, has "
        f"skeleton F1 {score.skeleton_f1:.2f} and CPDAG F1 {score.directed_f1:.2f}."
    )


def _where(
    found: Results, name: str, mechanism: str, method: str, by: str | None, level: float | None
) -> list[Result]:
    wanted = (name, mechanism, method, by, level)
    return [r for c, r in found.items() if _key(c) == wanted]


def _key(cell: Cell) -> tuple[str, str, str, str | None, float | None]:
    return cell.source, cell.mechanism, cell.method, cell.by, cell.level


def _mean_of(runs: Runs, *, of: Of) -> str:
    values = [value for value in map(of, runs) if value is not None]
    return f"{statistics.fmean(values):.3g}" if values else spread(runs, of=of)


def spread(runs: Runs, *, of: Of, digits: int = 2) -> str:
    """Mean and standard deviation; a single run has none."""
    values = [value for value in map(of, runs) if value is not None]
    if not values:
        reasons = [run.refused or "" for run in runs]
        return "impossible" if any("impossible" in r for r in reasons) else "refused"
    mean = f"{statistics.fmean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(values):.{digits}f}"


def _share(runs: Runs) -> str:
    """With a Clopper-Pearson interval; the pairs are the same in each run, so runs add none."""
    values = [r.weighted for r in runs if r.weighted is not None]
    if not values:
        return spread(runs, of=lambda r: r.weighted)
    mean, size = statistics.fmean(values), runs[0].pairs or 0
    low, high = clopper_pearson(mean * size, size)
    return f"{mean:.2f} ({low:.2f}-{high:.2f}; {size} pairs)"


def paper_picture(grid: Grid, found: Results) -> str:
    """Both ways of setting mechanisms equal, side by side."""
    looks = [*_looks((*MECHANISMS, PRIVETS)), *WITHOUT_LEVEL]
    panels = [
        panel
        for name in grid.paper
        for by in (BY_SUCCESS, BY_EPSILON)
        if (panel := _paper_panel(grid, found, name, by, looks)).lines
    ]
    title = (
        f"Skeleton F1 of {SHOWN} (of pairs: directions by {SHOWN_ON_PAIRS}) at equal attacker's "
        f"success and at equal ε"
    )
    return chart.page(title, looks, panels, columns=2) if panels else ""


def _paper_panel(grid: Grid, found: Results, name: str, by: str, looks: Sequence[Look]) -> Panel:
    on_pairs = name == tuebingen.FOLDER
    scale = Scale(label="attacker's success" if by == BY_SUCCESS else "ε", ticks=_across(grid, by))
    lines: list[Line] = []
    for look in looks:
        mechanism, method = look.name, SHOWN_ON_PAIRS if on_pairs else SHOWN
        if mechanism == PRIVETS:
            mechanism, method = AUTO, OURS
        runs = partial(_where, found, name, mechanism, method)
        of: Of = (lambda r: r.weighted) if on_pairs else (lambda r: r.skeleton_f1)
        lines += _line(look, scale, by, runs, of)
    return Panel(title=f"{name}, equal {by}", scale=scale, lines=tuple(lines))


def protocols_picture(grid: Grid, found: Results) -> str:
    kinds = _on_networks(grid)
    names = [_naive(mechanism) for mechanism, _ in kinds]
    looks = [*_looks(names), WITHOUT_LEVEL[0]]
    panels = []
    for network in grid.networks:
        scale = Scale(label="ε", ticks=tuple(sorted(grid.epsilons)))
        lines: list[Line] = []
        for look, (mechanism, method) in zip(looks, [*kinds, (NO_NOISE, "pc")], strict=True):
            runs = partial(_where, found, network, mechanism, method)
            lines += _line(look, scale, BY_EPSILON, runs, lambda r: r.skeleton_f1)
        panels.append(Panel(title=network, scale=scale, lines=tuple(lines)))
    title = f"Skeleton F1 against ε ({grid.rows:,} people, {grid.runs} runs)"
    return chart.page(title, looks, panels) if panels else ""


def _line(
    look: Look, scale: Scale, by: str, runs: Callable[[str | None, float | None], Runs], of: Of
) -> Iterator[Line]:
    """Where the line goes; where there is no noise it is level."""
    if look in WITHOUT_LEVEL:
        height = _mean(runs(None, None), of)
        if height is not None:
            yield Line(look=look, points=scale.level(height))
        return
    levels = [(level, _mean(runs(by, level), of)) for level in scale.ticks]
    points = tuple((level, height) for level, height in levels if height is not None)
    if points:
        yield Line(look=look, points=points)


def _mean(runs: Runs, of: Of) -> float | None:
    values = [value for value in map(of, runs) if value is not None]
    return statistics.fmean(values) if values else None


def _looks(names: Sequence[str]) -> list[Look]:
    return [
        Look(name=name, colour=COLOURS[at % len(COLOURS)], marker=MARKERS[at % len(MARKERS)])
        for at, name in enumerate(names)
    ]


WITHOUT_LEVEL = (
    Look(name=NO_NOISE, colour=INK, marker="", dashes=(1.5, 2.5)),
    Look(name=SHUFFLED, colour=GREY, marker="", dashes=(5, 2), label=f"{SHUFFLED} (of pairs)"),
)
