"""The place of a report in a file tells nothing: every order is equally likely, and secret.

False alarms: one in a million for each test.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate, pairwise, permutations
from math import comb, factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from privet.local import plan_protocol
from privet.local.device import files, shuffle
from privet.local.device.bits import Bits
from privet.local.device.files import randomize_file
from privet.local.device.shuffle import Columns, random_order, shuffled
from tests.helpers.laws import FALSE_ALARM, categorical, fits

HALF = 600  # people with the first answer, and with the second one


def kept(_names: Any, blocks: Iterator[Columns], *_: Any) -> Iterator[Columns]:
    """The planted fault: reports in the order of the answers."""
    return blocks


def in_order(size: int, _bits: Bits) -> Any:
    """Another one: shards are drawn, but not shuffled."""
    return np.arange(size)


def sorted_file(folder: Path, suffix: str = ".csv") -> list[int]:
    """Reports of people sorted by their answers, at an epsilon at which a report is the truth."""
    (folder / "a.csv").write_text("a0,a1\n" + "v0,v0\n" * HALF + "v1,v1\n" * HALF)
    protocol = plan_protocol(categorical(2, 2), 100, "component-wise")
    done = randomize_file(folder / "a.csv", protocol, folder / f"r{suffix}", force=True)
    if suffix == ".csv":
        return [int(line.split(",")[1]) for line in done.reports.read_text().splitlines()[1:]]
    import duckdb

    return [row[0] for row in duckdb.execute(f"SELECT a0 FROM '{done.reports}'").fetchall()]


def tells_by_place(seen: list[int]) -> bool:
    """How many are right who take the answer at a place for that of the person who had it."""
    law = hypergeom(2 * HALF, HALF, HALF)
    low, high = law.ppf(FALSE_ALARM / 4), law.isf(FALSE_ALARM / 4)
    return not low <= sum(seen[:HALF]) <= high


def tells_by_neighbours(seen: list[int]) -> bool:
    """Wald and Wolfowitz: the exact law of the number of runs of equal answers."""
    runs = 1 + sum(a != b for a, b in pairwise(seen))
    ways = [0, 0]
    for k in range(1, HALF + 1):
        ways += [2 * comb(HALF - 1, k - 1) ** 2, 2 * comb(HALF - 1, k) * comb(HALF - 1, k - 1)]
    below = list(accumulate(ways))
    total = below[-1]
    assert total == comb(2 * HALF, HALF)
    share = min(Fraction(below[runs], total), Fraction(total - below[runs - 1], total))
    return float(share) < FALSE_ALARM / 4


def tells(seen: list[int]) -> bool:
    assert sum(seen) == HALF and len(seen) == 2 * HALF
    return tells_by_place(seen) or tells_by_neighbours(seen)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("most", [shuffle.MOST, 7])
def test_a_sorted_file_gives_no_answer_away(
    suffix: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, and by shards of shards."""
    monkeypatch.setattr(shuffle, "MOST", most)
    monkeypatch.setattr("privet.privacy.engines.source.BLOCK_ROWS", 100)
    assert not tells(sorted_file(tmp_path, suffix))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "protocol.json", f"r{suffix}"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_order_that_is_kept_is_caught(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "shuffled", kept)
    seen = sorted_file(tmp_path, suffix)
    assert tells_by_place(seen) and tells_by_neighbours(seen)


def test_an_order_that_is_kept_in_shards_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffle, "random_order", in_order)
    assert tells_by_neighbours(sorted_file(tmp_path))


def orders(size: int) -> dict[Any, Fraction]:
    return {order: Fraction(1, factorial(size)) for order in permutations(range(size))}


def test_every_order_in_memory_is_equally_likely() -> None:
    drawn = [tuple(random_order(5, Bits()).tolist()) for _ in range(20_000)]
    assert fits(drawn, orders(5))
    assert random_order(0, Bits()).tolist() == [] and random_order(1, Bits()).tolist() == [0]


def test_words_that_are_equal_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """To break ties by place would favour the order of the input."""
    words = Bits.words
    monkeypatch.setattr(Bits, "words", lambda self, size: words(self, size) % 4)
    assert fits((tuple(random_order(3, Bits()).tolist()) for _ in range(3000)), orders(3))


def block(values: range) -> Columns:
    numbers = np.array(values, dtype=np.int64)
    return {"protocol": np.array(["x"] * len(values), dtype=object), "cell": numbers}


def scattered(folder: Path, size: int) -> tuple[int, ...]:
    made = shuffled(("protocol", "cell"), [block(range(size))], folder / "s", Bits())
    return tuple(value for part in made for value in part["cell"].tolist())


def test_every_order_by_way_of_shards_is_equally_likely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two shards of at most one report: all of the order comes from drawing shards, again and
    again; with at most two, from both. A fault in either part is caught."""
    monkeypatch.setattr(shuffle, "SHARDS", 2)
    for most in (1, 2):
        monkeypatch.setattr(shuffle, "MOST", most)
        assert fits([scattered(tmp_path, 3) for _ in range(300)], orders(3))
    monkeypatch.setattr(shuffle, "random_order", in_order)
    assert not fits([scattered(tmp_path, 3) for _ in range(600)], orders(3))


def test_memory_is_bounded_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than MOST reports at once, names of all kinds, and no file left."""
    monkeypatch.setattr(shuffle, "MOST", 20)
    monkeypatch.setattr(shuffle, "SHARDS", 3)
    names = [None, "é", 'a "b", c', "x\0y", "語", "\ufeff"]
    people = [names[i % 6] for i in range(1000)]
    whole = {**block(range(1000)), "person": np.array(people, dtype=object)}
    columns = ("protocol", "person", "cell")
    parts = [{n: whole[n][i : i + 250] for n in columns} for i in range(0, 1000, 250)]
    made = list(shuffled(columns, parts, tmp_path / "s", Bits()))
    assert max(len(part["cell"]) for part in made) <= 20
    rows = [row for part in made for row in zip(*(part[n].tolist() for n in columns), strict=True)]
    assert sorted(rows, key=lambda row: row[2]) == [("x", p, i) for i, p in enumerate(people)]
    assert list(tmp_path.iterdir()) == []


def test_the_order_is_the_operating_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its bytes given, the order is given; other generators are not asked."""
    random.seed(1)
    np.random.seed(1)
    before = (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]

    def order(seed: int) -> tuple[int, ...]:
        monkeypatch.setattr(os, "urandom", random.Random(seed).randbytes)
        return scattered(tmp_path, 100)

    assert order(1) == order(1) != order(2)
    after = (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]
    assert before == after
