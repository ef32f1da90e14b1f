"""Noise and selection, and their price. The only file that draws noise; it never sees a row.

Everything runs on OpenDP's exact samplers over 64-bit integers, so there is no floating-point
noise to attack (Mironov 2012): the discrete laws are sampled with big rationals, and OpenDP takes
the scale, a float, as the exact rational that it is. Scales are rounded up, so a price always
covers the noise. OpenDP saturates a sum of number and noise at 64 bits. That is post-processing of
the sum, but a false figure, and noise that was saturated before a number is added to it is no
noise at all. So scales above ``LARGEST_SCALE`` are refused, before anything is charged, and noise
that is drawn by itself (``_noise``) has no end. Selection has no scale that is too large: OpenDP
compares real numbers there. Older releases of OpenDP drew biased noise (its issue 2638), so the
lower bound on its version is part of the promise; tests/privacy/test_mechanisms.py holds every
law against its formula.

Each mechanism knows its price in every currency (``privacy.ledger.conversion.Currency``). The
proofs are in proofs/gaussian.md, gdp.md, laplace.md, selection.md and above-threshold.md.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from privet.arrays import Integers
from privet.errors import BudgetError, MethodError
from privet.privacy.laws import gaussian_variance, laplace_variance, smallest_root
from privet.privacy.ledger.conversion import Currency, float_up, price_of_pure

BLOCK = 10_000  # draws per thread; OpenDP takes about 10 microseconds for each
FIRST_BATCH = 2  # draws ahead of a sieve at first; each further batch is twice as large
# Noise of this scale reaches 2^62 with probability exp(-1024), less than 2^-1400; so a number of
# up to 2^62 and its noise stay within 64 bits (proofs/laplace.md, gaussian.md).
LARGEST_SCALE = 2.0**52
DISCRETE = Fraction(1, 10)  # of variance, for what whole numbers tell more than real ones
LEAST_SQUARE = Fraction(3, 5)  # of a scale, below which that is not proved to be enough
END = 2**63 - 1  # where OpenDP's integers end
SMALLEST_SHARE = 4  # of a share of noise


@dataclass(frozen=True, kw_only=True)
class Gaussian:
    """Discrete Gaussian noise of scale s, with s^2 >= D^2 / (2 rho) + 1/10 and s^2 >= 3/5, where
    D is the L2 sensitivity.

    This is sqrt(2 rho)-GDP, which the noise would not be without the 1/10 (proofs/gdp.md), and
    rho-zCDP [Canonne, Kamath, Steinke 2020] (proofs/gaussian.md): one noise, one price.
    """

    rho: Fraction
    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_price("rho", self.rho)

    def cost(self, currency: Currency) -> Fraction:
        if currency == "pure":
            raise BudgetError(
                "Gaussian noise needs delta > 0, but this budget has delta = 0; "
                "give a delta such as 1e-6, or use a method with Laplace noise"
            )
        return Fraction(self.rho)

    def scale(self, l2_squared: int) -> float:
        _check_sensitivity(l2_squared)
        if l2_squared == 0:
            return 0.0
        square = l2_squared / (2 * Fraction(self.rho)) + DISCRETE
        return _bounded(smallest_root(max(square, LEAST_SQUARE)))

    def perturb(self, exact: Integers, l2_squared: int) -> tuple[Integers, float]:
        """The noisy integers, and the variance of each."""
        if l2_squared == 0:
            return exact.copy(), 0.0
        scale = self.scale(l2_squared)
        return _add_noise(_gaussian(scale), exact), gaussian_variance(scale)


@dataclass(frozen=True, kw_only=True)
class GaussianShare:
    """One site's share of Gaussian noise: ``honest`` of them add up to (nearly) discrete Gaussian
    noise with s^2 >= D^2 / (2 rho), and any further ones only add to it.

    Alone it is worth honest * rho, so it must be seen in a sum only; proofs/together.md.
    """

    rho: Fraction
    honest: int
    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_price("rho", self.rho)
        _check_price("the number of honest shares", Fraction(self.honest))

    def cost(self, currency: Currency) -> Fraction:
        return Gaussian(rho=self.rho).cost(currency)

    def scale(self, l2_squared: int) -> float:
        """Of one share; if it were smaller, the sum would be no Gaussian (proofs/together.md)."""
        _check_sensitivity(l2_squared)
        needed = l2_squared / (2 * Fraction(self.rho) * self.honest) + DISCRETE
        return _bounded(smallest_root(max(needed, Fraction(SMALLEST_SHARE**2))))

    def perturb(self, exact: Integers, l2_squared: int) -> tuple[Integers, float]:
        """The integers with a share of noise each, and the variance of one share."""
        scale = self.scale(l2_squared)
        return _add_noise(_gaussian(scale), exact), gaussian_variance(scale)


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Discrete Laplace noise of scale s >= D / epsilon, with D the L1 sensitivity.

    This is epsilon-DP [Ghosh, Roughgarden, Sundararajan 2009]; proofs/laplace.md.
    """

    epsilon: Fraction
    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_price("epsilon", self.epsilon)

    def cost(self, currency: Currency) -> Fraction:
        return price_of_pure(Fraction(self.epsilon), currency)

    def scale(self, l1: int) -> float:
        _check_sensitivity(l1)
        return _bounded(float_up(l1 / Fraction(self.epsilon)))

    def perturb(self, exact: Integers, l1: int) -> tuple[Integers, float]:
        """The noisy integers, and the variance of each."""
        if l1 == 0:
            return exact.copy(), 0.0
        scale = self.scale(l1)
        return _add_noise(_laplace(scale), exact), laplace_variance(scale)

    def unlikely(self, l1: int, delta: Fraction) -> int:
        """The least whole number that the noise reaches with probability ``delta`` at most.

        The noise reaches k >= 1 with probability q^k / (1 + q), q = exp(-1 / s).
        """
        if not 0 < delta < 1:
            raise BudgetError(
                f"a test of stability with delta {float(delta):g} was asked for, but it must lie "
                f"between 0 and 1; give a delta such as 1e-6"
            )
        if l1 == 0:
            return 1
        with localcontext() as context:
            context.prec = 60
            scale, probability = Decimal(self.scale(l1)), Decimal(delta.numerator)
            tail = (probability / delta.denominator).ln() + (1 + (-1 / scale).exp()).ln()
            exact = -tail * scale
            return max(int((exact + Decimal("1e-20")).to_integral_value(ROUND_CEILING)), 1)


