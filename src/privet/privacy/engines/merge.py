"""Fewer bins from finer ones: codes that follow from the codes of the same rows.

Proof: ``proofs/cuts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.privacy.engines.work import Columns, Parts, Work
from privet.schema.column import Column
from privet.schema.model import Schema

Merge = Mapping[str, NDArray[np.unsignedinteger[Any]]]  # of some columns, the new code of each old


def merge_of(old: Schema, new: Schema) -> Merge:
    """For schemas that differ in their cuts alone, the new ones being among the old."""
    pairs = zip(old.columns, new.columns, strict=True)
    return {a.name: merged_codes(a, b) for a, b in pairs if a.cuts != b.cuts}


def merged_codes(old: Column, new: Column) -> NDArray[np.unsignedinteger[Any]]:
    """Of each code of a column, the one that it has with fewer cuts; missing stays a level."""
    codes = np.searchsorted(new.cuts, [-np.inf, *old.cuts], side="right")
    if old.missing == "level":
        codes = np.append(codes, new.cardinality - 1)
    return codes.astype(np.uint8 if new.cardinality <= 256 else np.uint16)


def merged(part: Columns, merge: Merge) -> dict[str, NDArray[Any]]:
    return {name: merge[name][c] if name in merge else c for name, c in part.items()}


@dataclass(frozen=True)
class MergedWork:
    """Work on merged codes, where the parts are."""

    work: Work
    merge: Merge
    numbers: ClassVar[bool] = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.work.columns

    def start(self) -> list[Integers]:
        return self.work.start()

    def add(self, totals: list[Integers], part: Columns) -> None:
        self.work.add(totals, merged(part, self.merge))


@dataclass(frozen=True)
class MergedParts:
    """The same table, in fewer bins."""

    parts: Parts
    merge: Merge

    def fold(self, work: Work) -> list[Integers]:
        return self.parts.fold(work if work.numbers else MergedWork(work, self.merge))

    def read(
        self, columns: tuple[str, ...], numbers: bool, keep: int | None = None
    ) -> Iterator[Columns]:
        for part in self.parts.read(columns, numbers, keep):
            yield part if numbers else merged(part, self.merge)
