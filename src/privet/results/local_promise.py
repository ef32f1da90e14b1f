"""The certificate of reports that each person's device has randomised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privet.privacy.queries.base import Release
from privet.results.certificate import Certificate, mechanism_of
from privet.results.promise import factor, of_missing, unconfirmed
from privet.schema.model import Schema


def of_reports(
    schema: Schema, method: str, release: Release, facts: Mapping[str, Any]
) -> Certificate:
    """The certificate of reports that each person's device has randomised."""
    asked = {
        "what": str(release.query),
        "cost": None,
        "currency": None,
        "mechanism": mechanism_of(release),
        "noise_sd": None,
    }
    return Certificate(
        {
            "private": True,
            "promise": f"Whatever any one person has answered, it changes the probability of "
            f"anything that can be concluded from their report, by whoever receives it, by at "
            f"most {factor(facts['epsilon'])} (epsilon {facts['epsilon']:g}).",
            "epsilon": facts["epsilon"],
            "delta": 0.0,
            "adjacency": "any two rows of answers that one person may give",
            "rows_per_person": 1,
            "trust": "local",
            "schema": schema.name,
            "spent": None,
            "method": method,
            "queries": [asked],
            "levels": facts["levels"],
            "reports": facts["reports"],
            "ledger": None,
            "reused": False,
            "assumptions": [*unconfirmed(schema), *facts["assumptions"], *of_missing(schema)],
        }
    )
