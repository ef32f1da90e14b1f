"""Do two columns vary at all within their ranges, and depend on each other? A coarse table for a
share of the budget says so.

Scores of residuals and of losses point somewhere even if a column is constant or has nothing to do
with the other one. So the ways that release nothing but such a score look at this first: no answer
unless it can be seen that both columns vary and that they depend on each other, and a warning if
one fills little of its declared range.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from privet.pairs.algorithms.judgement import related
from privet.pairs.options import Choices
from privet.pairs.way import Pair
from privet.pairs.ways import noisy_table
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import PairTable
from privet.schema.model import Schema
from privet.trust.curator import Curator

BINS = 5  # an odd number: a column that stays in the middle of its range is in one bin
FEWEST_ROWS = 16
SURE = 3.0  # standard deviations of the noise
UNRELATED = "it cannot be seen that the columns depend on each other"
LITTLE = 0.4  # of the rows outside the fullest bin: half of them, if the range is ± 3 deviations


def ask(curator: Curator, pair: Pair, share: Fraction) -> Release:
    return noisy_table.ask(curator, pair, BINS, share)


def seen(
    releases: tuple[Release, ...], schema: Schema, choices: Choices
) -> tuple[str, tuple[str, ...]]:
    """A reason against any answer, or none; and warnings."""
    release = next(r for r in releases if isinstance(r.query, PairTable))
    query = release.asked(PairTable)
    table = noisy_table.counts(release)
    total = table.sum()
    x, y = (total - table.sum(axis=1 - axis).max() for axis in (0, 1))
    noise = sqrt(release.variance * query.bins * (query.bins - 1))
    if total < FEWEST_ROWS:
        return "too few rows", ()
    if min(x, y) <= SURE * noise:
        name = query.x if x < y else query.y
        return f"{name} hardly varies, or there are too few rows for so small an epsilon", ()
    depend = related(
        table,
        rows=noisy_table.public_rows(schema),
        noise=noisy_table.noise(release),
        rng=np.random.default_rng(choices.seed),
    )
    warnings = noisy_table.too_wide(query, (x < LITTLE * total, y < LITTLE * total), schema)
    return "" if depend else UNRELATED, warnings