@dataclass(frozen=True, kw_only=True)
class Select:
    """The exponential mechanism: index i with probability proportional to exp(score_i / s),
    s >= 2 D / epsilon, where one person moves each score by at most D.

    Sampled as the largest of score_i + Gumbel(s), which OpenDP compares digit by digit until the
    order is certain. It is epsilon-DP and has range bounded by epsilon [Durfee, Rogers 2019], so
    (epsilon^2 / 8)-zCDP [Cesar, Rogers 2021, Lemma 3.2], and costs a quarter of what epsilon-DP
    costs in GDP too; proofs/selection.md, gdp.md. OpenDP offers permute-and-flip too, which errs
    less at the same epsilon, but no better price than that of epsilon-DP is known for it.
    """

    epsilon: Fraction
    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_price("epsilon", self.epsilon)

    def cost(self, currency: Currency) -> Fraction:
        range_of = 1 if currency == "pure" else 2  # a range of 2 epsilon is what epsilon-DP has
        return price_of_pure(Fraction(self.epsilon) / range_of, currency)

    def scale(self, sensitivity: int) -> float:
        return float_up(2 * sensitivity / Fraction(self.epsilon))

    def pick(self, scores: Integers, sensitivity: int) -> int:
        _check_sensitivity(sensitivity)
        if scores.size == 0:
            raise MethodError("there is nothing to select from; ask for at least one candidate")
        return int(_noisy_max(self.scale(sensitivity))(_integers(scores)))


@dataclass(frozen=True, kw_only=True)
class AboveThreshold:
    """Which scores lie above a threshold, for as many questions as it takes to get
    ``positives`` times "yes"; "no" is free, and the silent tail is part of the price.

    Sparse vector in the form of Lyu, Su, Li 2017 (Algorithm 7): one draw of Laplace noise for the
    threshold, of scale D / e1, one for each score, of scale 2 c D / e2, with c positives,
    e1 + e2 = epsilon and e1 : e2 about 1 : (2c)^(2/3), which is best for accuracy. The run is
    epsilon-DP; proofs/above-threshold.md.
    """

    epsilon: Fraction
    positives: int = 1
    private: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_price("epsilon", self.epsilon)
        if self.positives < 1:
            raise BudgetError(f"positives is {self.positives}, but it must be 1 or more")

    def cost(self, currency: Currency) -> Fraction:
        return price_of_pure(Fraction(self.epsilon), currency)

    def scales(self, sensitivity: int) -> tuple[float, float]:
        """Of the threshold's noise and of each score's noise."""
        _check_sensitivity(sensitivity)
        share = Fraction(round(1024 / (1 + (2 * self.positives) ** (2 / 3))) or 1, 1024)
        for_threshold = self.epsilon * share
        for_scores = self.epsilon - for_threshold
        return (
            _bounded(float_up(sensitivity / for_threshold)),
            _bounded(float_up(2 * self.positives * sensitivity / for_scores)),
        )

    def start(self, threshold: int, sensitivity: int) -> Sieve:
        """Begin a run; the caller has paid for all of it."""
        for_threshold, for_scores = self.scales(sensitivity)
        (noise,) = _noise(for_threshold, 1)
        return Sieve(threshold + noise, for_scores, self.positives)


