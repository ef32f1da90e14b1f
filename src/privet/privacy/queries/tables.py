"""What may be asked of rows, as frozen data, and how much one person can change the answer.

A query knows its sensitivity in integers from the schema alone, and how to compute its integer
answer from ``Rows``: exactly, as all in this file do, or rounded from a real number (T2, G², HSIC),
and then what floating point and rounding may add is part of its sensitivity. No query trusts the
declared number of rows. It never holds rows. Under ``add-remove`` one record is added or
removed; under ``replace-one`` one record takes the place of another. A person with up to ``r``
rows moves an answer ``r`` times as far (triangle inequality), so every bound is multiplied by
``r`` (by ``r**2`` when squared).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.errors import SchemaError
from privet.privacy.queries.contrasts import contrasts
from privet.schema.model import Adjacency, Column, Schema

Integers = NDArray[np.int64]

# Above this many columns the replace-one bound is the plain one: patterns double per column.
PATTERN_COLUMNS = 10
# A component of three columns reaches GRID**3 = 2**30 per row.
LARGEST_SET = 3
# A table of so many cells takes 32 MB, and all tables of a query 1 GB; larger ones are refused.
MOST_CELLS, MOST_CELLS_TOGETHER = 1 << 22, 1 << 27


class Rows(Protocol):
    """What a query may ask of encoded rows; only the vault has one."""

    def counts(self, columns: tuple[str, ...]) -> Integers: ...

    def table_batch(self, sets: Sequence[tuple[str, ...]]) -> list[Integers]: ...

    def numbers(self, columns: tuple[str, ...]) -> Iterator[NDArray[np.float64]]: ...


class Query(Protocol):
    """A question with integer sensitivities that follow from the schema alone."""

    def check(self, schema: Schema) -> None: ...

    def size(self, schema: Schema) -> int: ...

    def l1(self, schema: Schema) -> int: ...

    def l2_squared(self, schema: Schema) -> int: ...

    def linf(self, schema: Schema) -> int: ...

    def evaluate(self, rows: Rows, schema: Schema) -> Integers: ...


class Conditional(Protocol):
    """A question that has no bound everywhere, and how far the data are from where it fails.

    ``distance`` is one number, with sensitivities as any query. Between neighbours one of which
    has a distance above ``unstable``, no number of the answer moves by more than ``bound``. For
    others nothing is said. ``proofs/tested.md`` says how the two make a private answer.
    """

    @property
    def query(self) -> Query: ...

    @property
    def distance(self) -> Query: ...

    @property
    def unstable(self) -> int: ...

    def check(self, schema: Schema) -> None: ...

    def bound(self, schema: Schema) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Release:
    """A private answer that carries its own noise: integers and their variance."""

    query: Any
    values: Integers
    variance: float
    mechanism: str


@dataclass(frozen=True)
class Counts:
    """Contingency table of some columns.

    Sensitivity. A row lies in one cell: adding or removing it moves one count by 1; replacing
    it moves at most two counts by 1 each. See ``proofs/counts.md``.
    """

    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"counts of {', '.join(self.columns)}"

    def check(self, schema: Schema) -> None:
        for name in self.columns:
            schema.column(name)

    def size(self, schema: Schema) -> int:
        return prod(schema.column(name).cardinality for name in self.columns)

    def _moved(self, schema: Schema) -> int:
        return 1 if schema.adjacency is Adjacency.ADD_REMOVE else 2

    def l1(self, schema: Schema) -> int:
        return self._moved(schema) * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        # r rows of one person may all move the same cell: r**2, and two cells when replaced
        return self._moved(schema) * schema.rows_per_person**2

    def linf(self, schema: Schema) -> int:
        return schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        return rows.counts(self.columns).ravel()


@dataclass(frozen=True)
class Tables:
    """Contingency tables of some column sets, each of any size.

    Sensitivity. A row lies in one cell of each of the ``m`` tables: adding or removing it moves
    ``m`` counts by 1; replacing it at most ``2m``. See ``proofs/counts.md``.
    """

    sets: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return f"{len(self.sets)} tables of up to {max(map(len, self.sets), default=0)} columns"

    def to_dict(self) -> dict[str, Any]:
        return {"sets": [list(members) for members in self.sets]}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Tables:
        return Tables(tuple(tuple(members) for members in document["sets"]))

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

    def _moved(self, schema: Schema) -> int:
        one = 1 if schema.adjacency is Adjacency.ADD_REMOVE else 2
        return one * len(self.sets)

    def l1(self, schema: Schema) -> int:
        return self._moved(schema) * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        return self._moved(schema) * schema.rows_per_person**2

    def linf(self, schema: Schema) -> int:
        return schema.rows_per_person

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        tables = rows.table_batch(self.sets)
        return np.concatenate([table.reshape(-1) for table in tables]).astype(np.int64)


def _cells(members: tuple[str, ...], schema: Schema) -> int:
    return prod(schema.column(name).cardinality for name in members)


@dataclass(frozen=True)
class Components:
    """Interaction components of some column sets, all of one order.

    The component of ``A`` is ``(⊗_{i∈A} H_i) vec(N_A)``, ``H_i`` the integer contrasts of column
    ``i`` and ``N_A`` the table of ``A``; of the empty set, the number of rows. A record with
    codes ``x`` contributes ``⊗ H_i[:, x_i]``, whose squared norm is ``∏ |H_i[:, x_i]|²``.

    Sensitivity (``proofs/components.md``). Add-remove: ``Σ_A ∏_i max_x |H_i[:, x]|²``.
    Replace-one: the largest, over the patterns of columns in which two records differ, of
    ``Σ_A |a|² + |b|² - 2⟨a, b⟩``, each term bounded by integer intervals; with more than
    ``PATTERN_COLUMNS`` columns, ``|a - b|² <= 2|a|² + 2|b|²``, four times the add-remove bound.
    """

    sets: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        order = len(self.sets[0])
        if order == 0:
            return "number of rows"
        return f"{len(self.sets)} components of order {order}"

    def to_dict(self) -> dict[str, Any]:
        return {"sets": [list(members) for members in self.sets]}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Components:
        return Components(tuple(tuple(members) for members in document["sets"]))

    def check(self, schema: Schema) -> None:
        if not self.sets or len({len(members) for members in self.sets}) != 1:
            raise SchemaError("components of one query must be sets of one size; ask twice")
        for members in self.sets:
            for name in members:
                schema.column(name)
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
        moved = one if schema.adjacency is Adjacency.ADD_REMOVE else 2 * one
        return moved * schema.rows_per_person

    def linf(self, schema: Schema) -> int:
        one = max(
            prod(_extent(schema.column(name)).largest for name in members) for members in self.sets
        )
        moved = one if schema.adjacency is Adjacency.ADD_REMOVE else 2 * one
        return moved * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        if schema.adjacency is Adjacency.ADD_REMOVE:
            one = self._sum_of_products(schema, "norm_high")
        else:
            one = self._replaced(schema)
        return one * schema.rows_per_person**2

    def _sum_of_products(self, schema: Schema, what: str) -> int:
        return sum(
            prod(int(getattr(_extent(schema.column(name)), what)) for name in members)
            for members in self.sets
        )

    def _replaced(self, schema: Schema) -> int:
        plain = 4 * self._sum_of_products(schema, "norm_high")
        involved = sorted({name for members in self.sets for name in members})
        if not involved:  # the number of rows: fixed, unless a row may be dropped
            return 0 if schema.rows_are_public else 1
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
        parts = []
        for members, table in zip(self.sets, rows.table_batch(self.sets), strict=True):
            for axis, name in enumerate(members):
                column = schema.column(name)
                h = contrasts(column.cardinality, column.ordered)
                table = np.moveaxis(np.tensordot(h, table, axes=(1, axis)), 0, axis)
            parts.append(table.reshape(-1))
        return np.concatenate(parts).astype(np.int64)


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
