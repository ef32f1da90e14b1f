"""PC by weighed evidence: a skeleton order by order, then the arrows that colliders speak for.

Where the evidence answers questions with any number of columns given, as moments do, the graph is
then held against it: ``search/refine.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.arrays import Bools
from privet.graph.graph import Graph
from privet.graph.meek import cpdag
from privet.methods.basis import Basis, Replicas, Wide
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.pc import arrows, skeleton
from privet.search.refine import Refined, refined
from privet.search.skeleton import Skeleton
from privet.search.stability import replicated


def find(basis: Basis, schema: Schema, settings: Settings, rng: np.random.Generator) -> Graph:
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = skeleton(basis.judge, constraints, settings.order)
    basis.listener.separators = found.separators
    if basis.wide is None:
        return closed(arrows(basis.judge, found, constraints, rng), schema)
    better = _refined(basis.wide, found.adjacent, constraints, rng)
    basis.listener.settle(better.dag, better.margins)
    return closed(cpdag(better.dag), schema)


def _refined(
    wide: Wide, start: Bools, constraints: Constraints, rng: np.random.Generator
) -> Refined:
    return refined(wide.judge, start, constraints, rng, bar=wide.bar, tests=wide.tests)


def together(
    replicas: Replicas,
    schema: Schema,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Graph]:
    """All replicas at once: each step is played once to hear what all of them ask."""
    constraints = Constraints.of(schema.names, schema.knowledge)
    near = constraints.possible if replicas.near is None else replicas.near & constraints.possible
    far = {pair: given for pair, given in replicas.separators.items() if not near[pair]}
    start = Skeleton(near, far)
    found = replicated(replicas.judge, start, constraints, settings.order, rngs, replicas.sure)
    if replicas.wide is not None:
        found = [
            cpdag(_refined(wide, graph | graph.T, constraints, rng).dag)
            for wide, graph, rng in zip(replicas.wide, found, rngs, strict=True)
        ]
    return [closed(each, schema) for each in found]


PC = Search(
    name="pc",
    summary="noise-aware PC, order by order, with arrows from weighed colliders; on moments held "
    "against what it implies",
    cite="this library; Spirtes, Glymour 1991; Colombo, Maathuis 2014",
    graph="cpdag",
    needs="tests",
    find=find,
    together=together,
    wide=True,
    refines=True,
)
SEARCHES = (PC,)
