"""PERI and its rivals: one graph for several sites, on random nonlinear models. Not private.

    python bench/peri.py [--runs 8] [--columns 5,10,15] [--sites 3,5] [--rows 5000]

Erdős-Rényi graphs with 1.5 arrows per column; each column is a random network of two layers with
tanh units of its parents, plus Gaussian noise. All sites have rows of one distribution, each
standardised by itself. Normalised SHD is SHD over the number of pairs; F1 is that of arcs of the
CPDAG, a line counting as two. Beside ours stand the means of the paper's tables 1 to 4 [Mian et al.
2023]; it does not say how dense its graphs are, so they can be compared in order, not in size. Its
REGED data cannot be had, and nothing here stands for them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, parallel, write

from privet.arrays import Bools, Floats
from privet.evidence.moments import MomentEvidence
from privet.graph.meek import cpdag
from privet.methods.searches.causal_order import causal_order
from privet.scores.gaussian import gaussian_aic, gaussian_bic
from privet.scores.spline_mdl import SplineMoments, spline_mdl
from privet.search.constraints import Constraints
from privet.search.direct_lingam import direct_lingam
from privet.search.notears_admm import notears_admm
from privet.search.peri import alone, peri, union
from privet.search.protocols import Locals
from privet.search.regret import Scored
from privet.search.rfcd import rfcd

HIDDEN = 10  # units of the hidden layer
NOISE = 0.4  # deviation of the noise, beside a mechanism of deviation 1
# Normalised SHD and F1, the mean over numbers of sites in the paper's tables 1 and 2.
PAPER = {
    "PERI-MDL": ".20 / .74",
    "PERI-BIC": ".31 / .68",
    "PERI-AIC": ".36 / .66",
    "union of GES, BIC": ".47 / .64",
    "RFCD-M": ".24 / .72",
    "RFCD-B": ".29 / .69",
    "NOTEARS-ADMM, linear": ".58 / .28 (neural)",
    "LiNGAM, groups": ".43 / .37",
}
Answer = tuple[Bools, int | None, float | None]


def random_dag(columns: int, rng: np.random.Generator) -> Bools:
    order = rng.permutation(columns)
    pairs = np.argwhere(np.triu(np.ones((columns, columns), dtype=bool), 1))
    drawn = pairs[rng.choice(len(pairs), size=int(1.5 * columns), replace=False)]
    dag = np.zeros((columns, columns), dtype=bool)
    dag[order[drawn[:, 0]], order[drawn[:, 1]]] = True
    return dag


def draw(dag: Bools, rows: int, rng: np.random.Generator) -> Floats:
    """Rows of a random network for each column, causes first."""
    out = np.zeros((rows, len(dag)))
    for child in topological(dag):
        parents = np.flatnonzero(dag[:, child])
        noise = rng.normal(size=rows)
        if not len(parents):
            out[:, child] = noise
            continue
        first, bias = rng.normal(size=(len(parents), HIDDEN)), rng.normal(size=HIDDEN)
        curve = np.tanh(out[:, parents] @ first + bias) @ rng.normal(size=HIDDEN)
        out[:, child] = standardised(standardised(curve) + NOISE * noise)
    return out


def topological(dag: Bools) -> list[int]:
    done: list[int] = []
    while len(done) < len(dag):
        waiting = dag[np.setdiff1d(np.arange(len(dag)), done)].any(axis=0)
        done += [int(v) for v in np.flatnonzero(~waiting) if v not in done]
    return done


def standardised(numbers: Floats) -> Floats:
    return np.asarray((numbers - numbers.mean(axis=0)) / numbers.std(axis=0))


def free(size: int) -> Constraints:
    anything = ~np.eye(size, dtype=bool)
    return Constraints(anything, anything, np.zeros_like(anything))


def moments(numbers: Floats) -> MomentEvidence:
    size = numbers.shape[1]
    return MomentEvidence(
        names=tuple(f"x{i}" for i in range(size)),
        rows=len(numbers),
        covariance=np.cov(numbers.T, bias=True),
        metric=np.eye(size),
        noise=0.0,
    )


SCORES: dict[str, Callable[[Floats], Locals]] = {
    "MDL": lambda numbers: spline_mdl(SplineMoments.of(numbers)),
    "BIC": lambda numbers: gaussian_bic(moments(numbers)).local,
    "AIC": lambda numbers: gaussian_aic(moments(numbers)).local,
}


def methods(sites: Sequence[Floats]) -> dict[str, Callable[[], Answer]]:
    """Each gives a class, the iterations, and the numbers that all sites sent."""
    size = sites[0].shape[1]
    pooled = standardised(np.concatenate(sites))
    parties = {name: [Scored(make(site)) for site in sites] for name, make in SCORES.items()}

    def regrets(score: str, objective: Any) -> Answer:
        found = peri(parties[score], free(size), objective=objective)
        return found.matrix, found.iterations, sum(found.numbers)

    def beam(score: str) -> Answer:
        found = rfcd(parties[score], free(size))
        return cpdag(found.dag), found.iterations, sum(found.numbers)

    def joined(score: str) -> Answer:
        return union(parties[score], free(size)), 1, len(sites) * size**2

    def together(score: str) -> Answer:
        return alone(Scored(SCORES[score](pooled)), free(size)), None, None

    def admm() -> Answer:
        found, rounds = notears_admm([np.cov(s.T, bias=True) for s in sites], free(size))
        return cpdag(found.arrows), rounds, rounds * len(sites) * size**2

    def lingam() -> Answer:
        order = causal_order(list(sites), (np.zeros((size, size), dtype=bool),))
        correlations = np.stack([np.corrcoef(site.T) for site in sites])
        found = direct_lingam(order, [len(site) for site in sites], correlations, free(size))
        return cpdag(found.arrows), None, None

    return {
        **{f"PERI-{s}": partial(regrets, s, "worst") for s in SCORES},
        **{f"SUM-{s}": partial(regrets, s, "sum") for s in ("MDL", "BIC")},
        **{f"pooled, {s}": partial(together, s) for s in ("MDL", "BIC")},
        **{f"union of GES, {s}": partial(joined, s) for s in ("MDL", "BIC")},
        "RFCD-M": partial(beam, "MDL"),
        "RFCD-B": partial(beam, "BIC"),
        "NOTEARS-ADMM, linear": admm,
        "LiNGAM, groups": lingam,
    }


def one(columns: int, count: int, rows: int, seed: int) -> list[dict[str, Any]]:
    """All methods on one graph."""
    rng = np.random.default_rng([columns, count, seed])
    dag = random_dag(columns, rng)
    numbers = draw(dag, count * rows, rng)
    sites = [standardised(part) for part in np.split(numbers, count)]
    records = []
    for name, run in methods(sites).items():
        start = time.process_time()
        found, iterations, sent = run()
        shd, f1 = compared(cpdag(dag), found)
        records.append(
            {
                "columns": columns,
                "sites": count,
                "rows": rows,
                "seed": seed,
                "method": name,
                "shd": round(shd, 4),
                "f1": round(f1, 4),
                "iterations": iterations,
                "numbers": sent,
                "seconds": round(time.process_time() - start, 2),
            }
        )
    return records


def compared(truth: Bools, found: Bools) -> tuple[float, float]:
    """Normalised SHD and F1 of arcs. A union of classes may have circles, so it is no graph of
    ours, and matrices are compared."""
    differ = truth != found
    pairs = len(truth) * (len(truth) - 1) / 2
    shd = np.triu(differ | differ.T).sum() / pairs
    return float(shd), float(2 * (truth & found).sum() / (truth.sum() + found.sum()))


def mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def line(name: str, runs: list[dict[str, Any]], columns: Sequence[int]) -> list[str]:
    cells = []
    for chosen in (columns, *([size] for size in columns)):
        some = [run for run in runs if run["columns"] in chosen]
        cells.append(f"{mean(r['shd'] for r in some):.3f} / {mean(r['f1'] for r in some):.3f}")
    counts = [mean(run[key] for run in runs) for key in ("iterations", "numbers")]
    shown = ["" if count is None else f"{count:,.0f}" for count in counts]
    seconds = mean(run["seconds"] for run in runs)
    return [name, *cells, PAPER.get(name, ""), *shown, f"{seconds:.1f}"]


def whole(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--columns", type=whole, default=[5, 10, 15])
    parser.add_argument("--sites", type=whole, default=[3, 5])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--name", default="peri")
    asked = parser.parse_args()
    jobs = [
        (columns, sites, asked.rows, seed)
        for columns in asked.columns
        for sites in asked.sites
        for seed in range(1, asked.runs + 1)
    ]
    records = [record for found in parallel(one, jobs, asked.processes) for record in found]
    rows = [
        line(name, [r for r in records if r["method"] == name], asked.columns)
        for name in dict.fromkeys(r["method"] for r in records)
    ]
    sizes = [f"{size} columns" for size in asked.columns]
    header = ["method", "all", *sizes, "paper", "iterations", "numbers up, all sites", "CPU s"]
    counts = " and ".join(map(str, asked.sites))
    title = (
        f"PERI and its rivals: normalised SHD / F1 on {counts} sites of {asked.rows:,} rows, "
        f"{len(jobs)} graphs (no privacy)"
    )
    write(asked.name, title, markdown(header, rows), records)


if __name__ == "__main__":
    main()
