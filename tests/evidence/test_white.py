"""The plan of white features, and triples that are drawn to their pairs."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import privet
from privet.arrays import Floats, Integers
from privet.evidence import completion, unit_noise
from privet.evidence.tables import TableEvidence
from privet.evidence.white import (
    LITTLE,
    MOST_PAIRS,
    PAIRS,
    RAREST,
    UNFORESEEN,
    Design,
    contrast_rows,
)
from privet.methods.sources.columns import SHARE
from privet.networks import load
from privet.privacy.ledger.conversion import budget_for
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components
from privet.privacy.queries.white import GRID, WEIGHT, Clip, White, squared_lengths
from privet.schema.column import Column
from privet.schema.model import Schema

NAMES = ("a", "b", "c", "d")
SMALL = [s for order in range(3) for s in combinations(range(4), order)]
UNEVEN = [np.array([0.9, 0.06, 0.04]), np.array([0.97, 0.03]), np.array([0.5, 0.5])]


def design(shares: list[Floats]) -> Design:
    return Design.of(NAMES, shares, 10_000.0)


def test_features_are_centred_and_white() -> None:
    for share, levels in zip(UNEVEN, design([*UNEVEN, UNEVEN[0]]).features, strict=False):
        u = np.array(levels).reshape(len(share), -1) / GRID
        spread = u.T @ (share[:, None] * u)
        assert np.abs(share @ u).max() < 0.02  # rounded to 1/GRID
        assert spread == pytest.approx(np.eye(len(share) - 1), abs=0.1)


def all_rows(made: Design, shares: list[Floats]) -> tuple[Integers, Floats, Floats]:
    """Every row that there can be, its probability if columns were independent, and its squared
    length in a question about all pairs."""
    rows = np.array(list(product(*(range(len(share)) for share in shares))))
    probability = np.prod([share[rows[:, i]] for i, share in enumerate(shares)], axis=0)
    own = [(np.array(u).reshape(len(u), -1) ** 2).sum(axis=1) / GRID**2 for u in made.features]
    lengths = np.stack([each[rows[:, i]] for i, each in enumerate(own)])
    return rows, probability, squared_lengths(lengths, SMALL, (1.0, 1.0, 1.0))


@pytest.mark.parametrize("budget", [1e-5, 1e-3, 1e-1])
def test_effective_rows_are_those_with_uncommon_levels_of_both_columns(budget: float) -> None:
    """Against all rows that there can be: the precision n w² / (v + s² / n) of the cell where both
    levels are uncommon, and the spurious dependence."""
    shares = [UNEVEN[1]] * 4
    made = design(shares)
    rows, probability, squared = all_rows(made, shares)
    squares, spurious = made._choices
    cell = (rows[:, :2] == 1).all(axis=1)
    inside = probability[cell] / probability[cell].sum()
    for square, bias, told in zip(squares, spurious, made.effective_rows(budget), strict=True):
        weights = np.sqrt(np.minimum(1.0, square / squared[cell]))
        noise = square / (2 * budget) / made.rows
        precision = (inside @ weights) ** 2 / (inside @ weights**2 + noise)
        assert told == pytest.approx(1 / (1 / (made.rows * precision) + bias), rel=0.15)


def test_the_first_clip_leaves_most_effective_rows_and_is_wider_for_what_is_unforeseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The more so, the less noise there is beside it."""
    radii: dict[float, list[int]] = {}
    for doubt in (UNFORESEEN, 0.0):
        monkeypatch.setattr("privet.evidence.white.UNFORESEEN", doubt)
        made = design([UNEVEN[1]] * 4)
        for budget in (1e-6, 1e-3, 1.0):
            clip, squares = made.first_clip(budget), made._choices[0]
            best = squares[np.argmax(made.effective_rows(budget))]
            assert Design._square(clip) == pytest.approx(best, rel=1e-3)
            radii.setdefault(doubt, []).append(clip.radius)
    wide, narrow = radii.values()
    assert all(a >= b for a, b in zip(wide, narrow, strict=True)) and wide[2] > narrow[2]


@pytest.mark.parametrize("shares", [UNEVEN[:1] * 4, [*UNEVEN, UNEVEN[1]]])
def test_what_a_clip_feigns_is_the_dependence_it_makes(shares: list[Floats]) -> None:
    """Against all rows that there can be, each as often as if columns were independent."""
    made = design(shares)
    rows, often, squared = all_rows(made, shares)
    squares = np.array([0.2, 1.0, 3.0]) * float(often @ squared)
    foreseen = made.feigned(squares)
    for square, told in zip(squares, foreseen, strict=True):
        left = often * np.sqrt(np.minimum(1.0, square / squared))
        exact = [_dependence(rows[:, [i, j]], left) for i, j in combinations(range(4), 2)]
        assert told == pytest.approx(np.quantile(exact, MOST_PAIRS), rel=0.4, abs=1e-7)


