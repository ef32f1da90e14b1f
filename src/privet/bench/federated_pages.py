"""The results on several sites as Markdown: a table for each of the paper's, ours beside its."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from math import comb, sqrt
from statistics import fmean, pstdev

from privet.bench import federated_data as data
from privet.bench import federated_paper as paper
from privet.bench.federated import MANY, PERIS, UNLIKE, WAYS, Grid, Result, Results
from privet.bench.federated_methods import METHODS
from privet.bench.tables import markdown

HOW_TO_READ = """\
Normalised SHD / F1, mean over the runs ± standard error of F1. Normalised SHD is SHD over the
number of pairs, less is better; F1 is that of arcs of the CPDAG, an undirected edge counting as
two. In brackets what the paper has. Nothing above the last table is private.
"""


@dataclass(frozen=True)
class Runs:
    """The runs of one table, to be asked for those of a line."""

    found: Results

    def of(self, **wanted: object) -> list[Result]:
        return [
            result
            for cell, result in self.found.items()
            if all(getattr(cell, name) == value for name, value in wanted.items())
        ]


def page(grid: Grid, found: Results, output: str) -> str:
    """The whole document; titles of tables are bold, so that it can be part of another."""
    head = (
        f"# One graph from several sites\n\n{date.today()}, Privet {version('privet')}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores: `{grid.command(output)}`\n\n"
        f"{grid.runs} runs ({grid.many_runs} with {grid.many} sites), in each of which all methods "
        f"see the same rows.\n\n{HOW_TO_READ}\n"
        f"{paper.DIFFERENCES}"
    )
    sections: dict[str, Callable[[Grid, Runs], str]] = {
        "synthetic": _synthetic,
        "unlike": _unlike,
        "many": _many,
        "noise": _noise,
        "cytometry": _cytometry,
        "private": _private,
    }
    parts = [head]
    for name in grid.tables:
        runs = Runs({cell: result for cell, result in found.items() if cell.table == name})
        if runs.found:
            parts.append(sections[name](grid, runs))
    return "\n".join(parts)


def _shown(runs: Sequence[Result], beside: paper.Pair | None = None) -> str:
    if not runs:
        return ""
    f1 = [run.f1 for run in runs]
    error = f" ± {pstdev(f1) / sqrt(len(f1) - 1):.2f}" if len(f1) > 1 else ""
    text = f"{fmean(run.shd for run in runs):.3f} / {fmean(f1):.2f}{error}"
    if beside is None or beside[0] is None:
        return text
    other = f"{beside[0]:.2f}" + (f" / {beside[1]:.2f}" if beside[1] is not None else "")
    return f"{text} [{other}]"


def _effort(runs: Sequence[Result]) -> list[str]:
    """Iterations, bytes up, SID and seconds."""

    def mean(of: Callable[[Result], float | None], digits: int) -> str:
        known = [value for value in map(of, runs) if value is not None]
        return f"{fmean(known):,.{digits}f}" if known else ""

    return [
        mean(lambda run: run.iterations, 0),
        mean(lambda run: run.bytes_up, 0),
        mean(lambda run: run.sid, 2),
        mean(lambda run: run.seconds, 2),
    ]


EFFORT = ["iterations", "bytes up, all sites", "SID", "CPU s"]


def _synthetic(grid: Grid, runs: Runs) -> str:
    parts = [f"**Random graphs, {grid.rows:,} rows at each site (tables 1 to 4 of the paper)**\n"]
    by: dict[str, tuple[Sequence[int], dict[float, dict[str, paper.Pair]]]] = {
        "columns": (grid.columns, paper.BY_COLUMNS),
        "sites": (grid.sites, paper.BY_SITES),
    }
    lines = []
    for method in METHODS:
        every = runs.of(method=method)
        lines.append([method, _shown(every, _overall(method)), *_effort(every)])
    parts.append(markdown(["method", "all", *EFFORT], lines))
    for what, (values, beside) in by.items():
        lines = [
            [
                method,
                *(
                    _shown(runs.of(method=method, **{what: v}), beside.get(v, {}).get(method))
                    for v in values
                ),
            ]
            for method in METHODS
        ]
        parts.append(markdown(["method", *(f"{value} {what}" for value in values)], lines))
    return "\n".join(parts)


def _overall(method: str) -> paper.Pair | None:
    """The mean of the paper's tables 1 and 2."""
    found = [line[method] for line in paper.BY_SITES.values() if method in line]
    if not found:
        return None
    return fmean(shd or 0.0 for shd, _ in found), fmean(f1 or 0.0 for _, f1 in found)


