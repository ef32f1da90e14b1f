"""What the front doors refuse before anything costs, from public facts alone. Each refusal is
worded once, for ``discover``, ``orient`` and their commands: here if it is about what is given
and what goes together, in ``methods.py`` and ``evidence.py`` if it is about these.

A command asks here before it loads anything heavy, so nothing heavy is loaded here either.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.errors import (
    BudgetError,
    DataError,
    EvidenceError,
    MethodError,
    PrivetError,
    SchemaError,
    expect,
)
from privet.privacy.ledger.conversion import check_asked
from privet.schema.missing import check_chosen
from privet.schema.model import Schema
from privet.schema.names import SITE, SITE_RULE

if TYPE_CHECKING:
    from privet.local.device.protocol import Protocol

# What costs nothing: its flag, and why nothing that buys or reads goes with it.
FREE: dict[str, tuple[str, type[PrivetError], str]] = {
    "evidence": (
        "--evidence",
        EvidenceError,
        "is as private as the run that it comes from, reads no data and spends nothing",
    ),
    "a protocol": (
        "--protocol",
        BudgetError,
        "is as private as the devices that its reports come from and spends nothing",
    ),
    "private=False": ("--no-privacy", BudgetError, "spends nothing and promises nothing"),
}


class Chosen(typing.Protocol):
    """What a method and a way to orient pairs have in common."""

    @property
    def name(self) -> str: ...
    @property
    def private(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def uses(self) -> frozenset[str]: ...


# -- what is given


def read_schema(schema: Schema | str | Path | None) -> Schema:
    """The schema, which must be there, finished, and have two columns to compare."""
    if schema is None:
        raise SchemaError(
            "there is no schema, and what is public about the data must not be learnt from them; "
            "propose one with "
            "⟦privet.draft(data)¦`privet schema draft DATA > schema.toml`⟧, correct "
            "it, and give it with ⟦schema='schema.toml'⟧"
        )
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"the schema is a {type(schema).__name__}; give a privet.Schema or the path of a "
            f"TOML file"
        )
    if len(schema.columns) < 2:
        raise SchemaError(
            f"schema {schema.name!r} has 1 column, {schema.names[0]!r}; a graph needs at least 2: "
            f"add a [columns.NAME] section"
        )
    check_chosen(schema)
    return schema


def labelled(schema: Schema, as_of: str | None) -> Schema:
    """The schema of this snapshot; without a label, with the one that it has."""
    return schema if as_of is None else replace(schema, as_of=as_of)


def read_protocol(protocol: Protocol | str | Path) -> Protocol:
    from privet.local.device.protocol import Protocol

    known = Protocol.load(protocol) if isinstance(protocol, str | Path) else protocol
    if not isinstance(known, Protocol):
        raise DataError(
            f"the protocol is a {type(known).__name__}; give a privet.local.Protocol or the path "
            f"of the protocol.json beside the reports"
        )
    return known


def check_flags(**flags: object) -> None:
    for name, value in flags.items():
        expect(value, bool, name, "give True or False", MethodError)


def check_data(data: object) -> None:
    if data is None:
        raise DataError("there are no data; give a CSV or Parquet file, a DataFrame or a table")
    if isinstance(data, str | Path):
        expect(data, (str, Path), "data¦DATA", "give the path of a file", DataError)
        if os.path.exists(data) and not os.path.isfile(data) and not os.path.isdir(data):
            raise DataError(
                f"{str(data)!r} is a pipe or a device, which can be read only once; save the "
                f"table as a file first"
            )


def check_budget_options(epsilon: float | None, delta: float | None, private: bool) -> None:
    if not private:
        check_free("private=False", {"epsilon": epsilon})
        return
    if epsilon is None:
        raise BudgetError(
            "there is no epsilon; give one, such as ⟦epsilon=1⟧ (smaller is more private), or "
            "⟦private=False⟧ to compute without protection"
        )
    from privet.methods.method import USUAL_DELTA

    check_asked(epsilon, USUAL_DELTA if delta is None else delta)


def check_site(site: str | None, *, promised: bool = True) -> None:
    """Refuse a label that others cannot read or write, and one for results that no other site can
    put together with its own."""
    if site is None:
        return
    if not isinstance(site, str) or not SITE.fullmatch(site):
        raise DataError(
            f"the site is {site!r}, but its label {SITE_RULE}, so that nobody mistakes it for "
            "another; choose one such as hospital-a"
        )
    if not promised:
        raise BudgetError(
            f"the site is {site!r}, but without privacy, or as published, there is nothing that "
            "may leave a site; leave it away, or run with an epsilon"
        )


def check_free(source: str, given: Mapping[str, object]) -> None:
    """Refuse what would buy or read something beside a source that costs nothing."""
    _, error, why = FREE[source]
    for name, value in _set(given):
        raise error(
            f"{source} was given together with {name}{value}, but it {why}; leave one of the two "
            "away"
        )


def check_line(
    command: str,
    *,
    data: str | None,
    evidence: str | None,
    protocol: str | None = None,
    no_privacy: bool,
    as_published: bool,
    **buying: object,
) -> None:
    """Refuse what does not go together on a command line, where every word was meant; a call from
    Python may hold what is not used."""
    modes = {"--no-privacy": no_privacy, "--as-published": as_published}
    spending = {f"--{name.replace('_', '-')}": value for name, value in buying.items()}
    if evidence:
        given = {"--protocol": protocol, **modes, **spending, "DATA": data}
        _check_free_line("evidence", given)
    elif protocol:
        _check_free_line("a protocol", {**modes, **spending})
    elif no_privacy:
        _check_free_line("private=False", spending)
    if not evidence and not data:
        raise DataError(
            f"no data were named; give a CSV or Parquet file: privet {command} DATA ..."
        )


def _check_free_line(source: str, given: Mapping[str, object]) -> None:
    flag, error, why = FREE[source]
    for name, value in _set(given):
        raise error(f"{name}{value} was given with {flag}, which {why}; leave one of the two away")


def _set(given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """What was given, and how its value is shown, if it is one that can be."""
    for name, value in given.items():
        if value is not None and value is not False:
            shown = isinstance(value, str | int | float) and value is not True
            yield name, f" {value}" if shown else ""


# -- what both kinds of methods refuse


def check_uses(
    chosen: Sequence[Chosen], known: Sequence[Chosen], special: Mapping[str, Any]
) -> None:
    """Refuse an option that none of the chosen methods uses."""
    for name, value in special.items():
        if not any(name in method.uses for method in chosen):
            users = [method.name for method in known if name in method.uses]
            raise MethodError(
                f"⟦{name}⟧ is {value!r}, but {' and '.join(m.name for m in chosen)} has no such "
                f"option; leave it away, or use one of {', '.join(users)}"
            )


def check_private(chosen: Chosen, private: bool) -> None:
    if private and not chosen.private:
        raise MethodError(
            f"{chosen.name} is not private ({chosen.reason}), but an epsilon was given; add "
            "⟦private=False⟧ and leave epsilon away, or use ⟦method='auto'⟧"
        )


def check_never_charged(private: bool, ledger: object) -> None:
    """Refuse what contradicts a method as published."""
    if not private or ledger is not None:
        raise MethodError(
            "a method as published was asked for together with ⟦private=False⟧ or a ledger, but it "
            "has a claimed epsilon of its own and is never charged; leave them away"
        )
