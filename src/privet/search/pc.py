"""The whole search: skeleton order by order, then arrows from weighed colliders.

A judge answers from evidence; the search knows neither data nor privacy, nor what the evidence
is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.search import compiled
from privet.search.blocks import on_paths
from privet.search.colliders import orient, unshielded
from privet.search.compiled import Heard
from privet.search.consistent import consistent
from privet.search.constraints import Constraints
from privet.search.protocols import ClosedForm, Judge
from privet.search.questions import beside_one, distinct
from privet.search.skeleton import Ask, Skeleton, complete, explained_away, prune

# Separators of two and more are formed from this many of the strongest neighbours.
WIDEST = 8
# Separators of so many are asked for only where they could explain something; the lowest answers
# with fewer given columns say how sure an edge is, whatever they explain.
DEAR = 3
# The weight of one triple is bounded, so that none can outvote all others.
HEAVIEST_TRIPLE = 15.0
SUREST = 1e9  # an answer beyond this says no more
# Before looking, in a random order, the middle of a triple comes last in one case of three.
COLLIDERS, OTHERS = 1.0, 2.0
# Rounds in which the share of colliders settles at the latest.
ROUNDS = 100


@dataclass(frozen=True)
class Told:
    """The margins of a judge in closed form, and who is to hear what they were asked."""

    tests: ClosedForm
    hear: Callable[[Heard], None]


def skeleton(
    judge: Judge,
    constraints: Constraints,
    max_order: int,
    told: Told | None = None,
    sharp: bool = False,
    start: Skeleton | None = None,
) -> Skeleton:
    """From all edges, or those at the ``start``. ``sharp`` tests are held against each other:
    separators are among neighbours in the end, if there is room for some (with one or two columns
    given, too much would stay unexplained)."""
    strength, mend = judge.strengths(), sharp and max_order >= DEAR
    first = complete(len(strength), constraints.possible) if start is None else start
    if told is not None and not constraints.required.any():
        known = compiled.skeleton(told.tests, strength, first, max_order, mend)
        if known is not None:
            told.hear(known[1])
            return constraints.without_circles(known[0], strength)
    found = _pruned(judge, first, constraints, strength, max_order)
    if mend:
        restored = consistent(found, judge.margins, strength, max_order, WIDEST)
        if restored is not found:  # and may explain others
            found = _pruned(judge, restored, constraints, strength, max_order)
    return constraints.without_circles(found, strength)


def _pruned(
    judge: Judge, found: Skeleton, constraints: Constraints, strength: Floats, max_order: int
) -> Skeleton:
    for order in range(max_order + 1):
        dear = order == max_order and order >= DEAR  # before the last, all lowest answers count
        found = prune(
            found,
            order,
            partial(of_use, judge.margins, found) if dear else judge.margins,
            strength=strength,
            required=constraints.required,
            widest=None if order < 2 else WIDEST,
        )
    return found


def of_use(ask: Ask, found: Skeleton, questions: Indices) -> Floats:
    """Answers to what could explain an edge of this skeleton; others are infinite, not asked."""
    useful = on_paths(found.adjacent, questions) & ~explained_away(found, questions)
    out = np.full(len(questions), np.inf)
    out[useful] = ask(questions[useful])
    return out


def arrows(
    judge: Judge,
    found: Skeleton,
    constraints: Constraints,
    rng: np.random.Generator,
    restarts: int = 20,
    told: Told | None = None,
) -> Bools:
    """The CPDAG over a skeleton that the evidence for and against colliders likes best."""
    triples = unshielded(found.adjacent)
    weights = _compiled_weights(told, found.adjacent, triples)
    if weights is None:
        weights = collider_weights(judge.margins, found.adjacent, triples)
    return orient(
        found.adjacent, triples, weights, allowed=constraints.allowed, rng=rng, restarts=restarts
    )


def _compiled_weights(told: Told | None, adjacent: Bools, triples: Indices) -> Floats | None:
    known = None if told is None else compiled.collider_weights(told.tests, adjacent, triples)
    if told is None or known is None:
        return None
    told.hear(known[1])
    return known[0]


def collider_weights(margins: Ask, adjacent: Bools, triples: Indices) -> Floats:
    """For i - k - j: the log odds that it is a collider.

    The Bayes factor is that of independence of i and j without k given against with it. Both sides
    may add one neighbour of i or j to the separator. Which one it is nobody knows, so a side's
    factor is the mean over all that it may add. [Its best would be too sure where there are many.]
    """
    asked = collider_questions(adjacent, triples)
    answers = [margins(rows) if len(rows) else np.empty(0) for rows, _ in asked]
    return weighed(answers, asked, len(triples))


# Different questions, all of one width, and for each of their uses its place among them and the
# side of the triple (2 t: t without its middle, 2 t + 1: with it) that it speaks for.
Asked = tuple[Indices, tuple[Indices, Indices]]


def collider_questions(adjacent: Bools, triples: Indices) -> list[Asked]:
    """What is asked about triples: i and j given nothing, k, and a neighbour of i or j beside."""
    size, k = len(adjacent), triples[:, 1]
    every, ends = np.arange(len(triples)), triples[:, [0, 2]]
    at, z = beside_one(adjacent, ends)
    at, z = (each[z != k[at]] for each in (at, z))
    both = np.sort(np.stack([k[at], z], axis=1), axis=1)
    asked = [
        (ends, 2 * every),
        (np.concatenate([np.c_[ends, k], np.c_[ends[at], z]]), np.r_[2 * every + 1, 2 * at]),
        (np.c_[ends[at], both], 2 * at + 1),
    ]
    out = []
    for rows, side in asked:
        questions, place = distinct(rows, size)
        out.append((questions, (place, side)))
    return out


def weighed(answers: Sequence[Floats], asked: Sequence[Asked], triples: int) -> Floats:
    """The log odds of each triple, from the answers to what was asked about them."""
    factors = collider_factors(answers, asked, triples)
    return np.asarray(factors + log_odds(factors))


def collider_factors(answers: Sequence[Floats], asked: Sequence[Asked], triples: int) -> Floats:
    """The log Bayes factor of each triple for a collider, within its bounds.

    A separator that was not measured (an infinite answer) counts as one that does not hold. That
    mostly speaks for colliders, since those with k are wider; but what is measured must do so, too.
    """
    sides = np.concatenate([side for _, (_, side) in asked])
    told = [given[place] for given, (_, (place, _)) in zip(answers, asked, strict=True)]
    measured = np.isfinite(margins := np.concatenate(told))
    margins = margins.clip(-SUREST, SUREST)
    best = np.full(2 * triples, SUREST)
    np.minimum.at(best, sides, margins)
    likely = np.bincount(sides, np.exp(best[sides] - margins), minlength=2 * triples)
    factors = []
    for some in (slice(None), measured):
        counts = np.maximum(np.bincount(sides[some], minlength=2 * triples), 1)
        without, with_k = (best - np.log(np.maximum(likely, 1.0) / counts)).reshape(-1, 2).T
        factors.append(with_k - without)
    every, own = factors
    factor = np.where(own > 0, every, np.minimum(every, 0.0))
    return np.asarray(factor.clip(-HEAVIEST_TRIPLE, HEAVIEST_TRIPLE))


def log_odds(factors: Floats) -> float:
    """The odds that a triple is a collider, learnt from the log Bayes factors of all triples.

    Where nearly all triples are no colliders, one with weak evidence is none either: it would
    turn a dozen edges. Where many are, weak evidence is believed. The share is the one that
    agrees with its own posterior probabilities (empirical Bayes, by expectation maximisation).
    """
    share = COLLIDERS / (COLLIDERS + OTHERS)
    for _ in range(ROUNDS):
        believed = 1 / (1 + np.exp(-(factors + log(share / (1 - share)))))
        before, share = share, (believed.sum() + COLLIDERS) / (len(factors) + COLLIDERS + OTHERS)
        if share == before:
            break
    return log(share / (1 - share))
