"""lingam: DirectLiNGAM, which tells cause from effect by errors that are not Gaussian.

Without privacy only: its order needs residuals row by row, and no bound on what one person can
change in it is known (``methods/searches/causal_order.py``). One categorical column may mark
groups, such as sites: then one graph serves all groups, with weights of their own.
"""

from __future__ import annotations

from privet.errors import EvidenceError, KnowledgeError, MethodError
from privet.graph.graph import Graph
from privet.methods.method import Finding, Method
from privet.methods.options import Settings
from privet.methods.search import marked
from privet.methods.searches.causal_order import CausalOrder
from privet.privacy.queries.base import Release
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.search.direct_lingam import direct_lingam
from privet.trust.curator import Curator

NOTE = (
    "The arrows rest on errors that are not Gaussian; where they are Gaussian, their directions "
    "are a guess."
)


def _question(schema: Schema) -> CausalOrder:
    numeric = tuple(column.name for column in schema.columns if column.kind == "numeric")
    others = [column.name for column in schema.columns if column.kind != "numeric"]
    return CausalOrder(columns=numeric, group=others[0] if others else None)


def check(schema: Schema, settings: Settings) -> None:
    asked = _question(schema)
    groups = [column.name for column in schema.columns if column.kind != "numeric"]
    if len(groups) > 1:
        raise MethodError(
            f"columns {', '.join(map(repr, groups))} are not numeric; lingam serves numeric "
            "columns and at most one other, which marks groups; leave some out of the schema"
        )
    for column in schema.columns:
        if column.kind == "numeric" and column.missing == "level":
            raise MethodError(
                f'column {column.name!r} has missing = "level", which is no number; lingam '
                "needs a value or drop as missing policy; change it"
            )
    if len(asked.columns) < 2:
        raise MethodError(
            f"the schema has {len(asked.columns)} numeric column(s); lingam needs two or more; "
            "declare more columns as numeric, or use another method"
        )
    for arrow in sorted(schema.knowledge.required):
        if asked.group in arrow:
            raise MethodError(
                f"the arrow {arrow[0]!r} --> {arrow[1]!r} is required, but {asked.group!r} marks "
                "groups and is no part of the graph; drop the arrow"
            )


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    settings.on_step("putting the columns in order", 0.1)
    return (curator.exact(_question(curator.schema)),)


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Finding:
    release = next((one for one in releases if isinstance(one.query, CausalOrder)), None)
    if release is None:
        raise EvidenceError(
            "this evidence holds no causal order; run lingam on the data, with ⟦private=False⟧"
        )
    query = release.asked(CausalOrder)
    names = query.columns
    known = query.unpack(release.values, schema)
    constraints = Constraints.of(names, schema.knowledge)
    found = direct_lingam(known.order, known.rows, known.correlations, constraints)
    graph = Graph.from_matrix(names, found.arrows, "dag")
    for a, b in sorted(schema.knowledge.required):
        if graph.edge(a, b) is None:
            raise KnowledgeError(
                f"the arrow {a!r} --> {b!r} is required, but the causal order in this evidence "
                f"has {b!r} first; run lingam on the data with this knowledge"
            )
    return Finding(graph=marked(graph, schema.knowledge), tests=0, notes=(NOTE,))


METHODS = (
    Method(
        name="lingam",
        summary="DirectLiNGAM, also with groups: cause and effect by non-Gaussian errors, "
        "without privacy",
        kinds=frozenset({"numeric", "categorical", "ordinal"}),
        private=False,
        needs_delta=False,
        cite="Shimizu et al. 2011; Shimizu 2012; Hyvärinen, Smith 2013",
        evidence="exact",
        reason="its order needs residuals row by row, and no bound on what one person can change "
        "in it is known",
        check=check,
        measure=measure,
        search=search,
        graph="dag",
    ),
)
