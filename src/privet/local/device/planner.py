"""Which blocks to ask people about: chosen from public facts, so nothing private depends on it.

A larger block answers more questions at once, but the more cells it has the less of the truth is
left in a report. The plan tries all pairs, all triples, everything at once, and the rules of
growing larger random blocks, and keeps what makes the evidence on a pair of attributes cost the
fewest people. Its blocks are written into the protocol, so people draw from a list whose
probabilities are known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from random import Random  # public and fixed: everybody who plans gets the same blocks

import numpy as np
from numpy.typing import NDArray

from privet.local.device.bits import MOST
from privet.local.device.blocks import Block

SEED = 20_231_114
TRIED = 40  # how often a pair is met, on average, while rules are compared
LISTED = 160  # and in the list that is written down
MOST_BLOCKS = 5_000  # in that list, unless pairs would be missing; of triples there may be more
SHARES = (0.3, 0.6, 1.0, 2.0)  # largest number of cells of a block, in units of exp(epsilon)

Members = NDArray[np.bool_]  # (blocks, attributes)
Orders = NDArray[np.int64]  # (blocks, attributes), each row a permutation


@dataclass(frozen=True)
class Rule:
    """A block grows by the next attribute in random order while it has at most so many
    attributes and cells; the first two are always in it."""

    attributes: int
    cells: float


def plan_blocks(sizes: Sequence[int], odds: Fraction) -> tuple[Block, ...]:
    """The blocks under which a pair of attributes costs the fewest people."""
    best = min(_complete(sizes, odds), key=lambda blocks: cost(sizes, odds, blocks))
    rules = list(_rules(sizes, odds))
    if not rules:
        return best
    draw = Random(SEED)
    orders = _orders(draw, len(sizes), max(_draws(sizes, rule, TRIED) for rule in rules))
    tried = [_tried(sizes, odds, rule, orders) for rule in rules]
    if min(tried) >= cost(sizes, odds, best):
        return best
    listed = _blocks(_listed(sizes, rules[int(np.argmin(tried))], draw))
    return min(listed, best, key=lambda blocks: cost(sizes, odds, blocks))


def _blocks(members: Members) -> tuple[Block, ...]:
    """Every different block once, as heavy as it is frequent."""
    found, counts = np.unique(members, axis=0, return_counts=True)
    blocks = [
        Block(attributes=tuple(np.flatnonzero(row).tolist()), weight=int(count))
        for row, count in zip(found, counts, strict=True)
    ]
    return tuple(sorted(blocks, key=lambda block: block.mask))


def all_of(count: int, size: int) -> tuple[Block, ...]:
    """Every block of so many attributes, equally likely."""
    return tuple(Block(attributes=chosen) for chosen in combinations(range(count), size))


def with_margins(count: int, powers: Sequence[int] = (1,)) -> tuple[Block, ...]:
    """Every pair, and every attribute by itself, to whom sqrt(count - 1) / 1.5 as many people are
    given as to a pair."""
    share = max(1, round(20 * math.sqrt(count - 1) / len(powers)))
    pairs = [Block(attributes=pair, weight=30) for pair in combinations(range(count), 2)]
    singles = [
        Block(attributes=(i,), weight=share, power=power) for i in range(count) for power in powers
    ]
    return (*pairs, *singles)


def cost(sizes: Sequence[int], odds: Fraction, blocks: Sequence[Block]) -> float:
    """How many people are worth one without noise, on average over the pairs: the mean of
    1 / E[a² of blocks with both]; infinite if a pair is in no block."""
    members = np.zeros((len(blocks), len(sizes)), dtype=bool)
    for at, block in enumerate(blocks):
        members[at, list(block.attributes)] = True
    return _cost(sizes, odds, members, np.array([float(block.weight) for block in blocks]))


def _cost(
    sizes: Sequence[int], odds: Fraction, members: Members, weights: NDArray[np.float64]
) -> float:
    cells = np.where(members, np.array(sizes, dtype=float), 1.0).prod(axis=1)
    left = (float(odds) - 1) / (float(odds) + cells - 1)
    worth = weights * left**2 / weights.sum()
    seen = (members * worth[:, None]).T @ members
    pairs = seen[np.triu_indices(len(sizes), 1)]
    return float(np.mean(1 / pairs)) if pairs.min() > 0 else math.inf


def _complete(sizes: Sequence[int], odds: Fraction) -> Iterator[tuple[Block, ...]]:
    """Plans that need no drawing: all pairs, all triples, all attributes at once."""
    count = len(sizes)
    yield all_of(count, 2)
    if count > 3:
        yield all_of(count, 3)
    if count > 2 and math.prod(sizes) <= min(MOST, SHARES[-1] * odds):
        yield all_of(count, count)


def _rules(sizes: Sequence[int], odds: Fraction) -> Iterator[Rule]:
    """Rules that differ: no block has more attributes than the smallest ones give it room for."""
    smallest = sorted(sizes)
    for share in SHARES:
        most = min(share * float(odds), float(MOST))
        room = sum(math.prod(smallest[:size]) <= most for size in range(1, len(sizes) + 1))
        for attributes in range(4, room + 1):
            yield Rule(attributes, most)


def _draws(sizes: Sequence[int], rule: Rule, per_pair: int) -> int:
    pairs = math.comb(len(sizes), 2)
    return math.ceil(per_pair * pairs / math.comb(rule.attributes, 2))


def _tried(sizes: Sequence[int], odds: Fraction, rule: Rule, orders: Orders) -> float:
    members = _grow(sizes, rule, orders[: _draws(sizes, rule, TRIED)])
    return _cost(sizes, odds, members, np.ones(len(members)))


def _listed(sizes: Sequence[int], rule: Rule, draw: Random) -> Members:
    """Blocks by the rule, more of them until every pair is met."""
    count = min(MOST_BLOCKS, _draws(sizes, rule, LISTED))
    members = _grow(sizes, rule, _orders(draw, len(sizes), count))
    while not (members.T.astype(float) @ members).all():
        members = np.vstack([members, _grow(sizes, rule, _orders(draw, len(sizes), count))])
    return members


def _orders(draw: Random, width: int, count: int) -> Orders:
    """Random orders of the attributes."""
    places = np.array([draw.random() for _ in range(count * width)])
    return np.argsort(places.reshape(count, width), axis=1)


def _grow(sizes: Sequence[int], rule: Rule, orders: Orders) -> Members:
    levels, rows = np.array(sizes, dtype=float), np.arange(len(orders))
    members = np.zeros(orders.shape, dtype=bool)
    cells, taken = np.ones(len(orders)), np.zeros(len(orders))
    for step, at in enumerate(orders.T):
        fits = (taken < rule.attributes) & (cells * levels[at] <= rule.cells)
        fits |= step < 2
        members[rows[fits], at[fits]] = True
        cells *= np.where(fits, levels[at], 1.0)
        taken += fits
    return members
