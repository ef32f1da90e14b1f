"""Why two columns are not joined."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf

SAME = 1.05  # times as much, which is shown as no more


@dataclass(frozen=True, kw_only=True)
class Absence:
    """The question that spoke most against an edge: ``given`` are the columns that were held
    fixed, ``log_bayes`` is the log Bayes factor for a dependence (negative: against one).
    ``effect`` is how strong the dependence looks, and ``largest`` how strong it may be.

    The pair is ``undecided`` where a strong dependence is not ruled out. Then so many times the
    ``rows``, or so many times the ``epsilon``, would rule it out in 8 of 10 runs, if there is none.
    Where that is hardly more than there was, it was ``enough``: a weak dependence may be there, or
    this run is one of the other two.
    """

    pair: tuple[str, str]
    given: tuple[str, ...]
    log_bayes: float
    effect: float
    largest: float
    undecided: bool
    rows: float = 1.0
    epsilon: float = 1.0

    def __str__(self) -> str:
        a, b = self.pair
        given = f" given {' and '.join(self.given)}" if self.given else ""
        if not self.undecided:
            return f"{a} and {b} are separated{given}: at most {self.largest:.2f} is left"
        start = (
            f"cannot say whether {a} and {b} are joined{given}: up to {self.largest:.2f} may be "
        )
        if self.enough:
            return (
                f"{start}left, though rows and epsilon are enough to rule a strong dependence out "
                "in 8 of 10 runs; there may be a weak one"
            )
        more = [f"{_times(self.rows)} times the rows"]
        if not isinf(self.epsilon):
            more.append(f"{_times(self.epsilon)} times the epsilon")
        return f"{start}left; {' or '.join(more)} would tell"

    @property
    def enough(self) -> bool:
        """Whether more rows, or more budget, would hardly be more."""
        return self.rows < SAME or self.epsilon < SAME

    @property
    def needs(self) -> tuple[str, str]:
        """So many times the rows, or the epsilon; a dash where no budget is enough."""
        if self.enough:
            return "enough", "enough"
        return f"x {_times(self.rows)}", "-" if isinf(self.epsilon) else f"x {_times(self.epsilon)}"


def _times(factor: float) -> str:
    return f"{float(f'{factor:.2g}'):,g}"
