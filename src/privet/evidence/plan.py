"""What a run will be able to see, from public facts and guesses alone. Touches no data.

The test of x ⊥ y | Z is a chi-square test with (r-1)(c-1) directions. In a direction of the
sampling noise, the noise of privacy adds its share: for even margins (s² r c / n) times as much in
all of them, with s² the variance of the noise in unit contrasts, which the schema, ε and δ fix.
Where levels are rare, sampling noise is small and the noise of privacy is not, so that a table with
uneven margins sees less: the directions count by w = 1 / (1 + s² a b / n), a and b the stretches of
its two columns. An effect φ, φ = V sqrt(min(r, c) - 1) with Cramér's V, that lies in any direction
alike then has the noncentrality n φ² mean(w) in (Σw)² / Σw² degrees of freedom.

Margins are guessed: as the schema declares them (``shares``), else even, or uneven with shares that
fall with the cube of the rank (8 to 1 of two levels). Order 0 is planned with the first half of the
budget; orders 1 and 2 with what the second half adds if about a dozen triples per column are
measured, and with the noise of the margins within as many strata as a typical column has levels (or
two of them). Where the table of all columns is measured instead, every order is planned with its
noise. For numeric columns the same is said of correlations, with Fisher's z.

With δ > 0 the run may measure white features of weighted rows (``white.py``).

Of several sites, each with rows and noise of its own, both add up where one effect is common to
all; and where each has an effect of its own, Bayes factors are multiplied
(``independence/joint.py``). The judge takes the mean of the two factors, so that either alone must
be twice as large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, inf, log, sqrt
from typing import Literal, Protocol

import numpy as np

from privet.arrays import Floats
from privet.evidence import unit_noise
from privet.evidence.moments import planned_noise
from privet.evidence.plan_table import effect_text, plan_table
from privet.evidence.prior import EFFECTS, default_level
from privet.evidence.white import PAIRS, RAREST, REST, Design, contrast_rows
from privet.markup.pieces import notebook, paragraphs, safe
from privet.privacy.ledger.conversion import Number, budget_for
from privet.privacy.queries.base import records_changed
from privet.privacy.queries.contrasts import GRID, contrasts
from privet.privacy.queries.white import GRID as WHITE_GRID
from privet.privacy.queries.white import Levels
from privet.schema.column import Column
from privet.schema.model import Schema

POWER = 0.8
DRAWS = 20_000  # of factors, to find the law of their product
LARGEST, HALVINGS = 20, 60  # quadruplings and halvings in which a statistic is looked for
STRONG = 0.3  # an effect that one would be sorry to miss
# How common levels are guessed to be, where the schema does not say.
Margins = Literal["even", "uneven"]
Shares = tuple[float, ...]
# Mean weight of the directions of a test, how many there seem to be, and the weight of these.
Weights = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class PlanLine:
    """The smallest effect that is found with 80% power, over the pairs of columns by their
    numbers of levels: the best, the typical (median) and the worst. Above 1: nothing is."""

    order: int
    what: str
    best: float
    typical: float
    worst: float

    def __str__(self) -> str:
        given = "nothing" if self.order == 0 else f"{self.order} column(s)"
        size = effect_text(self.typical)
        return f"given {given}: {self.what} of {size} is found in 8 of 10 runs in a typical pair"


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """``invisible`` are the pairs in which not even a strong effect would show, given nothing;
    ``effective_rows`` without noise would give the typical pair the same precision.

    >>> privet.plan(schema, rows=10_000, epsilon=1)  # doctest: +ELLIPSIS
    Plan: interaction-pc on about 10,000 rows, epsilon 1, delta 0
      given nothing: Cramér's V of ... is found in 8 of 10 runs in a typical pair
    """

    method: str
    rows: int
    epsilon: float
    delta: float
    margins: Margins
    lines: tuple[PlanLine, ...]
    effective_rows: float
    invisible: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n  ".join((f"Plan: {self._told()}", *map(str, self.lines)))

    def _told(self) -> str:
        return (
            f"{self.method} on about {self.rows:,} rows, epsilon {self.epsilon:g}, "
            f"delta {self.delta:g}"
        )

    def _repr_html_(self) -> str:
        blind = [" and ".join(pair) for pair in self.invisible]
        missed = f"Not even a strong effect would show between {'; '.join(blind)}." if blind else ""
        return notebook(
            f"<p>{safe(self._told())}: these effects are found in 8 of 10 runs.</p>",
            plan_table(self.lines),
            paragraphs((*([missed] if missed else []), *self.warnings)),
        )


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How what tables say is put together: the rows of ``pooled`` tables are read as one, with
    ``noise`` times the variance of one table's noise; so many ``factors`` are multiplied, and the
    result is the mean of so many (``averaged``), the others of which may say nothing."""

    pooled: int = 1
    noise: float = 1.0
    factors: int = 1
    averaged: int = 1


