"""What the cells of a column mean, for both readers: which texts are a level, what stands for a
missing cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from privet.schema.column import Column

# what Python's str.strip removes, since the schema strips its levels that way
SPACES = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())

ZEROS = {"-0": "0", "-0.0": "0.0"}  # texts of a number that equals another, which has this text


@lru_cache(maxsize=1 << 10)
def spellings(levels: tuple[str, ...]) -> dict[str, int]:
    """Every text that means a level, and the code of that level; the levels come first."""
    found = {level: code for code, level in enumerate(levels)}
    for code, level in enumerate(levels):
        if level.lower() in ("true", "false"):
            for text in (level.lower(), level.capitalize(), level.upper()):
                found.setdefault(text, code)
        try:
            number = float(level)
        except ValueError:
            continue
        if math.isfinite(number):
            found.setdefault(repr(number), code)
            if number.is_integer() and Decimal(level) == Decimal(number):  # not merely the nearest
                found.setdefault(str(int(number)), code)
            if number == 0:
                found.setdefault("-0.0", code)
    return found


def missing_code(column: Column) -> int:
    """The code of a missing cell."""
    if column.missing == "level":
        return column.cardinality - 1
    if column.missing == "drop":
        return 0  # never used: the row is not there
    if column.bounds is not None:
        return sum(cut <= float(column.missing_value or 0) for cut in column.cuts)
    return column.levels.index(str(column.missing_value))


def fill(column: Column) -> float:
    """The number of a missing cell: the declared one, or the middle of the bounds."""
    assert column.bounds is not None
    if column.missing == "value":
        return float(column.missing_value or 0)
    low, high = column.bounds
    return low + (high - low) / 2


def zeros_sql(text: str) -> str:
    """A text, as that of the other zero where it is one of two; in any SQL."""
    others = " ".join(f"WHEN '{zero}' THEN '{other}'" for zero, other in ZEROS.items())
    return f"CASE {text} {others} ELSE {text} END"


def bin_sql(value: str, edges: Sequence[str], first: int = 0) -> str:
    """The number of edges (literals, ascending) at or below a value, by halving; in any SQL."""
    if not edges:
        return str(first)
    half = len(edges) // 2
    below = bin_sql(value, edges[:half], first)
    above = bin_sql(value, edges[half + 1 :], first + half + 1)
    return f"CASE WHEN {value} < {edges[half]} THEN {below} ELSE {above} END"
