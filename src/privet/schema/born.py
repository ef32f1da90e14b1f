"""Columns whose names tell that nothing else in a table causes them: what people are born with.

Names are public, and a guess from a name is only ever a proposal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # also of birthYear and DOB
_BORN = re.compile(
    "age|sex|gender|race|ethnicity|ethnic|ancestry|native|nativity|birth|birth(day|date|year|"
    "place|weight)|born|dob|yob"
)


def born_with(names: Iterable[str]) -> tuple[str, ...]:
    """Those that speak of age, sex, race or birth."""
    return tuple(name for name in names if any(map(_speaks, _WORD.findall(name))))


def _speaks(word: str) -> bool:
    return _BORN.fullmatch(word.lower()) is not None
