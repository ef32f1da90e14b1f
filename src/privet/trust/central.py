"""The central trust model: one vault with all rows, asked on behalf of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, isqrt, sqrt
from typing import Any

from privet.errors import BudgetError
from privet.privacy.ledger.conversion import OF_PURE
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import AboveThreshold, Exact, Gaussian, Laplace, Select
from privet.privacy.queries.base import Conditional, Query, Release
from privet.privacy.queries.cut import Cut
from privet.privacy.vault import Vault
from privet.schema.cuts import Cuts, cut
from privet.schema.model import Schema

GRID = 1 << 64  # prices are rounded down to this part of one


@dataclass(frozen=True, kw_only=True)
class Central:
    """Asks the vault, paying with shares of one run's budget, or of a ``part`` of it. ``cuts`` are
    those of free columns, if they were chosen."""

    vault: Vault
    run: Run | None
    part: Fraction = Fraction(1)
    cuts: Cuts = ()

    @staticmethod
    def open(data: Any, schema: Schema, run: Run | None, part: Fraction = Fraction(1)) -> Central:
        return Central(vault=Vault(data, schema, run), run=run, part=part)

    @cached_property
    def schema(self) -> Schema:
        return cut(self.vault.schema, self.cuts)

    def cut(self, cuts: Cuts) -> Central:
        return replace(self, cuts=cuts)

    def _asked(self, query: Query) -> Query:
        return Cut(self.cuts, query) if self.cuts else query

    @property
    def private(self) -> bool:
        return self.run is not None

    @property
    def pure(self) -> bool:
        """Whether the budget is pure epsilon, so that noise must be Laplace's."""
        return self.run is not None and self.run.currency == "pure"

    def release(self, query: Query, share: Fraction) -> Release:
        """The answer, for this share of the whole budget (exact if nothing is private)."""
        if self.run is None:
            return self.exact(query)
        if self.pure:
            return self.vault.release(self._asked(query), Laplace(epsilon=self._budget * share))
        return self.vault.release(self._asked(query), Gaussian(rho=self._budget * share))

    def releases(self, asked: Sequence[tuple[Query, Fraction]]) -> tuple[Release, ...]:
        return tuple(self.release(query, share) for query, share in asked)

    def laplace(self, query: Query, share: Fraction) -> Release:
        """The answer with Laplace noise, whatever the currency."""
        return self.vault.release(self._asked(query), Laplace(epsilon=self._epsilon(share)))

    def tested(self, question: Conditional, share: Fraction) -> tuple[Release, Release | None]:
        """A noisy distance and, if it is large enough, the answer: half of the share is for
        either, and so much of what the run has for tests is the test's."""
        half = self._budget * share / 2
        mechanism = Laplace(epsilon=half) if self.pure else Gaussian(rho=half)
        test, delta = self._test(share)
        return self.vault.tested(question, test, mechanism, delta)

    def safe_distance(self, share: Fraction, deviations: float) -> int:
        test, delta = self._test(share)
        return test.unlikely(1, delta) + ceil(deviations * test.scale(1))

    def _test(self, share: Fraction) -> tuple[Laplace, Fraction]:
        """The noise and the delta of the test that ``tested`` makes for this share."""
        delta = self._paying().test_delta * self.part * share
        return Laplace(epsilon=self._epsilon(share / 2)), delta

    def select(self, query: Query, share: Fraction) -> int:
        """The place of a (noisily) largest answer."""
        return self.vault.select(query, Select(epsilon=self._epsilon(share, self._per_selection)))

    def sieve(
        self, queries: Iterable[Query], share: Fraction, *, positives: int, threshold: int
    ) -> Iterator[bool]:
        """Which answers are (noisily) above a threshold, until so many were."""
        mechanism = AboveThreshold(epsilon=self._epsilon(share), positives=positives)
        return self.vault.sieve(queries, mechanism, threshold)

    def exact(self, query: Query) -> Release:
        """The answer itself; the vault refuses this when the run is private."""
        return self.vault.release(self._asked(query), Exact())

    @property
    def left(self) -> Fraction:
        """The share of the budget that is not spent yet."""
        return 1 - self._paying().spent / self._budget

    def sharpness(self, share: Fraction) -> float:
        amount = float(self._budget * share)
        return amount if self.pure else sqrt(2 * amount)

    def selection_epsilon(self, share: Fraction) -> float:
        return float(self._epsilon(share, self._per_selection))

    def variance(self, query: Query, share: Fraction) -> float:
        if self.run is None:
            return 0.0
        amount = float(self._budget * share)
        if self.pure:
            return 2 * (query.l1(self.schema) / amount) ** 2
        return query.l2_squared(self.schema) / (2 * amount)

    def sample(self, rate: float) -> Central:
        from privet.trust.subsample import sample  # which makes a curator of this kind

        return sample(self, rate)

    @property
    def _budget(self) -> Fraction:
        """What shares are shares of."""
        return self._paying().budget * self.part

    @property
    def _per_selection(self) -> int:
        """The epsilon of a selection, for what epsilon 1 costs; its range is what a rho pays."""
        return 1 if self.pure else 2

    def _epsilon(self, share: Fraction, times: int = 1) -> Fraction:
        """The largest epsilon (on a fine grid), times a number, whose price is this share of the
        budget."""
        currency, amount = self._paying().currency, self._budget * share
        if currency == "pure":
            return amount
        square = amount / OF_PURE[currency] * (times * GRID) ** 2
        return Fraction(isqrt(square.numerator // square.denominator), GRID)

    def _paying(self) -> Run:
        if self.run is None:
            raise BudgetError(
                "noise was asked for without a budget; begin a run, or ask for exact answers"
            )
        return self.run