def _dependence(pairs: Integers, weights: Floats) -> float:
    """φ² of two columns of weighed rows, for each of its numbers."""
    table = np.zeros(pairs.max(axis=0) + 1)
    np.add.at(table, tuple(pairs.T), weights / weights.sum())
    apart = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    return float(((table - apart) ** 2 / apart).sum() / np.prod(pairs.max(axis=0)))


def test_where_rows_are_many_less_is_feigned() -> None:
    """Noise hides what a clip feigns; where there is less of it, another clip is taken."""
    names = tuple("abcdefghijk")
    shares = [np.array([0.6, 0.3, 0.1])] * len(names)
    few, many = (Design.of(names, shares, rows) for rows in (1e4, 1e7))
    squares = [Design._square(each.first_clip(1e-4)) for each in (few, many)]
    feigned = few.feigned(np.array(squares))
    assert feigned[1] < 0.1 * feigned[0]


@pytest.mark.parametrize("largest", [0, 1, 2, 3])
def test_a_later_clip_is_a_question_whatever_is_left_to_ask(largest: int) -> None:
    """Where no pair is worth a second look, single columns are asked for, or only the rows."""
    made = design([UNEVEN[1]] * 4)
    sets = [s for order in range(largest + 1) for s in combinations(range(4), order)]
    first = made.first_clip(1e-3)
    clips = (first, made.later_clip(sets, made.planned_rows(1e-3), first))
    columns = tuple(Column(name=n, kind="categorical", levels=("n", "y")) for n in NAMES)
    query = White(columns=NAMES, features=made.features, clips=clips)
    query.check(Schema(name="t", columns=columns))


def test_tables_of_many_levels_keep_their_white_features() -> None:
    """What a clip feigns is spread over all numbers of a pair, as noise is."""
    levels = (16, 15, 9, 8, 7, 6, 6, 5, 5, 3, 2, 2, 2)
    names = tuple(f"x{i}" for i in range(len(levels)))
    falling = [
        np.maximum(s / s.sum(), RAREST) for s in (np.arange(1.0, k + 1) ** -1.5 for k in levels)
    ]
    shares = [share / share.sum() for share in falling]
    columns = (
        Column(name=name, kind="categorical", levels=tuple(map(str, range(k))))
        for name, k in zip(names, levels, strict=True)
    )
    schema, rows = Schema(name="t", columns=tuple(columns)), 48_842.0
    made, budget = Design.of(names, shares, rows), float(PAIRS * budget_for(1.0, 1e-6, "gdp"))
    plain = contrast_rows(schema, shares, rows, unit_noise.of_pairs(schema, budget))
    assert made.planned_rows(budget) > plain


def test_triples_cost_less_where_pairs_tell_little() -> None:
    made, sets = Design.of(NAMES, UNEVEN[:1] * 4, 1e6), [*SMALL, (0, 1, 2)]
    prices = []
    for worth in (LITTLE / 2, LITTLE):
        clip = made.later_clip(sets, worth, made.first_clip(1.0))
        prices.append((GRID * clip.multipliers[3] / clip.multipliers[2]) ** 2)
    assert prices == pytest.approx([0.06, 0.3], rel=0.02)


def test_a_course_spends_what_margins_leave_and_looks_twice_where_pairs_tell_little() -> None:
    made = Design.of(NAMES, UNEVEN[:1] * 4, 1e5)
    for budget, twice in ((1e-6, True), (1.0, False)):
        course = made.course(budget)
        assert (course.worth < LITTLE) == bool(course.again) == twice
        assert course.pairs + course.again + course.rest == 1 - SHARE
        assert course.first == made.first_clip(budget * float(course.pairs))


def twelve(alike: float) -> tuple[dict[str, Any], Schema]:
    """Columns that are one and the same in so many of their rows, and else by themselves."""
    rng, names = np.random.default_rng(5), tuple("abcdefghijkl")
    own, same = rng.random((12, 50_000)), rng.random(50_000)
    drawn = np.where(rng.random(own.shape) < alike, same, own)
    rows = {name: np.where(each < 0.1, "y", "n") for name, each in zip(names, drawn, strict=True)}
    kinds = [Column(name=n, kind="categorical", levels=("n", "y")) for n in names]
    return rows, Schema(name="t", columns=tuple(kinds))


