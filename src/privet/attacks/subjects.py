"""What can be audited: every door that answers about people, each run as its users run it.

A run on made-up tables pays from a ledger in memory, so no budget of anybody's is ever touched.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privet.api import discover, orient
from privet.api.checks import check_budget_options, read_schema
from privet.api.methods import every_pair
from privet.api.prepare import prepare
from privet.attacks.evidence import Attacker, Outcome, of_numbers
from privet.attacks.shares import TOGETHER, shares
from privet.attacks.worst_cases import Neighbours, built_in, made_up, published_flaw, rare_levels
from privet.errors import MethodError
from privet.local.device.protocol import FAMILIES, NUMERIC
from privet.local.device.randomizer import Randomizer
from privet.methods import catalogue
from privet.methods.method import Method
from privet.methods.options import make_settings
from privet.methods.sources.reports import REPORTS
from privet.pairs.as_published import why as why_half
from privet.pairs.options import make_choices
from privet.pairs.way import Way, all_ways
from privet.privacy.queries.base import Release
from privet.schema.column import did_you_mean
from privet.schema.model import Schema

MEMORY = ":memory:"
SHARPEST = 0.1  # the largest delta: a few runs tell the most about Gaussian noise there
# As published, these do not release the answer to a question, so its law must be learnt.
UNWRITTEN = ("priv-pc-star",)
Listen = Callable[[int, int], list[Outcome]]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Of what, and how: ``schema`` is the one that was given, ``delta`` None if none was."""

    method: str
    schema: Schema | None
    epsilon: float
    delta: float | None
    as_published: bool
    options: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """``listen(side, runs)`` makes so many runs on the table (0) or its neighbour (1), ``batch``
    at a time. ``why`` is what is known to be wrong with it."""

    method: str
    delta: float
    words: str
    listen: Listen
    batch: int = 1
    why: str = ""


def names() -> tuple[str, ...]:
    """All that can be audited, in the order of ``privet methods``."""
    private = [method.name for method in catalogue.available() if method.private]
    ways = [way.name for way in all_ways() if way.private]
    return (*private, *ways, *FAMILIES, TOGETHER)


def subjects(asked: Asked) -> tuple[Subject, ...]:
    """All ways in which it runs: with Laplace noise, and with a delta if that changes it."""
    if asked.delta is not None or asked.as_published:
        return (subject(asked),)
    first = subject(asked)
    if asked.options.get("subsample") is not None:  # which has no delta
        return (first,)
    if first.delta or asked.method in (*FAMILIES, TOGETHER) or not _is_table(asked.method):
        return (first,)
    second = subject(replace(asked, delta=SHARPEST))
    return (first, second) if second.delta else (first,)


def _is_table(name: str) -> bool:
    known = {method.name: method for method in catalogue.available()}
    return name in known and known[name].evidence != REPORTS


def subject(asked: Asked) -> Subject:
    """Whatever has this name, or a refusal; nothing has been run yet."""
    name = asked.method
    check_budget_options(asked.epsilon, asked.delta, True)
    if name not in names():
        raise MethodError(
            f"there is nothing private called {name!r}{did_you_mean(name, names())}; choose a "
            f"private method, one of the protocols {', '.join(FAMILIES)}, or {TOGETHER}"
        )
    if (way := {way.name: way for way in all_ways()}.get(name)) is not None:
        return _pair(asked, way)
    method = None if name in (*FAMILIES, TOGETHER) else catalogue.get(name)
    if method is not None and method.evidence != REPORTS:
        return _table(asked, method)
    if asked.as_published or asked.options:
        given = "as published" if asked.as_published else f"with {', '.join(asked.options)}"
        raise MethodError(f"{name} cannot be audited {given}; leave that away")
    return _sums(asked) if name == TOGETHER else _reports(asked, method)


def _neighbours(asked: Asked, numeric: bool, replaced: bool = False) -> Neighbours:
    if asked.schema is not None:
        return made_up(read_schema(asked.schema))
    if asked.as_published:
        return published_flaw(asked.method, numeric)
    return built_in(numeric, replaced)


