"""An edge, its marks, and which marks each kind of graph allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from privet.errors import GraphError, expect
from privet.markup.pieces import share

Kind = Literal["dag", "cpdag", "pag", "cyclic"]
Mark = Literal["-->", "---", "<->", "o->", "o-o", "o--"]

KINDS: tuple[str, ...] = get_args(Kind)
MARKS: tuple[str, ...] = get_args(Mark)
SYMMETRIC = frozenset({"---", "<->", "o-o"})
ALLOWED: dict[str, frozenset[str]] = {
    "dag": frozenset({"-->"}),
    "cpdag": frozenset({"-->", "---"}),
    "pag": frozenset(MARKS),
    "cyclic": frozenset({"-->"}),
}


@dataclass(frozen=True)
class Edge:
    """``source mark target``, read from left to right: Edge("smoke", "cancer", "-->").

    ``confidence`` is the probability of the edge, ``arrow_confidence`` that of its mark. An edge
    that ``lean``s to one of its ends would have an arrow there, but too little speaks for it; then
    ``arrow_confidence`` is that of this arrow.

    >>> print(privet.Edge("smoke", "cancer", "-->", confidence=0.98))
    smoke --> cancer
    """

    source: str
    target: str
    mark: Mark
    confidence: float | None = None
    arrow_confidence: float | None = None
    origin: str | None = None
    lean: str | None = None

    def __post_init__(self) -> None:
        for name in (self.source, self.target):
            if not isinstance(name, str):
                raise GraphError(f"a node of an edge is {name!r}; give the names of two nodes")
        if not isinstance(self.mark, str) or self.mark not in MARKS:
            raise GraphError(
                f"the edge between {self.source!r} and {self.target!r} has mark {self.mark!r}; "
                f"use one of {' '.join(MARKS)} (turn the edge round for <--, <-o, --o)"
            )
        for what in ("confidence", "arrow_confidence"):
            value = getattr(self, what)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise GraphError(f"{self}: {what} is {value!r}; give a number from 0 to 1")
            if not 0 <= value <= 1:
                raise GraphError(f"{self}: {what} is {value}; give a number from 0 to 1")
            object.__setattr__(self, what, float(value))
        for what in ("origin", "lean"):
            if (text := getattr(self, what)) is not None:
                expect(text, str, what, "give a text, or leave it away", GraphError)
        if self.lean is not None and self.lean not in (self.source, self.target):
            raise GraphError(f"{self}: it leans to {self.lean!r}, which is none of its ends")

    @property
    def reversed(self) -> Edge:
        """The same edge told from its other end; only for marks that read the same both ways.

        >>> print(privet.Edge("smoke", "cancer", "---").reversed)
        cancer --- smoke
        """
        if self.mark not in SYMMETRIC:
            raise GraphError(f"{self} reads otherwise from its other end; only a --- b does not")
        return replace(self, source=self.target, target=self.source)

    def doubt(self) -> str:
        """The confidence behind the edge, if it is known: "  (0.98)".

        >>> privet.Edge("smoke", "cancer", "-->", confidence=0.98).doubt()
        '  (0.98)'
        """
        return "" if self.confidence is None else f"  ({share(self.confidence)})"

    def __str__(self) -> str:
        return f"{self.source} {self.mark} {self.target}"
