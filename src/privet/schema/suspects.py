"""What a column may be that a draft should not take at its word: an identifier, a date, a skewed
number, or a first row in the place of a header. Judged from distinct cells, for the owner alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MANY = 20  # rows from which on it is no accident that all cells differ
SKEWED = 0.05  # of the range, below which half of the different numbers lie
DATES = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{4}/\d{1,2}/\d{1,2}"
)
WHOLE = re.compile(r"[+-]?\d{1,18}")
ID = re.compile(r"(^|[_\s.-])(id|uuid|key|nr|no|number|ssn|mrn)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the draft saw of a column."""

    values: tuple[str, ...]  # some distinct ones
    distinct: int
    rows: int
    missing: bool
    numeric: bool
    range: tuple[float, float] | None
    median: float | None = None


def no_model(name: str, look: Look) -> str | None:
    """Why a column is better left out, or None."""
    if look.values and all(map(DATES.fullmatch, look.values)):
        return (
            "it holds dates; make a column of the year, or of the age in years, and declare that "
            "one with its bounds"
        )
    different = look.distinct >= MANY and look.distinct == look.rows
    whole = all(map(WHOLE.fullmatch, look.values))
    if different and (not look.numeric or (whole and (ID.search(name) or _counts(look)))):
        return (
            "each row has a value of its own, so it looks like an identifier, which tells nothing "
            "of causes and may name people"
        )
    return None


def _counts(look: Look) -> bool:
    """Whether the rows are just numbered."""
    low, high = look.range or (0.0, 0.0)
    return low in (0, 1) and high - low == look.rows - 1


def skew(name: str, look: Look) -> str | None:
    """What to do about numbers that crowd at one end of their range, if they do."""
    if look.range is None or look.median is None:
        return None
    low, high = look.range
    if not low < high or (look.median - low) / (high - low) > SKEWED:
        return None
    log = (
        'scale = "log" suits it, with a lower bound above 0'
        if high > 0
        else "consider to declare cuts"
    )
    return (
        f"{name!r} is skewed: half of its different numbers lie in the lowest {SKEWED:.0%} of its "
        f"range; {log}. Without declared cuts, methods cut a number where its rows are and pay "
        f"for that from epsilon"
    )


def is_row(header: Sequence[str], looks: Mapping[str, Look]) -> bool:
    """Whether the line of names is as good as certainly a row: each cell of it is a value like
    those below it."""
    return len(header) > 1 and all(_is_cell(name, looks[name]) for name in header if name in looks)


def _is_cell(name: str, look: Look) -> bool:
    if look.numeric:
        return re.fullmatch(r"[+-]?\d+(\.\d+)?", name.strip()) is not None
    return name.strip() in look.values
