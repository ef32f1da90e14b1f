"""What may be asked of rows, as frozen data, and how much one person can change the answer.

A query knows its sensitivity in integers from the schema alone, and how to compute its integer
answer from ``Rows``: exactly, or rounded from a real number (T2, G², HSIC), and then what floating
point and rounding may add is part of its sensitivity. No query trusts the declared number of rows.
It never holds rows. Under ``add-remove`` one record is added or removed; under ``replace-one`` one
record takes the place of another. A person with up to ``r`` rows moves an answer ``r`` times as far
(triangle inequality), so every bound is multiplied by ``r`` (by ``r**2`` when squared).

A query says all there is to know of it in its own file. With ``@codec`` its answers may be kept in
files of evidence, and nothing else has to be edited.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Protocol, TypeVar

import numpy as np

from privet.arrays import Floats, Integers, Weight
from privet.errors import MethodError
from privet.privacy.queries.codec import decoded, encoded
from privet.schema.model import Adjacency, Schema


class Rows(Protocol):
    """What a query may ask of encoded rows; only the vault has one."""

    def counts(self, columns: tuple[str, ...]) -> Integers: ...

    def table_batch(self, sets: Sequence[tuple[str, ...]]) -> list[Integers]: ...

    def fans(self, asked: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> list[Integers]:
        """For each base and some other columns: how many rows have each cell of the table of the
        base (a row) and each level of the others, one after the other."""

    def total(
        self, columns: tuple[str, ...], size: int, each: Callable[[Integers, Floats], None]
    ) -> Integers:
        """What ``each`` adds to a total for every block (rows x columns) of numbers. Blocks may lie
        on other machines: ``each`` is part of a query, or a partial of one."""

    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]:
        """The blocks themselves, for what is no sum over rows; all are fetched."""

    def weighed(self, columns: tuple[str, ...], weight: Weight) -> Rows:
        """The same rows for tables, in which each counts as often as its weight says. It is a
        function of the row's own codes in these columns."""

    def cut(self, schema: Schema) -> Rows:
        """The same rows for tables, encoded by a schema that differs from that of the vault in
        where free columns are cut, and in nothing else."""


class Query(Protocol):
    """A question with integer sensitivities that follow from the schema alone.

    A query derives from this. It must say ``check``, ``size``, ``linf`` and ``evaluate``; for the
    rest there is a default, which may be bettered.
    """

    name: ClassVar[str] = ""  # in files; ``codec`` sets this and the next
    evidence: ClassVar[str] = ""
    # Whether the answers were made step by step for one search: no other search, no other options
    # and no other knowledge can make anything else of them.
    one_search: ClassVar[bool] = False
    # Whether the answer about the rows of several tables is the sum of the answers about each.
    additive: ClassVar[bool] = False

    @abstractmethod
    def check(self, schema: Schema) -> None: ...

    @abstractmethod
    def size(self, schema: Schema) -> int: ...

    def l1(self, schema: Schema) -> int:
        """No number moves by more than ``linf``; some queries know better, here and below."""
        return self.size(schema) * self.linf(schema)

    def l2_squared(self, schema: Schema) -> int:
        return self.size(schema) * self.linf(schema) ** 2

    @abstractmethod
    def linf(self, schema: Schema) -> int: ...

    @abstractmethod
    def evaluate(self, rows: Rows, schema: Schema) -> Integers: ...

    def kind(self, schema: Schema) -> str:
        """What searches call this kind of evidence."""
        return self.evidence

    def is_exact(self, release: Release, schema: Schema) -> bool:
        """Whether this release is an answer that the rows can change, without noise."""
        silent = release.variance == 0 and self.l2_squared(schema) != 0
        return silent or release.mechanism.startswith("Exact")

    def check_answer(self, release: Release, schema: Schema) -> None:
        """Refuses what no data can have answered; a file may come from anywhere."""
        return

    @property
    def epsilon_of_reports(self) -> Fraction | None:
        """What people gave away by reports that were private before anybody collected them."""
        return None


