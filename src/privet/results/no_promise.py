"""What stands in the place of a certificate where nothing is promised to anybody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.results.certificate import Certificate, mechanism_of
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.privacy.queries.base import Release


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper would promise for a run of its method, and why that does not hold."""

    epsilon: float
    delta: float
    why: str


def not_private(
    schema: Schema, method: str, releases: Sequence[Release], claim: Claim | None = None
) -> Certificate:
    """What stands in the place of a certificate when none can be given."""
    source = "exact statistics of the data" if claim is None else "answers without a valid proof"
    reason = "privacy was switched off (--no-privacy, private=False)"
    if claim is not None:
        reason = (
            f"this is {method} as published, to compare with; its paper would claim epsilon "
            f"{claim.epsilon:g}, delta {claim.delta:g}, which does not hold: {claim.why}"
        ).rstrip(".")
    return Certificate(
        {
            "private": False,
            "promise": f"Nothing is promised to anybody: the results and the evidence come from "
            f"{source}.",
            "reason": reason,
            "as_published": None
            if claim is None
            else {"epsilon": claim.epsilon, "delta": claim.delta, "why": claim.why},
            "epsilon": None,
            "delta": None,
            "adjacency": schema.adjacency.value,
            "rows_per_person": schema.rows_per_person,
            "trust": "central",
            "schema": schema.name,
            "spent": None,
            "method": method,
            "queries": [
                {
                    "what": str(release.query),
                    "cost": None,
                    "currency": None,
                    "mechanism": mechanism_of(release),
                    "noise_sd": math.sqrt(release.variance),
                }
                for release in releases
            ],
            "ledger": None,
            "reused": False,
            "assumptions": [],
        }
    )
