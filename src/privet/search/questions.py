"""Questions (x, y, *Z) as rows of arrays: built by index arithmetic, numbered, asked once."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from privet.arrays import Bools, Indices

LARGEST = 1 << 62  # of the numbers of rows
CELLS = 1 << 22  # of a matrix (pairs x columns) at a time, so that memory stays bounded


def beside(near: Bools, pairs: Indices, order: int) -> Indices:
    """Rows (x, y, *Z), in order: Z so many neighbours of x, or so many of y."""
    if order == 0:
        return pairs
    if order > 1:
        return _beside_some(near, pairs, order)
    at, z = beside_one(near, pairs)
    return np.concatenate([pairs[at], z[:, None]], axis=1)


def beside_one(near: Bools, pairs: Indices) -> tuple[Indices, Indices]:
    """The place of each pair, and with it in turn all other neighbours of either end, in order."""
    parts = [np.empty((0, 2), dtype=np.intp)]
    step = max(1, CELLS // len(near))
    for start in range(0, len(pairs), step):
        x, y = pairs[start : start + step].T
        both, every = near[x] | near[y], np.arange(len(x))
        both[every, x] = both[every, y] = False
        parts.append(np.argwhere(both))
        parts[-1][:, 0] += start
    at, z = np.concatenate(parts).T
    return at, z


def _beside_some(near: Bools, pairs: Indices, order: int) -> Indices:
    parts = [np.empty((0, order + 2), dtype=np.intp)]
    for end in (0, 1):
        own, other = pairs[:, end], pairs[:, 1 - end]
        pool = near[own]
        pool[np.arange(len(pairs)), other] = False
        counts = pool.sum(axis=1)
        for count in np.unique(counts[counts >= order]).tolist():
            chosen = np.flatnonzero(counts == count)
            members = np.nonzero(pool[chosen])[1].reshape(-1, count)
            given = members[:, _choices(count, order)].reshape(-1, order)
            asked = np.repeat(pairs[chosen], len(given) // len(chosen), axis=0)
            if end:  # what x has by itself was asked
                fresh = ~near[asked[:, :1], given].all(axis=1)
                asked, given = asked[fresh], given[fresh]
            parts.append(np.concatenate([asked, given], axis=1))
    rows = np.concatenate(parts)
    return rows[np.argsort(numbered(rows, len(near)), kind="stable")]


@lru_cache(maxsize=64)
def _choices(count: int, order: int) -> Indices:
    return np.array(list(combinations(range(count), order)), dtype=np.intp)


def numbered(rows: Indices, size: int) -> Indices:
    """A number for each row of numbers below ``size``: equal for equal rows, and in their order."""
    number = np.zeros(len(rows), dtype=np.intp)
    for column in rows.T:
        if len(number) and number.max() > LARGEST // size:
            number = np.unique(number, return_inverse=True)[1]
        number = number * size + column
    return number


def distinct(rows: Indices, size: int) -> tuple[Indices, Indices]:
    """The different rows, in order, and the place of each row among them."""
    _, first, place = np.unique(numbered(rows, size), return_index=True, return_inverse=True)
    return rows[first], place
