"""The first stage of the table methods: how many rows there are, how columns spread, and where
numbers are cut.

Columns with levels are measured in contrasts, free numeric ones (``schema/cuts.py``) in histograms
on a fine grid. These tell where to cut, and into how many groups. All later questions are about
columns cut there.

Privacy. A twentieth of the budget, on ``Components`` and on ``Tables`` of single columns; cuts are
a function of what is released for it (``proofs/cuts.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.arrays import Floats
from privet.evidence.cuts import USUAL, Spread, groups, histograms
from privet.evidence.tables import TableEvidence
from privet.evidence.white import released_shares
from privet.methods.options import Settings
from privet.methods.sources import white
from privet.privacy.queries.base import Query, Release
from privet.privacy.queries.contrasts import GRID
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.tables import Components
from privet.schema.cuts import free_columns
from privet.schema.model import Schema
from privet.trust.curator import Curator

SHARE = Fraction(1, 20)


@dataclass(frozen=True, kw_only=True)
class First:
    """What was released, the curator of all that follows and the share of the budget that is left
    for it; and, with Gaussian noise, the shares of the levels of all columns."""

    releases: tuple[Release, ...]
    curator: Curator
    left: Fraction
    shares: tuple[Floats, ...] = ()
    rows: float = 0.0


def measure(curator: Curator, settings: Settings) -> First:
    """Without noise, or with Laplace's, only what tells the cuts."""
    schema = curator.schema
    told, gaussian = histograms(schema), curator.private and not curator.pure
    queries: list[Query] = _contrasts(schema) if gaussian else []
    if told is not None:  # all with the same cuts, so that rows are read once
        queries = [*(Cut(told.cuts, query) for query in queries), told]
    if not queries:
        return First(releases=(), curator=curator, left=Fraction(1))
    settings.on_step("measuring all columns", 0.0)
    weights = [_weight(query, schema) for query in queries]
    releases = curator.releases(
        [(query, SHARE * w / sum(weights)) for query, w in zip(queries, weights, strict=True)]
    )
    left = 1 - SHARE if curator.private else Fraction(1)
    spread = None if told is None else Spread.of(releases[-1], schema)
    if not gaussian:
        assert spread is not None
        count = USUAL if curator.pure else groups(spread.total)
        return First(releases=releases, curator=curator.cut(spread.cuts(count)), left=left)
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    rows, known = max(float(evidence.rows), 1.0), {}
    if spread is not None:
        few = spread.cuts(USUAL)
        usual = released_shares(evidence, spread.shares(few))
        cuts = spread.cuts(groups(white.effective_rows(curator.cut(few), usual, rows)))
        curator, known = curator.cut(cuts), spread.shares(cuts)
    shares = tuple(released_shares(evidence, known))
    return First(releases=releases, curator=curator, left=left, shares=shares, rows=rows)


def _contrasts(schema: Schema) -> list[Query]:
    """The number of rows, if it is not public, and the columns that are cut already."""
    free = free_columns(schema)
    fixed = tuple((name,) for name in schema.names if name not in free)
    rows: list[Query] = [] if schema.rows_are_public else [Components(((),))]
    return [*rows, *([Components(fixed)] if fixed else [])]


def _weight(query: Query, schema: Schema) -> Fraction:
    """So that all have the same noise in unit scale."""
    inner = query.query if isinstance(query, Cut) else query
    order = len(inner.sets[0]) if isinstance(inner, Components) else 0
    return Fraction(query.l2_squared(schema), GRID ** (2 * order))
