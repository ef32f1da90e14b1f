"""How likely it is that noise alone has turned an answer, from what was released and its law.

``gap`` is the difference of two scores without noise, ``scale`` that of the Laplace noise; the
first functions give the probability that the noise makes the smaller one the larger. The gap
without noise is secret. With the gap that came out in its place the same number has a meaning of
its own: noise is symmetric, so if all true gaps are equally plausible beforehand, it is the
probability that the true one has the other sign. All of these are about the noise only; whether
the true scores point the right way is another matter. Sums of Gaussian noises are Gaussian.
"""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, exp, sqrt

from privet.errors import MethodError

Law = Callable[[float, float], float]


def flipped_difference(gap: float, scale: float) -> float:
    """One noise, on the difference: P(Laplace > gap)."""
    gap = _checked(gap, scale)
    return exp(-gap / scale) / 2


def flipped_scores(gap: float, scale: float) -> float:
    """A noise on each of two scores: Theorem 2 of Kusner et al. 2016."""
    t = _checked(gap, scale) / scale
    return exp(-t) * (2 + t) / 4


def flipped_sums(gap: float, scale: float) -> float:
    """A noise on each of four terms, two on either side: Theorem 4 of Kusner et al. 2016, with
    exp(-gap / scale) where they print exp(-scale / gap)."""
    t = _checked(gap, scale) / scale
    return exp(-t) * (48 + t * (33 + t * (9 + t))) / 96


def _checked(gap: float, scale: float) -> float:
    if not scale > 0:
        raise MethodError(f"the scale of noise is {scale!r}, but it must be above 0")
    return abs(gap)


def by_one_noise(difference: float, deviation: float, mechanism: str) -> float:
    """A noise of this standard deviation on the difference of two scores."""
    return _turned(difference, deviation, mechanism, flipped_difference, 1)


def by_two_noises(difference: float, deviation: float, mechanism: str) -> float:
    """A noise on either score."""
    return _turned(difference, deviation, mechanism, flipped_scores, 2)


def by_four_noises(difference: float, deviation: float, mechanism: str) -> float:
    """A noise on each of four terms."""
    return _turned(difference, deviation, mechanism, flipped_sums, 4)


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
