"""Tables in white features of weighed rows: a tenth of the noise where levels are rare.

Stage 0, a twentieth of the budget, has measured the number of rows and all columns in contrasts.
That tells the white features, how rows would be weighed, and whether it is worth it. Stage 1
measures all pairs, stage 2 once more those that matter, and their triples, with the same weights.
Where a pair tells little, there is a stage between these: what looks independent at a glance shares
no more budget. Fewer pairs weigh fewer rows down, so from then on rows are weighed anew.

Privacy. Features, sets and clips are functions of earlier releases and public facts, and each
stage is one release of ``privacy.queries.white.White``, whose sensitivity is the radius of its last
clip (``proofs/white.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from privet.arrays import Floats
from privet.evidence import unit_noise
from privet.evidence.tables import TableEvidence
from privet.evidence.white import CHANCE, PAIRS, REST, Design, contrast_rows
from privet.independence import chi2
from privet.methods.options import Settings
from privet.privacy.queries.base import Release, records_changed
from privet.privacy.queries.white import Clip, White
from privet.schema.model import Schema
from privet.trust.curator import Curator

Interesting = Callable[[Schema, tuple[Release, ...]], list[tuple[int, ...]]]


def effective_rows(curator: Curator, shares: Sequence[Floats], rows: float) -> float:
    """The effective sample size of a typical pair, in the better features."""
    design = Design.of(curator.schema.names, shares, rows)
    return max(design.course(_budget(curator)).worth, _in_contrasts(curator, shares, rows))


def _in_contrasts(curator: Curator, shares: Sequence[Floats], rows: float) -> float:
    noise = unit_noise.of_pairs(curator.schema, curator.sharpness(PAIRS + REST) ** 2 / 2)
    return contrast_rows(curator.schema, shares, rows, noise)


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
    design = Design.of(schema.names, shares, rows)
    course = design.course(_budget(curator))
    if course.worth < _in_contrasts(curator, shares, rows):
        return None

    def asked(*clips: Clip) -> White:
        return White(columns=schema.names, features=design.features, clips=clips)

    settings.on_step("measuring all pairs", 0.1)
    clip, small = course.first, design.all_pairs[: size + 1]
    releases = (*margins, curator.release(asked(clip), course.pairs))
    if course.again:
        settings.on_step("measuring pairs that may be dependent", 0.15)
        likely, budget = _likely(schema, releases), _budget(curator) * float(course.again)
        clip = design.fresh_clip([*small, *likely], budget)
        releases = (*releases, curator.release(asked(clip), course.again))
    settings.on_step("choosing triples", 0.2)
    wanted = [members for members in interesting(schema, releases) if len(members) > 1]
    later = design.later_clip([*small, *wanted], course.worth, clip)
    settings.on_step("measuring triples", 0.3)
    return (*releases, curator.release(asked(clip, later), course.rest))


def _likely(schema: Schema, releases: tuple[Release, ...]) -> list[tuple[int, ...]]:
    """The pairs that look more dependent than chance would often make them."""
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    pairs = np.stack(np.triu_indices(len(schema.columns), 1), axis=1)
    likely = chi2.pooled(evidence, pairs).p_value < float(CHANCE)
    return [(x, y) for x, y in pairs[likely].tolist()]


def _budget(curator: Curator) -> float:
    """The budget (rho) of a run, for one row."""
    schema = curator.schema
    moved = records_changed(schema) * schema.rows_per_person
    return curator.sharpness(Fraction(1)) ** 2 / 2 / moved**2
