"""NOTEARS and DAGMA: the weights of a linear model, fitted to second moments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from privet.graph.graph import Graph
from privet.methods.basis import Ground
from privet.methods.method import Settings
from privet.methods.searches.family import Family
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
    ground: Ground,
    schema: Schema,
    settings: Settings,
    _rng: np.random.Generator,
    *,
    fit: Callable[..., Weighted],
) -> Graph:
    assert ground.moments is not None
    constraints = Constraints.of(schema.names, schema.knowledge)
    chosen = {"sparsity": settings.sparsity, "threshold": settings.threshold}
    given = {name: value for name, value in chosen.items() if value is not None}
    found = fit(ground.moments.natural(), constraints, **given)
    return Graph.from_matrix(schema.names, found.arrows, "dag")


NOTEARS = Family(
    name="notears",
    find=partial(find, fit=notears),
    summary="NOTEARS: a linear model by continuous optimisation",
    cite="Zheng, Aragam, Ravikumar, Xing 2018",
    graph="dag",
    weighs=True,
    replicas=REPLICAS,
    notes=(NOTE,),
)
DAGMA = Family(
    name="dagma",
    find=partial(find, fit=dagma),
    summary="DAGMA: as NOTEARS, by log determinants",
    cite="Bello, Aragam, Ravikumar 2022",
    graph="dag",
    weighs=True,
    replicas=REPLICAS,
    notes=(NOTE,),
)
METHODS = tuple(
    method for family in (NOTEARS, DAGMA) for method in (family.moment(), family.plain())
)
