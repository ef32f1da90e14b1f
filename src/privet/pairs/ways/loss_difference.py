"""One noisy number for each pair: how much worse y explains x than x explains y.

The cheapest question there is, for budgets on which a table would drown. Its defect: losses are
compared in units of the declared ranges, so it is right only where these are comparable, more
rows do not help, and straight lines between skewed columns are often told the wrong way round.
Even of two columns that do not depend on each other it prefers one, by their shapes, so a part of
the budget goes into seeing that they do.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

from privet.pairs import screen
from privet.pairs.flips import by_one_noise
from privet.pairs.options import Choices
from privet.pairs.way import Orientation, Pair, Way, answer
from privet.pairs.ways.noisy_table import DEPENDS, check
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import LossDifference
from privet.schema.model import Schema
from privet.trust.curator import Curator

LOOK = Fraction(1, 4)  # of what a pair may spend, to see that its columns vary and depend
DEFECT = (
    f"{DEPENDS}; on simulated pairs with additive noise it is right in about 8 of 10 cases, "
    "however many rows"
)


def measure(curator: Curator, pair: Pair, choices: Choices, share: Fraction) -> tuple[Release, ...]:
    query = LossDifference(x=pair.x, y=pair.y, x_range=pair.x_range, y_range=pair.y_range)
    coarse = screen.ask(curator, pair, share * LOOK)
    return coarse, curator.release(query, share * (1 - LOOK))


def holds(releases: tuple[Release, ...]) -> bool:
    return any(isinstance(release.query, LossDifference) for release in releases)


def judge(
    schema: Schema, pair: Pair, releases: tuple[Release, ...], choices: Choices
) -> Orientation:
    release = next(r for r in releases if isinstance(r.query, LossDifference))
    reason, notes = screen.seen(releases, schema, choices)
    one = release.asked(LossDifference).one
    difference, deviation = float(release.values[0]) / one, sqrt(release.variance) / one
    flipped = by_one_noise(difference, deviation, release.mechanism)
    return answer(pair, difference, flipped=flipped, reason=reason, notes=(DEFECT, *notes))


WAYS = (
    Way(
        name="loss-difference",
        summary="an effect is explained with the smaller loss; for tiny budgets",
        cite="after RECI of Blöbaum et al. 2018",
        private=True,
        evidence="a difference of losses",
        check=check,
        measure=measure,
        holds=holds,
        judge=judge,
        uses=frozenset({"find_bounds"}),
    ),
)
