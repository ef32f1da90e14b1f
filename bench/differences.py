"""Arrows that differences between sites give to lines (``privet combine --use-differences``).

    python bench/differences.py [--networks asia,sachs] [--differ root,tilt] [--runs 5]

Five sites of 20,000 rows each, epsilon 1 and delta 1e-6 at each. Lines are those of the joint graph
that no search can direct; right and wrong are the arrows that differences add, with all that
follows from them, held against the true DAG. Sites are alike (none), one root leans, all roots lean
together (tilt), or every mechanism is different (all). Bars were set on asia, survey and sachs.
"""

from __future__ import annotations

import argparse
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, parallel, write

import privet
from privet.networks import load
from privet.networks.sites import columns_of, sites_of


def one(name: str, differ: str, seed: int, rows: int, sites: int, epsilon: float) -> dict[str, Any]:
    model = load(name)
    schema, truth = model.schema(), model.graph().matrix()
    evidence = [
        privet.discover(
            columns_of(model, site.sample(rows)),
            schema,
            epsilon=epsilon,
            delta=1e-6,
            ledger=":memory:",
            site=site.name,
        ).evidence
        for site in sites_of(model, sites, differ=differ, seed=seed)
    ]
    found = privet.combine(*evidence, use_differences=True).graph
    after = found.matrix()
    at = {name: i for i, name in enumerate(found.nodes)}
    fresh = [(at[e.source], at[e.target]) for e in found.edges if e.origin == "differences"]
    right = sum(bool(truth[pair]) for pair in fresh)
    lines = int(np.triu(after & after.T).sum()) + len(fresh)
    return {
        "network": name,
        "differ": differ,
        "seed": seed,
        "rows": rows,
        "sites": sites,
        "epsilon": epsilon,
        "lines": lines,
        "right": right,
        "wrong": len(fresh) - right,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", default="asia,survey,sachs,cancer,earthquake")
    parser.add_argument("--differ", default="none,root,tilt,all")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--name", default="differences")
    asked = parser.parse_args()
    jobs = [
        (name, differ, seed, asked.rows, asked.sites, asked.epsilon)
        for name in asked.networks.split(",")
        for differ in asked.differ.split(",")
        for seed in range(1, asked.runs + 1)
    ]
    records = parallel(one, jobs, asked.processes)
    rows = []
    for name in asked.networks.split(","):
        for differ in asked.differ.split(","):
            runs = [r for r in records if (r["network"], r["differ"]) == (name, differ)]
            means = [f"{np.mean([r[what] for r in runs]):.1f}" for what in ("lines", "right")]
            wrong = sum(r["wrong"] for r in runs)
            rows.append([name, differ, *means, wrong, len(runs)])
    title = (
        f"Arrows from differences between {asked.sites} sites of {asked.rows:,} rows each at ε = "
        f"{asked.epsilon:g}, δ = 1e-6"
    )
    header = ["network", "sites differ", "lines", "right arrows added", "wrong, all runs", "runs"]
    write(asked.name, title, markdown(header, rows), records)


if __name__ == "__main__":
    main()
