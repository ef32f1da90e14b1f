"""The layout of pictures beside that of Graphviz's ``dot``: crossings, length of edges, area.

    python bench/layout.py            # needs the program dot

Both get the same boxes and edges. Crossings are those of the lines as they are drawn; lines that
meet at a node do not cross near it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from common import markdown, write

from privet.arrays import Floats
from privet.graph.figure import figure
from privet.graph.graph import Graph
from privet.graph.layout import BOX_HEIGHT
from privet.networks.network import load

NAMED = ("asia", "sachs", "child", "insurance", "alarm", "hailfinder")
RANDOM = ((20, 40), (40, 70), (60, 100), (60, 150))
STEPS = 12  # points for each piece of a curve
INCH = 72.0


def graphs() -> Iterator[tuple[str, Graph]]:
    for name in NAMED:
        yield name, load(name).graph()
    for columns, edges in RANDOM:
        rng = np.random.default_rng(columns + edges)
        pairs = list(combinations(range(columns), 2))
        A = np.zeros((columns, columns), dtype=bool)
        for at in rng.choice(len(pairs), edges, replace=False):
            A[pairs[at]] = True
        names = [f"column {i}" for i in rng.permutation(columns)]
        yield f"random, {columns} columns, {edges} edges", Graph.from_matrix(names, A, "dag")


def ours(graph: Graph) -> tuple[list[Floats], float]:
    made = figure(graph)
    lines = []
    for curve in made.curves.values():
        shares = np.linspace(0, 1, STEPS * (len(curve.points) - 1) + 1)
        lines.append(np.array([curve.middle(min(share, 1 - 1e-9)) for share in shares]))
    return lines, made.layout.width * made.layout.height


def theirs(graph: Graph) -> tuple[list[Floats], float]:
    """By ``dot``, with boxes and gaps of the same size."""
    made = figure(graph)
    at = {name: i for i, name in enumerate(graph.nodes)}
    boxes = [
        f"{i} [width={width / INCH}, height={BOX_HEIGHT / INCH}]"
        for i, width in enumerate(made.widths)
    ]
    arrows = [f"{at[e.source]} -> {at[e.target]}" for e in graph.edges]
    text = "; ".join(['node [shape=box, label="", fixedsize=true]', *boxes, *arrows])
    done = subprocess.run(
        ["dot", "-Tjson"], input=f"digraph {{{text}}}", capture_output=True, text=True, check=True
    )
    document = json.loads(done.stdout)
    _, _, width, height = map(float, document["bb"].split(","))
    return [_spline(edge["pos"]) for edge in document["edges"]], width * height


def _spline(text: str) -> Floats:
    """Bézier pieces of an edge, as points on it."""
    points = [tuple(map(float, p.split(",")[-2:])) for p in text.split() if p[0] not in "es"]
    tip = [tuple(map(float, p.split(",")[-2:])) for p in text.split() if p[0] == "e"]
    control, t = np.array(points), np.linspace(0, 1, STEPS)[:, None]
    pieces = [
        (1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d
        for a, b, c, d in (control[i : i + 4] for i in range(0, len(control) - 1, 3))
    ]
    return np.concatenate([*pieces, np.array(tip)])


def crossings(lines: Sequence[Floats]) -> int:
    total = 0
    for p, q in combinations(lines, 2):
        a, b, c, d = p[:-1, None], p[1:, None], q[None, :-1], q[None, 1:]
        over = (_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0)
        total += int(over.sum())
    return total


def _side(a: Floats, b: Floats, c: Floats) -> Floats:
    return (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (
        c[..., 0] - a[..., 0]
    )


def measured(graph: Graph) -> dict[str, float]:
    line: dict[str, float] = {}
    for who, draw in (("privet", ours), ("dot", theirs)):
        lines, area = draw(graph)
        line[f"{who} crossings"] = crossings(lines)
        steps = [np.diff(each, axis=0) for each in lines]
        line[f"{who} length"] = float(sum(np.hypot(s[:, 0], s[:, 1]).sum() for s in steps))
        line[f"{who} area"] = area
    return line


def main() -> None:
    records = {name: measured(graph) for name, graph in graphs()}
    keys = [
        f"{who} {what}" for what in ("crossings", "length", "area") for who in ("privet", "dot")
    ]
    lines = [[name, *(f"{r[key]:,.0f}" for key in keys)] for name, r in records.items()]
    total = ["sum", *(f"{sum(r[key] for r in records.values()):,.0f}" for key in keys)]
    write("layout", "Pictures beside Graphviz", markdown(["", *keys], [*lines, total]), records)


if __name__ == "__main__":
    main()
