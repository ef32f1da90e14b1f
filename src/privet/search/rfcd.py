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
from privet.graph.bits import bits_of
from privet.search.constraints import Constraints
from privet.search.hill_climb import TINY, Question, reachable
from privet.search.regret import Party, overall

BEAM = 5


@dataclass(frozen=True)
class Beamed:
    """The best DAG, the sites' regrets of it, and what it took, as ``peri.Agreed`` has it."""

    dag: Bools
    regrets: tuple[float, ...]
    iterations: int
    numbers: tuple[int, ...]


def rfcd(sites: Sequence[Party], constraints: Constraints, *, beam: int = BEAM) -> Beamed:
    """The DAG with the least worst regret on the way. What a site likes best it finds by the same
    search alone."""
    best = [-_search([one], np.zeros(1), constraints, beam).regrets[0] for one in sites]
    return _search(sites, np.array(best), constraints, beam)


def _search(sites: Sequence[Party], best: Floats, known: Constraints, beam: int) -> Beamed:
    kept = [(known.required & known.allowed, best)]
    lowest, iterations, numbers = float(best.max()), 0, 0
    while found := _next(sites, kept, known):
        iterations, numbers = iterations + 1, numbers + len(found)
        worst = overall(np.stack([regrets for _, regrets in found], axis=1), "worst")
        ranked = [found[at] for at in np.argsort(worst, kind="stable")[:beam].tolist()]
        if not worst.min() < lowest - TINY:
            break
        kept, lowest = ranked, float(worst.min())
    dag, regrets = kept[0]
    return Beamed(dag, tuple(regrets.tolist()), iterations, (numbers,) * len(sites))


def _next(
    sites: Sequence[Party], kept: list[tuple[Bools, Floats]], known: Constraints
) -> list[tuple[Bools, Floats]]:
    """All DAGs one arrow away from those that are kept, with the regrets of the sites."""
    found: dict[bytes, tuple[Bools, Floats]] = {}
    for dag, regrets in kept:
        moves = [move for move in _moves(dag, known) if move[0].tobytes() not in found]
        gains = np.stack([site.gains([question for _, question, _ in moves]) for site in sites])
        signs = np.array([sign for *_, sign in moves])
        after = regrets[:, None] - gains * signs
        for (other, *_), column in zip(moves, after.T, strict=True):
            found[other.tobytes()] = other, column
    return list(found.values())


def _moves(dag: Bools, known: Constraints) -> list[tuple[Bools, Question, int]]:
    """One arrow more (+1) or one fewer (-1), and the question whose gain that wins or loses."""
    out = []
    able = known.allowed & ~reachable(dag).T & ~(dag & known.required)
    for x, y in np.argwhere(able).tolist():
        other = dag.copy()
        other[x, y] = not dag[x, y]
        given = bits_of(dag[:, y]) & ~(1 << x)
        out.append((other, (x, y, given), -1 if dag[x, y] else 1))
    return out
