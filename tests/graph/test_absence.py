from __future__ import annotations

import pytest

from privet.graph.absence import Absence


def absence(rows: float, epsilon: float) -> Absence:
    facts = {"log_bayes": -1.0, "effect": 0.05, "largest": 0.12, "undecided": True}
    return Absence(pair=("a", "b"), given=(), rows=rows, epsilon=epsilon, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rows", "epsilon"), [(1.0, 1.0), (1.04, 1.2), (1.1, 1.02)])
def test_nothing_asks_for_what_there_was(rows: float, epsilon: float) -> None:
    """Once as many rows are no more rows."""
    one = absence(rows, epsilon)
    assert one.needs == ("enough", "enough")
    assert "times the" not in str(one) and "there may be a weak one" in str(one)


@pytest.mark.parametrize(
    ("rows", "epsilon", "needs"),
    [(354.0, 2.5, ("x 350", "x 2.5")), (3.0, float("inf"), ("x 3", "-"))],
)
def test_what_more_would_do(rows: float, epsilon: float, needs: tuple[str, str]) -> None:
    one = absence(rows, epsilon)
    assert one.needs == needs and f"{needs[0][2:]} times the rows" in str(one)
