"""Many vaults as one: a curator who sees the sum over all sites, and nothing else.

Every question is asked of all sites of a roster at once. Each adds its share of noise and its
masks; the sum has the noise that was paid for and no mask. One stage is one question, one roster:
numbers that speak of other sites than the rest are worth nothing, so when a site is lost, the
measurement begins anew with what is left of the budget (another ``attempt``).

How questions reach the sites is not known here: ``post`` brings the answers, or raises ``Waiting``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import sqrt
from typing import NoReturn

import numpy as np

from privet.errors import MethodError, StudyError
from privet.privacy.laws import gaussian_variance
from privet.privacy.mechanisms import GaussianShare
from privet.privacy.queries.base import Conditional, Query, Release
from privet.privacy.queries.cut import Cut
from privet.privacy.together.lock import Lock
from privet.privacy.together.wire import UNIT, Answer, Ask, Place, Question, Words
from privet.schema.cuts import Cuts, cut
from privet.schema.model import Schema

Post = Callable[[Ask], Sequence[Answer]]
NOTHING = 100  # one over the share of the budget with which no attempt is worth its noise
FAR = 1 << 62  # sums are far below; half of all garbage is above


class Waiting(StudyError):
    """A question that some sites have not answered yet."""

    def __init__(self, ask: Ask, missing: Sequence[str]) -> None:
        super().__init__(f"stage {ask.place.stage} waits for the answer of {', '.join(missing)}")
        self.ask, self.missing = ask, tuple(missing)


class Together:
    """A curator over a roster of sites. ``budget`` is that of this attempt, in units of 2^-64."""

    private, pure = True, False

    def __init__(self, lock: Lock, post: Post, *, place: Place) -> None:
        self.lock, self._post, self._place = lock, post, place
        self._stage, self._spent = 0, 0
        self._cuts: Cuts = ()
        self.answers: list[Answer] = []

    @property
    def schema(self) -> Schema:
        return cut(self.lock.schema, self._cuts)

    def cut(self, cuts: Cuts) -> Together:
        """All sites cut alike: the places are told by sums over all of them."""
        self._cuts = cuts
        return self

    @property
    def left(self) -> Fraction:
        return 1 - Fraction(self._spent, self._place.budget)

    def release(self, query: Query, share: Fraction) -> Release:
        return self.releases([(query, share)])[0]

    def releases(self, asked: Sequence[tuple[Query, Fraction]]) -> tuple[Release, ...]:
        """One stage: one message of each site."""
        self._stage += 1
        ask = Ask(
            place=Place(
                attempt=self._place.attempt,
                stage=self._stage,
                roster=self._place.roster,
                budget=self._place.budget,
            ),
            questions=tuple(
                Question(
                    query=Cut(self._cuts, query) if self._cuts else query,
                    price=int(share * self._place.budget),
                )
                for query, share in asked
            ),
        )
        answers = self._post(ask)
        sums = added(answers, ask, self.lock)
        self.answers += answers
        self._spent += sum(question.price for question in ask.questions)
        return tuple(self._released(ask, sums))

    def _released(self, ask: Ask, sums: Words) -> Iterator[Release]:
        start, schema = 0, self.lock.schema
        for question in ask.questions:
            query = question.query
            end = start + query.size(schema)
            share = self._share(question.rho)
            scale = share.scale(query.l2_squared(schema))
            yield Release(
                query=query,
                values=sums[start:end].astype(np.int64),
                variance=len(self._place.roster) * gaussian_variance(scale),
                mechanism=f"{len(self._place.roster)} shares of {share}",
            )
            start = end

    def _share(self, rho: Fraction) -> GaussianShare:
        return GaussianShare(rho=rho, honest=len(self._place.roster) - self.lock.tolerated)

    def sharpness(self, share: Fraction) -> float:
        return sqrt(2 * float(share * self._place.budget) / UNIT / self._louder)

    def variance(self, query: Query, share: Fraction) -> float:
        price = float(share * self._place.budget) / UNIT
        return self._louder * query.l2_squared(self.schema) / (2 * price)

    @property
    def _louder(self) -> float:
        """How much more noise than one vault with all rows would add, by variance."""
        sites = len(self._place.roster)
        return sites / (sites - self.lock.tolerated)

    # -- what a sum cannot say

    def laplace(self, query: Query, share: Fraction) -> NoReturn:
        self._refuse("Laplace noise")

    def tested(self, question: Conditional, share: Fraction) -> NoReturn:
        self._refuse("a tested answer")

    def safe_distance(self, share: Fraction, deviations: float) -> NoReturn:
        self._refuse("a tested answer")

    def select(self, query: Query, share: Fraction) -> NoReturn:
        self._refuse("a selection")

    def sieve(
        self, queries: Iterable[Query], share: Fraction, *, positives: int, threshold: int
    ) -> NoReturn:
        self._refuse("a sieve")

    def exact(self, query: Query) -> NoReturn:
        self._refuse("an exact answer")

    def selection_epsilon(self, share: Fraction) -> NoReturn:
        self._refuse("a selection")

    def sample(self, rate: float) -> NoReturn:
        self._refuse("a secret sample")

    def _refuse(self, what: str) -> NoReturn:
        raise MethodError(
            f"{self.lock.method} asks for {what}, which sites that add up cannot give; use "
            "interaction-pc, moment-pc or another method on tables or moments"
        )


def first_place(lock: Lock) -> Place:
    """Of the first attempt: all sites, the whole budget."""
    roster = tuple(site.name for site in lock.sites)
    return Place(attempt=1, stage=1, roster=roster, budget=lock.budget)


def next_place(lock: Lock, attempt: int, roster: tuple[str, ...], spent: int) -> Place:
    """Of a further attempt, with other sites and what earlier ones have left of the budget."""
    if len(roster) < lock.fewest:
        raise StudyError(
            f"{len(roster)} sites would be left, but the lock wants {lock.fewest}; a study with "
            "fewer needs a new lock"
        )
    if NOTHING * (lock.budget - spent) < lock.budget:
        raise StudyError(
            "nothing is left of the budget after what the sites have answered; another attempt "
            "needs a new study"
        )
    return Place(attempt=attempt, stage=1, roster=roster, budget=lock.budget - spent)


def added(answers: Sequence[Answer], ask: Ask, lock: Lock) -> Words:
    """The sum of one answer of each site of the roster, in which the masks have cancelled."""
    digest = ask.digest(lock.study, lock.tolerated)
    size = sum(question.query.size(lock.schema) for question in ask.questions)
    total = np.zeros(size, dtype=np.uint64)
    people: dict[str, str] = {}
    for answer in answers:
        if answer.digest != digest:
            raise StudyError(
                f"{answer.site!r} has answered another question than stage {ask.place.stage}; "
                "leave that file out, or ask the site anew"
            )
        if (other := people.setdefault(answer.people, answer.site)) != answer.site:
            raise StudyError(
                f"{other!r} and {answer.site!r} have the same people id, so the same people would "
                "be counted twice; begin a study with one of them"
            )
        try:
            total += answer.words()
        except ValueError:
            raise StudyError(
                f"the numbers of {answer.site!r} are damaged; ask that site to send them again"
            ) from None
    missing = sorted(set(ask.place.roster) - {answer.site for answer in answers})
    if missing or len(answers) != len(ask.place.roster):
        raise Waiting(ask, missing)
    if (np.abs(total.astype(np.int64)) > FAR).any():
        raise StudyError(
            "the answers do not add up: some site was asked something else, or has sent something "
            "else; nothing can be read from them. Ask all sites in a new attempt"
        )
    return total
