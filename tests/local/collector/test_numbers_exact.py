"""Means that reports of numbers estimate are right on average: exactly, from the reports of very
many people in the numbers that are expected, for every protocol of numbers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from privet.local import Protocol, plan_protocol
from privet.local.collector.correlations import LocalCorrelations, tetrachoric
from privet.local.collector.counts import LeftOut, Reported, Tally, as_release
from privet.local.device.blocks import GRID, HALF, make
from privet.local.device.channel import RandomizedResponse
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.asked import asked
from tests.helpers.reports import Floats, shares, shown

MANY = 1 << 40


def numbers() -> Schema:
    columns = (Column(name=f"x{i}", kind="numeric", bounds=(-3.0, 3.0)) for i in range(3))
    return Schema(name="numbers", columns=tuple(columns))


def tallies_of(protocol: Protocol, laws: list[tuple[tuple[int, ...], Floats]]) -> list[Tally]:
    out = []
    for (attributes, law), share in zip(laws, shares(protocol), strict=True):
        key, cell = np.divmod(np.arange(law.size), law.shape[1])
        people = np.rint(MANY * share * law.ravel()).astype(np.int64)
        out.append(Tally(attributes=attributes, key=key, cell=cell, people=people))
    return out


def sides() -> Floats:
    """Of three columns: on which side of its centre each lies."""
    return np.random.default_rng(4).dirichlet(np.full(8, 8.0)).reshape(2, 2, 2)


def signs_of(joint: Floats) -> tuple[Floats, Floats]:
    """Means of the signs (+ above) and of their products."""
    points = np.array(list(np.ndindex(2, 2, 2)))
    sign, weight = 2.0 * points - 1, joint.ravel()
    return weight @ sign, (sign * weight[:, None]).T @ sign


@pytest.mark.parametrize(("name", "epsilon"), [("sign-bit", 1), ("sign-block", 2)])
def test_means_of_signs_are_right_on_average(name: str, epsilon: float) -> None:
    protocol = plan_protocol(numbers(), epsilon, name)
    joint = sides()
    release = as_release(protocol, tallies_of(protocol, shown(protocol, joint)), LeftOut(), 2)
    single, pair = signs_of(joint)
    tables = asked(release, Reported).tables(release.values)
    for i, j in combinations(range(3), 2):
        centred = 4 * tables[i, j][1, 1]
        # without the margins a pair's table is that of the product of its signs
        assert centred == pytest.approx(pair[i, j], abs=1e-6)
    found = LocalCorrelations.from_release(release).correlation
    margins = single if name == "sign-block" else np.zeros(3)
    known = tetrachoric(margins, pair)[0]
    above = np.triu_indices(3, 1)
    assert found[above] == pytest.approx(known[above], abs=1e-5)


def some_products(protocol: Protocol) -> tuple[Floats, list[tuple[tuple[int, ...], Floats]]]:
    """Some rows on the grid with shares; the laws of the reports that they lead to."""
    rng = np.random.default_rng(5)
    rows, weight = rng.integers(0, GRID, (40, 3)), rng.dirichlet(np.ones(40))
    laws = []
    for block in protocol.blocks:
        mine = rows[:, list(block.attributes)]
        keys = np.zeros(40, dtype=np.int64)
        truth = make("product", protocol.sizes_of(block), mine, keys, block.power)
        law = weight @ protocol.channel(block).matrix()[truth]
        laws.append((block.attributes, law[None]))
    return np.column_stack([weight, rows]), laws


def estimates(protocol: Protocol, laws: list[Any]) -> list[float]:
    """The mean of what is made of the answers to each block, in units of the grid's half."""
    release = as_release(protocol, tallies_of(protocol, laws), LeftOut(), 2)
    sums = release.values.reshape(-1, 2)[:, 0] / np.array(asked(release, Reported).people)
    left = [float(protocol.channel(block).attenuation) for block in protocol.blocks]
    return [float(total / (2 * HALF * a)) for total, a in zip(sums, left, strict=True)]


@pytest.mark.parametrize("epsilon", [0.5, 4])
def test_means_of_products_are_right_on_average(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the rounding of a product to the grid, half a step; a wrong attenuation is seen."""
    protocol = plan_protocol(numbers(), epsilon, "piecewise")
    people, laws = some_products(protocol)
    weight, rows = people[:, 0], (people[:, 1:] - HALF) / HALF
    known = []
    for block in protocol.blocks:
        product = np.prod([rows[:, i] ** block.power for i in block.attributes], axis=0)
        known.append(float(weight @ (np.floor(product * HALF + 0.5) / HALF)))
        assert known[-1] == pytest.approx(weight @ product, abs=0.5 / HALF)
    assert estimates(protocol, laws) == pytest.approx(known, abs=1e-5)
    once = RandomizedResponse.attenuation.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(RandomizedResponse, "attenuation", property(lambda c: once(c) ** 2))
    assert estimates(protocol, laws) != pytest.approx(known, abs=1e-2)
