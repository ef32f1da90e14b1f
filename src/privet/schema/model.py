"""Public knowledge about a table: what may be said before anybody looks at a row.

A schema is written by a person as TOML. Every sensitivity, every table size and every
encoding follows from it alone, which is why nothing in here may be learnt from the rows.
A cell that is missing, is no declared level or does not parse as a number follows the
column's missing policy; a number beyond the bounds is clamped. Neither is ever an error.
"""

from __future__ import annotations

import difflib
import enum
import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from privet.errors import SchemaError
from privet.graph.knowledge import Knowledge
from privet.schema.cuts import equal_width
from privet.schema.names import clean_name, name_key
from privet.schema.values import edge_texts, finite, guessed_shares, is_not_whole, level_text

Kind = Literal["categorical", "ordinal", "numeric"]
Missing = Literal["level", "value", "drop"]

MOST_LEVELS = 65_535  # a code fits 16 bits
MOST_ROWS = (1 << 31) - 1  # of a table, unless it declares more; so far, all sums fit 64 bits
LARGEST_TABLE = 1 << 34  # rows that can be declared: sums of moments over them fit 64 bits
DEFAULT_BINS = 4
PER_PERSON = {
    "rows_per_person": "the most rows that one person can own",
    "sites_per_person": "the most sites at which one person can be",
}
CHOICE = "columns"  # the entry of `unconfirmed` for which columns there are at all
FACTS = ("kind", "levels", "bounds", "cuts", "missing")  # what `unconfirmed` can speak of


