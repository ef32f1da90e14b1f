"""Whether a ledger has what a certificate says was charged."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.conversion import UNITS
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
    unit, spent = UNITS[run.currency], certificate["spent"]
    if certificate.get("accounting") not in (None, run.currency):
        found.append(f"the ledger has counted this run in {run.currency}")
    if Fraction(spent[f"{unit}_exact"]) != run.spent:
        found.append(f"the ledger has charged {float(run.spent):.6g} {unit}")
    if kept["people"] not in (None, account.people):
        found.append("the ledger has another number for these people")
    measured_on = certificate.get("measured_on")
    if measured_on is not None and not run.when.startswith(measured_on):
        found.append(f"the ledger has the run on {run.when[:10]}, not on {measured_on}")
    charged = [(entry.what, float(entry.cost)) for entry in run.entries]
    for query in certificate["queries"]:
        fits = [c for c in charged if c[0] == query["what"] and c[1] >= query["cost"] * (1 - SHORT)]
        if fits:
            charged.remove(fits[0])
        else:
            found.append(f"the ledger has no charge of {query['cost']:g} for {query['what']}")
    found += [f"the certificate does not list the charge for {what}" for what, _ in charged]
    return found
