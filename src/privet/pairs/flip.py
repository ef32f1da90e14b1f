"""How likely it is that noise alone has turned the order of two scores.

``gap`` is the difference of the scores without noise, ``scale`` that of the Laplace noise; each
function gives the probability that the noise makes the smaller one the larger. The gap without
noise is secret. With the gap that came out in its place the same number has a meaning of its own:
noise is symmetric, so if all true gaps are equally plausible beforehand, it is the probability
that the true one has the other sign. All of these are about the noise only; whether the true
scores point the right way is another matter.
"""

from __future__ import annotations

from math import exp

from privet.errors import MethodError


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
