"""Tables in white features of weighed rows: a tenth of the noise where levels are rare.

Stage 0, a twentieth of the budget, has measured the number of rows and all columns in contrasts.
That tells the white features, how rows would be weighed, and whether it is worth it. Stage 1
measures all pairs, stage 2 once more those that matter, and their triples.

Privacy. Features, sets and clips are functions of earlier releases and public facts, and each
stage is one release of ``privacy.queries.white.White``, whose sensitivity is the radius of its last
clip (``proofs/white.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from statistics import median

from privet.evidence.tables import TableEvidence
from privet.evidence.white import BETTER, PAIRS, REST, Design, contrast_worth, released_shares
from privet.methods.options import Settings
from privet.privacy.queries.base import Release, records_changed
from privet.privacy.queries.white import White
from privet.schema.model import Schema
from privet.trust.curator import Curator

Interesting = Callable[[Schema, tuple[Release, ...]], list[tuple[int, ...]]]


def measure(
    curator: Curator, settings: Settings, margins: tuple[Release, ...], interesting: Interesting
) -> tuple[Release, ...] | None:
    """All that is released, ``margins`` first; None where contrasts tell as much."""
    schema, size = curator.schema, len(curator.schema.columns)
    if size < 2:
        return None
    names = schema.names
    evidence = TableEvidence.from_releases(schema, names, margins)
    shares, rows = released_shares(evidence), max(float(evidence.rows), 1.0)
    design = Design.of(names, shares, rows)
    budget = curator.sharpness(Fraction(1)) ** 2 / 2
    reach = records_changed(schema) * schema.rows_per_person
    first_budget, second_budget = (budget * float(share) / reach**2 for share in (PAIRS, REST))
    small = [(), *combinations(range(size), 1), *combinations(range(size), 2)]
    first = design.first_clip(small, first_budget)
    plain = contrast_worth(schema, shares, rows, budget * float(PAIRS))
    if design.worth(first, first_budget) < BETTER * median(plain):
        return None
    settings.on_step("measuring all pairs", 0.1)
    query = White(columns=names, features=design.features, clips=(first,))
    releases = (*margins, curator.release(query, PAIRS))
    settings.on_step("choosing triples", 0.2)
    second = design.second_clip([(), *interesting(schema, releases)], second_budget, first)
    settings.on_step("measuring triples", 0.3)
    query = White(columns=names, features=design.features, clips=(first, second))
    return (*releases, curator.release(query, REST))
