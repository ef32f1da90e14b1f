"""NOTEARS and DAGMA: the weights of a linear model, fitted to second moments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from privet.graph.graph import Graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.dagma import dagma
from privet.search.notears import Weighted, notears

# Fitting takes seconds, so that few replicas must do.
REPLICAS = 4
NOTE = (
    "The arrows rest on the units of the columns: they are right if all unexplained parts have "
    "the same variance in these units, and may be wrong otherwise."
)


def find(
    basis: Basis,
    schema: Schema,
    settings: Settings,
    _rng: np.random.Generator,
    *,
    fit: Callable[..., Weighted],
) -> Graph:
    assert basis.moments is not None
    constraints = Constraints.of(schema.names, schema.knowledge)
    chosen = {"sparsity": settings.sparsity, "threshold": settings.threshold}
    given = {name: value for name, value in chosen.items() if value is not None}
    found = fit(basis.moments.natural(), constraints, **given)
    return Graph.from_matrix(schema.names, found.arrows, "dag")


NOTEARS = Search(
    name="notears",
    find=partial(find, fit=notears),
    summary="NOTEARS: a linear model by continuous optimisation",
    cite="Zheng, Aragam, Ravikumar, Xing 2018",
    graph="dag",
    needs="weights",
    replicas=REPLICAS,
    notes=(NOTE,),
)
DAGMA = Search(
    name="dagma",
    find=partial(find, fit=dagma),
    summary="DAGMA: as NOTEARS, by log determinants",
    cite="Bello, Aragam, Ravikumar 2022",
    graph="dag",
    needs="weights",
    replicas=REPLICAS,
    notes=(NOTE,),
)
SEARCHES = (NOTEARS, DAGMA)
