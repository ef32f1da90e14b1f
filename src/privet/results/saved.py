"""The evidence file: what was released, so that later searches cost nothing.

A JSON document with the schema (public), the promise under which the rows were asked, and each
release: its query, its integers and the variance of their noise. It holds nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import EvidenceError, PrivetError
from privet.evidence.whole_table import is_whole
from privet.local.collector.counts import Reported
from privet.methods.literature import decisions
from privet.methods.literature.decisions import Decisions
from privet.methods.literature.weights import Weights
from privet.methods.searches.causal_order import CausalOrder
from privet.pairs.quartiles import Quartiles
from privet.pairs.ways.row_scores import PairScores
from privet.privacy.queries.additive_noise import AnmScores
from privet.privacy.queries.box_moments import BoxMoments
from privet.privacy.queries.moments import Locations, Moments
from privet.privacy.queries.pairs import LossDifference, PairTable
from privet.privacy.queries.residuals import IqrStability, LogIqr
from privet.privacy.queries.tables import Components, Release, Tables
from privet.privacy.queries.tested import RankStability
from privet.schema.model import Schema

VERSION = 1
# The queries that evidence may hold, and what searches call them.
KINDS: dict[Any, str] = {
    Components: "tables",
    Tables: "counts",
    Locations: "moments",
    Moments: "moments",
    BoxMoments: "box moments",
    CausalOrder: "a causal order",
    Decisions: "decisions",
    Weights: "weights",
    PairTable: "tables of pairs",
    LossDifference: "scores of pairs",
    AnmScores: "scores of pairs",
    RankStability: "scores of pairs",
    IqrStability: "scores of pairs",
    LogIqr: "scores of pairs",
    Quartiles: "scores of pairs",
    PairScores: "scores of pairs",
    Reported: "reports",
}


@dataclass(frozen=True, kw_only=True)
class Saved:
    """Releases, the schema they speak of, and the certificate of the run that paid for them."""

    schema: Schema
    releases: tuple[Release, ...]
    certificate: dict[str, Any]


def to_json(saved: Saved) -> str:
    return json.dumps(
        {
            "privet evidence": VERSION,
            "schema": saved.schema.to_dict(),
            "certificate": saved.certificate,
            "releases": [_to_dict(release) for release in saved.releases],
        }
    )


def load(path: str | Path) -> Saved:
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise EvidenceError(
            f"cannot read {str(path)!r}: {error.strerror}; check the path"
        ) from None
    except ValueError:
        raise EvidenceError(
            f"{str(path)!r} is not an evidence file (not JSON); give the evidence.json of a run"
        ) from None
    if not isinstance(document, dict) or document.get("privet evidence") != VERSION:
        raise EvidenceError(
            f"{str(path)!r} is not an evidence file of version {VERSION}; give the evidence.json "
            "of a run of this version of Privet"
        )
    try:
        return _from_dict(document)
    except (KeyError, TypeError, ValueError, OverflowError, PrivetError) as error:
        raise EvidenceError(
            f"{str(path)!r} is damaged ({type(error).__name__}); take a fresh copy of the file"
        ) from None


def kind(release: Release, schema: Schema) -> str:
    """What kind of evidence a release is."""
    return "tables" if is_whole(release, schema) else KINDS[type(release.query)]


def told(saved: Saved) -> bool:
    """Whether these are the answers that one search was told step by step: no other search, no
    other options and no other knowledge can make anything else of them."""
    return any(isinstance(release.query, Decisions | Weights) for release in saved.releases)


def _from_dict(document: dict[str, Any]) -> Saved:
    schema = Schema.from_dict(document["schema"])
    releases = tuple(_release(part, schema) for part in document["releases"])
    certificate = document["certificate"]
    if not releases or not isinstance(certificate, dict):
        raise ValueError("no releases or no certificate")
    if certificate.get("private") is not False:
        _check_promise(certificate, releases, schema)
    for release in releases:
        _check_answer(release, schema)
    return Saved(schema=schema, releases=releases, certificate=certificate)


def _check_promise(
    certificate: dict[str, Any], releases: tuple[Release, ...], schema: Schema
) -> None:
    """What no run that promises privacy can have released; the file may come from anywhere."""
    if any(_exact(release, schema) or "as published" in release.mechanism for release in releases):
        raise ValueError("an answer without noise, or as published, under a promise of privacy")
    reports = [release.query for release in releases if isinstance(release.query, Reported)]
    local = certificate.get("trust") == "local"
    if len(reports) != (len(releases) if local else 0):
        raise ValueError("reports without a certificate of reports, or the reverse")
    if any(query.protocol.epsilon > Fraction(certificate["epsilon"]) for query in reports):
        raise ValueError("reports that give away more than is promised")


def _exact(release: Release, schema: Schema) -> bool:
    """Whether an answer that the rows can change has no noise."""
    if isinstance(release.query, CausalOrder | PairScores):  # asked without privacy only
        return True
    if isinstance(release.query, Decisions | Weights | Quartiles):  # made private answer by answer
        return release.mechanism.lower().startswith("exact")
    if isinstance(release.query, Reported):  # whose noise is in the reports
        return False
    silent = release.variance == 0 and release.query.l2_squared(schema) != 0
    return silent or release.mechanism.startswith("Exact")


def _check_answer(release: Release, schema: Schema) -> None:
    """What no data can have answered; the file may come from anywhere."""
    exact = release.variance == 0
    if isinstance(release.query, Tables | PairTable) and exact and (release.values < 0).any():
        raise ValueError("a negative count")
    if isinstance(release.query, Decisions):
        decisions.read(release, len(schema.columns))
    if isinstance(release.query, CausalOrder):
        told = release.query.unpack(release.values, schema)
        places = list(range(len(release.query.columns)))
        if sorted(told.order) != places or min(told.rows) < 0:
            raise ValueError("no order of the columns")
        if np.abs(told.correlations).max() > 1 + 1e-9:
            raise ValueError("no correlations")


def _to_dict(release: Release) -> dict[str, Any]:
    return {
        "query": {"kind": type(release.query).__name__, **release.query.to_dict()},
        "mechanism": release.mechanism,
        "variance": release.variance,
        "values": release.values.tolist(),
    }


def _release(part: dict[str, Any], schema: Schema) -> Release:
    kinds = {kind.__name__: kind for kind in KINDS}
    description = dict(part["query"])
    query = kinds[description.pop("kind")].from_dict(description)
    query.check(schema)
    values = np.array(part["values"], dtype=np.int64)
    variance = float(part["variance"])
    if values.shape != (query.size(schema),) or not 0 <= variance < np.inf:
        raise ValueError("the values do not fit the query")
    return Release(query=query, values=values, variance=variance, mechanism=str(part["mechanism"]))
