"""One noisy table of each pair; all else is free: the default way, and others on the same table.

How many bins the table has follows from the noise and from about how many rows there are. What
was released is the whole table, so every way here can judge it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from operator import or_

import numpy as np

from privet.arrays import Floats
from privet.pairs.algorithms.judgement import WEAKEST, Noise, judge
from privet.pairs.algorithms.on_table import bins_for, strength
from privet.pairs.options import Choices
from privet.pairs.way import Direction, Orientation, Pair, Way
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import PairTable, Range, check_numeric, check_pair
from privet.schema.model import Schema
from privet.trust.curator import Curator

DIRECTIONS: dict[int, Direction] = {1: "-->", -1: "<--", 0: "undecided"}
WAYS_ON_TABLES = {
    "collisions": (
        "residuals collide as often within a bin of the cause as among all",
        "",
    ),
    "both": (
        "entropies and kernel dependence of cause and residual together",
        "Kpotufe et al. 2014; Gretton et al. 2005",
    ),
    "entropy": ("entropies of cause and residual", "Kpotufe et al. 2014"),
    "ghsic": ("kernel dependence of cause and residual", "Gretton et al. 2005"),
    "reci": ("errors of cubic regressions", "RECI of Blöbaum et al. 2018"),
    "cds": ("conditional distributions differ in place, not in shape", "CDS of Fonollosa 2019"),
    "igci": ("a cause has the larger entropy", "IGCI of Janzing et al. 2012"),
}
# Bins that a column's standard deviation must span; with fewer, bins decide. What bins add to the
# law of residuals of deviation r bins is 2 exp(-2π²r²) of it, the first term of its Fourier series.
# Of residuals that spread a third as far as their column that is 0.01 at 1.5 bins and 0.23 at 1;
# on simulated pairs whose cause has too wide a range, 9 of 10 answers are right above, and half of
# them at 1.2.
LEAST_BINS = 1.5
UNITS = frozenset({"reci", "igci"})
DEPENDS = (
    "this method compares the columns in units of their ranges, so a range that is too wide "
    "decides its answer"
)


def check(schema: Schema, pair: Pair, choices: Choices) -> None:
    check_pair(pair.x, pair.y, None, None, schema)


def ask(curator: Curator, pair: Pair, bins: int, share: Fraction) -> Release:
    query = PairTable(x=pair.x, y=pair.y, bins=bins, x_range=pair.x_range, y_range=pair.y_range)
    return curator.release(query, share)


def measure(curator: Curator, pair: Pair, choices: Choices, share: Fraction) -> tuple[Release, ...]:
    any_table = PairTable(x=pair.x, y=pair.y, bins=2)  # the noise is the same for all
    bins = bins_for(strength(pair.rows, curator.variance(any_table, share)))
    return (ask(curator, pair, bins, share),)


def holds(releases: tuple[Release, ...]) -> bool:
    return any(isinstance(release.query, PairTable) for release in releases)


def judged(
    method: str, schema: Schema, pair: Pair, releases: tuple[Release, ...], choices: Choices
) -> Orientation:
    release = next(r for r in releases if isinstance(r.query, PairTable))
    query = release.asked(PairTable)
    found = judge(
        counts(release),
        rows=public_rows(schema),
        noise=noise(release),
        rng=np.random.default_rng(choices.seed),
        method=method,
    )
    blurred = [spread * query.bins / 2 < LEAST_BINS for spread in found.spreads]
    wide = tuple(map(or_, found.too_wide, blurred))
    reason = found.reason
    if found.strength < WEAKEST:
        wide = (False, False)  # noise hides that
    elif any(blurred):
        name = query.x if blurred[0] else query.y
        reason = f"{name} fills too little of its range to be seen in {query.bins} bins"
    return Orientation(
        a=pair.x,
        b=pair.y,
        direction="undecided" if reason else DIRECTIONS[found.direction],
        difference=found.scores.difference,
        forward=found.scores.forward,
        backward=found.scores.backward,
        flipped=found.flipped,
        wrong=found.wrong,
        reason=reason,
        notes=(*too_wide(query, wide, schema), *([DEPENDS] if method in UNITS else [])),
    )


def counts(release: Release) -> Floats:
    """Of a table, x in rows and y in columns."""
    bins = release.asked(PairTable).bins
    return release.values.reshape(bins, bins).astype(float)


def noise(release: Release) -> Noise:
    return Noise(variance=release.variance, gaussian=release.mechanism.startswith("Gaussian"))


def public_rows(schema: Schema) -> int | None:
    return schema.rows if schema.rows_are_public else None


def too_wide(query: PairTable, wide: Sequence[bool], schema: Schema) -> tuple[str, ...]:
    """A warning for each column that fills little of the range that was declared for it."""
    found = ((query.x, query.x_range, wide[0]), (query.y, query.y_range, wide[1]))
    return tuple(
        _warning(name, check_numeric(name, schema))
        for name, given, is_wide in found
        if is_wide and given is None
    )


def _warning(name: str, declared: Range) -> str:
    return (
        f"the values of {name} fill little of the declared range {declared[0]:g} to "
        f"{declared[1]:g}, which may decide the answer: declare a narrower one if one is public, "
        "or let find_bounds (--find-bounds) find one, for a fifth of the budget"
    )


WAYS = tuple(
    Way(
        name=f"table-{name}",
        summary=summary,
        cite=cite,
        private=True,
        evidence="a table",
        check=check,
        measure=measure,
        holds=holds,
        judge=partial(judged, name),
        uses=frozenset({"release", "find_bounds"}),
        counts=True,
    )
    for name, (summary, cite) in WAYS_ON_TABLES.items()
)
