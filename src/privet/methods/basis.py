"""What a search stands on: a judge of independences and a score of families, from evidence.

Sources of evidence make a basis (``methods/sources``), searches use it (``methods/searches``);
neither needs to know the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.independence.effects import Effects
from privet.schema.model import Schema
from privet.scores.families import Families
from privet.scores.noisy_tables import NoisyTables
from privet.search.constraints import Constraints
from privet.search.pc import skeleton
from privet.search.potential import potential
from privet.search.protocols import Gains, Judge, Locals
from privet.search.skeleton import Separators
from privet.search.stability import DOUBT

Question = tuple[int, ...]
Answer = Callable[[Indices], Floats]
# Makes a judge that answers for so many replicas of the evidence at once, a row for each.
Stack = Callable[[int, np.random.Generator], Judge]


@dataclass(frozen=True, kw_only=True)
class Basis:
    """``local`` is None where noise is shared between families, so that there is no likelihood:
    then scores are made from tests, and hold among the edges that tests have found.

    ``replicas`` makes bases that might have been measured instead, if that can be said; ``near``
    are the pairs that a search on a replica need look at, since the others were dropped without
    doubt. ``sites`` are the gains of each site by itself, ``moments`` is there for searches that
    fit weights to a covariance, ``effects`` tells how large dependences are. ``widest`` is the size
    of the largest separators for which there is evidence, if it bounds them; ``copies`` are columns
    that say the same as another one, and that one: no search gets both. ``notes`` say what a reader
    should know of it."""

    judge: Judge
    gains: Gains
    local: Locals | None
    listener: Listener
    replicas: Callable[[int, np.random.Generator], Replicas] | None = None
    near: Bools | None = None
    sites: tuple[Gains, ...] = ()
    moments: MomentEvidence | None = None
    effects: Callable[[Indices], Effects] | None = None
    widest: int | None = None
    copies: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def families(self, schema: Schema, max_order: int) -> tuple[Locals, Constraints]:
        """Local scores, and the arrows among which they hold."""
        constraints = self.constraints(schema)
        if self.local is not None and not self.noisy:
            return self.local, constraints
        found = skeleton(self.judge, constraints, max_order)
        local = potential(self.judge, found) if self.local is None else self.local
        return local, within(constraints, found.adjacent)

    @property
    def noisy(self) -> bool:
        """Whether noise was added. It weighs more the more columns are given, which no score of
        families knows; so scores are trusted only among the edges that tests have found."""
        return self.local is None or (self.moments is not None and self.moments.noise > 0)

    def climbing(self, schema: Schema, max_order: int) -> tuple[Gains, Constraints]:
        """Gains, and the arrows among which they hold."""
        constraints = self.constraints(schema)
        if not self.noisy:
            return self.gains, constraints
        found = skeleton(self.judge, constraints, max_order)
        return self.gains, within(constraints, found.adjacent)

    def constraints(self, schema: Schema) -> Constraints:
        """What knowledge allows, within the pairs that are near."""
        known = Constraints.of(schema.names, schema.knowledge)
        return known if self.near is None else within(known, self.near)


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Evidence as it might have come out instead: one ``judge`` answers for all replicas at once,
    and ``each`` is a basis of its own. ``near`` are the pairs that need be looked at, and
    ``separators`` are those that the search found on the evidence itself."""

    judge: Judge
    each: Iterator[Basis]
    near: Bools | None
    separators: Separators


def within(constraints: Constraints, pairs: Bools) -> Constraints:
    """The same knowledge, but only these pairs (and required ones) may be joined."""
    kept = pairs | constraints.required
    return replace(
        constraints, allowed=constraints.allowed & kept, possible=constraints.possible & kept
    )


