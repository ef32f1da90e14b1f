"""Why two columns are not joined."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf


@dataclass(frozen=True, kw_only=True)
class Absence:
    """The question that spoke most against an edge: ``given`` are the columns that were held
    fixed, ``log_bayes`` is the log Bayes factor for a dependence (negative: against one).
    ``effect`` is how strong the dependence looks, and ``largest`` how strong it may be.

    The pair is ``undecided`` where a strong dependence is not ruled out. Then so many times the
    ``rows``, or so many times the ``epsilon``, would rule it out in 8 of 10 runs, if there is none.
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
        more = [f"{self.rows:.2g} times the rows"]
        if not isinf(self.epsilon):
            more.append(f"{self.epsilon:.2g} times the epsilon")
        return (
            f"cannot say whether {a} and {b} are joined{given}: up to {self.largest:.2f} may be "
            f"left; {' or '.join(more)} would tell"
        )

    @property
    def needs(self) -> tuple[str, str]:
        """So many times the rows, or the epsilon; a dash where no budget is enough."""
        return f"x {self.rows:.2g}", "-" if isinf(self.epsilon) else f"x {self.epsilon:.2g}"
