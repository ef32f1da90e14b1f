"""Frozen dataclasses as JSON: their fields and the types of these say how, and nothing else does.

A document may come from anywhere, so whatever does not fit its type is refused: an unknown or a
missing field, a number for a name, a list of the wrong length. A field with a default may be
missing: files from before it was there have none.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
_PLAIN = (str, int)


def encoded(value: Any) -> Any:
    """A value as JSON has it. Fields that do not count when two are compared are not written."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, tuple):  # nearly all parts are plain, and there are many
        return [part if type(part) in _PLAIN else encoded(part) for part in value]
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {name: encoded(getattr(value, name)) for name in _written(type(value))}
    return value


def decoded(kind: type[T], value: Any) -> T:
    """The dataclass that was encoded, or a KeyError, TypeError or ValueError."""
    return _decoded(kind, value)  # type: ignore[no-any-return]


@cache
def _written(kind: type) -> dict[str, Any]:
    """The fields that are written, in their order, and their types."""
    types = get_type_hints(kind)
    return {field.name: types[field.name] for field in fields(kind) if field.compare}


def _decoded(kind: Any, value: Any) -> Any:
    if hasattr(kind, "from_json"):
        return kind.from_json(value)
    if is_dataclass(kind):
        return _dataclass(kind, value)
    outer, parts = get_origin(kind), get_args(kind)
    if outer in (Union, UnionType):  # something or None
        return None if value is None else _decoded(parts[0], value)
    if outer is tuple:
        return _tuple(parts, value)
    if outer is Literal:
        if value not in parts:
            raise ValueError(f"{value!r} is none of {parts}")
        return value
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise TypeError(f"{value!r} is no {kind}")
    return value


def _dataclass(kind: Any, value: Any) -> Any:
    written = _written(kind)
    needed = {field.name for field in fields(kind) if field.default is MISSING} & written.keys()
    if not isinstance(value, dict) or not needed <= value.keys() <= written.keys():
        raise KeyError(f"the fields of a {kind.__name__} are {', '.join(written)}")
    return kind(**{name: _decoded(written[name], part) for name, part in value.items()})


def _tuple(parts: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    kinds = parts[:1] * len(value) if parts[1:] == (...,) else parts
    return tuple(_decoded(kind, part) for kind, part in zip(kinds, value, strict=True))
