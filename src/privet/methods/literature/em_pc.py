"""em-pc: selections in the place of tests, column by column and order by order.

PrivPC of Xu, Yuan, Wu 2017 with scores whose reach is proved. For a column and a number of given
ones, the vault says (noisily) how many of its neighbours go, and then, one after another, which
goes and what separates it. So a test that keeps an edge costs nothing by itself.

A score is how far a statistic of dependence lies below its critical value, which comes from noisy
margins that are bought first; to it is added what the noise of the selection may take away. With
``statistic='distance'`` it is the number of records to another decision of a G² test.

Privacy. Margins are one release, and every choice is one selection by the exponential mechanism,
on scores that one person moves by at most their reach (``proofs/em-pc.md``). What is asked next,
and at what price, follows from earlier answers and public facts; prices are shares of what is
left, so they never add up to more, and the ledger's filter holds besides (``proofs/filter.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import log
from typing import Protocol

from privet.errors import MethodError
from privet.methods.literature import separations, sequential
from privet.methods.literature.as_published import em_pc as published
from privet.methods.literature.critical_values import Margins
from privet.methods.literature.decisions import as_release
from privet.methods.literature.sequential import Bars
from privet.methods.literature.walk import Places, Walk
from privet.methods.method import Method, Published
from privet.methods.options import Settings
from privet.privacy.queries.base import Query, Release
from privet.privacy.queries.dependence import STATISTICS, Removals
from privet.privacy.queries.distance import (
    MOST_STRATA,
    RADIUS,
    Distances,
    DistantRemovals,
    bound,
)
from privet.privacy.queries.tables import Tables
from privet.schema.model import Schema
from privet.search.constraints import Constraints
from privet.trust.curator import Curator

MARGINS = Fraction(1, 16)
# With more questions left about one column, neighbours are too many to look for separators.
MOST_QUESTIONS = 1 << 12
FINEST = 1 << 24  # prices are whole parts of this

Groups = Sequence[Sequence[Places]]  # for each neighbour the questions that may separate it


def check(schema: Schema, settings: Settings) -> None:
    statistic = _statistic(settings)
    if statistic not in (*STATISTICS, "distance"):
        raise MethodError(
            f"⟦statistic⟧ is {statistic!r}; choose one of {', '.join(STATISTICS)}, distance"
        )
    if statistic != "distance":
        sequential.check(schema, replace(settings, statistic=statistic))
        return
    sequential.check(schema, replace(settings, statistic="g2"))
    for column in schema.columns:
        if column.cardinality != 2:
            raise MethodError(
                f"⟦statistic='distance'⟧ serves columns of two levels, but {column.name!r} has "
                f"{column.cardinality}; merge its levels, or use ⟦statistic='t1'⟧"
            )
    if 2**settings.order > MOST_STRATA:
        raise MethodError(
            f"⟦max_order⟧ is {settings.order}, which makes {2**settings.order} strata; "
            f"⟦statistic='distance'⟧ serves up to {MOST_STRATA}; use a smaller "
            "⟦max_order⟧, or ⟦statistic='t1'⟧"
        )


def usual_level(columns: int) -> float:
    """The level of a test if none is asked for [found on random networks]."""
    return 1 / columns**2


def measure(curator: Curator, settings: Settings) -> tuple[Release, ...]:
    statistic = _statistic(settings)
    if not curator.private:
        plain = "g2" if statistic == "distance" else statistic
        return sequential.exactly(curator, replace(settings, statistic=plain))
    schema = curator.schema
    alpha = settings.alpha or usual_level(len(schema.columns))
    releases: tuple[Release, ...] = ()
    scores: Scores = ByDistance(schema, alpha)
    if statistic != "distance":
        settings.on_step("measuring the margins", 0.0)
        singles = Tables(tuple((name,) for name in schema.names))
        releases = (curator.release(singles, MARGINS),)
        margins = Margins.of(releases[0], schema)
        bars = Bars(schema=schema, statistic=statistic, margins=margins, alpha=alpha)
        scores = ByStatistic(bars)
    calls = _Calls(
        curator=curator,
        settings=settings,
        scores=scores,
        walk=Walk(Constraints.of(schema.names, schema.knowledge), settings.order),
        allowed=settings.cap or len(schema.names) * (settings.order + 1),
    )
    for order in range(settings.order + 1):
        for x in range(len(schema.names)):
            calls.make(x, order)
    walk = calls.walk
    return *releases, as_release(walk.separations, walk.tests, f"selections by {statistic}")


class Scores(Protocol):
    """Questions about scores, which are positive where columns look independent."""

    @property
    def reach(self) -> int:
        """How far one person moves a score."""

    def removals(self, groups: Groups, more: int) -> Query:
        """How well it fits to remove 0, 1, … neighbours, ``more`` added to each score."""

    def picks(self, questions: Sequence[Places]) -> Query:
        """The score of each question."""


@dataclass(frozen=True)
class ByStatistic:
    bars: Bars

    @property
    def reach(self) -> int:
        return self.bars.reach

    def removals(self, groups: Groups, more: int) -> Query:
        asked = [self.bars.query(group) for group in groups]
        return Removals(
            self.bars.statistic,
            tuple(query.questions for query in asked),
            tuple(tuple(bar + more for bar in query.offsets) for query in asked),
        )

    def picks(self, questions: Sequence[Places]) -> Query:
        return self.bars.query(questions)


@dataclass(frozen=True)
class ByDistance:
    schema: Schema
    alpha: float

    @property
    def reach(self) -> int:
        return bound(self.schema)

    def removals(self, groups: Groups, more: int) -> Query:
        more = min(more, RADIUS)  # half of the largest, or no sign would be left
        return DistantRemovals(tuple(map(self._named, groups)), self.alpha, more)

    def picks(self, questions: Sequence[Places]) -> Query:
        return Distances(self._named(questions), self.alpha)

    def _named(self, questions: Sequence[Places]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(self.schema.names[i] for i in question) for question in questions)


@dataclass(kw_only=True)
class _Calls:
    """The calls of a run; ``allowed`` is how many may still follow."""

    curator: Curator
    settings: Settings
    scores: Scores
    walk: Walk
    allowed: int

    def make(self, x: int, order: int) -> None:
        """Take away those neighbours of x that given columns of this number separate. Earlier
        columns have had their turn, for their separators are looked for on both sides."""
        groups = [
            [(x, y, *given) for given in self.walk.separators(x, y, order)]
            for first, y in self.walk.edges()
            if first == x
        ]
        groups = [group for group in groups if group]
        price = self._price(x, order)
        if not groups or not self.allowed or not price or sum(map(len, groups)) > MOST_QUESTIONS:
            return
        self.allowed -= 1
        self.walk.tests += sum(map(len, groups))
        self.settings.on_step("selecting", 1 - float(self.curator.left))
        count = self.curator.select(self.scores.removals(groups, self._doubt(price)), price)
        if order == 0 and count == len(groups):  # nothing is left to choose
            for ((_, y),) in groups:
                self.walk.separate(x, y)
            return
        for _ in range(count):
            questions = list(chain.from_iterable(groups))
            price = self._price(x, order)
            if not price:
                return
            _, y, *given = questions[self.curator.select(self.scores.picks(questions), price)]
            self.walk.separate(x, y, *given)
            groups = [group for group in groups if group[0][1] != y]

    def _price(self, x: int, order: int) -> Fraction:
        """Of the next selection: what is left, shared among those that are to be expected. Each
        column with enough neighbours has a call to come in each order; and about as many edges
        will stay as there are columns, so the others take a selection each."""
        degree = self.walk.adjacent.sum(axis=1)
        calls = int((degree[x:] > order).sum()) + sum(
            int((degree > later).sum()) for later in range(order + 1, self.settings.order + 1)
        )
        picks = max(1, int(degree.sum()) // 2 - len(degree))
        expected = max(1, min(calls, self.allowed)) + picks
        return Fraction(int(self.curator.left * FINEST / expected), FINEST)

    def _doubt(self, price: Fraction) -> int:
        """Added to a score, so that an independent pair is not kept because of noise alone; more
        for more columns [found on random networks]."""
        epsilon = self.curator.selection_epsilon(price)
        return round(self.scores.reach / epsilon * log(len(self.curator.schema.names)))


def _statistic(settings: Settings) -> str:
    return "t1" if settings.statistic == "auto" else settings.statistic


METHODS = (
    Method(
        name="em-pc",
        summary="which edges go is selected by the exponential mechanism, column by column",
        kinds=frozenset({"categorical", "ordinal", "numeric"}),
        private=True,
        needs_delta=False,
        accounting="zcdp",
        cite="PrivPC of Xu, Yuan, Wu 2017; McSherry, Talwar 2007",
        evidence="decisions",
        check=check,
        measure=measure,
        search=separations.search,
        alpha=usual_level,
        uses=frozenset({"statistic", "cap"}),
        published=Published(measure=published.measure, why=published.WHY),
    ),
)
