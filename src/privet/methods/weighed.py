"""What the methods with evidence of their own share: search, then weigh how sure each edge is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from privet.evidence.confidence import with_confidence
from privet.graph.graph import Edge, Graph
from privet.graph.knowledge import Knowledge
from privet.graph.orient import apply_knowledge
from privet.methods.registry import Searched, Settings
from privet.schema import Schema
from privet.search.constraints import Constraints
from privet.search.stability import Witness, replicated
from privet.search.weighed_pc import Judge, arrows, skeleton

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
    stack = replicas(len(others), first)
    start = witness.doubtful(found)
    seen = replicated(stack, start, constraints, settings.max_order, others)
    known = partial(apply_knowledge, names=schema.names, knowledge=schema.knowledge)
    graph = with_confidence(schema.names, known(found), [known(replica) for replica in seen])
    return Searched(graph=_marked(graph, schema.knowledge), tests=witness.tests)


def _marked(graph: Graph, knowledge: Knowledge) -> Graph:
    """Required edges were not measured: they have an origin instead of a confidence."""
    edges = tuple(
        Edge(edge.source, edge.target, edge.mark, origin="knowledge")
        if knowledge.must(edge.source, edge.target)
        else edge
        for edge in graph.edges
    )
    return replace(graph, edges=edges)
