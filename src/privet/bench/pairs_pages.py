"""The results on pairs as Markdown and as one SVG page: methods down, epsilons across."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from statistics import fmean

from privet.bench import chart
from privet.bench.chart import COLOURS, MARKERS, Line, Look, Panel, Scale
from privet.bench.pairs import KINDS, KUSNER, Cell, Grid, Result, Results
from privet.bench.tables import markdown
from privet.pairs.way import AUTO

LEVEL = 0.95  # of intervals
HOW_TO_READ = f"""\
Share of pairs whose direction was found, no answer counting one half, with its Clopper-Pearson
interval of {LEVEL:.0%}. Under it, how often there was an answer and how often that was right.
*Additive* pairs are simulated additive-noise models (five kinds of functions); *other* pairs are
post-nonlinear, heteroscedastic or confounded; *Gaussian* pairs are straight lines with Gaussian
columns, of which nothing can tell the direction, so that an answer is a guess. Bounds are mean ± 3
standard deviations, and one person is replaced by another. A method without a private version is
refused at every ε.
"""
ON_REAL_PAIRS = """\
These pairs are too few, and too much related, to rank methods: intervals overlap, and several
pairs come from one source. No setting was chosen by looking at them, but for the bandwidth of
`table-both` and `table-ghsic` and the first version of the rule for how many bins a table has.
"""


def tables(grid: Grid, found: Results, output: str) -> str:
    """The whole document. ``output`` is the folder's name in the command that it quotes."""
    head = (
        f"# Causes and effects, method by method\n\n{date.today()}, Privet {version('privet')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores: "
        f"`{grid.command(output)}`\n\n{HOW_TO_READ}"
    )
    sections = [_section(grid, found, source, rows) for source, rows, _ in grid.sources()]
    reasons = dict.fromkeys(f"{c.method}: {r.refused}" for c, r in found.items() if r.refused)
    return "\n".join([head, *sections, *(f"Refused by {reason}\n" for reason in reasons)])


def _section(grid: Grid, found: Results, source: str, rows: int) -> str:
    here = {cell: r for cell, r in found.items() if (cell.source, cell.rows) == (source, rows)}
    parts = [f"## {_title(source, rows)}\n"]
    if source not in KINDS:
        parts.append(ON_REAL_PAIRS)
    parts.append(_table(grid, here, _share))
    if source not in KINDS and any(r.weighted != r.right for r in here.values()):
        parts.append("With the weights of the pairs:\n")
        parts.append(_table(grid, here, lambda runs: _mean(runs, lambda r: r.weighted)))
    parts.append("Answered / right if answered / seconds for all pairs:\n")
    parts.append(_table(grid, here, _effort))
    return "\n".join(parts)


def _title(source: str, rows: int) -> str:
    return f"{source.capitalize()} pairs, {rows:,} rows" if source in KINDS else "Tübingen pairs"


Runs = Sequence[tuple[Cell, Result]]


def _table(grid: Grid, here: Results, shown: Callable[[Runs], str]) -> str:
    lines = []
    for method in grid.methods:
        line = [method]
        for epsilon in (*grid.epsilons, None):
            runs = [(c, r) for c, r in here.items() if (c.method, c.epsilon) == (method, epsilon)]
            done = [(c, r) for c, r in runs if r.refused is None]
            line.append(shown(done) if done else "refused" if runs else "")
        if any(line[1:]):  # a part of the methods may be all that was run
            lines.append(line)
    header = ["method", *(f"ε = {e:g}" for e in grid.epsilons), "no privacy"]
    return markdown(header, lines)


def _share(runs: Runs) -> str:
    """Simulated pairs are fresh in each run; real ones are the same, so runs add no pairs."""
    cell, first = runs[0]
    mean = fmean(r.right for _, r in runs if r.right is not None)
    size = (first.size or 0) * (len(runs) if cell.source in KINDS else 1)
    low, high = clopper_pearson(mean * size, size)
    return f"{mean:.3f} ({low:.2f}-{high:.2f})"


def _effort(runs: Runs) -> str:
    figures = (lambda r: r.decided, lambda r: r.right_if_decided, lambda r: r.seconds)
    return " / ".join(_mean(runs, of) for of in figures)


def _mean(runs: Runs, of: Callable[[Result], float | None]) -> str:
    values = [value for value in (of(r) for _, r in runs) if value is not None]
    return f"{fmean(values):.3g}" if values else "-"


