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

What each cell adds is rounded to a grid on which sums are exact: so a set is worth the same however
its cells are added up, and equal gains are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, lru_cache
from math import log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from privet.arrays import Bools, Floats, Indices, Integers
from privet.evidence.exact_tables import ExactTables
from privet.scores import compiled
from privet.scores.families import Families

# A wider table is never worth it. An arrow that completes a table of c cells gains at most
# n log k, k the fewer levels of its two ends, and costs BIC at least c/2 (1 - 1/k)² log n. With
# c = 10^5 none pays up to n = 150,000, for k up to 32; at n = 10^6 it would have to explain 0.17
# nats of every row, from ten rows per cell.
MOST_CELLS = 10**5
# Cells, with all columns beside them, that are worked out at a time.
MOST_TOGETHER = 1 << 21
FEW_TOGETHER = 1 << 16  # so few that each is narrow enough, and all are worked out at once
# The prior of BDeu weighs as much as so many rows.
SAMPLE_SIZE = 10.0
# Sums of multiples of 1/GRID are exact where n log n is below 2^53 / GRID: for MOST_EXACT rows.
GRID = 1 << 31
LARGEST_KNOWN = 1 << 16  # counts up to which N log N is looked up
MOST_EXACT = 300_000  # rows

# What cells with these counts add, in tables of so many cells (that broadcast).
Terms = Callable[[Integers, Floats | float], Floats]
# What tables with so many rows, and so many cells each, add beside that.
Constant = Callable[[float, Floats | float], Floats | float]


def bic(tables: ExactTables, penalty: float = 1.0) -> Families:
    """Above 1, ``penalty`` keeps fewer edges; below, more."""

    return _likelihood(tables, lambda rows: penalty / 2 * log(max(rows, 1.0)))


def aic(tables: ExactTables) -> Families:
    return _likelihood(tables, lambda rows: 1.0)


def _likelihood(tables: ExactTables, price: Callable[[float], float]) -> Families:
    """Less a price for each free number, which the number of rows sets."""

    @cache
    def numbers(rows: float) -> tuple[float, float]:
        return float(_on_grid(xlogy(rows, rows))), float(_on_grid(price(rows)))

    def constant(rows: float, cells: Floats | float) -> Floats | float:
        whole, each = numbers(rows)
        return -whole - (cells - 1) * each

    return Likelihood(tables, Logs(), constant)


class Logs:
    """N log N, which is looked up where N is small."""

    def __call__(self, counts: Integers, _cells: Floats | float) -> Floats:
        largest = int(counts.max())
        if largest > LARGEST_KNOWN:
            return _on_grid(xlogy(counts, counts))
        return self.up_to(largest)[counts]

    @staticmethod
    def up_to(largest: int) -> Floats:
        return _n_log_n(largest.bit_length())


@lru_cache(maxsize=8)
def _n_log_n(bits: int) -> Floats:
    """Of all numbers with so many bits; the same for all tables, so that it is worked out once."""
    numbers = np.arange(1 << bits)
    known = _on_grid(xlogy(numbers, numbers))
    known.setflags(write=False)
    return known


def bdeu(tables: ExactTables, sample_size: float = SAMPLE_SIZE) -> Families:
    def terms(counts: Integers, cells: Floats | float) -> Floats:
        held = counts > 0  # most cells of wide tables are empty
        prior = np.broadcast_to(sample_size / cells, counts.shape)[held]
        out = np.zeros(counts.shape)
        out[held] = _on_grid(gammaln(counts[held] + prior) - gammaln(prior))
        return out

    def constant(rows: float, _cells: Floats | float) -> float:
        return float(_on_grid(gammaln(sample_size) - gammaln(rows + sample_size)))

    return Counted(tables, terms, constant)


