"""Bounded geometric channels: near values are likelier than far ones.

Two versions. As published by Binkyte et al. (2023), with a fixed probability ``p_max`` of the
truth: P(y | x) = p_max exp(-e_x |y - x|), the rate e_x chosen for each input such that the row
sums to 1. Its true levels exceed every e_x and are computed from its integer weights. And
clamped: an unbounded geometric variable moved to the nearest value inside, which is exactly
epsilon-d-private. Rates come from decimals of 50 digits, so that every machine gets the same
channel. Proof: proofs/local.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.errors import MethodError
from privet.local.channel import Matrix

MOST_CELLS = 4096  # of a grid whose whole channel is written down
DIGITS = 50
SPARE_BITS = 64  # of the smallest weight
SLACK = 1 - Fraction(1, 1 << 41)  # of epsilon, given up so that rounding stays below it

Distances = tuple[tuple[Decimal, int], ...]  # from one input: the distances > 0, how often each


def fixed(sizes: Sequence[int], p_max: Fraction, norm: float = 1) -> Matrix:
    """The channel on the grid of these sizes (row by row, the last coordinate fastest) that tells
    the truth with probability ``p_max``."""
    check_p_max(sizes, p_max)
    with localcontext(Context(prec=DIGITS)):
        views = [_view(keys, norm) for keys in _keys(sizes, norm)]
        rates = {distances: _rate(distances, p_max) for distances in {d for d, _ in views}}
        farthest = max(rate * distances[-1][0] for distances, rate in rates.items())
        places = SPARE_BITS + math.ceil(farthest / Decimal(2).ln() - _decimal(p_max).ln())
        whole = _decimal(p_max) * (1 << places)
        tables = {}
        for distances, rate in rates.items():
            others = [int(whole * (-rate * distance).exp()) for distance, _ in distances]
            spent = sum(w * n for w, (_, n) in zip(others, distances, strict=True))
            tables[distances] = np.array([(1 << places) - spent, *others], dtype=object)
    return Matrix(weights=tuple(tuple(tables[d][inverse].tolist()) for d, inverse in views))


def clamped(levels: int, odds: Fraction) -> Matrix:
    """A geometric variable around x, moved into 0 .. levels - 1; a step has odds ``odds`` to 1."""
    check_sizes((levels,))
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
            for distances in {_view(keys, norm)[0] for keys in _keys(sizes, norm)}
        )
        return Fraction(int(least * (1 << places)), 1 << places)


def rates(sizes: Sequence[int], p_max: Fraction, norm: float = 1) -> tuple[float, float]:
    """The least and the largest rate e_x, which the published text calls levels of privacy."""
    check_p_max(sizes, p_max)
    with localcontext(Context(prec=DIGITS)):
        different = {_view(keys, norm)[0] for keys in _keys(sizes, norm)}
        found = [float(_rate(distances, p_max)) for distances in different]
    return min(found), max(found)


def check_sizes(sizes: Sequence[int]) -> None:
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        raise MethodError(
            f"a geometric channel on {cells} cells is too large to be written down; at most "
            f"{MOST_CELLS} are possible: declare fewer levels, or randomise the columns one by one"
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
    grid = np.indices(tuple(sizes), dtype=np.int64).reshape(len(sizes), -1)
    for x in grid.T:
        apart = np.abs(grid - x[:, None])
        yield apart.max(axis=0) if norm == math.inf else (apart ** int(norm)).sum(axis=0)


def _view(keys: np.ndarray, norm: float) -> tuple[Distances, np.ndarray]:
    """The distances from an input, and for every output the place of its own (0: the input)."""
    found, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    powers = list(zip(found.tolist(), counts.tolist(), strict=True))[1:]
    return tuple((_distance(power, norm), count) for power, count in powers), inverse


@lru_cache(maxsize=1 << 16)
def _distance(power: int, norm: float) -> Decimal:
    if norm in (1, math.inf):
        return Decimal(power)
    with localcontext(Context(prec=DIGITS)):
        return Decimal(power) ** (1 / Decimal(int(norm)))


@lru_cache(maxsize=1 << 12)
def _rate(distances: Distances, p_max: Fraction) -> Decimal:
    """e with sum of exp(-e d) over the other outputs = 1 / p_max - 1.

    ln of the sum is convex and falls, so Newton's steps from 0 climb to the root and stop there.
    """
    aim = (1 / _decimal(p_max) - 1).ln()
    rate, step = Decimal(0), Decimal(1)
    while step > rate * Decimal(10) ** (8 - DIGITS):
        terms = [(d, n * (-rate * d).exp()) for d, n in distances]
        whole = sum(term for _, term in terms)
        step = (Decimal(whole).ln() - aim) * whole / sum(d * term for d, term in terms)
        rate += step
    return rate


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
