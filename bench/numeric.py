"""Numeric data: skeleton and directed F1 on random linear-Gaussian graphs.

    python bench/numeric.py [--runs 10]

Bounds are those of the simulator's schema (four deviations); nothing is standardised with the
data's own mean or deviation. Each private run stands beside the same search without privacy.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, parallel, spread, write

import privet
from privet.graph.metrics import compare
from privet.networks import random_linear_gaussian

SETTINGS = [
    (10_000, 20, 0.1),
    (10_000, 10, 0.4),
    (10_000, 50, 0.06),
    (100_000, 20, 0.1),
    (10_000, 20, 0.0),  # independent columns: each edge found is false, and SHD counts them
    (10_000, 50, 0.0),
]


def one(rows: int, nodes: int, density: float, epsilon: float, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    model = random_linear_gaussian(nodes, density=density, rng=rng)
    data, schema = model.sample(rows, rng), model.schema()
    start = time.perf_counter()
    if epsilon == float("inf"):
        found = privet.discover(data, schema, private=False)
    else:
        found = privet.discover(data, schema, epsilon=epsilon, delta=1e-6, ledger=":memory:")
    score = compare(model.graph(), found.graph.as_shown())
    return {
        "rows": rows,
        "nodes": nodes,
        "density": density,
        "epsilon": epsilon,
        "seed": seed,
        "skeleton": score.skeleton_f1,
        "directed": score.directed_f1,
        "shd": score.shd,
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilons", default="0.1,1,inf")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    jobs = [
        (*setting, float(epsilon), seed)
        for setting in SETTINGS
        for epsilon in asked.epsilons.split(",")
        for seed in range(1, asked.runs + 1)
    ]
    records = parallel(one, jobs, asked.processes)
    keys = ("rows", "nodes", "density", "epsilon")
    rows = []
    for key in dict.fromkeys(tuple(r[k] for k in keys) for r in records):
        runs = [r for r in records if tuple(r[k] for k in keys) == key]
        label = "no privacy" if key[3] == float("inf") else f"{key[3]:g}"
        scores = [spread(r[k] for r in runs) for k in ("skeleton", "directed", "shd")]
        seconds = sum(r["seconds"] for r in runs) / len(runs)
        rows.append([f"{key[0]:,}", *key[1:3], label, *scores, f"{seconds:.2f}", len(runs)])
    header = ["rows", "columns", "density", "ε", "skeleton F1", "directed F1", "SHD", "s", "runs"]
    title = "Numeric data, random linear-Gaussian graphs (add-remove, δ = 1e-6; mean ± sd)"
    write("numeric", title, markdown(header, rows), records)


if __name__ == "__main__":
    main()
