"""Contingency tables that share all columns but one."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from privet.arrays import Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Histograms, Rows, codec
from privet.privacy.queries.tables import MOST_CELLS, MOST_CELLS_TOGETHER, Fan
from privet.schema.model import Schema


@codec("Fans", evidence="counts")
@dataclass(frozen=True)
class Fans(Histograms):
    """For some bases, the table of the base with each of some other columns. A fan lies in a line
    as one table: a row for each cell of the base, in which stand the levels of all others.

    Sensitivity. That of as many histograms as there are others.
    """

    sets: tuple[Fan, ...]

    def __str__(self) -> str:
        widest = max((len(base) + 1 for base, _ in self.sets), default=0)
        return f"{self.tables()} tables of up to {widest} columns"

    def check(self, schema: Schema) -> None:
        if not self.sets or not all(base and others for base, others in self.sets):
            raise SchemaError("a fan needs a base and another column, and a query one fan")
        levels = schema.cardinalities
        together = 0
        for base, others in self.sets:
            if not levels.keys() >= (named := {*base, *others}):
                schema.column(next(iter(named - levels.keys())))  # which refuses it
            if len(named) < len(base) + len(others):
                raise SchemaError(f"the fan of {base} names a column twice; name each once")
            cells = prod(map(levels.__getitem__, base))
            beside = [*map(levels.__getitem__, others)]
            if (most := cells * max(beside)) > MOST_CELLS:
                raise SchemaError(
                    f"the tables of {', '.join(base)} with another column have up to {most} cells; "
                    f"at most {MOST_CELLS} are counted; ask for fewer columns, or merge levels"
                )
            together += cells * sum(beside)
        if together > MOST_CELLS_TOGETHER:
            raise SchemaError(
                f"the {self.tables()} tables have {together} cells together; at most "
                f"{MOST_CELLS_TOGETHER} are counted; ask for fewer tables"
            )

    def size(self, schema: Schema) -> int:
        levels = schema.cardinalities
        return sum(
            prod(levels[name] for name in base) * sum(map(levels.__getitem__, others))
            for base, others in self.sets
        )

    def tables(self) -> int:
        return sum(len(others) for _, others in self.sets)

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        return np.concatenate(rows.fans(self.sets), axis=None)
