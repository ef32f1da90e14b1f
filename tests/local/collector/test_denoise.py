"""Denoised tables are the most likely ones, for every protocol; and no counts for a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
import pytest
from scipy.stats import binom, chi2

from privet.errors import EvidenceError, MethodError
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.collector import ibu
from privet.local.collector import independence as report_tests
from privet.local.collector.collect import collect
from privet.local.collector.collect import views as file_views
from privet.local.collector.counts import LeftOut, Reported, Tally, as_release
from privet.local.collector.ibu import CLOSE, denoised, steps, views
from privet.local.collector.minimum_chi2 import minimum_chi2
from privet.local.collector.tables import LocalEvidence
from privet.local.collector.tally import tallies_of
from privet.local.device.blocks import cell, codes_of, make
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.asked import asked

MANY = 1 << 50  # people of whom expected reports are counted: rounding is then nothing
FALSE_ALARM = 1e-6


def schema_of(*sizes: int) -> Schema:
    columns = (
        Column(name=f"c{i}", kind="ordinal", levels=tuple(map(str, range(size))))
        for i, size in enumerate(sizes)
    )
    return Schema(name="people", columns=tuple(columns))


def some_table(*sizes: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(prod(sizes)) * 2).reshape(sizes)


def expected(protocol: Protocol, table: np.ndarray) -> Iterator[Tally]:
    """The reports of very many people, by going through all answers: nothing of ibu.py is used."""
    shares, sizes = table.ravel(), protocol.sizes
    rows = codes_of(np.arange(shares.size), sizes)
    if protocol.family in ("attributes", "grid"):
        law = np.zeros(shares.size)
        for share, row in zip(shares, rows, strict=True):
            if protocol.family == "grid":
                law += share * protocol.channels[0].matrix()[cell(row[None], sizes)[0]]
                continue
            one = np.ones(1)
            for channel, code in zip(protocol.channels, row, strict=True):
                one = np.outer(one, channel.matrix()[code]).ravel()
            law += share * one
        yield tally(tuple(range(len(sizes))), np.zeros(law.size), np.arange(law.size), law)
        return
    for block in protocol.blocks:
        channel, own = protocol.channel(block), protocol.sizes_of(block)
        keys, cells, laws = [], [], []
        for key in range(protocol.keys(block)):
            asked = rows[:, list(block.attributes)]
            inputs = make(protocol.kind, own, asked, np.full(len(rows), key), block.power)
            for y in range(channel.outputs):
                each = [float(channel.probability(int(x), y)) for x in inputs]
                keys.append(key)
                cells.append(y)
                laws.append(float(shares @ each) / protocol.keys(block))
        yield tally(block.attributes, np.array(keys), np.array(cells), np.array(laws))


def tally(
    attributes: tuple[int, ...], key: np.ndarray, cells: np.ndarray, law: np.ndarray
) -> Tally:
    return Tally(
        attributes=attributes,
        key=key.astype(np.int64),
        cell=cells.astype(np.int64),
        people=np.rint(MANY * law).astype(np.int64),
    )


PROTOCOLS = {
    "planned-block": (4, (2, 3, 2)),
    "one-pair": (1, (2, 3, 2)),
    "one-triple": (2, (2, 3, 2)),
    "combined": (3, (2, 3)),
    "parity": (1, (3, 3, 2)),
    "component-wise": (3, (2, 3, 2)),
    "geometric": (4, (4, 3)),
    "geometric-combined": (3, (3, 2)),
}


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("size", [1, 2])
def test_expected_reports_give_the_truth_back(name: str, size: int) -> None:
    """Of reports in exactly the expected numbers, the truth is the most likely table."""
    epsilon, sizes = PROTOCOLS[name]
    protocol = plan_protocol(schema_of(*sizes), epsilon, name)
    table = some_table(*sizes)
    tallies = list(expected(protocol, table))
    for members in combinations(range(len(sizes)), size):
        truth = table.sum(axis=tuple(i for i in range(len(sizes)) if i not in members))
        found = views(protocol, tallies, members)
        shape = [protocol.sizes[i] for i in ibu.space(protocol, members)]
        whole = table if protocol.family == "grid" else truth
        people = sum(view.counts.sum() for view in found)
        growth = sum(v.back(v.counts / v.shown(whole.ravel())) for v in found) / people
        assert whole.shape == tuple(shape) and growth == pytest.approx(1, abs=1e-9)
        columns = [f"c{i}" for i in reversed(members)]
        answer = denoised(protocol, tallies, columns, most_steps=3000)
        assert answer.table.sum() == pytest.approx(1) and answer.table.shape == truth.T.shape
        assert answer.table == pytest.approx(truth.T, abs=1e-3)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_likelihood_rises_to_its_largest_value(name: str) -> None:
    epsilon, sizes = PROTOCOLS[name]
    protocol = plan_protocol(schema_of(*sizes), epsilon, name)
    rng = np.random.default_rng(3)
    rows = codes_of(rng.choice(prod(sizes), 3000, p=some_table(*sizes).ravel()), sizes)
    tallies = list(tallies_of(protocol, Randomizer(protocol).report_codes(rows)))
    members = ibu.space(protocol, (0, 1))
    found = views(protocol, tallies, members)
    trace = []
    for at, step in enumerate(steps(found, prod(protocol.sizes[i] for i in members))):
        trace.append(step)
        assert step.shares.min() >= 0 and step.shares.sum() == pytest.approx(1)
        if step.short <= CLOSE or at == 5000:
            break
    heights = np.array([step.likelihood for step in trace])
    assert (np.diff(heights) >= -1e-9 * np.abs(heights[1:])).all()
    # the bound on what is missing held at every step, for the best that was found since
    assert all(step.likelihood + step.short >= heights[-1] - 1e-6 for step in trace)
    answer = denoised(protocol, tallies, ["c0", "c1"], most_steps=5000)
    assert answer.iterations == len(trace) - 1 and answer.change == trace[-1].change
    assert answer.log_likelihood == trace[-1].likelihood and answer.short == trace[-1].short
    assert answer.converged == (trace[-1].short <= CLOSE)
    assert answer.people == round(sum(float(view.counts.sum()) for view in found))


def test_inside_it_is_the_unbiased_estimate_and_at_the_edge_it_is_not() -> None:
    protocol = plan_protocol(schema_of(2, 2), 2, "combined")
    (channel,) = [protocol.channel(block) for block in protocol.blocks]
    for shown, inside in (([300, 250, 250, 200], True), ([500, 300, 199, 1], False)):
        reports = tally((0, 1), np.zeros(4), np.arange(4), np.array(shown) / MANY)
        unbiased = np.linalg.solve(channel.matrix().T, np.array(shown) / sum(shown))
        found = denoised(protocol, [reports], ["c0", "c1"], most_steps=100_000)
        assert found.converged and found.table.min() >= 0
        assert (unbiased.min() >= 0) == inside
        assert (np.abs(found.table.ravel() - unbiased).max() < 0.01) == inside


@pytest.mark.parametrize("name", PROTOCOLS)
def test_reports_in_memory_are_counted_as_those_in_files_are(name: str) -> None:
    epsilon, sizes = PROTOCOLS[name]
    protocol = plan_protocol(schema_of(*sizes), epsilon, name)
    rows = codes_of(np.arange(2000) % prod(sizes), sizes)
    reports = Randomizer(protocol).report_codes(rows)
    collected = collect({"protocol": [protocol.id] * 2000, **reports}, protocol)
    ours = as_release(
        protocol, tallies_of(protocol, reports), LeftOut(), asked(collected, Reported).largest
    )
    assert ours.query == collected.query and (ours.values == collected.values).all()


def test_blocks_with_the_same_part_are_counted_together() -> None:
    protocol = plan_protocol(schema_of(2, 2, 2), 2, "one-pair")
    tallies = list(expected(protocol, some_table(2, 2, 2)))
    asked = sum(int(h.people.sum()) for h in tallies if 0 in h.attributes)
    assert denoised(protocol, tallies, ["c0"]).people == asked
    assert len(views(protocol, tallies, (0,))) == 1


def test_too_few_steps_are_told() -> None:
    protocol = plan_protocol(schema_of(3, 3), 0.5, "component-wise")
    rows = codes_of(np.arange(900) % 9, (3, 3))
    tallies = list(tallies_of(protocol, Randomizer(protocol).report_codes(rows)))
    found = denoised(protocol, tallies, ["c0", "c1"], most_steps=1)
    assert found.iterations == 1 and not found.converged and found.short > CLOSE


def test_what_cannot_be_denoised_is_refused() -> None:
    protocol = plan_protocol(schema_of(2, 3, 2), 2, "one-pair")
    with pytest.raises(MethodError, match="no column 'c9'"):
        denoised(protocol, [], ["c9"])
    with pytest.raises(MethodError, match="once"):
        denoised(protocol, [], ["c0", "c0"])
    with pytest.raises(EvidenceError, match="no report"):
        denoised(protocol, [], ["c0"])
    numbers = Schema(
        name="n", columns=tuple(Column(name=n, kind="numeric", bounds=(0, 1)) for n in "ab")
    )
    with pytest.raises(MethodError, match="products"):
        denoised(plan_protocol(numbers, 4, "piecewise"), [], ["a"])
    wide = plan_protocol(schema_of(*[9] * 8), 4, "component-wise")
    with pytest.raises(MethodError, match="fewer columns"):
        denoised(wide, [], wide.schema.names)
    apart = [
        Tally(
            attributes=(0, 1), key=np.zeros(1, int), cell=np.zeros(1, int), people=np.ones(1, int)
        )
    ]
    with pytest.raises(EvidenceError, match="counted"):
        denoised(wide, apart, ["c0", "c2"])


# -- tests on one pair

SIZES = (3, 3)
PEOPLE = 20_000


def pair_reports(
    table: np.ndarray, epsilon: float, repetitions: int, seed: int
) -> tuple[Protocol, np.ndarray]:
    """Reports on all cells of a pair: counts (repetitions, cells)."""
    protocol = plan_protocol(schema_of(*table.shape), epsilon, "combined")
    channel = protocol.channel(protocol.blocks[0])
    law = table.ravel() @ channel.matrix()
    return protocol, np.random.default_rng(seed).multinomial(PEOPLE, law, size=repetitions)


def tally_of(counts: np.ndarray) -> Tally:
    cells = np.arange(counts.size)
    return Tally(attributes=(0, 1), key=0 * cells, cell=cells, people=counts.astype(np.int64))


INDEPENDENT = np.outer([0.5, 0.3, 0.2], [0.4, 0.4, 0.2])


def test_a_chi_square_test_on_denoised_counts_is_invalid() -> None:
    """At least half of the independent pairs are called dependent at level 0.05. A valid test
    would do that with probability binom.sf(14, 30, 0.05) < 1e-10."""
    assert binom.sf(14, 30, 0.05) < 1e-10
    protocol, counts = pair_reports(INDEPENDENT, 1, 30, seed=5)
    rejected = 0
    for each in counts:
        table = denoised(protocol, [tally_of(each)], ["c0", "c1"], most_steps=2000).table
        null = np.outer(table.sum(axis=1), table.sum(axis=0))
        pearson = PEOPLE * ((table - null) ** 2 / np.maximum(null, 1e-12)).sum()
        rejected += bool(chi2.sf(pearson, 4) < 0.05)
    assert rejected >= 15


@pytest.mark.parametrize("epsilon", [1, 4])
def test_minimum_chi_square_keeps_its_level(epsilon: float) -> None:
    """400 independent pairs; bounds that a right test leaves with probability below 1e-6."""
    protocol, counts = pair_reports(INDEPENDENT, epsilon, 400, seed=7)
    answers = [minimum_chi2(views(protocol, [tally_of(c)], (0, 1)), SIZES) for c in counts]
    assert {answer.freedom for answer in answers} == {4}
    for level in (0.05, 0.2):
        rejected = sum(answer.p_value < level for answer in answers)
        low, high = binom.ppf([FALSE_ALARM / 4, 1 - FALSE_ALARM / 4], 400, level)
        assert low <= rejected <= high


def test_minimum_chi_square_agrees_with_the_test_of_discover_and_finds_dependence() -> None:
    table = 0.94 * INDEPENDENT + 0.06 * np.eye(3) / 3
    protocol, counts = pair_reports(table, 4, 20, seed=9)
    for each in counts:
        release = as_release(protocol, [tally_of(each)], LeftOut(), 2)
        ours = report_tests.tested(LocalEvidence.from_release(release), np.array([[0, 1]]))
        theirs = minimum_chi2(views(protocol, [tally_of(each)], (0, 1)), SIZES)
        assert theirs.statistic == pytest.approx(float(ours.statistic[0]), rel=0.05)
        assert theirs.freedom == ours.freedom[0] and theirs.p_value < 1e-3


@pytest.mark.parametrize("name", ["planned-block", "parity", "component-wise"])
def test_minimum_chi_square_on_several_kinds_of_reports(name: str) -> None:
    """Expected reports of independent columns leave nothing; of dependent ones they do."""
    protocol = plan_protocol(schema_of(2, 3, 2), 1 if name == "parity" else 4, name)
    third = np.array([0.7, 0.3])
    free = np.outer([0.6, 0.4], [0.5, 0.3, 0.2])[:, :, None] * third
    tied = np.array([[0.4, 0.1, 0.1], [0.1, 0.1, 0.2]])[:, :, None] * third
    for table, independent in ((free, True), (tied, False)):
        found = views(protocol, list(expected(protocol, table)), (0, 1))
        answer = minimum_chi2(found, (2, 3))
        assert answer.freedom == 2
        assert (answer.statistic < 0.01) == independent
        assert (answer.p_value < 1e-9) != independent


def test_reports_that_disagree_with_each_other_do_not_speak_for_dependence() -> None:
    """Those who were asked about (c0, c1) and those who were asked about (c0, c2) have another
    share of c0; still c0 and c1 are independent."""
    protocol = plan_protocol(schema_of(2, 2, 2), 2, "one-pair")
    half, others = np.array([0.5, 0.5]), np.array([0.8, 0.2])
    tallies = []
    for first, members in ((half, (0, 1)), (others, (0, 2))):
        table = first[:, None, None] * half[:, None] * np.array([0.7, 0.3])
        (one,) = [h for h in expected(protocol, table) if h.attributes == members]
        tallies.append(replace(one, people=one.people // (MANY // 20_000)))
    answer = minimum_chi2(views(protocol, tallies, (0, 1)), (2, 2))
    assert answer.freedom == 1 and answer.statistic < 0.1


def test_minimum_chi_square_refuses_what_it_cannot_tell() -> None:
    protocol = plan_protocol(schema_of(3, 3), 1, "parity")
    few = list(
        tallies_of(protocol, Randomizer(protocol).report_codes(codes_of(np.arange(9), (3, 3))))
    )
    with pytest.raises(EvidenceError):
        minimum_chi2(views(protocol, few, (0, 1)), SIZES)
    apart = plan_protocol(schema_of(3, 3, 2), 1, "one-pair")
    beside = [h for h in expected(apart, some_table(3, 3, 2)) if h.attributes != (0, 1)]
    with pytest.raises(EvidenceError, match="together"):
        minimum_chi2(views(apart, beside, (0, 1)), SIZES)


def test_views_of_reports_as_they_came() -> None:
    """And a channel on all columns together has none of two of them."""
    schema = schema_of(2, 3, 2)
    protocol = plan_protocol(schema, 3, "planned-block")
    codes = np.random.default_rng(0).integers(0, 2, (4000, 3))
    reports = Randomizer(protocol).report_codes(codes)
    found = file_views({"protocol": np.full(4000, protocol.id), **reports}, protocol, ["c0", "c1"])
    told = minimum_chi2(found, (2, 3))
    mine = minimum_chi2(views(protocol, tallies_of(protocol, reports), (0, 1)), (2, 3))
    assert told == mine and told.freedom == 2
    grid = plan_protocol(schema, 3, "geometric-combined")
    with pytest.raises(MethodError, match="all columns together"):
        file_views({}, grid, ["c0", "c1"])
