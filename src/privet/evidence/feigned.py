"""What weights of rows make of independent columns.

A row's weight depends on all its columns, and so, of two columns that are independent, rows with a
rare level of both are weighed down by more or by less than by both shares. More rows do not make
that go away: with many, it would be found. But it has one shape. If a level's rows are kept h times
as often as others (by weight), weighed rows depart from independence by

    κ p (h - E h) ⊗ q (h' - E h')          (p, q: shares among the weighed rows)

with nearly the same κ for all pairs [of simulated networks, whatever else depends on the two]. The
margins before and after tell h, and rows that are made up, as if all columns were independent, tell
κ for a clip that keeps as many. Given other columns, h is another and not known: tests take this
off for pairs alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privet.arrays import Floats

MADE_UP = 4000  # rows from which lengths are foreseen
# Pairs of columns and numbers for each by which is foreseen what dependence a clip makes.
FORESEEN_PAIRS, FORESEEN_NUMBERS, FORESEEN_ROWS = 40, 10_000, 300
CURVED_PAIRS = 15  # that tell κ
# How far κ may be off: by so much of it, and by so much at least. [Within a network it varies by
# a quarter to a half of itself.]
OFF, OFF_AT_LEAST = 0.4, 0.3
MOST_BENT = 2.0  # h - 1 is not believed beyond
MOST_KEPT = 0.99  # nor the share of rows that was kept, as κ has no bounds near 1
LEAST_SPREAD = 1e-12  # of h, in all pairs: below, levels are kept alike but for rounding
STEPS = 40  # of halving, to find a radius


@dataclass(frozen=True)
class MadeUp:
    """Rows that might be, if columns were independent: the squared length of each level's features
    (whose share is 1 / (1 + length)), and of each row in each column."""

    own: tuple[Floats, ...]
    lengths: Floats  # (columns, rows)

    @staticmethod
    def of(own: Sequence[Floats]) -> MadeUp:
        return _made_up(tuple(tuple(each.tolist()) for each in own))

    @cached_property
    def squared(self) -> Floats:
        """Squared lengths of the rows in a question about all pairs."""
        return _all_pairs(self.lengths.sum(axis=0), (self.lengths**2).sum(axis=0))

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Some pairs of columns."""
        ends = np.stack(np.triu_indices(len(self.own), 1), axis=1)
        chosen = np.random.default_rng(0).permutation(len(ends))[:FORESEEN_PAIRS]
        return [(int(i), int(j)) for i, j in ends[chosen]]

    def weighed(self, i: int, j: int, radii: Floats) -> Floats:
        """Tables (radii x levels x levels) of shares of two columns among rows that are clipped at
        these radii, by putting their levels in the place of those of made-up rows."""
        kept, _ = self.weights(i, j, radii)
        out = kept * _shares(self.own[i])[:, None] * _shares(self.own[j])
        return np.asarray(out / out.sum(axis=(1, 2), keepdims=True))

    def weights(self, i: int, j: int, radii: Floats) -> tuple[Floats, Floats]:
        """The mean weight and the mean squared weight of the rows with each pair of levels of two
        columns (radii x levels x levels), if rows are clipped at these radii."""
        a, b = self.own[i], self.own[j]
        some = min(FORESEEN_ROWS, max(FORESEEN_NUMBERS // (len(a) * len(b)), 1))
        rest = np.delete(self.lengths[:, :some], [i, j], axis=0)
        x, y = a[:, None, None], b[None, :, None]
        shortened = 1 / np.sqrt(
            _all_pairs(rest.sum(axis=0) + x + y, (rest**2).sum(axis=0) + x**2 + y**2)
        )
        each = np.minimum(1.0, radii[:, None, None, None] * shortened)
        return np.asarray(each.mean(axis=3)), np.asarray((each**2).mean(axis=3))

    def curvature(self, kept: float) -> float:
        """κ of a clip that keeps so much of the rows, by weight."""
        root = np.sqrt(self.squared)
        low, high = 0.0, float(root.max())
        for _ in range(STEPS):
            middle = (low + high) / 2
            enough = np.minimum(1.0, middle / root).mean() > kept
            low, high = (low, middle) if enough else (middle, high)
        made = spread = 0.0
        for i, j in self.pairs[:CURVED_PAIRS]:
            table = self.weighed(i, j, np.array([high]))[0]
            p, q = table.sum(axis=1), table.sum(axis=0)
            one, other = (
                _centred(share / _shares(self.own[c]), share) for c, share in ((i, p), (j, q))
            )
            made += float(one @ (table - np.outer(p, q)) @ other)
            spread += float((p * one**2).sum() * (q * other**2).sum())
        return made / spread if spread > LEAST_SPREAD else 0.0


@dataclass(frozen=True)
class Feigned:
    """By how much more than others each level's rows were kept (h - 1; columns x levels, filled up
    with 0), κ, and the standard deviation of the doubt about it."""

    bends: Floats
    curvature: float
    doubt: float

    @staticmethod
    def of(own: Sequence[Floats], kept: float, bends: Sequence[Floats]) -> Feigned:
        """From squared lengths of levels, the share of the rows that was kept, and h - 1."""
        padded = np.zeros((len(own), max(map(len, own))))
        for line, each in zip(padded, bends, strict=True):
            line[: len(each)] = each.clip(-1.0, MOST_BENT)
        curvature = MadeUp.of(own).curvature(kept) if padded.any() else 0.0
        return Feigned(padded, curvature, OFF_AT_LEAST + OFF * abs(curvature))


def bent(before: Floats, noise: Floats, after: Floats, later: Floats) -> Floats:
    """h - 1 of a column's levels, from its shares before and after with the variances of their
    noise; drawn to 0 as far as noise could have made it."""
    before = np.maximum(before, np.sqrt(noise) + 1e-9)
    out = after / before - 1
    blur = (noise + later) / before**2
    return np.asarray(out * np.maximum(1 - blur / np.maximum(out**2, 1e-12), 0.0))


def kept_share(before: float, noise: float, after: float, later: float) -> float:
    """Of the rows, from their numbers before and after with the variances of their noise; not
    nearer to 1 than noise could have brought it."""
    rows = max(before, 1.0)
    blur = float(np.sqrt(later + noise * (after / rows) ** 2)) / rows
    return min(after / rows, 1 - blur, MOST_KEPT)


@lru_cache(maxsize=8)  # a run asks several times
def _made_up(own: tuple[tuple[float, ...], ...]) -> MadeUp:
    rng = np.random.default_rng(0)  # of made-up rows, the same for everybody
    lengths = tuple(map(np.array, own))
    drawn = [each[rng.choice(len(each), size=MADE_UP, p=_shares(each))] for each in lengths]
    return MadeUp(lengths, np.stack(drawn))


def _shares(own: Floats) -> Floats:
    shares = 1 / (1 + own)
    return np.asarray(shares / shares.sum())


def _centred(numbers: Floats, shares: Floats) -> Floats:
    return np.asarray(numbers - shares @ numbers)


def _all_pairs(total: Floats, squares: Floats) -> Floats:
    """1, lengths and products of two, added up: from sums of lengths and of their squares."""
    return np.asarray(1 + total + (total**2 - squares) / 2)
