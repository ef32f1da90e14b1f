"""RFCD: the worst regret of several sites, by a beam over DAGs.

[Mian, Kaltenpoth, Kamp 2022], after its published description. The server keeps a few DAGs. Each
site answers with its regret of every DAG that has one arrow more or one fewer than one of them;
those with the smallest worst regret are kept, and it ends when the best is no better than before.
Here, unlike in PERI, the direction of every arrow is part of the state.

Nothing here is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Bools, Floats
from privet.search.hill_climb import TINY, Question, bits_of, reachable
from privet.search.protocols import Locals
from privet.search.regret import Scored, overall

BEAM = 5


@dataclass(frozen=True)
class Beamed:
    """The best DAG, the sites' regrets of it, and what it took, as ``peri.Agreed`` has it."""

    dag: Bools
    regrets: tuple[float, ...]
    iterations: int
    numbers: tuple[int, ...]


def rfcd(sites: Sequence[Locals], size: int, *, beam: int = BEAM) -> Beamed:
    """The DAG with the least worst regret on the way. What a site likes best it finds by the same
    search alone."""
    scores = [Scored(local) for local in sites]
    best = [-_search([one], np.zeros(1), size, beam).regrets[0] for one in scores]
    return _search(scores, np.array(best), size, beam)


def _search(scores: Sequence[Scored], best: Floats, size: int, beam: int) -> Beamed:
    kept = [(np.zeros((size, size), dtype=bool), best)]
    lowest, iterations, numbers = float(best.max()), 0, 0
    while True:
        found = _next(scores, kept)
        iterations, numbers = iterations + 1, numbers + len(found)
        worst = overall(np.stack([regrets for _, regrets in found], axis=1), "worst")
        ranked = [found[at] for at in np.argsort(worst, kind="stable")[:beam].tolist()]
        if not worst.min() < lowest - TINY:
            break
        kept, lowest = ranked, float(worst.min())
    dag, regrets = kept[0]
    return Beamed(dag, tuple(regrets.tolist()), iterations, (numbers,) * len(scores))


def _next(scores: Sequence[Scored], kept: list[tuple[Bools, Floats]]) -> list[tuple[Bools, Floats]]:
    """All DAGs one arrow away from those that are kept, with the regrets of the sites."""
    found: dict[bytes, tuple[Bools, Floats]] = {}
    for dag, regrets in kept:
        moves = [move for move in _moves(dag) if move[0].tobytes() not in found]
        gains = np.stack([site.gains([question for _, question, _ in moves]) for site in scores])
        signs = np.array([sign for *_, sign in moves])
        after = regrets[:, None] - gains * signs
        for (other, *_), column in zip(moves, after.T, strict=True):
            found[other.tobytes()] = other, column
    return list(found.values())


def _moves(dag: Bools) -> list[tuple[Bools, Question, int]]:
    """One arrow more (+1) or one fewer (-1), and the question whose gain that wins or loses."""
    out = []
    for x, y in np.argwhere(~np.eye(len(dag), dtype=bool) & ~reachable(dag).T).tolist():
        other = dag.copy()
        other[x, y] = not dag[x, y]
        given = bits_of(dag[:, y]) & ~(1 << x)
        out.append((other, (x, y, given), -1 if dag[x, y] else 1))
    return out
