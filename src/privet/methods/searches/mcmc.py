"""mcmc: iterative order MCMC, the best graph found and how probable each edge is.

On noisy evidence the chain stays within the edges that tests have found, and replicas say how
sure each is. On noisy interactions there is no likelihood to sample from: there it samples
directions only (``search/potential.py``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privet.graph.edge import OPEN_MARKS
from privet.graph.graph import Graph
from privet.methods.basis import Basis
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.schema.model import Schema
from privet.search.order_mcmc import Sampled, order_mcmc
from privet.search.pc import arrows, skeleton
from privet.search.stability import RESTARTS

MAX_PARENTS = 4  # of tables, which grow with every parent
MAX_NUMERIC_PARENTS = 6
MAX_TESTED_PARENTS = 8  # where scores are made from tests, which need no table of all parents


def find(basis: Basis, schema: Schema, settings: Settings, _rng: np.random.Generator) -> Graph:
    """The search starts from the edges that tests find; on exact evidence confidence is posterior
    probability."""
    local, constraints = basis.families(schema, settings.order)
    start = constraints.possible
    if not basis.noisy:
        start = skeleton(basis.judge, constraints, settings.order, basis.told).adjacent
    usual = MAX_PARENTS if basis.moments is None else MAX_NUMERIC_PARENTS
    if basis.local is None:
        usual = MAX_TESTED_PARENTS
    widest = usual if settings.max_parents is None else settings.max_parents
    basis.listener.score, basis.listener.most = basis.worth(local), widest
    chain = np.random.default_rng(settings.seed)
    sampled = order_mcmc(local, start, constraints, chain, max_parents=widest)
    return with_probabilities(closed(sampled.graph, schema), sampled)


def climbed(basis: Basis, schema: Schema, settings: Settings, rng: np.random.Generator) -> Graph:
    """What is repeated on replicas: the same edges and colliders, by climbing instead of
    sampling, which takes a moment."""
    constraints = basis.constraints(schema)
    told = basis.told
    found = skeleton(basis.judge, constraints, settings.order, told)
    return closed(arrows(basis.judge, found, constraints, rng, RESTARTS, told), schema)


def with_probabilities(graph: Graph, sampled: Sampled) -> Graph:
    """Each edge with its posterior probability, and each arrow with that of the arrow."""
    at = {name: i for i, name in enumerate(graph.nodes)}
    edges = []
    for edge in graph.edges:
        pair = at[edge.source], at[edge.target]
        arrow = None if edge.mark in OPEN_MARKS else round(float(sampled.arrows[pair]), 3)
        sure = round(float(sampled.edges[pair]), 3)
        edges.append(replace(edge, confidence=sure, arrow_confidence=arrow))
    return replace(graph, edges=tuple(edges))


MCMC = Search(
    name="mcmc",
    find=find,
    summary="iterative order MCMC",
    cite="Kuipers, Suter, Moffa 2022",
    graph="cpdag",
    needs="families",
    probable=True,
    again=climbed,
)
SEARCHES = (MCMC,)
