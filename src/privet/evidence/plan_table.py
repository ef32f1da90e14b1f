"""The lines of a plan as a table, for pages and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privet.markup.pieces import number, safe, table

if TYPE_CHECKING:
    from privet.evidence.plan import PlanLine


def plan_table(lines: Sequence[PlanLine]) -> str:
    """The smallest effects that are found, in a typical, the best and the worst pair."""
    made = (
        (
            "nothing" if line.order == 0 else f"{line.order} column(s)",
            safe(line.what),
            *(number(effect_text(size)) for size in (line.typical, line.best, line.worst)),
        )
        for line in lines
    )
    return table(("given", "effect", "typical pair", "best pair", "worst pair"), made)


def effect_text(size: float) -> str:
    """An effect; beyond 1 there is none that shows."""
    return f"{size:.3f}" if size < 1 else "none"
