"""Several sites that put their evidence together, beside all rows in one place and each site alone.

    python bench/federated.py [--networks sachs,survey] [--differ none,all] [--runs 5]

Five sites of 20,000 rows each, epsilon 1 and delta 1e-6 at each site. *Apart*: every site releases
its own evidence and the files are combined. *One place*: one run with the same budget has all rows,
which in earnest nobody may hold. *Alone*: the mean over the sites' own graphs. Sites are alike
(none), or their mechanisms differ: one root leans, all roots lean together (tilt), or everything is
different at each site (all). Sites and rows come from seeds 1, 2, …; noise is fresh in each run.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import asdict
from typing import Any

from common import markdown, parallel, spread, write

import privet
from privet.graph.graph import Graph
from privet.graph.metrics import compare
from privet.networks import load
from privet.networks.sites import columns_of, sites_of

# Skeleton / directed F1 that a prototype had, for sites that are alike or all different.
AIMS = {
    ("sachs", "none"): "1.00 / 1.00",
    ("survey", "none"): "1.00 / 0.94",
    ("asia", "none"): "0.93 / 0.90",
    ("child", "none"): "0.99 / 0.99",
    ("sachs", "all"): "1.00 / 1.00",
    ("survey", "all"): "1.00 / 1.00",
    ("asia", "all"): "0.91 / 0.89",
    ("child", "all"): "0.99 / 0.99",
}
SHOWN = ("apart", "one place", "alone")


def one(name: str, differ: str, seed: int, rows: int, sites: int, epsilon: float) -> dict[str, Any]:
    model = load(name)
    schema, truth = model.schema(), model.graph()
    made = sites_of(model, sites, differ=differ, seed=seed)
    data = [columns_of(model, site.sample(rows)) for site in made]
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": 1e-6, "ledger": ":memory:"}
    start = time.process_time()
    alone = [
        privet.discover(table, schema, site=site.name, **asked)
        for site, table in zip(made, data, strict=True)
    ]
    between = time.process_time()
    joint = privet.combine(*(found.evidence for found in alone))
    end = time.process_time()
    pooled = {column: [cell for table in data for cell in table[column]] for column in schema.names}
    central = privet.discover(pooled, schema, **asked)
    return {
        "network": name,
        "differ": differ,
        "seed": seed,
        "rows": rows,
        "sites": sites,
        "epsilon": epsilon,
        "apart": [_scores(truth, joint.graph)],
        "one place": [_scores(truth, central.graph)],
        "alone": [_scores(truth, found.graph) for found in alone],
        "cpu": {"sites": between - start, "joint": end - between},
    }


def _scores(truth: Graph, found: Graph) -> dict[str, float]:
    all_ = asdict(compare(truth, found))
    return {key: all_[key] for key in ("skeleton_f1", "directed_f1", "shd")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", default="sachs,survey,asia,child")
    parser.add_argument("--differ", default="none,root,tilt,all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--name", default="federated")
    asked = parser.parse_args()
    os.nice(10)
    jobs = [
        (name, differ, seed, asked.rows, asked.sites, asked.epsilon)
        for seed in range(1, asked.runs + 1)
        for name in asked.networks.split(",")
        for differ in asked.differ.split(",")
    ]
    records = parallel(one, jobs, asked.processes)
    header = ["network", "sites differ", *SHOWN, "aim, apart", "CPU s: sites, joint", "runs"]
    title = (
        f"{asked.sites} sites of {asked.rows:,} rows each at ε = {asked.epsilon:g}, δ = 1e-6: "
        "skeleton F1, directed F1 (add-remove; mean ± sd over runs)"
    )
    write(asked.name, title, markdown(header, _rows(records)), records)


def _rows(records: list[dict[str, Any]]) -> list[list[Any]]:
    out: list[list[Any]] = []
    for name, differ in sorted({(r["network"], r["differ"]) for r in records}, key=_place(records)):
        runs = [r for r in records if (r["network"], r["differ"]) == (name, differ)]
        cpu = (sum(r["cpu"][part] for r in runs) / len(runs) for part in ("sites", "joint"))
        seconds = ", ".join(f"{each:.1f}" for each in cpu)
        aim = AIMS.get((name, differ), "")
        out.append([name, differ, *(_both(runs, s) for s in SHOWN), aim, seconds, len(runs)])
    return out


def _place(records: list[dict[str, Any]]) -> Any:
    order = list(dict.fromkeys((r["network"], r["differ"]) for r in records))
    return order.index


def _both(runs: list[dict[str, Any]], what: str) -> str:
    """The F1s of one way, of each run first the mean over its graphs."""
    means = [
        [sum(score[key] for score in run[what]) / len(run[what]) for run in runs]
        for key in ("skeleton_f1", "directed_f1")
    ]
    return ", ".join(spread(each) for each in means)


if __name__ == "__main__":
    main()