class Listener:
    """Counts the questions asked, and remembers the lowest answer about each pair, with its
    question; ``joined`` are the pairs that the search joined in the end, ``separators`` what
    separated others, and ``notes`` what it has to say."""

    def __init__(self) -> None:
        self.count = 0
        self.notes: tuple[str, ...] = ()
        self.joined: Bools | None = None
        self.separators: Separators = {}
        self.lowest: dict[tuple[int, int], tuple[float, Question]] = {}

    def by(self, answer: Answer) -> Answer:
        """The same answers (of which negative ones speak against an edge), listened to."""

        def listening(questions: Indices) -> Floats:
            answers = answer(questions)
            self.count += len(questions)
            for question, value in zip(questions.tolist(), answers.tolist(), strict=True):
                x, y, *_ = question
                pair = (x, y) if x < y else (y, x)
                if pair not in self.lowest or value < self.lowest[pair][0]:
                    self.lowest[pair] = (value, tuple(question))
            return answers

        return listening

    def scored(self, local: Locals) -> Locals:
        """The same scores, counted."""

        def listening(child: int, parents: Indices) -> Floats:
            self.count += len(parents)
            return local(child, parents)

        return listening

    def near(self, size: int) -> Bools | None:
        """The pairs that were found, or not dropped without doubt; None if nothing was asked."""
        if not self.lowest:
            return None
        near = ~np.eye(size, dtype=bool)
        for (x, y), (value, _) in self.lowest.items():
            near[x, y] = near[y, x] = value > DOUBT
        return near if self.joined is None else near | self.joined


class Chorus:
    """Answers for many replicas, found for all of them when the first one asks: they ask nearly
    the same, and a batch for all costs little more than one for one."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer  # gives one row per replica
        self._known: dict[Question, Floats] = {}

    def voice(self, at: int) -> Answer:
        def answer(questions: Indices) -> Floats:
            rows = list(map(tuple, questions.tolist()))
            fresh = [row for row in dict.fromkeys(rows) if row not in self._known]
            if fresh:
                answers = self._answer(np.array(fresh, dtype=np.intp))
                self._known.update(zip(fresh, answers.T, strict=True))
            return np.array([self._known[row][at] for row in rows])

        return answer


# The judges of each site that a joint one asks.
Parts = Callable[[Judge], Sequence[Judge]]


def whole(judge: Judge) -> Sequence[Judge]:
    """Of one site: the judge itself."""
    return (judge,)


@dataclass(frozen=True)
class _Voices:
    """A judge put together from its answers."""

    strengths: Callable[..., Floats]
    margins: Answer


def on_tests(judge: Judge, stack: Stack, size: int, parts: Parts = whole) -> Basis:
    """Evidence that answers tests: what a family is worth is put together from these. ``parts``
    are the judges of each of several sites."""
    listener = Listener()
    margins = listener.by(judge.margins)

    def replicas(count: int, rng: np.random.Generator) -> Replicas:
        near, together = listener.near(size), stack(count, rng)
        return Replicas(
            judge=together,
            each=_voices(together, count, near, parts),
            near=near,
            separators=listener.separators,
        )

    return Basis(
        judge=_Voices(judge.strengths, margins),
        gains=NoisyTables(margins).gains,
        local=None,
        listener=listener,
        replicas=replicas,
        sites=tuple(NoisyTables(part.margins).gains for part in parts(judge)),
    )


def _voices(
    together: Judge, count: int, near: Bools | None, parts: Parts = whole
) -> Iterator[Basis]:
    answers, strengths = Chorus(together.margins), together.strengths()
    apart = [Chorus(part.margins) for part in parts(together)]
    for r in range(count):
        margins = answers.voice(r)
        yield Basis(
            judge=_Voices(lambda _pairs=None, r=r: strengths[r], margins),
            gains=NoisyTables(margins).gains,
            local=None,
            listener=Listener(),
            near=near,
            sites=tuple(NoisyTables(part.voice(r)).gains for part in apart),
        )


def on_scores(judge: Judge, score: Families) -> Basis:
    """Evidence that scores families by itself, and a judge for searches that test."""
    listener = Listener()
    gains = listener.by(score.gains)
    return Basis(
        judge=_Voices(judge.strengths, listener.by(judge.margins)),
        gains=gains,
        local=listener.scored(score.local),
        listener=listener,
        sites=(gains,),
    )
