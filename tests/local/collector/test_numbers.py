"""Tests on reports of numbers hold their level, and find what is there.

u --> x, u --> y, v by itself, all standard normal; cuts need not be medians. Sizes are measured on
1,000 collections of reports whose counts are drawn from their law.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from privet.local import Protocol, plan_protocol
from privet.local.collector import partial_correlations as ci
from privet.local.collector.correlations import LocalCorrelations
from privet.local.collector.counts import LeftOut, as_release
from privet.local.collector.partial_correlations import LocalNumberJudge
from privet.local.device.blocks import GRID, make
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.reports import Floats, shares, shown, sized, tallies

COLLECTIONS = 1_000
QUESTIONS = {0: [[1, 2], [1, 3]], 1: [[2, 3, 0]], 2: [[2, 3, 0, 1]]}
PATHS = np.array([0.0, 0.0, 0.7, -0.6])  # of u to itself (below), v, x and y


def numbers(cut: float = 0.0) -> Schema:
    columns = tuple(
        Column(name=name, kind="numeric", bounds=(-3.0, 3.0), cuts=(cut,)) for name in "uvxy"
    )
    return Schema(name="numbers", columns=columns)


def sides(cut: float) -> Floats:
    """The joint law of the sides of the cut, by adding up over a fine grid of u."""
    u = np.linspace(-8, 8, 4001)
    weight = np.exp(-(u**2) / 2)
    weight /= weight.sum()
    above = [(u >= cut).astype(float)]
    above += [ndtr((path * u - cut) / np.sqrt(1 - path**2)) for path in PATHS[1:]]
    both = [np.stack([1 - p, p]) for p in above]
    return np.asarray(np.einsum("n,an,bn,cn,dn->abcd", weight, *both))


def product_laws(protocol: Protocol, rng: np.random.Generator) -> list[Any]:
    """The laws of the reports on products, from two million people."""
    u, *errors = rng.standard_normal((4, 2_000_000))
    data = [u, *(p * u + np.sqrt(1 - p**2) * e for p, e in zip(PATHS[1:], errors, strict=True))]
    codes = [
        np.searchsorted(c.cuts, z, side="right")
        for c, z in zip(protocol.columns, data, strict=True)
    ]
    laws = []
    for block in protocol.blocks:
        mine = np.stack([codes[i] for i in block.attributes], axis=1)
        keys = np.zeros(len(u), dtype=np.int64)
        truth = make("product", protocol.sizes_of(block), mine, keys, block.power)
        share = np.bincount(truth, minlength=GRID) / len(u)
        laws.append((block.attributes, (share @ protocol.channel(block).matrix())[None]))
    return laws


@pytest.mark.parametrize(
    ("name", "epsilon", "cut"),
    [("sign-block", 2, 0.0), ("sign-block", 8, 0.5), ("sign-bit", 1, 0.0), ("piecewise", 4, 0.0)],
)
def test_the_level_is_held_on_numbers(name: str, epsilon: float, cut: float) -> None:
    protocol = plan_protocol(numbers(cut), epsilon, name)
    rng = np.random.default_rng(12)
    laws = product_laws(protocol, rng) if name == "piecewise" else shown(protocol, sides(cut))
    people = np.rint(50_000 * shares(protocol)).astype(int).tolist()
    p_values: dict[int, list[Floats]] = {order: [] for order in QUESTIONS}
    errors = []
    for _ in range(COLLECTIONS):
        release = as_release(protocol, tallies(laws, people, rng), LeftOut(), 2)
        evidence = LocalCorrelations.from_release(release)
        for order, questions in QUESTIONS.items():
            p_values[order].append(ci.tested(evidence, np.array(questions)).p_value)
        variance = evidence.covariance(np.array([[0, 2]]))[0, 0, 0]
        errors.append((evidence.correlation[0, 2] - PATHS[2]) / np.sqrt(variance))
    assert evidence.variances[0, 2] == pytest.approx(variance)
    for order, found in p_values.items():
        assert sized(np.concatenate(found)) == (True, True), order
    if name != "piecewise":  # clipping makes correlations a little smaller
        assert abs(np.mean(errors)) < 0.25 and 0.9 < np.std(errors) < 1.1


def test_numbers_that_are_joined_are_found() -> None:
    """In 60 collections; an absent edge is drawn in at most 1 of 10, so 20 come by chance less
    than once in a million."""
    protocol = plan_protocol(numbers(), 4, "sign-block")
    rng = np.random.default_rng(13)
    people = np.rint(50_000 * shares(protocol)).astype(int).tolist()
    laws = shown(protocol, sides(0.0))
    wrong = np.zeros(3, dtype=int)
    for _ in range(60):
        release = as_release(protocol, tallies(laws, people, rng), LeftOut(), 2)
        judge = LocalNumberJudge(LocalCorrelations.from_release(release), 0.2)
        assert judge.margins(np.array([[0, 2], [0, 3], [2, 3]])).min() > 0
        assert judge.margins(np.array([[0, 2, 3, 1]]))[0] > 0
        strength = judge.strengths()
        assert strength[0, 2] > strength[2, 3] > strength[1, 2]
        absent = ([[1, 2]], [[2, 3, 0]], [[2, 3, 0, 1]])
        wrong += [judge.margins(np.array(question))[0] > 0 for question in absent]
    assert (wrong < 20).all()
    replicas = LocalNumberJudge(judge.evidence.stack(5, rng), 0.2).margins(np.array([[0, 2, 1]]))
    assert replicas.shape == (5, 1) and len(set(replicas.ravel().tolist())) == 5
