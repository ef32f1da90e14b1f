"""White features and the clips of rows, planned from what stage 0 has told.

Everything here is a function of released margins and public facts. Rows are made up from the
released shares, as if columns were independent, to foresee how many would be weighed down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from statistics import median

import numpy as np

from privet.arrays import Floats
from privet.evidence.feigned import MadeUp
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.contrasts import GRID as CONTRAST_GRID
from privet.privacy.queries.contrasts import contrasts
from privet.privacy.queries.white import (
    GRID,
    LARGEST_RADIUS,
    WEIGHT,
    Clip,
    Levels,
    squared_lengths,
)
from privet.schema.model import Schema

# Of the budget: for all pairs, and for what matters of these; the rest is for margins.
PAIRS, REST = Fraction(45, 100), Fraction(50, 100)
# The same where a pair tells little; in between, once more for pairs that may be dependent, which
# chance would make look as dependent in fewer than so many cases. These weigh rows anew: fewer
# pairs leave more of them. [Weak edges are found that one look at all pairs misses.]
GLANCE, AGAIN, LAST = Fraction(25, 100), Fraction(30, 100), Fraction(40, 100)
CHANCE = Fraction(40, 100)
RAREST, DEVIATIONS = 0.02, 2.0  # a share is not believed below this, or below its noise
# Of a triple's component, compared with a pair's: where a pair tells little, a triple tells nothing
# that its pairs do not. [Random networks do not tell 0.03 from 0.15; Adult finds more with 0.06.]
TRIPLE_PRICE, LOW_PRICE, LITTLE = 0.3, 0.06, 10_000
MOST_CUT = 0.1  # share of the rows that a later clip may touch where a pair tells little
# Squared radii, as multiples of the mean squared length of a row, among which a clip is chosen.
RADII = (0.1, 0.2, 0.28, 0.35, 0.45, 0.6, 1.0, 1.7, 3.0, 6.0, 12.0)
# Row weights that depend on other columns make pairs dependent (φ² for each of a pair's numbers):
# this much, times the relative variance of the weights, over the squared number of features.
# [Chosen on 192 random networks of 5 to 20 columns and of four kinds; confirmed on 96 others.]
UNFORESEEN = 1.0
# The margins leave open how dependence between columns lengthens rows: an allowance for that.
BETTER = 1.05
MOST_PAIRS = 0.9  # share of the pairs that a clip makes less dependent than is reckoned with

Sets = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Course:
    """How a run goes: the effective sample size of a typical pair, the clip of all pairs, and the
    shares of the budget for these, for those that may be dependent, and for what
    matters in the end."""

    worth: float
    first: Clip
    pairs: Fraction
    again: Fraction  # 0 where a pair tells enough at once
    rest: Fraction


@dataclass(frozen=True, kw_only=True)
class Design:
    """Features of all columns, and rows that might be, with lengths in units of GRID²."""

    names: tuple[str, ...]
    features: tuple[Levels, ...]
    rows: float
    made_up: MadeUp

    @staticmethod
    def of(names: tuple[str, ...], shares: Sequence[Floats], rows: float) -> Design:
        """From the shares of each column's levels."""
        features = tuple(_features(each) for each in shares)
        made_up = MadeUp.of([_lengths(levels) for levels in features])
        return Design(names=names, features=features, rows=rows, made_up=made_up)

    def course(self, budget: float) -> Course:
        """The course of a run with this budget (rho) in all."""
        worth = self.planned_rows(budget * float(PAIRS + REST))
        shares = (PAIRS, Fraction(0), REST) if worth >= LITTLE else (GLANCE, AGAIN, LAST)
        return Course(worth, self.first_clip(budget * float(shares[0])), *shares)

    def planned_rows(self, budget: float) -> float:
        """The effective sample size that a plan counts on."""
        return float(self.effective_rows(budget).max()) / BETTER

    def first_clip(self, budget: float) -> Clip:
        """The clip of a question about all pairs that leaves most effective rows."""
        squares, _ = self._choices
        return self._clip(self.all_pairs, float(squares[np.argmax(self.effective_rows(budget))]))

    def effective_rows(self, budget: float) -> Floats:
        """The effective sample size of the typical pair after a question about all pairs with this
        budget (rho), for each choice of the squared radius.

        Dependence between two columns shows in the rows that have an uncommon level of both. With
        mean weight w and mean squared weight v there, n rows and noise of variance s², it is
        estimated with the precision n w² / (v + s² / n); the spurious dependence that weights
        cause counts as further noise. It grows with the budget and the number of rows.
        """
        squares, spurious = self._choices
        noise = squares[:, None] / (2 * budget * self.rows)
        shares = [(w**2 / (v + noise)).mean(axis=1) for w, v in self._uncommon]
        return np.asarray(1 / (1 / (self.rows * np.median(shares, axis=0)) + spurious))

    @cached_property
    def _choices(self) -> tuple[Floats, Floats]:
        """Squared radii for all pairs, and the spurious dependence that each causes."""
        squares, varied = _radii(self._in_pairs)
        return squares, self.feigned(squares) + self._unforeseen * varied

    @property
    def _unforeseen(self) -> float:
        return UNFORESEEN / sum(len(levels[0]) for levels in self.features) ** 2

    @cached_property
    def _uncommon(self) -> list[tuple[Floats, Floats]]:
        """For some pairs of columns, the mean and mean squared weights (choices of the radius x
        pairs of levels) of rows with two levels that are not the most common ones of their columns:
        as many as the directions of a test of independence."""
        radii, out = np.sqrt(self._choices[0]), []
        for i, j in self.made_up.pairs:
            common = [int(self.made_up.own[column].argmin()) for column in (i, j)]
            mean, squared = self.made_up.weights(i, j, radii)
            out.append((_without(common, mean), _without(common, squared)))
        return out

    def fresh_clip(self, sets: Sets, budget: float) -> Clip:
        """Of a question about pairs that weighs rows anew. What it feigns is not foreseen."""
        squared = self._squared(sets)
        squares, varied = _radii(squared)
        rows = self.rows * _left(squared, squares).mean(axis=1)
        noise = (1 + squares / (2 * budget) / rows) / rows
        return self._clip(sets, float(squares[np.argmin(noise + self._unforeseen * varied)]))

    def later_clip(self, sets: Sets, worth: float, first: Clip) -> Clip:
        """The rows that an earlier clip left should be left: else these would be other rows. So it
        touches fewer of them than the noise would hide of a pair of this ``worth``."""
        much = worth >= LITTLE
        price, spared = (
            (TRIPLE_PRICE, 1 - 1 / np.sqrt(worth)) if much else (LOW_PRICE, 1 - MOST_CUT)
        )
        kept = np.minimum(1.0, self._square(first) / self._squared(self._places(first)))
        return self._clip(
            sets, float(np.quantile(kept * self._squared(sets, price), spared)), price
        )

    @cached_property
    def all_pairs(self) -> list[tuple[int, ...]]:
        """The empty set, all columns and all pairs of them."""
        return [s for order in range(3) for s in combinations(range(len(self.names)), order)]

    def feigned(self, squares: Floats) -> Floats:
        """The dependence (φ² for each of a pair's numbers, as noise has it) that clips of all pairs
        with these squared radii make between columns that are independent; few pairs have more."""
        found = []
        for i, j in self.made_up.pairs:
            joint = self.made_up.weighed(i, j, np.sqrt(squares))
            apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
            numbers = (joint.shape[1] - 1) * (joint.shape[2] - 1)
            found.append(((joint - apart) ** 2 / apart).sum(axis=(1, 2)) / numbers)
        return np.asarray(np.quantile(found, MOST_PAIRS, axis=0))

    @cached_property
    def _in_pairs(self) -> Floats:
        """Squared lengths of the made-up rows in a question about all pairs."""
        return self._squared(self.all_pairs)

    def _squared(self, sets: Sets, price: float = TRIPLE_PRICE) -> Floats:
        """Squared lengths of the made-up rows, pairs having price 1."""
        return np.maximum(
            squared_lengths(self.made_up.lengths, sets, (1.0, 1.0, 1.0, price)), 1e-12
        )

    def _clip(self, sets: Sets, square: float, price: float = TRIPLE_PRICE) -> Clip:
        """In whole numbers: a component of n columns has GRID^n in its unit."""
        largest = max(map(len, sets))
        top = GRID**largest / (np.sqrt(price) if largest > 2 else 1.0)
        multipliers = [round(top / GRID**order) for order in range(min(largest, 2) + 1)]
        multipliers += [1] * (largest - 2)
        radius = int(WEIGHT * top * np.sqrt(square))
        return Clip(
            sets=tuple(tuple(self.names[i] for i in members) for members in sets),
            multipliers=tuple(multipliers),
            radius=min(max(radius, 1), LARGEST_RADIUS),
        )

    @staticmethod
    def _square(clip: Clip) -> float:
        """The squared radius, in the unit of pairs."""
        order = min(len(clip.multipliers) - 1, 2)
        unit = WEIGHT * clip.multipliers[order] * GRID**order
        return float(clip.radius / unit) ** 2

    def _places(self, clip: Clip) -> Sets:
        place = {name: i for i, name in enumerate(self.names)}
        return [tuple(place[name] for name in members) for members in clip.sets]


