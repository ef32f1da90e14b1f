"""What reports say is unbiased, and the law of its errors is the true one: both exactly, by going
through everything that a report can say, for every protocol."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from privet.errors import EvidenceError
from privet.local import plan_protocol
from privet.local.collector import independence as ci
from privet.local.collector.correlations import LocalCorrelations, tetrachoric
from privet.local.collector.counts import (
    LeftOut,
    Reported,
    Tally,
    as_release,
    centred,
    covered,
    largest_set,
)
from privet.local.collector.laws import BlockLaw
from privet.local.collector.tables import (
    ORDERS,
    LocalEvidence,
    grid_law,
    law,
    law_of,
    order_for,
    planned_worth,
)
from privet.local.device.blocks import Block
from privet.local.device.protocol import Protocol
from privet.privacy.queries.base import from_document, to_document
from privet.privacy.queries.tables import Tables
from tests.helpers.asked import asked
from tests.helpers.reports import Floats, releases, schema_of, shares, shown, tallies

SIZES = (2, 3, 2, 4)
TABLES = (
    "planned-block",
    "one-pair",
    "one-triple",
    "combined",
    "parity",
    "component-wise",
    "geometric",
    "geometric-combined",
)
MANY = 10**12


def protocol_of(name: str, epsilon: float = 2.0) -> Protocol:
    made = plan_protocol(schema_of(SIZES), epsilon, name)
    if name != "planned-block":
        return made
    blocks = ((0, 1), (2, 3), (0, 2, 3), (1, 2), (1, 3), (0, 1, 2, 3))  # of many sizes
    return replace(
        made, blocks=tuple(Block(attributes=b, weight=1 + i) for i, b in enumerate(blocks))
    )


def joint_of(seed: int) -> Floats:
    return np.random.default_rng(seed).dirichlet(np.ones(48)).reshape(SIZES)


def margin(joint: Floats, members: tuple[int, ...]) -> Floats:
    return np.asarray(joint.sum(axis=tuple(i for i in range(joint.ndim) if i not in members)))


def expected(protocol: Protocol, joint: Floats) -> list[Tally]:
    """Tallies as large as they are on average, of very many people."""
    out = []
    for (attributes, one), share in zip(shown(protocol, joint), shares(protocol), strict=True):
        key, cell = np.divmod(np.arange(one.size), one.shape[1])
        people = np.rint(MANY * share * one.ravel()).astype(np.int64)
        out.append(Tally(attributes=attributes, key=key, cell=cell, people=people))
    return out


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_what_is_estimated_is_the_truth_on_average(name: str, epsilon: float) -> None:
    """Estimates are linear in the tallies, so average tallies give average estimates."""
    protocol, joint = protocol_of(name, epsilon), joint_of(1)
    release = as_release(protocol, expected(protocol, joint), LeftOut(), largest_set(protocol, 3))
    evidence = LocalEvidence.from_release(release)
    tables = asked(release, Reported).tables(release.values)
    for members, table in tables.items():
        assert table == pytest.approx(centred(margin(joint, members)), abs=1e-6)
    for members in covered(protocol, 2):
        found = evidence.tables(np.array([members]))[0]
        assert found == pytest.approx(margin(joint, members), abs=1e-6)
        turned = evidence.tables(np.array([members[::-1]]))[0]
        assert turned == pytest.approx(found.T)
    if len(asked(release, Reported).sets[-1]) == 3:
        found = evidence.tables(np.array([(3, 0, 2)]))[0]
        assert found == pytest.approx(margin(joint, (0, 2, 3)).transpose(2, 0, 1), abs=1e-6)


def test_a_wrong_attenuation_would_be_seen() -> None:
    protocol, joint = protocol_of("planned-block"), joint_of(1)
    other = protocol_of("planned-block", 2.2)
    release = as_release(other, expected(protocol, joint), LeftOut(), 3)
    found = LocalEvidence.from_release(release).tables(np.array([(0, 1)]))[0]
    assert np.abs(found - margin(joint, (0, 1))).max() > 1e-3


Laws = list[tuple[tuple[int, ...], Floats]]


def moved(laws: Laws, people: list[int], at: int, cell: int) -> list[Tally]:
    """Everybody's report is the first there is, but for one block, where it is another."""
    out = []
    for i, (attributes, one) in enumerate(laws):
        key, place = divmod(cell if i == at else 0, one.shape[1])
        single = [np.array([value], dtype=np.int64) for value in (key, place, people[i])]
        out.append(Tally(attributes=attributes, key=single[0], cell=single[1], people=single[2]))
    return out


