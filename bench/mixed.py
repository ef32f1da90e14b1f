"""Numbers beside categories: what tables of groups of numbers find, and what moments would.

    python bench/mixed.py [--runs 10]

Random graphs of 20 columns. *Numbers* are all normal, so that moments can be asked as well as
tables, which shows what cutting numbers into groups loses. In *half* of the tables every other
column is a category: a latent sum of what its parents add, cut into two to four levels, of which
children see the level alone. *Skewed* numbers are exponentials in wide bounds. Where numbers are
cut is told by noisy histograms; nothing is standardised with the data's own mean or deviation.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, parallel, spread, write

import privet
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.networks import random_linear_gaussian
from privet.privacy.ledger.book import Ledger
from privet.schema.column import Column
from privet.schema.model import Schema

COLUMNS, DENSITY, REACH = 20, 0.1, 4.0
# What the table holds, and the method that is asked (none: the one that Privet chooses).
SETTINGS = (
    ("numbers", "moments", None),
    ("numbers", "tables", "interaction-pc"),
    ("half", "tables", None),
    ("half, skewed", "tables", None),
)


def drawn(kind: str, rows: int, seed: int) -> tuple[dict[str, Any], Schema, Graph]:
    """Cells, what is public about them, and the true graph."""
    rng = np.random.default_rng(seed)
    model = random_linear_gaussian(COLUMNS, density=DENSITY, rng=rng)
    if kind == "numbers":
        return model.sample(rows, rng), model.schema(), model.graph()
    graph = model.graph()
    parents = {name: graph.parents(name) for name in graph.nodes}
    seen, cells, columns = dict[str, Any](), dict[str, Any](), dict[str, Column]()
    while len(seen) < COLUMNS:
        name = next(n for n in graph.nodes if n not in seen and set(parents[n]) <= seen.keys())
        weights = rng.uniform(0.5, 1.5, len(parents[name])) * rng.choice(
            [-1, 1], len(parents[name])
        )
        total = rng.normal(size=rows)
        for weight, parent in zip(weights, parents[name], strict=True):
            total = total + weight * seen[parent]
        total = total / np.sqrt(1 + (weights**2).sum())
        made = _category if graph.nodes.index(name) % 2 else _number
        seen[name], cells[name], columns[name] = made(name, total, kind, rng)
    ordered = tuple(columns[name] for name in graph.nodes)
    return cells, Schema(name="mixed", columns=ordered), graph


def _category(
    name: str, total: Any, _kind: str, rng: np.random.Generator
) -> tuple[Any, Any, Column]:
    levels = tuple("abcd"[: rng.integers(2, 5)])
    cuts = np.sort(rng.normal(size=len(levels) - 1))
    code = np.searchsorted(cuts, total)
    scores = rng.normal(size=len(levels))
    scores = (scores - scores.mean()) / scores.std()
    column = Column(name=name, kind="categorical", levels=levels)
    return scores[code], np.array(levels)[code], column


def _number(name: str, total: Any, kind: str, _rng: np.random.Generator) -> tuple[Any, Any, Column]:
    skewed = kind.endswith("skewed")
    bounds = (0.0, 100.0) if skewed else (-REACH, REACH)
    column = Column(name=name, kind="numeric", bounds=bounds)
    return total, np.exp(total) if skewed else total, column


def one(
    kind: str, way: str, method: str | None, rows: int, epsilon: float, seed: int
) -> dict[str, Any]:
    cells, schema, truth = drawn(kind, rows, seed)
    start = time.perf_counter()
    if epsilon == float("inf"):
        found = privet.discover(cells, schema, private=False)
    else:
        budget = Ledger(":memory:")
        found = privet.discover(
            cells, schema, epsilon=epsilon, delta=1e-6, method=method or "auto", ledger=budget
        )
    score = compare(truth, found.graph.as_shown())
    return {
        "table": kind,
        "by": way,
        "rows": rows,
        "epsilon": epsilon,
        "seed": seed,
        "method": found.method,
        "skeleton": score.skeleton_f1,
        "directed": score.directed_f1,
        "shd": score.shd,
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rows", default="10000,100000")
    parser.add_argument("--epsilons", default="0.1,1,inf")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    jobs = [
        (*setting, int(rows), float(epsilon), seed)
        for setting in SETTINGS
        for rows in asked.rows.split(",")
        for epsilon in asked.epsilons.split(",")
        if setting[2] is None or epsilon != "inf"  # exact numbers are never cut
        for seed in range(1, asked.runs + 1)
    ]
    records = parallel(one, jobs, asked.processes)
    keys = ("table", "by", "rows", "epsilon")
    lines = []
    for key in dict.fromkeys(tuple(r[k] for k in keys) for r in records):
        runs = [r for r in records if tuple(r[k] for k in keys) == key]
        label = "no privacy" if key[3] == float("inf") else f"{key[3]:g}"
        scores = [spread(r[k] for r in runs) for k in ("skeleton", "directed", "shd")]
        seconds = sum(r["seconds"] for r in runs) / len(runs)
        lines.append([*key[:2], f"{key[2]:,}", label, *scores, f"{seconds:.2f}", len(runs)])
    header = ["table", "by", "rows", "ε", "skeleton F1", "directed F1", "SHD", "s", "runs"]
    title = "Numbers beside categories, 20 columns (add-remove, δ = 1e-6; mean ± sd)"
    write("mixed", title, markdown(header, lines), records)


if __name__ == "__main__":
    main()
