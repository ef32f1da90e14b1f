"""pc: the same search without privacy, on exact evidence.

It is what the private methods are measured against. Its certificate says that nothing is
promised. Columns that are numbers throughout give exact moments, others exact tables.
"""

from __future__ import annotations

from privet.evidence.exact_tables import CountedTables
from privet.methods.method import Method, Searched, Settings
from privet.methods.searches import interaction_pc, moment_pc
from privet.methods.sources import moments, tables
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema
from privet.trust.central import Curator


def check(schema: Schema, settings: Settings) -> None:
    if schema.has_moments:
        moments.check(schema, settings)
    else:
        tables.check_exact(schema, settings)


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    """Moments; or interactions and, for more given columns than these serve, the tables that the
    search asks for: it is played here once to hear which."""
    schema = curator.schema
    if schema.has_moments:
        return moments.measure(curator, settings)
    releases = tables.measure(curator, settings)
    if not tables.needs_counts(settings):
        return releases
    settings.on_step("counting tables", 0.4)
    counted = CountedTables.from_releases(schema, (), curator.exact)
    interaction_pc.search_counted(schema, releases, counted, settings)
    return releases + counted.releases()


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Searched:
    if schema.has_moments:
        return moment_pc.search(schema, releases, settings)
    if not tables.needs_counts(settings):
        return interaction_pc.search(schema, releases, settings)
    counted = CountedTables.from_releases(schema, releases)
    return interaction_pc.search_counted(schema, releases, counted, settings)


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
