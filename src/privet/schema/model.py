"""Public knowledge about a table: what may be said before anybody looks at a row.

A schema is written by a person as TOML. Every sensitivity, every table size and every
encoding follows from it alone, which is why nothing in here may be learnt from the rows.
A cell that is missing, is no declared level or does not parse as a number follows the
column's missing policy; a number beyond the bounds is clamped. Neither is ever an error.
"""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from privet.errors import SchemaError, expect
from privet.graph.knowledge import Knowledge
from privet.schema.column import Column, did_you_mean
from privet.schema.names import clean_name, name_key
from privet.schema.values import is_not_whole

MOST_ROWS = (1 << 31) - 1  # of a table, unless it declares more; so far, all sums fit 64 bits
LARGEST_TABLE = 1 << 34  # rows that can be declared: sums of moments over them fit 64 bits
PER_PERSON = {
    "rows_per_person": "the most rows that one person can own",
    "sites_per_person": "the most sites at which one person can be",
}
MOST_LABEL = 40  # characters
CHOICE = "columns"  # the entry of `unconfirmed` for which columns there are at all
TIER = "tier"  # the fact that by its name nothing here causes a column, which is a question
FACTS = ("kind", "levels", "bounds", "cuts", "missing", TIER)  # what `unconfirmed` can speak of
TABLE = (CHOICE, "person", "rows_per_person")  # and of the whole table


