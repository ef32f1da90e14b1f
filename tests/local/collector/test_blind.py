"""Numbers that all lie on one side of their public cut tell nothing: no edge, no verdict, no NaN.

a --> b; ``low`` lies below its cut for everybody, ``high`` above it. The public centre was a bad
guess, which happens to real data.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from privet.local import Randomizer, plan_protocol
from privet.local.collector.collect import collect
from privet.local.collector.correlations import LocalCorrelations
from privet.local.collector.partial_correlations import LocalNumberJudge
from privet.methods import catalogue
from privet.methods.options import make_settings
from privet.methods.sources import reports as local
from privet.privacy.queries.base import Release
from privet.schema.column import Column
from privet.schema.model import Schema

NAMES = ("a", "b", "low", "high")
SCHEMA = Schema(
    name="blind",
    columns=tuple(Column(name=n, kind="numeric", bounds=(-3.0, 3.0), cuts=(0.0,)) for n in NAMES),
)


@cache
def release(epsilon: float) -> Release:
    """900 people."""
    rng = np.random.default_rng(1)
    a = rng.standard_normal(900)
    b = 0.8 * a + 0.6 * rng.standard_normal(900)
    codes = np.stack([a >= 0, b >= 0, a >= 9, a < 9], axis=1).astype(np.int64)
    protocol = plan_protocol(SCHEMA, epsilon, "sign-block")
    ids = np.array([protocol.id] * len(codes), dtype=object)
    return collect({"protocol": ids, **Randomizer(protocol).report_codes(codes)}, protocol)


@pytest.mark.parametrize("epsilon", [20.0, 80.0])
def test_columns_on_one_side_are_left_alone(epsilon: float) -> None:
    """Reports at these levels are the truth but for one in 10 million, so nothing is by chance."""
    evidence = LocalCorrelations.from_release(release(epsilon))
    assert evidence.sure.tolist() == [True, True, False, False]
    assert np.isfinite(evidence.variances).all() and evidence.people_worth > 100
    for judge in (
        LocalNumberJudge(evidence, 0.2),
        LocalNumberJudge(evidence.stack(3, np.random.default_rng(2)), 0.2),
    ):
        pairs = judge.margins(np.array([[0, 1], [0, 2], [2, 3]]))
        assert (pairs[..., 0] > 0).all() and (pairs[..., 1:] < 0).all()
        assert np.isposinf(judge.margins(np.array([[0, 1, 2], [0, 1, 3]]))).all()
    found = catalogue.get("local-pc").search(SCHEMA, (release(epsilon),), make_settings(seed=1))
    assert found.graph.skeleton() == {frozenset("ab")}
    assert any("'low', 'high'" in note for note in found.notes)


def test_slopes_are_bounded_where_cuts_contradict_each_other() -> None:
    """The noise of reports may say what no correlation explains; then there is no evidence, where
    rounding would make a certainty of it."""
    from privet.local.collector.correlations import tetrachoric

    single = np.array([0.97, -0.97])
    pair = np.array([[1.0, -0.99], [-0.99, 1.0]])
    for sign in (1, -1):
        r, slope, side = tetrachoric(single, sign * pair)
        assert np.abs(r[0, 1]) <= 1 and 1 < slope.max() <= 25_000
        assert np.isfinite(side).all()


def test_signs_of_pairs_say_what_they_rest_on() -> None:
    protocol = plan_protocol(SCHEMA, 1, "sign-bit")
    codes = np.random.default_rng(3).integers(0, 2, (2000, 4))
    ids = np.array([protocol.id] * len(codes), dtype=object)
    made = collect({"protocol": ids, **Randomizer(protocol).report_codes(codes)}, protocol)
    notes = local.notes(local.evidence_of((made,)), make_settings())
    assert any("medians" in note for note in notes)
