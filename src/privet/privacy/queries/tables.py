"""Contingency tables, and the interaction components that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from math import prod
from operator import itemgetter

import numpy as np

from privet.arrays import Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Histograms, Query, Rows, codec, records_changed
from privet.privacy.queries.contrasts import contrasts
from privet.privacy.queries.products import beside, multiplied
from privet.schema.column import Column
from privet.schema.model import MOST_ROWS, Adjacency, Schema

# The columns of a base, and the others beside it.
Fan = tuple[tuple[str, ...], tuple[str, ...]]
# So many pairs to each first column are counted as fans.
FEW_PAIRS = 3
# Above this many columns the replace-one bound is the plain one: patterns double per column.
PATTERN_COLUMNS = 10
# A component of three columns reaches GRID**3 = 2**30 per row.
LARGEST_SET = 3
# A table of so many cells takes 32 MB, and all tables of a query 1 GB; larger ones are refused.
MOST_CELLS, MOST_CELLS_TOGETHER = 1 << 22, 1 << 27


@codec("Tables", evidence="counts")
@dataclass(frozen=True)
class Tables(Histograms):
    """Contingency tables of some column sets, each of any size.

    Sensitivity. That of as many histograms.
    """

    sets: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"{len(self.sets)} tables of up to {max(map(len, self.sets), default=0)} columns"

    def check(self, schema: Schema) -> None:
        if not all(self.sets) or not self.sets:
            raise SchemaError(
                "a table needs at least one column, and a query one table; for the number of rows "
                "ask Components of the empty set"
            )
        for members in self.sets:
            if len(set(members)) != len(members):
                raise SchemaError(f"the set {members} names a column twice; name each once")
            cells = _cells(members, schema)
            if cells > MOST_CELLS:
                raise SchemaError(
                    f"the table of {', '.join(members)} has {cells} cells; at most {MOST_CELLS} "
                    "are counted; ask for fewer columns, or merge levels"
                )

        if self.size(schema) > MOST_CELLS_TOGETHER:
            raise SchemaError(
                f"the {len(self.sets)} tables have {self.size(schema)} cells together; at most "
                f"{MOST_CELLS_TOGETHER} are counted; ask for fewer tables"
            )

    def size(self, schema: Schema) -> int:
        return sum(_cells(members, schema) for members in self.sets)

    def tables(self) -> int:
        return len(self.sets)

    def kind(self, schema: Schema) -> str:
        return "tables" if self.sets == (schema.names,) else self.evidence  # one holds all others

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        tables = rows.table_batch(self.sets)
        return np.concatenate([table.reshape(-1) for table in tables]).astype(np.int64)


def _cells(members: tuple[str, ...], schema: Schema) -> int:
    return prod(schema.column(name).cardinality for name in members)


@codec("Components", evidence="tables")
@dataclass(frozen=True)
class Components(Query):
    """Interaction components of some column sets, all of one order.

    The component of ``A`` is ``(⊗_{i∈A} H_i) vec(N_A)``, ``H_i`` the integer contrasts of column
    ``i`` and ``N_A`` the table of ``A``; of the empty set, the number of rows. A record with
    codes ``x`` contributes ``⊗ H_i[:, x_i]``, whose squared norm is ``∏ |H_i[:, x_i]|²``.

    Sensitivity (``proofs/components.md``). Add-remove: ``Σ_A ∏_i max_x |H_i[:, x]|²``.
    Replace-one: the largest, over the patterns of columns in which two records differ, of
    ``Σ_A |a|² + |b|² - 2⟨a, b⟩``, each term bounded by integer intervals; with more than
    ``PATTERN_COLUMNS`` columns, ``|a - b|² <= 2|a|² + 2|b|²``, four times the add-remove bound.
    """

    additive = True

    sets: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        order = len(self.sets[0])
        if order == 0:
            return "number of rows"
        return f"{len(self.sets)} components of order {order}"

    def check(self, schema: Schema) -> None:
        if not self.sets or len({len(members) for members in self.sets}) != 1:
            raise SchemaError("components of one query must be sets of one size; ask twice")
        for name in {name for members in self.sets for name in members}:
            schema.column(name)  # which refuses one that is not there
        for members in self.sets:
            if len(members) > LARGEST_SET:
                raise SchemaError(
                    f"the set {members} has {len(members)} columns; at most {LARGEST_SET} are "
                    "served, so that sums over 8 thousand million rows stay within 64 bits"
                )
            if len(set(members)) != len(members):
                raise SchemaError(f"the set {members} names a column twice; name each once")

    def size(self, schema: Schema) -> int:
        return sum(
            prod(schema.column(name).cardinality - 1 for name in members) for members in self.sets
        )

    def l1(self, schema: Schema) -> int:
        one = self._sum_of_products(schema, "l1")
        return records_changed(schema) * one * schema.rows_per_person

    def linf(self, schema: Schema) -> int:
        one = max(
            prod(_extent(schema.column(name)).largest for name in members) for members in self.sets
        )
        return records_changed(schema) * one * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        if schema.adjacency is Adjacency.ADD_REMOVE:
            one = self._sum_of_products(schema, "norm_high")
        else:
            one = self._replaced(schema)
        return one * schema.rows_per_person**2

    def _sum_of_products(self, schema: Schema, what: str) -> int:
        own = {column.name: int(getattr(_extent(column), what)) for column in schema.columns}
        return sum(prod(own[name] for name in members) for members in self.sets)

    def _replaced(self, schema: Schema) -> int:
        plain = 4 * self._sum_of_products(schema, "norm_high")
        involved = sorted({name for members in self.sets for name in members})
        if not involved:  # the number of rows, for each empty set: fixed, unless a row is dropped
            return 0 if schema.rows_are_public else len(self.sets)
        if len(involved) > PATTERN_COLUMNS:
            return plain
        extents = {name: _extent(schema.column(name)) for name in involved}
        worst = max(
            sum(
                _difference(members, dict(zip(involved, differ, strict=True)), extents)
                for members in self.sets
            )
            for differ in product((False, True), repeat=len(involved))
        )
        return min(plain, max(worst, self._sum_of_products(schema, "norm_high")))

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        own = {each.name: contrasts(each.cardinality, each.ordered) for each in schema.columns}
        if len(self.sets[0]) == 1 and schema.most_rows <= MOST_ROWS:  # 2^10 of each row
            tables = rows.table_batch(self.sets)
            parts = (own[name] @ table for (name,), table in zip(self.sets, tables, strict=True))
            return np.concatenate([*parts])
        fans = self._fans()
        if fans and schema.most_rows <= MOST_ROWS:  # 2^20 of each row: below 2^53 together
            at = {name: i for i, name in enumerate(own)}
            pairs = [(at[x], [at[y] for y in others]) for (x,), others in fans]
            return beside(rows.fans(fans), pairs, [*own.values()])
        factors = [tuple(own[name] for name in members) for members in self.sets]
        return multiplied(rows.table_batch(self.sets), factors, [1] * len(factors), schema)

    def _fans(self) -> list[Fan]:
        """Pairs of columns as fans, in the same order, if there are several to each."""
        if len(self.sets[0]) != 2:
            return []
        runs = groupby(self.sets, key=itemgetter(0))
        fans: list[Fan] = [((name,), tuple(y for _, y in pairs)) for name, pairs in runs]
        return fans if len(self.sets) >= FEW_PAIRS * len(fans) else []


@dataclass(frozen=True, kw_only=True)
class _Extent:
    """How far the contrasts of one column reach, over its codes ``x`` and pairs ``x != y``."""

    l1: int
    largest: int
    norm_low: int
    norm_high: int
    inner_low: int
    inner_high: int


def _extent(column: Column) -> _Extent:
    return _extent_of(column.cardinality, column.ordered)


@cache
def _extent_of(k: int, ordered: bool) -> _Extent:
    h = contrasts(k, ordered)
    gram = h.T @ h
    norms, inner = np.diag(gram), gram[~np.eye(k, dtype=bool)]
    return _Extent(
        l1=int(np.abs(h).sum(axis=0).max()),
        largest=int(np.abs(h).max()),
        norm_low=int(norms.min()),
        norm_high=int(norms.max()),
        inner_low=int(inner.min()),
        inner_high=int(inner.max()),
    )


def _difference(
    members: tuple[str, ...], differ: dict[str, bool], extents: dict[str, _Extent]
) -> int:
    """Largest ``|a - b|²`` for one set when two records differ in just these columns."""
    if not any(differ[name] for name in members):
        return 0
    low = high = 1
    for name in members:
        e = extents[name]
        near = (e.inner_low, e.inner_high) if differ[name] else (e.norm_low, e.norm_high)
        corners = [a * b for a in (low, high) for b in near]
        low, high = min(corners), max(corners)
    return 2 * prod(extents[name].norm_high for name in members) - 2 * low
