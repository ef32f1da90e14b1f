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

from privet.accounting import Number
from privet.errors import MethodError
from privet.local import geometric
from privet.local.channel import Matrix, RandomizedResponse, check_epsilon, odds_below
from privet.local.levels import epsilon_d, success
from privet.local.recipes import odds_for, probability


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
    """Every channel on a grid of these sizes at this success (all values alike), or epsilon.

    The success shown is for the prior, a probability per value, if one is given.
    """
    if (success is None) == (epsilon is None):
        raise MethodError(f"epsilon is {epsilon!r} and success is {success!r}; give one of the two")
    if any(size < 2 for size in sizes) or not sizes:
        raise MethodError(f"the levels are {list(sizes)}; give whole numbers from 2 on")
    beliefs = _prior(math.prod(sizes), prior)
    if success is not None:
        return tuple(_at_success(tuple(sizes), probability(success), norm, beliefs))
    assert epsilon is not None
    return tuple(_at_epsilon(tuple(sizes), check_epsilon(epsilon), norm, beliefs))


def _prior(cells: int, given: Sequence[float] | None) -> np.ndarray:
    geometric.check_sizes((cells,))
    found = np.full(cells, 1 / cells) if given is None else np.array(given, dtype=float)
    if found.shape != (cells,) or not (found.min() >= 0 and abs(found.sum() - 1) < 1e-9):
        raise MethodError(f"a prior for these values is {cells} probabilities that sum to 1")
    return found


def _at_success(
    sizes: tuple[int, ...], wanted: Fraction, norm: float, prior: np.ndarray
) -> Iterator[Tuned]:
    cells = math.prod(sizes)
    geometric.check_success(cells, wanted)
    yield _krr(RandomizedResponse(cells=cells, odds=odds_for(cells, wanted)), prior)
    yield _fixed(sizes, wanted, norm, prior)
    if len(sizes) == 1:
        # the success (1/k) ((k - 2) (1 - q) + 2) / (1 + q), solved for the odds 1/q of a step
        step = (cells * (1 + wanted) - 2) / (cells * (1 - wanted))
        yield _clamped(cells, step, prior)
    else:
        yield _one_rate(sizes, geometric.odds_for_success(sizes, wanted, norm), norm, prior)


def _at_epsilon(
    sizes: tuple[int, ...], wanted: Fraction, norm: float, prior: np.ndarray
) -> Iterator[Tuned]:
    cells = math.prod(sizes)
    yield _krr(RandomizedResponse(cells=cells, odds=odds_below(wanted)), prior)
    yield _fixed(sizes, geometric.p_max_for(sizes, wanted, norm), norm, prior)
    if len(sizes) == 1:
        yield _clamped(cells, odds_below(wanted / (cells - 1)), prior)
    else:
        yield _one_rate(sizes, geometric.odds_for(sizes, wanted, norm), norm, prior)


def _krr(channel: RandomizedResponse, prior: np.ndarray) -> Tuned:
    return Tuned(
        channel="randomised response", success=success(channel, prior),
        epsilon_ldp=channel.epsilon, epsilon_d=None, rates=None,
    )  # fmt: skip


def _fixed(sizes: tuple[int, ...], p_max: Fraction, norm: float, prior: np.ndarray) -> Tuned:
    rates = geometric.rates(sizes, p_max, norm)
    return _geometric("geometric, as published", geometric.fixed(sizes, p_max, norm), sizes, norm,
                      prior, rates)  # fmt: skip


def _clamped(levels: int, step: Fraction, prior: np.ndarray) -> Tuned:
    channel = geometric.clamped(levels, step)
    return _geometric("geometric, clamped", channel, (levels,), 1, prior, None)


def _one_rate(sizes: tuple[int, ...], odds: Fraction, norm: float, prior: np.ndarray) -> Tuned:
    channel = geometric.one_rate(sizes, odds, norm)
    return _geometric("geometric, one rate", channel, sizes, norm, prior, None)


def _geometric(
    name: str, channel: Matrix, sizes: tuple[int, ...], norm: float, prior: np.ndarray,
    rates: tuple[float, float] | None,
) -> Tuned:  # fmt: skip
    return Tuned(
        channel=name, success=success(channel, prior), epsilon_ldp=channel.epsilon,
        epsilon_d=epsilon_d(channel, sizes, norm), rates=rates,
    )  # fmt: skip
