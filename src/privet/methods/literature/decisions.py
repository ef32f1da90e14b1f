"""What an interactive search has found: which pairs were separated, and by what.

Methods that ask the vault one question after another get selections and yes-or-no answers. All
that is left of them in the end are the separations, which are private already and so may be kept,
shown and searched again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privet.errors import EvidenceError
from privet.privacy.queries.base import Derived, Release, codec
from privet.schema.model import Schema


@dataclass(frozen=True, kw_only=True)
class Separation:
    """Columns x and y (by their places) were found independent given some others."""

    x: int
    y: int
    given: tuple[int, ...]


@codec("Decisions", evidence="decisions")
@dataclass(frozen=True)
class Decisions(Derived):
    """The kind of a release that holds separations, each as x, y, how many given, and these;
    ``tests`` is the number of questions that were asked for them."""

    one_search: ClassVar[bool] = True
    tests: int
    length: int

    def __str__(self) -> str:
        return f"separations from {self.tests} tests"

    def check(self, schema: Schema) -> None:
        """There is nothing to ask of rows: separations are found one by one."""

    def size(self, schema: Schema) -> int:
        return self.length

    def check_answer(self, release: Release, schema: Schema) -> None:
        read(release, len(schema.columns))


def as_release(separations: Sequence[Separation], tests: int, mechanism: str) -> Release:
    """Separations as a release; ``mechanism`` is what made their answers private."""
    flat = [n for s in separations for n in (s.x, s.y, len(s.given), *s.given)]
    values = np.array(flat, dtype=np.int64)
    query = Decisions(tests=tests, length=len(flat))
    return Release(query=query, values=values, variance=0.0, mechanism=mechanism)


def read(release: Release, columns: int) -> tuple[Separation, ...]:
    """The separations, or an error if no search of so many columns can have found them."""
    flat, found = release.values.tolist(), []
    while flat:
        x, y, size = (*flat[:3], -1, -1, -1)[:3]
        named = [x, y, *flat[3 : 3 + max(size, 0)]]
        if len(named) != 2 + size or len(set(named)) < len(named):
            raise EvidenceError("these are no separations; take a fresh copy of the evidence")
        if min(named) < 0 or max(named) >= columns:
            raise EvidenceError("a separation names no column; take a fresh copy of the evidence")
        found.append(Separation(x=x, y=y, given=tuple(named[2:])))
        flat = flat[3 + size :]
    return tuple(found)
