"""Asking about several pairs on one budget.

First what all pairs need: about how many rows there are, if that is not public, and ranges of the
columns, if they are to be found. What is left is shared equally among the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from privet.pairs.options import Choices
from privet.pairs.way import Pair, Way
from privet.privacy.queries.base import Query, Release
from privet.privacy.queries.pairs import QuantileRanks, Range, check_numeric
from privet.privacy.queries.tables import Components
from privet.schema.model import Schema
from privet.trust.curator import Curator

ROWS = Components(((),))
COUNT = Fraction(1, 50)  # of the budget for the number of rows, which only chooses bins
BOUNDS = Fraction(1, 5)  # of the budget for ranges
QUARTILES = (Fraction(1, 4), Fraction(3, 4))
STEPS = 1 << 12  # of the grid on which a quartile is looked for
REACH = 2.25  # interquartile ranges from the middle to an end: three deviations, if bell-shaped


def measure_pairs(
    curator: Curator,
    way: Way,
    pairs: Sequence[Pair],
    choices: Choices,
    whole: Fraction = Fraction(1),
) -> tuple[Release, ...]:
    """What the way needs to know of these pairs, for this share of the budget."""
    releases: list[Release] = []
    left = whole
    if way.counts and curator.schema.rows is None:
        releases.append(curator.release(ROWS, whole * COUNT))
        left -= whole * COUNT
    rows = float(releases[0].values[0]) if releases else float(curator.schema.rows or 0)
    ranges: dict[str, Range] = {}
    if choices.find_bounds:
        ranges = dict(_found(curator, pairs, whole * BOUNDS))
        left -= whole * BOUNDS
    for i, pair in enumerate(pairs):
        choices.on_step(f"asking about {pair.x} and {pair.y}", i / len(pairs))
        known = replace(pair, x_range=ranges.get(pair.x), y_range=ranges.get(pair.y), rows=rows)
        releases += way.measure(curator, known, choices, left / len(pairs))
    return tuple(releases)


def _found(curator: Curator, pairs: Sequence[Pair], share: Fraction) -> Iterator[tuple[str, Range]]:
    """A range of each column from its quartiles."""
    columns = list(dict.fromkeys(name for pair in pairs for name in (pair.x, pair.y)))
    price = share / (len(QUARTILES) * len(columns))
    for column in columns:
        questions = [QuantileRanks(column=column, share=q, steps=STEPS) for q in QUARTILES]
        edges = [q.edge(_selected(curator, q, price), curator.schema) for q in questions]
        yield column, around(min(edges), max(edges), check_numeric(column, curator.schema))


def _selected(curator: Curator, query: Query, share: Fraction) -> int:
    if not curator.private:
        return int(curator.exact(query).values.argmax())
    return curator.select(query, share)


def around(first: float, third: float, declared: Range) -> Range:
    """The range that two quartiles suggest, within the declared one."""
    low, high = declared
    middle = first + (third - first) / 2
    reach = REACH * max(third - first, (high - low) / STEPS)
    found = max(low, middle - reach), min(high, middle + reach)
    return found if found[0] < found[1] else declared


def numeric(schema: Schema) -> tuple[str, ...]:
    return tuple(column.name for column in schema.columns if column.bounds is not None)
