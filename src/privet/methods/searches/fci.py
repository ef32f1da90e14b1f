"""FCI and RFCI: causal marks that stay true if some causes are hidden."""

from __future__ import annotations

from functools import partial

import numpy as np

from privet.graph.fci_rules import NONE
from privet.graph.graph import Graph
from privet.graph.pag import respects, to_graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.fci import fci
from privet.search.skeleton import Skeleton


def find(
    basis: Basis,
    schema: Schema,
    settings: Settings,
    _rng: np.random.Generator,
    *,
    faster: bool,
) -> Graph:
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = fci(basis.judge, constraints, max_order=settings.order, faster=faster)
    basis.listener.decided(Skeleton(found.marks != NONE, found.separators))
    respects(found.marks, schema.names, schema.knowledge)
    return to_graph(found.marks, schema.names)


FCI = Search(
    name="fci",
    find=partial(find, faster=False),
    summary="FCI: hidden common causes are allowed for",
    cite="Spirtes 2001; Zhang 2008",
    graph="pag",
    needs="tests",
)
RFCI = Search(
    name="rfci",
    find=partial(find, faster=True),
    summary="RFCI: as FCI, with far fewer questions",
    cite="Colombo, Maathuis, Kalisch, Richardson 2012",
    graph="pag",
    needs="tests",
)
SEARCHES = (FCI, RFCI)
