"""Tables of ten thousand million rows: nothing wraps, and bounds hold as they do below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest

from privet.arrays import Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import Query
from privet.privacy.queries.contrasts import contrasts
from privet.privacy.queries.dependence import Dependence
from privet.privacy.queries.dependence_counts import STATISTICS, UNIT
from privet.privacy.queries.distance import Distances
from privet.privacy.queries.moments import NORM, PAIR, Moments
from privet.privacy.queries.pairs import FINE, LossDifference
from privet.privacy.queries.tables import Components, Tables
from privet.privacy.queries.wide import LARGEST
from privet.schema.column import Column
from privet.schema.model import LARGEST_TABLE, Schema

ROWS = 10**10
COLUMNS = (
    *(Column(name=name, kind="ordinal", levels=("0", "1", "2")) for name in "abc"),
    *(Column(name=name, kind="numeric", bounds=(0, 1)) for name in "xy"),
)
NARROW = Schema(name="t", columns=COLUMNS)
WIDE = replace(NARROW, most_rows=ROWS)


class Pretended:
    """A table of counts and a total, as an engine would have found them in so many rows."""

    def __init__(self, table: Integers, total: Any = None) -> None:
        self.table, self.sums = table, total

    def table_batch(self, sets: Sequence[tuple[str, ...]]) -> list[Integers]:
        return [
            self.table.sum(axis=tuple(i for i, n in enumerate("abc") if n not in members))
            for members in sets
        ]

    def total(self, *_: object) -> Any:
        return self.sums


def answer(query: Query, rows: Pretended, schema: Schema = WIDE) -> list[int]:
    query.check(schema)
    found = query.evaluate(rows, schema)  # type: ignore[arg-type]
    assert found.dtype == np.int64
    return found.tolist()


def table(seed: int) -> Integers:
    """Uneven counts of about ROWS records."""
    shares = np.random.default_rng(seed).dirichlet(np.full(27, 0.3))
    counts: Integers = (shares * ROWS).astype(np.int64).reshape(3, 3, 3)
    return counts


def exact_t1(counts: Integers) -> int:
    total = 0
    for k in range(3):
        part = [[int(n) for n in line] for line in counts[:, :, k]]
        n = max(sum(map(sum, part)), 1)
        apart = sum(
            abs(Fraction(part[i][j] * n - sum(part[i]) * sum(line[j] for line in part), n))
            for i, j in product(range(3), repeat=2)
        )
        total += UNIT * apart.numerator // apart.denominator
    return total


def test_statistics_are_exact_at_ten_thousand_million_rows() -> None:
    for seed in range(5):
        counts = table(seed)
        asked = Dependence("t1", (("a", "b", "c"),))
        assert answer(asked, Pretended(counts)) == [exact_t1(counts)]
        part = counts.sum(axis=2)
        g2 = 2 * sum(
            int(n) * (log(int(n) * ROWS) - log(int(part[i].sum()) * int(part[:, j].sum())))
            for (i, j), n in np.ndenumerate(part)
            if n
        )
        (found,) = answer(Dependence("g2", (("a", "b"),)), Pretended(counts))
        assert found == pytest.approx(UNIT * g2, rel=1e-3)


def test_without_the_declaration_they_wrap() -> None:
    """So the tests above and below can fail."""
    wrong = [
        answer(Dependence("t1", (("a", "b", "c"),)), Pretended(table(seed)), NARROW)
        != [exact_t1(table(seed))]
        for seed in range(5)
    ]
    assert all(wrong)


def moved(statistic: str, schema: Schema, seed: int) -> int:
    """The farthest that one record more in any cell moves a statistic."""
    counts = table(seed)
    counts[seed % 3] = 0  # rare levels move statistics most
    asked = Dependence(statistic, (("a", "b", "c"),))
    (before,) = answer(asked, Pretended(counts), schema)
    far = 0
    for cell in np.ndindex(counts.shape):
        more = counts.copy()
        more[cell] += 1
        far = max(far, abs(answer(asked, Pretended(more), schema)[0] - before))
    return far


@pytest.mark.parametrize("statistic", [name for name in STATISTICS if name != "cmh"])
def test_one_record_moves_a_statistic_within_its_bound(statistic: str) -> None:
    bound = Dependence(statistic, (("a", "b", "c"),)).linf(WIDE)
    assert max(moved(statistic, WIDE, seed) for seed in range(3)) <= bound


def test_components_end_where_64_bits_do() -> None:
    counts = np.zeros((3, 3, 3), dtype=np.int64)
    counts[0, 0, 0] = LARGEST_TABLE
    found = answer(Components((("a", "b", "c"),)), Pretended(counts))
    h = contrasts(3, True)[:, 0].tolist()
    exact = [x * y * z * LARGEST_TABLE for x, y, z in product(h, repeat=3)]
    assert max(map(abs, exact)) > LARGEST
    assert found == [min(max(value, -LARGEST), LARGEST) for value in exact]
    assert answer(Tables((("a",),)), Pretended(counts)) == [LARGEST_TABLE, 0, 0]


def test_moments_and_losses_do_not_wrap() -> None:
    reach: dict[str, Any] = {"centres": (0.5, 0.5), "reaches": (0.5, 0.5)}
    unit = ((1 << 20, 0), (0, 1 << 20))
    query = Moments(columns=("x", "y"), **reach, transform=unit, radius=1.0, constant=9)
    found = answer(query, Pretended(table(0), np.full(9, NORM**2 * ROWS // 2)))
    assert found[1] == min(PAIR * NORM**2 * ROWS // 2, LARGEST)
    loss = LossDifference(x="x", y="y", bins=2, loss="squared")
    sums = np.zeros((2, 2, FINE + 1), dtype=np.int64)
    sums[0, 0, [0, FINE]] = ROWS // 2
    sums[1, 0, 5] = ROWS
    assert answer(loss, Pretended(table(0), sums.ravel())) == [-((FINE // 2) ** 2) * ROWS]


def test_what_cannot_be_had_is_refused_by_what_is_declared() -> None:
    two = replace(WIDE, columns=tuple(replace(c, levels=("0", "1")) for c in COLUMNS[:3]))
    with pytest.raises(SchemaError, match="most_rows = 10000000000"):
        Distances((("a", "b"),), 0.05).check(two)
