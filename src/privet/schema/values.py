"""What a person may write into a schema as a level, a number or an edge, and how it is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable

from privet.errors import SchemaError


def edge_texts(edges: tuple[float, ...]) -> tuple[str, ...]:
    """The shortest texts, of at least 6 digits' precision, that tell the edges apart."""
    for digits in range(6, 18):
        texts = tuple(f"{edge + 0.0:.{digits}g}" for edge in edges)
        if len(set(texts)) == len(edges):
            break
    return texts


def is_not_whole(value: object) -> bool:
    return not isinstance(value, int) or isinstance(value, bool)


def level_text(column: str, level: object) -> str:
    """A level as the text that stands in a cell."""
    if isinstance(level, bool):
        return "true" if level else "false"
    if isinstance(level, int):
        return str(level)
    if not isinstance(level, str):
        raise SchemaError(
            f"column {column!r} has the level {level!r}; "
            f"write levels in quotes, exactly as they stand in the data"
        )
    if not level.strip():
        raise SchemaError(
            f"column {column!r} has an empty level, but an empty cell is a missing one; "
            f'remove the level and declare missing = "level"'
        )
    if level != level.strip():
        raise SchemaError(
            f"column {column!r} has the level {level!r}, but cells are read without the spaces "
            f"around them; write {level.strip()!r}"
        )
    return level


def finite(column: str, what: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise SchemaError(f"column {column!r} has the {what} {value!r}; write a finite number")


def all_finite(column: str, what: str, values: Iterable[object]) -> tuple[float, ...]:
    several = tuple(values)
    if set(map(type, several)) == {float} and all(map(math.isfinite, several)):  # type: ignore[arg-type]
        return several  # type: ignore[return-value]
    return tuple(finite(column, what, value) for value in several)


def guessed_shares(column: str, shares: Iterable[object], levels: int) -> tuple[float, ...]:
    """Shares of the levels that add up to 1. They are a public guess, for plans alone."""
    found = tuple(finite(column, "share", share) for share in shares)
    if found and (len(found) != levels or min(found) <= 0):
        raise SchemaError(
            f"column {column!r} has shares = {list(found)}; write {levels} numbers above 0, one "
            "for each level or bin (and the last for missing cells, if these are a level)"
        )
    return tuple(share / math.fsum(found) for share in found)
