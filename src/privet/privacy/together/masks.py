"""Masks that cancel in the sum over all sites, and in no other.

Each pair of sites knows a secret. From it, the study and the digest of the question both make the
same stream of numbers modulo 2^64; one adds it, the other takes it away. A sum over a whole roster
that was asked one question has no mask left. If a site is missing, or was asked anything else, what
is left is uniform to whoever does not know that pair's secret: ``proofs/together.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet.privacy.together.keys import PublicKeys, SecretKeys
from privet.privacy.together.wire import Words


def total_mask(
    mine: SecretKeys, roster: Sequence[PublicKeys], study: str, digest: str, size: int
) -> Words:
    """What this site adds to its numbers: one stream for each other site of the roster."""
    total = np.zeros(size, dtype=np.uint64)
    for other in roster:
        if other.name != mine.name:
            stream = _stream(mine.secret_with(other), study, digest, (mine.name, other.name), size)
            total = total + stream if mine.name < other.name else total - stream
    return total


def _stream(secret: bytes, study: str, digest: str, pair: tuple[str, str], size: int) -> Words:
    """A key makes one stream, so its nonce may be zero."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    low, high = sorted(pair)
    info = b"mask\0" + bytes.fromhex(digest) + low.encode() + b"\0" + high.encode()
    key = HKDF(algorithm=SHA256(), length=32, salt=bytes.fromhex(study), info=info).derive(secret)
    cipher = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * size)), dtype="<u8").astype(np.uint64)
