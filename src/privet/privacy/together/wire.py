"""What a coordinator asks and a site answers, as bytes: JSON in one spelling, signed.

Whatever comes in may come from anybody. So it is measured before it is parsed, and its fields and
their types are fixed. Prices are whole multiples of 2^-64. The digest of a question covers all that
a site acts upon; it is made from the parsed question, never taken from the wire.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import StudyError
from privet.privacy.queries.base import Query, from_document, to_document
from privet.privacy.queries.codec import decoded, encoded

Words = NDArray[np.uint64]  # numbers modulo 2^64

UNIT = 1 << 64  # parts of one in which prices are written
MOST_BYTES = 1 << 22  # of a question or of a lock; no honest one comes near
MOST_ATTEMPTS = 1000
MOST_QUESTIONS = 16
# What the Ed25519 keys of a study sign, so that no signature serves for something else.
REQUEST, ANSWER = b"privet together request 1\0", b"privet together answer 1\0"
CONTEXT = b"privet together context 1\0"
KINDS = ("open", "ask", "close")


def canonical(value: Any) -> bytes:
    """The one spelling of a document, in which it is hashed and signed."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def parsed(text: bytes, most: int = MOST_BYTES) -> dict[str, Any]:
    """A JSON object, or a ValueError."""
    if len(text) > most:
        raise ValueError("too long")
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


@dataclass(frozen=True, kw_only=True)
class Question:
    """A query and its price, in units of 2^-64."""

    query: Query
    price: int

    @property
    def rho(self) -> Fraction:
        return Fraction(self.price, UNIT)

    def to_json(self) -> dict[str, Any]:
        return {"query": to_document(self.query), "price": self.price}

    @staticmethod
    def from_json(value: Any) -> Question:
        if not isinstance(value, dict) or set(value) != {"query", "price"}:
            raise KeyError("the fields of a question are query and price")
        if type(value["price"]) is not int or not 0 < value["price"] <= UNIT**2:
            raise ValueError("no price")
        return Question(query=from_document(value["query"]), price=value["price"])


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which question this is: of which attempt and stage, who answers, and how much the whole
    attempt may cost, in units of 2^-64."""

    attempt: int
    stage: int
    roster: tuple[str, ...]
    budget: int

    def __post_init__(self) -> None:
        if not (0 < self.attempt <= MOST_ATTEMPTS and 0 < self.stage <= MOST_ATTEMPTS):
            raise ValueError("no such attempt or stage")
        if not 0 < self.budget <= UNIT**2 or len(self.roster) > MOST_ATTEMPTS:
            raise ValueError("no budget or too many sites")


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What all sites of a roster are asked at once; the sums of their answers are seen together or
    not at all."""

    place: Place
    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        if not 0 < len(self.questions) <= MOST_QUESTIONS:
            raise ValueError("no questions or too many")

    @property
    def price(self) -> Fraction:
        return sum((question.rho for question in self.questions), Fraction(0))

    def digest(self, study: str, tolerated: int) -> str:
        """Of all that a site acts upon: two questions that differ in anything have two digests,
        and so masks that do not cancel."""
        said = {"study": study, "tolerated": tolerated, "ask": encoded(self)}
        return sha256(CONTEXT + canonical(said)).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a site sends. ``numbers`` are under masks; ``people`` is the public number of the
    site's people, by which one sees that nobody is counted twice."""

    study: str
    site: str
    place: Place
    digest: str
    price: int
    people: str
    numbers: str

    @staticmethod
    def text(numbers: Words) -> str:
        return b64encode(numbers.astype("<u8").tobytes()).decode("ascii")

    def words(self) -> Words:
        """The numbers, or a ValueError."""
        return np.frombuffer(b64decode(self.numbers, validate=True), dtype="<u8").astype(np.uint64)


def request(kind: str, study: str, ask: Ask | None = None) -> dict[str, Any]:
    return {"kind": kind, "study": study, "ask": None if ask is None else encoded(ask)}


def read_request(said: Mapping[str, Any]) -> tuple[str, Ask | None]:
    """The kind and the question of a request, or a KeyError, TypeError or ValueError. A kind is
    looked up among three and never anywhere else."""
    if set(said) != {"kind", "study", "ask"} or said["kind"] not in KINDS:
        raise KeyError("no request")
    if said["kind"] != "ask":
        return str(said["kind"]), None
    return "ask", decoded(Ask, said["ask"])


def read_answer(said: Mapping[str, Any], origin: str) -> Answer:
    if "refused" in said:
        raise StudyError(
            f"{origin!r} is a refusal of {said.get('site')!r} ({said['refused']}); ask that site"
        )
    try:
        return decoded(Answer, dict(said))
    except (KeyError, TypeError, ValueError):
        raise StudyError(
            f"{origin!r} is no answer of a site; take a fresh copy of the file that "
            "`privet measure --study` wrote"
        ) from None
