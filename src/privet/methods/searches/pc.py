"""PC by weighed evidence: a skeleton order by order, then the arrows that colliders speak for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from privet.arrays import Bools
from privet.graph.graph import Graph
from privet.methods.basis import Basis, Replicas, Wide
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.compiled import Heard
from privet.search.constraints import Constraints
from privet.search.pc import Told, arrows, skeleton
from privet.search.skeleton import Skeleton
from privet.search.stability import RESTARTS, replicated


def find(basis: Basis, schema: Schema, settings: Settings, rng: np.random.Generator) -> Graph:
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = skeleton(basis.judge, constraints, settings.order, basis.told, basis.sharp)
    basis.listener.separators = found.separators
    basis.listener.decided(found)
    return closed(arrows(basis.judge, found, constraints, rng, told=basis.told), schema)


def together(
    replicas: Replicas,
    schema: Schema,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Graph]:
    constraints = Constraints.of(schema.names, schema.knowledge)
    if replicas.sharp and replicas.wide is not None:
        again = partial(_again, _start(replicas, constraints), constraints, settings.order)
        found = list(map(again, replicas.wide, rngs))
    else:
        found = apart(replicas, constraints, settings, rngs)
    return [closed(graph, schema) for graph in found]


def _again(
    start: Skeleton, constraints: Constraints, order: int, wide: Wide, rng: np.random.Generator
) -> Bools:
    """One replica of exact numbers by itself: there, too, edges may come back."""
    told = None if wide.tests is None else Told(wide.tests, _unheard)
    found = skeleton(wide.judge, constraints, order, told, sharp=True, start=start)
    return arrows(wide.judge, found, constraints, rng, RESTARTS, told)


def _unheard(_heard: Heard) -> None:
    """Nobody asks what replicas were asked."""


def apart(
    replicas: Replicas,
    constraints: Constraints,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Bools]:
    """All replicas at once: each step is played once to hear what all of them ask."""
    start = _start(replicas, constraints)
    return replicated(replicas.judge, start, constraints, settings.order, rngs, replicas.sure)


def _start(replicas: Replicas, constraints: Constraints) -> Skeleton:
    near = constraints.possible if replicas.near is None else replicas.near & constraints.possible
    far = {pair: given for pair, given in replicas.separators.items() if not near[pair]}
    return Skeleton(near, far)


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