ALONE = Reading()


class Effects(Protocol):
    """The smallest effects that show: of a schema, about so many rows, epsilon and delta."""

    def __call__(
        self,
        schema: Schema,
        rows: int,
        epsilon: Number,
        delta: Number,
        reading: Reading = ALONE,
        margins: Margins = "even",
    ) -> Sight: ...


@dataclass(frozen=True, kw_only=True)
class Sight:
    """The smallest effect that shows in each pair of columns, in the order of ``combinations``,
    at each order; and the effective sample size of a typical pair once all pairs are measured."""

    what: str
    smallest: tuple[Floats, ...]
    effective_rows: float

    def lines(self) -> tuple[PlanLine, ...]:
        return tuple(
            PlanLine(
                order=order,
                what=self.what,
                best=float(effects.min()),
                typical=float(np.median(effects)),
                worst=float(effects.max()),
            )
            for order, effects in enumerate(self.smallest)
        )


def table_effects(
    schema: Schema,
    rows: int,
    epsilon: Number,
    delta: Number,
    reading: Reading = ALONE,
    margins: Margins = "even",
) -> Sight:
    size = len(schema.columns)
    guessed = [shares(column, margins) for column in schema.columns]
    pairs = [tuple(sorted(pair, key=guessed.__getitem__)) for pair in combinations(range(size), 2)]
    kinds = {(guessed[i], guessed[j]): (i, j) for i, j in pairs}  # alike ones once
    run = _Run(schema, rows, epsilon, delta, reading)
    plain = _rows_in_contrasts(run, guessed)
    white = _weighed(run, guessed, plain)
    found = []
    for order in range(min(3, size - 1)):
        typical = int(np.median([len(each) for each in guessed])) ** order
        if white is not None:
            weighed = {kind: white.weights(pair, typical, order) for kind, pair in kinds.items()}
        else:
            weighed = _contrasted(run, kinds, typical, order)
        mean, freedom, gain = np.array([weighed[guessed[i], guessed[j]] for i, j in pairs]).T
        gains = np.array(EFFECTS) ** 2 * run.every * gain[:, None]
        needed = _shifts(freedom, gains, default_level(size), reading)
        widths = np.array([min(len(guessed[i]), len(guessed[j])) - 1 for i, j in pairs])
        found.append(np.sqrt(needed / (run.every * mean) / widths))
    effective = plain if white is None else white.effective_rows
    return Sight(what="Cramér's V", smallest=tuple(found), effective_rows=effective)


@dataclass(frozen=True)
class _Run:
    """What a plan is asked for."""

    schema: Schema
    rows: int
    epsilon: Number
    delta: Number
    reading: Reading

    @property
    def every(self) -> float:
        """All rows that are read as one table's."""
        return float(self.rows * self.reading.pooled)


@dataclass(frozen=True)
class _White:
    """White features of weighted rows: the noise relative to that of sampling before and after
    triples are measured, and the guessed margins under which the features are not white."""

    design: Design
    guessed: list[Shares]
    noise: tuple[float, float]
    effective_rows: float

    def weights(self, pair: tuple[int, int], strata: int, order: int) -> Weights:
        a, b = (self._stretches(i, strata) for i in pair)
        return _weights(a, b, self.noise[min(order, 1)])

    def _stretches(self, column: int, strata: int) -> Floats:
        return _stretches(self.guessed[column], self.design.features[column], WHITE_GRID, strata)


