"""What is found in real tables, of which nobody knows the truth.

    python bench/real.py [--from DIR] [--tables adult,fair] [--epsilons 0.1,1] [--runs 3]

From the exact rows, a pair is *strong* if its effect (bias-corrected Cramér's V; of tables of
numbers the partial correlation) is at least 0.1 whatever two other columns are given, and
*explained* if it is below 0.02 given some two. The table has the strong pairs that are joined, the
explained ones that are, the pairs on which the search does not decide, and how much is found again
with fresh noise: the share of the edges, and of the arrows, of one run that the next one has. The
last column holds the graph against the one that is thought to be true, if there is one.

The files of the archives are downloaded, or taken from DIR (see ``privet datasets fetch --from``).
"""

from __future__ import annotations

import argparse
import time
from itertools import combinations
from typing import Any

import numpy as np
from common import markdown, parallel, write
from effects import conditional_v, partial_correlation
from tables import TABLES, Real

import privet
from privet.graph.metrics import compare

STRONG, EXPLAINED = 0.1, 0.02
LARGEST = 2  # columns given


def lowest(table: Real) -> dict[frozenset[str], float]:
    """The lowest effect of each pair over all separators of at most two columns."""
    names = table.schema.names
    if table.schema.has_moments:
        covariance = table.covariance()

        def effect(x: int, y: int, given: tuple[int, ...]) -> float:
            return partial_correlation(covariance, x, y, given)
    else:
        codes, levels = table.codes(), [c.cardinality for c in table.schema.columns]

        def effect(x: int, y: int, given: tuple[int, ...]) -> float:
            return conditional_v(codes, levels, x, y, given)

    out = {}
    for x, y in combinations(range(len(names)), 2):
        others = [z for z in range(len(names)) if z not in (x, y)]
        every = (g for size in range(LARGEST + 1) for g in combinations(others, size))
        out[frozenset((names[x], names[y]))] = min(effect(x, y, given) for given in every)
    return out


def one(name: str, source: str | None, epsilons: list[float], runs: int) -> list[dict[str, Any]]:
    table = TABLES[name](source)
    effects = lowest(table)
    strong = {pair for pair, value in effects.items() if value >= STRONG}
    explained = {pair for pair, value in effects.items() if value < EXPLAINED}
    records = []
    for epsilon in epsilons:
        graphs = []
        for run in range(1 if epsilon == float("inf") else runs):
            start = time.perf_counter()
            budget: dict[str, Any] = {"epsilon": epsilon, "ledger": ":memory:"}
            if epsilon == float("inf"):
                budget = {"private": False}
            found = privet.discover(table.cells, table.schema, **budget)
            seconds = time.perf_counter() - start
            graphs.append(found.graph)
            joined = found.graph.skeleton()
            records.append(
                {
                    "table": name,
                    "rows": len(next(iter(table.cells.values()))),
                    "columns": len(table.schema.columns),
                    "epsilon": epsilon,
                    "run": run + 1,
                    "joined": len(joined),
                    "strong": len(strong),
                    "strong_joined": len(strong & joined),
                    "explained": len(explained),
                    "explained_joined": len(explained & joined),
                    "undecided": len(found.graph.undecided),
                    "again": _again(graphs),
                    "arrows_again": _arrows_again(graphs),
                    "f1": None
                    if table.truth is None
                    else compare(table.truth, found.graph).skeleton_f1,
                    "seconds": seconds,
                }
            )
    return records


def _again(graphs: list[Any]) -> float | None:
    """Of the edges of the run before the last, the share that the last one has."""
    if len(graphs) < 2 or not graphs[-2].edges:
        return None
    before, after = (graph.skeleton() for graph in graphs[-2:])
    return len(before & after) / len(before)


def _arrows_again(graphs: list[Any]) -> float | None:
    if len(graphs) < 2:
        return None
    before, after = (
        {(e.source, e.target) for e in graph.edges if e.mark == "-->"} for graph in graphs[-2:]
    )
    return len(before & after) / len(before) if before else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="source", metavar="DIR")
    parser.add_argument("--tables", help="separated by ; (all)", default=";".join(TABLES))
    parser.add_argument("--epsilons", default="0.1,1,inf")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--name", default="real")
    asked = parser.parse_args()
    epsilons = [float(text) for text in asked.epsilons.split(",")]
    jobs = [(name, asked.source, epsilons, asked.runs) for name in asked.tables.split(";")]
    records = [record for part in parallel(one, jobs, asked.processes) for record in part]
    body = markdown(
        [
            *("table", "rows × columns", "ε", "pairs joined", "strong joined", "explained joined"),
            *("undecided", "edges again", "arrows again", "skeleton F1", "seconds"),
        ],
        _rows(records),
    )
    write(asked.name, "Real tables (mean ± sd over runs with fresh noise)", body, records)


def _rows(records: list[dict[str, Any]]) -> list[list[str]]:
    out = []
    for name, epsilon in dict.fromkeys((r["table"], r["epsilon"]) for r in records):
        runs = [r for r in records if (r["table"], r["epsilon"]) == (name, epsilon)]
        first = runs[0]
        out.append(
            [
                name,
                f"{first['rows']:,} × {first['columns']}",
                "no privacy" if epsilon == float("inf") else f"{epsilon:g}",
                _mean(runs, "joined", 1),
                f"{_mean(runs, 'strong_joined', 1)} of {first['strong']}",
                f"{_mean(runs, 'explained_joined', 1)} of {first['explained']}",
                _mean(runs, "undecided", 1),
                *(_mean(runs, key) for key in ("again", "arrows_again", "f1")),
                f"{np.mean([r['seconds'] for r in runs]):.1f}",
            ]
        )
    return out


def _mean(runs: list[dict[str, Any]], key: str, digits: int = 2) -> str:
    values = [r[key] for r in runs if r[key] is not None]
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


if __name__ == "__main__":
    main()