def _unlike(grid: Grid, runs: Runs) -> str:
    lines = [
        [m, *(_shown(runs.of(method=m, differ=differ)) for differ in data.UNLIKE)] for m in UNLIKE
    ]
    titles = ["alike", "mechanisms of each its own", "one odd site (shuffled, 5 × the rows)"]
    head = f"**Sites that are not alike, 10 columns, 5 sites of {grid.rows:,} rows**\n"
    return "\n".join([head, markdown(["method", *titles], lines)])


def _many(grid: Grid, runs: Runs) -> str:
    parts = [
        f"**{grid.many} sites of {grid.many_rows:,} rows, a share of them asked in each iteration "
        "(table 5)**\n"
    ]
    for graph in data.STRUCTURES:
        lines = []
        for method in MANY:
            beside = dict(zip(paper.SHARES, paper.BY_SHARE.get((graph, method), ()), strict=False))
            cells = [
                _shown(runs.of(method=method, graph=graph, share=share), (beside.get(share), None))
                for share in grid.shares
            ]
            full = runs.of(method=method, graph=graph, share=max(grid.shares))
            lines.append([method, *cells, *_effort(full)[:2]])
        shares = [f"{share:.0%}" for share in grid.shares]
        header = [graph, *shares, f"iterations at {shares[-1]}", "bytes up"]
        parts.append(markdown(header, lines))
        parts.append(f"The empty graph has an SHD of {_empty(graph):.3f}.\n")
    return "\n".join(parts)


def _empty(graph: str) -> float:
    dag = data.structure(graph)
    return float(dag.sum()) / comb(len(dag), 2)


def _noise(grid: Grid, runs: Runs) -> str:
    parts = [
        f"**Laplace noise on every regret, {grid.many} sites of {grid.many_rows:,} rows, all asked "
        "(tables 7 and 8)**\n"
    ]
    noises = (0.0, *grid.noises)
    for graph in data.STRUCTURES:
        lines = []
        for method in PERIS:
            beside = dict(zip(paper.NOISES, paper.BY_NOISE.get((graph, method), ()), strict=False))
            lines.append(
                [
                    method,
                    *(
                        _shown(runs.of(method=method, graph=graph, noise=n), beside.get(n))
                        for n in noises
                    ),
                ]
            )
        parts.append(markdown([graph, *(f"scale {noise:g}" for noise in noises)], lines))
    return "\n".join(parts)


def _cytometry(_grid: Grid, runs: Runs) -> str:
    lines = []
    for method in METHODS:
        for result in runs.of(method=method):
            ours = f"{result.shd * comb(11, 2):.0f} / {result.f1:.2f}"
            known = paper.SACHS.get(method)
            theirs = f"{known[0]} / {known[1]:.2f}" if known else ""
            lines.append([method, ours, theirs, *_effort([result])])
    head = (
        "**SACHS, the nine experiments as nine sites, log scale (tables 9 and 10): SHD / F1 "
        "against the 17 arrows of the network sachs; a line in place of an arrow is wrong**\n"
    )
    return "\n".join([head, markdown(["method", "ours", "paper", *EFFORT], lines)])


def _private(grid: Grid, runs: Runs) -> str:
    """Skeleton and directed F1 of each way."""
    lines = []
    for name in grid.networks:
        for differ in grid.differ:
            cells = [_both(runs.of(graph=name, differ=differ, method=way)) for way in WAYS]
            sent = [
                run.bytes_up / grid.private_sites
                for run in runs.of(graph=name, differ=differ, method="apart")
                if run.bytes_up
            ]
            lines.append([name, differ, *cells, f"{fmean(sent):,.0f}" if sent else ""])
    head = (
        f"**With privacy: {grid.private_sites} sites of {grid.private_rows:,} rows at ε = "
        f"{grid.epsilon:g}, δ = 1e-6; skeleton F1, directed F1 (mean ± standard deviation)**\n"
    )
    return "\n".join(
        [head, markdown(["network", "sites differ", *WAYS, "bytes up, each site"], lines)]
    )


def _both(runs: Sequence[Result]) -> str:
    def spread(values: Sequence[float]) -> str:
        more = f" ± {pstdev(values):.2f}" if len(values) > 1 else ""
        return f"{fmean(values):.2f}{more}"

    if not runs:
        return ""
    return f"{spread([r.skeleton_f1 for r in runs])}, {spread([r.f1 for r in runs])}"
