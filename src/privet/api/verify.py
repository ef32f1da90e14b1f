"""Whether a folder of results is what a run wrote, what it promised, and whose promise it is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.errors import EvidenceError, PrivetError, expect
from privet.privacy.together.keys import load_public, load_secret
from privet.results import saved, seal
from privet.results.seal import Signature
from privet.trust import study
from privet.trust.receipt import uncovered
from privet.trust.session import LedgerLike

SAME = ("private", "promise", "epsilon", "delta", "schema", "adjacency", "spent", "queries")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """``faults`` name each file that was changed and each thing that does not fit; ``signer`` is
    who has signed, by a key that was given to check with or (``known`` is False) by some key."""

    faults: tuple[str, ...]
    signer: str | None = None
    key: str | None = None
    known: bool = False
    ledger: bool = False

    @property
    def good(self) -> bool:
        return not self.faults


def verify(
    folder: str | Path, *, ledger: LedgerLike = None, key: str | Path | None = None
) -> Verdict:
    """Check a folder that ``save`` or the command line wrote.

    Its files must be as they were sealed, evidence, certificate and graph must speak of one run,
    and with a ``ledger`` that must have the charges. ``key`` is the public.json of whoever is said
    to have promised: then the seal must be signed by it.

    >>> files = found.save("verified")
    >>> privet.verify("verified").good
    True
    """
    expect(folder, (str, Path), "folder¦DIR", "name the folder of results", EvidenceError)
    if key is not None:
        expect(key, (str, Path), "key", "name a public.json", EvidenceError)
    place = Path(folder)
    files, by = seal.read(place)
    faults = seal.changes(place, files) + _parts(place)
    facts = _json(place / "certificate.json")
    asked = ledger is not None and bool(facts.get("private")) and facts.get("trust") == "central"
    if asked and not faults:
        try:
            faults += uncovered(ledger, facts)
        except (KeyError, TypeError, ValueError, AttributeError):
            faults.append("certificate.json does not say what was charged")
    known = None if key is None else load_public(Path(key))
    if by is not None and not seal.is_signed(files, by):
        faults.append("the signature does not fit the files")
    if known is not None and (by is None or by.key != known.sign):
        whose = "nobody" if by is None else f"another key, of {by.name!r}"
        faults.append(f"the seal is not signed by the key of {known.name!r} but by {whose}")
    return _verdict(faults, by, known is not None, asked)


def _verdict(faults: list[str], by: Signature | None, checked: bool, ledger: bool) -> Verdict:
    if by is None or faults:
        return Verdict(faults=tuple(faults), ledger=ledger)
    return Verdict(faults=(), signer=by.name, key=by.key, known=checked, ledger=ledger)


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


def _parts(place: Path) -> list[str]:
    """Whether the evidence is whole, and certificate and graph are of it."""
    if not (place / "evidence.json").exists():
        return []  # of a rival, which leaves none
    try:
        evidence = saved.load(place / "evidence.json")
    except PrivetError as error:
        return [str(error)]
    facts, faults = _json(place / "certificate.json"), []
    said = evidence.certificate
    for part in SAME:
        if part in said and facts.get(part) != said[part]:
            faults.append(f"certificate.json has another {part} than the evidence")
    graph = _json(place / "graph.json")
    if graph and graph.get("nodes") != list(evidence.schema.names):
        faults.append("graph.json has other columns than the evidence")
    return faults


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
