"""Whether a ledger has what a certificate says was charged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privet.privacy.ledger.book import Ledger
from privet.trust.session import LedgerLike, opened

SHORT = 1e-9  # of a cost, which certificates write as a float


def uncovered(ledger: LedgerLike, certificate: Mapping[str, Any]) -> list[str]:
    """What the ledger does not have of it, each in a few words; nothing if it covers all."""
    book: Ledger = opened(ledger)
    kept = certificate["ledger"]
    account = book.account(certificate["schema"])
    if account is None:
        return [f"the ledger has no data set {certificate['schema']!r}"]
    run = next((run for run in account.runs if run.id == kept["run"]), None)
    if run is None:
        return [f"the ledger has no run {kept['run']} of {certificate['schema']!r}"]
    found = []
    if run.epsilon != certificate["epsilon"] or run.promised_delta != certificate["delta"]:
        found.append(
            f"the ledger has promised epsilon {run.epsilon:g}, delta {run.promised_delta:g}"
        )
    charged = [(entry.what, float(entry.cost)) for entry in run.entries]
    for query in certificate["queries"]:
        fits = [c for c in charged if c[0] == query["what"] and c[1] >= query["cost"] * (1 - SHORT)]
        if fits:
            charged.remove(fits[0])
        else:
            found.append(f"the ledger has no charge of {query['cost']:g} for {query['what']}")
    return found
