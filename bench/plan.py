"""Whether the plan tells the truth: of the edges that it calls visible, how many are found?

    python bench/plan.py [--networks asia,child] [--rows 10000,100000] [--epsilons 0.1,1] [--runs 3]

The effect of an edge is its bias-corrected Cramér's V in 200,000 rows: given nothing, and the
lowest given one and two neighbours of its ends. An edge is called visible if the plan, from the
schema, the number of rows, epsilon and a guess of the margins, says that at each order an effect of
this size is found in 8 of 10 runs. Guesses: even, uneven, or the true margins. An edge is found if
the default method joins its columns.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from common import markdown, network, parallel, table, write
from effects import conditional_v

import privet
from privet.api.methods import best_delta
from privet.evidence.plan import Margins, table_effects
from privet.networks.network import Network
from privet.schema.model import Schema

ROWS_OF_TRUTH = 200_000
MARGINS = ("even", "uneven", "true")


def edge_effects(model: Network) -> dict[tuple[int, int], list[float]]:
    """The lowest V of each true edge, given none, one and two neighbours of its ends."""
    sample = model.sample(ROWS_OF_TRUTH, np.random.default_rng(0))
    codes = [np.asarray(sample[name]).astype(np.int64) for name in model.names]
    levels = [len(model.levels[name]) for name in model.names]
    joined = [tuple(sorted(map(model.names.index, pair))) for pair in model.graph().skeleton()]
    near = {i: {j for pair in joined for j in pair if i in pair} - {i} for i in range(len(codes))}
    out = {}
    for x, y in joined:
        beside = sorted((near[x] | near[y]) - {x, y})
        out[x, y] = [
            min(conditional_v(codes, levels, x, y, given) for given in combinations(beside, k))
            for k in range(min(2, len(beside)) + 1)
        ]
    return out


def with_shares(model: Network) -> Schema:
    """The schema, the true margins declared in it."""
    sample = model.sample(100_000, np.random.default_rng(0))
    columns = []
    for column in model.schema().columns:
        counts = np.bincount(np.asarray(sample[column.name]), minlength=column.cardinality)
        columns.append(replace(column, shares=tuple((counts + 1.0).tolist())))
    return replace(model.schema(), columns=tuple(columns))


def one(name: str, rows: list[int], epsilons: list[float], runs: int) -> list[dict[str, Any]]:
    model = network(name)
    effects = edge_effects(model)
    return [
        record
        for size in rows
        for epsilon in epsilons
        for record in _records(model, effects, size, epsilon, runs)
    ]


def _records(
    model: Network,
    effects: dict[tuple[int, int], list[float]],
    rows: int,
    epsilon: float,
    runs: int,
) -> list[dict[str, Any]]:
    schema = model.schema()
    delta = best_delta(["auto"], schema, epsilon, None)
    found = [
        privet.discover(table(model, rows, seed), schema, epsilon=epsilon, ledger=":memory:")
        for seed in range(1, runs + 1)
    ]
    pairs = {pair: at for at, pair in enumerate(combinations(range(len(schema.columns)), 2))}
    visible = {}
    for guess in MARGINS:
        known = with_shares(model) if guess == "true" else schema
        margins: Margins = "even" if guess == "even" else "uneven"
        sight = table_effects(known, rows, epsilon, delta, margins=margins)
        for pair, values in effects.items():
            bars = [sight.smallest[order][pairs[pair]] for order in range(len(values))]
            shown = all(value >= bar for value, bar in zip(values, bars, strict=True))
            visible[guess, pair] = bool(shown)
    return [
        {
            "network": model.name,
            "rows": rows,
            "epsilon": epsilon,
            "edge": " - ".join(model.names[i] for i in pair),
            "effect": round(min(values), 4),
            "found": sum(each.graph.adjacent(*(model.names[i] for i in pair)) for each in found),
            "runs": runs,
            **{guess: visible[guess, pair] for guess in MARGINS},
        }
        for pair, values in effects.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--networks", default="cancer,earthquake,survey,asia,sachs,child,insurance,alarm"
    )
    parser.add_argument("--rows", default="10000,100000")
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--name", default="plan")
    asked = parser.parse_args()
    names = asked.networks.split(",")
    rows, epsilons = ([float(x) for x in text.split(",")] for text in (asked.rows, asked.epsilons))
    jobs = [(name, [int(n) for n in rows], epsilons, asked.runs) for name in names]
    records = [one for part in parallel(one, jobs, asked.processes) for one in part]
    head = ["network", *(f"{what}, {guess}" for guess in MARGINS for what in ("visible", "found"))]
    body = markdown([*head, "other edges found, true"], [_row(n, records) for n in [*names, "all"]])
    title = (
        "Edges that the plan calls visible, by the guess of margins, and how often they are found"
    )
    write(asked.name, title, body, records)


def _row(name: str, records: list[dict[str, Any]]) -> list[str]:
    mine = [r for r in records if name in (r["network"], "all")]
    cells = [name]
    for guess in MARGINS:
        shown = [r for r in mine if r[guess]]
        cells += [f"{len(shown)} of {len(mine)}", _share(shown)]
    return [*cells, _share([r for r in mine if not r["true"]])]


def _share(records: list[dict[str, Any]]) -> str:
    runs = sum(r["runs"] for r in records)
    return f"{sum(r['found'] for r in records) / runs:.0%}" if runs else "-"


if __name__ == "__main__":
    main()
