"""What is known of the laws of noise: the variance that a scale gives, the scale that is enough."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=256)
def smallest_root(square: Fraction) -> float:
    """The smallest float s with s^2 >= square, decided in exact arithmetic."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    while root > 0 and Fraction(below := math.nextafter(root, 0)) ** 2 >= square:
        root = below
    return root


def gaussian_variance(scale: float) -> float:
    """Variance of the discrete Gaussian: scale^2 up to one part in 10^15 from scale 1.5 on,
    and summed below (at scale 1 it is 2 in 10^7 less, at 0.37 it is two thirds less)."""
    if scale >= 1.5:
        return scale * scale
    weights = [math.exp(-(k / scale) * (k / scale) / 2) for k in range(16)]
    return 2 * sum(k * k * w for k, w in enumerate(weights)) / (2 * sum(weights) - 1)


def laplace_variance(scale: float) -> float:
    """Variance of the discrete Laplace law: 2 q / (1 - q)^2 with q = exp(-1 / scale)."""
    q = math.exp(-1 / scale)
    return 2 * q / math.expm1(-1 / scale) ** 2
