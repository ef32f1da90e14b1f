"""One column of a table: its kind, what it can hold, and what stands for a missing cell."""

from __future__ import annotations

import difflib
import itertools
import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from privet.errors import SchemaError
from privet.schema.cuts import equal_width
from privet.schema.values import all_finite, edge_texts, finite, guessed_shares, level_text

Kind = Literal["categorical", "ordinal", "numeric"]
Missing = Literal["level", "value", "drop", "choose"]
Scale = Literal["linear", "log"]

MOST_LEVELS = 65_535  # a code fits 16 bits
DEFAULT_BINS = 4


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column. Left out: `cuts` gives 4 bins of equal width, which are `free`: a method may cut
    elsewhere. `missing` gives the declared value in the middle (numeric, ordinal) or the first;
    where it is "choose", nobody has chosen, and no run accepts the column.
    `shares` is a guess of how common each level is, which plans use and nothing else. On the
    `scale` "log" bins and moments are those of the logarithms, for numbers such as incomes.

    >>> privet.Column(name="age", kind="numeric", bounds=(18, 100)).labels
    ('[18, 38.5)', '[38.5, 59)', '[59, 79.5)', '[79.5, 100]')
    >>> privet.Column(name="pain", kind="ordinal", levels=("none", "some", "much")).missing_value
    'some'
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    bounds: tuple[float, float] | None = None
    cuts: tuple[float, ...] = ()
    missing: Missing = "value"
    missing_value: str | float | None = None
    shares: tuple[float, ...] = field(default=(), compare=False)
    free: bool = field(default=False, compare=False)
    scale: Scale = "linear"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a column is named {self.name!r}; give it the name in the header")
        check_kind(self.name, self.kind)
        if not isinstance(self.missing, str):
            raise SchemaError(f"column {self.name!r} has missing = {self.missing!r}; give a text")
        for what in ("levels", "cuts", "shares"):
            expect_list(self.name, what, getattr(self, what))
        if self.bounds is not None:
            expect_list(self.name, "bounds", self.bounds)
        if self.kind == "numeric":
            self._check_numeric()
        else:
            self._check_levels()
        if self.cardinality > MOST_LEVELS:
            raise SchemaError(
                f"column {self.name!r} has {self.cardinality} levels; "
                f"at most {MOST_LEVELS} are possible: merge levels or declare fewer bins"
            )
        self._check_missing()
        self._set("shares", guessed_shares(self.name, self.shares, self.cardinality))

    def _set(self, attribute: str, value: object) -> None:
        object.__setattr__(self, attribute, value)  # only while the column is being built

    def _check_levels(self) -> None:
        if self.bounds is not None or self.cuts or self.scale != "linear":
            raise SchemaError(
                f"column {self.name!r} is {self.kind}, so it has levels and no bounds, bins, "
                f'cuts or scale; remove them or declare kind = "numeric"'
            )
        self._set("levels", tuple(level_text(self.name, level) for level in self.levels))
        if len(self.levels) < 2:
            raise SchemaError(
                f"column {self.name!r} has {len(self.levels)} level(s); {self.kind} columns need "
                f"at least 2: list every level it can take, or leave the column out"
            )
        if len(set(self.levels)) < len(self.levels):
            twice = next(x for i, x in enumerate(self.levels) if x in self.levels[:i])
            raise SchemaError(
                f"column {self.name!r} lists the level {twice!r} twice; list each level once"
            )

    def _check_numeric(self) -> None:
        if self.levels:
            raise SchemaError(
                f"column {self.name!r} is numeric, so it has bounds and no levels; "
                f'remove the levels or declare kind = "ordinal"'
            )
        if self.bounds is None or len(self.bounds) != 2:
            raise SchemaError(
                f"column {self.name!r} is numeric and needs bounds = [lowest, highest]; "
                f"write down the range that is public knowledge"
            )
        low, high = (finite(self.name, "bound", bound) for bound in self.bounds)
        if low >= high or math.isinf(high - low):
            raise SchemaError(
                f"column {self.name!r} has bounds [{low!r}, {high!r}]; "
                f"the first must lie below the second, at a finite distance"
            )
        if not isinstance(self.scale, str) or self.scale not in get_args(Scale):
            raise SchemaError(
                f"column {self.name!r} has scale = {self.scale!r}; use one of "
                f"{', '.join(get_args(Scale))}"
            )
        if self.scale == "log" and low <= 0:
            raise SchemaError(
                f"column {self.name!r} has a scale of logarithms and bounds [{low!r}, {high!r}]; "
                f"the first must lie above 0: numbers below it count as the bound"
            )
        self._set("bounds", (low, high))
        cuts = all_finite(self.name, "cut", self.cuts)
        default = equal_width(low, high, DEFAULT_BINS, self.scale)
        self._set("free", not cuts or (self.free and cuts == default))
        cuts = cuts or default
        edges = (low, *cuts, high)
        if not all(map(operator.lt, edges, edges[1:])):
            if cuts == equal_width(low, high, len(cuts) + 1, self.scale):
                raise SchemaError(
                    f"column {self.name!r} has bounds [{low!r}, {high!r}], between which there is "
                    f"no room for {len(cuts) + 1} bins of equal width; declare wider bounds, or "
                    "fewer bins"
                )
            raise SchemaError(
                f"column {self.name!r} is cut at {list(cuts)}; cuts must increase strictly and "
                f"lie inside the bounds [{low!r}, {high!r}]: correct them or declare fewer bins"
            )
        self._set("cuts", cuts)

    def _check_missing(self) -> None:
        if not isinstance(self.missing, str) or self.missing not in get_args(Missing):
            raise SchemaError(
                f"column {self.name!r} has missing = {self.missing!r}; "
                f'use "level", "drop" or {{ value = ... }}'
            )
        if self.missing != "value":
            if self.missing_value is not None:
                raise SchemaError(
                    f"column {self.name!r} has missing = {self.missing!r} and a missing value "
                    f"{self.missing_value!r}; choose one of the two"
                )
        elif self.missing_value is None:
            self._set("missing_value", self.middle)
        elif self.bounds is not None:
            low, high = self.bounds
            value = finite(self.name, "missing value", self.missing_value)
            if not low <= value <= high:
                raise SchemaError(
                    f"column {self.name!r} replaces missing cells by {value!r}; "
                    f"choose a value inside its bounds [{low!r}, {high!r}]"
                )
            self._set("missing_value", value)
        else:
            level = level_text(self.name, self.missing_value)
            if level not in self.levels:
                raise SchemaError(
                    f"column {self.name!r} replaces missing cells by {level!r}, which is not "
                    f"among its levels; choose a declared level{did_you_mean(level, self.levels)}"
                )
            self._set("missing_value", level)

    @property
    def middle(self) -> str | float:
        """What a missing cell counts as where nothing is declared."""
        if self.bounds is not None:
            low, high = self.bounds
            return (
                math.sqrt(low) * math.sqrt(high) if self.scale == "log" else low + (high - low) / 2
            )
        return self.levels[(len(self.levels) - 1) // 2 if self.kind == "ordinal" else 0]

    @property
    def range(self) -> tuple[float, float] | None:
        """The bounds, as the numbers that are added up have them.

        >>> privet.Column(name="income", kind="numeric", bounds=(1, 100), scale="log").range
        (0.0, 4.605170185988092)
        """
        if self.bounds is None or self.scale == "linear":
            return self.bounds
        return math.log(self.bounds[0]), math.log(self.bounds[1])

    @cached_property
    def cardinality(self) -> int:
        """Number of codes of an encoded cell; code `cardinality - 1` is the missing level."""
        codes = len(self.cuts) + 1 if self.kind == "numeric" else len(self.levels)
        return codes + (self.missing == "level")

    @property
    def labels(self) -> tuple[str, ...]:
        """One readable label per code. A value on a cut belongs to the bin above the cut.

        >>> privet.Column(name="sex", kind="categorical", levels=("f", "m"), missing="level").labels
        ('f', 'm', 'missing')
        """
        labels = self.levels
        if self.bounds is not None:
            edges = edge_texts((self.bounds[0], *self.cuts, self.bounds[1]))
            inner = (f"[{a}, {b})" for a, b in itertools.pairwise(edges[:-1]))
            labels = (*inner, f"[{edges[-2]}, {edges[-1]}]")
        if self.missing != "level":
            return labels
        missing = "missing"
        while missing in labels:
            missing = f"({missing})"
        return (*labels, missing)

    @property
    def ordered(self) -> bool:
        """Whether the order of the codes means something; a missing level breaks it."""
        return self.kind != "categorical" and self.missing != "level"


def expect_list(column: str, what: str, value: object) -> None:
    if not isinstance(value, list | tuple):
        raise SchemaError(f"column {column!r} has {what} = {value!r}; give a list or a tuple")


def check_kind(column: str, kind: object) -> None:
    if not isinstance(kind, str) or kind not in get_args(Kind):
        raise SchemaError(
            f"column {column!r} has kind {kind!r}; "
            f"use one of {', '.join(get_args(Kind))}{did_you_mean(kind, get_args(Kind))}"
        )


def did_you_mean(value: object, options: Iterable[str]) -> str:
    """`" (did you mean 'age'?)"`, or nothing when no option is near."""
    close = difflib.get_close_matches(str(value), list(options), n=3, cutoff=0.6)
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""