def _without(levels: Sequence[int], weights: Floats) -> Floats:
    """All pairs of levels but those with the given level of the first or of the second column."""
    rest = np.delete(np.delete(weights, levels[0], axis=1), levels[1], axis=2)
    return np.asarray(rest.reshape(len(rest), -1))


def _left(squared: Floats, squares: Floats) -> Floats:
    """The weights (radii x rows) that clips leave."""
    return np.asarray(np.sqrt(np.minimum(1.0, squares[:, None] / squared)))


def _radii(squared: Floats) -> tuple[Floats, Floats]:
    """Squared radii among which a clip of rows with these squared lengths is chosen, and the
    variance of the weights that they make, relative to their mean."""
    squares = np.array(RADII) * float(squared.mean())
    kept = _left(squared, squares)
    return squares, np.asarray(kept.var(axis=1) / kept.mean(axis=1) ** 2)


def contrast_rows(schema: Schema, shares: Sequence[Floats], rows: float, noise: float) -> float:
    """The effective sample size of a typical pair in contrasts with this variance of the noise. It
    is compared with the geometric mean of the sampling variances in the directions of a test: rare
    levels, in which they are small, often carry the dependence."""
    variances = []
    for column, p in zip(schema.columns, shares, strict=True):
        h = contrasts(column.cardinality, column.ordered) / CONTRAST_GRID
        sampling = np.linalg.eigvalsh(h @ (np.diag(p) - np.outer(p, p)) @ h.T)
        variances.append(float(np.exp(np.log(np.maximum(sampling, 1e-12)).mean())))
    return median(rows / (1 + noise / (rows * a * b)) for a, b in combinations(variances, 2))


