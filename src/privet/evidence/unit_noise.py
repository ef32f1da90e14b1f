"""How loud the noise of a pair's interaction will be, from public facts alone.

In unit contrasts, which are orthonormal. There are three ways to buy interactions: themselves,
with Gaussian noise (delta > 0) or with Laplace noise, or the table of all columns with Laplace
noise, from which all interactions follow. The last is the quietest where that table is small: a
row lies in one of its cells, whatever the number of pairs.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, islice
from math import prod
from statistics import median

from privet.privacy.ledger.conversion import Accounting, Number, budget_for, check_budget
from privet.privacy.queries.contrasts import GRID
from privet.privacy.queries.tables import Components, Tables
from privet.schema.model import Schema

Sets = list[tuple[str, ...]]

TRIPLES_PER_COLUMN = 12
LEFT = Fraction(19, 20)  # of the budget, for interactions; the rest measures margins
ACCOUNTING: Accounting = "gdp"  # of runs that measure interactions or moments on a cap of their own
# Noise takes 10 microseconds per cell; and few rows per cell leave nothing but noise anyway.
MOST_CELLS = 1 << 20


def of_interactions(schema: Schema, epsilon: Number, delta: Number) -> tuple[float, float]:
    """Variance after the first half of the budget, and after both, if about a dozen triples per
    column are measured."""
    half = budget_for(epsilon, delta, ACCOUNTING) / 2
    names = schema.names
    singles: Sets = list(combinations(names, 1))
    pairs: Sets = list(combinations(names, 2))
    few: Sets = list(islice(combinations(names, 3), TRIPLES_PER_COLUMN * len(names)))
    again: Sets = sorted({pair for triple in few for pair in combinations(triple, 2)}) or pairs
    rows: Sets = [] if schema.rows_are_public else [()]
    first = _variance(schema, [rows, singles, pairs], half, pure=delta == 0)
    second = _variance(schema, [singles, again, few], half, pure=delta == 0)
    return first, 1 / (1 / first + 1 / second)


def of_pairs(schema: Schema, budget: Number, *, pure: bool = False) -> float:
    """Variance, if this budget (rho, or a pure epsilon) measures the number of rows, all columns
    and all pairs."""
    groups: list[Sets] = [list(combinations(schema.names, order)) for order in range(3)]
    return _variance(schema, groups[schema.rows_are_public :], Fraction(budget), pure=pure)


def of_whole(schema: Schema, rows: int, columns: int, epsilon: Number) -> float:
    """Variance for a pair of so many levels, if the table of all columns is measured: a cell of
    the pair's table is a sum of cells with noise."""
    reach = Fraction(Tables((schema.names,)).l1(schema)) / check_budget(epsilon, 0)[0]
    return float(2 * reach**2 * cells(schema) / (rows * columns))


def whole_is_quieter(schema: Schema) -> bool:
    """Whether, with Laplace noise, the table of all columns tells more than interactions do. All
    noise grows alike with a smaller epsilon, so this is so at every epsilon or at none."""
    if cells(schema) > MOST_CELLS:
        return False
    return _typical(schema, 1) < of_interactions(schema, 1, 0)[1]


def pure_is_quieter(schema: Schema, epsilon: Number, delta: Number) -> bool:
    """Whether Laplace noise with delta = 0 has a smaller variance than Gaussian noise with this
    delta."""
    return typical(schema, epsilon, 0) < typical(schema, epsilon, delta)


def typical(schema: Schema, epsilon: Number, delta: Number) -> float:
    """Variance for the median pair, in the table of all columns where it is measured; else as if
    all that the margins leave measured pairs."""
    if delta == 0 and whole_is_quieter(schema):
        return _typical(schema, epsilon)
    return of_pairs(schema, LEFT * budget_for(epsilon, delta, ACCOUNTING), pure=delta == 0)


def cells(schema: Schema) -> int:
    """Of the table of all columns."""
    return prod(column.cardinality for column in schema.columns)


def _typical(schema: Schema, epsilon: Number) -> float:
    levels = [column.cardinality for column in schema.columns]
    return median(of_whole(schema, r, c, epsilon) for r, c in combinations(levels, 2))


def _variance(schema: Schema, groups: list[Sets], budget: Fraction, *, pure: bool) -> float:
    """Noise of one batch whose orders share the budget so that all have the same unit noise."""
    queries = [Components(tuple(group)) for group in groups if group]
    if pure:
        reach = sum(Fraction(q.l1(schema), GRID ** len(q.sets[0])) for q in queries)
        return float(2 * (reach / budget) ** 2)
    squared = sum(Fraction(q.l2_squared(schema), GRID ** (2 * len(q.sets[0]))) for q in queries)
    return float(squared / (2 * budget))