def statistic(release: Any, parts: dict[tuple[int, ...], Floats], question: Any) -> Floats:
    """Σ_A Σ_cells W_A F_A."""
    evidence = LocalEvidence.from_release(release)
    total = 0.0
    for at, w in parts.items():
        table = evidence.centred(question[:, list(at)])[0]
        total = total + (w[0].reshape(w.shape[1], -1) * table.ravel()).sum(axis=1)
    return np.asarray(total)


def true_covariance(
    protocol: Protocol, joint: Floats, people: list[int], parts: Any, question: Any
) -> Floats:
    """From the law of the reports to every block: the variance of what one report does."""
    largest, laws, out = largest_set(protocol, 3), shown(protocol, joint), 0.0
    for at, (_, one) in enumerate(laws):
        values = np.array(
            [
                statistic(
                    as_release(protocol, moved(laws, people, at, cell), LeftOut(), largest),
                    parts,
                    question,
                )
                for cell in range(one.size)
            ]
        )
        p = one.ravel()
        mean = p @ values
        out = out + ((values * p[:, None]).T @ values - np.outer(mean, mean)) / people[at]
    return np.asarray(out)


@pytest.mark.parametrize("name", TABLES)
def test_the_law_of_errors_is_the_true_one(name: str) -> None:
    protocol, joint = protocol_of(name), joint_of(2)
    people = [1000 + 100 * i for i in range(len(shares(protocol)))]
    question = np.array([(3, 1)]) if name in ("parity", "one-pair") else np.array([(3, 0, 2)])
    members = tuple(question[0].tolist())
    order = np.argsort(np.argsort(members))
    null = margin(joint, members).transpose(order)[None]
    rng = np.random.default_rng(3)
    influence = rng.standard_normal((1, 3, *null.shape[1:]))
    parts = ci._parts(influence)
    known = true_covariance(protocol, joint, people, parts, question)
    if protocol.family == "grid":
        counts = people[0] * shown(protocol, joint)[0][1][0]
        made = grid_law(protocol, counts)
    else:
        made = law(protocol, np.array(people, dtype=float))
    found = made.covariance(question, parts, null)[0]
    assert found == pytest.approx(known, rel=1e-6, abs=1e-9 * np.abs(known).max())


def test_a_law_that_forgets_the_channel_would_be_seen() -> None:
    protocol, joint = protocol_of("planned-block"), joint_of(2)
    people = [1000 + 100 * i for i in range(len(protocol.blocks))]
    question = np.array([(0, 1)])
    parts = ci._parts(np.random.default_rng(3).standard_normal((1, 2, 2, 3)))
    known = true_covariance(protocol, joint, people, parts, question)
    made = law(protocol, np.array(people, dtype=float))
    assert isinstance(made, BlockLaw)
    blind = replace(made, left=np.ones_like(made.left))
    found = blind.covariance(question, parts, margin(joint, (0, 1))[None])[0]
    assert (np.diag(found) < 0.7 * np.diag(known)).all()


@pytest.mark.parametrize("name", TABLES)
def test_worth_is_what_people_without_noise_would_be(name: str) -> None:
    """Of even columns: the sum of the variances, beside that of noise-free answers."""
    protocol = protocol_of(name)
    even = np.full(SIZES, 1 / 48)
    people = [1000 + 100 * i for i in range(len(shares(protocol)))]
    if protocol.family == "grid":
        made = grid_law(protocol, people[0] * shown(protocol, even)[0][1][0])
    else:
        made = law(protocol, np.array(people, dtype=float))
    for pair in ((0, 1), (1, 3)):
        k = [SIZES[i] for i in pair]
        here = np.eye(k[0] * k[1]).reshape(1, -1, *k)
        centred_here: dict[tuple[int, ...], Any] = {(0, 1): ci._parts(here)[0, 1]}
        spread = made.covariance(
            np.array([pair]), centred_here, np.full((1, *k), 1 / (k[0] * k[1]))
        )
        free = (1 - 1 / k[0]) * (1 - 1 / k[1])
        assert made.worth(np.array([pair]))[0] == pytest.approx(free / np.trace(spread[0]))
    assert planned_worth(protocol, 2000) == pytest.approx(2 * planned_worth(protocol, 1000))


