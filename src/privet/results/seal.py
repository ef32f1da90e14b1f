"""The seal of a folder of results: the digest of each file, and whoever promised may sign it.

Digests say that the files belong together and were not changed since; a signature says whose
promise it is. Without one, whoever changes a file can seal the folder again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.errors import EvidenceError, OutputError

if TYPE_CHECKING:
    from privet.privacy.together.keys import SecretKeys

SEAL = "seal.json"
VERSION = 1
RESULTS = (".json", ".svg", ".html")  # what results are told in
PURPOSE = b"privet seal\n"


@dataclass(frozen=True, kw_only=True)
class Signature:
    """By whom, as the signer says, and by which key (its public half)."""

    name: str
    key: str
    document: str


def sealed(folder: Path) -> str:
    """The seal of all files in a folder, unsigned, as text."""
    return _text(digests(folder), None)


def digests(folder: Path) -> dict[str, str]:
    """Of every file, by its name inside the folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL)
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest() for path in found
    }


def results(folder: Path) -> list[str]:
    """The files that tell results, whatever the case of their suffix."""
    return [name for name in digests(folder) if Path(name).suffix.lower() in RESULTS]


def sign(folder: Path, keys: SecretKeys) -> None:
    """Sign a folder that is as it was sealed."""
    files, _ = read(folder)
    if changed := changes(folder, files):
        raise EvidenceError(
            f"{folder} is not as it was sealed ({'; '.join(changed)}); sign what a run wrote"
        )
    said: dict[str, Any] = {"name": keys.name, "files": dict(files)}
    document = keys.signed(PURPOSE, said).decode()
    by = Signature(name=keys.name, key=keys.public().sign, document=document)
    try:
        (folder / SEAL).write_text(_text(files, by), encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"cannot write {str(folder / SEAL)!r} ({error.strerror}); make it writable"
        ) from None


def read(folder: Path) -> tuple[dict[str, str], Signature | None]:
    """The digests that the seal has, and its signature, which is not checked yet."""
    path = folder / SEAL
    try:
        found = json.loads(path.read_text("utf-8"))
        files, by = found["files"], found.get("signature")
        good = found["privet seal"] == VERSION and isinstance(files, dict)
        good = good and all(isinstance(digest, str) for digest in files.values())
        if not good:
            raise ValueError("seal")
        signature = None if by is None else Signature(**by)
        if signature and not all(isinstance(part, str) for part in by.values()):
            raise ValueError("signature")
    except OSError as error:
        raise EvidenceError(
            f"cannot read {str(path)!r} ({error.strerror}); give a folder that a run wrote"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise EvidenceError(f"{str(path)!r} is no seal; give a folder as a run wrote it") from None
    return files, signature


def changes(folder: Path, files: Mapping[str, str]) -> list[str]:
    """What is not as it was sealed, each in a few words; files of other kinds may lie beside."""
    now = digests(folder)
    gone = [f"{name} is missing" for name in files if name not in now]
    other = [f"{name} was changed" for name in files if name in now and now[name] != files[name]]
    added = [name for name in results(folder) if name not in files]
    return gone + other + [f"{name} was added" for name in added]


def is_signed(files: Mapping[str, str], by: Signature) -> bool:
    """Whether the key has signed these digests under this name."""
    from privet.privacy.together.keys import opened
    from privet.privacy.together.wire import canonical

    try:
        said = opened(by.document.encode(), PURPOSE, by.key)
    except ValueError:
        return False
    return canonical(said) == canonical({"name": by.name, "files": dict(files)})


def _text(files: Mapping[str, str], by: Signature | None) -> str:
    document: dict[str, Any] = {"privet seal": VERSION, "files": dict(files)}
    if by is not None:
        document["signature"] = {"name": by.name, "key": by.key, "document": by.document}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
