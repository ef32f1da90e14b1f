"""The evidence file: what was released, so that later searches cost nothing.

A JSON document with the schema (public), the promise under which the rows were asked, and each
release: its query, its integers and the variance of their noise. It holds nothing else. That of
several sites has the documents that they have sent in the place of releases.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.errors import EvidenceError, PrivetError
from privet.privacy.queries.base import Query, Release, from_document, is_known, to_document
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.methods.method import Finding
    from privet.methods.options import Settings

VERSION = 1
# Where the files of queries are, lightest first; a query is known once its file is imported.
ROOMS = ("privet.privacy.queries", "privet.local.collector", "privet.pairs", "privet.methods")


@dataclass(frozen=True, kw_only=True)
class Played:
    """What a method has found with these settings while it measured."""

    method: str
    settings: Settings
    finding: Finding


@dataclass(frozen=True, kw_only=True, repr=False)
class Saved:
    """Releases, the schema they speak of, and the certificate of the run that paid for them.

    Of several sites, ``sites`` are what each has sent, and the releases those of all of them.
    ``played`` is what was found while they were measured; no file has it."""

    schema: Schema
    releases: tuple[Release, ...]
    certificate: dict[str, Any]
    sites: tuple[Saved, ...] = ()
    played: tuple[Played, ...] = field(default=(), compare=False)

    @cached_property
    def text(self) -> str:
        """The text of its file: written with the results, and kept for identical runs."""
        return json.dumps(_document(self))

    def __repr__(self) -> str:
        return f"Saved: {len(self.releases)} releases about {self.schema.name!r}"


def to_json(saved: Saved) -> str:
    return saved.text


def _document(saved: Saved) -> dict[str, Any]:
    said = {
        "privet evidence": VERSION,
        "schema": saved.schema.to_dict(),
        "certificate": saved.certificate,
    }
    if saved.sites:
        return {**said, "sites": [_document(site) for site in saved.sites]}
    return {**said, "releases": [_to_dict(release) for release in saved.releases]}


def load(path: str | Path) -> Saved:
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except OSError as error:
        raise EvidenceError(
            f"cannot read {str(path)!r}: {error.strerror}; check the path"
        ) from None
    except UnicodeDecodeError:
        text = ""
    return from_json(text, repr(str(path)))


def from_json(text: str, label: str) -> Saved:
    """What ``to_json`` wrote; ``label`` is what errors call it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise EvidenceError(
            f"{label} is not an evidence file (not JSON); give the evidence.json of a run"
        ) from None
    if not isinstance(document, dict) or document.get("privet evidence") != VERSION:
        raise EvidenceError(
            f"{label} is not an evidence file of version {VERSION}; give the evidence.json "
            "of a run of this version of Privet"
        )
    try:
        return _from_dict(document)
    except (KeyError, TypeError, ValueError, OverflowError, PrivetError) as error:
        raise EvidenceError(
            f"{label} is damaged ({type(error).__name__}); take a fresh copy of the file"
        ) from None


def kind(release: Release, schema: Schema) -> str:
    """What kind of evidence a release is."""
    return release.query.kind(schema)


def step_by_step(saved: Saved) -> bool:
    """Whether these are the answers that one search was told step by step: no other search, no
    other options and no other knowledge can make anything else of them."""
    return any(release.query.one_search for release in saved.releases)


def _from_dict(document: dict[str, Any]) -> Saved:
    schema = Schema.from_dict(document["schema"])
    if "sites" in document:
        return _of_sites([_from_dict(part) for part in document["sites"]], schema)
    releases = tuple(_release(part, schema) for part in document["releases"])
    certificate = document["certificate"]
    if not releases or not isinstance(certificate, dict):
        raise ValueError("no releases or no certificate")
    if certificate.get("private") is not False:
        _check_promise(certificate, releases, schema)
    for release in releases:
        release.query.check_answer(release, schema)
    return Saved(schema=schema, releases=releases, certificate=certificate)


def _of_sites(sites: list[Saved], schema: Schema) -> Saved:
    """Put together anew, with all checks; of what the file says beside the sites' own documents
    only the knowledge is taken."""
    from privet.results.joint import Sent, combined

    return combined([Sent(origin=f"site {i}", saved=site) for i, site in enumerate(sites)], schema)


def _check_promise(
    certificate: dict[str, Any], releases: tuple[Release, ...], schema: Schema
) -> None:
    """What no run that promises privacy can have released; the file may come from anywhere."""
    if any(
        release.query.is_exact(release, schema) or "as published" in release.mechanism
        for release in releases
    ):
        raise ValueError("an answer without noise, or as published, under a promise of privacy")
    epsilons = [release.query.epsilon_of_reports for release in releases]
    reports = [epsilon for epsilon in epsilons if epsilon is not None]
    local = certificate.get("trust") == "local"
    if len(reports) != (len(releases) if local else 0):
        raise ValueError("reports without a certificate of reports, or the reverse")
    if any(epsilon > Fraction(certificate["epsilon"]) for epsilon in reports):
        raise ValueError("reports that give away more than is promised")


def _to_dict(release: Release) -> dict[str, Any]:
    return {
        "query": to_document(release.query),
        "mechanism": release.mechanism,
        "variance": release.variance,
        "values": release.values.tolist(),
    }


def _release(part: dict[str, Any], schema: Schema) -> Release:
    query = _query(part["query"])
    query.check(schema)
    values = np.array(part["values"], dtype=np.int64)
    variance = float(part["variance"])
    if values.shape != (query.size(schema),) or not 0 <= variance < np.inf:
        raise ValueError("the values do not fit the query")
    return Release(query=query, values=values, variance=variance, mechanism=str(part["mechanism"]))


def _query(document: dict[str, Any]) -> Query:
    """A query by its own codec. Nothing in a document says what is imported."""
    for room in ROOMS:
        if is_known(document["kind"]):
            break
        for module in walk_packages(import_module(room).__path__, f"{room}."):
            import_module(module.name)
    return from_document(document)
