"""Directions from differences between sites: the site as a column that nothing points to.

A mechanism that differs between sites makes the site a cause of its column [Mooij, Magliacane,
Claassen 2020: joint causal inference]. So it is with an edge x --- y of a CPDAG, x a column in
which the sites differ, whatever is given, and y one in which they do not, given some set S of its
neighbours: the site is joined to x and not to y, so x --> y if x is in S, and y --> x if it is
not. Where S is the reason and x only happens to be in it, nothing changes without x; so the
contrast is asked for: given S without x the sites must differ in y, or given S and x.

An answer is a log Bayes factor for a difference. Between surely different and surely the same
nothing is concluded, and neither is anything from two claims that contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np

from privet.arrays import Bools, Floats
from privet.graph import meek as rules

Given = tuple[int, ...]
# For a column and sets of others: how much speaks for a difference between sites in the column,
# given each set, as a log Bayes factor; not a number where the evidence cannot say.
Differ = Callable[[int, Sequence[Given]], Floats]

WIDEST = 2  # columns given
MOST_NEIGHBOURS = 8  # of which sets are formed
DIFFERENT = log(1e6)
SAME = -log(10)


@dataclass(frozen=True)
class Claim:
    """x --> y, since given ``same`` the sites do not differ in ``about``, and given ``other``,
    which has x or y more or less, they do."""

    cause: int
    effect: int
    about: int
    same: Given
    other: Given
    strength: float


def claims(matrix: Bools, differ: Differ) -> list[Claim]:
    """What differences say about the lines of a CPDAG, the surest first."""
    lines = matrix & matrix.T
    asked = {v: _answers(matrix, v, differ) for v in np.flatnonzero(lines.any(axis=0)).tolist()}
    known = {v: answers for v, answers in asked.items() if answers}
    moved = {v for v, answers in known.items() if min(answers.values()) > DIFFERENT}
    found = []
    for y, answers in known.items():
        same = min(answers, key=lambda given: (answers[given], given))
        if answers[same] > SAME:
            continue
        for x in np.flatnonzero(lines[y]).tolist():
            if x in moved:
                found += _claim(x, y, same, answers)
    told = {(claim.cause, claim.effect) for claim in found}
    sound = [c for c in found if (c.effect, c.cause) not in told]
    return sorted(sound, key=lambda claim: -claim.strength)


def _answers(matrix: Bools, column: int, differ: Differ) -> dict[Given, float]:
    near = np.flatnonzero(matrix[column] | matrix[:, column])[:MOST_NEIGHBOURS].tolist()
    sets = [given for width in range(WIDEST + 1) for given in combinations(near, width)]
    answers = dict(zip(sets, differ(column, sets).tolist(), strict=True))
    return {given: answer for given, answer in answers.items() if not np.isnan(answer)}


def _claim(x: int, y: int, same: Given, answers: dict[Given, float]) -> list[Claim]:
    """Of a line between x, in which sites differ, and y, in which they do not."""
    inside = x in same
    other = tuple(v for v in same if v != x) if inside else tuple(sorted((*same, x)))
    change = answers.get(other, -np.inf)
    if change <= DIFFERENT:
        return []
    cause, effect = (x, y) if inside else (y, x)
    return [Claim(cause, effect, y, same, other, change - answers[same])]


def drawn(matrix: Bools, found: Sequence[Claim], allowed: Bools) -> tuple[Bools, list[Claim]]:
    """The CPDAG with these arrows and all that follows, and the claims that it holds. One that
    would make a circle, a new collider or what knowledge forbids is left out."""
    held = []
    for claim in found:
        cause, effect = claim.cause, claim.effect
        if matrix[effect, cause]:
            more = matrix.copy()
            more[effect, cause] = False
            closed = rules.meek(more)
            if not matrix[cause, effect] or not _sound(matrix, closed, allowed):
                continue
            matrix = closed
        held.append(claim)
    return matrix, held


def _sound(before: Bools, after: Bools, allowed: Bools) -> bool:
    return (
        not (after & ~after.T & ~allowed).any()
        and rules.vstructures(after) == rules.vstructures(before)
        and rules.extension(after) is not None
    )
