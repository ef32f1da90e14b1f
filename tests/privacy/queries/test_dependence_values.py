"""Statistics of dependence, held against slow references in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import chain, combinations, permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from privet.privacy.queries.dependence_counts import NARROW, STATISTICS, UNIT
from privet.schema.model import MOST_ROWS

Integers = NDArray[np.int64]

UNORDERED = ("t1", "t2", "g2", "cmh")  # what the levels are called does not matter
FLOATS = ("t2", "g2")  # rounded from floats: within 1/4 and half of a unit
ROOM = Fraction(3, 4)


def fits(statistic: str, shape: tuple[int, ...]) -> bool:
    return statistic != "cmh" or shape[:2] == (2, 2)


def strata(table: Integers) -> Iterator[list[tuple[int, int]]]:
    """The records of each stratum, one by one."""
    for k in range(table.shape[2]):
        yield [
            (i, j)
            for i, j in product(range(table.shape[0]), range(table.shape[1]))
            for _ in range(table[i, j, k])
        ]


def sign(a: int, b: int) -> int:
    return (a > b) - (a < b)


def slow_kendall(records: list[tuple[int, int]]) -> Fraction:
    pairs = sum(sign(a, c) * sign(b, d) for (a, b), (c, d) in combinations(records, 2))
    return Fraction(9 * pairs, 2 * len(records) + 5)


def slow_spearman(records: list[tuple[int, int]]) -> Fraction:
    def ranks(values: list[int]) -> list[Fraction]:
        middle = [sorted(values).index(v) + Fraction(values.count(v) + 1, 2) for v in values]
        return [rank - Fraction(len(values) + 1, 2) for rank in middle]

    x, y = (ranks([record[i] for record in records]) for i in (0, 1))
    total = sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))
    return 4 * total / max(1, len(records)) ** 2


def centred(table: Integers) -> Iterator[Fraction]:
    """n_ijk - n_ik n_jk / n_k of one stratum."""
    x, y, n = table.sum(axis=1).tolist(), table.sum(axis=0).tolist(), max(1, int(table.sum()))
    for i, j in product(range(table.shape[0]), range(table.shape[1])):
        yield int(table[i, j]) - Fraction(x[i] * y[j], n)


def in_each_stratum(table: Integers) -> Iterator[Integers]:
    return (table[:, :, k] for k in range(table.shape[2]))


def cut(value: Fraction) -> int:
    return int(UNIT * value)  # towards 0


def reference(statistic: str, table: Integers) -> Fraction:
    """UNIT times the statistic, slowly and exactly; for t2 and g2, to many digits."""
    if statistic == "t1":
        parts = (sum(map(abs, centred(s)), Fraction(0)) for s in in_each_stratum(table))
        return Fraction(sum(map(cut, parts)))
    if statistic == "cmh":
        return Fraction(abs(sum(cut(next(centred(s))) for s in in_each_stratum(table))))
    if statistic in ("kendall", "spearman"):
        slow = slow_kendall if statistic == "kendall" else slow_spearman
        return Fraction(abs(sum(cut(slow(records)) for records in strata(table))))
    with localcontext() as context:
        context.prec = 60
        if statistic == "t2":
            cells = chain.from_iterable(centred(s) for s in in_each_stratum(table))
            squares = sum((cell * cell for cell in cells), Fraction(0))
            root = (Decimal(squares.numerator) / Decimal(squares.denominator)).sqrt()
            return Fraction(UNIT * root)
        total = Decimal(0)
        for s in in_each_stratum(table):
            for n, rest in zip(s.ravel().tolist(), centred(s), strict=True):
                if n:
                    ratio = n / (n - rest)
                    total += n * (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        return Fraction(2 * UNIT * total)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_statistic_is_what_its_formula_says(statistic: str) -> None:
    rng = np.random.default_rng(2)
    for shape in ((2, 2, 1), (2, 2, 3), (3, 4, 2), (5, 2, 4)):
        if not fits(statistic, shape):
            continue
        for most in (1, 2, 5):
            tables = rng.integers(0, most + 1, size=(12, *shape))
            tables[0] = 0  # without records
            tables[1, 0] = 0  # a level that never occurs
            tables[2, :, :, 0] = 0  # an empty stratum
            for table, value in zip(tables, STATISTICS[statistic](tables).tolist(), strict=True):
                exact = reference(statistic, table)
                room = ROOM if statistic in FLOATS else 0
                assert abs(value - exact) <= room


@pytest.mark.parametrize("statistic", ["t1", "t2", "cmh", "g2"])
def test_a_statistic_of_a_very_large_table_is_as_exact(statistic: str) -> None:
    """Up to MOST_ROWS rows, where products nearly fill 64 bits and floats have fewest digits."""
    rng = np.random.default_rng(3)
    for shape in ((2, 2, 1), (2, 2, 2), (24, 20, 2)):
        if not fits(statistic, shape):
            continue
        for spread in (0.02, 0.3, 30.0):
            table = rng.multinomial(MOST_ROWS, rng.dirichlet(np.full(np.prod(shape), spread)))
            table = table.astype(np.int64).reshape(shape)
            room = ROOM if statistic in FLOATS else 0
            value = int(STATISTICS[statistic](table[None])[0])
            assert abs(value - reference(statistic, table)) <= room


def test_rank_statistics_of_a_very_large_table_are_as_exact() -> None:
    """With the records of a small table each repeated, S and Q follow from it."""
    rng = np.random.default_rng(4)
    for times in (10, NARROW // 8, MOST_ROWS // 200):  # in and beyond 64 bits for Spearman
        table = rng.integers(0, 9, size=(4, 3, 1))
        m = int(table.sum())
        s = slow_kendall(next(strata(table))) * (2 * m + 5) * times**2
        q = slow_spearman(next(strata(table)))  # Q / m², which grows as the number of records
        large = (times * table)[None]
        assert STATISTICS["kendall"](large)[0] == cut(abs(s) / (2 * m * times + 5))
        assert STATISTICS["spearman"](large)[0] == cut(abs(q) * times)


def test_kendall_and_spearman_agree_with_scipy() -> None:
    from scipy.stats import kendalltau, spearmanr

    rng = np.random.default_rng(5)
    table = rng.integers(1, 9, size=(5, 4, 1))
    records = np.array(next(strata(table)))
    m = len(records)
    untied = [
        (m * m - int((counts**2).sum())) / 2
        for counts in (table.sum(axis=(1, 2)), table.sum(axis=(0, 2)))
    ]
    s = kendalltau(*records.T).statistic * np.sqrt(untied[0] * untied[1])  # tau-b to S
    assert STATISTICS["kendall"](table[None])[0] == pytest.approx(
        abs(UNIT * 9 * s / (2 * m + 5)), abs=1.01
    )
    squares = [
        (m**3 - int((counts**3).sum())) / 3
        for counts in (table.sum(axis=(1, 2)), table.sum(axis=(0, 2)))
    ]
    q = spearmanr(*records.T).statistic * np.sqrt(squares[0] * squares[1])
    assert STATISTICS["spearman"](table[None])[0] == pytest.approx(abs(UNIT * q / m**2), abs=1.01)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_names_of_levels_and_the_order_of_columns_do_not_matter(statistic: str) -> None:
    rng = np.random.default_rng(6)
    shape = (2, 2, 3) if statistic == "cmh" else (4, 3, 3)
    room = 1 if statistic in FLOATS else 0  # floats add up in another order
    for table in rng.integers(0, 9, size=(20, *shape)):
        value = int(STATISTICS[statistic](table[None])[0])
        same = [table.transpose(1, 0, 2), table[:, :, rng.permutation(shape[2])]]
        same.append(table[::-1])  # an order reversed: only signs change
        if statistic in UNORDERED:
            same += [table[list(order)] for order in permutations(range(shape[0]))]
        for other in same:
            assert abs(int(STATISTICS[statistic](other[None])[0]) - value) <= room


def test_independent_tables_have_statistics_of_zero() -> None:
    table = np.multiply.outer(np.multiply.outer([1, 3], [2, 5]), [1, 7, 0])[None]
    for measure in STATISTICS.values():
        assert measure(table).tolist() == [0]