def released_shares(margins: TableEvidence, known: Mapping[str, Floats]) -> list[Floats]:
    """Of the levels of all columns, those that are known and the others from released margins;
    none is believed below its noise."""
    out = []
    for column, name in enumerate(margins.names):
        if name in known:
            raised = np.maximum(known[name], RAREST)
        else:
            shares, noise = margins.shares(column)
            raised = np.maximum(shares, max(RAREST, DEVIATIONS * float(np.sqrt(noise.max()))))
        out.append(np.asarray(raised / raised.sum()))
    return out


def _lengths(levels: Levels) -> Floats:
    """The squared length of each level's features, in units of GRID²."""
    squares = np.array(levels, dtype=float).reshape(len(levels), -1) ** 2
    return np.asarray(squares.sum(axis=1) / GRID**2)


def _features(shares: Floats) -> Levels:
    """Whole numbers, of each level: centred and (nearly) of covariance GRID² under these shares.

    They are columns of (I - 1 p') diag(p)^(-1/2) Q, Q a reflection that has sqrt(p) as its last
    column. That they are rounded costs nothing: the design is inverted as it is.
    """
    root = np.sqrt(shares)
    mirror = root.copy()
    mirror[-1] -= 1.0
    size = float(mirror @ mirror)
    turned = np.eye(len(root)) - (2 / size * np.outer(mirror, mirror) if size > 1e-12 else 0.0)
    white = (np.eye(len(root)) - shares) @ (turned[:, :-1] / root[:, None])
    return tuple(tuple(int(x) for x in level) for level in np.rint(GRID * white))
