"""FCI and RFCI: causal marks that stay true if some causes are hidden."""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.graph.graph import Graph
from privet.graph.pag import respects, to_graph
from privet.methods.basis import Ground
from privet.methods.method import Settings
from privet.methods.searches.family import Family
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.fci import fci


def find(
    ground: Ground,
    schema: Schema,
    settings: Settings,
    _rng: np.random.Generator,
    *,
    faster: bool,
) -> Graph:
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = fci(ground.judge, constraints, max_order=settings.max_order, faster=faster)
    respects(found.marks, schema.names, schema.knowledge)
    return to_graph(found.marks, schema.names)


FCI = Family(
    name="fci",
    find=partial(find, faster=False),
    summary="FCI: hidden common causes are allowed for",
    cite="Spirtes 2001; Zhang 2008",
    graph="pag",
)
RFCI = Family(
    name="rfci",
    find=partial(find, faster=True),
    summary="RFCI: as FCI, with far fewer questions",
    cite="Colombo, Maathuis, Kalisch, Richardson 2012",
    graph="pag",
)
METHODS = tuple(
    method
    for family in (FCI, RFCI)
    for method in (family.interaction(), family.moment(), family.plain())
)
