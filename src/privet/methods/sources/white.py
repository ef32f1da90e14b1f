"""Tables in white features of weighed rows: a tenth of the noise where levels are rare.

Stage 0 (a twentieth of the budget) measures the number of rows and all columns in contrasts. That
tells the white features, how rows would be weighed, and whether it is worth it. Stage 1 measures
all pairs, stage 2 once more those that matter, and triples where these can be told.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from statistics import median

from privet.evidence.tables import TableEvidence, components_query
from privet.evidence.white import Design, contrast_worth
from privet.methods.options import Settings
from privet.privacy.queries.base import Release
from privet.privacy.queries.white import Clip, White
from privet.schema.model import Schema
from privet.trust.curator import Curator

MARGINS, PAIRS, REST = Fraction(5, 100), Fraction(45, 100), Fraction(50, 100)

TELLING = float(
    __import__("os").environ.get("TELLING", "10000")
)  # rows that pairs must be worth, or triples are better completed than measured

Interesting = Callable[[Schema, tuple[Release, ...]], list[tuple[int, ...]]]


def measure(curator: Curator, settings: Settings, interesting: Interesting) -> tuple[Release, ...]:
    schema, size = curator.schema, len(curator.schema.columns)
    names = schema.names
    margins = _margins(curator)
    evidence = TableEvidence.from_releases(schema, names, margins)
    design = Design.of(schema, evidence)
    budget = curator.sharpness(Fraction(1)) ** 2 / 2
    small = [(), *combinations(range(size), 1), *combinations(range(size), 2)]
    first = design.clip(small, budget * float(PAIRS))
    settings.on_step("measuring all pairs", 0.1)
    query = White(columns=names, features=design.features, clips=(first,))
    releases = (*margins, curator.release(query, PAIRS))
    most = 3 if design.worth(first, budget * float(PAIRS)) >= TELLING else 2
    wanted = [(), *(s for s in interesting(schema, releases) if len(s) <= most)]
    second = design.clip(wanted, budget * float(REST), first)
    settings.on_step("measuring triples", 0.3)
    query = White(columns=names, features=design.features, clips=(first, second))
    return (*releases, curator.release(query, REST))


def _margins(curator: Curator) -> tuple[Release, ...]:
    names = curator.schema.names
    sets: list[list[tuple[int, ...]]] = [[(i,) for i in range(len(names))]]
    if not curator.schema.rows_are_public:
        sets.insert(0, [()])
    return curator.releases([(components_query(names, s), MARGINS / len(sets)) for s in sets])


__all__ = ["Clip", "contrast_worth", "measure", "median"]
