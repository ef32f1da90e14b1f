"""White features and the clips of rows, planned from what stage 0 has told.

Everything here is a function of released margins and public facts. Rows are made up from the
released shares, as if columns were independent, to foresee how many would be weighed down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privet.arrays import Floats
from privet.evidence.tables import TableEvidence
from privet.privacy.queries.contrasts import GRID as CONTRAST_GRID
from privet.privacy.queries.contrasts import contrasts
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import (
    GRID,
    LARGEST_RADIUS,
    WEIGHT,
    Clip,
    Levels,
    squared_lengths,
)
from privet.schema.model import Schema

RAREST, DEVIATIONS = 0.02, 2.0  # a share is not believed below this, or below its noise
MADE_UP = 4000  # rows from which lengths are foreseen
TRIPLE_PRICE = 0.3  # of a triple's component, compared with a pair's
MOST_CUT = 0.1  # share of the rows that a later clip may touch at most
# Squared radii, as multiples of the mean squared length of a row, among which a clip is chosen.
RADII = (0.1, 0.2, 0.35, 0.6, 1.0, 1.7, 3.0)

Sets = Sequence[tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class Design:
    """Features of all columns, and rows that might be: the squared length of each in each
    column, in units of GRID²."""

    schema: Schema
    features: tuple[Levels, ...]
    rows: float
    lengths: Floats  # (columns, made-up rows)

    @staticmethod
    def of(schema: Schema, margins: TableEvidence) -> Design:
        rng = np.random.default_rng(0)  # of made-up rows, the same for everybody
        shares = [_shares(margins, i) for i in range(len(schema.columns))]
        features = tuple(_features(each) for each in shares)
        made_up = [
            (np.array(levels, dtype=float).reshape(len(levels), -1) / GRID)[
                rng.choice(len(each), size=MADE_UP, p=each)
            ]
            for each, levels in zip(shares, features, strict=True)
        ]
        return Design(
            schema=schema,
            features=features,
            rows=max(float(margins.rows), 1.0),
            lengths=np.stack([(u**2).sum(axis=1) for u in made_up]),
        )

    def clip(self, sets: Sets, budget: float, before: Clip | None = None) -> Clip:
        """The clip of a question about these sets that promises most information for this budget
        (rho): the rows that are left, against the noise that they need."""
        squared = self._squared(sets)
        if before is None:
            norms, weight = np.sqrt(squared), np.ones(MADE_UP)
            mean = float(squared.mean())
            best = max(RADII, key=lambda c: self._worth(norms, weight, c * mean, budget))
            return self._clip(sets, best * mean)
        # rows that were left by the first clip should be left: else these would be other rows
        spared = 1 - min(1 / np.sqrt(self.worth(before, budget)), MOST_CUT)
        return self._clip(sets, float(np.quantile(self._weights(before) ** 2 * squared, spared)))

    def _worth(self, norms: Floats, weight: Floats, square: float, budget: float) -> float:
        """How many rows without noise would tell as much of a component of price 1."""
        kept = weight * np.minimum(1.0, np.sqrt(square) / np.maximum(norms, 1e-12))
        rows = self.rows * float(kept.mean())
        return rows / (1 + square / (2 * budget) / rows)

    def worth(self, clip: Clip, budget: float) -> float:
        square = (clip.radius / (WEIGHT * clip.multipliers[2] * GRID**2)) ** 2
        rows = self.rows * float(self._weights(clip).mean())
        return rows / (1 + square / (2 * budget) / rows)

    def _clip(self, sets: Sets, square: float) -> Clip:
        """In whole numbers: a component of n columns has GRID^n in its unit."""
        largest = max(map(len, sets))
        top = GRID**largest * (1 / np.sqrt(TRIPLE_PRICE) if largest > 2 else 1.0)
        multipliers = tuple(
            1 if order > 2 else round(top / GRID**order) for order in range(largest + 1)
        )
        radius = int(WEIGHT * top * np.sqrt(square))
        names = self.schema.names
        return Clip(
            sets=tuple(tuple(names[i] for i in members) for members in sets),
            multipliers=multipliers,
            radius=min(max(radius, 1), LARGEST_RADIUS),
        )

    def _squared(self, sets: Sets) -> Floats:
        """Squared lengths of the made-up rows, pairs having price 1."""
        return squared_lengths(self.lengths, sets, (1.0, 1.0, 1.0, TRIPLE_PRICE))

    def _weights(self, clip: Clip) -> Floats:
        place = {name: i for i, name in enumerate(self.schema.names)}
        sets = [tuple(place[name] for name in members) for members in clip.sets]
        radius = clip.radius / (WEIGHT * clip.multipliers[2] * GRID**2)
        return np.minimum(1.0, radius / np.sqrt(np.maximum(self._squared(sets), 1e-12)))


def contrast_worth(schema: Schema, margins: TableEvidence, budget: float) -> list[float]:
    """The same for each pair in contrasts: their noise meets the smallest directions of sampling
    noise, which rare levels have."""
    rows = max(float(margins.rows), 1.0)
    spreads = []
    for i, column in enumerate(schema.columns):
        h = contrasts(column.cardinality, column.ordered) / CONTRAST_GRID
        p = _shares(margins, i)
        values = np.linalg.eigvalsh(h @ (np.diag(p) - np.outer(p, p)) @ h.T)
        spreads.append(float(np.exp(np.log(np.maximum(values, 1e-12)).mean())))
    families = [Components(tuple(combinations(schema.names, order))) for order in range(3)]
    price = sum(
        family.l2_squared(schema) / CONTRAST_GRID ** (2 * order)
        for order, family in enumerate(families)
    )
    noise = price / (2 * budget)
    return [1 / (1 / rows + noise / (rows**2 * a * b)) for a, b in combinations(spreads, 2)]


def _shares(margins: TableEvidence, column: int) -> Floats:
    """Of the levels of a column, from released margins; none is believed below its noise."""
    table = margins.tables(np.array([[column]]))[0]
    rows = max(float(margins.rows), 1.0)
    variance = float(margins.layers[1].variances[column])
    inverse = margins.inverses(np.array([column]))[0]
    noise = float(np.sqrt(variance * (inverse[:, 1:] ** 2).sum(axis=1).max())) / rows
    raised = np.maximum(table / rows, max(RAREST, DEVIATIONS * noise))
    return np.asarray(raised / raised.sum())


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