def test_a_plan_knows_what_will_be_worth_what() -> None:
    """Figures of the planned block of a small network, worked out elsewhere."""
    protocol = plan_protocol(schema_of((2,) * 5), 1, "one-pair")
    odds = float(protocol.odds[0])
    assert planned_worth(protocol, 10**6) == pytest.approx(
        1e6 / 10 * ((odds - 1) / (odds + 3)) ** 2
    )
    assert [order_for(worth, ORDERS) for worth in (499, 500, 4999, 5000)] == [0, 1, 1, 2]


def test_replicas_spread_as_reports_would() -> None:
    """The variance of what replicas add to a pair, beside that of fresh reports on independent
    columns (400 of each; false alarms about one in a million)."""
    protocol, rng = protocol_of("planned-block"), np.random.default_rng(5)
    sides = [rng.dirichlet(np.full(k, 3.0)) for k in SIZES]
    joint = np.einsum("a,b,c,d->abcd", *sides)
    found = [LocalEvidence.from_release(r) for r in releases(protocol, joint, 20_000, 400, rng)]
    question = np.array([(0, 1)])

    def departure(tables: Floats) -> Floats:
        return np.asarray(tables - tables.sum(2)[:, :, None] * tables.sum(1)[:, None, :])

    fresh = departure(np.concatenate([one.tables(question) for one in found])).var(axis=0)
    again = departure(found[0].stack(400, rng).tables(question)).var(axis=0)
    # two variances of 399 degrees of freedom differ by a factor of 1.6 once in a million
    assert (again < 1.65 * fresh).all() and (fresh < 1.65 * again).all()


def test_evidence_survives_a_file() -> None:
    protocol, rng = protocol_of("planned-block"), np.random.default_rng(6)
    (release,) = releases(protocol, joint_of(3), 1000, 1, rng)
    again = from_document(to_document(release.query))
    assert isinstance(again, Reported)
    assert again == release.query and again.size(protocol.schema) == len(release.values)
    again.check(protocol.schema)
    with pytest.raises(EvidenceError, match="no reports about the columns"):
        again.check(schema_of((2, 2)))
    with pytest.raises(EvidenceError, match="no reports about the columns"):
        replace(again, people=(1, 2)).check(protocol.schema)
    assert str(release.query).startswith("10") and "planned-block" in str(release.query)


def test_reports_without_any_truth_in_them_are_worth_nothing() -> None:
    """A combined domain that is much too large: no overflow, no evidence."""
    pairs_of = plan_protocol(schema_of((15,) * 14), 0.1, "one-pair")
    protocol = replace(pairs_of, name="combined", blocks=(Block(attributes=tuple(range(14))),))
    laws_of = [(tuple(range(14)), None)]
    cells = np.random.default_rng(1).integers(0, 15**14, 500)
    tally = Tally(
        attributes=laws_of[0][0], key=np.zeros_like(cells), cell=cells, people=np.ones_like(cells)
    )
    release = as_release(protocol, [tally], LeftOut(), 2)
    evidence = LocalEvidence.from_release(release)
    assert evidence.people_worth < 1e-9
    pairs = np.array(list(combinations(range(14), 2)))
    assert (ci.LocalJudge(evidence, 0.2).margins(pairs) < 0).all()


def test_triples_that_are_too_many_are_left_away() -> None:
    assert largest_set(plan_protocol(schema_of((30,) * 40), 1, "component-wise"), 3) == 2
    assert largest_set(protocol_of("planned-block"), 3) == 3
    assert largest_set(protocol_of("parity"), 3) == 2


