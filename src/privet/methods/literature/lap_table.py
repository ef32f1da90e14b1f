"""lap-table: the whole contingency table with Laplace noise once, then every test for free.

The baseline of Xu, Yuan, Wu 2017 (LapMech). The noise of each cell is the same and known, so
the search reckons with it (``evidence/whole_table.py``), as ``interaction-pc`` does. That method
measures the same where delta is 0 and the table is small.

Privacy. One release with the sensitivity of ``privacy.queries.tables.Tables`` for one table
(``proofs/counts.md``) and Laplace noise scaled to it, whatever the currency.
"""

from __future__ import annotations

from privet.errors import MethodError
from privet.evidence.unit_noise import MOST_CELLS, cells
from privet.methods.literature.as_published import lap_table as published
from privet.methods.method import Finding, Method, Published, no_delta
from privet.methods.options import Settings
from privet.methods.search import run
from privet.methods.searches.pc import PC
from privet.methods.sources import tables
from privet.privacy.queries.base import Release
from privet.schema.model import Schema


def check(schema: Schema, settings: Settings) -> None:
    tables.check(schema, settings)
    if cells(schema) > MOST_CELLS:
        raise MethodError(
            f"the table of all {len(schema.columns)} columns has {cells(schema)} cells; lap-table "
            f"serves up to {MOST_CELLS}, since each cell gets its own noise; leave columns out of "
            "the schema, merge levels, or use interaction-pc"
        )


def search(schema: Schema, releases: tuple[Release, ...], settings: Settings) -> Finding:
    return run(PC, tables.basis(schema, releases, settings), schema, settings)


METHODS = (
    Method(
        name="lap-table",
        summary="the whole table with Laplace noise once, then a noise-aware PC for free",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        cite="LapMech of Xu, Yuan, Wu 2017",
        evidence="tables",
        check=check,
        measure=tables.measure_whole,
        search=search,
        delta=no_delta,
        accounting="zcdp",
        published=Published(measure=published.measure, why=published.WHY),
    ),
)