class Adjacency(enum.Enum):
    """Which two tables are neighbours: one person more or less, or one person replaced.

    >>> privet.Adjacency("add-remove")
    <Adjacency.ADD_REMOVE: 'add-remove'>
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


@dataclass(frozen=True, kw_only=True, repr=False)
class Schema:
    """Everything that is public about a table before looking at it.

    Facts that a draft has read from the rows are ``unconfirmed`` until somebody knows that they
    are public, and stand on the certificate. ``remarks`` are comments for whoever reads the file,
    ``notes`` those on the lines of facts. ``as_of`` labels the snapshot by the calendar.

    >>> schema = privet.Schema.of(
    ...     ["age", "pain"],
    ...     name="clinic",
    ...     levels={"pain": ["none", "some", "much"]},
    ...     bounds={"age": [18, 100]},
    ...     ordinal=["pain"],
    ...     tiers=[["age"], ["pain"]],
    ... )
    >>> schema
    Schema 'clinic': 2 columns (1 numeric, 1 ordinal), add-remove, 1 row(s) per person
      Earlier causes later: age; then pain.
    >>> privet.Schema.from_toml(schema.to_toml()) == schema
    True
    """

    name: str
    columns: tuple[Column, ...]
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows: int | None = None
    rows_per_person: int = 1
    person: str | None = None
    most_rows: int = MOST_ROWS
    sites_per_person: int = 1
    as_of: str | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    unconfirmed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=(), compare=False)
    notes: Mapping[str, str] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(
        data: Any,
        *,
        name: str | None = None,
        levels: Mapping[str, Sequence[Any]] | None = None,
        bounds: Mapping[str, Sequence[float]] | None = None,
        ordinal: Sequence[str] = (),
        missing: Mapping[str, Any] | None = None,
        tiers: Sequence[Sequence[str]] = (),
        required: Sequence[Sequence[str]] = (),
        forbidden: Sequence[Sequence[str]] = (),
        rows: int | None = None,
        rows_per_person: int = 1,
        person: str | None = None,
        as_of: str | None = None,
    ) -> Schema:
        """A schema from what you know. ``data`` (a frame, a file or a list of names) gives the
        names and the order of its columns, and no cell is looked at; columns with neither levels
        nor bounds are left out. A frame without a ``name`` is called "table", which has no
        budget in a ledger on disk, since budgets are kept under names. With ``rows``, their
        number is public.

        >>> names = ["sex", "age", "id"]
        >>> privet.Schema.of(names, levels={"sex": ["f", "m"]}, bounds={"age": [0, 99]}).names
        ('sex', 'age')
        """
        from privet.schema.build import build

        return build(
            data,
            name=name,
            levels={} if levels is None else levels,
            bounds={} if bounds is None else bounds,
            ordinal=ordinal,
            missing={} if missing is None else missing,
            knowledge={"tiers": tiers, "required": required, "forbidden": forbidden},
            rows=rows,
            rows_per_person=rows_per_person,
            person=person,
            as_of=as_of,
        )

    @staticmethod
    def draft(data: Any, name: str | None = None, *, missing: Any = None) -> Schema:
        """A first proposal, which has looked at the rows without paying: see ``privet.draft``.

        >>> privet.Schema.draft({"sex": ["f", "m"], "town": ["a", "b"]}).unconfirmed
        ('sex.kind', 'sex.levels', 'town.kind', 'town.levels', 'sex.tier')
        """
        from privet.schema.draft import draft

        return draft(data, name, missing)

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
        self._check_kinds()
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
        self._check_label()
        for fact in self.unconfirmed:
            column, _, what = fact.rpartition(".")
            if fact not in TABLE and (column not in self.names or what not in FACTS):
                raise SchemaError(
                    f"unconfirmed lists {fact!r}, which is not a declared column followed by one "
                    f"of {', '.join('.' + f for f in FACTS)}, or one of {', '.join(TABLE)}; "
                    "correct or delete the entry"
                )
        self.knowledge.check(self.names)

    def _check_kinds(self) -> None:
        expect(self.columns, (list, tuple), "columns", "give a list of columns", SchemaError)
        for column in self.columns:
            expect(column, Column, "a column", "give a privet.Column", SchemaError)
        expect(self.adjacency, Adjacency, "adjacency", "give a privet.Adjacency", SchemaError)
        expect(self.knowledge, Knowledge, "knowledge", "give a privet.Knowledge", SchemaError)
        expect(self.unconfirmed, (list, tuple), "unconfirmed", "give a list", SchemaError)
        for fact in self.unconfirmed:
            expect(fact, str, "an entry of unconfirmed", "give a list of texts", SchemaError)
        object.__setattr__(self, "columns", tuple(self.columns))

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

    def _check_label(self) -> None:
        label = self.as_of
        fits = isinstance(label, str) and label.isprintable() and label == label.strip()
        if label is not None and not (fits and 1 <= len(label) <= MOST_LABEL):
            raise SchemaError(
                f'as_of = {label!r}; write the day of the snapshot, such as "2026-10-31", or a '
                f"label of 1 to {MOST_LABEL} characters"
            )

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

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns.

        >>> privet.Schema.of(["a", "b"], levels={"a": ["0", "1"], "b": ["0", "1"]}).names
        ('a', 'b')
        """
        return tuple(column.name for column in self.columns)

    @cached_property
    def cardinalities(self) -> dict[str, int]:
        """The number of levels of each column."""
        return {column.name: column.cardinality for column in self.columns}

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> Column:
        """The column of this name.

        >>> privet.Schema.of(["age"], bounds={"age": [18, 100]}).column("age").kind
        'numeric'
        """
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise SchemaError(
                f"there is no column {name!r} in schema {self.name!r}; "
                f"use a declared name{did_you_mean(name, self.names)}"
            ) from None

    @staticmethod
    def load(path: str | Path) -> Schema:
        """The schema of a TOML file.

        >>> schema = privet.Schema.of(["age"], bounds={"age": [18, 100]})
        >>> _ = open("schema.toml", "w").write(schema.to_toml())
        >>> privet.Schema.load("schema.toml") == schema
        True
        """
        expect(path, (str, Path), "schema", "give the path of a TOML file", SchemaError)
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
        """The schema of a TOML text.

        >>> privet.Schema.from_toml("name = 'clinic'\\n[columns.age]\\n" +
        ...     "kind = 'numeric'\\nbounds = [18, 100]").names
        ('age',)
        """
        expect(text, str, "the schema", "give TOML text, or use Schema.load(path)", SchemaError)
        try:
            document = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SchemaError(f"the schema is not valid TOML: {error}; correct that line") from None
        return Schema.from_dict(document)

    def to_toml(self) -> str:
        """The text of a schema file, for a person to read and to correct.

        >>> print(privet.Schema.of(["age"], bounds={"age": [18, 100]}).to_toml().splitlines()[-1])
        bounds = [18, 100]
        """
        from privet.schema.toml import schema_to_toml

        return schema_to_toml(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Schema:
        """A schema from a parsed TOML document, or from what `to_dict` wrote.

        >>> schema = privet.Schema.of(["age"], bounds={"age": [18, 100]})
        >>> privet.Schema.from_dict(schema.to_dict()) == schema
        True
        """
        expect(document, Mapping, "the schema", "give a dict, as to_dict makes it", SchemaError)
        from privet.schema.toml import schema_from_dict

        return schema_from_dict(document)

    def to_dict(self) -> dict[str, Any]:
        """The schema as a TOML or JSON document; the order of its columns is their order.

        >>> privet.Schema.of(["age"], bounds={"age": [18, 100]}).to_dict()["columns"]["age"]["kind"]
        'numeric'
        """
        from privet.schema.toml import schema_to_dict

        return schema_to_dict(self)

    def told(self) -> str:
        """The columns and the promise, in a line."""
        kinds = [column.kind for column in self.columns]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"{len(kinds)} columns ({counts}), {self.unit}"

    @property
    def read(self) -> tuple[str, ...]:
        """The facts in ``unconfirmed`` that were read from rows, not guessed from names."""
        return tuple(fact for fact in self.unconfirmed if not fact.endswith(f".{TIER}"))

    def warning(self) -> str:
        """What to know of a draft before it is used."""
        asked = len(self.unconfirmed) - len(self.read)
        names = f" and {asked} guessed from names" if asked else ""
        open_ = sum(column.missing == "choose" for column in self.columns)
        missing = f" What missing cells of {open_} column(s) count as is still to be chosen."
        return (
            f"DRAFT: {len(self.read)} facts were read from the data{names}, which no privacy "
            "budget has paid for. Confirm or correct what schema.unconfirmed lists; the rest will "
            f"stand on the certificate.{missing if open_ else ''}"
        )

    def known(self) -> tuple[str, ...]:
        """What is known about the arrows, in lines."""
        knowledge, lines = self.knowledge, []
        if knowledge.tiers:
            tiers = "; then ".join(", ".join(tier) for tier in knowledge.tiers)
            lines.append(f"Earlier causes later: {tiers}.")
        for what in ("required", "forbidden"):
            if arrows := sorted(getattr(knowledge, what)):
                lines.append(f"{what}: {', '.join(f'{a} --> {b}' for a, b in arrows)}")
        return tuple(lines)

    def __repr__(self) -> str:
        draft = [self.warning()] if self.unconfirmed else []
        return "\n  ".join([f"Schema {self.name!r}: {self.told()}", *draft, *self.known()])

    def _repr_html_(self) -> str:
        from privet.schema.notebook import schema_html

        return schema_html(self)
