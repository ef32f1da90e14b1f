"""Searches by scores do not join columns by chance only because there are many."""

from __future__ import annotations

import numpy as np
import pytest

import privet
from privet.evidence.prior import most_odds
from privet.schema.column import Column
from privet.schema.model import Schema

COLUMNS, ROWS = 100, 2_000


def test_few_columns_have_even_odds() -> None:
    assert most_odds(1) == most_odds(11) == 1.0
    assert most_odds(101) == pytest.approx(0.1)


def test_independent_columns_are_not_joined_by_chance() -> None:
    """Of 4,950 pairs, an edge costs log(2000) / 2 + log(9.9) = 6.1, twice of which chi-square of
    one degree exceeds with probability 4.8e-4: 2.4 are expected, and more than 14 come in fewer
    than one of a million tables. BIC alone would join 29, and fewer than 15 in one of 400."""
    rng = np.random.default_rng(8)
    names = [f"x{i:02}" for i in range(COLUMNS)]
    rows = {name: rng.normal(size=ROWS) for name in names}
    columns = tuple(Column(name=n, kind="numeric", bounds=(-5.0, 5.0)) for n in names)
    found = privet.discover(rows, Schema(name="t", columns=columns), method="ges", private=False)
    assert len(found.graph.edges) <= 14
