"""PC on moments, held against what its graph implies (``search/refine.py``).

It trusts that a DAG has made the data more than it trusts single tests: where effects cancel along
two paths, tests explain an edge that is there. Data that no DAG has made get many edges by that.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.arrays import Bools
from privet.errors import MethodError
from privet.graph.graph import Graph
from privet.graph.meek import cpdag
from privet.methods.basis import Basis, Replicas, Wide
from privet.methods.options import Settings
from privet.methods.search import Search, closed
from privet.methods.searches.pc import apart
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.pc import skeleton
from privet.search.refine import Refined, refined


def find(basis: Basis, schema: Schema, settings: Settings, rng: np.random.Generator) -> Graph:
    if basis.wide is None:
        raise MethodError(
            "refined-pc asks tests with many columns given, which moments of several sites do not "
            "answer together; choose moment-pc"
        )
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = skeleton(basis.judge, constraints, settings.order, basis.told)
    basis.listener.separators = found.separators
    better = _refined(basis.wide, found.adjacent, constraints, rng)
    basis.listener.settle(better.dag, better.margins)
    return closed(cpdag(better.dag), schema)


def together(
    replicas: Replicas,
    schema: Schema,
    settings: Settings,
    rngs: Sequence[np.random.Generator],
) -> list[Graph]:
    assert replicas.wide is not None, "as the evidence has it"
    constraints = Constraints.of(schema.names, schema.knowledge)
    found = apart(replicas, constraints, settings, rngs)
    each = zip(replicas.wide, found, rngs, strict=True)
    better = [_refined(wide, graph | graph.T, constraints, rng) for wide, graph, rng in each]
    return [closed(cpdag(one.dag), schema) for one in better]


def _refined(
    wide: Wide, start: Bools, constraints: Constraints, rng: np.random.Generator
) -> Refined:
    return refined(wide.judge, start, constraints, rng, bar=wide.bar, tests=wide.tests)


REFINED = Search(
    name="refined-pc",
    summary="noise-aware PC, held against what its graph implies",
    cite="this library; Spirtes, Glymour 1991",
    graph="cpdag",
    needs="wide",
    find=find,
    together=together,
    refines=True,
)
SEARCHES = (REFINED,)
