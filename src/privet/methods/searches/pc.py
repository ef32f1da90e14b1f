"""PC by weighed evidence: a skeleton order by order, then the arrows that colliders speak for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.arrays import Bools
from privet.graph.graph import Graph
from privet.methods.basis import Basis, Replicas
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.pc import arrows, skeleton
from privet.search.skeleton import Skeleton
from privet.search.stability import replicated


def find(basis: Basis, schema: Schema, settings: Settings, rng: np.random.Generator) -> Graph:
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = skeleton(basis.judge, constraints, settings.order, basis.told)
    basis.listener.separators = found.separators
    return closed(arrows(basis.judge, found, constraints, rng, told=basis.told), schema)


def together(
    replicas: Replicas,
    schema: Schema,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Graph]:
    constraints = Constraints.of(schema.names, schema.knowledge)
    return [closed(each, schema) for each in apart(replicas, constraints, settings, rngs)]


def apart(
    replicas: Replicas,
    constraints: Constraints,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Bools]:
    """All replicas at once: each step is played once to hear what all of them ask."""
    near = constraints.possible if replicas.near is None else replicas.near & constraints.possible
    far = {pair: given for pair, given in replicas.separators.items() if not near[pair]}
    start = Skeleton(near, far)
    return replicated(replicas.judge, start, constraints, settings.order, rngs, replicas.sure)


PC = Search(
    name="pc",
    summary="noise-aware PC, order by order, with arrows from weighed colliders",
    cite="this library; Spirtes, Glymour 1991; Colombo, Maathuis 2014",
    graph="cpdag",
    needs="tests",
    find=find,
    together=together,
    wide=True,
)
SEARCHES = (PC,)
