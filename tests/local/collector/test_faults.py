"""Faults planted into estimates and laws: each is caught by the test that is there for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pytest

from privet.local.collector import counts as local_counts
from privet.local.collector.laws import BlockLaw, ParityLaw, inverse
from privet.local.device.blocks import codes_of
from privet.local.device.channel import RandomizedResponse
from tests.local.collector import test_evidence as checks
from tests.local.collector import test_sizes as sizes

Plant = Callable[[pytest.MonkeyPatch], None]

unbiased = checks.test_what_is_estimated_is_the_truth_on_average
covariance = checks.test_the_law_of_errors_is_the_true_one


def attenuation_squared(patch: pytest.MonkeyPatch) -> None:
    once = RandomizedResponse.attenuation.fget  # type: ignore[attr-defined]
    patch.setattr(RandomizedResponse, "attenuation", property(lambda self: once(self) ** 2))


def gain_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local_counts, "gain", lambda shape: 1.0)


def inverse_turned(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local_counts, "inverse", lambda matrix: inverse(matrix).T)


def centre_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local_counts, "centred", lambda table: table)


def cells_swapped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(local_counts, "codes_of", lambda cells, k: codes_of(cells, k[::-1])[:, ::-1])


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (attenuation_squared, "planned-block"),
        (attenuation_squared, "parity"),
        (gain_forgotten, "parity"),
        (inverse_turned, "geometric"),
        (inverse_turned, "geometric-combined"),
        (centre_forgotten, "one-pair"),
        (cells_swapped, "one-triple"),
        (cells_swapped, "component-wise"),
    ],
)
def test_a_wrong_estimate_is_caught(
    plant: Plant, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbiased(name, 3.0)
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        unbiased(name, 3.0)


def third_moment_forgotten(patch: pytest.MonkeyPatch) -> None:
    wrong = cached_property(
        lambda self: np.stack([self.people * self.left**q for q in (2, 2, 4)], axis=1)
    )
    wrong.__set_name__(BlockLaw, "_powers")
    patch.setattr(BlockLaw, "_powers", wrong)


def sampling_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("privet.local.collector.laws._outer", lambda means: 0 * means[:, :, None])


def people_squared(patch: pytest.MonkeyPatch) -> None:
    right = ParityLaw._asked
    patch.setattr(
        ParityLaw, "_asked", lambda self, sets: (right(self, sets)[0] ** 2, right(self, sets)[1])
    )


def channel_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("privet.local.collector.laws.inverse", lambda matrix: np.eye(len(matrix)))


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (third_moment_forgotten, "planned-block"),
        (sampling_forgotten, "parity"),
        (sampling_forgotten, "component-wise"),
        (people_squared, "parity"),
        (channel_forgotten, "geometric"),
        (channel_forgotten, "geometric-combined"),
    ],
)
def test_a_wrong_law_of_errors_is_caught(
    plant: Plant, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        covariance(name)


def test_a_wrong_divisor_is_caught_by_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variance divided by a quarter too many people: the level is no longer held."""
    right = BlockLaw.covariance
    monkeypatch.setattr(BlockLaw, "covariance", lambda *given: right(*given) / 1.25)
    with pytest.raises(AssertionError):
        sizes.test_the_level_is_held_where_shares_are_skewed("combined", 3, 200_000, {})
