"""MMHC: parents and children by tests, then hill climbing among them by scores."""

from __future__ import annotations

import numpy as np

from privet.graph.graph import Graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.mmhc import mmhc, mmpc
from privet.search.skeleton import Skeleton


def find(basis: Basis, schema: Schema, settings: Settings, _rng: np.random.Generator) -> Graph:
    constraints = basis.constraints(schema)
    candidates = mmpc(basis.judge, constraints, settings.order)
    basis.listener.decided(Skeleton(candidates, {}))
    basis.listener.score = basis.gains
    return closed(mmhc(basis.judge, basis.gains, constraints, candidates), schema)


MMHC = Search(
    name="mmhc",
    find=find,
    summary="max-min parents and children by tests, then hill climbing among them",
    cite="Tsamardinos, Brown, Aliferis 2006",
    graph="cpdag",
    needs="gains",
    bounded=False,
)
SEARCHES = (MMHC,)
