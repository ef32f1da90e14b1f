"""Reports that hardly depend on the answers: no overflow, no evidence from nothing, clear words."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from privet.errors import EvidenceError
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.collector.correlations import LocalCorrelations
from privet.local.collector.counts import LARGEST, LeftOut, Tally, as_release, largest_set
from privet.local.collector.independence import LocalJudge
from privet.local.collector.laws import inverse
from privet.local.collector.partial_correlations import LocalNumberJudge
from privet.local.collector.plan import plan_local
from privet.local.collector.tables import LocalEvidence
from privet.local.device.protocol import FAMILIES, NUMERIC
from privet.privacy.queries.base import from_document, to_document
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.reports import schema_of

SIZES = (2, 3, 2, 4)
TINY = (1e-3, 1e-6, 1e-9, 1e-12)


def schema_for(name: str) -> Schema:
    if name not in NUMERIC:
        return schema_of(SIZES)
    columns = (Column(name=f"x{i}", kind="numeric", bounds=(-1.0, 1.0)) for i in range(4))
    return Schema(name="numbers", columns=tuple(columns))


def tallies_of(protocol: Protocol, people: int) -> list[Tally]:
    """Everybody answers alike; reports by the device, each sent by many."""
    from privet.local.collector.tally import tallies_of

    made = Randomizer(protocol).report_codes(np.zeros((2000, 4), dtype=np.int64))
    scale = people // 2000
    return [
        Tally(attributes=h.attributes, key=h.key, cell=h.cell, people=h.people * scale)
        for h in tallies_of(protocol, made)
    ]


def judge_of(release: Any) -> LocalJudge | LocalNumberJudge:
    if release.query.protocol.name in NUMERIC:
        return LocalNumberJudge(LocalCorrelations.from_release(release), 0.2)
    return LocalJudge(LocalEvidence.from_release(release), 0.2)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("epsilon", TINY)
@pytest.mark.filterwarnings("error")
def test_a_tiny_epsilon_gives_no_edge_or_a_refusal(name: str, epsilon: float) -> None:
    """The smallest epsilon there can be, too; any warning of an overflow would fail this."""
    protocol = plan_protocol(schema_for(name), epsilon, name)
    pairs = np.array(list(combinations(range(4), 2)))
    try:
        release = as_release(
            protocol, tallies_of(protocol, 2000), LeftOut(), largest_set(protocol, 2)
        )
        margins = judge_of(release).margins(pairs)
    except EvidenceError as refused:
        assert "choose" in str(refused) and "epsilon" in str(refused)
        assert name in ("component-wise", "geometric", "geometric-combined", "piecewise")
        return
    assert np.abs(release.values.astype(float)).max() <= LARGEST
    assert (margins < 0).all()
    again = from_document(to_document(release.query))
    assert again.size(protocol.schema) == len(release.values)


def test_estimates_are_cut_off_where_they_mean_nothing() -> None:
    """2^32 times the share that is possible, to either side, and not the other side of 0."""
    protocol = plan_protocol(schema_of((2, 2)), 1e-12, "combined")
    one = Tally(
        attributes=(0, 1), key=np.zeros(1, int), cell=np.zeros(1, int), people=np.array([10**7])
    )
    release = as_release(protocol, [one], LeftOut(), 2)
    assert release.values.tolist() == [2**62, -(2**62)] * 2 + [2**62, -(2**62), -(2**62), 2**62]


@pytest.mark.parametrize("people", [2000, 10**7])
def test_sums_of_products_are_exact_or_refused(people: int) -> None:
    protocol = plan_protocol(schema_for("piecewise"), 0.001, "piecewise")
    tallies = tallies_of(protocol, people)
    release = as_release(protocol, tallies, LeftOut(), 2)
    sums = release.values.reshape(-1, 2)
    for block, tally, found in zip(protocol.blocks, tallies, sums, strict=True):
        last = protocol.channel(block).cells - 1
        pairs = list(zip(tally.cell.tolist(), tally.people.tolist(), strict=True))
        first = sum((2 * cell - last) * n for cell, n in pairs)
        second = sum((2 * cell - last) ** 2 * n for cell, n in pairs)
        assert found.tolist() == pytest.approx([first, second], rel=1e-12, abs=1)
    wide = plan_protocol(schema_for("piecewise"), 1e-5, "piecewise")
    with pytest.raises(EvidenceError, match="squares add up to more than 2\\^62"):
        as_release(wide, tallies_of(wide, 10**9), LeftOut(), 2)


def test_a_channel_that_cannot_be_undone_is_refused() -> None:
    matrix = np.array([[0.7, 0.3], [0.2, 0.8]])
    assert inverse(matrix) @ matrix == pytest.approx(np.eye(2))
    for blind in (np.full((3, 3), 1 / 3), np.eye(3) * 1e-14 + (1 - 1e-14) / 3):
        with pytest.raises(EvidenceError, match="on 3 values hardly depends on the answer"):
            inverse(blind)


def test_a_plan_for_a_tiny_epsilon_says_what_cannot_be_used() -> None:
    plan = plan_local(schema_of(SIZES), 1000, 1e-12)
    refused = {line.protocol: line.refused for line in plan.lines if line.refused}
    assert "hardly depends" in str(refused["geometric-combined"])
    assert "planned-block" not in refused
