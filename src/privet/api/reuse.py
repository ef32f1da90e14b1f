"""The same run once more: its evidence lies beside the ledger, and nothing is spent.

Two runs are the same if all that is public about them is: front door, schema (with the name of the
data set), method, options, budget and ledger. The key of a run is made of these and of nothing
else, so that no row has any part in whether an answer is found (``privacy/ledger/kept.py``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from hashlib import sha256
from typing import Any

from privet.errors import PrivetError
from privet.options.option import options_of
from privet.privacy.ledger.conversion import Number, check_asked
from privet.results.saved import VERSION, Saved, from_json, to_json
from privet.schema.model import Schema
from privet.trust.session import LedgerLike, Session, kept_text


def key_of(
    door: str, schema: Schema, settings: Any, epsilon: Number, delta: Number, **more: Any
) -> str:
    """The name of all runs that are the same."""
    budget = [str(amount) for amount in check_asked(epsilon, delta)]
    facts = {
        "version": VERSION,
        "door": door,
        "schema": schema.to_dict(),
        "options": _options(settings),
        "budget": budget,
        **more,
    }
    return sha256(json.dumps(facts, ensure_ascii=True).encode()).hexdigest()


def _options(settings: Any) -> Mapping[str, Any]:
    """Every option by name, and what else is no listener."""
    named = {option.name for option in options_of(settings)}
    others = {each.name for each in fields(settings)} - named - {"on_step"}
    return {name: getattr(settings, name) for name in sorted(named | others)}


def find(ledger: LedgerLike, key: str) -> Saved | None:
    """The evidence of a run that was the same, if there was one."""
    text = kept_text(ledger, key)
    return None if text is None else from_json(text, "the evidence of an identical run")


def keep(session: Session, key: str, saved: Saved) -> None:
    """For the next run that is the same. What cannot be kept is paid for all the same, so that
    nothing may stop the run from here on."""
    with suppress(PrivetError):
        session.keep(key, to_json(saved))
