"""What a column may be that a draft should not take at its word: an identifier, a date, a code, a
skewed number, one level in two spellings, or a first row in the place of a header. Judged from
distinct cells, for the owner alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from privet.schema.born import words_in, words_of
from privet.schema.cells import MOST, Look
from privet.schema.column import Column

MANY = 20  # rows from which on it is no accident that all cells differ
SKEWED = 0.05  # of the range, below which half of the different numbers lie
DATES = re.compile(
    r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{4}/\d{1,2}/\d{1,2}"
)
WHOLE = re.compile(r"[+-]?\d{1,18}")
CODES = words_in(
    "zip zipcode postcode postal postalcode plz fips state county country region province city "
    "town village commune district school hospital"
)
SENTINEL = re.compile(r"-?9{2,}(\.0)?|-(1|8|9|[89]8|[789]77|8{2,})(\.0)?")
FAR = 0.5  # of the range: a gap before the last number from which on it may be a code
ID = re.compile(r"(^|[_\s.-])(id|uuid|key|nr|no|number|ssn|mrn)$", re.IGNORECASE)


def no_model(name: str, look: Look) -> str | None:
    """Why a column is better left out, or None."""
    if look.values and all(map(DATES.fullmatch, look.values)):
        return (
            "it holds dates; make a column of the year, or of the age in years, and declare that "
            "one with its bounds"
        )
    if look.commas and not look.numeric:
        return (
            f"it holds numbers with a comma, such as {_with_comma(look)!r}, and Privet reads only "
            "points; write 3.5 for 3,5 and 1000 for 1,000, and draft again"
        )
    if look.numeric and look.distinct > MOST and is_code(name, look):
        return (
            "its numbers look like codes (of places, for instance) and not like amounts; make a "
            "column of few regions or groups, and declare that one with its levels"
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


def is_code(name: str, look: Look) -> bool:
    """Whether digits are no number: numbers of places, or whole numbers that begin with a zero."""
    return look.zeros or (look.whole and not CODES.isdisjoint(words_of(name)))


def _with_comma(look: Look) -> str:
    return min((value for value in look.values if "," in value), default="3,5")


def doubts(name: str, look: Look, column: Column) -> Iterator[str]:
    """What the owner should look at before a column is taken as it was drafted."""
    code = sentinel(look) if column.kind != "categorical" else None
    if code is not None:
        yield (
            f"{name!r}: {code:g} lies far from all other numbers. If it is a code for missing, "
            "make these cells empty and draft again: as it is, it counts as a number"
        )
    elif column.bounds and (crowded := skew(name, look)):
        yield crowded
    for alike in spellings(column.levels):
        yield (
            f"{name!r} has {' and '.join(map(repr, alike))}, which differ in spelling only, as "
            f"{len(alike)} levels; if they mean the same, give them one spelling in the data and "
            "draft again"
        )


def sentinel(look: Look) -> float | None:
    """A number such as 999 or -99 with a wide gap before it, which may stand for a missing one."""
    if len(look.ends) < 4 or look.distinct < 4:
        return None
    lowest, next_low, next_high, highest = look.ends
    for code, beside in ((highest, next_high), (lowest, next_low)):
        if SENTINEL.fullmatch(f"{code:g}") and abs(code - beside) > FAR * abs(highest - lowest):
            return code
    return None


def spellings(levels: Sequence[str]) -> list[tuple[str, ...]]:
    """Levels that differ by capitals, spaces, signs or final zeros alone."""
    groups: dict[str, list[str]] = {}
    for level in levels:
        groups.setdefault(_key(level), []).append(level)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _key(level: str) -> str:
    try:
        return repr(float(level) + 0.0)
    except ValueError:
        return re.sub(r"[\s_.-]+", "", level.casefold()) or level


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
