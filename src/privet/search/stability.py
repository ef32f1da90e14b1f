"""Which edges and arrows would stand if the evidence had come out a little differently.

Each replica of the evidence is searched again, from the edges that were found and those that
were dropped with doubt: the graph is sparse by then, so few questions are left. Replicas ask
nearly the same ones, so these are answered for all replicas together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.pc import WIDEST, collider_questions, weighed
from privet.search.protocols import Judge
from privet.search.questions import distinct
from privet.search.skeleton import Ask, Skeleton, candidates, explained

# An edge was dropped with doubt if no margin against it was below this.
DOUBT = -1.5
# One replica's arrows matter little: fewer starts than for the graph itself.
RESTARTS = 3


def replicated(
    judge: Judge,
    start: Skeleton,
    constraints: Constraints,
    max_order: int,
    rngs: Sequence[np.random.Generator],
) -> list[Bools]:
    """The graph that each replica in the stack gives, which ``judge`` answers for."""
    near, size = start.adjacent.astype(np.float32), len(start.adjacent)
    strengths = judge.strengths(start.adjacent | (near @ near > 0))  # others are not looked at
    founds = [start for _ in rngs]
    for order in range(max_order + 1):
        widest = None if order < 2 else WIDEST
        asked = [
            candidates(found.adjacent, order, strength, constraints.required, widest)
            for found, strength in zip(founds, strengths, strict=True)
        ]
        answers = _together(judge.margins, asked, size)
        founds = [_pruned(*each) for each in zip(founds, asked, answers, strengths, strict=True)]
    joined = [
        constraints.without_circles(found, strength).adjacent
        for found, strength in zip(founds, strengths, strict=True)
    ]
    triples = [unshielded(adjacent) for adjacent in joined]
    return [
        orient(adjacent, seen, weight, allowed=constraints.allowed, rng=rng, restarts=RESTARTS)
        for adjacent, seen, weight, rng in zip(
            joined, triples, _weights(judge.margins, joined, triples), rngs, strict=True
        )
    ]


def _pruned(found: Skeleton, asked: Indices, answers: Floats, strength: Floats) -> Skeleton:
    lowest = np.full(found.adjacent.shape, np.inf)
    np.minimum.at(lowest, (asked[:, 0], asked[:, 1]), answers)
    return replace(explained(found, asked, answers, strength), lowest=lowest)


def _weights(answer: Ask, joined: Sequence[Bools], triples: Sequence[Indices]) -> list[Floats]:
    """Of the triples of each replica."""
    size = len(joined[0])
    asked = [collider_questions(*each) for each in zip(joined, triples, strict=True)]
    answers = [
        _together(answer, [questions for questions, _ in width], size)
        for width in zip(*asked, strict=True)
    ]
    return [
        weighed(own, uses, len(seen))
        for own, uses, seen in zip(zip(*answers, strict=True), asked, triples, strict=True)
    ]


def _together(answer: Ask, asked: Sequence[Indices], size: int) -> list[Floats]:
    """The answers to what each replica asks, found for all of them at once."""
    questions, place = distinct(np.concatenate(asked), size)
    if not len(questions):
        return [np.empty(0) for _ in asked]
    answers = answer(questions)
    places = np.split(place, np.cumsum([len(own) for own in asked])[:-1])
    return [own[at] for own, at in zip(answers, places, strict=True)]
