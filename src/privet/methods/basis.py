"""What a search stands on: a judge of independences and a score of families, from evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from privet.errors import MethodError
from privet.evidence.exact_tables import CountedTables
from privet.evidence.moments import MomentEvidence
from privet.evidence.replicas import table_replicas
from privet.evidence.tables import TableEvidence
from privet.independence.exact_tables import CountedJudge
from privet.independence.fisher_z import MomentJudge
from privet.independence.tables import TableJudge
from privet.methods.method import Settings
from privet.methods.sources.tables import needs_counts
from privet.privacy.queries.tables import Release
from privet.schema.model import Schema
from privet.scores import gaussian
from privet.scores import tables as exact_tables
from privet.scores.families import Families
from privet.scores.noisy_tables import NoisyTables
from privet.search.constraints import Constraints
from privet.search.potential import potential
from privet.search.protocols import Bools, Floats, Gains, Indices, Judge, Locals
from privet.search.stability import DOUBT
from privet.search.weighed_pc import skeleton

Question = tuple[int, ...]
Answer = Callable[[Indices], Floats]

# The scores that each kind of evidence serves; the first is the one of "auto".
SCORES: dict[str, tuple[str, ...]] = {
    "tables": (),
    "moments": ("bic", "bge"),
    "counts": ("bic", "bdeu"),
}
NEEDS = {
    "bic": "exact tables or moments",
    "bdeu": "exact tables of categories (ges, mmhc, exact or mcmc with --no-privacy)",
    "bge": "moments of numeric columns (moment-ges, say)",
}


@dataclass(frozen=True, kw_only=True)
class Ground:
    """``local`` is None where noise is shared between families, so that there is no likelihood:
    then scores are made from tests, and hold among the edges that tests have found.

    ``replicas`` makes grounds that might have been measured instead; ``near`` are the pairs that
    a search on a replica need look at, since the others were dropped without doubt. ``moments``
    is there for searches that fit weights to a covariance."""

    judge: Judge
    gains: Gains
    local: Locals | None
    replicas: Callable[[int, np.random.Generator], Iterator[Ground]]
    heard: Heard
    near: Bools | None = None
    moments: MomentEvidence | None = None

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


def within(constraints: Constraints, pairs: Bools) -> Constraints:
    """The same knowledge, but only these pairs (and required ones) may be joined."""
    kept = pairs | constraints.required
    return replace(
        constraints, allowed=constraints.allowed & kept, possible=constraints.possible & kept
    )


def check_score(kind: str, settings: Settings) -> None:
    """Refuse a score that this kind of evidence cannot give."""
    served = ("auto", *SCORES[kind])
    if settings.score not in served:
        if settings.score not in NEEDS:
            raise MethodError(
                f"there is no score {settings.score!r}; choose auto, {', '.join(NEEDS)}"
            )
        raise MethodError(
            f"--score {settings.score} needs {NEEDS[settings.score]}, but this method has "
            f"{_what(kind)}; use {' or '.join(served)}"
        )
    if settings.penalty != 1 and _named(kind, settings) != "bic":
        raise MethodError(
            f"--penalty is {settings.penalty:g}, but only BIC has one, and this search uses "
            f"{_named(kind, settings)}; leave --penalty away"
            + (" and use --alpha, which keeps fewer edges when smaller" if kind == "tables" else "")
        )


def check_parents(schema: Schema, most: int | None) -> None:
    """Refuse a bound on parents that knowledge exceeds."""
    required = [effect for _, effect in schema.knowledge.required]
    for effect in sorted(set(required)):
        if most is not None and required.count(effect) > most:
            raise MethodError(
                f"knowledge requires {required.count(effect)} parents of {effect!r}, but at most "
                f"{most} are allowed; raise --max-parents, or require fewer"
            )


def _named(kind: str, settings: Settings) -> str:
    if settings.score != "auto":
        return settings.score
    return SCORES[kind][0] if SCORES[kind] else "Bayes factors of tests"


def _what(kind: str) -> str:
    return {"tables": "noisy interactions", "moments": "moments", "counts": "exact tables"}[kind]


class Heard:
    """Counts the questions asked, and remembers the lowest answer about each pair; ``found`` are
    the pairs that the search joined in the end."""

    def __init__(self) -> None:
        self.count = 0
        self.found: Bools | None = None
        self._lowest: dict[tuple[int, int], float] = {}

    def by(self, answer: Answer) -> Answer:
        """The same answers (of which negative ones speak against an edge), listened to."""

        def listening(questions: Indices) -> Floats:
            answers = answer(questions)
            self.count += len(questions)
            ends = np.sort(questions[:, :2], axis=1).tolist()
            for (x, y), value in zip(ends, answers.tolist(), strict=True):
                self._lowest[x, y] = min(value, self._lowest.get((x, y), value))
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
        if not self._lowest:
            return None
        near = ~np.eye(size, dtype=bool)
        for (x, y), value in self._lowest.items():
            near[x, y] = near[y, x] = value > DOUBT
        return near if self.found is None else near | self.found


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


@dataclass(frozen=True)
class _Voices:
    """A judge put together from its answers."""

    strengths: Callable[[], Floats]
    margins: Answer


def on_tables(
    schema: Schema,
    releases: tuple[Release, ...],
    settings: Settings,
    counted: CountedTables | None = None,
) -> Ground:
    """Interactions: Bayes factors that know the noise; with exact ones go tables, if any test
    has more columns given than interactions serve."""
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    return _tables(evidence, settings.level(len(schema.columns)), counted)


def _judge(
    evidence: TableEvidence,
    few: TableJudge,
    counted: CountedTables | None,
    rng: np.random.Generator | None = None,
) -> TableJudge | CountedJudge:
    return few if counted is None else CountedJudge(evidence, counted, few, rng)


def _tables(evidence: TableEvidence, alpha: float, counted: CountedTables | None) -> Ground:
    judge, heard = _judge(evidence, TableJudge(evidence, alpha), counted), Heard()
    margins = heard.by(judge.margins)

    def replicas(count: int, rng: np.random.Generator) -> Iterator[Ground]:
        near, stack = heard.near(len(evidence.names)), table_replicas(evidence, count, rng)
        own = None if counted is None else rng.spawn(1)[0]
        together = _judge(evidence, TableJudge(stack, alpha), counted, own)
        margins = Chorus(together.margins)
        strengths = together.strengths()
        for r in range(count):
            yield Ground(
                judge=_Voices(partial(strengths.__getitem__, r), margins.voice(r)),
                gains=NoisyTables(margins.voice(r)).gains,
                local=None,
                replicas=_no_replicas,
                heard=Heard(),
                near=near,
            )

    return Ground(
        judge=_Voices(judge.strengths, margins),
        gains=NoisyTables(margins).gains,
        local=None,
        replicas=replicas,
        heard=heard,
    )


def _no_replicas(_count: int, _rng: np.random.Generator) -> Iterator[Ground]:
    return iter(())


def on_moments(releases: tuple[Release, ...], settings: Settings) -> Ground:
    """Moments, noisy or exact: Gaussian scores of as many rows as would know as much."""
    return _moments(MomentEvidence.from_releases(releases), settings)


def _moments(evidence: MomentEvidence, settings: Settings) -> Ground:
    score = (
        gaussian.bge(evidence)
        if settings.score == "bge"
        else gaussian.gaussian_bic(evidence, settings.penalty)
    )

    heard = Heard()

    def replicas(count: int, rng: np.random.Generator) -> Iterator[Ground]:
        near, stack = heard.near(len(evidence.names)), evidence.replicas(count, rng)
        for r in range(count):
            yield replace(_moments(gaussian.replica(stack, r), settings), near=near)

    judge = MomentJudge(evidence, settings.level(len(evidence.names)))
    return replace(_heard(judge, score, heard, replicas), moments=evidence)


def _heard(
    judge: Judge,
    score: Families,
    heard: Heard,
    replicas: Callable[[int, np.random.Generator], Iterator[Ground]],
) -> Ground:
    return Ground(
        judge=_Voices(judge.strengths, heard.by(judge.margins)),
        gains=heard.by(score.gains),
        local=heard.scored(score.local),
        replicas=replicas,
        heard=heard,
    )


def on_counts(
    schema: Schema, releases: tuple[Release, ...], counted: CountedTables, settings: Settings
) -> Ground:
    """Exact tables of any columns, and exact interactions for the judge; no replicas."""
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    score: Families = (
        exact_tables.bdeu(counted)
        if settings.score == "bdeu"
        else exact_tables.bic(counted, settings.penalty)
    )
    few = TableJudge(evidence, settings.level(len(schema.columns)))
    judge = _judge(evidence, few, counted if needs_counts(settings) else None)
    return _heard(judge, score, Heard(), _no_replicas)
