"""Who asks the rows on a method's behalf, whoever holds them.

A method spends shares of a budget that it never sees: one vault, a part of a run, a sample of the
rows or many vaults look the same to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from privet.privacy.queries.base import Conditional, Query, Release
from privet.schema.cuts import Cuts
from privet.schema.model import Schema


class Curator(Protocol):
    @property
    def schema(self) -> Schema: ...

    @property
    def private(self) -> bool:
        """Whether answers have noise. If not, all are exact and shares mean nothing."""

    @property
    def pure(self) -> bool:
        """Whether the budget is pure epsilon, so that noise must be Laplace's."""

    @property
    def left(self) -> Fraction:
        """The share of the budget that is not spent yet."""

    def release(self, query: Query, share: Fraction) -> Release:
        """The answer, for this share of the whole budget (exact if nothing is private)."""

    def releases(self, asked: Sequence[tuple[Query, Fraction]]) -> tuple[Release, ...]:
        """The answers to several queries, each for its share, that wait for none of each other."""

    def laplace(self, query: Query, share: Fraction) -> Release:
        """The answer with Laplace noise, whatever the currency."""

    def tested(self, question: Conditional, share: Fraction) -> tuple[Release, Release | None]:
        """A noisy distance and, if it is large enough, the answer."""

    def safe_distance(self, share: Fraction, deviations: float) -> int:
        """How far beyond the bar a distance must lie for ``tested`` to pass, but for noise of so
        many scales."""

    def select(self, query: Query, share: Fraction) -> int:
        """The place of a (noisily) largest answer."""

    def sieve(
        self, queries: Iterable[Query], share: Fraction, *, positives: int, threshold: int
    ) -> Iterator[bool]:
        """Which answers are (noisily) above a threshold, until so many were."""

    def exact(self, query: Query) -> Release:
        """The answer itself; refused when the run is private."""

    def sharpness(self, share: Fraction) -> float:
        """The sensitivity over the scale of the noise, for an answer at this share."""

    def selection_epsilon(self, share: Fraction) -> float:
        """The epsilon of a selection at this share."""

    def variance(self, query: Query, share: Fraction) -> float:
        """Of the noise on each number that ``release`` would give, nearly; 0 without privacy."""

    def cut(self, cuts: Cuts) -> Curator:
        """The same table, from now on with free columns cut at these places: its schema is another,
        and what tables and components are asked for are those of merged bins."""

    def sample(self, rate: float) -> Curator:
        """The same table, from now on seen through a secret sample of about this share of rows."""
