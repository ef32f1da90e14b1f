"""Reports in a secret order, so that the place of a report in a file tells nothing.

A table is often sorted, and by a column that matters: if reports kept its order, the reports
around a place would tell the answers of whoever stands there, however noisy each of them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import Integers
from privet.local.device.bits import Bits, alike
from privet.local.device.protocol import RESERVED

SHARDS = 32
MOST = 1 << 18  # reports that are held in memory at once

Columns = dict[str, NDArray[Any]]  # of a block of reports


def shuffled(
    names: Sequence[str], blocks: Iterable[Columns], folder: Path, bits: Bits
) -> Iterator[Columns]:
    """The same reports, every order of all of them being equally likely.

    Every report draws a shard, independently and uniformly. A shard of at most ``MOST`` reports is
    put into a uniformly random order in memory; a larger one is shuffled by this function; then
    come the reports of the next shard. Why the order of all is uniform: think of every report
    drawing the digits of a number, uniform and to the base ``SHARDS``, and of sorting by it. The
    numbers are independent, alike in law and different with probability one, so by symmetry every
    order is equally likely. The first digit is the shard, the next one the shard in the shard.
    Among reports whose digits agree so far, the further ones are again independent and uniform, so
    to sort by those is to take a uniformly random order, however many such reports there are.

    Memory is that of ``MOST`` reports, whatever the size of the file; the shards take as much
    disk as the reports. Randomness is the operating system's. The shards hold reports, never
    answers, but in the order of the answers: they belong into a private folder.
    """
    folder.mkdir()
    for shard in _scatter(names, blocks, folder, bits):
        if shard.rows > MOST:
            yield from shuffled(names, shard.blocks(), folder / "again", bits)
        elif shard.rows:
            (block,) = shard.blocks()
            order = random_order(shard.rows, bits)
            yield {name: block[name][order] for name in names}
        shard.remove()
    folder.rmdir()


def random_order(size: int, bits: Bits) -> Integers:
    """Every order of 0 .. size - 1 is equally likely: that of independent uniform words, by
    symmetry, if all differ. If two are equal all are drawn again, which favours no order."""
    while True:
        words = bits.words(size)
        order = np.argsort(words)
        if (words[order[1:]] != words[order[:-1]]).all():
            return order


@dataclass(kw_only=True)
class _Shard:
    """Reports in two files: numbers as words, and texts, of which none has a line break."""

    path: Path
    names: Sequence[str]
    rows: int = 0

    def add(self, block: Columns) -> None:
        texts, numbers = self._kinds()
        self.rows += len(block[self.names[0]])
        with self._file("numbers").open("ab") as file:
            file.write(np.stack([block[name] for name in numbers], axis=1).tobytes())
        with self._file("texts").open("ab") as file:
            rows = zip(*(block[name].tolist() for name in texts), strict=True)
            file.write("".join(f"{cell or ''}\n" for row in rows for cell in row).encode())

    def blocks(self) -> Iterator[Columns]:
        texts, numbers = self._kinds()
        with (
            self._file("numbers").open("rb") as words,
            self._file("texts").open(encoding="utf-8", newline="\n") as lines,
        ):
            for start in range(0, self.rows, MOST):
                rows = min(MOST, self.rows - start)
                codes = np.fromfile(words, np.int64, rows * len(numbers)).reshape(rows, -1)
                cells = [line[:-1] or None for line in islice(lines, rows * len(texts))]
                block = {name: codes[:, i] for i, name in enumerate(numbers)}
                for i, name in enumerate(texts):
                    block[name] = np.array(cells[i :: len(texts)], dtype=object)
                yield block

    def remove(self) -> None:
        for kind in ("numbers", "texts"):
            self._file(kind).unlink(missing_ok=True)

    def _file(self, kind: str) -> Path:
        return self.path.with_suffix(f".{kind}")

    def _kinds(self) -> tuple[list[str], list[str]]:
        texts = [name for name in self.names if name in RESERVED]
        return texts, [name for name in self.names if name not in RESERVED]


def _scatter(
    names: Sequence[str], blocks: Iterable[Columns], folder: Path, bits: Bits
) -> list[_Shard]:
    shards = [_Shard(path=folder / f"shard-{at}", names=names) for at in range(SHARDS)]
    for block in blocks:
        drawn = bits.below(SHARDS, len(block[names[0]]))
        for at, rows in alike(drawn):
            shards[at].add({name: block[name][rows] for name in names})
    return shards
