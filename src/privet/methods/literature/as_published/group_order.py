"""The causal order of several sites by DirectLiNGAM [Shimizu 2012], each asked for itself.

One column after the other is taken as the next cause: each site says how little each column that
is left looks like a cause of the others, when those before are taken out, and these doubts are
added up, weighed by rows. It is the order that ``methods/searches/causal_order.py`` finds in one
table with a column of groups. Nothing here is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privet.arrays import Integers
from privet.methods.searches.causal_order import doubts, first, precedence, standardised, without
from privet.privacy.queries.base import Rows, Unbounded, all_rows
from privet.schema.model import Schema
from privet.trust.curator import Curator

UNIT = 1 << 40
FEWEST_ROWS = 2  # with fewer a site has no doubts


@dataclass(frozen=True, kw_only=True)
class Doubts(Unbounded):
    """How many rows, and how little each column that is left looks like a cause, in the order of
    the schema and in units of 2^-40; ``before`` are the places of those taken out, in order."""

    before: tuple[int, ...]

    def __str__(self) -> str:
        return f"doubts after {len(self.before)} columns"

    def check(self, schema: Schema) -> None:
        """Every table of numbers has them."""

    def size(self, schema: Schema) -> int:
        return 1 + len(schema.columns) - len(self.before)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        whole = all_rows(rows, schema.names)
        found = np.zeros(len(schema.names) - len(self.before))
        if len(whole) >= FEWEST_ROWS:
            left, waiting = standardised(whole), list(range(len(schema.names)))
            for column in self.before:
                left = without(left, waiting.index(column))
                waiting.remove(column)
            found = doubts(left)
        return np.concatenate([[len(whole)], np.rint(found * UNIT)]).astype(np.int64)


def group_order(curators: Sequence[Curator]) -> tuple[list[int], list[int]]:
    """The places of the columns, causes first, and the rows of each site."""
    schema = curators[0].schema
    precedes, waiting = precedence(schema.names, schema.knowledge), np.arange(len(schema.names))
    order: list[int] = []
    rows = [0] * len(curators)
    while len(waiting):
        told = [curator.exact(Doubts(before=tuple(order))).values for curator in curators]
        rows = [int(values[0]) for values in told]
        doubt = np.sum([values[0] * (values[1:] / UNIT) for values in told], axis=0)
        at = int(np.where(first(waiting, precedes), doubt, np.inf).argmin())
        order.append(int(waiting[at]))
        waiting = np.delete(waiting, at)
    return order, rows
