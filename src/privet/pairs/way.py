"""What a way to orient a pair of columns is, and which there are.

A way is an entry of ``WAYS`` in a file of this folder. It measures a pair (the only part that
costs privacy) and it judges what was measured (as often as one likes, for nothing).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import privet.pairs
from privet.errors import MethodError, expect
from privet.markup.pieces import mark, notebook, paragraphs, safe, table
from privet.pairs.algorithms.on_table import DEFAULT
from privet.pairs.options import Choices
from privet.privacy.ledger.conversion import Accounting
from privet.privacy.queries.base import Release
from privet.privacy.queries.pairs import Range
from privet.schema.column import did_you_mean
from privet.schema.model import Schema
from privet.trust.curator import Curator

Direction = Literal["-->", "<--", "undecided"]
TURNED: dict[Direction, Direction] = {"-->": "<--", "<--": "-->", "undecided": "undecided"}
AUTO = f"table-{DEFAULT}"
MOST_FLIPPED = 0.05  # chance that noise has turned an answer from which on there is none


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two columns. The ranges are those that were found, if any; ``rows`` is about how many
    rows there are, as far as that is public or was paid for."""

    x: str
    y: str
    x_range: Range | None = None
    y_range: Range | None = None
    rows: float = 0.0


@dataclass(frozen=True, kw_only=True, repr=False)
class Orientation:
    """Whether a causes b (``-->``), b causes a (``<--``), or what was measured does not say, and
    for what ``reason``.

    ``forward`` and ``backward`` are the evidence for either direction (None if only their
    ``difference`` was released); only the difference means anything, positive for a --> b.
    ``flipped`` is the probability that the noise alone has turned the answer, ``wrong`` that
    noise and chance in the rows have, if a causes b or b causes a by a model of the kind that
    the method looks for. None where nothing is known.

    >>> told = privet.Orientation(a="height", b="weight", direction="-->", difference=1, wrong=0.01)
    >>> told
    Orientation: height --> weight  (wrong with probability 0.010)
    >>> told.cause, told.effect
    ('height', 'weight')
    """

    a: str
    b: str
    direction: Direction
    difference: float | None
    forward: float | None = None
    backward: float | None = None
    flipped: float | None = None
    wrong: float | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def cause(self) -> str | None:
        """The column that is the cause, if one is.

        >>> oriented[0].cause in ("height", "weight", None)
        True
        """
        return {"-->": self.a, "<--": self.b}.get(self.direction)

    @property
    def effect(self) -> str | None:
        """The column that is the effect, if one is.

        >>> oriented[0].effect in ("height", "weight", None)
        True
        """
        return {"-->": self.b, "<--": self.a}.get(self.direction)

    @property
    def turned(self) -> Orientation:
        """The same, told from b to a.

        >>> oriented[0].turned.a
        'weight'
        """
        difference = None if self.difference is None else -self.difference
        return replace(
            self,
            a=self.b,
            b=self.a,
            direction=TURNED[self.direction],
            difference=difference,
            forward=self.backward,
            backward=self.forward,
        )

    def to_dict(self) -> dict[str, Any]:
        """The orientation as orientation.json has it.

        >>> oriented[0].to_dict()["a"]
        'height'
        """
        return asdict(self)

    def __repr__(self) -> str:
        return f"Orientation: {self}"

    def _repr_html_(self) -> str:
        shown = f"{safe(self.a)} {mark(self.direction)} {safe(self.b)}"
        doubts = {"turned by noise": self.flipped, "wrong": self.wrong}
        lines = ((safe(what), safe(chance(p))) for what, p in doubts.items() if p is not None)
        reason = [self.reason] if self.reason else []
        return notebook(f"<p>{shown}</p>", table(("doubt", ""), lines), paragraphs(reason))

    def __str__(self) -> str:
        if self.direction == "undecided":
            return f"{self.a} ? {self.b}  (undecided: {self.reason})"
        what, doubt = ("wrong", self.wrong)
        if doubt is None:
            what, doubt = "turned by noise", self.flipped
        words = "" if doubt is None else f"  ({what} with probability {chance(doubt)})"
        return f"{self.a} {self.direction} {self.b}{words}"


def chance(value: float) -> str:
    """A probability in words; no more of it can be believed than this."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to orient pairs. ``uses`` are the special choices that it knows; ``counts`` says
    that it needs to know about how many rows there are, ``needs_rows`` that it needs to know it
    exactly, which must then be public; ``holds`` whether it can judge these
    releases of a pair, which must be ``evidence``. What is ``tested`` for stability takes a
    delta. ``accounting`` is the one that serves it best, as with methods. ``published`` measures
    for the epsilon and delta that a paper would claim, with noise that is not private."""

    name: str
    summary: str
    cite: str
    private: bool
    evidence: str
    check: Callable[[Schema, Pair, Choices], None]
    measure: Callable[[Curator, Pair, Choices, Fraction], tuple[Release, ...]]
    holds: Callable[[tuple[Release, ...]], bool]
    judge: Callable[[Schema, Pair, tuple[Release, ...], Choices], Orientation]
    reason: str = ""
    uses: frozenset[str] = frozenset()
    counts: bool = False
    needs_rows: bool = False
    tested: bool = False
    accounting: Accounting = "gdp"
    published: Published | None = None


Published = Callable[[Curator, Pair, Choices, float, float], tuple[Release, ...]]


def answer(
    pair: Pair, difference: float, *, flipped: float, reason: str = "", **more: Any
) -> Orientation:
    """The direction that a difference tells, unless there is a reason against it or noise may
    have turned it."""
    if not reason and difference == 0:
        reason = "both directions fit equally well"
    if not reason and flipped > MOST_FLIPPED:
        reason = "the noise may have turned the answer"
    direction: Direction = "undecided"
    if not reason:
        direction = "-->" if difference > 0 else "<--"
    return Orientation(
        a=pair.x,
        b=pair.y,
        direction=direction,
        difference=difference,
        flipped=flipped,
        reason=reason,
        **more,
    )


@cache
def all_ways() -> tuple[Way, ...]:
    """All ways, in order of their names: every file here that has ``WAYS``."""
    found = pkgutil.walk_packages(privet.pairs.__path__, "privet.pairs.")
    loaded = [importlib.import_module(module.name) for module in found]
    ways = [way for module in loaded for way in getattr(module, "WAYS", ())]
    return tuple(sorted(ways, key=lambda way: way.name))


def way_named(name: str) -> Way:
    ways = {way.name: way for way in all_ways()}
    expect(name, str, "method", "give the name of a method for pairs", MethodError)
    name = AUTO if name == "auto" else name
    if name not in ways:
        raise MethodError(
            f"there is no method {name!r} for pairs{did_you_mean(name, ways)}; choose auto or one "
            f"of {', '.join(ways)}"
        )
    return ways[name]


def pair_of(release: Release) -> tuple[str, str] | None:
    """The columns that a release speaks of, if it is one about a pair."""
    about = getattr(release.query, "model", release.query)
    names = getattr(about, "x", None), getattr(about, "y", None)
    return names if None not in names else None  # type: ignore[return-value]
