"""What can decide whether two columns are joined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from privet.graph.graph import Graph
from privet.search.skeleton import Rule

By = Literal[
    "tests", "rule", "implied", "score", "weights", "knowledge", "copy", "confidence", "unknown"
]


@dataclass(frozen=True, kw_only=True)
class Decision:
    """``by`` what: ``given`` are the columns of the test, or the other parents of ``effect`` in a
    score. ``log_odds`` are those of a dependence, and ``threshold`` what an edge needs; of a score,
    what the edge adds to it, and 0. ``rule`` is what keeps an edge against that test, or what the
    score could not have its way with. ``against`` are two columns, and what separated them, in the
    explanation that the test contradicts; ``tested`` says that tests had left the pair to a score.
    """

    by: By
    given: tuple[str, ...] = ()
    log_odds: float | None = None
    threshold: float | None = None
    effect: str | None = None
    rule: Rule | None = None
    against: tuple[str, ...] = ()
    tested: bool = False


class Decides(Protocol):
    """The record of a search: the graph that it found, and what decided about two columns."""

    @property
    def graph(self) -> Graph: ...

    def decision(self, a: str, b: str) -> Decision: ...