Q = TypeVar("Q", bound=Query)


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
    """A private answer that carries its own noise: integers and their variance. ``site`` is who
    gave it, where several hold rows about the same columns."""

    query: Query
    values: Integers
    variance: float
    mechanism: str
    site: str = ""

    def asked(self, kind: type[Q]) -> Q:
        """The query, which must be of this kind."""
        if not isinstance(self.query, kind):
            raise TypeError(f"this answers {self.query}, which is no {kind.__name__}")
        return self.query


class Histograms(Query):
    """Tables of counts, one unless ``tables`` says otherwise.

    Sensitivity. A row lies in one cell of each of the ``m`` tables: adding or removing it moves
    ``m`` counts by 1; replacing it at most ``2m``. See ``proofs/counts.md``.
    """

    additive = True

    def tables(self) -> int:
        return 1

    def l1(self, schema: Schema) -> int:
        return records_changed(schema) * self.tables() * schema.rows_per_person

    def l2_squared(self, schema: Schema) -> int:
        # r rows of one person may all move the same cell: r**2, and two cells when replaced
        return records_changed(schema) * self.tables() * schema.rows_per_person**2

    def linf(self, schema: Schema) -> int:
        return schema.rows_per_person

    def check_answer(self, release: Release, schema: Schema) -> None:
        if release.variance == 0 and (release.values < 0).any():
            raise ValueError("a negative count")


class Unbounded(Query):
    """A question without any privacy: one row can turn the answer, and no bound is known."""

    def linf(self, schema: Schema) -> NoReturn:
        raise MethodError(
            f"{self} has no known bound on what one person can change, so no noise makes it "
            "private; run it with ⟦private=False⟧, or use a method that is private"
        )

    def is_exact(self, release: Release, schema: Schema) -> bool:
        return True


class Derived(Query):
    """The kind of a release that follows from private answers; nobody asks for it at once."""

    def linf(self, schema: Schema) -> NoReturn:
        raise MethodError(
            f"the {self} cannot be asked of rows, since they follow from other answers; "
            "run the method that makes them"
        )

    def evaluate(self, rows: Rows, schema: Schema) -> NoReturn:
        self.linf(schema)

    def is_exact(self, release: Release, schema: Schema) -> bool:
        return release.mechanism.lower().startswith("exact")  # each answer says it for itself


def all_rows(rows: Rows, columns: tuple[str, ...]) -> Floats:
    """The numbers of all rows, sorted: what is summed in floating point then depends on which rows
    there are, bit for bit, and not on their order. For questions without privacy."""
    whole = np.concatenate([np.empty((0, len(columns))), *rows.numbers(columns)])
    return whole[np.lexsort(whole.T[::-1])]


def records_changed(schema: Schema) -> int:
    """How many records one row makes differ: itself, and the one whose place it takes."""
    return 1 if schema.adjacency is Adjacency.ADD_REMOVE else 2


_KNOWN: dict[str, type[Query]] = {}


def codec(name: str, *, evidence: str) -> Callable[[type[Q]], type[Q]]:
    """Releases of this query (a frozen dataclass) may be kept: what files call the query, and what
    searches call the evidence. How it is written follows from its fields and their types."""

    def register(query: type[Q]) -> type[Q]:
        if name in _KNOWN:
            raise ValueError(f"files know a query {name!r} already; choose another name")
        query.name, query.evidence = name, evidence
        _KNOWN[name] = query
        return query

    return register


def to_document(query: Query) -> dict[str, Any]:
    if _KNOWN.get(query.name) is not type(query):
        raise TypeError(f"{type(query).__name__} has no codec, so it cannot be kept; give it one")
    return {"kind": query.name, **encoded(query)}


def from_document(document: dict[str, Any]) -> Query:
    """The query that was written, or a KeyError, TypeError or ValueError."""
    parts = dict(document)
    return decoded(_KNOWN[parts.pop("kind")], parts)


def is_known(name: str) -> bool:
    """Whether the file of the query that files call so has been imported."""
    return name in _KNOWN
