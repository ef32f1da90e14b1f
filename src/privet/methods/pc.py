"""pc: the same search without privacy, on exact evidence.

It is what the private methods are measured against. Its certificate says that nothing is
promised. Columns that are numbers throughout give exact moments, others exact tables.
"""

from __future__ import annotations

from types import ModuleType

from privet.methods import interaction_pc, moment_pc
from privet.methods.registry import Method, Searched, Settings
from privet.queries import Release
from privet.schema import Schema
from privet.trust.central import Curator


def _kind(schema: Schema) -> ModuleType:
    return moment_pc if schema.has_moments else interaction_pc


def check(schema: Schema, settings: Settings) -> None:
    _kind(schema).check(schema, settings)


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    releases: tuple[Release, ...] = _kind(curator.schema).measure(curator, settings)
    return releases


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    searched: Searched = _kind(schema).search(schema, releases, settings)
    return searched


METHODS = (
    Method(
        name="pc",
        summary="the same search without any privacy, to compare with",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=False,
        needs_delta=False,
        cite="Spirtes, Glymour 1991; Colombo, Maathuis 2014",
        evidence="exact",
        check=check,
        measure=measure,
        search=search,
    ),
)
