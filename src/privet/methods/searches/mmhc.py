"""MMHC: parents and children by tests, then hill climbing among them by scores."""

from __future__ import annotations

import numpy as np

from privet.graph.graph import Graph
from privet.methods.basis import Ground
from privet.methods.method import Settings
from privet.methods.searches.family import Family
from privet.methods.searches.pc_confidence import closed
from privet.schema.model import Schema
from privet.search.mmhc import mmhc


def find(ground: Ground, schema: Schema, settings: Settings, _rng: np.random.Generator) -> Graph:
    constraints = ground.constraints(schema)
    return closed(mmhc(ground.judge, ground.gains, constraints, settings.max_order), schema)


FAMILY = Family(
    name="mmhc",
    find=find,
    summary="max-min parents and children by tests, then hill climbing among them",
    cite="Tsamardinos, Brown, Aliferis 2006",
    graph="cpdag",
    scored=True,
    bounded=False,
)
METHODS = (FAMILY.interaction(), FAMILY.moment(), FAMILY.plain())
