"""Rows that are encoded already, so that thousands of runs of a method take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.graph.knowledge import Knowledge
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.run import Run
from privet.privacy.vault import Vault
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.central import Central

Records = Sequence[Sequence[int]]


class Encoded(Vault):
    """A vault that skips reading; check, charge, compute, blur and hand out are as ever."""

    def __init__(self, schema: Schema, records: Records, run: Run | None) -> None:
        self.schema, self._run, self._rows, self._keep = schema, run, None, None
        self._source: Any = None
        self._encoder: Any = self
        self.rows = lambda _: encoded(schema, records)


def encoded(schema: Schema, records: Records) -> MemoryRows:
    table = np.array(records, dtype=np.uint8).reshape(-1, len(schema.names))
    codes = {name: table[:, i] for i, name in enumerate(schema.names)}
    return MemoryRows(schema, lambda: codes, dict)


def binary(names: str, knowledge: Knowledge | None = None) -> Schema:
    columns = tuple(Column(name=n, kind="categorical", levels=("0", "1")) for n in names)
    return Schema(name="people", columns=columns, knowledge=knowledge or Knowledge())


def paid(schema: Schema, records: Records, epsilon: float, delta: float = 0.0) -> Central:
    """A curator with a fresh budget in memory."""
    run = Ledger(":memory:").begin(
        schema.name, epsilon=epsilon, delta=delta, method="test", unit=schema.unit
    )
    return Central(vault=Encoded(schema, records, run), run=run)


def neighbours(records: Records, width: int) -> list[list[Sequence[int]]]:
    """One record of two-level columns more, or one less; the order of records means nothing."""
    more = [[*records, new] for new in np.ndindex(*[2] * width)]
    firsts = [records.index(record) for record in dict.fromkeys(map(tuple, records))]
    return more + [[*records[:i], *records[i + 1 :]] for i in firsts]
