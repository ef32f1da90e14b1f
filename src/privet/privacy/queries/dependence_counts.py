"""Statistics of dependence in contingency tables, as whole numbers: UNIT times the statistic.

Every function takes tables of shape (questions, levels of x, levels of y, strata) and gives one
64-bit integer per question. A stratum that is empty or in which x or y is constant adds 0 like
any other; none is ever skipped, because one record could then switch a whole stratum on or off.

How far one record moves each of them is proved in ``proofs/statistics.md``. Where a statistic is a
sum of fractions over strata, each stratum's fraction is cut to a whole number by itself, so a
record changes the rounding of its own stratum only. T2 and G² are no fractions: they are rounded
from floats, and their bounds include what that can add. Tables of 64-bit integers serve up to
``schema.model.MOST_ROWS`` rows; tables of Python's own integers, any number.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from math import ceil, log

import numpy as np

from privet.arrays import Floats, Integers

UNIT = 1 << 10
# Up to here the cubes in Spearman's statistic fit 64 bits; above, Python's own integers are used.
NARROW = 1 << 20
DIGITS = 60  # of a T2 or G² of more than 2^31 rows, which have up to 30 before the point


def t1(tables: Integers) -> Integers:
    """Σ_ijk |n_ijk - n_ik n_jk / n_k|."""
    x, y, total = _margins(tables)
    apart = np.abs(tables * total[:, None, None] - x[:, :, None] * y[:, None])
    return _over_strata(_cut(apart.sum(axis=(1, 2)), np.maximum(total, 1)))


def t2(tables: Integers) -> Integers:
    """sqrt(Σ_ijk (n_ijk - n_ik n_jk / n_k)²), rounded from a float less than 1/4 away."""
    x, y, total = _margins(tables)
    apart = tables * total[:, None, None] - x[:, :, None] * y[:, None]
    if tables.dtype == object:
        return _decimals(_t2_exactly, apart, np.broadcast_to(total[:, None, None], apart.shape))
    centred = apart / np.maximum(total, 1)[:, None, None]
    return _rounded(np.sqrt(_sum(centred * centred)))


def cmh(tables: Integers) -> Integers:
    """|Σ_k (n_11k n_22k - n_12k n_21k) / n_k|, for two levels of x and of y: the numerator of
    the test of Cochran, Mantel and Haenszel."""
    across = tables[:, 0, 0] * tables[:, 1, 1] - tables[:, 0, 1] * tables[:, 1, 0]
    return np.abs(_over_strata(_cut(across, np.maximum(tables.sum(axis=(1, 2)), 1))))


def g2(tables: Integers) -> Integers:
    """2 Σ_ijk n_ijk ln(n_ijk n_k / (n_ik n_jk)), rounded from a float less than 1/4 away."""
    x, y, total = _margins(tables)
    some = tables > 0
    observed = np.where(some, tables * total[:, None, None], 1)
    expected = np.where(some, x[:, :, None] * y[:, None], 1)
    if tables.dtype == object:
        return _decimals(_g2_exactly, tables, observed, expected)
    terms = tables.astype(np.float64) * np.log(observed / expected)
    return _rounded(2 * _sum(terms))


def kendall(tables: Integers) -> Integers:
    """|Σ_k 9 S_k / (2 m_k + 5)|, with S_k the concordant less the discordant pairs of records
    in stratum k (a tied pair counts 0) and m_k its size."""
    balance = _balance(tables, 2)
    before = np.cumsum(balance, axis=1) - balance  # of all records with a smaller x
    pairs = (tables * before).sum(axis=(1, 2))
    return np.abs(_over_strata(_cut(pairs, 2 * tables.sum(axis=(1, 2)) + 5, 9)))


def spearman(tables: Integers) -> Integers:
    """|Σ_k Q_k / m_k²|, with Q_k the sum of a_x b_y over the records of stratum k, where a_x is
    how many have a smaller x less how many have a larger one, and b_y likewise."""
    total = tables.sum(axis=(1, 2))
    exact = tables if total.max(initial=0) <= NARROW else tables.astype(object)
    a, b = _balance(exact.sum(axis=2), 1), _balance(exact.sum(axis=1), 1)
    product = (a * (exact * b[:, None]).sum(axis=2)).sum(axis=1)
    size = np.maximum(exact.sum(axis=(1, 2)), 1)
    return np.abs(_over_strata(_cut(product, size * size)))


def first_records(table: Integers, most: int) -> Integers:
    """The first ``most`` records of a table, in the order of its cells. Tables that differ in one
    record still do so in at most one, and no more than ``most`` are left."""
    upto = np.minimum(np.cumsum(table.reshape(-1)), most)
    return np.diff(upto, prepend=0).reshape(table.shape)


def _margins(tables: Integers) -> tuple[Integers, Integers, Integers]:
    """Margins of x and of y in each stratum, and the strata's sizes."""
    x = tables.sum(axis=2)
    return x, tables.sum(axis=1), x.sum(axis=1)