@pytest.mark.parametrize(("epsilon", "stages"), [(0.03, 3), (0.3, 2)])
def test_noise_is_as_it_was_foreseen(epsilon: float, stages: int) -> None:
    """Of a pair that is measured in every stage, within a fifth, six deviations; without one of
    three stages there would be half as much again. At a glance a pair may look independent, so
    that a certain one would not do: one of 66 does."""
    rows, schema = twelve(0.7)
    found = privet.discover(rows, schema, epsilon=epsilon, delta=1e-6, ledger=":memory:")
    releases = found.evidence.releases
    asked = [set(each.query.sets) for each in releases if isinstance(each.query, White)]
    assert len(asked) == stages
    pairs = [
        (i, j)
        for i, j in combinations(range(12), 2)
        if all((schema.names[i], schema.names[j]) in s for s in asked)
    ]
    budget = float(budget_for(epsilon, 1e-6, "gdp"))
    made = Design.of(schema.names, [np.array([0.9, 0.1])] * 12, 50_000.0)
    course = made.course(budget)
    assert bool(course.again) == (stages == 3)
    clips = [each.query.clips[-1] for each in releases if isinstance(each.query, White)]
    shares = (course.pairs, *([course.again] if course.again else []), course.rest)
    known = [
        2 * budget * float(share) / Design._square(clip)
        for share, clip in zip(shares, clips, strict=True)
    ]
    if course.again:  # the first answer is of other weights
        before, after = (kept(made, clip) for clip in clips[:2])
        known[0] *= (before / after) ** 2
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    measured = float(evidence.blocks(np.array(pairs[:1]))[1][0])
    assert measured == pytest.approx(1 / sum(known), rel=0.2)


def kept(made: Design, clip: Clip) -> float:
    """The share of the rows that a clip leaves, by weight."""
    squared = made._squared(made._places(clip))
    return float(np.sqrt(np.minimum(1.0, made._square(clip) / squared)).mean())


@pytest.mark.parametrize(("epsilon", "anew"), [(0.05, True), (0.3, False)])
def test_rows_are_weighed_anew_where_pairs_tell_little(epsilon: float, anew: bool) -> None:
    """Triples are about the rows of the pairs that were measured before them. What is chosen from
    noisy margins (white features, how many looks) lies ten of their deviations from its bound."""
    rows, schema = twelve(0.0)
    rows["b"] = rows["a"]
    found = privet.discover(rows, schema, epsilon=epsilon, delta=1e-6, ledger=":memory:")
    clips = [one.query.clips for one in found.evidence.releases if isinstance(one.query, White)]
    *earlier, last = clips
    assert all(len(each) == 1 for each in earlier) and last[:-1] == earlier[-1]
    assert (earlier[-1] != earlier[0]) == anew


def test_what_looks_independent_at_a_glance_is_not_measured_again() -> None:
    """Of 66 pairs one is a copy; of the others about two in five look dependent: more than 48 of
    65 do so in fewer than one of a million runs."""
    rows, schema = twelve(0.0)
    rows["b"] = rows["a"]
    found = privet.discover(rows, schema, epsilon=0.05, delta=1e-6, ledger=":memory:")
    weighed = [each.query for each in found.evidence.releases if isinstance(each.query, White)]
    assert len(weighed) == 3
    again = {s for s in weighed[1].sets if len(s) == 2}
    assert ("a", "b") in again
    assert len(again) <= 1 + 48
    assert {(name,) for name in schema.names} <= set(weighed[1].sets)


def table(rare: float, rows: int = 20_000) -> tuple[dict[str, Any], Schema]:
    rng, names = np.random.default_rng(1), tuple("abcdefghijkl")
    columns = {name: np.where(rng.random(rows) < rare, "y", "n") for name in names}
    kinds = [Column(name=n, kind="categorical", levels=("n", "y")) for n in names]
    return columns, Schema(name="t", columns=tuple(kinds))


@pytest.mark.parametrize(
    ("rare", "features", "weighed"),
    [(0.03, "auto", True), (0.3, "auto", False), (0.03, "contrasts", False)],
)
def test_rows_are_weighed_where_levels_are_rare(rare: float, features: str, weighed: bool) -> None:
    rows, schema = table(rare)
    options: dict[str, Any] = {"epsilon": 0.1, "delta": 1e-6, "ledger": ":memory:"}
    found = privet.discover(rows, schema, features=features, **options)
    kinds = {type(release.query) for release in found.evidence.releases}
    assert kinds == ({Components, White} if weighed else {Components})