class Adjacency(enum.Enum):
    """Which two tables are neighbours: one person more or less, or one person replaced."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column. Left out: `cuts` gives 4 bins of equal width, which are `free`: a method may cut
    elsewhere. `missing` gives the declared value in the middle (numeric, ordinal) or the first.
    `shares` is a guess of how common each level is, which plans use and nothing else."""

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    cuts: tuple[float, ...] = ()
    missing: Missing = "value"
    missing_value: str | float | None = None
    shares: tuple[float, ...] = field(default=(), compare=False)
    free: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a column is named {self.name!r}; give it the name in the header")
        check_kind(self.name, self.kind)
        if self.kind == "numeric":
            self._check_numeric()
        else:
            self._check_levels()
        if self.cardinality > MOST_LEVELS:
            raise SchemaError(
                f"column {self.name!r} has {self.cardinality} levels; "
                f"at most {MOST_LEVELS} are possible: merge levels or declare fewer bins"
            )
        self._check_missing()
        self._set("shares", guessed_shares(self.name, self.shares, self.cardinality))

    def _set(self, attribute: str, value: object) -> None:
        object.__setattr__(self, attribute, value)  # only while the column is being built

    def _check_levels(self) -> None:
        if self.bounds is not None or self.cuts:
            raise SchemaError(
                f"column {self.name!r} is {self.kind}, so it has levels and no bounds, bins or "
                f'cuts; remove them or declare kind = "numeric"'
            )
        self._set("levels", tuple(level_text(self.name, level) for level in self.levels))
        if len(self.levels) < 2:
            raise SchemaError(
                f"column {self.name!r} has {len(self.levels)} level(s); {self.kind} columns need "
                f"at least 2: list every level it can take, or leave the column out"
            )
        if len(set(self.levels)) < len(self.levels):
            twice = next(x for i, x in enumerate(self.levels) if x in self.levels[:i])
            raise SchemaError(
                f"column {self.name!r} lists the level {twice!r} twice; list each level once"
            )

    def _check_numeric(self) -> None:
        if self.levels:
            raise SchemaError(
                f"column {self.name!r} is numeric, so it has bounds and no levels; "
                f'remove the levels or declare kind = "ordinal"'
            )
        if self.bounds is None or len(self.bounds) != 2:
            raise SchemaError(
                f"column {self.name!r} is numeric and needs bounds = [lowest, highest]; "
                f"write down the range that is public knowledge"
            )
        low, high = (finite(self.name, "bound", bound) for bound in self.bounds)
        if low >= high or math.isinf(high - low):
            raise SchemaError(
                f"column {self.name!r} has bounds [{low!r}, {high!r}]; "
                f"the first must lie below the second, at a finite distance"
            )
        self._set("bounds", (low, high))
        cuts = tuple(finite(self.name, "cut", cut) for cut in self.cuts)
        default = equal_width(low, high, DEFAULT_BINS)
        self._set("free", not cuts or (self.free and cuts == default))
        cuts = cuts or default
        edges = (low, *cuts, high)
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise SchemaError(
                f"column {self.name!r} is cut at {list(cuts)}; cuts must increase strictly and "
                f"lie inside the bounds [{low!r}, {high!r}]: correct them or declare fewer bins"
            )
        self._set("cuts", cuts)

    def _check_missing(self) -> None:
        if self.missing not in get_args(Missing):
            raise SchemaError(
                f"column {self.name!r} has missing = {self.missing!r}; "
                f'use "level", "drop" or {{ value = ... }}'
            )
        if self.missing != "value":
            if self.missing_value is not None:
                raise SchemaError(
                    f"column {self.name!r} has missing = {self.missing!r} and a missing value "
                    f"{self.missing_value!r}; choose one of the two"
                )
        elif self.missing_value is None:
            self._set("missing_value", self._default_value())
        elif self.bounds is not None:
            low, high = self.bounds
            value = finite(self.name, "missing value", self.missing_value)
            if not low <= value <= high:
                raise SchemaError(
                    f"column {self.name!r} replaces missing cells by {value!r}; "
                    f"choose a value inside its bounds [{low!r}, {high!r}]"
                )
            self._set("missing_value", value)
        else:
            level = level_text(self.name, self.missing_value)
            if level not in self.levels:
                raise SchemaError(
                    f"column {self.name!r} replaces missing cells by {level!r}, which is not "
                    f"among its levels; choose a declared level{did_you_mean(level, self.levels)}"
                )
            self._set("missing_value", level)

    def _default_value(self) -> str | float:
        if self.bounds is not None:
            low, high = self.bounds
            return low + (high - low) / 2
        return self.levels[(len(self.levels) - 1) // 2 if self.kind == "ordinal" else 0]

    @property
    def cardinality(self) -> int:
        """Number of codes of an encoded cell; code `cardinality - 1` is the missing level."""
        codes = len(self.cuts) + 1 if self.kind == "numeric" else len(self.levels)
        return codes + (self.missing == "level")

    @property
    def labels(self) -> tuple[str, ...]:
        """One readable label per code. A value on a cut belongs to the bin above the cut."""
        labels = self.levels
        if self.bounds is not None:
            edges = edge_texts((self.bounds[0], *self.cuts, self.bounds[1]))
            inner = (f"[{a}, {b})" for a, b in itertools.pairwise(edges[:-1]))
            labels = (*inner, f"[{edges[-2]}, {edges[-1]}]")
        if self.missing != "level":
            return labels
        missing = "missing"
        while missing in labels:
            missing = f"({missing})"
        return (*labels, missing)

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes means something; a missing level breaks it."""
        return self.kind != "categorical" and self.missing != "level"


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Everything that is public about a table before looking at it."""

    name: str
    columns: tuple[Column, ...]
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows: int | None = None
    rows_per_person: int = 1
    person: str | None = None
    most_rows: int = MOST_ROWS
    sites_per_person: int = 1
    knowledge: Knowledge = field(default_factory=Knowledge)
    unconfirmed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise SchemaError(
                f"the schema has name = {self.name!r}; give the data set a name, because its "
                f"privacy budget is kept under it"
            )
        if not name_key(self.name):
            raise SchemaError(
                f"the schema has name = {self.name!a}, of which nothing can be seen; give the "
                f"data set a name with letters or digits in it"
            )
        tidy = clean_name(self.name)
        if self.name != tidy:
            raise SchemaError(
                f"the schema has name = {self.name!a}, but a name has no spaces around it and is "
                f"in Unicode NFC, so that one data set cannot have two privacy budgets; write "
                f"{tidy!r}"
            )
        if not self.columns:
            raise SchemaError(
                f"schema {self.name!r} has no columns; "
                f"add a [columns.NAME] section for each column to be used"
            )
        if len(set(self.names)) < len(self.names):
            twice = next(x for i, x in enumerate(self.names) if x in self.names[:i])
            raise SchemaError(f"column {twice!r} is declared twice; declare each column once")
        self._check_adjacency()
        self._check_people()
        for fact in self.unconfirmed:
            column, _, what = fact.rpartition(".")
            if fact != CHOICE and (column not in self.names or what not in FACTS):
                raise SchemaError(
                    f"unconfirmed lists {fact!r}, which is not a declared column followed by one "
                    f"of {', '.join('.' + f for f in FACTS)}; correct or delete the entry"
                )
        self.knowledge.check(self.names)

    def _check_adjacency(self) -> None:
        for key, what in PER_PERSON.items():
            most = getattr(self, key)
            if is_not_whole(most) or most < 1:
                raise SchemaError(
                    f"{key} = {most!r}; it must be a whole number of at least 1: {what}"
                )
        if self.adjacency is Adjacency.REPLACE_ONE and self.rows is None:
            raise SchemaError(
                'adjacency "replace-one" needs rows = N, the public number of rows; '
                'add it, or use "add-remove", which keeps the number private'
            )
        if self.adjacency is Adjacency.ADD_REMOVE and self.rows is not None:
            raise SchemaError(
                f'rows = {self.rows!r} is only for adjacency "replace-one", since under '
                f'"add-remove" the number of rows is private; remove rows or change adjacency'
            )
        if self.rows is not None and (is_not_whole(self.rows) or self.rows < 1):
            raise SchemaError(f"rows = {self.rows!r}; it must be a whole number of at least 1")

    def _check_people(self) -> None:
        if self.person is not None and (not isinstance(self.person, str) or not self.person):
            raise SchemaError(
                f"person = {self.person!r}; name the column that says whose row it is, or leave "
                "it away"
            )
        if self.person in self.names:
            raise SchemaError(
                f"person = {self.person!r}, which is one of the columns to search; a column that "
                "says whose row it is cannot be one of them: remove one of the two"
            )
        fits = not is_not_whole(self.most_rows) and 1 <= self.most_rows <= LARGEST_TABLE
        if not fits or (self.rows or 0) > self.most_rows:
            raise SchemaError(
                f"most_rows = {self.most_rows!r}; it must be a whole number from "
                f"{self.rows or 1} to {LARGEST_TABLE}: the most rows that the table can have"
            )

    @property
    def unit(self) -> str:
        """What one person can change: promises for different units do not add up."""
        size = "" if self.rows is None else f" of {self.rows} rows"
        return f"{self.adjacency.value}{size}, {self.rows_per_person} row(s) per person"

    @property
    def rows_are_public(self) -> bool:
        """Whether nobody can change the number of rows that are counted."""
        dropped = self.person is not None or any(c.missing == "drop" for c in self.columns)
        return self.adjacency is Adjacency.REPLACE_ONE and not dropped

    @property
    def has_moments(self) -> bool:
        """Whether every column is a number throughout; a level for missing cells is not one."""
        return all(c.kind == "numeric" and c.missing != "level" for c in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        try:
            return self._by_name[name]
        except KeyError:
            raise SchemaError(
                f"there is no column {name!r} in schema {self.name!r}; "
                f"use a declared name{did_you_mean(name, self.names)}"
            ) from None

    @staticmethod
    def load(path: str | Path) -> Schema:
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SchemaError(
                f"cannot read the schema {str(path)!r} ({error.strerror}); "
                "name a schema file, or make one with "
                "⟦privet.draft(data)¦`privet schema draft DATA`⟧"
            ) from None
        except UnicodeDecodeError:
            raise SchemaError(
                f"the schema {str(path)!r} is not a text file in UTF-8; save it as UTF-8"
            ) from None
        return Schema.from_toml(text)

    @staticmethod
    def from_toml(text: str) -> Schema:
        try:
            document = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SchemaError(f"the schema is not valid TOML: {error}; correct that line") from None
        return Schema.from_dict(document)

    def to_toml(self) -> str:
        from privet.schema.toml import schema_to_toml

        return schema_to_toml(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Schema:
        """A schema from a parsed TOML document, or from what `to_dict` wrote."""
        from privet.schema.toml import schema_from_dict

        return schema_from_dict(document)

    def to_dict(self) -> dict[str, Any]:
        """The schema as a TOML or JSON document; the order of its columns is their order."""
        from privet.schema.toml import schema_to_dict

        return schema_to_dict(self)


def check_kind(column: str, kind: object) -> None:
    if kind not in get_args(Kind):
        raise SchemaError(
            f"column {column!r} has kind {kind!r}; "
            f"use one of {', '.join(get_args(Kind))}{did_you_mean(kind, get_args(Kind))}"
        )


def did_you_mean(value: object, options: Iterable[str]) -> str:
    """`" (did you mean 'age'?)"`, or nothing when no option is near."""
    close = difflib.get_close_matches(str(value), list(options), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
