"""What a search stands on: a judge of independences and a score of families, from evidence.

Sources of evidence make a basis (``methods/sources``), searches use it (``methods/searches``);
neither needs to know the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from privet.arrays import Bools, Floats, Indices
from privet.evidence.moments import MomentEvidence
from privet.independence.effects import Effects
from privet.methods.listener import NOBODY, Answer, Listener
from privet.schema.model import Schema
from privet.scores.families import Families
from privet.scores.noisy_tables import NoisyTables
from privet.search.constraints import Constraints
from privet.search.memo import Memo
from privet.search.pc import Told, skeleton
from privet.search.potential import potential
from privet.search.protocols import (
    ClosedForm,
    Formula,
    GainRows,
    Gains,
    Judge,
    Locals,
    SpelledRows,
)
from privet.search.rows import spelled
from privet.search.skeleton import Separators
from privet.search.stability import Sure, never

Question = tuple[int, ...]
MOST_WAITING = 1 << 22  # numbers that wait to be heard, so that memory stays bounded
# Makes a judge that answers for so many replicas of the evidence at once, a row for each.
Stack = Callable[[int, np.random.Generator], Judge]


@dataclass(frozen=True)
class Ascent:
    """Gains that are the differences of one score, by themselves and by the row, and the formula
    that they have, if any. Nobody listens."""

    gains: Gains
    rows: GainRows
    formula: Formula | None


@dataclass(frozen=True)
class Wide:
    """A judge of questions with any number of columns given, to whom nobody listens; ``bar`` is the
    log Bayes factor that an edge needs, ``tests`` are its margins in closed form, if there is one.
    """

    judge: Judge
    bar: float
    tests: ClosedForm | None


@dataclass(frozen=True, kw_only=True)
class Basis:
    """``local`` is None where noise is shared between families, so that there is no likelihood:
    then scores are made from tests, and hold among the edges that tests have found. ``rows`` are
    gains by the row, where these are quick to find; ``ascent`` is for searches that go back,
    ``wide`` for those that hold a graph against the evidence in the end.

    ``replicas`` makes bases that might have been measured instead, if that can be said; ``near``
    are the pairs that a search on a replica need look at, since the others were dropped without
    doubt. ``sites`` are the gains of each site by itself, ``moments`` is there for searches that
    fit weights to a covariance, ``effects`` tells how large dependences are. ``widest`` is the size
    of the largest separators for which there is evidence, if it bounds them, ``usual`` that of
    those a search forms which is not told, if it is sharper than others; ``copies`` are columns
    that say the same as another one, and that one: no search gets both. ``notes`` say what a reader
    should know of it."""

    judge: Judge
    gains: Gains
    local: Locals | None
    listener: Listener
    rows: HeardRows | None = None
    ascent: Ascent | None = None
    wide: Wide | None = None
    replicas: Callable[[int, np.random.Generator], Replicas] | None = None
    near: Bools | None = None
    sites: tuple[Gains, ...] = ()
    moments: MomentEvidence | None = None
    effects: Callable[[Indices], Effects] | None = None
    widest: int | None = None
    usual: int | None = None
    copies: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def families(self, schema: Schema, max_order: int) -> tuple[Locals, Constraints]:
        """Local scores, and the arrows among which they hold."""
        constraints = self.constraints(schema)
        if self.local is not None and not self.noisy:
            return self.local, constraints
        found = skeleton(self.judge, constraints, max_order, self.told)
        self.listener.decided(found)
        local = potential(self.judge, found) if self.local is None else self.local
        return local, within(constraints, found.adjacent)

    @property
    def told(self) -> Told | None:
        """The judge's margins in closed form, if there is one; the listener hears of them."""
        tests = None if self.wide is None else self.wide.tests
        return None if tests is None else Told(tests, self.listener.hear)

    @property
    def noisy(self) -> bool:
        """Whether noise was added. It weighs more the more columns are given, which no score of
        families knows; so scores are trusted only among the edges that tests have found."""
        return self.local is None or (self.moments is not None and self.moments.noise > 0)

    @property
    def sharp(self) -> bool:
        """Whether these are exact numbers, which know most about separators of many columns."""
        return self.moments is not None and not self.noisy

    def climbing(self, schema: Schema, max_order: int) -> tuple[Gains, Constraints]:
        """Gains, and the arrows among which they hold."""
        constraints = self.constraints(schema)
        if not self.noisy:
            return self.gains, constraints
        found = skeleton(self.judge, constraints, max_order, self.told)
        self.listener.decided(found)
        return self.gains, within(constraints, found.adjacent)

    def worth(self, local: Locals) -> Gains | None:
        """The gains of these local scores; None where they are made of tests, which alone have
        decided what is joined."""

        def score(child: int, *parents: int) -> float:
            return float(local(child, np.array([sorted(parents)], dtype=np.intp))[0])

        def gains(questions: Indices) -> Floats:
            rows = questions.tolist()
            return np.array([score(y, x, *given) - score(y, *given) for x, y, *given in rows])

        return None if self.local is None else gains

    def constraints(self, schema: Schema) -> Constraints:
        """What knowledge allows, within the pairs that are near."""
        known = Constraints.of(schema.names, schema.knowledge)
        return known if self.near is None else within(known, self.near)


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Evidence as it might have come out instead: one ``judge`` answers for all replicas at once,
    and ``each`` is a basis of its own. ``near`` are the pairs that need be looked at, and
    ``separators`` are those that the search found on the evidence itself. ``sure`` tells which
    questions all replicas would answer alike. ``wide`` are the judges of each replica, if they
    answer questions with any number of columns given; ``sharp`` says that these are exact."""

    judge: Judge
    each: Iterator[Basis]
    near: Bools | None
    separators: Separators
    sure: Sure = never
    wide: Iterator[Wide] | None = None
    sharp: bool = False


def within(constraints: Constraints, pairs: Bools) -> Constraints:
    """The same knowledge, but only these pairs (and required ones) may be joined."""
    kept = pairs | constraints.required
    return replace(
        constraints, allowed=constraints.allowed & kept, possible=constraints.possible & kept
    )


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


def _nothing(questions: Indices) -> Floats:
    return np.full(len(questions), np.inf)


@dataclass(frozen=True)
class _Voices:
    """A judge put together from its answers."""

    strengths: Callable[..., Floats]
    margins: Answer


def on_tests(
    judge: Judge, stack: Stack, size: int, parts: Parts = whole, firm: Answer = _nothing
) -> Basis:
    """Evidence that answers tests: what a family is worth is put together from these. ``parts``
    are the judges of each of several sites; an answer above ``firm`` is positive in all replicas.
    """
    listener, known = Listener(), Memo(judge.margins, size)
    margins = listener.by(known)

    def replicas(count: int, rng: np.random.Generator) -> Replicas:
        near, together = listener.near(size), stack(count, rng)
        return Replicas(
            judge=together,
            each=_voices(together, count, near, parts),
            near=near,
            separators=listener.separators,
            sure=lambda questions: known(questions) > firm(questions),
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


def on_scores(
    judge: Judge,
    score: Families,
    copies: Mapping[str, str] | None = None,
    only_counts: bool = False,
) -> Basis:
    """Evidence that scores families by itself, and a judge for searches that test. ``only_counts``:
    there are no replicas and no sizes of effects, so that nobody asks which answer was lowest."""
    listener = Listener(only_counts)
    gains = listener.by(score.gains)
    return Basis(
        judge=_Voices(judge.strengths, listener.by(judge.margins)),
        gains=gains,
        local=listener.scored(score.local),
        listener=listener,
        rows=HeardRows(listener, score.rows, score.spelled),
        sites=(gains,),
        copies={} if copies is None else copies,
    )


class HeardRows:
    """Gains by the row, which a listener hears of in the end, many at a time."""

    def __init__(
        self, listener: Listener, rows: GainRows, compiled: SpelledRows | None = None
    ) -> None:
        self._listener, self._answer = listener, rows
        self._spelled = spelled(rows) if compiled is None else compiled
        self._waiting: list[tuple[bytes, bytes, bytes, Any]] = []
        self._cells = 0

    def __call__(self, ys: Indices, given: Indices, asked: Bools) -> Floats:
        answers = self._answer(ys, given, asked)
        columns, sets = (each.astype(np.int64).tobytes() for each in (ys, given))
        self._wait(columns, sets, asked.tobytes(), np.ascontiguousarray(answers, dtype=np.float64))
        return answers

    def spelled(self, ys: bytes, given: bytes, flags: bytes) -> Any:
        """The same for compiled searches."""
        answers = self._spelled(ys, given, flags)
        self._wait(ys, given, flags, answers)
        return answers

    def _wait(self, ys: bytes, given: bytes, flags: bytes, answers: Any) -> None:
        if ys:
            self._waiting.append((ys, given, flags, answers))
        self._cells += len(flags)
        if self._cells > MOST_WAITING:
            self.settle()

    def settle(self) -> None:
        """Both rows of a pair may have answered the same question: it is heard once."""
        if self._waiting:
            every, given, flags, told = zip(*self._waiting, strict=True)
            rows = np.frombuffer(b"".join(every), dtype=np.int64)
            asked = np.frombuffer(b"".join(flags), dtype=bool).reshape(len(rows), -1)
            beside = _filled(given, every)
            at, xs = np.nonzero(asked)
            ends = np.minimum(xs, rows[at]), np.maximum(xs, rows[at])
            first = _first(*ends, beside, at, asked.shape[1])
            if self._listener.only_counts:
                self._listener.count += len(first)
            else:
                answers = np.frombuffer(b"".join(told)).reshape(asked.shape)
                known = partial(_given, answers[at, xs][first])
                questions = np.column_stack((*(end[first] for end in ends), beside[at[first]]))
                self._listener.by(known)(questions)
        self._waiting, self._cells = [], 0


def _filled(given: Sequence[bytes], ys: Sequence[bytes]) -> Indices:
    """What is given to each of these, all under each other and filled up with nobody."""
    pairs = [*zip(given, ys, strict=True)]
    widths = np.repeat([len(part) // len(own) for part, own in pairs], [len(y) // 8 for y in ys])
    out = np.full((len(widths), widths.max()), NOBODY, dtype=np.int64)
    out[np.arange(out.shape[1]) < widths[:, None]] = np.frombuffer(b"".join(given), dtype=np.int64)
    return out


def _first(xs: Indices, ys: Indices, given: Indices, at: Indices, size: int) -> Indices:
    """The places of questions that are not the same as an earlier one, narrow ones first; ``at``
    is where what is given to each stands."""
    base, width = size + 1, given.shape[1]
    if base ** (width + 2) < 1 << 63:  # each is a number
        sets = (given + 1) @ base ** np.arange(2, width + 2, dtype=np.int64)
        return np.asarray(np.unique(xs + base * ys + sets[at], return_index=True)[1])
    questions = np.column_stack((xs, ys, given[at]))
    order = np.lexsort(questions.T)
    fresh = np.diff(questions[order], axis=0, prepend=NOBODY - 1).any(axis=1)
    return np.asarray(order[fresh])


def _given(answers: Floats, _questions: Indices) -> Floats:
    return answers
