"""Tables in white features of weighed rows: a tenth of the noise where levels are rare.

Stage 0, a twentieth of the budget, has measured the number of rows and all columns in contrasts.
That tells the white features, how rows would be weighed, and whether it is worth it. Stage 1
measures all pairs, stage 2 once more those that matter, and their triples.

Privacy. Features, sets and clips are functions of earlier releases and public facts, and each
stage is one release of ``privacy.queries.white.White``, whose sensitivity is the radius of its last
clip (``proofs/white.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from statistics import median

from privet.arrays import Floats
from privet.evidence.white import BETTER, PAIRS, REST, Design, contrast_worth
from privet.methods.options import Settings
from privet.privacy.queries.base import Release, records_changed
from privet.privacy.queries.white import Clip, White
from privet.schema.model import Schema
from privet.trust.curator import Curator

Interesting = Callable[[Schema, tuple[Release, ...]], list[tuple[int, ...]]]


def worth(curator: Curator, shares: Sequence[Floats], rows: float) -> float:
    """How many rows without noise would tell as much of a typical pair."""
    design, first, budget = _plan(curator, shares, rows)
    return design.worth(first, budget)


def measure(
    curator: Curator,
    settings: Settings,
    margins: tuple[Release, ...],
    shares: Sequence[Floats],
    rows: float,
    interesting: Interesting,
) -> tuple[Release, ...] | None:
    """All that is released, ``margins`` first; None where contrasts tell as much."""
    schema, size = curator.schema, len(curator.schema.columns)
    if size < 2:
        return None
    design, first, budget = _plan(curator, shares, rows)
    plain = contrast_worth(schema, shares, rows, _budget(curator, PAIRS))
    if design.worth(first, budget) < BETTER * median(plain):
        return None
    settings.on_step("measuring all pairs", 0.1)
    query = White(columns=schema.names, features=design.features, clips=(first,))
    releases = (*margins, curator.release(query, PAIRS))
    settings.on_step("choosing triples", 0.2)
    sets = [(), *interesting(schema, releases)]
    second = design.second_clip(sets, _budget(curator, REST) / _reach(schema), first)
    settings.on_step("measuring triples", 0.3)
    query = White(columns=schema.names, features=design.features, clips=(first, second))
    return (*releases, curator.release(query, REST))


def _plan(curator: Curator, shares: Sequence[Floats], rows: float) -> tuple[Design, Clip, float]:
    """Features, the clip of all pairs, and the budget (rho) of one row in it."""
    schema, size = curator.schema, len(curator.schema.columns)
    design = Design.of(schema.names, shares, rows)
    budget = _budget(curator, PAIRS) / _reach(schema)
    small = [(), *combinations(range(size), 1), *combinations(range(size), 2)]
    return design, design.first_clip(small, budget), budget


def _budget(curator: Curator, share: Fraction) -> float:
    return curator.sharpness(share) ** 2 / 2


def _reach(schema: Schema) -> int:
    """The square of how many rows a person moves."""
    return (records_changed(schema) * schema.rows_per_person) ** 2
