"""Every search on the same evidence: how close it comes, and how long it takes.

    python bench/searches.py [--networks asia,child] [--epsilons 0.1,1,inf] [--runs 5]
    python bench/searches.py --numeric

One measurement per data set and ε serves all searches, so they are compared on the same evidence.
Seconds are those of the search alone, without confidence. PAGs are compared with the true PAG
(nothing is hidden in these data). Other tools stand beside Privet in bench/peers.py.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, network, parallel, spread, table, write

from privet.api.discover import measure, search
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.graph.pag import to_graph, true_pag
from privet.methods.catalogue import available
from privet.methods.options import Settings, make_settings
from privet.networks import random_linear_gaussian
from privet.privacy.ledger.book import Ledger
from privet.schema.model import Schema

NETWORKS = "asia,sachs,child,insurance,alarm"
SEARCHES = ("pc", "ges", "mmhc", "mcmc", "exact", "fci", "rfci", "notears", "dagma")
COLUMNS = (20, 50, 100)  # of random linear-Gaussian graphs with two neighbours a column
EXACT = 20  # columns that exact search serves
NUMERIC_ROWS, ROWS = 10_000, 100_000


def graph_of(truth: Graph, kind: str) -> Graph:
    """The truth in the form in which a search can find it."""
    return to_graph(true_pag(truth.matrix()), truth.nodes) if kind == "pag" else truth


def one(name: str, columns: int, epsilon: float, seed: int) -> list[dict[str, Any]]:
    """All searches on one data set: a network by name, or "gaussian" with so many columns."""
    data, schema, truth = data_set(name, columns, seed)
    prefix = "moment" if name == "gaussian" else "interaction"
    settings = Settings(replicas=0)
    exactly = epsilon == float("inf")
    known = {method.name for method in available()}
    names = [each if exactly else f"{prefix}-{each}" for each in SEARCHES]
    names = [each for each in names if each in known and fits(each, name, len(schema.columns))]
    saved = None
    records = []
    for method in names:
        if exactly or saved is None:
            start = time.perf_counter()
            saved = measured(data, schema, settings, epsilon, method)
            measuring = time.perf_counter() - start
        start = time.perf_counter()
        found = search(saved, settings, method=method)
        seconds = time.perf_counter() - start
        score = compare(graph_of(truth, found.graph.kind), found.graph.as_shown())
        records.append(
            {
                "data": name,
                "columns": len(schema.columns),
                "epsilon": epsilon,
                "seed": seed,
                "search": method,
                "skeleton": score.skeleton_f1,
                "directed": score.directed_f1,
                "shd": score.shd,
                "seconds": seconds,
                "measuring": measuring,
                "questions": found.tests,
            }
        )
    return records


def measured(data: Any, schema: Schema, settings: Settings, epsilon: float, method: str) -> Any:
    private = epsilon != float("inf")
    return measure(
        data,
        schema,
        settings,
        epsilon=epsilon if private else None,
        delta=1e-6,
        method=method,
        private=private,
        ledger=Ledger(":memory:"),
    )


def data_set(name: str, columns: int, seed: int) -> tuple[Any, Schema, Graph]:
    if name != "gaussian":
        model = network(name)
        return table(model, ROWS, seed), model.schema(), model.graph()
    rng = np.random.default_rng(seed)
    drawn = random_linear_gaussian(columns, density=2 / (columns - 1), rng=rng)
    return drawn.sample(NUMERIC_ROWS, rng), drawn.schema(), drawn.graph()


def fits(method: str, name: str, columns: int) -> bool:
    last = method.split("-")[-1]
    return not (last == "exact" and columns > EXACT) and not (
        last in ("notears", "dagma") and name != "gaussian"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--epsilons", default="0.1,1,inf")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--numeric", action="store_true")
    asked = parser.parse_args()
    make_settings()  # imports are paid for before the clock runs
    cases = (
        [("gaussian", columns) for columns in COLUMNS]
        if asked.numeric
        else [(name, 0) for name in asked.networks.split(",")]
    )
    jobs = [
        (name, columns, float(epsilon), seed)
        for name, columns in cases
        for epsilon in asked.epsilons.split(",")
        for seed in range(1, asked.runs + 1)
    ]
    records = [r for part in parallel(one, jobs, asked.processes) for r in part]
    what = "linear-Gaussian data, 10,000 rows" if asked.numeric else "networks, 100,000 rows"
    write(
        "searches-numeric" if asked.numeric else "searches",
        f"Every search on the same evidence: {what} (add-remove, δ = 1e-6; mean ± sd)",
        markdown(
            ["data", "ε", "search", "skeleton F1", "directed F1", "SHD", "seconds", "runs"],
            lines(records),
        ),
        records,
    )


def lines(records: list[dict[str, Any]]) -> list[list[Any]]:
    keys = ("data", "columns", "epsilon", "search")
    out: list[list[Any]] = []
    for key in dict.fromkeys(tuple(r[k] for k in keys) for r in records):
        runs = [r for r in records if tuple(r[k] for k in keys) == key]
        label = f"{key[1]} columns" if key[0] == "gaussian" else key[0]
        epsilon = "no privacy" if key[2] == float("inf") else f"{key[2]:g}"
        directed = [r["directed"] for r in runs]
        out.append(
            [
                label,
                epsilon,
                key[3],
                spread(r["skeleton"] for r in runs),
                "" if None in directed else spread(directed),
                spread(r["shd"] for r in runs),
                f"{np.mean([r['seconds'] for r in runs]):.2f}",
                len(runs),
            ]
        )
    return out


if __name__ == "__main__":
    main()
