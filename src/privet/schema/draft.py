"""A first draft of a schema, for a person to correct: the one place that looks without paying.

What it reads from the rows is marked as such, line by line, and stays on the certificate
until somebody confirms that it is public knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from privet.errors import DataError, SchemaError
from privet.schema.born import born_with
from privet.schema.build import check_names, default_name, policy_of
from privet.schema.cells import MOST, Cells, Look, cells_in, cells_of
from privet.schema.column import Column
from privet.schema.frames import is_path
from privet.schema.missing import CHOOSE
from privet.schema.model import CHOICE, TIER, Schema
from privet.schema.repeats import check_counted, person_in
from privet.schema.suspects import doubts, is_code, is_row, no_model
from privet.schema.toml import READ, toml_text

ABOUT_PERSON = (
    "`person`: one person seems to have several rows. If that column does say whose row it is, no "
    "more than rows_per_person rows of each are counted, and the promise is for all of a person's "
    "rows; the noise grows with rows_per_person, so a smaller one may be better. If each row is a "
    "person of its own, delete both lines and their entries"
)
FEW = 12  # distinct values up to which a column of numbers is taken for one of levels
Chosen = str | Mapping[str, Any] | None  # for all columns with missing cells, or by name


def draft(data: Any, name: str | None = None, missing: Chosen = None) -> Schema:
    """A proposal of a schema for a frame (pandas, polars, Arrow), a dict of columns, or a CSV or
    Parquet file, to be corrected by somebody who knows what is public."""
    label = repr(str(data)) if is_path(data) else f"the {type(data).__name__}"
    unnamed = name is None and not is_path(data)
    remarks = ["the name was not given: give the data set one of its own"] if unnamed else []
    with cells_of(data) as cells:
        return _drafted(
            cells, default_name(data) if name is None else name, label, remarks, missing
        )


def draft_texts(
    header: Sequence[str],
    parts: Iterable[Sequence[Sequence[str | None]]],
    *,
    name: str,
    label: str,
    remarks: Sequence[str] = (),
    missing: Chosen = None,
) -> Schema:
    """The same for a table whose cells come as texts, of each column some rows at a time."""
    with cells_in(header, parts) as cells:
        return _drafted(cells, name, label, remarks, missing)


def _drafted(
    cells: Cells, name: str, label: str, remarks: Sequence[str], missing: Chosen
) -> Schema:
    looks = cells.looks()
    if is_row(list(looks), looks):
        raise DataError(
            f"the first line of {label} looks like a row and not like names of columns "
            f"({', '.join(list(looks)[:4])}); put a line of names above it"
        )
    check_counted(cells, looks)
    chosen = _choices(missing, cells.names)
    person = person_in(cells, looks)
    columns, left_out, notes = [], [], [] if person is None else [ABOUT_PERSON]
    for column_name, look in looks.items():
        if person is not None and column_name == person.column:
            continue
        column = no_model(column_name, look) or _propose(column_name, look)
        if isinstance(column, str):
            left_out.append(f"left out: {toml_text(column_name)} ({column}; {READ})")
            continue
        columns.append(_with_choice(column, look, chosen))
        notes += [f"{doubt} ({READ})" for doubt in doubts(column_name, look, column)]
    if not columns:
        raise DataError(
            f"{label} has no column that varies over numbers or over at most {MOST} texts; "
            f"write a schema by hand"
        )
    made = Schema(
        name=name,
        columns=tuple(columns),
        person=None if person is None else person.column,
        rows_per_person=1 if person is None else person.rows,
        remarks=(*remarks, *notes, *left_out),
        notes={
            **({} if person is None else person.notes),
            **{
                f"{c.name}.missing": _empty(looks[c.name]) for c in columns if looks[c.name].missing
            },
        },
    )
    return replace(made, unconfirmed=(*_read(made, looks), *([CHOICE] if left_out else [])))


def _empty(look: Look) -> str:
    share = f"{look.missing / look.rows:.0%}" if look.missing * 200 >= look.rows else "under 0.5%"
    cells = "1 cell is" if look.missing == 1 else f"{look.missing:,} cells are"
    return f"{cells} missing, {share}"


def _read(schema: Schema, looks: Mapping[str, Look]) -> list[str]:
    """What somebody has to confirm: what was read from the rows, and what is guessed from names."""
    found = [] if schema.person is None else ["person", "rows_per_person"]
    for column in schema.columns:
        facts = ["kind", "bounds" if column.bounds else "levels"]
        facts += ["missing"] if looks[column.name].missing else []
        found += [f"{column.name}.{fact}" for fact in facts]
    first = born_with(schema.names)
    return found + ([f"{name}.{TIER}" for name in first] if len(first) < len(schema.names) else [])


def _choices(missing: Chosen, names: Sequence[str]) -> Mapping[str, Any]:
    """What was chosen for missing cells, by column; under the name of none: for all."""
    if missing is None or isinstance(missing, str):
        if missing not in (None, "drop", "level"):
            raise SchemaError(
                f"⟦missing={missing!r}¦--missing {missing}⟧ is no choice for all columns; choose "
                "'drop' or 'level'⟦, or give a dict from names, such as {'weight': {'value': 70}}"
                "¦, or write { value = V } into the schema, column by column⟧"
            )
        return {"": CHOOSE if missing is None else missing}
    check_names("missing", missing, names)
    return {"": CHOOSE, **missing}


def _with_choice(column: Column, look: Look, chosen: Mapping[str, Any]) -> Column:
    if column.name in chosen:
        return replace(column, **policy_of(chosen[column.name]))
    return replace(column, **policy_of(chosen[""])) if look.missing else column


def _propose(name: str, look: Look) -> Column | str:
    """A column, or why there is none."""
    if not name.strip():
        return "it has no name"
    if len(look.values) < 2:
        return "it has fewer than two values"
    if look.numeric and len(look.values) > FEW and not is_code(name, look):
        bounds = _round_outward(*look.range) if look.range else None
        if bounds is None:
            return "its numbers have no finite range"
        return Column(name=name, kind="numeric", bounds=bounds)
    if len(look.values) > MOST:
        return f"it has more than {MOST} different texts"
    ordered = look.numeric and len(look.values) > 2 and not is_code(name, look)
    order = sorted(look.values, key=lambda v: (float(v) if ordered else 0, v))
    return Column(name=name, kind="ordinal" if ordered else "categorical", levels=tuple(order))


def _round_outward(low: float, high: float) -> tuple[float, float] | None:
    """The range, widened to multiples of the power of ten next below its width."""
    if not math.isfinite(high - low) or low >= high:
        return None
    width = Decimal(high) - Decimal(low)
    step = Decimal(10) ** width.adjusted()
    first = (Decimal(low) / step).to_integral_value(ROUND_FLOOR) * step
    last = (Decimal(high) / step).to_integral_value(ROUND_CEILING) * step
    bounds = float(first), float(last)
    return bounds if math.isfinite(bounds[1] - bounds[0]) else (low, high)
