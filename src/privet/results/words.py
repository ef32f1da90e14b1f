"""The hash of a file as eight words, for people who compare it by eye or by telephone.

A word is two syllables of 32 each, so it carries 10 bits, and eight of them 80: nobody finds a
second file with the same words.
"""

from __future__ import annotations

from hashlib import sha256

FIRST = (
    *("ba", "be", "bo", "da", "de", "di", "do", "fa"),
    *("fi", "go", "ha", "hi", "ja", "jo", "ka", "ki"),
    *("la", "le", "lo", "ma", "me", "mi", "na", "no"),
    *("pa", "po", "ra", "ro", "sa", "so", "ta", "to"),
)
SECOND = (
    *("bel", "bin", "bor", "dan", "den", "dor", "fan", "fel"),
    *("gar", "gon", "kel", "kin", "kor", "lan", "lim", "lon"),
    *("man", "min", "mor", "nel", "nor", "pan", "pel", "rin"),
    *("rol", "sel", "sun", "tan", "ten", "tor", "vel", "zon"),
)
COUNT = 8


def words(text: str) -> str:
    """The first 80 bits of the SHA-256 of a text in UTF-8, as eight words."""
    number = int.from_bytes(sha256(text.encode()).digest()[:10], "big")
    parts = [number >> 10 * place & 1023 for place in reversed(range(COUNT))]
    return " ".join(FIRST[part >> 5] + SECOND[part & 31] for part in parts)
