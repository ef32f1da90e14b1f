"""BIC, AIC and BDeu from exact tables.

With N the counts of the table of a column set S, n their sum and c the number of cells, the
worth of S is

    BIC     Σ N log(N / n) - w/2 (c - 1) log n
    AIC     Σ N log(N / n) - (c - 1)
    BDeu    Σ log Γ(N + a/c) / Γ(a/c) - log Γ(n + a) / Γ(a)

so that a family scores its log likelihood less w/2 log n for each free number of its table
[Schwarz 1978], or less 1 [Akaike 1974], or its log marginal likelihood under a Dirichlet prior
that weighs as much as a rows, evenly spread [Heckerman, Geiger, Chickering 1995]. w is the penalty
discount; a is 10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import gammaln, xlogy

from privet.arrays import Floats, Indices
from privet.evidence.exact_tables import ExactTables
from privet.scores.families import Families

# A wider table is never worth it. An arrow that completes a table of c cells gains at most
# n log k, k the fewer levels of its two ends, and costs BIC at least c/2 (1 - 1/k)² log n. With
# c = 10^5 none pays up to n = 150,000, for k up to 32; at n = 10^6 it would have to explain 0.17
# nats of every row, from ten rows per cell.
MOST_CELLS = 10**5
# The prior of BDeu weighs as much as so many rows.
SAMPLE_SIZE = 10.0


def bic(tables: ExactTables, penalty: float = 1.0) -> Families:
    """Above 1, ``penalty`` keeps fewer edges; below, more."""

    return _likelihood(tables, lambda rows: penalty / 2 * np.log(np.maximum(rows, 1.0)))


def aic(tables: ExactTables) -> Families:
    return _likelihood(tables, np.ones_like)


def _likelihood(tables: ExactTables, price: Callable[[Floats], Floats]) -> Families:
    """Less a price for each free number, which the number of rows sets."""

    def worth(counts: Floats) -> Floats:
        rows = counts.sum(axis=1)
        likelihood = xlogy(counts, counts).sum(axis=1) - xlogy(rows, rows)
        return np.asarray(likelihood - (counts.shape[1] - 1) * price(rows))

    return Counted(tables, worth)


def bdeu(tables: ExactTables, sample_size: float = SAMPLE_SIZE) -> Families:
    def worth(counts: Floats) -> Floats:
        prior, rows = sample_size / counts.shape[1], counts.sum(axis=1)
        cells, held = np.zeros(counts.shape), counts > 0  # most cells of wide tables are empty
        cells[held] = gammaln(counts[held] + prior) - gammaln(prior)
        return np.asarray(cells.sum(axis=1) - gammaln(rows + sample_size) + gammaln(sample_size))

    return Counted(tables, worth)


class Counted(Families):
    """Scores from ``cells``, which takes stacks of flat tables with as many cells."""

    def __init__(self, tables: ExactTables, cells: Callable[[Floats], Floats]) -> None:
        self._tables, self._cells = tables, cells
        self._levels = np.array(tables.cardinalities, dtype=np.float64)
        super().__init__(self._of_sets)

    def _of_sets(self, sets: Indices) -> Floats:
        return self._by_shape(sets[:, :0], sets, lambda stack: self._cells(stack[:, 0, 0]))

    def gains(self, questions: Indices) -> Floats:
        pairs, given = np.sort(questions[:, :2], axis=1), np.sort(questions[:, 2:], axis=1)
        return self._by_shape(pairs, given, self._gained)

    def _gained(self, stack: Floats) -> Floats:
        """Of tables x by y by the rest: all four sets of a gain are margins of the whole."""
        with_x, with_y = stack.sum(axis=2), stack.sum(axis=1)
        whole, one, other, rest = (
            self._cells(part.reshape(len(stack), -1))
            for part in (stack, with_x, with_y, with_x.sum(axis=1))
        )
        return np.asarray(whole + rest - (one + other))

    def _by_shape(self, pairs: Indices, given: Indices, of: Callable[[Floats], Floats]) -> Floats:
        """Of each table, as x by y by the rest (1 by 1 by all, if there are no pairs)."""
        out = np.full(len(given), -np.inf)
        sets, ends = np.concatenate([pairs, given], axis=1), self._levels[pairs]
        shapes = np.column_stack((ends, self._levels[given].prod(axis=1)))
        narrow = np.flatnonzero(shapes.prod(axis=1) <= MOST_CELLS)
        counted = self._tables.tables(sets[narrow])
        shapes = shapes[narrow].astype(np.intp)
        for same in _equal(shapes):
            shape = (1, 1, *shapes[same[0]])[-3:]
            stack = np.array([counted[i].reshape(shape) for i in same], dtype=np.float64)
            out[narrow[same]] = of(stack)
        return out


def _equal(shapes: Indices) -> Iterator[Indices]:
    """Positions of equal rows."""
    order = np.lexsort(shapes.T)
    if len(order):
        yield from np.split(order, np.flatnonzero(np.diff(shapes[order], axis=0).any(axis=1)) + 1)
