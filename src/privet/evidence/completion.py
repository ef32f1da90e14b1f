"""Measured triples drawn to what their pairs say of them.

Pairs complete a table of three columns: of all tables that have these pairs, the one without an
interaction of three columns, found by iterative proportional fitting. Most triples are nearly so.
What was measured beside that is believed as far as its noise leaves (James and Stein).

A triple that was not measured is not made up. Pairs alone would explain too much: given them, too
many pairs look independent, and arrows suffer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privet.arrays import Floats, Indices

try:
    from privet.evidence import _calm  # type: ignore[attr-defined]
except ImportError:  # there was no compiler
    compiled: Any = None
else:
    compiled = _calm

Tables = Callable[[Indices], Floats]  # of sets of one shape

ROUNDS = 10
EMPTIEST = 1e-5  # share of the rows below which no cell of a pair is believed
BLOCK_NUMBERS = 200_000  # worked out at once, so that they stay in the cache


PAIRS = ((0, 1), (0, 2), (1, 2))  # of a triple


@dataclass(frozen=True)
class Pairs:
    """The tables of the pairs in some triples, each made once: many triples share them."""

    tables: list[Floats]  # those of one shape: (levels, levels, copies, pairs)
    shape: Indices  # which of these each pair of each triple has, and where it is in it
    place: Indices

    @staticmethod
    def of(tables: Tables, sets: Indices, cardinalities: Sequence[int], copies: int) -> Pairs:
        levels = np.array(cardinalities)
        both = np.concatenate([sets[:, pair] for pair in PAIRS])
        _, first, where = np.unique(
            both[:, 0] * len(levels) + both[:, 1], return_index=True, return_inverse=True
        )
        pairs, found = both[first], list[Floats]()
        shape, place = np.empty((2, len(pairs)), dtype=np.intp)
        kinds = levels[pairs[:, 0]] * (levels.max() + 1) + levels[pairs[:, 1]]
        for kind in np.unique(kinds):
            own = np.flatnonzero(kinds == kind)
            shape[own], place[own] = len(found), np.arange(len(own))
            made = _positive(tables(pairs[own]))
            made = made.reshape(copies, len(own), *made.shape[1:]).transpose(2, 3, 0, 1)
            found.append(np.ascontiguousarray(made))
        where = where.reshape(len(PAIRS), -1)
        return Pairs(found, shape[where], place[where])

    def completed(self, triples: Indices) -> Floats:
        """Tables of three columns, all of one shape; of all copies, one after the other."""
        pairs = []
        for shape, place in zip(self.shape[:, triples], self.place[:, triples], strict=True):
            table = self.tables[shape[0]][..., place]
            pairs.append(table.reshape(*table.shape[:2], -1))
        out = np.ones((*pairs[0].shape[:2], *pairs[1].shape[1:]))  # sets last: sums are fast
        for _ in range(ROUNDS):
            out *= (pairs[0] / out.sum(axis=2))[:, :, None]
            out *= (pairs[1] / out.sum(axis=1))[:, None]
            out *= pairs[2] / out.sum(axis=0)
        return np.ascontiguousarray(np.moveaxis(out, 3, 0))


def _positive(tables: Floats) -> Floats:
    rows = np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1.0)
    return np.asarray(np.maximum(tables, EMPTIEST * rows))


def components(tables: Floats, features: Sequence[Floats]) -> Floats:
    """Of tables of three columns, each with its features (tables x levels x features)."""
    first, second, third = features
    out = tables @ third[:, None]
    out = second.swapaxes(1, 2)[:, None] @ out
    flat = first.swapaxes(1, 2) @ out.reshape(*out.shape[:2], -1)
    return flat.reshape(len(flat), -1, *out.shape[2:])


def shrunk(measured: Floats, noise: Floats, towards: Floats) -> tuple[Floats, Floats]:
    """Measured components (on the last three axes) moved to others, the more the noise (its
    variance) could have made the difference; and the variance of what is left of the noise.

    As if a triple's own interaction had come from a normal law around 0: the posterior mean and
    variance, the variance of the law being that which explains the difference.
    """
    apart = measured - towards
    numbers = float(np.prod(apart.shape[-3:]))
    far = np.maximum((apart**2).sum(axis=(-3, -2, -1)), 1e-12)
    left = np.maximum(1 - numbers * noise / far, 0.0)
    return np.asarray(towards + left[..., None, None, None] * apart), noise * left


def alike(sets: Indices, cardinalities: Sequence[int], copies: int) -> Iterator[Indices]:
    """The places of sets of one shape, in blocks of bounded size; each set is there ``copies``
    times."""
    shapes = np.array(cardinalities)[sets]
    kinds = shapes @ (shapes.max() + 1) ** np.arange(2, -1, -1)
    for kind in np.unique(kinds):
        places = np.flatnonzero(kinds == kind)
        step = max(1, BLOCK_NUMBERS // (int(shapes[places[0]].prod()) * copies))
        yield from (places[start : start + step] for start in range(0, len(places), step))
