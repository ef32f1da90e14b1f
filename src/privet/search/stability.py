"""Which edges and arrows would stand if the evidence had come out a little differently.

Each replica of the evidence is searched again, from the edges that were found and those that
were dropped with doubt: the graph is sparse by then, so few questions are left. Replicas ask
nearly the same ones. So each step is played twice: once to hear what every replica would ask,
and again with the answers, which are found for all replicas together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.pc import WIDEST, collider_weights
from privet.search.protocols import Judge
from privet.search.skeleton import Ask, Skeleton, prune

# An edge was dropped with doubt if no margin against it was below this.
DOUBT = -1.5
# One replica's arrows matter little: fewer starts than for the graph itself.
RESTARTS = 3

Step = TypeVar("Step")


def replicated(
    judge: Judge,
    start: Skeleton,
    constraints: Constraints,
    max_order: int,
    rngs: Sequence[np.random.Generator],
) -> list[Bools]:
    """The graph that each replica in the stack gives, which ``judge`` answers for."""
    near = start.adjacent.astype(np.float32)
    strengths = judge.strengths(start.adjacent | (near @ near > 0))  # others are not looked at
    founds = [start for _ in rngs]
    for order in range(max_order + 1):

        def step(r: int, ask: Ask, order: int = order, before: list[Skeleton] = founds) -> Skeleton:
            widest = None if order < 2 else WIDEST
            return prune(
                before[r],
                order,
                ask,
                strength=strengths[r],
                required=constraints.required,
                widest=widest,
            )

        founds = _together(len(rngs), step, judge.margins)
    joined = [
        constraints.without_circles(found, strength).adjacent
        for found, strength in zip(founds, strengths, strict=True)
    ]
    triples = [unshielded(adjacent) for adjacent in joined]

    def weigh(r: int, ask: Ask) -> Floats:
        return collider_weights(ask, joined[r], triples[r])

    weights = _together(len(rngs), weigh, judge.margins)
    return [
        orient(adjacent, seen, weight, allowed=constraints.allowed, rng=rng, restarts=RESTARTS)
        for adjacent, seen, weight, rng in zip(joined, triples, weights, rngs, strict=True)
    ]


def _together(replicas: int, step: Callable[[int, Ask], Step], answer: Ask) -> list[Step]:
    """Each replica's step, with the questions of all of them answered at once."""
    wanted: dict[int, dict[tuple[int, ...], int]] = {}

    def hear(questions: Indices) -> Floats:
        places = wanted.setdefault(questions.shape[1], {})
        for question in map(tuple, questions.tolist()):
            places.setdefault(question, len(places))
        return np.ones(len(questions))

    for r in range(replicas):
        step(r, hear)
    answers = {
        width: answer(np.array(list(places), dtype=np.intp).reshape(-1, width))
        for width, places in wanted.items()
    }

    def reply(r: int, questions: Indices) -> Floats:
        places = wanted[questions.shape[1]]
        at = [places[question] for question in map(tuple, questions.tolist())]
        out: Floats = answers[questions.shape[1]][r, at]
        return out

    return [step(r, partial(reply, r)) for r in range(replicas)]
