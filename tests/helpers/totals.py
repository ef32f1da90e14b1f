"""Sums over rows, for tables that a test makes up: they say what ``numbers`` are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator

import numpy as np

from privet.arrays import Floats, Integers


class Totals:
    @abstractmethod
    def numbers(self, columns: tuple[str, ...]) -> Iterator[Floats]: ...

    def total(
        self, columns: tuple[str, ...], size: int, each: Callable[[Integers, Floats], None]
    ) -> Integers:
        total = np.zeros(size, dtype=np.int64)
        for block in self.numbers(columns):
            each(total, block)
        return total
