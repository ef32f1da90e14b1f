"""What a cell means, as SQL for PostgreSQL: the same rule as ``rules.py``, over typed columns.

Nothing here can raise an error because of a cell: no text is cast to a number, nothing is computed
from a number before it is clamped, and a ``numeric`` is cut to what a double can hold before it
becomes one. Texts are compared code point by code point, whatever the collation of the column.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from privet.privacy.engines.meaning import SPACES, bin_sql, fill, missing_code, spellings, zeros_sql
from privet.schema.column import Column

WHOLE = ("smallint", "integer", "bigint")
REAL = ("real", "double precision")
TEXT = ("text", "character varying", "character", "citext", "enum")
READ = (*WHOLE, *REAL, *TEXT, "boolean", "numeric")
LONGEST = (1 << 63) - 1


def cell_sql(column: Column, name: str, kind: str) -> str:
    """A parsed cell: its number or the code of its level, or NULL for missing."""
    if column.bounds is not None:
        return _number(name, kind)
    found = spellings(column.levels)
    if kind in TEXT:
        texts = {quoted(t): code for t, code in found.items() if "\0" not in t}
        # trimming costs more than matching, so only what does not match is trimmed
        return _case(f'{name}::text COLLATE "C"', texts, _case(text_sql(name), texts))
    if kind == "boolean":
        truths = {"true": found.get("true"), "false": found.get("false")}
        return _case(name, {t: code for t, code in truths.items() if code is not None})
    if kind in WHOLE:
        return _case(f"{name}::bigint", _wholes(found))
    return _fraction(_number(name, kind, nan=True), found)


def code_sql(cell: str, column: Column) -> str:
    """The code of a column over its parsed cell."""
    if column.bounds is None:
        return f"coalesce({cell}, {missing_code(column)})"
    found = bin_sql(cell, [_real(cut) for cut in column.cuts])
    return f"CASE WHEN {cell} IS NULL THEN {missing_code(column)} ELSE {found} END"


def real_sql(cell: str, column: Column) -> str:
    """The clamped number of a column, or its code if it has none."""
    if column.bounds is None:
        return f"({code_sql(cell, column)})::float8"
    low, high = map(_real, column.bounds)
    clamped = f"least(greatest({cell}, {low}), {high})"
    return f"CASE WHEN {cell} IS NULL THEN {_real(fill(column))} ELSE {clamped} END"


def packs(columns: Sequence[Column]) -> list[list[int]]:
    """Places of columns whose codes fit one number together."""
    found: list[list[int]] = []
    cells = LONGEST + 1
    for i, column in enumerate(columns):
        if cells * column.cardinality > LONGEST:
            found.append([])
            cells = 1
        found[-1].append(i)
        cells *= column.cardinality
    return found


def packed_sql(codes: Sequence[str], columns: Sequence[Column]) -> str:
    """Codes as one number, in mixed radix; the first column counts most."""
    number = f"({codes[0]})::bigint"
    for code, column in zip(codes[1:], columns[1:], strict=True):
        number = f"({number} * {column.cardinality} + ({code}))"
    return number


def person_sql(name: str, kind: str) -> str:
    """The name of a person as text, or NULL where there is none."""
    if kind in REAL:
        name = f"nullif({name}, 'NaN')"
    return f"nullif({zeros_sql(text_sql(name))}, '')"


def plain_sql(name: str, kind: str) -> str:
    """A cell as it is, as text; a number with a fraction as the nearest double."""
    fraction = kind in REAL or kind == "numeric"
    return f"({_number(name, kind)})::text" if fraction else f"{name}::text"


def text_sql(name: str) -> str:
    return f'btrim({name}::text COLLATE "C", {quoted(SPACES)})'


def quoted(text: str) -> str:
    """A text as SQL, with escapes for all that is not printable ASCII."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    plain = re.sub(r"[^\x20-\x7e]", lambda m: f"\\U{ord(m[0]):08X}", escaped)
    return f"E'{plain}'"


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _number(name: str, kind: str, nan: bool = False) -> str:
    if kind == "boolean":
        return f"CASE WHEN {name} THEN {_real(1.0)} WHEN NOT {name} THEN {_real(0.0)} END"
    if kind == "numeric":
        # beyond a double, or too near to 0 for one, the cast would be an error
        cut = f"least(greatest({name}, -1e308), 1e308)"
        cut = f"CASE WHEN abs({name}) < 1e-300 THEN 0 ELSE {cut} END"
        missing = _real("NaN") if nan else "NULL"
        there = f"{name} IS NOT NULL"  # as least and greatest overlook what is not
        return f"CASE WHEN {name} = 'NaN' THEN {missing} WHEN {there} THEN ({cut})::float8 END"
    return f"{name}::float8" if nan else f"nullif({name}::float8, {_real('NaN')})"


def _wholes(found: dict[str, int]) -> dict[str, int]:
    """The spellings that are whole numbers as they are written, compared as such."""
    whole = {t: code for t, code in found.items() if re.fullmatch(r"0|-?[1-9][0-9]*", t)}
    return {f"{t}::bigint": code for t, code in whole.items() if abs(int(t)) <= LONGEST}


def _fraction(number: str, found: dict[str, int]) -> str:
    """The spellings that are doubles as they are written; the two zeros are told apart."""
    reals = {t: code for t, code in found.items() if _is_written(t)}
    zeros = {t: reals.pop(t, None) for t in ("0.0", "-0.0")}
    codes = {t: "NULL" if code is None else str(code) for t, code in zeros.items()}
    others = "".join(f" WHEN {_real(t)} THEN {code}" for t, code in reals.items())
    zero = f"CASE WHEN v::text LIKE '-%' THEN {codes['-0.0']} ELSE {codes['0.0']} END"
    return (
        f"(SELECT CASE v WHEN {_real(0.0)} THEN {zero}{others} END FROM (SELECT {number}) AS t(v))"
    )


def _is_written(text: str) -> bool:
    try:
        return repr(float(text)) == text
    except ValueError:
        return False


def _case(cell: str, codes: dict[str, int], others: str = "NULL::integer") -> str:
    if not codes:
        return others
    whens = " ".join(f"WHEN {literal} THEN {code}" for literal, code in codes.items())
    return f"CASE {cell} {whens} ELSE {others} END"


def _real(value: object) -> str:
    return f"'{value}'::float8"
