"""Which edges and arrows would stand if the evidence had come out a little differently.

Each replica of the evidence is searched again, from the edges that were found and those that
were dropped with doubt: the graph is sparse by then, so few questions are left. Replicas ask
nearly the same ones, so these are answered for all replicas together. What could explain nothing,
whatever the answer, is not asked, nor what is sure to be answered with "dependent", unless the
lowest answer about a pair comes to matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search.blocks import on_paths
from privet.search.colliders import orient, unshielded
from privet.search.constraints import Constraints
from privet.search.pc import (
    HEAVIEST_TRIPLE,
    WIDEST,
    Asked,
    collider_factors,
    collider_questions,
    weighed,
)
from privet.search.protocols import Judge
from privet.search.questions import distinct
from privet.search.skeleton import Ask, Skeleton, candidates, explained, nearest

# An edge was dropped with doubt if no margin against it was below this.
DOUBT = -1.5
# One replica's arrows matter little: fewer starts than for the graph itself.
RESTARTS = 3

Made = TypeVar("Made")
# Of questions: whether every replica would answer that its ends are dependent.
Sure = Callable[[Indices], Bools]


def never(questions: Indices) -> Bools:
    return np.zeros(len(questions), dtype=bool)


def replicated(
    judge: Judge,
    start: Skeleton,
    constraints: Constraints,
    max_order: int,
    rngs: Sequence[np.random.Generator],
    sure: Sure = never,
) -> list[Bools]:
    """The graph that each replica in the stack gives, which ``judge`` answers for."""
    near, size = start.adjacent.astype(np.float32), len(start.adjacent)
    strengths = judge.strengths(start.adjacent | (near @ near > 0))  # others are not looked at
    founds = [start for _ in rngs]
    idle = [np.empty((0, 2), dtype=np.intp) for _ in rngs]
    for order in range(max_order + 1):
        parts = _open(sure, _asked(order, constraints.required, founds, strengths), size)
        useful = [part[0] for part in parts]
        answers = _together(judge.margins, useful, size)
        late = [_late(*each) for each in zip(founds, idle, useful, answers, strict=True)]
        more = _together(judge.margins, late, size)
        founds = [
            _pruned(*each)
            for each in zip(founds, late, more, useful, answers, strengths, strict=True)
        ]
        idle = [part[1] for part in parts]
    joined = [
        constraints.without_circles(found, strength).adjacent
        for found, strength in zip(founds, strengths, strict=True)
    ]
    triples = _alike(unshielded, joined)
    return [
        orient(adjacent, seen, weight, allowed=constraints.allowed, rng=rng, restarts=RESTARTS)
        for adjacent, seen, weight, rng in zip(
            joined, triples, _weights(judge.margins, joined, triples), rngs, strict=True
        )
    ]


def _alike(make: Callable[..., Made], *each: Sequence[Bools | Indices]) -> list[Made]:
    """What is made of each replica's arrays. Few differ, and the same is made once."""
    known, out = dict[bytes, Made](), list[Made]()
    for own in zip(*each, strict=True):
        key = b"".join(part.tobytes() for part in own)
        if key not in known:
            known[key] = make(*own)
        out.append(known[key])
    return out


def _asked(
    order: int, required: Bools, founds: Sequence[Skeleton], strengths: Floats
) -> list[tuple[Indices, Indices]]:
    """Of each replica the questions of an order that could explain something, and the others."""
    joined, widest = [found.adjacent for found in founds], None if order < 2 else WIDEST
    near = [nearest(*each, widest) for each in zip(joined, strengths, strict=True)]
    return _alike(partial(_parted, order, required), joined, near)


def _parted(order: int, required: Bools, adjacent: Bools, near: Bools) -> tuple[Indices, Indices]:
    rows = candidates(adjacent, near, order, required)
    useful = on_paths(adjacent, rows) if order else np.ones(len(rows), dtype=bool)
    return rows[useful], rows[~useful]


def _open(
    sure: Sure, parts: Sequence[tuple[Indices, Indices]], size: int
) -> list[tuple[Indices, Indices]]:
    """The same, with what is sure among the others."""
    questions, place = distinct(np.concatenate([useful for useful, _ in parts]), size)
    known = np.split(sure(questions)[place], np.cumsum([len(useful) for useful, _ in parts])[:-1])
    return [
        (useful[~at], np.concatenate([idle, useful[at]]))
        for (useful, idle), at in zip(parts, known, strict=True)
    ]


def _late(found: Skeleton, idle: Indices, asked: Indices, answers: Floats) -> Indices:
    """What was not asked, in the order before, about pairs that now seem to be explained: of two
    explanations that contradict each other the surer counts."""
    seem: Bools = np.zeros_like(found.adjacent)
    seem[tuple(asked[answers < 0, :2].T)] = True
    at = np.flatnonzero(seem[idle[:, 0], idle[:, 1]])
    return idle[at]


def _pruned(
    found: Skeleton,
    late: Indices,
    more: Floats,
    asked: Indices,
    answers: Floats,
    strength: Floats,
) -> Skeleton:
    """After the answers of one order, and ``more`` to ``late`` questions of the order before."""
    if found.lowest is not None:
        np.minimum.at(found.lowest, tuple(late[:, :2].T), more)
    lowest = np.full(found.adjacent.shape, np.inf)
    np.minimum.at(lowest, tuple(asked[:, :2].T), answers)
    return replace(explained(found, asked, answers, strength), lowest=lowest)


def _weights(answer: Ask, joined: Sequence[Bools], triples: Sequence[Indices]) -> list[Floats]:
    """Of the triples of each replica. The widest questions speak against colliders only, so they
    are not asked where as much is said against one as counts, even if they said nothing."""
    size = len(joined[0])
    asked = _alike(collider_questions, joined, triples)
    *narrow, widest = zip(*asked, strict=True)
    answers = [_together(answer, [rows for rows, _ in width], size) for width in narrow]
    known = list(zip(*answers, strict=True))
    useful = [_useful(*each) for each in zip(known, asked, map(len, triples), strict=True)]
    more = _together(answer, [rows[at] for (rows, _), at in zip(widest, useful, strict=True)], size)
    last = map(_filled, useful, more)
    return [
        weighed([*own, wide], uses, len(seen))
        for own, wide, uses, seen in zip(known, last, asked, triples, strict=True)
    ]


def _useful(answers: Sequence[Floats], asked: Sequence[Asked], triples: int) -> Bools:
    """Which of the widest questions can change a factor, after the answers to all others."""
    questions, (place, side) = asked[-1]
    nothing = np.full(len(questions), np.inf)
    open_ = collider_factors([*answers, nothing], asked, triples) > -HEAVIEST_TRIPLE
    useful = np.zeros(len(questions), dtype=bool)
    useful[place[open_[side // 2]]] = True
    return useful


def _filled(at: Bools, answers: Floats) -> Floats:
    """Infinite where nothing was asked."""
    out = np.full(len(at), np.inf)
    out[at] = answers
    return out


def _together(answer: Ask, asked: Sequence[Indices], size: int) -> list[Floats]:
    """The answers to what each replica asks, found for all of them at once."""
    questions, place = distinct(np.concatenate(asked), size)
    if not len(questions):
        return [np.empty(0) for _ in asked]
    answers = answer(questions)
    places = np.split(place, np.cumsum([len(own) for own in asked])[:-1])
    return [own[at] for own, at in zip(answers, places, strict=True)]
