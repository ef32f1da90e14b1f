"""What the methods with evidence of their own share: search, then weigh how sure each edge is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privet.graph.confidence import with_confidence
from privet.graph.graph import Edge, Graph
from privet.graph.knowledge import Knowledge
from privet.graph.meek import apply_knowledge
from privet.methods.method import Searched, Settings
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.protocols import Bools, Judge
from privet.search.stability import Witness, replicated
from privet.search.weighed_pc import arrows, skeleton

# Makes a judge of so many replicas of the evidence.
Replicas = Callable[[int, np.random.Generator], Judge]


def weighed_search(
    judge: Judge, replicas: Replicas, schema: Schema, settings: Settings
) -> Searched:
    """The CPDAG that the judge's answers give, honouring knowledge, with confidence."""
    constraints = Constraints.of(schema.names, schema.knowledge)
    witness = Witness(judge)
    first, *others = np.random.default_rng(settings.seed).spawn(settings.replicas + 1)
    settings.on_step("searching", 0.5)
    joined = skeleton(witness, constraints, settings.max_order)
    found = arrows(witness, joined, constraints, first)
    settings.on_step("weighing how sure each edge is", 0.7)
    seen: list[Bools] = []
    if others:
        stack = replicas(len(others), first)
        start = witness.doubtful(found) & constraints.possible
        seen = replicated(stack, start, constraints, settings.max_order, others)
    graph, *again = (closed(each, schema) for each in (found, *seen))
    return Searched(
        graph=marked(with_confidence(graph, again), schema.knowledge), tests=witness.tests
    )


def closed(found: Bools, schema: Schema) -> Graph:
    """The CPDAG with the arrows that knowledge adds; refused if it breaks knowledge."""
    return Graph.from_matrix(
        schema.names, apply_knowledge(found, schema.names, schema.knowledge), "cpdag"
    )


def marked(graph: Graph, knowledge: Knowledge) -> Graph:
    """Required edges were not measured: they have an origin instead of a confidence."""
    edges = tuple(
        Edge(edge.source, edge.target, edge.mark, origin="knowledge")
        if knowledge.must(edge.source, edge.target)
        else edge
        for edge in graph.edges
    )
    return replace(graph, edges=edges)
