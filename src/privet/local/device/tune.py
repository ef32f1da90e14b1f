"""From one notion of privacy to another, for the channels of Binkyte et al. (2023), section 4.

They make channels comparable by an attacker's success, the probability of guessing the value right
with all values alike beforehand. Here every channel's other levels stand beside it, since channels
that are equal by one notion are far apart by another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.arrays import Floats
from privet.errors import MethodError
from privet.local.device import geometric
from privet.local.device.channel import Matrix, RandomizedResponse, check_epsilon, odds_below
from privet.local.device.exposure import epsilon_d, success
from privet.local.device.recipes import odds_for, probability
from privet.privacy.ledger.conversion import Number

PUBLISHED = "geometric, as published"
CLAMPED = "geometric, clamped"
ONE_RATE = "geometric, one rate"


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """One channel at the wanted level. ``epsilon_d`` is per unit of distance between values;
    ``rates`` the least and largest e_x of the published geometric channel."""

    channel: str
    success: float
    epsilon_ldp: float
    epsilon_d: float | None
    rates: tuple[float, float] | None


def tune(
    sizes: Sequence[int],
    *,
    success: Number | None = None,
    epsilon: Number | None = None,
    norm: float = 1,
    prior: Sequence[float] | None = None,
) -> tuple[Tuned, ...]:
    """The channels on a grid of these sizes at this success (all values alike), or epsilon: all
    but those that are ``left_out``.

    The success shown is for the prior, a probability per value, if one is given.
    """
    if (success is None) == (epsilon is None):
        raise MethodError(f"epsilon is {epsilon!r} and success is {success!r}; give one of the two")
    if any(size < 2 for size in sizes) or not sizes:
        raise MethodError(f"the levels are {list(sizes)}; give whole numbers from 2 on")
    beliefs = None if prior is None else _prior(math.prod(sizes), prior)
    if success is not None:
        return tuple(_at_success(tuple(sizes), probability(success), norm, beliefs))
    assert epsilon is not None
    return tuple(_at_epsilon(tuple(sizes), check_epsilon(epsilon), norm, beliefs))


def left_out(sizes: Sequence[int]) -> dict[str, str]:
    """The channels that are too large for these sizes, and why."""
    try:
        geometric.check_sizes(sizes)
    except MethodError as error:
        return dict.fromkeys((PUBLISHED, CLAMPED if len(sizes) == 1 else ONE_RATE), str(error))
    try:
        if len(sizes) == 1:
            geometric.check_clamped(sizes[0])
    except MethodError as error:
        return {CLAMPED: str(error)}
    return {}


def _prior(cells: int, given: Sequence[float]) -> Floats:
    found = np.array(given, dtype=float)
    if found.shape != (cells,) or not (found.min() >= 0 and abs(found.sum() - 1) < 1e-9):
        raise MethodError(f"a prior for these values is {cells} probabilities that sum to 1")
    return found


def _at_success(
    sizes: tuple[int, ...], wanted: Fraction, norm: float, prior: Floats | None
) -> Iterator[Tuned]:
    cells = math.prod(sizes)
    geometric.check_success(cells, wanted)
    yield _krr(RandomizedResponse(cells=cells, odds=odds_for(cells, wanted)), prior)
    large = left_out(sizes)
    if PUBLISHED not in large:
        yield _fixed(sizes, wanted, norm, prior)
    if large:
        return
    if len(sizes) == 1:
        # the success (1/k) ((k - 2) (1 - q) + 2) / (1 + q), solved for the odds 1/q of a step
        step = (cells * (1 + wanted) - 2) / (cells * (1 - wanted))
        yield _clamped(cells, step, prior)
    else:
        yield _one_rate(sizes, geometric.odds_for_success(sizes, wanted, norm), norm, prior)


def _at_epsilon(
    sizes: tuple[int, ...], wanted: Fraction, norm: float, prior: Floats | None
) -> Iterator[Tuned]:
    cells = math.prod(sizes)
    yield _krr(RandomizedResponse(cells=cells, odds=odds_below(wanted)), prior)
    large = left_out(sizes)
    if PUBLISHED not in large:
        yield _fixed(sizes, geometric.p_max_for(sizes, wanted, norm), norm, prior)
    if large:
        return
    if len(sizes) == 1:
        yield _clamped(cells, odds_below(wanted / (cells - 1)), prior)
    else:
        yield _one_rate(sizes, geometric.odds_for(sizes, wanted, norm), norm, prior)


def _krr(channel: RandomizedResponse, prior: Floats | None) -> Tuned:
    alike = float(channel.probability(0, 0))  # then the report is the best guess
    return Tuned(
        channel="randomised response",
        success=alike if prior is None else success(channel, prior),
        epsilon_ldp=channel.epsilon,
        epsilon_d=None,
        rates=None,
    )


def _fixed(sizes: tuple[int, ...], p_max: Fraction, norm: float, prior: Floats | None) -> Tuned:
    rates = geometric.rates(sizes, p_max, norm)
    return _geometric(PUBLISHED, geometric.fixed(sizes, p_max, norm), sizes, norm, prior, rates)


def _clamped(levels: int, step: Fraction, prior: Floats | None) -> Tuned:
    channel = geometric.clamped(levels, step)
    return _geometric(CLAMPED, channel, (levels,), 1, prior, None)


def _one_rate(sizes: tuple[int, ...], odds: Fraction, norm: float, prior: Floats | None) -> Tuned:
    channel = geometric.one_rate(sizes, odds, norm)
    return _geometric(ONE_RATE, channel, sizes, norm, prior, None)


def _geometric(
    name: str,
    channel: Matrix,
    sizes: tuple[int, ...],
    norm: float,
    prior: Floats | None,
    rates: tuple[float, float] | None,
) -> Tuned:
    if prior is None:
        prior = np.full(channel.inputs, 1 / channel.inputs)
    return Tuned(
        channel=name,
        success=success(channel, prior),
        epsilon_ldp=channel.epsilon,
        epsilon_d=epsilon_d(channel, sizes, norm),
        rates=rates,
    )
