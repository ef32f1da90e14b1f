"""GES: greedy search over equivalence classes, by local scores.

On noisy evidence it stays within the edges that tests have found: the score that can be had
there overrates large families (``scores/noisy_tables.py``, ``methods/basis.py``). Detours around
these edges never led back in trials with replicas, so only the graph itself is worth one: what it
asks for there tells of doubtful edges.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.graph.graph import Graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.ges import ges


def _find(
    first: bool, basis: Basis, schema: Schema, settings: Settings, _rng: np.random.Generator
) -> Graph:
    gains, constraints = basis.climbing(schema, settings.order)
    found = ges(
        gains,
        constraints,
        rows=basis.rows,
        max_parents=settings.max_parents,
        detours=constraints.possible if basis.noisy and basis.near is not None else None,
        # Found on random networks: of numbers, a third to two thirds of the wrong edges are gone;
        # of tables, nothing becomes better. Replicas tell how sure edges are without that.
        eager=first and basis.moments is not None and not basis.noisy,
    )
    if basis.rows is not None:
        basis.rows.settle()
    return closed(found, schema)


GES = Search(
    name="ges",
    find=partial(_find, True),
    again=partial(_find, False),
    summary="greedy equivalence search with forward, backward and turning steps",
    cite="Chickering 2002; Hauser, Bühlmann 2012; Ramsey et al. 2017; Nazaret, Blei 2024",
    graph="cpdag",
    needs="gains",
    untested=True,
)
SEARCHES = (GES,)