def test_correlations_of_signs() -> None:
    """With cuts at the medians the sine; else the correlation that bivariate normals have."""
    r, slope, side = tetrachoric(np.zeros(2), np.array([[1.0, 0.4], [0.4, 1.0]]))
    assert r[0, 1] == pytest.approx(np.sin(np.pi * 0.4 / 2))
    assert slope[0, 1] == pytest.approx(np.pi / 2 * np.sqrt(1 - r[0, 1] ** 2))
    assert side[0, 1] == pytest.approx(0.0, abs=1e-12)
    from scipy.stats import multivariate_normal

    cut, rho = np.array([0.5, -0.8]), -0.6
    cdf = multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf
    p = np.array([cdf([cut[0], 50]), cdf([50, cut[1]])])

    def found(moved: Floats, both: float) -> float:
        single = 2 * (p + moved) - 1
        pair = 4 * (cdf(cut) + both) - 1 - single.sum()
        return float(tetrachoric(single, np.array([[1.0, pair], [pair, 1.0]]))[0][0, 1])

    assert found(np.zeros(2), 0.0) == pytest.approx(rho, abs=1e-5)
    single = 2 * p - 1
    pair = 4 * cdf(cut) - 1 - single.sum()
    _, slope, side = tetrachoric(single, np.array([[1.0, pair], [pair, 1.0]]))
    step = 1e-4
    # more in the first margin, the pair's mean fixed: p11 moves by half as much
    by_side = found(np.array([step, 0]), step / 2) - found(np.array([-step, 0]), -step / 2)
    assert side[0, 1] == pytest.approx(by_side / (4 * step), rel=1e-3)
    by_pair = found(np.zeros(2), step) - found(np.zeros(2), -step)
    assert slope[0, 1] == pytest.approx(by_pair / (8 * step), rel=1e-3)


def test_tables_and_numbers_are_not_mixed_up() -> None:
    (release,) = releases(protocol_of("parity"), joint_of(1), 1000, 1, np.random.default_rng(1))
    with pytest.raises(EvidenceError, match="no reports of numbers"):
        LocalCorrelations.from_release(release)
    with pytest.raises(EvidenceError, match="no tables of reports"):
        LocalEvidence.from_release(replace(release, query=Tables((("a",),))))


def test_tallies_are_drawn_by_the_law_of_the_reports() -> None:
    """The simulator of these tests, beside the device itself: chi-square at one in a million."""
    from scipy.stats import chi2

    from privet.local import Randomizer

    rng, joint = np.random.default_rng(8), joint_of(4)
    codes = np.stack(np.unravel_index(rng.choice(48, 40_000, p=joint.ravel()), SIZES), axis=1)
    share = np.bincount(np.ravel_multi_index(tuple(codes.T), SIZES), minlength=48) / 40_000
    for name in ("one-pair", "parity"):
        protocol = protocol_of(name)
        made = Randomizer(protocol).report_codes(codes)
        laws = shown(protocol, share.reshape(SIZES))
        for block, (_, one), weight in zip(protocol.blocks, laws, shares(protocol), strict=True):
            mine = made["block"] == block.mask
            key = made["key"][mine] if "key" in made else np.zeros(mine.sum(), dtype=int)
            seen = np.bincount(key * one.shape[1] + made["cell"][mine], minlength=one.size)
            wanted = 40_000 * weight * one.ravel()
            excess = ((seen - wanted) ** 2 / wanted).sum()
            assert excess < chi2.isf(1e-6 / len(protocol.blocks), one.size)


def test_law_of_a_release_is_that_of_its_people() -> None:
    protocol, rng = protocol_of("one-triple"), np.random.default_rng(9)
    people = [10 * (i + 1) for i in range(len(protocol.blocks))]
    release = as_release(protocol, tallies(shown(protocol, joint_of(1)), people, rng), LeftOut(), 3)
    assert asked(release, Reported).people == tuple(people)
    known = law(protocol, np.array(people, dtype=float)).worth(np.array([(0, 1)]))
    assert law_of(release).worth(np.array([(0, 1)])) == pytest.approx(known)
