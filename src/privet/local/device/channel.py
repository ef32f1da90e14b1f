"""Channels: what one person's device may answer, as exact probabilities.

Every probability is a ratio of integers, so the loss that a channel claims is the loss that it
has; draws are exact (``bits.py``). Proof: proofs/local.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from privet.arrays import Floats, Integers
from privet.errors import BudgetError, MethodError
from privet.local.device.bits import MOST, Bits, Law, alike
from privet.privacy.ledger.conversion import Number, check_budget, float_up

DIGITS = 100
ODDS_BITS = 64  # binary places of the odds, so that ln(odds) is epsilon to better than 2^-64
LARGEST = 100  # epsilon above which a report hides nothing that anybody could name


def check_epsilon(epsilon: Number) -> Fraction:
    """The epsilon of everything one person sends, as an exact fraction."""
    found = check_budget(epsilon, 0)[0]
    if found > LARGEST:
        raise BudgetError(
            f"epsilon is {epsilon!r}, and above {LARGEST} a report hides nothing; choose a smaller "
            f"one: 1 to 8 is usual where nobody is trusted"
        )
    return found


def odds_below(epsilon: Fraction) -> Fraction:
    """The largest fraction with denominator 2^64 that is not above exp(epsilon)."""
    with localcontext(Context(prec=DIGITS)):
        power = (Decimal(epsilon.numerator) / epsilon.denominator).exp().next_minus()
    return Fraction(math.floor(Fraction(power) * (1 << ODDS_BITS)), 1 << ODDS_BITS)


@lru_cache(maxsize=1 << 10)
def log_up(odds: Fraction) -> Fraction:
    """ln(odds), rounded up at about the 90th digit."""
    if odds == 1:
        return Fraction(0)
    with localcontext(Context(prec=DIGITS)):
        log = Decimal(odds.numerator).ln() - Decimal(odds.denominator).ln()
    return Fraction(log) + Fraction(1, 10 ** (DIGITS - 10))


class Channel(Protocol):
    """From a number in 0 .. inputs - 1 to a random one in 0 .. outputs - 1."""

    @property
    def inputs(self) -> int: ...

    @property
    def outputs(self) -> int: ...

    @property
    def loss(self) -> Fraction:
        """The largest log ratio of two inputs' probabilities of one output, rounded up."""

    @property
    def epsilon(self) -> float: ...

    def probability(self, x: int, y: int) -> Fraction: ...

    def matrix(self) -> Floats: ...

    def sample(self, values: Integers, bits: Bits) -> Integers: ...


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse:
    """k-ary randomised response: the truth has odds R to 1 against every other cell.

    With a ``width`` above 1 it is the piecewise mechanism on a grid: input x stands for the cells
    x .. x + width - 1, each of which has odds R to 1 against every cell outside. In both cases the
    report comes from these cells with probability ``attenuation``, and else from all cells alike.
    """

    cells: int
    odds: Fraction
    width: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.width <= self.cells <= MOST:
            raise MethodError(
                f"randomised response on {self.cells} cells, {self.width} of them true; at most "
                f"2^62 are possible: choose a protocol that asks about fewer columns at once"
            )
        if self.odds < 1:
            raise MethodError(f"the odds are {self.odds}, but truth needs odds of at least 1")

    @property
    def inputs(self) -> int:
        return self.cells - self.width + 1

    @property
    def outputs(self) -> int:
        return self.cells

    @property
    def attenuation(self) -> Fraction:
        """How much of an input's contrast is left in the report: E[f(y) | x] = a f(x) for every f
        that sums to 0 over the cells (width 1)."""
        total = self.width * self.odds + self.cells - self.width
        return self.width * (self.odds - 1) / total

    @property
    def loss(self) -> Fraction:
        return log_up(self.odds) if self.inputs > 1 else Fraction(0)

    @property
    def epsilon(self) -> float:
        return float_up(self.loss)

    def probability(self, x: int, y: int) -> Fraction:
        total = self.width * self.odds + self.cells - self.width
        return (self.odds if x <= y < x + self.width else 1) / total

    def matrix(self) -> Floats:
        rest, true = float(self.probability(0, self.cells)), float(self.probability(0, 0))
        ahead = np.arange(self.outputs) - np.arange(self.inputs)[:, None]
        return np.where((ahead >= 0) & (ahead < self.width), true, rest)

    @cached_property
    def _coin(self) -> Law:
        share = self.attenuation
        return Law((share.denominator - share.numerator, share.numerator))

    def sample(self, values: Integers, bits: Bits) -> Integers:
        _check_inputs(values, self.inputs)
        size = values.size
        near = values if self.width == 1 else values + bits.below(self.width, size)
        anywhere = bits.below(self.cells, size)
        return np.where(self._coin.draw(bits, size) == 1, near, anywhere)


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Any finite channel: from x to y with probability weights[x][y] / (sum of a row)."""

    weights: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        sums = {sum(row) for row in self.weights}
        if len(sums) != 1 or len({len(row) for row in self.weights}) != 1 or min(sums) < 1:
            raise MethodError("the rows of a channel must have equal lengths and equal sums")
        if any(min(row) < 1 for row in self.weights):
            raise MethodError("a channel needs positive weights: what is impossible gives it away")

    @property
    def inputs(self) -> int:
        return len(self.weights)

    @property
    def outputs(self) -> int:
        return len(self.weights[0])

    @cached_property
    def total(self) -> int:
        return sum(self.weights[0])

    @cached_property
    def loss(self) -> Fraction:
        return log_up(max(Fraction(max(y), min(y)) for y in zip(*self.weights, strict=True)))

    @property
    def epsilon(self) -> float:
        return float_up(self.loss)

    def probability(self, x: int, y: int) -> Fraction:
        return Fraction(self.weights[x][y], self.total)

    def matrix(self) -> Floats:
        return self._shares

    @cached_property
    def _shares(self) -> Floats:
        """Made once, since the rows of a large grid take seconds; so nobody may change it."""
        known = {weight: weight / self.total for row in self.weights for weight in set(row)}
        found = np.array([[known[weight] for weight in row] for row in self.weights])
        found.flags.writeable = False
        return found

    @cached_property
    def _laws(self) -> dict[int, Law]:
        return {}

    def sample(self, values: Integers, bits: Bits) -> Integers:
        _check_inputs(values, self.inputs)
        out = np.empty_like(values)
        for value, places in alike(values):
            if value not in self._laws:
                self._laws[value] = Law(self.weights[value])
            out[places] = self._laws[value].draw(bits, places.size)
        return out


def _check_inputs(values: Integers, inputs: int) -> None:
    if values.size and not (values.min() >= 0 and values.max() < inputs):
        raise MethodError(f"a value to be randomised is not among the {inputs} that there can be")
