"""Guessed shares of levels: for plans, and no part of what a column is."""

from __future__ import annotations

import pytest

from privet.errors import SchemaError
from privet.schema.column import Column
from privet.schema.model import Schema

TEXT = """
name = "t"
[columns.smoker]
kind = "categorical"
levels = ["no", "yes"]
missing = "level"
shares = [6, 3, 1]
[columns.age]
kind = "numeric"
bounds = [0, 100]
bins = 2
shares = [0.5, 0.5]
"""


def test_shares_are_read_written_and_divided_by_their_sum() -> None:
    schema = Schema.from_toml(TEXT)
    assert schema.column("smoker").shares == pytest.approx((0.6, 0.3, 0.1))
    again = Schema.from_toml(schema.to_toml())
    assert [c.shares for c in again.columns] == [c.shares for c in schema.columns]


def test_a_guess_makes_no_other_column() -> None:
    plain = Column(name="a", kind="categorical", levels=("x", "y"))
    guessed = Column(name="a", kind="categorical", levels=("x", "y"), shares=(0.1, 0.9))
    assert plain == guessed and hash(plain) == hash(guessed)
    assert "shares" not in Schema(name="t", columns=(plain,)).to_toml()


@pytest.mark.parametrize("shares", ["[6, 3]", "[6, 3, 0]", "[6, 3, -1]", "6", '[6, 3, "a"]'])
def test_shares_that_make_no_sense(shares: str) -> None:
    with pytest.raises(SchemaError, match="smoker"):
        Schema.from_toml(TEXT.replace("[6, 3, 1]", shares))