def _balance(counts: Integers, axis: int) -> Integers:
    """For each level, how many records lie below it less how many lie above."""
    total: Integers = counts.sum(axis=axis, keepdims=True)
    return 2 * np.cumsum(counts, axis=axis) - counts - total


def _cut(numerator: Integers, denominator: Integers, times: int = 1) -> Integers:
    """UNIT * times * numerator / denominator, cut towards 0, without large products."""
    size, factor = np.abs(numerator), UNIT * times
    whole = size // denominator
    rest = size - whole * denominator
    cut: Integers = np.sign(numerator) * (factor * whole + factor * rest // denominator)
    return cut


def _over_strata(parts: Integers) -> Integers:
    total: Integers = parts.sum(axis=1).astype(np.int64)
    return total


def _sum(terms: Floats) -> Floats:
    """Sums over all but the first axis by halves: one rounding per doubling of their number,
    which a running sum does not promise."""
    terms = terms.reshape(len(terms), -1)
    while terms.shape[1] > 1:
        half = terms.shape[1] // 2
        folded = terms[:, :half] + terms[:, half : 2 * half]
        terms = np.concatenate([folded, terms[:, 2 * half :]], axis=1)
    return terms[:, 0]


def _rounded(statistic: Floats) -> Integers:
    return np.rint(UNIT * statistic).astype(np.int64)


def _decimals(each: Callable[..., Decimal], *parts: Integers) -> Integers:
    """UNIT times a number for each question, with so many digits that it is surely within 1/4."""
    lines = zip(*(part.reshape(len(part), -1).tolist() for part in parts), strict=True)
    with localcontext() as context:
        context.prec = DIGITS
        return np.array([int((UNIT * each(*line)).to_integral_value()) for line in lines], np.int64)


def _t2_exactly(apart: list[int], total: list[int]) -> Decimal:
    pairs = zip(apart, total, strict=True)
    return sum(((Decimal(a) / max(n, 1)) ** 2 for a, n in pairs), Decimal(0)).sqrt()


def _g2_exactly(counts: list[int], observed: list[int], expected: list[int]) -> Decimal:
    terms = zip(counts, observed, expected, strict=True)
    return 2 * sum((n * (Decimal(o).ln() - Decimal(e).ln()) for n, o, e in terms if n), Decimal(0))


STATISTICS: dict[str, Callable[[Integers], Integers]] = {
    "t1": t1,
    "t2": t2,
    "cmh": cmh,
    "g2": g2,
    "kendall": kendall,
    "spearman": spearman,
}


def added(statistic: str, rows: int, levels: int) -> int:
    """How far one record more, beside at most ``rows`` others, moves UNIT times a statistic of
    two columns of which one has at most ``levels`` levels."""
    if statistic == "g2":
        return ceil(2 * UNIT * _psi(rows)) + 1
    if statistic == "kendall":  # from 9/2 for two levels up to 27/4 for many
        return -(-9 * UNIT * (3 * levels - 4) // (4 * (levels - 1)))
    if statistic == "spearman":  # 1 for two levels, else 5/3
        return UNIT if levels == 2 else 1707
    return {"t1": 4 * UNIT, "t2": 2 * UNIT + 1, "cmh": UNIT}[statistic]


def replaced(statistic: str, rows: int, levels: int) -> int:
    """How far another record in the place of one, among at most ``rows``, moves it."""
    if statistic == "g2":
        return ceil(2 * UNIT * (_psi(rows - 1) + _psi(rows // 2))) + 1
    if statistic == "t2":
        return 2897  # 2 sqrt(2) is 2896.31 in units, and rounding adds less than 3/2
    return 2 * added(statistic, rows, levels)


def _psi(m: int) -> float:
    """At least (m + 1) ln(m + 1) - m ln m, by less than 1 / (2m); of 0, that is 0."""
    return 1 + log(m + 1) if m else 0.0
