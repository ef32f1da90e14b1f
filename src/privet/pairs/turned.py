"""The probability that noise has turned an answer, from what was released and the noise's law.

``pairwise.flip`` has the formulas for Laplace noise, and says in which sense this is a
probability; sums of Gaussian noises are Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt

from privet.pairs import flip

Law = Callable[[float, float], float]


def by_one_noise(difference: float, deviation: float, mechanism: str) -> float:
    """A noise of this standard deviation on the difference of two scores."""
    return _turned(difference, deviation, mechanism, flip.flipped_difference, 1)


def by_two_noises(difference: float, deviation: float, mechanism: str) -> float:
    """A noise on either score."""
    return _turned(difference, deviation, mechanism, flip.flipped_scores, 2)


def by_four_noises(difference: float, deviation: float, mechanism: str) -> float:
    """A noise on each of four terms."""
    return _turned(difference, deviation, mechanism, flip.flipped_sums, 4)


def _turned(difference: float, deviation: float, mechanism: str, law: Law, noises: int) -> float:
    if deviation == 0:
        return 0.0
    if mechanism.startswith("Laplace"):
        return law(difference, deviation / sqrt(2))
    return normal(difference, deviation * sqrt(noises))


def within(difference: float, most: float) -> float:
    """The difference as evidence of the true one, which is ``most`` at most: what is beyond that is
    noise, and a noise that is larger than all true differences must not look like a sure answer."""
    return max(-most, min(difference, most))


def normal(difference: float, deviation: float) -> float:
    """P(a Gaussian noise of this deviation is above the difference)."""
    return erfc(abs(difference) / (deviation * sqrt(2))) / 2