class Counted(Families):
    """Scores from what the cells of a table add, and a constant of the table."""

    def __init__(self, tables: ExactTables, terms: Terms, constant: Constant) -> None:
        self._tables, self._terms, self._constant = tables, terms, constant
        self._levels = np.array(tables.cardinalities, dtype=np.intp)
        self._owners = np.repeat(np.arange(len(self._levels)), self._levels)  # of all levels
        super().__init__(self._of_sets)

    def _of_sets(self, sets: Indices) -> Floats:
        return self._by_shape(sets[:, :0], sets, lambda stack: self._cells(stack[:, 0, 0]))

    def gains(self, questions: Indices) -> Floats:
        if questions.shape[1] == 2 and self._of_pairs is not None:
            return self._of_pairs[questions[:, 0], questions[:, 1]]
        return self._by_shape(questions[:, :2], questions[:, 2:], self._gained)

    def _gained(self, stack: Integers) -> Floats:
        """Of tables x by y by the rest: all four sets of a gain are margins of the whole."""
        with_x, with_y = stack.sum(axis=2), stack.sum(axis=1)
        whole, one, other, rest = (
            self._cells(part.reshape(len(stack), -1))
            for part in (stack, with_x, with_y, with_x.sum(axis=1))
        )
        return np.asarray(whole + rest - (one + other))

    def _cells(self, counts: Integers) -> Floats:
        """The worth of flat tables, all of the same rows."""
        rows, cells = float(counts[0].sum()), float(counts.shape[1])
        return np.asarray(self._terms(counts, cells).sum(axis=1) + self._constant(rows, cells))

    def _by_shape(self, pairs: Indices, given: Indices, of: Callable[[Integers], Floats]) -> Floats:
        """Of each table, as x by y by the rest (1 by 1 by all, if there are no pairs)."""
        out = np.full(len(given), -np.inf)
        sets = np.concatenate([pairs, given], axis=1)
        ends = self._levels[pairs] if pairs.shape[1] else np.ones((len(given), 2))
        shapes = np.column_stack((ends, _product(self._levels[given])))
        narrow = np.flatnonzero(_product(shapes) <= MOST_CELLS)
        for same, stack in self._tables.stacks(sets[narrow], shapes[narrow].astype(np.intp)):
            out[narrow[same]] = of(stack)
        return out

    def rows(self, ys: Indices, given: Indices, asked: Bools) -> Floats:
        if not given.shape[1]:
            told = self._of_pairs
            if told is None:
                return super().rows(ys, given, asked)
            return np.where(asked, told[ys], 0.0)
        bases = np.column_stack((ys, given))
        bases.sort(axis=1)
        cells = _product(self._levels[bases])
        fits = asked & (cells[:, None] * self._levels <= MOST_CELLS)
        out = np.where(asked & ~fits, -np.inf, 0.0)
        some = np.flatnonzero(fits.any(axis=1))
        batch = (cells[some] * len(self._owners)).cumsum() // MOST_TOGETHER
        for same in np.split(some, np.flatnonzero(np.diff(batch)) + 1) if len(some) else ():
            for part in self._portions(cells[same], fits[same]):
                found = self._beside(ys[same], bases[same], part)
                out[same] = np.where(part, found, out[same])
        return out

    def _portions(self, cells: Floats, fits: Bools) -> Iterator[Bools]:
        """All columns at once; of one large base, some at a time, so that memory stays bounded."""
        if len(cells) > 1 or cells[0] * len(self._owners) <= MOST_TOGETHER:
            yield fits
            return
        levels = np.where(fits[0], self._levels, 0).cumsum()
        batch = levels // max(1, MOST_TOGETHER // int(cells[0]))
        for each in np.unique(batch[fits[0]]).tolist():
            yield fits & (batch == each)

    @cached_property
    def _of_pairs(self) -> Floats | None:
        """What every column adds to every other one, with nothing given, if that is at hand."""
        pairs = self._tables.pairs
        if pairs is None:
            return None
        levels, one = pairs.levels, np.ones(1, dtype=np.intp)
        own = np.diag(pairs.matrix)[:, None]
        rows = own[: levels[0]].sum(axis=0, keepdims=True)
        total = float(rows[0, 0])
        whole = self._sums(pairs.matrix, levels, levels, total)
        alone = self._sums(own, levels, one, total)
        return whole + self._cells(rows) - (alone + alone.T)

    def _beside(self, ys: Indices, bases: Indices, fits: Bools) -> Floats:
        """What columns that fit add to y, which is in the base. All levels of all columns lie side
        by side, and under each other the cells of all bases, in which y runs fastest: so one sum
        serves whatever the shapes. What no column was asked for is empty, and adds nothing."""
        every = fits.shape[1]
        found = zip(self._tables.fans([*map(tuple, bases.tolist())], fits), fits, strict=True)
        fans = [self._tables.picked(fan, (*np.flatnonzero(own).tolist(),)) for fan, own in found]
        columns = np.flatnonzero(fits.any(axis=0))
        fits, levels = fits[:, columns], self._levels[columns]
        owners = np.repeat(np.arange(len(columns)), levels)
        cells, own = np.array([len(fan) for fan in fans]), self._levels[ys]
        order = (_last(*each) for each in zip(self._shapes(bases), _places(bases, ys), strict=True))
        whole = np.zeros((cells.sum(), len(owners)), dtype=np.int64)
        whole[np.repeat(fits[:, owners], cells, axis=0)] = np.concatenate(
            [fan[at].reshape(-1) for fan, at in zip(fans, order, strict=True)]
        )
        base = whole.sum(axis=1) // np.repeat(fits.sum(axis=1), cells)
        ends = np.repeat(own, cells // own).cumsum()
        starts = np.append(0, ends[:-1])
        without, rest = (np.add.reduceat(part, starts, axis=0) for part in (whole, base))
        rows = float(base[: cells[0]].sum())
        one = np.ones(1, dtype=np.intp)
        with_y = self._sums(whole, cells, levels, rows)
        added = with_y - self._sums(without, cells // own, levels, rows)
        alone = self._sums(base[:, None], cells, one, rows)
        alone -= self._sums(rest[:, None], cells // own, one, rows)
        out = np.zeros((len(ys), every))
        out[:, columns] = added - alone
        return out

    def _sums(self, counts: Integers, cells: Indices, levels: Indices, rows: float) -> Floats:
        """The worth of tables: so many cells lie under each other in each, and beside each other
        the levels of some columns."""
        beside = np.multiply.outer(cells.astype(np.float64), levels)
        each = np.repeat(np.repeat(beside, levels, axis=1), cells, axis=0)
        below = np.add.reduceat(self._terms(counts, each), cells.cumsum() - cells, axis=0)
        terms = np.add.reduceat(below, levels.cumsum() - levels, axis=1)
        return np.asarray(terms + self._constant(rows, beside))

    def _shapes(self, sets: Indices) -> list[tuple[int, ...]]:
        return [*map(tuple, self._levels[sets].tolist())]


class Likelihood(Counted):
    """Scores of which each cell adds n log n: where it was compiled, fan by fan."""

    def __init__(self, tables: ExactTables, logs: Logs, constant: Constant) -> None:
        super().__init__(tables, logs, constant)
        self._logs = logs
        self._at_hand: tuple[Any, ...] | None = None

    def _held(self) -> tuple[Any, ...] | None:
        """What is known, for compiled scores; None if there are none, or sums are not exact, so
        that their order matters."""
        if self._at_hand is None and (numbers := self._numbers(self._tables.rows)) is not None:
            self._at_hand = self._tables.held, *numbers
        return self._at_hand

    def _numbers(self, rows: int | None) -> tuple[Any, ...] | None:
        """What compiled scores of so many rows go by."""
        if not compiled.gains or rows is None or rows > MOST_EXACT:
            return None
        each = float(self._constant(rows, 1.0)) - float(self._constant(rows, 2.0))
        return self._levels.astype(np.int64), self._logs.up_to(rows), each

    @cached_property
    def _of_pairs(self) -> Floats | None:
        pairs = self._tables.pairs
        numbers = None if pairs is None else self._numbers(pairs.rows)
        if pairs is None or numbers is None:
            return super()._of_pairs
        ys = np.arange(len(self._levels), dtype=np.int64)
        asked = np.tri(len(ys), k=-1, dtype=bool).T
        out = np.zeros(asked.shape)
        compiled.gains.rows(pairs.fans, *numbers, ys, ys[:0], np.ascontiguousarray(asked), out)
        return out + out.T

    def rows(self, ys: Indices, given: Indices, asked: Bools) -> Floats:
        held = self._ready() if given.shape[1] else None
        if held is None:
            return super().rows(ys, given, asked)
        out = np.zeros(asked.shape)
        sets = np.ascontiguousarray(ys, np.int64), np.ascontiguousarray(given, np.int64)
        missing = self._fill(*held, *sets, np.ascontiguousarray(asked), out)
        if missing:
            out[missing] = super().rows(ys[missing], given[missing], asked[missing])
        return out

    def spelled(self, ys: bytes, given: bytes, flags: bytes) -> Any:
        held, out = self._ready() if given else None, bytearray(8 * len(flags))
        if held is None or self._fill(*held, ys, given, flags, out):
            return super().spelled(ys, given, flags)
        return out

    def _ready(self) -> tuple[Any, ...] | None:
        if self._tables.rows is None:
            self._foresee()
        return self._held()

    def _fill(self, *call: Any) -> list[int]:
        """Has rows worked out, for which fans are counted; those of which fans are too large."""
        missing = compiled.gains.rows(*call)
        if missing and self._count([(base, xs) for _, base, xs in missing]):
            missing = compiled.gains.rows(*call)
        return [row for row, _, _ in missing]

    def gains(self, questions: Indices) -> Floats:
        """From fans of either end, compiled or not: so both ask for the same tables."""
        rows = self._tables.rows
        if questions.shape[1] == 2 or rows is None or rows > MOST_EXACT:
            return super().gains(questions)
        held = self._held()
        if held is None:
            self._count(self._lacking(questions.tolist()))
            return super().gains(questions)
        out, asked = np.empty(len(questions)), np.ascontiguousarray(questions, np.int64)
        call = *held, asked.shape[1], asked, out
        missing = compiled.gains.questions(*call)
        if missing:
            if self._count(self._lacking(questions[missing].tolist())):
                compiled.gains.questions(*call)
            else:
                out[missing] = super().gains(questions[missing])
        return out

    def _lacking(self, questions: list[list[int]]) -> list[tuple[tuple[int, ...], int]]:
        """The fans to be counted for questions of which neither end has one."""
        has, found = self._tables.has, []
        for x, y, *given in questions:
            base, other = tuple(sorted((y, *given))), tuple(sorted((x, *given)))
            if not has(base, 1 << x) and not has(other, 1 << y):
                found.append((base, 1 << x))
        return found

    def _count(self, fans: list[tuple[tuple[int, ...], int]]) -> bool:
        """Counts fans, if they are so small that each is narrow enough."""
        levels = self._tables.cardinalities
        cells = sum([prod([levels[i] for i in base]) for base, _ in fans])
        if cells * len(self._owners) > FEW_TOGETHER:
            return False
        self._tables.learn(fans)
        return True

    def _foresee(self) -> None:
        """Counts at once what is soon asked for, one after the other: all columns beside the pairs
        of a tree that gains most, since nearly all of these are joined on the way."""
        if self._of_pairs is not None and self._tables.open:
            every = (1 << len(self._levels)) - 1
            tree = _tree(self._of_pairs)
            self._count([((x, y), every & ~(1 << x | 1 << y)) for x, y in tree])

    def _beside(self, ys: Indices, bases: Indices, fits: Bools) -> Floats:
        self._tables.fans([*map(tuple, bases.tolist())], fits)
        held = self._held()
        if held is None:
            return super()._beside(ys, bases, fits)
        out = np.zeros(fits.shape)
        given = bases[bases != ys[:, None]].astype(np.int64)
        sets = ys.astype(np.int64), given, np.ascontiguousarray(fits)
        assert not compiled.gains.rows(*held, *sets, out), "all were counted"
        return out


def _tree(gains: Floats) -> list[tuple[int, int]]:
    """Of all pairs that gain anything, the best ones that close no circle."""
    xs, ys = np.nonzero(np.triu(gains, 1) > 0)
    order = np.argsort(-gains[xs, ys], kind="stable")
    part, found = [*range(len(gains))], []  # columns that are joined have the same number
    for x, y in zip(xs[order].tolist(), ys[order].tolist(), strict=True):
        if (one := part[x]) != (other := part[y]):
            found.append((x, y))
            part = [one if own == other else own for own in part]
    return found


def _places(bases: Indices, ys: Indices) -> list[int]:
    """Of each y in its base."""
    return [int(at) for at in (bases == ys[:, None]).argmax(axis=1)]


@lru_cache(maxsize=1 << 10)
def _last(shape: tuple[int, ...], axis: int) -> Indices:
    """The cells of a table in the order in which this axis runs fastest."""
    return np.moveaxis(np.arange(prod(shape)).reshape(shape), axis, -1).reshape(-1)


def _product(levels: NDArray[Any]) -> Floats:
    """Of each row, however large."""
    return np.asarray(levels.astype(np.float64).prod(axis=1))


def _on_grid(values: Floats | float) -> Floats:
    return np.asarray(np.rint(np.asarray(values) * GRID) / GRID)
