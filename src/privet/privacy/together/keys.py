"""Keys of one study: Ed25519 to sign, X25519 to agree on masks. Fresh for each study, and destroyed
when it is over, so that what was recorded of it stays closed."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.errors import StudyError
from privet.privacy.together import wire
from privet.privacy.together.wire import canonical

SECRET, PUBLIC = "secret.json", "public.json"
KEY = re.compile("[0-9a-f]{64}")
SIGNATURE = re.compile("[0-9a-f]{128}")


def need_cryptography() -> None:
    try:
        import cryptography.hazmat.primitives.asymmetric.x25519
    except ImportError:
        raise StudyError(
            "keys and signatures need the package cryptography; install it with: "
            "pip install 'privet[federated]'"
        ) from None
    del cryptography


@dataclass(frozen=True, kw_only=True)
class PublicKeys:
    """Of a site (or of the coordinator, who agrees on no masks but has both all the same)."""

    name: str
    sign: str
    agree: str


@dataclass(frozen=True, kw_only=True)
class SecretKeys:
    name: str
    sign: str
    agree: str

    def __repr__(self) -> str:
        return f"SecretKeys({self.name!r})"

    @staticmethod
    def make(name: str) -> SecretKeys:
        need_cryptography()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        sign, agree = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
        return SecretKeys(
            name=name, sign=sign.private_bytes_raw().hex(), agree=agree.private_bytes_raw().hex()
        )

    def public(self) -> PublicKeys:
        return PublicKeys(
            name=self.name,
            sign=self._signer().public_key().public_bytes_raw().hex(),
            agree=self._agreer().public_key().public_bytes_raw().hex(),
        )

    def signed(self, purpose: bytes, said: dict[str, Any]) -> bytes:
        """A document with its signature, as it travels."""
        signature = self._signer().sign(purpose + canonical(said)).hex()
        return canonical({"said": said, "signature": signature})

    def secret_with(self, other: PublicKeys) -> bytes:
        """What this site and another one know, and nobody else."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        theirs = X25519PublicKey.from_public_bytes(bytes.fromhex(other.agree))
        return bytes(self._agreer().exchange(theirs))

    def _signer(self) -> Any:
        need_cryptography()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self.sign))

    def _agreer(self) -> Any:
        need_cryptography()
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        return X25519PrivateKey.from_private_bytes(bytes.fromhex(self.agree))


def opened(text: bytes, purpose: bytes, key: str, most: int = wire.MOST_BYTES) -> dict[str, Any]:
    """What was signed by this key for this purpose, or a ValueError."""
    need_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    found = wire.parsed(text, most)
    said, signature = found.get("said"), found.get("signature")
    if set(found) != {"said", "signature"} or not isinstance(said, dict):
        raise ValueError("not signed")
    if not isinstance(signature, str) or not SIGNATURE.fullmatch(signature):
        raise ValueError("no signature")
    try:
        known = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
        known.verify(bytes.fromhex(signature), purpose + canonical(said))
    except InvalidSignature:
        raise ValueError("signed by another key, or changed") from None
    return said


def write_secret(path: Path, text: str) -> None:
    """A file that its owner alone may read; never over another."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def save(keys: SecretKeys, folder: Path) -> Path:
    """Both halves of fresh keys; the public one is for others."""
    parts = {"name": keys.name, "sign": keys.sign, "agree": keys.agree}
    write_secret(folder / SECRET, json.dumps({"privet secret keys": 1, **parts}))
    public, path = keys.public(), folder / PUBLIC
    shown = {"name": public.name, "sign": public.sign, "agree": public.agree}
    path.write_text(json.dumps({"privet public keys": 1, **shown}, indent=2) + "\n", "utf-8")
    return path


def load_secret(folder: Path) -> SecretKeys:
    return SecretKeys(**_load(folder / SECRET, "privet secret keys", "keys of a study"))


def load_public(path: Path) -> PublicKeys:
    return PublicKeys(**_load(path, "privet public keys", "public keys of a site"))


def _load(path: Path, title: str, what: str) -> dict[str, str]:
    try:
        found = wire.parsed(path.read_bytes())
        if found.pop(title, None) != 1 or set(found) != {"name", "sign", "agree"}:
            raise ValueError(title)
        if not all(isinstance(part, str) for part in found.values()):
            raise ValueError(title)
        found["name"].encode()  # half a character has no encoding
        if not all(KEY.fullmatch(found[part]) for part in ("sign", "agree")):
            raise ValueError(title)
    except OSError as error:
        wanted = "folder" if path.name == SECRET else f"file {PUBLIC}"
        raise StudyError(
            f"cannot read {str(path)!r} ({error.strerror}); give the {wanted} that `privet site "
            "key` (or `privet sign key`; of a coordinator, `privet federate lock`) wrote"
        ) from None
    except ValueError:
        raise StudyError(
            f"{str(path)!r} holds no {what}; give the file that `privet site key` wrote"
        ) from None
    return found
