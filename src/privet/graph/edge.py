"""An edge, its marks, and which marks each kind of graph allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from privet.errors import GraphError, expect
from privet.markup.pieces import BOTH, share

Kind = Literal["dag", "cpdag", "mpdag", "pdag", "pag", "cyclic"]
Mark = Literal["-->", "---", "<->", "o->", "o-o", "o--"]

KINDS: tuple[str, ...] = get_args(Kind)
MARKS: tuple[str, ...] = get_args(Mark)
SYMMETRIC = frozenset({"---", "<->", "o-o"})
# Marks that say nothing about direction: there is nothing to be sure of.
OPEN_MARKS = frozenset({"---", "o-o"})
ALLOWED: dict[str, frozenset[str]] = {
    "dag": frozenset({"-->"}),
    "cpdag": frozenset({"-->", "---"}),
    "mpdag": frozenset({"-->", "---"}),
    "pdag": frozenset({"-->", "---"}),
    "pag": frozenset(MARKS),
    "cyclic": frozenset({"-->"}),
}
DASHED, UNDIRECTED = "-?>", "---"  # how people see an arrow that is tentative


@dataclass(frozen=True)
class Reason:
    """Why an arrow is tentative: the mark that people see in its place, and a sentence about its
    ``{source}`` and ``{target}``."""

    shown: str
    says: str


def _of_birth(name: str) -> Reason:
    return Reason(
        UNDIRECTED,
        f"{name} is a fact of birth by its name: confirm it as a tier of the schema, or say that "
        f"others may cause it by deleting {name}.tier from unconfirmed",
    )


# An arrow that is tentative is part of the graph: extensions, other programs and comparisons get
# it. People see it dashed, or as a line where the reason is against any direction.
TENTATIVE: dict[str, Reason] = {
    "support": Reason(DASHED, "too little of the redrawn evidence draws this arrow"),
    "copy": Reason(
        UNDIRECTED, "{source} and {target} say the same, so nothing shows which comes first"
    ),
    "birth": _of_birth("{target}"),
    "birth of the first": _of_birth("{source}"),  # of a <-> b, which has an arrow into both
}


@dataclass(frozen=True)
class Edge:
    """``source mark target``, read from left to right: Edge("smoke", "cancer", "-->").

    ``confidence`` is how sure the edge is, ``arrow_confidence`` how sure its mark. An arrow may be
    ``tentative`` for a reason (a key of ``TENTATIVE``): ``mark`` is what the graph holds, and
    ``shown`` what people see.

    >>> print(privet.Edge("smoke", "cancer", "-->", confidence=0.98))
    smoke --> cancer
    >>> print(privet.Edge("smoke", "cancer", "-->", tentative="support"))
    smoke -?> cancer
    """

    source: str
    target: str
    mark: Mark
    confidence: float | None = None
    arrow_confidence: float | None = None
    origin: str | None = None
    tentative: str | None = None

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
        if self.origin is not None:
            expect(self.origin, str, "origin", "give a text, or omit it", GraphError)
        if self.tentative is not None:
            self._check_reason()

    def _check_reason(self) -> None:
        edge = f"{self.source} {self.mark} {self.target}"
        if not isinstance(self.tentative, str) or self.tentative not in TENTATIVE:
            raise GraphError(
                f"{edge}: it is tentative because of {self.tentative!r}, which is no known reason; "
                f"use one of {', '.join(TENTATIVE)}"
            )
        if self.mark in OPEN_MARKS:
            raise GraphError(f"{edge}: only an arrow is tentative; omit {self.tentative!r}")

    @property
    def reversed(self) -> Edge:
        """The same edge told from its other end; only for marks that read the same both ways.

        >>> print(privet.Edge("smoke", "cancer", "---").reversed)
        cancer --- smoke
        """
        if self.mark not in SYMMETRIC:
            raise GraphError(f"{self} reads otherwise from its other end; only a --- b does not")
        return replace(self, source=self.target, target=self.source)

    @property
    def undirected(self) -> Edge:
        """The same edge without a direction.

        >>> print(privet.Edge("smoke", "cancer", "-->").undirected)
        smoke --- cancer
        """
        mark: Mark = "---" if self.mark in ("-->", "---") else "o-o"
        return replace(self, mark=mark, arrow_confidence=None, tentative=None)

    @property
    def shown(self) -> str:
        """The mark as people see it: of a tentative arrow, a dashed one or a line.

        >>> privet.Edge("smoke", "cancer", "-->", tentative="support").shown
        '-?>'
        """
        if self.tentative is None:
            return self.mark
        seen = TENTATIVE[self.tentative].shown
        return seen if self.mark == "-->" else "o-o" if seen == UNDIRECTED else self.mark

    @property
    def why(self) -> str:
        """Why the arrow is tentative, in words; "" if it is not.

        >>> privet.Edge("smoke", "cancer", "-->", tentative="support").why
        'too little of the redrawn evidence draws this arrow'
        """
        if self.tentative is None:
            return ""
        return TENTATIVE[self.tentative].says.format(source=self.source, target=self.target)

    @property
    def figures(self) -> str:
        """The confidence of the edge and that of its arrow, if they are known.

        >>> privet.Edge("smoke", "cancer", "-->", confidence=0.98, arrow_confidence=0.7).figures
        '0.98, arrow 0.70'
        """
        return ", arrow ".join(self._figures())

    @property
    def figures_short(self) -> str:
        """The same in little room.

        >>> privet.Edge("smoke", "cancer", "-->", 0.98, 0.7).figures_short
        '0.98 / 0.70'
        """
        return BOTH.join(self._figures())

    def _figures(self) -> list[str]:
        arrow = None if self.shown in OPEN_MARKS else self.arrow_confidence
        known = [] if self.confidence is None else [share(self.confidence)]
        return [*known, *([] if arrow is None else [share(arrow)])]

    def doubt(self) -> str:
        """The same in brackets, behind the edge.

        >>> privet.Edge("smoke", "cancer", "-->", confidence=0.98).doubt()
        '  (0.98)'
        """
        return f"  ({self.figures})" if self.figures else ""

    def __str__(self) -> str:
        return f"{self.source} {self.shown} {self.target}"


def reasons(edges: Iterable[Edge]) -> list[str]:
    """Why tentative arrows are shown as they are: each reason once, behind those that have it.

    >>> privet.graph.edge.reasons([privet.Edge("a", "b", "-->", tentative="copy")])
    ['a --- b: a and b say the same, so nothing shows which comes first']
    """
    found: dict[str, list[str]] = {}
    dashed = False
    for edge in edges:
        if edge.shown == DASHED:
            dashed = True
        elif edge.why:
            found.setdefault(edge.why, []).append(str(edge))
    told = [f"{DASHED} is a tentative arrow: {TENTATIVE['support'].says}"] if dashed else []
    return [*told, *(f"{', '.join(each)}: {why}" for why, each in found.items())]
