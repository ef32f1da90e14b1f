"""What a noisy table says about a pair, and how far to trust it.

Replicas are tables that might have been measured instead: rows drawn afresh from what was
measured, with fresh noise. They cost nothing, since only the release goes in. The spread of their
scores says how likely noise and chance are to have turned the answer: with score d and spread s,
the answer is wrong with probability Φ(-|d| / s). On simulated additive-noise pairs of a strength of
500 or more, that is the share of wrong answers; where no additive-noise model holds it promises
too much, and below that strength as well, so there nothing is answered.

Nothing can tell the direction of a straight line with Gaussian columns. There d is symmetric about
0, and d / s about normal: with an exact spread, one pair in five would have |d| / s above 1.28,
where the chance of a wrong answer is a tenth. Replicas are drawn from a table that is noisy
already, so they spread about 1.3 times as far as the truth, and it is one in ten. But bins, and
rows beyond the ends of a range, leave a small difference that no number of rows removes, if one
range is wider than the other: up to about 0.01 on such pairs with ranges of three to five standard
deviations. So that much is added to the spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, hypot, sqrt

import numpy as np

from privet.arrays import Floats
from privet.pairs.algorithms.on_table import DEFAULT, both_ways, coincidence, project, strength
from privet.pairs.algorithms.score import Scores

WEAKEST = 500.0  # strength below which a table says too little
MOST_WRONG = 0.1  # chance of a wrong answer beyond which there is none
BLUR = {DEFAULT: 0.01}  # what bins and ends of ranges may do to a score, by method
CHANCE = 0.05  # share of unrelated pairs that may look related
REPLICAS = 64
LEAST_SPREAD = 0.2  # a third if bounds are mean ± 3 standard deviations; this is ± 5


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The scores of a table and what noise may have done to them."""

    scores: Scores
    strength: float
    related: bool  # the table shows that the columns depend on each other at all
    wrong: float  # probability that noise and chance turned the answer, if the model holds
    flipped: float  # probability that the privacy noise alone did
    spreads: tuple[float, float]  # standard deviations of x and y over half their ranges

    @property
    def too_wide(self) -> tuple[bool, bool]:
        """Whether the declared ranges are so wide that they may decide the answer."""
        return self.spreads[0] < LEAST_SPREAD, self.spreads[1] < LEAST_SPREAD

    @property
    def direction(self) -> int:
        """1 for x --> y, -1 for x <-- y, 0 for undecided."""
        if self.strength < WEAKEST or not self.related or self.wrong > MOST_WRONG:
            return 0
        return self.scores.direction()

    @property
    def reason(self) -> str:
        """Why there is no answer; empty if there is one."""
        if self.strength < WEAKEST:
            return "too few rows for so small an epsilon"
        if not self.related:
            return "the columns do not seem to depend on each other"
        return "" if self.direction else "both directions fit about as well"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The noise of a table's cells, as it was announced."""

    variance: float
    gaussian: bool = False

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
        scale = sqrt(self.variance)
        if self.gaussian:
            return rng.normal(scale=scale, size=shape)
        return rng.laplace(scale=scale / sqrt(2), size=shape)


def judge(
    table: Floats,
    *,
    rows: float | None,
    noise: Noise,
    rng: np.random.Generator,
    method: str = DEFAULT,
    replicas: int = REPLICAS,
) -> Judgement:
    """Judge noisy counts, x in rows and y in columns; ``rows`` is None if it is not public."""
    total = float(table.sum()) if rows is None else float(rows)
    p = project(np.asarray(table, dtype=float), total)
    forward, backward = both_ways(p[None], method)
    scores = Scores(forward=float(forward[0]), backward=float(backward[0]))
    again = _Again(total=max(total, 0.0), public=rows is not None, noise=noise, rng=rng)
    chance = again.differences(again.drawn(p, replicas), method)
    fixed = again.differences(np.broadcast_to(p * again.total, (replicas, *p.shape)), method)
    return Judgement(
        scores=scores,
        strength=strength(total, noise.variance),
        related=_related(p, again, replicas),
        wrong=_turned(scores.difference, hypot(chance.std(), BLUR.get(method, 0.0))),
        flipped=_turned(scores.difference, fixed.std()) if noise.variance > 0 else 0.0,
        spreads=(_spread(p.sum(axis=1)), _spread(p.sum(axis=0))),
    )


def related(table: Floats, *, rows: float | None, noise: Noise, rng: np.random.Generator) -> bool:
    """Does a table, which may be too coarse to be judged, show that its columns depend on each
    other? Of unrelated ones, one in twenty does."""
    total = float(table.sum()) if rows is None else float(rows)
    again = _Again(total=max(total, 0.0), public=rows is not None, noise=noise, rng=rng)
    return _related(project(np.asarray(table, dtype=float), total), again, REPLICAS)


@dataclass(frozen=True, kw_only=True)
class _Again:
    """How a table could be measured again."""

    total: float
    public: bool
    noise: Noise
    rng: np.random.Generator

    def drawn(self, p: Floats, count: int) -> Floats:
        """Counts of fresh rows from p."""
        flat = p.ravel() / p.sum()
        drawn = self.rng.multinomial(round(self.total), flat, size=count)
        return drawn.reshape(count, *p.shape).astype(float)

    def measured(self, counts: Floats) -> Floats:
        noisy = counts + self.noise.draw(counts.shape, self.rng)
        return project(noisy, self.total if self.public else noisy.sum(axis=(-1, -2)))

    def differences(self, counts: Floats, method: str) -> Floats:
        forward, backward = both_ways(self.measured(counts), method)
        return forward - backward


def _turned(difference: float, spread: float) -> float:
    """Probability that a score of this spread has the other sign."""
    if spread == 0:
        return 0.5 if difference == 0 else 0.0
    return erfc(abs(difference) / spread / sqrt(2)) / 2


def _spread(margin: Floats) -> float:
    """Standard deviation of a column in units of half its range."""
    places = (2 * np.arange(len(margin)) + 1) / len(margin) - 1
    return sqrt(float(margin @ (places - margin @ places) ** 2))


def _related(p: Floats, again: _Again, replicas: int) -> bool:
    """Does the table show more dependence than tables of unrelated columns would?"""
    margins = np.outer(p.sum(axis=1), p.sum(axis=0))
    unrelated = again.measured(again.drawn(margins, replicas))
    limit = np.quantile(_dependence(unrelated), 1 - CHANCE)
    return bool(_dependence(p[None])[0] > limit)


def _dependence(p: Floats) -> Floats:
    across = np.swapaxes(p, -1, -2)
    return coincidence(p, p.sum(axis=-1)) + coincidence(across, across.sum(axis=-1))