def test_rows_are_not_weighed_where_their_weights_would_make_columns_dependent() -> None:
    """Few columns with rare levels and strong effects: rows with all of these carry the dependence
    and would be weighed down most. Measured in contrasts nothing is lost."""
    model = load("earthquake")
    codes = model.sample(50_000, np.random.default_rng(3))
    rows = {name: np.array(model.levels[name])[codes[name]] for name in model.names}
    schema, book = model.schema(), privet.Ledger(":memory:")
    book.create(schema.name, epsilon=3, delta=1e-6)
    found = privet.discover(rows, schema, epsilon=3, ledger=book)
    assert {type(release.query) for release in found.evidence.releases} == {Components}


def test_features_are_checked_before_anything_is_spent() -> None:
    rows, schema = table(0.5, 100)
    with pytest.raises(privet.PrivetError, match="no features 'wite'; choose auto"):
        privet.discover(rows, schema, epsilon=1, ledger=":memory:", features="wite")
    found = privet.discover(rows, schema, epsilon=1, delta=1e-6, ledger=":memory:")
    with pytest.raises(privet.PrivetError, match="given together with evidence"):
        privet.discover(evidence=found.evidence, features="contrasts")


def test_a_shrunk_triple_has_the_mean_and_variance_of_its_posterior() -> None:
    """Interactions from N(0, t²) and noise from N(0, s²), 4,000 numbers each: the posterior mean
    is t² / (t² + s²) of what was measured, and its error has t² s² / (t² + s²). Both within 10%,
    six standard errors."""
    rng, shape = np.random.default_rng(2), (3, 16, 16, 16)
    own = rng.normal(size=shape) * np.array([0.0, 1.0, 3.0])[:, None, None, None]
    measured = 5.0 + own + rng.normal(size=shape)
    drawn, left = completion.shrunk(measured, np.ones(3), np.full(shape, 5.0))
    error = ((drawn - 5.0 - own) ** 2).mean(axis=(1, 2, 3))
    assert left == pytest.approx([0.0, 0.5, 0.9], abs=0.1)
    assert error == pytest.approx([0.0, 0.5, 0.9], abs=0.1)


def test_completion_keeps_the_pairs_and_adds_nothing() -> None:
    rng = np.random.default_rng(3)
    x, y, z = (rng.dirichlet(np.ones(3), size=2) for _ in range(3))
    share = np.array([0.4, 0.6])  # a hidden column with two levels makes all three dependent
    full = 1000 * np.einsum("h,hx,hy,hz->xyz", share, x, y, z)
    sums = {(0, 1): full.sum(2), (0, 2): full.sum(1), (1, 2): full.sum(0)}
    pairs = completion.Pairs.of(
        lambda sets: np.stack([sums[x, y] for x, y in sets.tolist()]),
        np.array([[0, 1, 2]]),
        (3, 3, 3),
        copies=1,
    )
    made = pairs.completed(np.array([0]))[0]
    for axis, pair in ((2, (0, 1)), (1, (0, 2)), (0, (1, 2))):
        assert made.sum(axis=axis) == pytest.approx(sums[pair], rel=0.02)
    odds = np.log(made)
    within = odds[0, 0] - odds[0, 1] - odds[1, 0] + odds[1, 1]
    assert within == pytest.approx(within[0], abs=1e-6)  # the same odds ratio in every stratum


@pytest.mark.parametrize(("rows", "moved"), [(5, False), (-5, False), (100_000, True)])
def test_where_noise_drowns_the_rows_their_number_divides_nothing(rows: int, moved: bool) -> None:
    """Rows are weighed anew, and noise of deviation 700 makes so many of them. Margins in shares of
    these, multiplied, would be a dependence that no noise explains."""
    features = (((-GRID,), (GRID,)),) * 2
    schema = Schema(
        name="t",
        columns=tuple(Column(name=n, kind="categorical", levels=("n", "y")) for n in "ab"),
    )
    releases = []
    for radius, margin, together in ((10_000, 900, 300), (20_000, -800, -100)):
        clip = Clip(((), ("a",), ("b",), ("a", "b")), (GRID**2, GRID, 1), radius)
        unit = WEIGHT * GRID**2  # of a row, and of each feature
        values = np.array([rows, margin, -margin, together]) * unit
        white = White(columns=("a", "b"), features=features, clips=(clip,))
        variance = (700.0 * unit) ** 2
        one = Release(query=white, values=values, variance=variance, mechanism="Gaussian")
        releases.append(one)
    found = TableEvidence.from_releases(schema, ("a", "b"), releases).layers[2]
    exact = 300 + (900**2 - 800**2) / 100_000 if moved else 300
    assert found.values == pytest.approx([(exact - 100) / 2])
    assert found.variances == pytest.approx([700.0**2 / 2])
