"""What a person may be asked: a block of attributes, and the one number that is made of them.

A block is drawn without looking at the answers and sent along, so it gives nothing away. What is
made of the answers is one number, and only that number passes the channel:

* cell: the cell of the block's own table, in mixed radix, the last attribute fastest;
* parity: the sum modulo K of one permutation of Z_K per attribute, K the largest number of
  levels. The permutations are drawn too, and sent along as a key. They leave 0 where it is:
  a shift would only rename the sums, so it would change nothing;
* product: of numbers on a grid from -1 to 1, to the power that the key says, on the same grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privet.arrays import Integers
from privet.errors import MethodError
from privet.local.device.bits import MOST

Kind = Literal["cell", "parity", "product"]

MOST_COLUMNS = 62  # a block is a bit mask in a signed word
HALF = 64  # steps of the grid between 0 and 1
GRID = 2 * HALF + 1


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some attributes, by position, and how often they are asked about beside other blocks."""

    attributes: tuple[int, ...]
    weight: int = 1
    power: int = 1

    @property
    def mask(self) -> int:
        return sum(1 << attribute for attribute in self.attributes)

    @staticmethod
    def of(mask: int, weight: int, power: int = 1) -> Block:
        found = tuple(i for i in range(MOST_COLUMNS) if mask >> i & 1)
        return Block(attributes=found, weight=weight, power=power)


def inputs(kind: Kind, sizes: Sequence[int]) -> int:
    """How many numbers can be made of attributes with so many levels."""
    if kind == "cell":
        found = math.prod(sizes)
        if found > MOST:
            raise MethodError(
                f"a block of {len(sizes)} columns has {found} cells, more than 2^62; choose a "
                f"protocol that asks about fewer columns at once, such as planned-block"
            )
        return found
    return max(sizes) if kind == "parity" else GRID


def keys(kind: Kind, sizes: Sequence[int]) -> int:
    """How many keys there are to draw from."""
    if kind != "parity":
        return 1
    found: int = math.factorial(max(sizes) - 1) ** len(sizes)
    if found > MOST:
        raise MethodError(
            f"parity response on {max(sizes)} levels has too many permutations; merge levels to at "
            f"most 13, or choose the protocol planned-block"
        )
    return found


def make(kind: Kind, sizes: Sequence[int], codes: Integers, key: Integers, power: int) -> Integers:
    """One number per person from the codes of a block, an array (people, attributes)."""
    if kind == "cell":
        return cell(codes, sizes)
    if kind == "parity":
        levels = max(sizes)
        orders = permutations(key, levels, len(sizes))
        images: Integers = np.take_along_axis(orders, codes[:, :, None], axis=2)[:, :, 0]
        return np.asarray(images.sum(axis=1) % levels)
    steps = np.ones(len(codes), dtype=np.int64)
    for at in range(len(sizes)):
        steps *= (codes[:, at] - HALF) ** power
    scale = int(HALF ** (len(sizes) * power - 1))
    return np.asarray((steps + scale // 2) // scale + HALF)


def cell(codes: Integers, sizes: Sequence[int]) -> Integers:
    """The cell of a table, in mixed radix, the last attribute fastest."""
    found = np.zeros(len(codes), dtype=np.int64)
    for at, size in enumerate(sizes):
        found = found * size + codes[:, at]
    return found


def codes_of(cells: Integers, sizes: Sequence[int]) -> Integers:
    """The codes (people, attributes) of the cells of a table: the inverse of ``cell``."""
    rest, found = cells, []
    for size in reversed(sizes):
        found.append(rest % size)
        rest = rest // size
    return np.stack(found[::-1], axis=1)


def permutations(key: Integers, levels: int, count: int) -> Integers:
    """The permutations of 0 .. levels - 1 that a key stands for, an array (people, count, levels).

    The key in base (levels - 1)! has one digit per attribute, the first attribute's the lowest;
    the digit in factorial base says, from the largest choice down, which of the values 1 ..
    levels - 1 still left is taken next. Every combination has exactly one key.
    """
    each = math.factorial(levels - 1)
    out = np.zeros((len(key), count, levels), dtype=np.int64)
    people = np.arange(len(key))
    rest = key
    for at in range(count):
        digit, rest = rest % each, rest // each
        left = np.tile(np.arange(1, levels, dtype=np.int64), (len(key), 1))
        for place in range(1, levels):
            choices = levels - place
            step = math.factorial(choices - 1)
            taken, digit = digit // step, digit % step
            out[:, at, place] = left[people, taken]
            kept = np.arange(choices - 1) + (np.arange(choices - 1) >= taken[:, None])
            left = np.take_along_axis(left, kept, axis=1)
    return out
