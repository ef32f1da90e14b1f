"""How short a code can say a column, given curves of its parents: MDL, from one Gram matrix.

After the idea of GLOBE [Mian, Marx, Vreeken 2021]. With n rows of m columns, y given the parents S
costs

    n/2 log(rss / n) + c (number of terms) + log |S| + |S| log m    nats

The terms are chosen one by one, the best first, as long as one saves more than its own length c.
Candidates are, of each parent, x itself and its hinges max(0, x - k) at five knots, and of each two
parents the four products of x or max(0, x) of the one with that of the other. c = 16.5 log 2 +
log(number of candidates): a coefficient to two digits, and which one. That does not depend on n.

All of it is a function of the second moments of the columns and their candidates, which are the
same for every y and S: the rows are gone through once. The score of a DAG is not that of its
class: it is shorter where curves point the right way.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, log

import numpy as np

from privet.arrays import Floats, Indices
from privet.search.protocols import Locals

# Where the hinges are: at these shares of a column's own numbers, unless knots are given.
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
COEFFICIENT = 16.5 * log(2)
# What is left of a candidate's variance, below which it says nothing that others do not.
SPENT = 1e-9
BLOCK = 1 << 13  # rows at a time, so that memory stays bounded


@dataclass(frozen=True)
class SplineMoments:
    """Covariances of all candidates of all columns: first those of each column (x and its
    hinges), then the four products of each pair of columns, in the order of ``combinations``."""

    rows: int
    columns: int
    hinges: int
    covariance: Floats

    @staticmethod
    def width(columns: int) -> int:
        """How many candidates so many columns have, unless knots are given."""
        return (1 + len(SHARES)) * columns + 4 * comb(columns, 2)

    @staticmethod
    def of(numbers: Floats, knots: Floats | None = None) -> SplineMoments:
        """From rows, which should have mean 0 and deviation 1; ``knots[j]`` are those of column j.

        Without knots they are quantiles of these very rows, which is not private.
        """
        at = np.quantile(numbers, SHARES, axis=0).T if knots is None else knots
        rows, columns = numbers.shape
        width = (1 + at.shape[1]) * columns + 4 * comb(columns, 2)
        sums, products = np.zeros(width), np.zeros((width, width))
        for start in range(0, rows, BLOCK):
            some = _candidates(numbers[start : start + BLOCK], at)
            sums += some.sum(axis=0)
            products += some.T @ some
        covariance = products / rows - np.outer(sums, sums) / rows**2
        return SplineMoments(rows, columns, at.shape[1], covariance)

    def own(self, column: int) -> list[int]:
        """Where x and its hinges are; x comes first."""
        width = 1 + self.hinges
        return list(range(width * column, width * (column + 1)))

    def products(self, first: int, second: int) -> list[int]:
        """Where the products of two columns are, the first before the second."""
        before = first * self.columns - first * (first + 1) // 2 + second - first - 1
        start = (1 + self.hinges) * self.columns + 4 * before
        return list(range(start, start + 4))

    def candidates(self, parents: list[int]) -> list[int]:
        single = [at for parent in parents for at in self.own(parent)]
        pairs = combinations(sorted(parents), 2)
        return single + [at for pair in pairs for at in self.products(*pair)]


def _candidates(numbers: Floats, knots: Floats) -> Floats:
    positive = np.maximum(numbers, 0.0)
    found = []
    for j, x in enumerate(numbers.T):
        found += [x, *(np.maximum(x - knot, 0.0) for knot in knots[j])]
    for i, j in combinations(range(numbers.shape[1]), 2):
        for one in (numbers[:, i], positive[:, i]):
            found += [one * numbers[:, j], one * positive[:, j]]
    return np.stack(found, axis=1)


def spline_mdl(moments: SplineMoments) -> Locals:
    """Local scores: minus the length of the code, so that higher is better."""

    def local(child: int, parents: Indices) -> Floats:
        lengths = _lengths(moments, child, parents)
        count = parents.shape[1]
        return np.asarray(-lengths - log(max(count, 1)) - count * log(moments.columns))

    return local


def _lengths(moments: SplineMoments, child: int, parents: Indices) -> Floats:
    """Code lengths of the child's numbers and of the terms, for each parent set."""
    target = moments.own(child)[0]
    left = np.full(len(parents), moments.covariance[target, target])
    if parents.shape[1] == 0:
        return _fit(moments, left)
    at = np.array([[target, *moments.candidates(row)] for row in parents.tolist()])
    price = COEFFICIENT + log(at.shape[1] - 1)
    rest = moments.covariance[at[:, :, None], at[:, None, :]]
    start = np.einsum("bii->bi", rest)[:, 1:].copy()
    terms = np.zeros(len(at))
    active = np.arange(len(at))
    while len(active):
        best, remaining = _best_term(rest[active], start[active])
        saved = _fit(moments, left[active]) - _fit(moments, remaining) > price
        active, best = active[saved], best[saved]
        left[active], terms[active] = remaining[saved], terms[active] + 1
        rest[active] = _without(rest[active], best)
    return np.asarray(_fit(moments, left) + price * terms)


def _fit(moments: SplineMoments, variance: Floats) -> Floats:
    return np.asarray(moments.rows / 2 * np.log(np.maximum(variance, SPENT)))


def _best_term(rest: Floats, start: Floats) -> tuple[Indices, Floats]:
    """The candidate that explains most of what is left of the target, and what is left then."""
    variance = np.einsum("bii->bi", rest)[:, 1:]
    usable = variance > SPENT * start
    explained = np.where(usable, rest[:, 0, 1:] ** 2 / np.where(usable, variance, 1.0), 0.0)
    best = explained.argmax(axis=1)
    remaining = rest[:, 0, 0] - explained[np.arange(len(best)), best]
    return best + 1, np.asarray(remaining)


def _without(rest: Floats, term: Indices) -> Floats:
    """Covariances of what is left when the term is known."""
    row = rest[np.arange(len(term)), term]
    scale = row[np.arange(len(term)), term]
    return np.asarray(rest - row[:, :, None] * (row / scale[:, None])[:, None, :])