def _weighed(run: _Run, guessed: list[Shares], plain: float) -> _White | None:
    """None where contrasts are measured, which leave ``plain`` effective rows."""
    if run.delta == 0:
        return None
    budget = float(budget_for(run.epsilon, run.delta, unit_noise.ACCOUNTING)) / run.reading.noise
    budget /= (records_changed(run.schema) * run.schema.rows_per_person) ** 2
    design = Design.of(run.schema.names, _believed(guessed), run.every)
    last = design.planned_rows(budget * float(PAIRS + REST))
    if last < plain:
        return None
    first = design.planned_rows(budget * float(PAIRS))
    return _White(design, guessed, (run.every / first - 1, run.every / last - 1), last)


def _rows_in_contrasts(run: _Run, guessed: list[Shares]) -> float:
    noise = run.reading.noise * unit_noise.typical(run.schema, run.epsilon, run.delta)
    return contrast_rows(run.schema, _believed(guessed), run.every, noise)


def _believed(guessed: list[Shares]) -> list[Floats]:
    raised = [np.maximum(each, RAREST) for each in guessed]
    return [each / each.sum() for each in raised]


def _contrasted(
    run: _Run, kinds: dict[tuple[Shares, Shares], tuple[int, int]], strata: int, order: int
) -> dict[tuple[Shares, Shares], Weights]:
    """Weights of the directions, where contrasts are measured."""
    noise, scale = _noise_of(run.schema, run.epsilon, run.delta, order), run.reading.noise
    each = {kind: scale * noise(*at) / run.every for kind, at in kinds.items()}
    return {kind: pair_weights(kind, one, strata) for kind, one in each.items()}


@lru_cache(maxsize=256)
def _contrasts(levels: int) -> Levels:
    return tuple(map(tuple, contrasts(levels, ordered=False).T.tolist()))


def shares(column: Column, margins: Margins) -> Shares:
    """How common each level is, as far as one guesses."""
    if column.shares:
        return column.shares
    ranks = np.arange(1.0, column.cardinality + 1)
    falling = ranks ** (-3.0 if margins == "uneven" else 0.0)
    return tuple((falling / falling.sum()).tolist())


def _noise_of(
    schema: Schema, epsilon: Number, delta: Number, order: int
) -> Callable[[int, int], float]:
    """Variance of the noise in unit contrasts, of the pair of columns i and j."""
    if delta == 0 and unit_noise.whole_is_quieter(schema):
        levels = [column.cardinality for column in schema.columns]
        return lambda i, j: unit_noise.of_whole(schema, levels[i], levels[j], epsilon)
    first, later = unit_noise.of_interactions(schema, epsilon, delta)
    return lambda _i, _j: later if order else first


@lru_cache(maxsize=4096)
def _stretches(guessed: Shares, features: Levels, grid: int, strata: int) -> Floats:
    """Variances that unit noise has in a column's directions of sampling noise; for contrasts and
    even margins, as many as there are levels. The noise of the margin comes in by its unevenness,
    stratum by stratum."""
    p, h = np.array(guessed), np.array(features, dtype=float).T / grid
    uneven = h @ p
    sampling = h * p @ h.T - np.outer(uneven, uneven)
    noise = np.eye(len(p) - 1) + strata * np.outer(uneven, uneven)
    return np.maximum(np.linalg.eigvals(np.linalg.solve(sampling, noise)).real, 0.0)


def pair_weights(pair: tuple[Shares, Shares], noise: float, strata: int = 1) -> Weights:
    """Of the directions of two columns, with such noise in unit contrasts for one row."""
    a, b = (_stretches(p, _contrasts(len(p)), GRID, strata) for p in pair)
    return _weights(a, b, noise)