def summary(grid: Grid, found: Results) -> str:
    """What a reader wants to know first."""
    real = {cell: r for cell, r in found.items() if cell.source not in KINDS}
    parts = [
        "**The default by rows × ε: right, no answer counting one half / answered / right if "
        "answered**\n",
        _by_strength(found),
        "**The default / the best of Kusner's designs with both halves protected, on additive "
        "pairs: right, no answer counting one half**\n",
        _beside_kusner(found),
        *(["**Tübingen pairs, all methods**\n", _table(grid, real, _share)] if real else []),
    ]
    return "\n".join(parts)


def _by_strength(found: Results) -> str:
    """All simulated pairs of one product of rows and ε are other ones."""
    own = [(c, r) for c, r in found.items() if c.method == AUTO and c.epsilon and c.rows]
    lines = []
    for strength in sorted({c.rows * c.epsilon for c, _ in own if c.epsilon}):
        runs = [(c, r) for c, r in own if c.epsilon and c.rows * c.epsilon == strength]
        by_kind = [[(c, r) for c, r in runs if c.source == kind] for kind in KINDS]
        cells = [f"{_share(some)} / {_answers(some)}" if some else "" for some in by_kind]
        lines.append([f"{strength:,.0f}", str(sum(r.size or 0 for _, r in by_kind[0])), *cells])
    return markdown(["rows × ε", "pairs of a kind", *(f"{kind} pairs" for kind in KINDS)], lines)


def _answers(runs: Runs) -> str:
    """Shares over all pairs of these runs, which are equally many in each."""
    decided = fmean(r.decided or 0.0 for _, r in runs)
    right = fmean((r.decided or 0.0) * (r.right_if_decided or 0.0) for _, r in runs)
    return f"{decided:.2f} / {right / decided:.2f}" if decided else "0.00 / -"


def _beside_kusner(found: Results) -> str:
    """Runs of one cell average over their pairs."""
    right: dict[tuple[int, float, str], list[float]] = {}
    for cell, result in found.items():
        if cell.source == "additive" and cell.epsilon and result.right is not None:
            right.setdefault((cell.rows, cell.epsilon, cell.method), []).append(result.right)
    mean = {key: fmean(values) for key, values in right.items()}
    epsilons = sorted({epsilon for _, epsilon, _ in mean})
    lines = []
    for rows in sorted({rows for rows, _, _ in mean}):
        line = [f"{rows:,}"]
        for epsilon in epsilons:
            theirs = [mean[rows, epsilon, m] for m in KUSNER if (rows, epsilon, m) in mean]
            mine = mean.get((rows, epsilon, AUTO))
            both = mine is not None and theirs
            line.append(f"{mine:.3f} / {max(theirs):.3f}" if both else "")
        lines.append(line)
    return markdown(["rows", *(f"ε = {epsilon:g}" for epsilon in epsilons)], lines)


def clopper_pearson(right: float, size: int, level: float = LEVEL) -> tuple[float, float]:
    """Bounds for a share; halves count as they are."""
    from scipy.stats import beta

    tail = (1 - level) / 2
    low = float(beta.ppf(tail, right, size - right + 1)) if right > 0 else 0.0
    high = float(beta.isf(tail, right + 1, size - right)) if right < size else 1.0
    return low, high


def picture(grid: Grid, found: Results) -> str:
    """Of the methods that have a private version."""
    private = {c.method for c, r in found.items() if c.epsilon is not None and not r.refused}
    looks = [
        Look(name=m, colour=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)])
        for i, m in enumerate(m for m in grid.methods if m in private)
    ]
    panels = [_panel(grid, found, source, rows, looks) for source, rows, _ in grid.sources()]
    return chart.page("Share of right directions against ε", looks, panels)


def _panel(grid: Grid, found: Results, source: str, rows: int, looks: Sequence[Look]) -> Panel:
    scale = Scale(label="ε", ticks=tuple(sorted(grid.epsilons)))
    lines = []
    for look in looks:
        points = []
        for epsilon in scale.ticks:
            wanted = (source, rows, look.name, epsilon)
            shares = [
                r.right
                for c, r in found.items()
                if (c.source, c.rows, c.method, c.epsilon) == wanted and r.right is not None
            ]
            if shares:
                points.append((epsilon, fmean(shares)))
        if points:
            lines.append(Line(look=look, points=tuple(points)))
    return Panel(title=_title(source, rows), scale=scale, lines=tuple(lines))
