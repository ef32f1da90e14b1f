"""Bounds at the ends of what a number can hold."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import SchemaError
from privet.schema.column import Column
from privet.schema.cuts import FINE, equal_width


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False))
def test_bounds_are_cut_into_equal_bins_or_refused_for_what_they_are(
    low: float, high: float
) -> None:
    """Nobody named cuts, so no message does."""
    try:
        column = Column(name="x", kind="numeric", bounds=(low, high))
    except SchemaError as error:
        assert "cut" not in str(error)
        return
    edges = (low, *column.cuts, high)
    widths = [b / 4 - a / 4 for a, b in pairwise(edges)]
    assert min(widths) > 0 or high - low < 1e-300
    assert all(math.isfinite(edge) for edge in edges)


@pytest.mark.parametrize("bounds", [(-8e307, 9e307), (0, 1.7e308), (-1.7e308, 0)])
def test_wide_bounds_are_served(bounds: tuple[float, float]) -> None:
    assert len(Column(name="x", kind="numeric", bounds=bounds).cuts) == 3
    fine = equal_width(*bounds, FINE)
    assert all(a < b for a, b in pairwise((bounds[0], *fine, bounds[1])))


@pytest.mark.parametrize("bounds", [(1, 1 + 4e-16), (0, 5e-324)])
def test_narrow_bounds_are_refused_by_their_own_name(bounds: tuple[float, float]) -> None:
    with pytest.raises(SchemaError, match="no room for 4 bins of equal width"):
        Column(name="x", kind="numeric", bounds=bounds)
