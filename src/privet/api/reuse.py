"""The same run once more: its evidence lies beside the ledger, and nothing is spent.

Two runs are the same if all that is public about them is: front door, schema (with the name of the
data set), method, options, budget, ledger, and which table it is. This last is what the owner says
(``as_of``, the label of the snapshot) or else the place where the table lies; of a frame without a
label nobody can say it, so it is never reused. The key of a run is made of these and of nothing
else, so that no row has any part in whether an answer is kept (``privacy/ledger/kept.py``), and
whether the table has changed is neither looked at nor said.

Before a key is looked up the source is opened and its header is checked, as for a run that pays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

from privet.errors import BudgetError, DataError, MethodError, PrivetError, expect
from privet.options.option import options_of
from privet.privacy.ledger.conversion import Number, check_asked
from privet.results.saved import VERSION, Saved, from_json, to_json
from privet.schema.model import Schema
from privet.trust.session import Session


@dataclass(frozen=True, kw_only=True)
class Reused:
    """The evidence of an identical run, and what its certificate says of that."""

    saved: Saved
    facts: Mapping[str, Any]


def check_reuse(reuse: bool | None) -> None:
    if reuse is not None:
        expect(reuse, bool, "reuse", "give True, False or None", MethodError)


def key_of(
    door: str,
    schema: Schema,
    settings: Any,
    epsilon: Number,
    delta: Number,
    place: str | None,
    **more: Any,
) -> str | None:
    """The name of all runs that are the same; None of a table of which nobody can say which it
    is."""
    if schema.as_of is None and place is None:
        return None
    budget = [str(amount) for amount in check_asked(epsilon, delta)]
    facts = {
        "version": VERSION,
        "door": door,
        "schema": schema.to_dict(),
        "options": _options(settings),
        "budget": budget,
        "place": place if schema.as_of is None else None,
        **more,
    }
    return sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()


def _options(settings: Any) -> Mapping[str, Any]:
    """Every option by name, and what else is no listener."""
    named = {option.name for option in options_of(settings)}
    others = {each.name for each in fields(settings)} - named - {"on_step"}
    return {name: getattr(settings, name) for name in sorted(named | others)}


def find(session: Session, key: str | None, schema: Schema, reuse: bool | None) -> Reused | None:
    """The evidence of an identical run, if it is to be handed out; where nobody has said so, and no
    label says which snapshot it is, the choice is the user's. All of this is public."""
    if reuse is False:
        return None
    if key is None:
        if reuse:
            raise DataError(
                "⟦reuse=True⟧ was given, but nothing says which table this is: it lies in memory "
                "and has no label; give the one of the snapshot, such as "
                "⟦as_of='2026-10-31'⟧, or leave reuse away, and pay"
            )
        return None
    kept = session.kept(key)
    if kept is None:
        return None
    if reuse is None and schema.as_of is None:
        day = f" of {kept.day}" if kept.day else ""
        raise BudgetError(
            f"run {kept.run}{day} has asked just this of data set {schema.name!r} at this place, "
            "and Privet does not look whether the table has changed since; choose "
            "⟦reuse=True⟧ (the numbers of that run, for nothing) or ⟦reuse=False⟧ (measure, and "
            "pay), or give the snapshot a label, such as ⟦as_of='2026-10-31'⟧"
        )
    facts = {"identical_run": kept.run, "measured_on": kept.day}
    return Reused(saved=from_json(kept.text, "the evidence of an identical run"), facts=facts)


def keep(session: Session, key: str | None, saved: Saved) -> None:
    """For the next run that is the same. What cannot be kept is paid for all the same, so that
    nothing may stop the run from here on."""
    if key is not None:
        with suppress(PrivetError):
            session.keep(key, to_json(saved))
