"""pc: the same search without privacy, on exact evidence.

It is what the private methods are measured against. Its certificate says that nothing is
promised. Numeric columns give exact moments, others exact tables.
"""

from __future__ import annotations

import numpy as np

from privet.ci.tables import TableJudge
from privet.errors import MethodError
from privet.evidence.components import TableEvidence, components_query
from privet.methods import interaction_pc, moment_pc
from privet.methods.registry import Method, Searched, Settings
from privet.queries import Release
from privet.schema import Schema
from privet.search.constraints import Constraints
from privet.search.pc import candidates
from privet.search.weighed_pc import WIDEST, skeleton
from privet.trust.central import Curator

HIGHEST_ORDER = 4


def check(schema: Schema, settings: Settings) -> None:
    if not 0 <= settings.max_order <= HIGHEST_ORDER:
        raise MethodError(
            f"--max-order is {settings.max_order}; pc forms separators of 0 to {HIGHEST_ORDER} "
            "columns, since larger ones leave too few rows in each stratum; use one of these"
        )
    if not _numeric(schema):
        interaction_pc.check_columns(schema)


def _numeric(schema: Schema) -> bool:
    return all(column.kind == "numeric" for column in schema.columns)


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    if _numeric(curator.schema):
        return moment_pc.measure(curator, settings)
    releases = interaction_pc.measure(curator, settings)
    for order in range(3, settings.max_order + 1):
        wanted = _wanted(curator.schema, releases, order, settings)
        if wanted:
            query = components_query(curator.schema.names, wanted)
            releases += (curator.exact(query),)
    return releases


def _wanted(
    schema: Schema, releases: tuple[Release, ...], order: int, settings: Settings
) -> list[tuple[int, ...]]:
    """The sets that questions of this order need on top of what is known."""
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    constraints = Constraints.of(schema.names, schema.knowledge)
    judge = TableJudge(evidence, settings.alpha)
    found = skeleton(judge, constraints, order - 1)
    questions = candidates(
        found.adjacent, order, judge.strengths(), constraints.required, WIDEST
    )
    ends = [np.delete(questions, end, axis=1) for end in (0, 1)]
    return sorted({tuple(sorted(members)) for members in np.vstack(ends).tolist()})


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    if _numeric(schema):
        return moment_pc.search(schema, releases, settings)
    return interaction_pc.search(schema, releases, settings)


METHODS = (
    Method(
        name="pc",
        summary="the same search without any privacy, to compare with",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=False,
        needs_delta=False,
        cite="Spirtes, Glymour 1991; Colombo, Maathuis 2014",
        evidence="tables",
        check=check,
        measure=measure,
        search=search,
    ),
)
