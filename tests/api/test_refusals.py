"""Refusals that say what a request would cost, in numbers that follow from the schema alone."""

from __future__ import annotations

import re
from itertools import combinations
from math import comb, sqrt

import pytest

from privet.errors import MethodError
from privet.methods.options import Settings
from privet.methods.sources import moments, tables
from privet.privacy.queries.contrasts import GRID
from privet.privacy.queries.tables import Components
from privet.schema.column import Column
from privet.schema.model import Schema


def schema_of(*sizes: int) -> Schema:
    columns = tuple(
        Column(
            name=f"x{i}",
            kind="ordinal" if i % 2 else "categorical",
            levels=tuple(f"l{j}" for j in range(size)),
        )
        for i, size in enumerate(sizes)
    )
    return Schema(name="people", columns=columns)


def numeric(size: int) -> Schema:
    return Schema(
        name="people",
        columns=tuple(
            Column(name=f"x{i}", kind="numeric", bounds=(0, 1), missing="drop") for i in range(size)
        ),
    )


def refused(check: object, schema: Schema, order: int = 2) -> str:
    with pytest.raises(MethodError) as caught:
        check(schema, Settings(max_order=order))  # type: ignore[operator]
    return str(caught.value)


def weight(schema: Schema, order: int) -> float:
    """What all interactions of an order take of a budget, by the query's own sensitivity."""
    sets = Components(tuple(combinations(schema.names, order)))
    return sets.l2_squared(schema) / GRID ** (2 * order)


@pytest.mark.parametrize("order", [3, 4, 9])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), (2,) * 8, (3, 2, 5, 2, 7, 4)])
def test_larger_separators_have_their_price(order: int, sizes: tuple[int, ...]) -> None:
    schema = schema_of(*sizes)
    said = refused(tables.check, schema, order)
    widths = range(4, min(order + 1, len(sizes)) + 1)
    counted, louder = re.search(r"there are ([\d,]+) here.* ([\d.]+) times", said).groups()  # type: ignore[union-attr]
    assert int(counted.replace(",", "")) == sum(comb(len(sizes), width) for width in widths)
    more = sum(weight(schema, width) for width in widths)
    expected = sqrt(1 + more / sum(weight(schema, width) for width in (0, 1, 2)))
    assert float(louder) == pytest.approx(expected, abs=0.051)


def test_separators_that_cannot_be_have_none() -> None:
    assert "more columns than the 3" in refused(tables.check, schema_of(2, 2, 2), 3)


def test_too_many_columns_say_how_many_pairs_they_make() -> None:
    assert "here 80,200" in refused(tables.check, schema_of(*[2] * 401))
    assert "here 500,500" in refused(moments.check, numeric(1001))
    assert "there are no larger ones; use 0 to 8" in refused(moments.check, numeric(3), 9)
