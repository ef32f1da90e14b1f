"""A schema from a few words: which levels and which bounds columns have is said, and nothing is
learnt from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from privet.errors import DataError, SchemaError, expect
from privet.graph.knowledge import Knowledge
from privet.schema.column import Column, Kind, did_you_mean
from privet.schema.frames import header_of, is_path
from privet.schema.model import Adjacency, Schema
from privet.schema.names import UNNAMED, clean_name


def build(
    data: Any,
    *,
    name: str | None,
    levels: Mapping[str, Sequence[Any]],
    bounds: Mapping[str, Sequence[float]],
    ordinal: Sequence[str],
    missing: Mapping[str, Any],
    knowledge: Mapping[str, Any],
    rows: int | None,
    **people: Any,
) -> Schema:
    header = names_in(data)
    for what, given in (("levels", levels), ("bounds", bounds), ("missing", missing)):
        check_names(what, given, header)
    _listed("ordinal", ordinal)
    for column in ordinal:
        expect(column, str, "a name in ordinal", "give the names of columns", SchemaError)
    check_names("ordinal", dict.fromkeys(ordinal), header)
    both = sorted(set(levels) & set(bounds))
    if both:
        raise SchemaError(f"column {both[0]!r} has levels and bounds; say one of the two")
    columns = [
        _column(column, levels, bounds, ordinal, missing.get(column))
        for column in header
        if column in levels or column in bounds
    ]
    return Schema(
        name=default_name(data) if name is None else name,
        columns=tuple(columns),
        adjacency=Adjacency.ADD_REMOVE if rows is None else Adjacency.REPLACE_ONE,
        rows=rows,
        knowledge=_knowledge(knowledge),
        **people,
    )


def names_in(data: Any) -> tuple[str, ...]:
    """The names of the columns, from a header alone, or from a list of them."""
    if is_path(data):
        from privet.schema.cells import header_in

        return header_in(Path(data))
    if isinstance(data, list | tuple) and all(isinstance(name, str) for name in data):
        return tuple(data)
    return header_of(data)


def default_name(data: Any) -> str:
    if not is_path(data):
        return UNNAMED
    path = Path(data)
    return clean_name(Path(path.stem).stem if path.suffix == ".gz" else path.stem) or UNNAMED


def _column(
    name: str,
    levels: Mapping[str, Sequence[Any]],
    bounds: Mapping[str, Sequence[float]],
    ordinal: Sequence[str],
    missing: Any,
) -> Column:
    policy = {} if missing is None else policy_of(missing)
    if name in bounds:
        low_high = cast("tuple[float, float]", tuple(_listed(f"bounds of {name}", bounds[name])))
        return Column(name=name, kind="numeric", bounds=low_high, **policy)
    kind: Kind = "ordinal" if name in ordinal else "categorical"
    told = tuple(_listed(f"levels of {name}", levels[name]))
    return Column(name=name, kind=kind, levels=told, **policy)


def policy_of(missing: Any) -> dict[str, Any]:
    """What to do with missing cells, from what a schema file has: { value = ... }, or a word."""
    if isinstance(missing, Mapping):
        return {"missing": "value", "missing_value": missing.get("value")}
    return {"missing": missing, "missing_value": None}


def _knowledge(given: Mapping[str, Any]) -> Knowledge:
    return Knowledge(**{key: _listed(key, value) for key, value in given.items()})


def _listed(what: str, value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise SchemaError(f"{what} is {value!r}; give a list")
    return value


def check_names(what: str, given: Any, header: Sequence[str]) -> None:
    if not isinstance(given, Mapping):
        raise SchemaError(f"{what} is {given!r}; give a dict from the names of columns")
    for name in given:
        if name not in header:
            raise DataError(
                f"{what} speaks of {name!r}, which the data do not have"
                f"{did_you_mean(name, header)}; name one of {', '.join(header[:8])}"
            )
