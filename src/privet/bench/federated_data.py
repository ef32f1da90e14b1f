"""Sites whose true graph is known: random nonlinear models, and cells measured nine times.

Each column is a random network of two layers with tanh units of its parents, plus Gaussian noise;
the arrows are random, or those of asia or waste. The paper on PERI takes another generator, that of
the Causal Discovery Toolbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from privet.arrays import Bools, Floats
from privet.networks import load
from privet.networks.measured import CYTOMETRY

HIDDEN = 10  # units of the hidden layer
NOISE = 0.4  # deviation of the noise, beside a mechanism of deviation 1
DENSITY = 1.5  # arrows for each column
SMALLEST = 1e-9  # a deviation of less is none
# waste [Lauritzen 1992]: what leaves an incinerator
WASTE = {
    "F": "E",
    "W": "E Min D",
    "B": "C D",
    "E": "D",
    "Min": "Mout",
    "D": "Mout L",
}
# The nine experiments of sachs-cytometry, one after the other.
CYTOMETRY_ROWS = (853, 902, 911, 723, 810, 799, 848, 913, 707)
STRUCTURES = ("asia", "waste")
UNLIKE = ("alike", "mechanisms", "odd")


def random_dag(columns: int, rng: np.random.Generator) -> Bools:
    order = rng.permutation(columns)
    pairs = np.argwhere(np.triu(np.ones((columns, columns), dtype=bool), 1))
    drawn = pairs[rng.choice(len(pairs), size=int(DENSITY * columns), replace=False)]
    dag = np.zeros((columns, columns), dtype=bool)
    dag[order[drawn[:, 0]], order[drawn[:, 1]]] = True
    return dag


def structure(name: str) -> Bools:
    """The arrows of a known network."""
    if name == "waste":
        names = sorted({*WASTE, *" ".join(WASTE.values()).split()})
        arrows = [(a, b) for a, many in WASTE.items() for b in many.split()]
    else:
        graph = load(name).graph()
        names, arrows = list(graph.nodes), [(e.source, e.target) for e in graph.edges]
    dag = np.zeros((len(names), len(names)), dtype=bool)
    for a, b in arrows:
        dag[names.index(a), names.index(b)] = True
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
    spread = numbers.std(axis=0)
    return np.asarray((numbers - numbers.mean(axis=0)) / np.where(spread > SMALLEST, spread, 1.0))


def sites_of(
    dag: Bools, count: int, rows: int, differ: str, rng: np.random.Generator
) -> list[Floats]:
    """Standardised rows of each site: alike; with mechanisms of its own; or alike but for one odd
    site with five times the rows, in which every column is shuffled by itself."""
    if differ == "mechanisms":
        return [standardised(draw(dag, rows, rng)) for _ in range(count)]
    more = 5 * rows if differ == "odd" else rows
    numbers = draw(dag, (count - 1) * rows + more, rng)
    parts = np.split(numbers, range(rows, count * rows, rows))
    if differ == "odd":
        parts[-1] = rng.permuted(parts[-1], axis=0)
    return [standardised(part) for part in parts]


def cytometry(folder: str) -> tuple[Bools, list[Floats]]:
    """The graph that is thought to be known, and the cells of each experiment, on a log scale."""
    columns = CYTOMETRY.load(folder)
    rows = np.stack([columns[name] for name in CYTOMETRY.names.values()], axis=1)
    parts: Sequence[Floats] = np.split(rows, list(accumulate(CYTOMETRY_ROWS))[:-1])
    return CYTOMETRY.graph().matrix(), [standardised(part) for part in parts]
