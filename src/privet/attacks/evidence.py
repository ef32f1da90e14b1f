"""What one run gives an attacker who knows both tables and all but which of them was used."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from math import log, sqrt
from typing import Any
from zlib import crc32

import numpy as np

from privet.arrays import Floats
from privet.methods.literature.decisions import Decisions
from privet.privacy.queries.base import Derived, Release
from privet.schema.model import Schema
from privet.trust.session import without_privacy

MOST_KEPT = 1000  # exact answers; where questions follow from answers, each run has its own


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``known`` is the log likelihood ratio of what has a law that is written down; what the rest
    is worth, its ``kind`` and its ``numbers``, is learnt from runs. So is what ``questions`` were
    asked: their parameters, by name, if they are more than those of an earlier answer."""

    known: float = 0.0
    kind: Hashable = None
    numbers: Mapping[str, Floats] = field(default_factory=dict)
    questions: Mapping[str, Floats] = field(default_factory=dict)


class Attacker:
    """Weighs what is released against the exact answers on both tables, of which a secret sample
    shows a share (``rate``)."""

    def __init__(self, tables: Sequence[Any], schema: Schema, rate: float = 1.0) -> None:
        self._curators = [without_privacy(table, schema) for table in tables]
        self._rate = rate
        self._answers: dict[Any, list[Floats]] = {}

    def evidence(self, releases: Sequence[Release]) -> float:
        """Log likelihood ratio of the neighbour against the table, given these releases."""
        total = 0.0
        for release in releases:
            if release.variance == 0:
                continue
            without, present = (release.values - answer for answer in self._known(release.query))
            if release.mechanism.startswith("Laplace"):
                total += float((abs(without) - abs(present)).sum()) / sqrt(release.variance / 2)
            else:
                total += float((without**2 - present**2).sum()) / (2 * release.variance)
        return total

    def outcome(self, releases: Sequence[Release]) -> Outcome:
        """Of a private run: noise has its law, and decisions are learnt."""
        asked = [release for release in releases if not isinstance(release.query, Derived)]
        derived = [release for release in releases if isinstance(release.query, Derived)]
        seen = tuple(type(release.query).__name__ for release in releases)
        found = of_numbers(derived, seen, self.evidence(asked))
        return replace(found, questions=parameters(asked))

    def _known(self, query: Any) -> list[Floats]:
        key = query, getattr(getattr(query, "model", None), "key", b"")  # which rows are where
        if key not in self._answers:
            if len(self._answers) >= MOST_KEPT:
                self._answers.clear()
            exact = [curator.exact(query).values for curator in self._curators]
            self._answers[key] = [self._rate * answer.astype(np.float64) for answer in exact]
        return self._answers[key]


def parameters(releases: Sequence[Release]) -> dict[str, Floats]:
    """What was asked, as numbers: sets, clips, radii, features and the order of questions are
    functions of earlier answers, or they give something away. Texts count by their hashes."""
    found = {}
    for place, release in enumerate(releases):
        name = f"{place} {type(release.query).__name__}"
        for field_of in fields(release.query):  # type: ignore[arg-type]  # all are dataclasses
            if field_of.compare:
                parts = list(_leaves(getattr(release.query, field_of.name)))
                numbers = [float(part) for part in parts if not isinstance(part, str)]
                texts = repr([part for part in parts if isinstance(part, str)]).encode()
                found[f"{name} {field_of.name}"] = np.array([*numbers, float(crc32(texts))])
    return found


def _leaves(value: Any) -> Iterator[str | float]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _leaves(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            if each.compare:
                yield from _leaves(getattr(value, each.name))
    elif isinstance(value, int | float | Fraction):
        yield float(value)
    else:
        yield str(value)


def of_numbers(releases: Sequence[Release], seen: Hashable = (), known: float = 0.0) -> Outcome:
    """Of releases whose law nobody has written down: decisions are kinds, and numbers numbers."""
    decided = [release for release in releases if isinstance(release.query, Decisions)]
    numbers = {
        f"{place} {type(release.query).__name__}": release.values.astype(np.float64)
        for place, release in enumerate(releases)
        if not isinstance(release.query, Decisions)
    }
    kind = (seen, tuple(tuple(release.values.tolist()) for release in decided))
    return Outcome(known=known, kind=kind, numbers=numbers)


class Learnt:
    """What some runs teach: how much likelier each kind is on the neighbour, and along which line
    numbers differ most for their noise."""

    def __init__(self, without: Sequence[Outcome], present: Sequence[Outcome]) -> None:
        self._kinds = _Kinds([[outcome.kind for outcome in side] for side in (without, present)])
        self._numbers = _Lines([[each.numbers for each in side] for side in (without, present)])
        asked = [[each.questions for each in side] for side in (without, present)]
        self._asked = _Lines(asked)
        names = {name for side in asked for each in side for name in each}
        self._met = {
            name: _Kinds([[_key(each.get(name)) for each in side] for side in asked])
            for name in names
        }

    def scores(self, outcome: Outcome) -> tuple[float, float, float]:
        """By the answers, by the questions and by both. Honest questions follow from answers, so
        that they add nothing but noise: which of the three tells most has to be tried."""
        answers = outcome.known + self._kinds.score(outcome.kind)
        answers += self._numbers.score(outcome.numbers)
        questions = self._asked.score(outcome.questions)
        questions += sum(
            each.score(_key(outcome.questions.get(n))) for n, each in self._met.items()
        )
        return answers, questions, answers + questions


class _Kinds:
    def __init__(self, sides: Sequence[Sequence[Hashable]]) -> None:
        self._counts = [Counter(side) for side in sides]

    def score(self, kind: Hashable) -> float:
        without, present = (counts[kind] + 1 for counts in self._counts)
        return log(present / without)


class _Lines:
    def __init__(self, sides: Sequence[Sequence[Mapping[str, Floats]]]) -> None:
        self._lines: dict[tuple[str, int], tuple[Floats, Floats]] = {}
        groups = [_grouped(side) for side in sides]
        for key in groups[0].keys() & groups[1].keys():
            first, second = (np.array(group[key]) for group in groups)
            spread = first.var(axis=0) + second.var(axis=0)
            difference = second.mean(axis=0) - first.mean(axis=0)
            line = 2 * difference / np.maximum(spread, 1e-12 + 1e-9 * difference**2)
            self._lines[key] = line, (first.mean(axis=0) + second.mean(axis=0)) / 2

    def score(self, numbers: Mapping[str, Floats]) -> float:
        total = 0.0
        for name, values in numbers.items():
            if (key := (name, len(values))) in self._lines:
                line, middle = self._lines[key]
                total += float((line * (values - middle)).sum())
        return total


def _key(values: Floats | None) -> Hashable:
    return None if values is None else values.tobytes()


def _grouped(side: Sequence[Mapping[str, Floats]]) -> dict[tuple[str, int], list[Floats]]:
    found: dict[tuple[str, int], list[Floats]] = defaultdict(list)
    for numbers in side:
        for name, values in numbers.items():
            found[name, len(values)].append(values)
    return found
