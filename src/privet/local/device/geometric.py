"""Bounded geometric channels: near values are likelier than far ones.

Three versions. ``fixed``, as published by Binkyte et al. (2023), with one probability ``p_max`` of
the truth: P(y | x) = p_max exp(-e_x |y - x|), the rate e_x chosen for each input such that the row
sums to 1. Its true levels exceed every e_x and are computed from its integer weights. And two that
are exactly as private as they are meant to be: ``clamped``, on a line, an unbounded geometric
variable moved to the nearest value inside; and ``one_rate``, on a grid in any norm, with one rate
for all inputs, chosen by the largest loss that follows. Rates come from decimals of 50 digits, so
that every machine gets the same channel. Proof: proofs/local.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.errors import MethodError
from privet.local.device.bits import MOST
from privet.local.device.channel import Matrix, odds_below

MOST_CELLS = 4096  # of a grid whose whole channel is written down
MOST_CLAMPED = 128  # levels; its weights are powers with as many factors
DIGITS = 50
SPARE_BITS = 128  # of the smallest weight, so that rounding is nothing beside any epsilon
SLACK = 1 - Fraction(1, 1 << 41)  # of epsilon, given up so that rounding stays below it

# What one input sees: every distance > 0 to the power of the norm, and how many outputs have it.
Seen = tuple[tuple[int, int], ...]
Distances = list[tuple[Decimal, int]]  # the same, as distances


def fixed(sizes: Sequence[int], p_max: Fraction, norm: float = 1) -> Matrix:
    """The channel on the grid of these sizes (row by row, the last coordinate fastest) that tells
    the truth with probability ``p_max``."""
    check_p_max(sizes, p_max)
    with localcontext(Context(prec=DIGITS)):
        truth = _decimal(p_max)
        return _matrix(sizes, norm, lambda seen: (truth, _rate(seen, norm, p_max)))


def one_rate(sizes: Sequence[int], odds: Fraction, norm: float = 1) -> Matrix:
    """The channel on a grid with P(y | x) in proportion to odds^-|y - x|, for every x."""
    check_sizes(sizes)
    with localcontext(Context(prec=DIGITS)):
        rate = _decimal(odds).ln()
        return _matrix(
            sizes, norm, lambda seen: (1 / (1 + _sum(_distances(seen, norm), rate)), rate)
        )


def _matrix(
    sizes: Sequence[int], norm: float, law: Callable[[Seen], tuple[Decimal, Decimal]]
) -> Matrix:
    """Integer weights of P(y | x) = truth exp(-rate |y - x|), truth and rate by what x sees. They
    are rounded down, and what is left over goes to the truth."""
    views = [_view(keys) for keys in _keys(sizes, norm)]
    laws = {seen: law(seen) for seen in {seen for seen, _ in views}}
    farthest = {seen: _distance(seen[-1][0], norm) for seen in laws}
    least = max(rate * farthest[seen] - truth.ln() for seen, (truth, rate) in laws.items())
    places = SPARE_BITS + math.ceil(least / Decimal(2).ln())
    tables = {}
    for seen, (truth, rate) in laws.items():
        distances, whole = _distances(seen, norm), truth * (1 << places)
        others = [int(whole * (-rate * distance).exp()) for distance, _ in distances]
        spent = sum(w * n for w, (_, n) in zip(others, distances, strict=True))
        tables[seen] = np.array([(1 << places) - spent, *others], dtype=object)
    return Matrix(weights=tuple(tuple(tables[seen][at].tolist()) for seen, at in views))


def clamped(levels: int, odds: Fraction) -> Matrix:
    """A geometric variable around x, moved into 0 .. levels - 1; a step has odds ``odds`` to 1."""
    check_clamped(levels)
    a, b = odds.numerator, odds.denominator

    def weight(x: int, y: int) -> int:
        far = abs(x - y)
        end = y in (0, levels - 1)
        return int(b**far * a ** (levels - 1 - far) * (a if end else a - b))

    return Matrix(weights=tuple(tuple(weight(x, y) for y in range(levels)) for x in range(levels)))


def p_max_for(sizes: Sequence[int], epsilon: Fraction, norm: float = 1) -> Fraction:
    """The largest ``p_max`` whose channel loses no more than epsilon between any two inputs.

    Every P(y | x) is at most p_max, which P(y | y) attains, so the loss is the largest of
    e_x times the largest distance from x; each such bound on e_x is one on p_max.
    """
    check_sizes(sizes)
    aim = epsilon * SLACK
    cells = math.prod(sizes)
    places = SPARE_BITS + math.ceil(3 * epsilon) + 4 * cells.bit_length()
    with localcontext(Context(prec=DIGITS + places // 3)):
        least = min(
            1 / (1 + _sum(distances, _decimal(aim) / distances[-1][0]))
            for distances in _different(sizes, norm)
        )
        return Fraction(int(least * (1 << places)), 1 << places)


def odds_for(sizes: Sequence[int], epsilon: Fraction, norm: float = 1) -> Fraction:
    """The odds per unit of distance with which ``one_rate`` loses epsilon between its inputs.

    With N_x the sum of exp(-r |y - x|) over y, the loss is the largest r |x - y| + ln N_x - ln N_y
    (proofs/local.md); it is at least r times the largest distance.
    """
    check_sizes(sizes)
    apart, fold = _apart(sizes, norm)
    aim = float(epsilon * SLACK)
    aim -= min(1e-13, aim / 4)

    def loss(rate: float) -> float:
        logs = np.log(np.exp(-rate * apart).sum(axis=1))
        return float((rate * apart + logs[:, None] - logs[fold]).max())

    return odds_below(_solved(loss, aim, aim / apart.max()))


def odds_for_success(sizes: Sequence[int], success: Fraction, norm: float = 1) -> Fraction:
    """The odds per unit of distance with which ``one_rate`` lets an attacker to whom all inputs
    are alike guess right so often: the mean over x of 1 / N_x."""
    check_p_max(sizes, success)
    apart, fold = _apart(sizes, norm)

    def guessed(rate: float) -> float:
        return float((1 / np.exp(-rate * apart).sum(axis=1))[fold].mean())

    high = 1.0
    while guessed(high) < float(success):
        high *= 2
    return odds_below(_solved(guessed, float(success), high))


def _solved(rising: Callable[[float], float], aim: float, high: float) -> Fraction:
    """The largest rate up to ``high``, to 15 digits, at which a level is not above its aim."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) <= aim else (low, middle)
    return Fraction(f"{low:.15g}") * SLACK