class Sieve:
    """A run of AboveThreshold. It keeps the noisy threshold, which must stay secret, and so must
    the noise that it has drawn ahead: a draw for many scores costs little more than for one."""

    __slots__ = ("_ahead", "_batch", "_left", "_process", "_scale", "_threshold")

    def __init__(self, threshold: int, scale: float, positives: int) -> None:
        self._threshold, self._scale, self._left = threshold, scale, positives
        self._ahead: list[int] = []
        self._batch, self._process = FIRST_BATCH, os.getpid()

    def __repr__(self) -> str:
        return "Sieve(exhausted)" if self.exhausted else "Sieve(running)"

    @property
    def exhausted(self) -> bool:
        return self._left == 0

    def above(self, score: int) -> bool:
        if self.exhausted:
            raise BudgetError(
                "this run has said yes as often as it was paid for; "
                "start another one, or pay for more positives"
            )
        if os.getpid() != self._process:
            raise BudgetError(
                "this sieve was begun in another process, and a copy of its noise would tell what "
                "it hides; begin one in this process"
            )
        answer = int(score) + self._noise() >= self._threshold
        self._left -= answer
        return answer

    def _noise(self) -> int:
        if not self._ahead:
            self._ahead = _noise(self._scale, self._batch)
            self._batch = min(2 * self._batch, BLOCK)
        return self._ahead.pop()


@dataclass(frozen=True, kw_only=True)
class Exact:
    """No noise, no price, no privacy: what ``--no-privacy`` runs on."""

    private: ClassVar[bool] = False

    def cost(self, currency: Currency) -> Fraction:
        return Fraction(0)

    def scale(self, sensitivity: int) -> float:
        return 0.0

    def perturb(self, exact: Integers, sensitivity: int = 0) -> tuple[Integers, float]:
        return exact.copy(), 0.0


def _check_price(name: str, value: Fraction) -> None:
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or value <= 0:
        raise BudgetError(
            f"{name} is {value!r}, but a price must be an exact fraction above 0; "
            f"write Fraction('0.1') instead of 0.1"
        )


def _check_sensitivity(value: int) -> None:
    if value < 0:
        raise MethodError(f"a sensitivity is {value}, but it must be 0 or more")


def _bounded(scale: float) -> float:
    """The scale, or a refusal. All scales pass here, and the vault asks before it charges."""
    if scale > LARGEST_SCALE:
        raise BudgetError(
            f"this budget is so small that its noise would have the scale {scale:.3g}, but a scale "
            f"must be at most 2^52 (4.5e15), so that noisy numbers fit 64 bits; give a larger "
            f"budget (epsilon), or ask fewer questions"
        )
    return scale


def _integers(values: Integers) -> Integers:
    if values.dtype.kind not in "iu":
        raise MethodError(f"noise is added to integers only, not to {values.dtype}; round first")
    return values.ravel().astype(np.int64, casting="safe")


def _add_noise(measurement: Any, exact: Integers) -> Integers:
    """``exact`` plus independent noise; long vectors are shared out among the processors."""
    values = _integers(exact)
    blocks = [values[i : i + BLOCK] for i in range(0, len(values), BLOCK)]
    if len(blocks) < 2:
        noisy = [measurement(block) for block in blocks]
    else:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            noisy = list(pool.map(measurement, blocks))
    flat = np.array([value for block in noisy for value in block], dtype=np.int64)
    return flat.reshape(exact.shape)


def _noise(scale: float, count: int) -> list[int]:
    """Laplace noise by itself, without an end: what lies at the end of 64 bits or beyond is drawn
    on from there, which the law, having no memory, allows (proofs/above-threshold.md)."""
    drawn = _laplace(scale)([0] * count)
    return [value if abs(value) < END else _beyond(value, scale) for value in drawn]


def _beyond(end: int, scale: float) -> int:
    size, more = END, END
    while not 0 <= more < END:
        (more,) = _laplace(scale)([0])
        size += max(more, 0)
    return size if end > 0 else -size


# OpenDP is loaded by the first draw, not by every import; its prelude would load pandas and more.


@lru_cache(maxsize=1)
def _vectors() -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))


@lru_cache(maxsize=256)
def _gaussian(scale: float) -> Any:
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return make_gaussian(_vectors(), l2_distance(T="f64"), scale=scale)


@lru_cache(maxsize=256)
def _laplace(scale: float) -> Any:
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    return make_laplace(_vectors(), l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=256)
def _noisy_max(scale: float) -> Any:
    """Gumbel noise is what OpenDP adds when the measure is zCDP; with the max divergence it would
    permute and flip."""
    from opendp.measurements import make_noisy_max
    from opendp.measures import zero_concentrated_divergence
    from opendp.metrics import linf_distance

    measure = zero_concentrated_divergence()
    return make_noisy_max(_vectors(), linf_distance(T="i64"), measure, scale=scale)
