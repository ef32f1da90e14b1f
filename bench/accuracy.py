"""How close the private graph comes to the truth, network by network.

    python bench/accuracy.py [--networks asia,child] [--epsilons 0.1,1] [--runs 10]

Each run draws fresh data (seeds 1, 2, …) and fresh noise. Nothing is chosen by looking at the
truth; every private run stands beside the same search without privacy on the same data, and
beside the complete graph, which costs nothing. "all arrows" is directed F1 if arrows that few
replicas support were shown as well (--min-arrow 0). "random" is another random network in each
run, of 20 to 40 columns with 2 to 6 levels.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from common import (
    complete_graph,
    markdown,
    network,
    parallel,
    spread,
    table,
    write,
)

import privet
from privet.graph.metrics import compare
from privet.networks import random_network
from privet.networks.network import Network

RANDOM = "random"
MEASURES = ("skeleton", "directed", "all arrows", "shd")
LAST = ("seconds", "runs")


def drawn(seed: int) -> Network:
    """A random network whose columns have two to three neighbours on average."""
    rng = np.random.default_rng(80_000 + seed)
    nodes, neighbours = int(rng.integers(20, 41)), float(rng.uniform(2, 3))
    return random_network(nodes, density=neighbours / (nodes - 1), levels=(2, 6), rng=rng)


def one(name: str, epsilon: float, seed: int, rows: int) -> dict[str, Any]:
    model = drawn(seed) if name == RANDOM else network(name)
    data, schema = table(model, rows, seed), model.schema()
    start = time.perf_counter()
    if epsilon == float("inf"):
        found = privet.discover(data, schema, private=False)
    else:
        found = privet.discover(data, schema, epsilon=epsilon, ledger=":memory:")
    seconds = time.perf_counter() - start
    score = compare(model.graph(), found.graph.as_shown())
    every = compare(model.graph(), found.graph)
    return {
        "network": name,
        "epsilon": epsilon,
        "seed": seed,
        "rows": rows,
        "skeleton": score.skeleton_f1,
        "directed": score.directed_f1,
        "all arrows": every.directed_f1,
        "shd": score.shd,
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--networks",
        default="cancer,earthquake,survey,asia,sachs,child,insurance,alarm,hailfinder,random",
    )
    parser.add_argument("--epsilons", default="0.1,0.3,1,inf")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rows", default="100000")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--name", default="accuracy")
    asked = parser.parse_args()
    jobs = [
        (name, float(epsilon), seed, int(rows))
        for name in asked.networks.split(",")
        for rows in asked.rows.split(",")
        for epsilon in asked.epsilons.split(",")
        for seed in range(1, asked.runs + 1)
    ]
    records = parallel(one, jobs, asked.processes)
    body = markdown(
        [*("network", "rows", "ε", "skeleton F1", "directed F1", "all arrows", "SHD"), *LAST],
        _rows(records, asked.networks.split(",")),
    )
    title = "Accuracy of the default method (add-remove, default δ; mean ± sd)"
    write(asked.name, title, body, records)


def _rows(records: list[dict[str, Any]], names: list[str]) -> list[list[Any]]:
    out: list[list[Any]] = []
    for name in names:
        mine = [r for r in records if r["network"] == name]
        for rows, epsilon in dict.fromkeys((r["rows"], r["epsilon"]) for r in mine):
            runs = [r for r in mine if (r["rows"], r["epsilon"]) == (rows, epsilon)]
            label = "no privacy" if epsilon == float("inf") else f"{epsilon:g}"
            out.append(
                [name, f"{rows:,}", label]
                + [spread(r[key] for r in runs) for key in MEASURES]
                + [f"{sum(r['seconds'] for r in runs) / len(runs):.2f}", len(runs)]
            )
        if name == RANDOM:
            continue
        free = compare(network(name).graph(), complete_graph(network(name).names))
        trivial = [f"{free.skeleton_f1:.3f}", f"{free.directed_f1:.3f}", "", free.shd]
        out.append([name, "", "complete graph, 0", *trivial, "", ""])
    return out


if __name__ == "__main__":
    main()
