"""Is confidence honest? Of the edges with confidence near 0.9, about 90% should be true.

    python bench/confidence.py [--networks 200]

Random networks (5 to 15 columns of 2 to 5 levels, 1.5 to 3.2 neighbours on average) with 3,000
to 100,000 rows at ε of 0.1, 0.3 and 1: fresh seeds, on which nothing was tuned. Then the same
for the public networks.
"""

from __future__ import annotations

import argparse
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, network, parallel, table, write

import privet
from privet.networks import random_network
from privet.networks.network import Network

BINS = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95, 0.98, 0.99, 1.0)
TOLD = ("networks", "what", "from", "to", "confidence", "share_true", "error", "number")
PUBLIC = ("cancer", "earthquake", "survey", "asia", "sachs", "child", "insurance", "alarm")


def random_run(seed: int) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(70_000 + seed)
    nodes = int(rng.integers(5, 16))
    neighbours = float(rng.uniform(1.5, 3.2))
    model = random_network(nodes, density=min(1.0, neighbours / (nodes - 1)), rng=rng)
    rows, epsilon = int(rng.choice([3_000, 10_000, 100_000])), float(rng.choice([0.1, 0.3, 1.0]))
    return _judged("random", model, rows, epsilon, seed)


def public_run(name: str, epsilon: float, seed: int) -> list[tuple[Any, ...]]:
    return _judged("public", network(name), 100_000, epsilon, 500 + seed)


def _judged(
    kind: str, model: Network, rows: int, epsilon: float, seed: int
) -> list[tuple[Any, ...]]:
    """For each edge found: its confidence and whether it is true; and the same of its arrow, which
    says what causes what: it is true if the DAG has it, whether or not the class does."""
    data = table(model, rows, seed)
    found = privet.discover(data, model.schema(), epsilon=epsilon, delta=1e-6, ledger=":memory:")
    truth = model.graph().cpdag()
    out: list[tuple[Any, ...]] = []
    for edge in found.graph.edges:
        joined = truth.adjacent(edge.source, edge.target)
        out.append((kind, "edge", edge.confidence, joined))
        if edge.mark == "-->":
            cause = (edge.source, edge.target) in model.graph().arcs()
            out.append((kind, "arrow", edge.arrow_confidence, cause))
    for a, b in combinations(found.graph.nodes, 2):
        if not found.graph.adjacent(a, b):
            open_ = (a, b) in found.graph.undecided
            out.append((kind, "undecided" if open_ else "separated", 0.0, truth.adjacent(a, b)))
    return out


def plot(records: list[tuple[Any, ...]], path: Path) -> None:
    """The share of true edges and of true arrows against what was claimed."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "privet"  # the same numbers give the same file
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
    for panel, what in zip(panels, ("edge", "arrow"), strict=True):
        panel.plot([0, 1], [0, 1], color="#b9c4cf", linewidth=1)
        for kind, colour in (("random", "#0067a5"), ("public", "#c8550e")):
            found = binned([(c, t) for k, w, c, t in records if (k, w) == (kind, what)])
            mean, share, error = (np.array([line[i] for line in found]) for i in (2, 3, 4))
            panel.errorbar(
                *(mean, share, error),
                fmt="o-",
                color=colour,
                label=f"{kind} networks",
                markersize=4,
            )
        panel.set(title=f"{what}s", xlabel="confidence", xlim=(0, 1.02), ylim=(0, 1.02))
    panels[0].set_ylabel("share that is true")
    panels[0].legend(loc="upper left", frameon=False)
    figure.savefig(path, metadata={"Date": None})


def binned(mine: list[tuple[float, bool]]) -> list[tuple[float, float, float, float, float, int]]:
    """From and to, mean confidence, share that is true with its standard error, and how many."""
    confidence, true = np.array([c for c, _ in mine]), np.array([t for _, t in mine])
    out = []
    for low, high in pairwise(BINS):
        held = (confidence > low) & (confidence <= high)
        if held.any():
            share = float(true[held].mean())
            error = float(np.sqrt(share * (1 - share) / held.sum()))
            out.append((low, high, float(confidence[held].mean()), share, error, int(held.sum())))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    judged = parallel(random_run, [(seed,) for seed in range(asked.networks)], asked.processes)
    jobs = [(name, e, seed) for name in PUBLIC for e in (0.1, 0.3, 1.0) for seed in range(2)]
    judged += parallel(public_run, jobs, asked.processes)
    records = [record for run in judged for record in run]
    rows = []
    told: list[list[Any]] = []
    for kind in ("random", "public"):
        for what in ("edge", "arrow"):
            mine = [(c, t) for k, w, c, t in records if (k, w) == (kind, what)]
            for low, high, mean, share, error, number in binned(mine):
                told.append([kind, what, low, high, mean, share, error, number])
                shown = f"{share:.3f} ± {error:.3f}"
                rows.append([kind, what, f"{low:g}–{high:g}", f"{mean:.3f}", shown, number])
        for what in ("separated", "undecided"):
            true = np.array([t for k, w, _, t in records if (k, w) == (kind, what)])
            error = np.sqrt(true.mean() * (1 - true.mean()) / len(true))
            told.append([kind, what, None, None, None, true.mean(), error, len(true)])
            shown = f"{true.mean():.3f} ± {error:.3f}"
            rows.append([kind, f"{what} pair", "", "", shown, len(true)])
    header = ["networks", "what", "confidence", "mean", "share true ± se", "number"]
    plot(records, Path(__file__).parent.parent / "docs" / "calibration.svg")
    numbers = [dict(zip(TOLD, line, strict=True)) for line in told]
    write("confidence", "Confidence against truth", markdown(header, rows), numbers)


if __name__ == "__main__":
    main()
