"""Whether a folder of results is what a run wrote, what it promised, and whose promise it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.api.recompute import differences
from privet.errors import EvidenceError, PrivetError, expect
from privet.privacy.together.keys import load_public, load_secret
from privet.results import certificate as certificates
from privet.results import saved, seal
from privet.results.certificate import TRUSTS
from privet.results.folder import EVIDENCE
from privet.schema.model import Schema
from privet.trust import study
from privet.trust.receipt import uncovered
from privet.trust.session import LedgerLike

# What a search says of itself; all else of a certificate is that of the evidence.
SEARCHED = (
    "method",
    "methods",
    "options",
    "version",
    "reused",
    "identical_run",
    "measured_on",
    "words",
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """``faults`` name each file that was changed and each thing that does not fit; ``signer`` is
    who has signed, by a key that was given to check with or (``known`` is False) by some key.
    ``unchecked`` says what could not be held against the evidence, because there is none."""

    faults: tuple[str, ...]
    signer: str | None = None
    key: str | None = None
    known: bool = False
    ledger: bool = False
    unchecked: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return not self.faults


def verify(
    folder: str | Path, *, ledger: LedgerLike = None, key: str | Path | None = None
) -> Verdict:
    """Check a folder that ``save`` or the command line wrote.

    Its files must be as they were sealed, and certificate, graph, pictures and page must be what a
    search of the evidence gives, which is made again. With a ``ledger`` that must have the run with
    its charges; a ledger that has nothing to do with the results is a fault. ``key`` is the
    public.json of whoever is said to have promised: then the seal must be signed by it.

    >>> files = found.save("verified")
    >>> privet.verify("verified").good
    True
    """
    expect(folder, (str, Path), "folder¦DIR", "name the folder of results", EvidenceError)
    if key is not None:
        expect(key, (str, Path), "key", "name a public.json", EvidenceError)
    place = Path(folder)
    files, by = seal.read(place)
    facts = _json(place / "certificate.json")
    faults = seal.changes(place, files) + _parts(place, facts)
    unchecked: list[str] = []
    if not (place / EVIDENCE).exists():
        unchecked = ["the folder has no evidence, so graph and page could not be held against it"]
    elif not faults:
        faults += differences(place, facts, saved.load(place / EVIDENCE))
    if ledger is not None and not faults:
        faults += _in_ledger(ledger, facts)
    known = None if key is None else load_public(Path(key))
    if by is not None and not seal.is_signed(files, by):
        faults.append("the signature does not fit the files")
    if known is not None and (by is None or by.key != known.sign):
        whose = "nobody" if by is None else f"another key, of {by.name!r}"
        faults.append(f"the seal is not signed by the key of {known.name!r} but by {whose}")
    verdict = Verdict(faults=tuple(faults), ledger=ledger is not None, unchecked=tuple(unchecked))
    if by is None or faults:
        return verdict
    return replace(verdict, signer=by.name, key=by.key, known=known is not None)


def _in_ledger(ledger: LedgerLike, facts: dict[str, Any]) -> list[str]:
    """A ledger that was given is asked, or it is said that it was not."""
    if not facts.get("private") or facts.get("trust") != TRUSTS[0]:
        return ["a ledger was given, but these results were not paid for from a single ledger"]
    try:
        return uncovered(ledger, facts)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ["certificate.json does not say what was charged"]


def sign(folder: str | Path, key: str | Path) -> None:
    """Sign a folder of results with the secret keys in the folder ``key``.

    >>> from privet.api.verify import new_key
    >>> public = new_key("hospital-a", "our-key")
    >>> files = found.save("signed")
    >>> privet.sign("signed", "our-key")
    >>> privet.verify("signed", key=public).signer
    'hospital-a'
    """
    expect(folder, (str, Path), "folder¦DIR", "name the folder of results", EvidenceError)
    expect(key, (str, Path), "key", "name the folder of a key", EvidenceError)
    seal.sign(Path(folder), load_secret(Path(key)))


def new_key(name: str, folder: str | Path) -> Path:
    """Make a key to sign with, in a new folder; returns the file that is for readers."""
    return study.new_key(name, Path(folder))


def _parts(place: Path, facts: dict[str, Any]) -> list[str]:
    """Whether the evidence is whole, and certificate and graph are of it."""
    if not (place / EVIDENCE).exists():  # as of a rival, which leaves none
        return ["evidence.json is missing, without which nothing is private"] * bool(
            facts.get("private") is not False
        )
    try:
        evidence = saved.load(place / EVIDENCE)
        certificates.of_evidence(evidence.certificate)
    except PrivetError as error:
        return [str(error)]
    said = json.loads(json.dumps(evidence.certificate))
    faults = [
        f"certificate.json has another {part} than the evidence"
        for part in {**said, **facts}
        if part not in SEARCHED and facts.get(part) != said.get(part)
    ]
    faults += _of_schema(said, evidence.schema)
    run = facts.get("identical_run")
    if run is not None and run != (said["ledger"] or {}).get("run"):
        faults.append("certificate.json names another run than the evidence")
    graph = _json(place / "graph.json")
    if graph and graph.get("nodes") != list(evidence.schema.names):
        faults.append("graph.json has other columns than the evidence")
    return faults


def _of_schema(said: dict[str, Any], schema: Schema) -> list[str]:
    """What the certificate in the evidence says of the table, where the schema beside it says it
    too. Of several sites it was worked out anew already; reports have a promise of their own."""
    if said["trust"] in ("local", "sites"):
        return []
    known: dict[str, Any] = {
        "schema": schema.name,
        "adjacency": schema.adjacency.value,
        "rows_per_person": schema.rows_per_person,
    }
    if said["private"] and said["trust"] == TRUSTS[0]:
        known |= {"person": schema.person, "as_of": schema.as_of}
    return [
        f"the certificate in evidence.json has another {part} than its schema"
        for part, value in known.items()
        if said.get(part) != value
    ]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
