"""An option is said once: in the field of a settings class, with its range and its words.

``table`` reads the fields back, and from that table come the checks (``read``), the arguments of
the command line and the tables in the documents. Methods and pairs each have such a class and
may not know one another, so what they share has a room of its own below both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal

from privet.errors import MethodError
from privet.schema.column import did_you_mean

Kind = Literal["whole", "number", "name", "flag"]
KEY = "option"  # of a field's metadata


@dataclass(frozen=True, kw_only=True)
class Option:
    """``rule`` completes "it must". A number lies ``between`` two, both left out unless ``closed``,
    if these are known here; with ``words`` it may also be text, which the method refuses with its
    reason. A name is one ``among`` some, or one that the method knows. ``const`` is its value
    where only the flag is given. ``taken_by`` says whose it is; a special one says nothing there,
    and the methods that use it list it."""

    kind: Kind
    help: str
    rule: str
    default: Any
    name: str = ""  # that of the field
    group: str = ""
    metavar: str | None = None
    least: int = 0
    between: tuple[float, float] | None = None
    closed: bool = False
    words: bool = False
    among: tuple[str, ...] = ()
    const: float | None = None
    taken_by: str = ""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def read(self, value: Any) -> Any:
        """The value as its type, or a refusal."""
        if not self._fits(value):
            raise MethodError(f"⟦{self.name}⟧ is {value!r}, but it must {self.rule}")
        if self.kind == "whole":
            return int(value)
        return float(value) if self.kind == "number" and not isinstance(value, str) else value

    def _fits(self, value: Any) -> bool:
        if self.kind == "flag" or isinstance(value, bool):
            return self.kind == "flag" and isinstance(value, bool)
        if self.kind == "name":
            return isinstance(value, str) and (not self.among or value in self.among)
        if self.kind == "whole":
            return isinstance(value, Integral) and int(value) >= self.least
        if isinstance(value, str):
            return self.words
        return isinstance(value, Real) and self._lies(value)

    def _lies(self, value: Real) -> bool:
        try:
            given = float(value)
        except OverflowError:
            return False
        if self.between is None or (self.closed and given in self.between):
            return True
        return self.between[0] < given < self.between[1]


def whole(default: int | None, help: str, *, least: int = 0, **more: Any) -> Any:
    """A field for a whole number from some one on."""
    return _field("whole", default, help, f"be a whole number from {least} on", least=least, **more)


def number(default: float | None, help: str, rule: str, **more: Any) -> Any:
    """A field for a number."""
    return _field("number", default, help, rule, **more)


def name(
    default: str, help: str, *, among: tuple[str, ...] = (), like: str = "", **more: Any
) -> Any:
    """A field for one of some names, or for one ``like`` this, which the method knows."""
    rule = f"be {' or '.join(among)}" if among else f"be a name such as {like}"
    return _field("name", default, help, rule, among=among, **more)


def flag(help: str, **more: Any) -> Any:
    """A field for yes or no."""
    return _field("flag", False, help, "be True or False", **more)


def _field(kind: Kind, default: Any, help: str, rule: str, **more: Any) -> Any:
    option = Option(kind=kind, default=default, help=help, rule=rule, **more)
    return field(default=default, metadata={KEY: option})


def options_of(settings: Any) -> tuple[Option, ...]:
    """The options of a settings class, or of settings, in their order."""
    return _options(settings if isinstance(settings, type) else type(settings))


@cache
def _options(settings: Any) -> tuple[Option, ...]:
    return tuple(
        replace(each.metadata[KEY], name=each.name)
        for each in fields(settings)
        if KEY in each.metadata
    )


def read(settings: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given of these options, or a refusal; None stands for the default."""
    known = {option.name: option for option in options_of(settings)}
    found = {}
    for each, value in given.items():
        if each not in known:
            raise MethodError(
                f"there is no option {each!r}{did_you_mean(each, known)}; choose from "
                f"{', '.join(sorted(known))}"
            )
        if value is not None:
            found[each] = known[each].read(value)
    return found


def special(settings: Any) -> dict[str, Any]:
    """Those that only some methods use and that differ from their defaults."""
    given = ((option, getattr(settings, option.name)) for option in options_of(settings))
    return {o.name: value for o, value in given if not o.taken_by and value != o.default}
