"""The results of a benchmark as Markdown: a section per network, methods down, epsilons across."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from importlib.metadata import version

from privet.bench.central import FREE, Grid
from privet.bench.results import AS_PUBLISHED, Of, Result, Results, average, where
from privet.networks import load

SCORES: tuple[tuple[str, Of, int], ...] = (  # title, figure, digits
    ("Skeleton F1", lambda result: result.skeleton_f1, 3),
    ("Directed F1", lambda result: result.directed_f1, 3),
    ("SHD", lambda result: result.shd, 1),
)
NO_EPSILON = "no ε"
HOW_TO_READ = """\
Mean ± standard deviation over the runs. *Skeleton F1* compares which pairs are joined; *directed
F1* compares arcs of the CPDAG, an undirected edge counting as two; *SHD* is the number of pairs
whose edge differs, less is better. The complete and the empty graph need no data and cost nothing:
a method that does not beat them is of no use there. `pc` is the search without privacy. Seconds
are those on the clock, from data in memory to the graph, while all cores are at work.
"""
PUBLISHED_NOTE = f"""
Methods marked "{AS_PUBLISHED.strip(" ()")}" have the noise of their papers. They are **not
private**: the guarantee that the paper states does not hold, and their ε is only its name for the
amount of noise. They are here to compare with, never to use.
"""


def page(grid: Grid, found: Results, output: str) -> str:
    """The whole document. ``output`` is the folder's name in the command that it quotes."""
    from_paper = PUBLISHED_NOTE if grid.as_published else ""
    head = (
        f"# Central methods side by side\n\n{date.today()}, Privet {version('privet')}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores: `{grid.command(output)}`\n\n"
        f"{grid.rows:,} rows, δ = {grid.delta:g} (0 where that serves the method better, which "
        f"promises more), {grid.runs} runs, in each of which all methods see the same "
        f"data.\n\n{HOW_TO_READ}{from_paper}"
    )
    return "\n".join([head, *(_section(grid, found, name) for name in grid.networks)])


def _section(grid: Grid, found: Results, name: str) -> str:
    network = load(name)
    edges = len(network.graph().edges)
    parts = [f"## {name}\n\n{len(network.names)} columns, {edges} edges.\n"]
    for title, of, digits in SCORES:
        show = partial(_spread, of=of, digits=digits)
        parts.append(f"**{title}**\n\n{_table(grid, found, name, show)}")
    parts.append(f"**Tests / seconds**\n\n{_table(grid, found, name, _effort)}")
    reasons = {c.method: r.refused for c, r in found.items() if c.network == name and r.refused}
    parts += [f"{method} refused: {reason}\n" for method, reason in reasons.items()]
    return "\n".join(parts)


def _table(grid: Grid, found: Results, name: str, show: Callable[[list[Result]], str]) -> str:
    rows = []
    for method in (*grid.private, *grid.open, *FREE):
        cells = [where(found, name, method, epsilon) for epsilon in (*grid.epsilons, None)]
        rows.append([_label(method), *(show(runs) if runs else "" for runs in cells)])
    return markdown(["method", *(f"ε = {e:g}" for e in grid.epsilons), NO_EPSILON], rows)


def _label(method: str) -> str:
    return method.replace(AS_PUBLISHED, AS_PUBLISHED.replace(")", ", not private)"))


def _spread(runs: list[Result], of: Of, digits: int) -> str:
    """Mean and standard deviation; a single run has none."""
    found = average(runs, of)
    if found is None:
        return "refused"
    deviation = f" ± {found.deviation:.{digits}f}" if found.runs > 1 else ""
    return f"{found.mean:.{digits}f}{deviation}"


def _effort(runs: list[Result]) -> str:
    tests, seconds = average(runs, lambda r: r.tests), average(runs, lambda r: r.seconds)
    return f"{tests.mean:.0f} / {seconds.mean:.2f}" if tests and seconds else "refused"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(c.replace("|", "\\|") for c in r) + " |\n" for r in lines)
