"""GES: greedy search over equivalence classes, by local scores.

Of numbers it goes back (``search/eager.py``). On random networks, a third to two thirds of the
wrong edges are gone then; of tables, nothing becomes better.

On noisy tables it stays within the edges that tests have found: the score that can be had there
overrates large families (``scores/noisy_tables.py``, ``methods/basis.py``). Detours around
these edges never led back in trials with replicas, so only the graph itself is worth one: what it
asks for there tells of doubtful edges.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.arrays import Bools
from privet.graph.graph import Graph
from privet.graph.meek import extension
from privet.methods.basis import Ascent, Basis
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.ges import ges


def _find(
    first: bool, basis: Basis, schema: Schema, settings: Settings, _rng: np.random.Generator
) -> Graph:
    # Without noise replicas tell how sure edges are without going back.
    if basis.ascent is not None and (first or basis.noisy):
        return closed(_eagerly(basis, basis.ascent, schema, settings), schema)
    gains, constraints = basis.climbing(schema, settings.order)
    found = ges(
        gains,
        constraints,
        rows=basis.rows,
        max_parents=settings.max_parents,
        detours=constraints.possible if basis.noisy and basis.near is not None else None,
    )
    if basis.rows is not None:
        basis.rows.settle()
    basis.listener.score, basis.listener.most = gains, settings.max_parents
    return closed(found, schema)


def _eagerly(basis: Basis, ascent: Ascent, schema: Schema, settings: Settings) -> Bools:
    constraints = basis.constraints(schema)
    found = ges(
        ascent.gains,
        constraints,
        rows=ascent.rows,
        max_parents=settings.max_parents,
        detours=constraints.possible if basis.near is not None else None,
        eager=True,
        formula=ascent.formula,
    )
    _say(basis, found)
    basis.listener.score, basis.listener.most = ascent.gains, settings.max_parents
    return found


def _say(basis: Basis, found: Bools) -> None:
    """Let the listener hear what each pair is worth in the end, in one DAG of the class: a search
    asks for much on its way that no longer holds."""
    dag = extension(found)
    assert dag is not None and basis.rows is not None, "a class has a DAG, and a score has rows"
    apart, counts = ~(dag | dag.T | np.eye(len(dag), dtype=bool)), dag.sum(axis=0)
    ask = basis.judge.margins if basis.noisy else basis.gains
    for width in np.unique(counts).tolist():
        ys = np.flatnonzero(counts == width)
        parents = np.nonzero(dag.T[ys])[1].reshape(len(ys), width)
        for at in range(width):
            ask(np.column_stack((parents[:, at], ys, np.delete(parents, at, axis=1))))
        if basis.noisy:
            places, xs = np.nonzero(apart[ys])
            ask(np.column_stack((xs, ys[places], parents[places])))
        else:
            basis.rows(ys, parents, apart[ys])
    basis.rows.settle()


GES = Search(
    name="ges",
    find=partial(_find, True),
    again=partial(_find, False),
    summary="greedy equivalence search with forward, backward and turning steps",
    cite="Chickering 2002; Hauser, Bühlmann 2012; Ramsey et al. 2017; Nazaret, Blei 2024",
    graph="cpdag",
    needs="gains",
    untested=True,
    draws=False,
)
SEARCHES = (GES,)
