"""Three answers for every pair: joined, separated, or cannot say.

A search takes an edge away where a question finds no dependence. That may be because there is
none, or because the test could not have seen it. The question that spoke most against each edge
is looked at again: the pair is separated if its answer rules out a strong dependence
(``independence/effects.py``), else undecided. All of it is free: only evidence is asked.
"""

from __future__ import annotations

from itertools import combinations
from math import log

import numpy as np

from privet.graph.absence import Absence
from privet.graph.confidence import Pair
from privet.graph.graph import Graph
from privet.independence.effects import SURELY
from privet.methods.basis import Basis, Question
from privet.schema.model import Schema


def absences(basis: Basis, graph: Graph, bar: float) -> tuple[Absence, ...]:
    """Of all pairs that the search has not joined after asking for them. A Bayes factor for an
    edge had to exceed ``bar``."""
    if basis.effects is None:
        return ()
    names, told = graph.nodes, []
    joined = {frozenset((edge.source, edge.target)) for edge in graph.edges}
    widths: dict[int, list[tuple[float, Question]]] = {}
    for x, y in combinations(range(len(names)), 2):
        value, question = basis.listener.lowest.get((x, y), (np.inf, ()))
        if np.isfinite(value) and frozenset((names[x], names[y])) not in joined:
            widths.setdefault(len(question), []).append((value, question))
    for asked in widths.values():
        found = basis.effects(np.array([question for _, question in asked], dtype=np.intp))
        sizes, largest, ratios = found.sizes(), found.largest(), found.log_ratio()
        rows, epsilon = found.needed()
        for i, (value, (x, y, *given)) in enumerate(asked):
            told.append(
                Absence(
                    pair=(names[min(x, y)], names[max(x, y)]),
                    given=tuple(names[z] for z in given),
                    log_bayes=round(value + log(bar), 3),
                    effect=round(float(sizes[i]), 4),
                    largest=round(float(largest[i]), 4),
                    undecided=bool(ratios[i] > -log(SURELY)),
                    rows=float(rows[i]),
                    epsilon=float(epsilon[i]),
                )
            )
    return tuple(sorted(told, key=lambda each: each.pair))


def doubts(basis: Basis, schema: Schema) -> dict[Pair, float]:
    """The lowest log odds of each pair, where tests were asked."""
    if basis.local is not None and basis.moments is None:
        return {}  # differences of scores, not Bayes factors
    names = schema.names
    return {
        frozenset((names[x], names[y])): value
        for (x, y), (value, _) in basis.listener.lowest.items()
    }
