"""Orders and interquartile ranges of residuals, bought after a noisy test has found them stable.

What must be stable is chosen before the test, from public figures alone: as little as columns and
residuals of an ordinary spread would pass with. Wider would mean more noise, narrower no answer.
With few rows or a small epsilon this is so much that the noise drowns every answer, and that is
what will be said; data of another spread end in no answer.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

from privet.privacy.queries.additive_noise import Anm, AnmScores, new_key
from privet.privacy.queries.base import Release
from privet.privacy.queries.residuals import OF, LogIqr
from privet.privacy.queries.ridge import FINE
from privet.privacy.queries.tested import StableRange, StableRanks
from privet.schema.model import Schema
from privet.trust.curator import Curator

ROOM = 4  # scales of a test's noise from what it asks for to what is hoped for
DEVIATION = 0.2  # of residuals, in units of half a range: of bell-shaped ones in ± 3 deviations
CROWDED = 0.282 / DEVIATION  # density of the difference of two residuals at 0
USUAL_IQR = 1.349 * DEVIATION
# How much the log of an interquartile range moves if a quartile moves by one of m ranks: the
# width 1.349 over the density 0.318 at a quartile, of a bell-shaped column.
PER_RANK = 1 / (1.349 * 0.318)
LEAST_WIDTH, LARGEST_WIDTH = 2**-10, 16.0


def ranks(curator: Curator, query: AnmScores, share: Fraction) -> tuple[Release, ...]:
    """A test and, if it passes, scores by ranks."""
    steps = _hoped(curator, share, StableRanks.unstable)
    asked = replace(query, pairs=turned_pairs(query.model, curator.schema, steps))
    test, found = curator.tested(StableRanks(query=asked), share)
    return (forgotten(test),) if found is None else (forgotten(test), forgotten(found))


def ranges(curator: Curator, model: Anm, share: Fraction) -> tuple[Release, ...]:
    """A test and a range for each of four, with the same noise; none after a test that fails."""
    price = share / len(OF)
    width = bin_width(model, curator.schema, _hoped(curator, price, StableRange.unstable))
    releases: list[Release] = []
    for of in OF:
        query = LogIqr(model=model, of=of, width=width)
        test, found = curator.tested(StableRange(query=query), price)
        releases.append(forgotten(test))
        if found is None:
            break
        releases.append(forgotten(found))
    return tuple(releases)


def _hoped(curator: Curator, share: Fraction, unstable: int) -> int:
    """A distance with which a test would nearly always pass."""
    return unstable + curator.safe_distance(share, ROOM)


def turned_pairs(model: Anm, schema: Schema, steps: int) -> int:
    """How many pairs must be free to turn, for a distance of so many steps."""
    m = model.test_rows(schema)
    apart = 2 * steps * model.eta(schema) / FINE
    near = min(2 * apart * CROWDED, 1.0) * m * (m - 1) / 2
    return min(ceil(near) + (steps - 1) * max(m - 1, 0), m * m)


def bin_width(model: Anm, schema: Schema, steps: int) -> float:
    """How wide a bin must be: wherever a range lies in one grid, it is a quarter of a bin away
    from the edges of this or of the other."""
    rate = PER_RANK / max(model.test_rows(schema), 1) + 2 * model.eta(schema) / FINE / USUAL_IQR
    return min(max(4 * steps * rate, LEAST_WIDTH), LARGEST_WIDTH)


def forgotten(release: Release) -> Release:
    """The same without the key of the halves, which stays secret."""
    query: Any = release.query  # of any kind that has a model
    return replace(release, query=replace(query, model=replace(query.model, key=new_key())))