def _table(asked: Asked, method: Method) -> Subject:
    """A method on rows. Its search is free, so what is measured is all that it gives away."""
    two = _neighbours(asked, "categorical" not in method.kinds)
    delta = asked.delta if asked.delta is not None else SHARPEST * method.needs_delta
    if delta and asked.schema is None and method.evidence == "tables" and not asked.as_published:
        two = rare_levels()
    settings = make_settings(**asked.options)

    requests = [
        prepare(
            data,
            two.schema,
            settings,
            epsilon=asked.epsilon,
            delta=delta,
            method=method.name,
            ledger=None if asked.as_published else MEMORY,
            as_published=asked.as_published,
        )
        for data in two.tables
    ]

    def run(side: int) -> tuple[Release, ...]:
        fresh = replace(settings, seed=secrets.randbits(32))  # papers have seeds for their noise
        return discover.take(replace(requests[side], settings=fresh)).releases

    why = method.published.why if asked.as_published and method.published else ""
    listen = _listener(run, two, bool(why) and method.name in UNWRITTEN, settings.subsample or 1.0)
    promised = delta if asked.as_published else requests[0].delta  # (epsilon, 0) implies both
    return Subject(method=method.name, delta=promised, words=two.words, listen=listen, why=why)


def _pair(asked: Asked, way: Way) -> Subject:
    two = _neighbours(asked, numeric=True, replaced=way.needs_rows)
    delta = asked.delta if asked.delta is not None else SHARPEST * way.tested
    choices = make_choices(**asked.options)

    requests = [
        orient.prepare(
            data,
            two.schema,
            choices,
            cause_effect=every_pair(two.schema)[0],
            epsilon=asked.epsilon,
            delta=delta,
            method=way.name,
            as_published=asked.as_published,
            ledger=None if asked.as_published else MEMORY,
        )
        for data in two.tables
    ]

    def run(side: int) -> tuple[Release, ...]:
        fresh = replace(choices, seed=secrets.randbits(32))
        return orient.take(replace(requests[side], choices=fresh)).releases

    why = why_half(choices.protect) if asked.as_published else ""
    listen = _listener(run, two, learnt=False)
    return Subject(method=way.name, delta=delta, words=two.words, listen=listen, why=why)


def _listener(
    run: Callable[[int], tuple[Release, ...]], two: Neighbours, learnt: bool, rate: float = 1.0
) -> Listen:
    attacker = Attacker(two.tables, two.schema, rate)
    weigh = of_numbers if learnt else attacker.outcome
    return lambda side, runs: [weigh(run(side)) for _ in range(runs)]


def _reports(asked: Asked, method: Method | None) -> Subject:
    """A device: neighbours are any two rows of one person."""
    numeric = asked.method in NUMERIC
    two = _neighbours(asked, numeric)
    protocol = "auto" if method is not None else asked.method
    device = Randomizer(two.schema, asked.epsilon, protocol=protocol)
    sizes = device.protocol.sizes
    last = [size - 1 for size in sizes]
    if device.protocol.family in ("product", "parity"):  # two turns would cancel
        last[:-1] = [0] * (len(sizes) - 1)
    rows = [[0] * len(sizes), last]

    def listen(side: int, runs: int) -> list[Outcome]:
        made = device.report_codes(np.array([rows[side]] * runs))
        columns = (column.tolist() for column in made.values())
        return [Outcome(kind=report) for report in zip(*columns, strict=True)]

    words = (
        f"one person's row, by the protocol {device.protocol.name}: all first or all last levels"
    )
    return Subject(method=asked.method, delta=0.0, words=words, listen=listen, batch=1000)


def _sums(asked: Asked) -> Subject:
    two = _neighbours(asked, numeric=False)
    if asked.schema is None:  # shares of noise have a least size, which one row does not show
        two = made_up(replace(two.schema, rows_per_person=16))
    delta = SHARPEST if asked.delta is None else asked.delta
    listen, batch = shares(two, asked.epsilon, delta)
    words = f"{two.words}; at one of three sites, one of which tells its noise"
    return Subject(method=TOGETHER, delta=delta, words=words, listen=listen, batch=batch)