def _apart(sizes: Sequence[int], norm: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances (inputs, outputs) from the inputs of which all others are mirror images, and for
    every cell the place of its image among these."""
    grid = np.indices(tuple(sizes)).reshape(len(sizes), -1)
    first = [
        keys
        for keys, x in zip(_keys(sizes, norm), grid.T, strict=True)
        if (2 * x < np.array(sizes)).all()
    ]
    images = np.minimum(grid, np.array(sizes)[:, None] - 1 - grid)
    fold = np.ravel_multi_index(tuple(images), tuple((size + 1) // 2 for size in sizes))
    power = 1.0 if norm == math.inf else 1 / norm
    return np.array(first, dtype=float) ** power, fold


def rates(sizes: Sequence[int], p_max: Fraction, norm: float = 1) -> tuple[float, float]:
    """The least and the largest rate e_x, which the published text calls levels of privacy."""
    check_p_max(sizes, p_max)
    with localcontext(Context(prec=DIGITS)):
        different = {_view(keys)[0] for keys in _keys(sizes, norm)}
        found = [float(_rate(seen, norm, p_max)) for seen in different]
    return min(found), max(found)


def check_sizes(sizes: Sequence[int]) -> None:
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        raise MethodError(
            f"a geometric channel on {cells} cells is too large to be written down; at most "
            f"{MOST_CELLS} are possible: declare fewer levels, or randomise the columns one by one"
        )


def check_clamped(levels: int) -> None:
    if levels > MOST_CLAMPED:
        raise MethodError(
            f"a clamped geometric channel on {levels} levels is too large to be written down; at "
            f"most {MOST_CLAMPED} are possible: declare fewer, or leave ⟦clamped¦--clamped⟧ away"
        )


def check_p_max(sizes: Sequence[int], p_max: Fraction) -> None:
    check_sizes(sizes)
    check_success(math.prod(sizes), p_max)


def check_success(cells: int, success: Fraction) -> None:
    """Whether an attacker can be right with this probability, and still not always."""
    if not success * cells > 1:
        raise MethodError(
            f"a success of {float(success):g} is impossible for {cells} values: a guess without "
            f"any report is right with probability 1/{cells}; choose a larger one, below 1"
        )
    if not success < 1:
        raise MethodError(
            f"a success of {float(success):g} is no protection; choose one above 1/{cells} and "
            f"below 1"
        )


def _keys(sizes: Sequence[int], norm: float) -> Iterator[np.ndarray]:
    """For every input, a whole number per output that orders the outputs by distance."""
    if not (norm == math.inf or (norm >= 1 and float(norm).is_integer())):
        raise MethodError(f"the norm is {norm!r}; use a whole number from 1 on, or inf")
    if norm != math.inf and sum(float(size - 1) ** min(norm, 99) for size in sizes) > MOST:
        raise MethodError(f"the norm {norm:g} is too large for {max(sizes)} levels; use inf")
    grid = np.indices(tuple(sizes), dtype=np.int64).reshape(len(sizes), -1)
    for x in grid.T:
        apart = np.abs(grid - x[:, None])
        yield apart.max(axis=0) if norm == math.inf else (apart ** int(norm)).sum(axis=0)


def _view(keys: np.ndarray) -> tuple[Seen, np.ndarray]:
    """What an input sees, and for every output the place of its own distance (0: the input)."""
    found, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return tuple(zip(found.tolist(), counts.tolist(), strict=True))[1:], inverse


def _different(sizes: Sequence[int], norm: float) -> Iterator[Distances]:
    for seen in {_view(keys)[0] for keys in _keys(sizes, norm)}:
        yield _distances(seen, norm)


def _distances(seen: Seen, norm: float) -> Distances:
    return [(_distance(power, norm), count) for power, count in seen]


@lru_cache(maxsize=1 << 16)
def _distance(power: int, norm: float) -> Decimal:
    if norm in (1, math.inf):
        return Decimal(power)
    with localcontext(Context(prec=DIGITS)):
        return Decimal(power) ** (1 / Decimal(int(norm)))


@lru_cache(maxsize=1 << 12)
def _rate(seen: Seen, norm: float, p_max: Fraction) -> Decimal:
    """e with sum of exp(-e d) over the other outputs = 1 / p_max - 1.

    ln of the sum is convex and falls, so Newton's steps from 0 climb to the root and stop there.
    """
    distances = _distances(seen, norm)
    aim = (1 / _decimal(p_max) - 1).ln()
    rate, step = _near(distances, float(aim)), Decimal(1)
    while abs(step) > max(rate, Decimal(1)) * Decimal(10) ** (8 - DIGITS):
        terms = [(d, n * (-rate * d).exp()) for d, n in distances]
        whole = sum(term for _, term in terms)
        step = (Decimal(whole).ln() - aim) * whole / sum(d * term for d, term in terms)
        rate += step
    return rate


def _near(distances: Distances, aim: float) -> Decimal:
    """The root to the digits of a float, where the steps with many digits begin."""
    apart, counts = np.array([(float(d), n) for d, n in distances]).T
    rate, step = 0.0, 1.0
    while step > 1e-12 * max(rate, 1.0):
        terms = counts * np.exp(-rate * (apart - apart[0]))
        whole = terms.sum()
        step = (math.log(whole) - rate * apart[0] - aim) * whole / (apart * terms).sum()
        rate += step
    return Decimal(rate)


def _sum(distances: Distances, rate: Decimal) -> Decimal:
    return sum((n * (-rate * d).exp() for d, n in distances), Decimal(0))


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / value.denominator


def neighbours(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of cells that differ by one step in one coordinate."""
    grid = np.arange(math.prod(sizes)).reshape(tuple(sizes))
    for axis in range(len(sizes)):
        lines = np.moveaxis(grid, axis, 0)
        yield from zip(lines[:-1].ravel().tolist(), lines[1:].ravel().tolist(), strict=True)