def _weights(a: Floats, b: Floats, noise: float) -> Weights:
    weights = 1 / (1 + noise * np.outer(a, b))
    total, squares = float(weights.sum()), float((weights**2).sum())
    return total / weights.size, total**2 / squares, squares / total


def moment_effects(
    schema: Schema,
    rows: int,
    epsilon: Number,
    delta: Number,
    reading: Reading = ALONE,
    margins: Margins = "even",  # of no matter to moments
) -> Sight:
    rows, size = rows * reading.pooled, len(schema.columns)
    noise = reading.noise * planned_noise(
        schema, rows, budget_for(epsilon, delta, unit_noise.ACCOUNTING)
    )
    spread = 1 + 2 / size  # moments are taken of directions
    found = []
    for order in range(min(3, size - 1)):
        variance = spread / max(rows - order - 3, 1) + noise
        gains = np.array(EFFECTS)[None] ** 2 / variance
        needed = _shifts(np.ones(1), gains, default_level(size), reading)
        found.append(np.repeat(np.tanh(np.sqrt(needed * variance)), comb(size, 2)))
    effective = spread / (spread / rows + noise)
    return Sight(what="correlation", smallest=tuple(found), effective_rows=effective)


def _shifts(freedom: Floats, gains: Floats, level: float, reading: Reading) -> Floats:
    """What the statistics must be shifted by; alike ones are worked out once."""
    level /= reading.averaged
    asked, back = np.unique(np.column_stack([freedom, gains]).round(9), axis=0, return_inverse=True)
    if reading.factors == 1:
        found = noncentralities(asked[:, 0], asked[:, 1:], level)
    else:
        each = [_shift_of_each(one[0], one[1:], level, reading.factors) for one in asked]
        found = np.array(each)
    return np.asarray(found[back.ravel()])


def noncentrality(freedom: float, gains: Floats, level: float) -> float:
    """What a chi-square statistic must be shifted by for 80% of the Bayes factors to exceed
    1/level; ``gains`` are the prior variances over that of the statistic."""
    return float(noncentralities(np.array([float(freedom)]), gains[None], level)[0])


def noncentralities(freedom: Floats, gains: Floats, level: float) -> Floats:
    """The same for many tests; infinite where noise is so large that no statistic convinces."""
    from scipy.special import chndtrinc

    bar, low, high = log(1 / level), np.zeros_like(freedom), 10.0 * freedom + 100.0
    for _ in range(LARGEST):
        short = _log_bayes(high, freedom, gains) < bar
        high = np.where(short, 4 * high, high)
    never = _log_bayes(high, freedom, gains) < bar
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        short = _log_bayes(middle, freedom, gains) < bar
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.where(never, inf, chndtrinc(high, freedom, 1 - POWER))


def _shift_of_each(freedom: float, gains: Floats, level: float, factors: int) -> float:
    """The same for the product of so many independent factors, each with this shift of its own.
    The law of the product is drawn, with the same numbers each time."""
    from scipy.optimize import brentq

    rng = np.random.default_rng(factors)
    size = max(400, DRAWS // factors), factors
    ahead, beside = rng.standard_normal(size), np.zeros(size)
    if freedom > 1:
        beside = rng.chisquare(freedom - 1, size)

    def excess(shift: float) -> float:
        statistic = (ahead + sqrt(shift)) ** 2 + beside
        logs = _log_bayes(statistic, np.array(freedom), gains).sum(axis=1)
        return float(np.quantile(logs, 1 - POWER)) - log(1 / level)

    top = 1.0
    while excess(top) < 0 and top <= 1e12:
        top *= 4.0
    return inf if top > 1e12 else float(brentq(excess, 0.0, top, rtol=1e-4))


def _log_bayes(statistic: Floats, freedom: Floats, gains: Floats) -> Floats:
    """Of chi-square statistics: the mean over the effects that are thought possible."""
    penalty = freedom[..., None] * np.log1p(gains)
    terms = 0.5 * (statistic[..., None] * gains / (1 + gains) - penalty)
    return np.asarray(np.logaddexp.reduce(terms, axis=-1) - log(gains.shape[-1]))
