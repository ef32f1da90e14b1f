"""An option is said once: what comes from its table, and that nothing is said beside it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.cli.main import build_parser
from privet.errors import MethodError
from privet.methods import catalogue
from privet.methods.options import Settings, make_settings
from privet.options.option import flag, name, number, options_of, read, special, whole
from privet.pairs import way as ways
from privet.pairs.options import Choices, make_choices

TABLES = pytest.mark.parametrize(
    ("settings", "methods"),
    [(Settings, catalogue.available()), (Choices, ways.all_ways())],
    ids=["search", "pairs"],
)


@dataclass(frozen=True, kw_only=True)
class Toy:
    size: int = whole(3, "how many", least=2)
    share: float | None = number(None, "of it", "lie between 0 and 1", between=(0, 1))
    width: float | str | None = number(None, "of it", "be a number", words=True)
    kind: str = name("red", "which", among=("red", "blue"), taken_by="all")
    style: str = name("auto", "how", like="plain")
    loud: bool = flag("more")
    hidden: int = 7


def test_the_table_is_the_class() -> None:
    names = ["size", "share", "width", "kind", "style", "loud"]
    assert [option.name for option in options_of(Toy)] == names
    assert [option.default for option in options_of(Toy)] == [
        getattr(Toy(), each) for each in names
    ]


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"size": 1}, "size is 1, but it must be a whole number from 2 on"),
        ({"size": 2.0}, "whole number from 2 on"),
        ({"size": True}, "whole number from 2 on"),
        ({"share": 0}, "share is 0, but it must lie between 0 and 1"),
        ({"share": 1}, "lie between"),
        ({"share": float("nan")}, "share is nan"),
        ({"share": "half"}, "lie between"),
        ({"share": True}, "share is True"),
        ({"share": 10**400}, "lie between"),
        ({"width": [1]}, "be a number"),
        ({"width": 10**400}, "be a number"),
        ({"kind": "green"}, "be red or blue"),
        ({"style": 3}, "be a name such as plain"),
        ({"loud": 1}, "be True or False"),
        ({"sise": 3}, "no option 'sise'.*did you mean 'size'.*choose from kind, loud, share"),
        ({"hidden": 3}, "no option 'hidden'"),
    ],
    ids=str,
)
def test_what_breaks_the_rule_is_refused(given: dict[str, Any], rule: str) -> None:
    with pytest.raises(MethodError, match=rule):
        read(Toy, given)


def test_what_fits_has_its_type() -> None:
    given = {"size": np.int64(4), "share": Fraction(1, 2), "width": "median", "loud": True}
    found = read(Toy, {**given, "kind": "blue", "style": None})
    assert found == {**given, "kind": "blue"}
    assert type(found["size"]) is int and type(found["share"]) is float


def test_special_are_those_that_differ_and_are_not_for_all() -> None:
    assert special(Toy()) == {}
    assert special(Toy(size=4, kind="blue", hidden=1)) == {"size": 4}


@TABLES
def test_a_special_option_is_listed_by_a_method_and_no_other_is(
    settings: type, methods: tuple[Any, ...]
) -> None:
    listed = set().union(*(method.uses for method in methods))
    assert {option.name for option in options_of(settings) if not option.taken_by} == listed


@TABLES
def test_every_field_is_an_option_but_for_those_of_the_library(
    settings: type, methods: tuple[Any, ...]
) -> None:
    other = {each.name for each in fields(settings)} - {each.name for each in options_of(settings)}
    assert other <= {"on_step", "replicas"}


def arguments(command: str) -> Iterator[argparse.Action]:
    (commands,) = (a for a in build_parser()._actions if isinstance(a.choices, dict))
    assert isinstance(commands.choices, dict)
    yield from commands.choices[command]._actions


@pytest.mark.parametrize(("settings", "command"), [(Settings, "discover"), (Choices, "orient")])
def test_every_option_is_an_argument(settings: type, command: str) -> None:
    shown = {action.dest: action for action in arguments(command)}
    for option in options_of(settings):
        action = shown[option.name]
        assert action.option_strings == [option.flag]
        assert action.help == option.help and action.metavar == option.metavar
        assert option.kind == "flag" or action.const == option.const


def test_the_defaults_fit_their_own_rules() -> None:
    assert make_settings(**{o.name: o.default for o in options_of(Settings)}) == Settings()
    assert make_choices(**{o.name: o.default for o in options_of(Choices)}) == Choices()
