"""What one run gives an attacker who knows both tables and all but which of them was used."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any

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
    is worth, its ``kind`` and its ``numbers``, is learnt from runs."""

    known: float = 0.0
    kind: Hashable = None
    numbers: Mapping[str, Floats] = field(default_factory=dict)


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
        return of_numbers(derived, seen, self.evidence(asked))

    def _known(self, query: Any) -> list[Floats]:
        key = query, getattr(getattr(query, "model", None), "key", b"")  # which rows are where
        if key not in self._answers:
            if len(self._answers) >= MOST_KEPT:
                self._answers.clear()
            exact = [curator.exact(query).values for curator in self._curators]
            self._answers[key] = [self._rate * answer.astype(np.float64) for answer in exact]
        return self._answers[key]


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
        self._kinds = [Counter(outcome.kind for outcome in side) for side in (without, present)]
        self._lines: dict[tuple[str, int], tuple[Floats, Floats]] = {}
        groups = [_grouped(side) for side in (without, present)]
        for key in groups[0].keys() & groups[1].keys():
            first, second = (np.array(group[key]) for group in groups)
            spread = first.var(axis=0) + second.var(axis=0)
            difference = second.mean(axis=0) - first.mean(axis=0)
            line = 2 * difference / np.maximum(spread, 1e-12 + 1e-9 * difference**2)
            self._lines[key] = line, (first.mean(axis=0) + second.mean(axis=0)) / 2

    def score(self, outcome: Outcome) -> float:
        without, present = (kinds[outcome.kind] + 1 for kinds in self._kinds)
        total = outcome.known + log(present / without)
        for name, values in outcome.numbers.items():
            if (key := (name, len(values))) in self._lines:
                line, middle = self._lines[key]
                total += float((line * (values - middle)).sum())
        return total


def _grouped(side: Sequence[Outcome]) -> dict[tuple[str, int], list[Floats]]:
    found: dict[tuple[str, int], list[Floats]] = defaultdict(list)
    for outcome in side:
        for name, values in outcome.numbers.items():
            found[name, len(values)].append(values)
    return found
