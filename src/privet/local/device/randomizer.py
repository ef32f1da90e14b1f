"""The device: from one person's row to the one report that leaves it. Proof: proofs/local.md.

The rule: one person, one report. Somebody who is named gets the first report again if the answers
are the same, and is refused if they are not, as long as the Randomizer lives, and in the process
that made it. Two reports made with fresh randomness, by another Randomizer (such as a copy in
another process) or under another name, give away the sum of their epsilons.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from privet.arrays import Integers
from privet.errors import DataError, MethodError
from privet.local.device.answers import Answers
from privet.local.device.bits import Bits, Law, alike
from privet.local.device.blocks import Block, cell, codes_of, make
from privet.local.device.channel import RandomizedResponse
from privet.local.device.protocol import Protocol
from privet.local.device.recipes import plan_protocol, worth_it
from privet.privacy.ledger.conversion import Number
from privet.schema.model import Schema

Reports = dict[str, Integers]


def named(person: str | None) -> str | None:
    """A name as it is written and compared: on one line, without spaces around it."""
    return " ".join((person or "").split()) or None


class Randomizer:
    """Makes reports by a protocol, or by the one that suits a schema and an epsilon."""

    def __init__(
        self, source: Protocol | Schema, epsilon: Number | None = None, *, protocol: str = "auto"
    ) -> None:
        if isinstance(source, Schema):
            source = worth_it(plan_protocol(source, epsilon, protocol))
        elif epsilon is not None or protocol != "auto":
            raise MethodError("a protocol has its epsilon and its name; give a schema, or no more")
        self.protocol = source
        self._bits = Bits()
        self._answers = Answers(source.columns)
        self._channels: dict[int, RandomizedResponse] = {}
        self._sent: dict[str, tuple[bytes, bytes]] = {}  # person: answers, report
        self._lock, self._process = threading.Lock(), os.getpid()

    def report(self, row: Mapping[str, object], person: str | None = None) -> dict[str, int | str]:
        """The report of one row. Without a name every call is another person."""
        name = named(person)
        made = self.report_codes(self._answers.of_row(row), None if name is None else [name])
        found: dict[str, int | str] = {"protocol": self.protocol.id}
        if name is not None:
            found["person"] = name
        return found | {name: int(values[0]) for name, values in made.items()}

    def report_texts(
        self, columns: Sequence[Sequence[str | None]], people: Sequence[str | None] | None = None
    ) -> Reports:
        """Reports of many rows, from the texts of every column in the order of the schema. They
        come in the order of the rows, which may tell what the answers were: whoever sends
        them on together shuffles them first, as ``local.files.randomize_file`` does."""
        return self.report_codes(self._answers.of_columns(columns), people)

    def report_codes(self, codes: Integers, people: Sequence[str | None] | None = None) -> Reports:
        """Reports of many rows, in their order, from an array (people, attributes) of codes."""
        codes = self._checked(codes)
        if people is None:
            return self._fresh(codes)
        with self._lock:
            return self._remembered(codes, [named(person) for person in people])

    def _remembered(self, codes: Integers, people: Sequence[str | None]) -> Reports:
        names, answers = self.protocol.report_columns, codes.astype("<u2")
        first = self._first(people, answers)
        made = self._fresh(codes[first])
        rows = np.stack([made[name] for name in names], axis=1)
        for at, row in zip(first, rows, strict=True):
            person = people[at]
            if person is not None:
                self._sent[person] = (answers[at].tobytes(), row.tobytes())
        out = np.empty((len(codes), len(names)), dtype=np.int64)
        out[first] = rows
        for at in sorted(set(range(len(codes))) - set(first)):
            person = people[at]
            assert person is not None
            out[at] = np.frombuffer(self._sent[person][1], dtype=np.int64)
        return {name: out[:, i] for i, name in enumerate(names)}

    def _first(self, people: Sequence[str | None], answers: np.ndarray) -> list[int]:
        """Whose first report is due; everybody is refused if somebody's answers have changed."""
        first: list[int] = []
        now: dict[str, bytes] = {}
        for at, person in enumerate(people):
            if person is None:
                first.append(at)
                continue
            before = self._sent[person][0] if person in self._sent else now.get(person)
            if before is None and os.getpid() != self._process:
                raise MethodError(
                    "this Randomizer was made in another process, which may answer for the same "
                    "people; make reports of named people in one process"
                )
            if before is None:
                now[person] = answers[at].tobytes()
                first.append(at)
            elif before != answers[at].tobytes():
                raise DataError(
                    "somebody is named twice, with different answers; one person sends one "
                    "report: keep one row of each"
                )
        return first

    def _checked(self, codes: Integers) -> Integers:
        found = np.asarray(codes, dtype=np.int64)
        sizes = np.array(self.protocol.sizes)
        fits = found.ndim == 2 and found.shape[1] == len(sizes)
        if not (fits and (found >= 0).all() and (found < sizes).all()):
            raise MethodError(
                f"codes must be an array of people by {len(sizes)} columns, each from 0 to below "
                f"the number of its levels"
            )
        return found

    def _fresh(self, codes: Integers) -> Reports:
        protocol = self.protocol
        if protocol.family == "attributes":
            pairs = zip(protocol.schema.names, protocol.channels, codes.T, strict=True)
            return {name: channel.sample(column, self._bits) for name, channel, column in pairs}
        if protocol.family == "grid":
            drawn = protocol.channels[0].sample(cell(codes, protocol.sizes), self._bits)
            columns = codes_of(drawn, protocol.sizes).T
            return dict(zip(protocol.schema.names, columns, strict=True))
        return self._asked(codes)

    def _asked(self, codes: Integers) -> Reports:
        """Everybody draws a block; those who drew the same one are answered together."""
        blocks = self.protocol.blocks
        drawn = self._law.draw(self._bits, len(codes))
        out = np.empty((3, len(codes)), dtype=np.int64)
        for at, people in alike(drawn):
            block = blocks[at]
            out[0, people] = block.mask
            out[1:, people] = self._answered(block, codes[people][:, list(block.attributes)])
        made = dict(zip(("block", "key", "cell"), out, strict=True))
        return {name: made[name] for name in self.protocol.report_columns}

    def _answered(self, block: Block, codes: Integers) -> tuple[Integers, Integers]:
        """Key and cell. The key is drawn before, and apart from, what is made of the answers."""
        protocol, size = self.protocol, len(codes)
        key = self._bits.below(protocol.keys(block), size)
        truth = make(protocol.kind, protocol.sizes_of(block), codes, key, block.power)
        shown = np.full(size, block.power) if protocol.kind == "product" else key
        return shown, self._channel(block).sample(truth, self._bits)

    @cached_property
    def _law(self) -> Law:
        return Law([block.weight for block in self.protocol.blocks])

    def _channel(self, block: Block) -> RandomizedResponse:
        """Channels by number of cells: few, and each prepared once."""
        made = self.protocol.channel(block)
        return self._channels.setdefault(made.cells, made)
