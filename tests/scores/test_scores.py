"""Scores on evidence: the formulas, written out slowly, and what must hold whatever the data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, permutations, product
from math import lgamma, log
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import multivariate_t

from privet.errors import EvidenceError
from privet.evidence import exact_tables
from privet.evidence.counts import PairCounts, every_pair
from privet.evidence.exact_tables import ExactTables
from privet.evidence.moments import MomentEvidence
from privet.evidence.tables import TableEvidence
from privet.graph.knowledge import Knowledge
from privet.graph.meek import cpdag, is_acyclic
from privet.independence.tables import TableJudge
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.queries.base import Release
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.tables import Components, Tables
from privet.results import saved as evidence_file
from privet.results.saved import Saved
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema
from privet.scores import compiled
from privet.scores import tables as score_tables
from privet.scores.families import Families
from privet.scores.gaussian import bge, gaussian_aic, gaussian_bic
from privet.scores.noisy_tables import NoisyTables
from privet.scores.tables import MOST_CELLS, SAMPLE_SIZE, aic, bdeu, bic
from privet.search.constraints import Constraints
from privet.search.exact import exact
from privet.search.pc import log_odds, skeleton
from privet.search.potential import potential

Codes = NDArray[np.int64]
LEVELS = (2, 3, 2, 4)
NAMES = tuple("abcd")


def noisy(evidence: TableEvidence) -> NoisyTables:
    return NoisyTables(TableJudge(evidence, 0.2).margins)


def rows_of(seed: int, count: int = 300) -> Codes:
    """Rows in which a --> b --> d <-- c, and level 3 of d is never seen."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, count)
    b = np.where(rng.random(count) < 0.7, a, rng.integers(0, 3, count))
    c = rng.integers(0, 2, count)
    d = np.where(rng.random(count) < 0.6, np.minimum(b + c, 2), rng.integers(0, 3, count))
    return np.stack([a, b, c, d], axis=1)


def counted(
    codes: Codes, levels: tuple[int, ...] = LEVELS, asked: list[Tables | Fans] | None = None
) -> ExactTables:
    names = tuple("abcdefghijklmnopqrstuvwxyz"[: len(levels)])

    def table(members: tuple[str, ...]) -> Codes:
        at = [names.index(name) for name in members]
        out = np.zeros([levels[i] for i in at], dtype=np.int64)
        np.add.at(out, tuple(codes[:, at].T), 1)
        return out

    def fan(base: tuple[str, ...], others: tuple[str, ...]) -> Codes:
        tables = [table((*base, name)) for name in others]
        return np.concatenate([each.reshape(-1, each.shape[-1]) for each in tables], axis=1)

    def source(query: Tables | Fans) -> Release:
        if asked is not None:
            asked.append(query)
        if isinstance(query, Fans):
            parts = [fan(*each).ravel() for each in query.sets]
        else:
            parts = [table(members).ravel() for members in query.sets]
        return Release(query=query, values=np.concatenate(parts), variance=0.0, mechanism="Exact()")

    return ExactTables(names, levels, source)


def schema_of(levels: tuple[int, ...] = LEVELS) -> Schema:
    columns = tuple(
        Column(name=name, kind="categorical", levels=tuple(map(str, range(k))))
        for name, k in zip(NAMES, levels, strict=True)
    )
    return Schema(name="s", columns=columns, adjacency=Adjacency.ADD_REMOVE)


def measured(codes: Codes, levels: tuple[int, ...] = LEVELS, noise: float = 0.0) -> TableEvidence:
    """Components of up to three columns; noise has a standard deviation of so many rows."""
    schema, rng = schema_of(levels), np.random.default_rng(0)
    columns = {name: codes[:, i].astype(np.uint8) for i, name in enumerate(NAMES)}
    rows = MemoryRows(schema, lambda: columns, dict)
    releases = []
    for order in range(4):
        query, deviation = Components(tuple(combinations(NAMES, order))), noise * 1024**order
        values = query.evaluate(rows, schema)
        values = values + np.rint(rng.normal(size=len(values)) * deviation).astype(np.int64)
        releases.append(
            Release(query=query, values=values, variance=deviation**2, mechanism="Gaussian")
        )
    return TableEvidence.from_releases(schema, NAMES, releases)


def indices(*rows: tuple[int, ...]) -> NDArray[np.intp]:
    return np.array(rows, dtype=np.intp).reshape(len(rows), -1)


def families(size: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    for child in range(size):
        others = [i for i in range(size) if i != child]
        for width in range(size):
            yield from ((child, parents) for parents in combinations(others, width))


def counts_by_parents(codes: Codes, child: int, parents: tuple[int, ...]) -> list[list[int]]:
    """Counts of the child's levels, for every combination of the parents' levels."""
    return [
        [
            int(((codes[:, list(parents)] == values).all(axis=1) & (codes[:, child] == k)).sum())
            for k in range(LEVELS[child])
        ]
        for values in product(*(range(LEVELS[i]) for i in parents))
    ]


def slow_likelihood(codes: Codes, child: int, parents: tuple[int, ...], price: float) -> float:
    """Less a price for each free number."""
    strata = counts_by_parents(codes, child, parents)
    likelihood = sum(n * log(n / sum(row)) for row in strata for n in row if n)
    return likelihood - price * len(strata) * (LEVELS[child] - 1)


def slow_bdeu(codes: Codes, child: int, parents: tuple[int, ...]) -> float:
    strata = counts_by_parents(codes, child, parents)
    whole = SAMPLE_SIZE / len(strata)
    cell = whole / LEVELS[child]
    return sum(
        lgamma(whole) - lgamma(whole + sum(row)) + sum(lgamma(cell + n) - lgamma(cell) for n in row)
        for row in strata
    )


def test_bic_aic_and_bdeu_are_what_their_formulas_say() -> None:
    codes = rows_of(1)
    tables = counted(codes)
    for child, parents in families(4):
        found = [
            score.local(child, indices(parents))[0]
            for score in (bic(tables), bic(tables, penalty=2.5), aic(tables), bdeu(tables))
        ]
        wanted = [
            slow_likelihood(codes, child, parents, log(len(codes)) / 2),
            slow_likelihood(codes, child, parents, 2.5 / 2 * log(len(codes))),
            slow_likelihood(codes, child, parents, 1.0),
            slow_bdeu(codes, child, parents),
        ]
        assert np.allclose(found, wanted, rtol=1e-10), (child, parents)


def gaussian_rows(seed: int, count: int) -> NDArray[np.float64]:
    """Four columns with mean 0 and variance 1 in the sample: a --> b --> d <-- c."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 4))
    x[:, 1] += 0.8 * x[:, 0]
    x[:, 3] += 0.7 * x[:, 1] - 0.9 * x[:, 2]
    x -= x.mean(axis=0)
    return np.asarray(x / x.std(axis=0))


def moments(rows: NDArray[np.float64], noise: float = 0.0) -> MomentEvidence:
    size = rows.shape[1]
    return MomentEvidence(
        names=tuple("abcdefgh"[:size]),
        rows=float(len(rows)),
        covariance=rows.T @ rows / len(rows),
        metric=np.eye(size),
        noise=noise,
    )


def test_gaussian_bic_and_aic_are_those_of_least_squares() -> None:
    rows = gaussian_rows(2, 200)
    half = log(len(rows)) / 2
    for score, price in (
        (gaussian_bic(moments(rows)), half),
        (gaussian_bic(moments(rows), 2.0), 2 * half),
        (gaussian_bic(moments(rows), 2.0, odds=0.1), 2 * half + np.log(10)),
        (gaussian_aic(moments(rows)), 1.0),
    ):
        for child, parents in families(4):
            x, y = rows[:, list(parents)], rows[:, child]
            left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0] if parents else y
            likelihood = -len(rows) / 2 * log((left**2).mean())
            wanted = likelihood - price * len(parents)
            assert np.isclose(score.local(child, indices(parents))[0], wanted, rtol=1e-9, atol=1e-7)


def test_bge_is_the_product_of_its_predictive_densities() -> None:
    """Row by row, given the rows before, a row is multivariate t [DeGroot 1970]; of the columns
    that are looked at, with as many fewer degrees of freedom as columns are left out."""
    rows, size = gaussian_rows(3, 25), 4
    score = bge(moments(rows))

    def likelihood(columns: tuple[int, ...]) -> float:
        x, width = rows[:, list(columns)], len(columns)
        weight, degrees = 1.0, size + 2.0 - (size - width)
        centre, scatter, total = np.zeros(width), 0.5 * np.eye(width), 0.0
        for row in x:
            freedom = degrees - width + 1
            shape = scatter * (weight + 1) / (weight * freedom)
            total += float(multivariate_t(centre, shape, freedom).logpdf(row))
            scatter = scatter + weight / (weight + 1) * np.outer(row - centre, row - centre)
            centre = (weight * centre + row) / (weight + 1)
            weight, degrees = weight + 1, degrees + 1
        return total

    for child, parents in families(size):
        wanted = likelihood((child, *parents)) - (likelihood(parents) if parents else 0.0)
        assert np.isclose(score.local(child, indices(parents))[0], wanted, rtol=1e-9)


def test_noise_counts_as_missing_rows() -> None:
    """Noise of variance 1/n, round as the rows are, leaves about half of the rows, and p + 3 more
    go; noise that drowns them leaves none."""
    rows = gaussian_rows(4, 4000)
    plain = moments(rows, noise=0.0)
    noisy = replace(plain, noise=1 / 4000, metric=plain.covariance)
    for make in (gaussian_bic, bge):
        for child, parents in families(4):
            whole, half, fewer = (
                make(one).local(child, indices(parents))[0]
                for one in (noisy, *(replace(plain, rows=n) for n in (1990.0, 1996.0)))
            )
            assert min(half, fewer) - 0.5 < whole < max(half, fewer) + 0.5
    drowned = replace(noisy, noise=1.0)
    assert (gaussian_bic(drowned).gains(indices((0, 1), (1, 2), (2, 3))) < 0).all()


def all_scores() -> dict[str, Families]:
    tables, numbers = counted(rows_of(5)), moments(gaussian_rows(5, 300), noise=0.001)
    return {
        "bic": bic(tables),
        "aic": aic(tables),
        "bdeu": bdeu(tables),
        "gaussian bic": gaussian_bic(numbers),
        "gaussian aic": gaussian_aic(numbers),
        "bge": bge(numbers),
        "noisy tables": noisy(measured(rows_of(5), noise=3.0)),
    }


def dags(size: int) -> Iterator[NDArray[np.bool_]]:
    pairs = list(combinations(range(size), 2))
    for choice in product((0, 1, 2), repeat=len(pairs)):
        dag = np.zeros((size, size), dtype=bool)
        for (x, y), way in zip(pairs, choice, strict=True):
            dag[x, y], dag[y, x] = way == 1, way == 2
        if is_acyclic(dag):
            yield dag


@pytest.mark.parametrize("name", all_scores())
def test_equivalent_graphs_score_the_same_and_others_do_not(name: str) -> None:
    score = all_scores()[name]
    found: dict[bytes, list[float]] = defaultdict(list)
    for dag in dags(4):
        total = sum(score.local(y, indices(tuple(np.flatnonzero(dag[:, y]))))[0] for y in range(4))
        found[cpdag(dag).tobytes()].append(float(total))
    assert sum(map(len, found.values())) == 543 and len(found) == 185
    assert all(max(same) - min(same) < 1e-7 for same in found.values())
    means = np.sort([same[0] for same in found.values()])
    assert np.diff(means).min() > 1e-7


@pytest.mark.parametrize("name", all_scores())
def test_gains_are_differences_of_local_scores_and_symmetric(name: str) -> None:
    score = all_scores()[name]
    for x, y in permutations(range(4), 2):
        others = [i for i in range(4) if i not in (x, y)]
        for width in range(3):
            for given in combinations(others, width):
                gain = score.gains(indices((x, y, *given)))[0]
                without = score.local(y, indices(given))[0]
                with_x = score.local(y, indices(tuple(sorted((x, *given)))))[0]
                assert np.isclose(gain, with_x - without, rtol=0, atol=1e-7)
                assert gain == score.gains(indices((y, x, *reversed(given))))[0]


@pytest.mark.parametrize("name", all_scores())
def test_rows_hold_the_gains_and_batches_do_not_matter(name: str) -> None:
    score, levels = all_scores()[name], np.arange(4)
    for width in range(3):
        asked = [(y, *s) for y in range(4) for s in combinations(set(range(4)) - {y}, width)]
        ys, given = indices(*asked)[:, 0], indices(*asked)[:, 1:]
        flags = ~((levels == ys[:, None]) | (given[:, :, None] == levels).any(axis=1))
        rows = score.rows(ys, given, flags)
        for at, x in np.argwhere(flags).tolist():
            gain = score.gains(indices((x, *asked[at])))[0]
            assert np.isclose(rows[at, x], gain, rtol=1e-9, atol=1e-9)
        alone = [score.rows(ys[[i]], given[[i]], flags[[i]])[0] for i in range(len(ys))]
        assert (np.array(alone)[flags] == rows[flags]).all()


@pytest.mark.parametrize("name", ["bic", "aic", "bdeu"])
def test_some_columns_at_a_time_add_what_all_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ys, given = np.array([0, 1, 3]), indices((2,), (3,), (1,))
    flags = np.array(
        [[False, True, False, True], [True, False, True, False], [True, False, True, False]]
    )
    rows = all_scores()[name].rows(ys, given, flags)
    for most in (1, 10, 30, 100):
        monkeypatch.setattr(score_tables, "MOST_TOGETHER", most)
        assert (all_scores()[name].rows(ys, given, flags) == rows).all()


@pytest.mark.skipif(compiled.gains is None, reason="there was no compiler")
@pytest.mark.parametrize("name", ["bic", "aic"])
def test_what_was_compiled_is_what_arrays_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, as sums are exact; above so many rows arrays are asked, as they are not."""
    asked = [(y, *s) for y in range(4) for w in (1, 2) for s in combinations({*range(4)} - {y}, w)]

    def rows() -> list[NDArray[np.float64]]:
        score = all_scores()[name]
        flags = [~np.isin(np.arange(4), one)[None] for one in asked]
        each = zip(asked, flags, strict=True)
        out = [score.rows(np.array([y]), indices(tuple(s)), flag)[flag] for (y, *s), flag in each]
        some = [indices((x, *one)) for one in asked for x in {*range(4)} - {*one}]
        return out + [score.gains(questions) for questions in some]

    quick = rows()

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(score_tables, "MOST_EXACT", 299)
    monkeypatch.setattr(compiled.gains, "rows", refused)
    monkeypatch.setattr(compiled.gains, "questions", refused)
    for one, other in zip(quick, rows(), strict=True):
        assert len(one) and one.tolist() == other.tolist()
    monkeypatch.setattr(score_tables, "MOST_EXACT", 300)
    with pytest.raises(AssertionError):
        rows()


@pytest.mark.skipif(compiled.gains is None, reason="there was no compiler")
def test_counts_that_do_not_fit_are_refused() -> None:
    """Of n, and not n log n: so all gains are the price. Each argument is wrong once."""
    counts = np.array([[3, 1], [0, 2], [0, 0], [0, 0]])
    asked, out = np.array([[False, False, True]]), np.zeros((1, 3))
    fine = {
        "fans": {(0, 1): [((2,), counts)]},
        "levels": np.array([2, 2, 2]),
        "logs": np.arange(7.0),
        "each": 1.0,
        "ys": np.array([0]),
        "given": np.array([1]),
        "asked": asked,
        "out": out,
    }
    assert compiled.gains.rows(*fine.values()) == []
    assert out.tolist() == [[0.0, 0.0, -2.0]]
    question, found = np.array([2, 0, 1]), np.zeros(1)
    one = [*fine.values()][:4]
    assert compiled.gains.questions(*one, 3, question, found) == []
    assert found.tolist() == [-2.0]
    assert compiled.gains.questions(*one, 3, np.array([0, 2, 1]), found) == []
    assert compiled.gains.rows(*{**fine, "fans": {}}.values()) == [(0, (0, 1), 4)]
    assert compiled.gains.rows(*{**fine, "fans": {(0, 1): []}}.values()) == [(0, (0, 1), 4)]
    assert compiled.gains.rows(*{**fine, "asked": ~asked}.values()) == [(0, (0, 1), 3)]
    wrong: dict[str, object] = {
        "fans": {(0, 1): [((2,), counts[:3])]},
        "levels": np.array([2, 3, 2]),
        "logs": np.arange(4.0),
        "ys": np.array([3]),
        "given": np.array([-1]),
        "asked": asked[:, :2].copy(),
        "out": out[:, :2].copy(),
    }
    fans = (((3,), counts), ((), counts), ((2,), counts - 1))
    more: list[dict[str, object]] = [{"fans": {(0, 1): [each]}} for each in fans]
    for other in (*[{key: value} for key, value in wrong.items()], *more):
        with pytest.raises(ValueError, match="counts do not fit"):
            compiled.gains.rows(*{**fine, **other}.values())
    for bad in (np.array([3, 0, 1]), np.array([2, 0, 3]), np.array([2, -1, 1])):
        with pytest.raises(ValueError, match="counts do not fit"):
            compiled.gains.questions(*one, 3, bad, found)
    with pytest.raises(ValueError, match="counts do not fit"):
        compiled.gains.questions(*one, 2, question, found)


@pytest.mark.skipif(compiled.gains is None, reason="there was no compiler")
@pytest.mark.parametrize("given", [(0,), (2, 4), (5, 3, 1)])
def test_what_many_columns_add_is_what_arrays_say(
    given: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To y at either end of its base, or in the middle."""
    levels = (2, 5, 3, 2, 7, 4, 2, 6, 3)
    codes = np.random.default_rng(8).integers(0, levels, (900, len(levels)))
    codes[:, 6] = codes[:, 7] % 2
    ys = np.array([y for y in range(len(levels)) if y not in given], dtype=np.intp)
    bases, asked = np.tile(given, (len(ys), 1)), np.ones((len(ys), len(levels)), dtype=bool)
    asked[:, given] = asked[np.arange(len(ys)), ys] = False
    usual = bic(counted(codes, levels)).rows(ys, bases, asked)
    monkeypatch.setattr(compiled, "gains", None)
    arrays = bic(counted(codes, levels)).rows(ys, bases, asked)
    assert np.array_equal(usual, arrays) and usual[asked].std() > 0


def test_batches_answer_as_single_questions_do() -> None:
    for name, together in all_scores().items():
        alone = all_scores()[name]
        parents = indices((0, 1), (1, 2), (0, 2))
        batch = together.local(3, parents)
        assert np.allclose(batch, [alone.local(3, row[None])[0] for row in parents], rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda codes, levels: bic(counted(codes, levels)),
        lambda codes, levels: bdeu(counted(codes, levels)),
        lambda codes, levels: noisy(measured(codes, levels)),
    ],
    ids=["bic", "bdeu", "noisy tables"],
)
def test_names_of_columns_and_of_levels_do_not_matter(
    make: Callable[[Codes, tuple[int, ...]], Families],
) -> None:
    codes, rng = rows_of(6), np.random.default_rng(0)
    score = make(codes, LEVELS)
    order = rng.permutation(4)  # column i of the new table is column order[i] of the old one
    shuffled = np.stack([rng.permutation(LEVELS[i])[codes[:, i]] for i in order], axis=1)
    other = make(shuffled, tuple(LEVELS[i] for i in order))
    place = np.argsort(order)
    for child, parents in families(4):
        renamed = tuple(sorted(place[list(parents)].tolist()))
        pair = score.local(child, indices(parents)), other.local(place[child], indices(renamed))
        assert np.allclose(*pair, rtol=1e-6, atol=1e-6)


def test_noisy_tables_of_pairs_and_separated_triples_are_bayes_factors() -> None:
    """a --> b --> d: given b, the pair (a, d) is the one nearest to independence."""
    evidence = measured(rows_of(9, 5000))
    score, margins = noisy(evidence), TableJudge(evidence, 0.2).margins
    assert score.gains(indices((0, 3)))[0] == margins(indices((0, 3)))[0]
    given = score.gains(indices((0, 3, 1)))[0]
    assert given < 0 and np.isclose(given, margins(indices((0, 3, 1)))[0])


def test_noisy_tables_of_four_columns_add_up_the_interactions_of_fewer() -> None:
    score = noisy(measured(rows_of(12), noise=3.0))

    def worth(members: tuple[int, ...]) -> float:
        return float(score.worth(indices(members))[0])

    interactions = [worth(pair) for pair in combinations(range(4), 2)] + [
        worth(triple) - sum(worth(pair) for pair in combinations(triple, 2))
        for triple in combinations(range(4), 3)
    ]
    assert np.isclose(worth((0, 1, 2, 3)), sum(interactions))


def test_the_potential_scores_the_orientations_of_a_skeleton_by_their_colliders() -> None:
    judge = TableJudge(measured(rows_of(10, 5000), noise=5.0), alpha=0.2)
    constraints = Constraints.of(NAMES, Knowledge())
    found = skeleton(judge, constraints, 2)
    assert np.argwhere(np.triu(found.adjacent)).tolist() == [[0, 1], [1, 3], [2, 3]]
    local = potential(judge, found)
    totals: dict[bytes, list[float]] = defaultdict(list)
    for dag in dags(4):
        total = sum(float(local(y, indices(tuple(np.flatnonzero(dag[:, y]))))[0]) for y in range(4))
        if np.array_equal(dag | dag.T, found.adjacent):
            totals[cpdag(dag).tobytes()].append(total)
        else:
            assert total < min(sum(totals.values(), [np.inf]))
    assert sorted(map(len, totals.values())) == [2, 2, 4]
    assert all(np.ptp(same) < 1e-9 for same in totals.values())
    best = exact(local, constraints, max_parents=3)
    assert best.tobytes() == max(totals, key=lambda key: totals[key][0])
    truth = np.zeros((4, 4), dtype=bool)
    truth[[0, 1, 2], [1, 3, 3]] = True
    assert np.array_equal(best, cpdag(truth))


def test_a_family_that_is_too_wide_is_not_to_be_had() -> None:
    levels = (20, 20, 20, 20)
    assert np.prod(levels) > MOST_CELLS
    score = bic(counted(np.zeros((5, 4), dtype=np.int64), levels))
    assert score.local(0, indices((1, 2, 3)))[0] == -np.inf
    assert score.gains(indices((0, 1, 2, 3)))[0] == -np.inf
    assert np.isfinite(score.local(0, indices((1, 2), (2, 3)))).all()


def test_a_weak_collider_is_believed_only_where_colliders_are_common() -> None:
    nothing, weak = np.zeros(0), 1.0
    assert np.isclose(log_odds(nothing), log(1 / 2))
    assert weak + log_odds(np.array([weak, *[-9.0] * 30])) < -2
    assert weak + log_odds(np.array([weak, *[9.0] * 30])) > 2
    assert np.isclose(log_odds(np.array([9.0, -9.0, 9.0])), log(3 / 3), atol=1e-3)


def test_each_table_is_counted_once_and_margins_never() -> None:
    asked: list[Tables | Fans] = []
    tables = counted(rows_of(7), asked=asked)
    first = tables.tables(indices((0, 1, 3), (2, 1, 3), (3, 1, 0)))
    assert [query.sets for query in asked] == [(("a", "b", "d"), ("b", "c", "d"))]
    assert [table.shape for table in first] == [(2, 3, 4), (2, 3, 4), (4, 3, 2)]
    assert (first[2] == first[0].transpose(2, 1, 0)).all()
    margins = tables.tables(indices((3, 1), (0, 1), (1, 2)))
    assert len(asked) == 1
    assert (margins[0] == first[0].sum(axis=0).T).all()
    assert (margins[1] == first[0].sum(axis=2)).all()
    tables.tables(indices((0, 2), (1, 0)))
    assert [query.sets for query in asked[1:]] == [(("a", "c"),)]


def test_recorded_tables_may_name_their_columns_in_any_order() -> None:
    table = np.arange(12).reshape(4, 3)
    release = Release(
        query=Tables((("d", "b"),)), values=table.ravel(), variance=0.0, mechanism="Exact()"
    )
    again = ExactTables.from_releases(schema_of(), [release])
    assert (again.tables(indices((1, 3)))[0] == table.T).all()
    assert (again.tables(indices((3,)))[0] == table.sum(axis=1)).all()


def test_fans_hold_tables_and_tables_hold_fans() -> None:
    codes, asked = rows_of(9), list[Tables | Fans]()
    tables, every = counted(codes, asked=asked), np.ones((1, 4), dtype=bool)
    whole = tables.fans([(1, 2)], every & [True, False, False, True])[0].counts
    assert [query.sets for query in asked] == [((("b", "c"), ("a", "d")),)]
    again = ExactTables.from_releases(schema_of(), tables.releases())
    part = again.fans([(1, 2)], every & [False, False, False, True])[0]
    assert (again.picked(part, (3,)) == whole[:, 2:]).all()
    assert (again.picked(part, (3, 0)) == whole[:, [2, 3, 4, 5, 0, 1]]).all()
    plain = counted(codes)
    for sets in ((1, 2, 3), (0, 2, 1), (2, 1), (3, 2), (0,)):
        (one,), (other,) = again.tables(indices(sets)), plain.tables(indices(sets))
        assert one.shape == other.shape and (one == other).all()
    with pytest.raises(EvidenceError, match="table of a, b, c, d was never counted"):
        again.fans([(0, 1, 2)], every & [False, False, False, True])
    held = ExactTables.from_releases(schema_of(), plain.releases())
    made = held.fans([(1, 2)], every & [True, False, False, True])[0]
    assert made.columns == (0, 3) and (made.counts == whole).all()


def test_where_most_columns_are_asked_for_beside_a_base_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact_tables, "FEW_NUMBERS", 0)
    asked = list[Tables | Fans]()
    tables = counted(rows_of(9), asked=asked)
    tables.fans([(0,), (1, 2)], np.array([[False, True, True, True], [True, False, False, False]]))
    tables.fans([(1,)], np.array([[True, False, True, True]]))
    assert [query.sets for query in asked] == [
        ((("a",), ("b", "c", "d")), (("b", "c"), ("a",))),
        ((("b",), ("a", "c", "d")),),
    ]
    tables.fans([(1,), (0,)], np.array([[False, False, True, True], [False, True, False, False]]))
    assert len(asked) == 2


def test_beside_a_small_base_all_columns_are_counted() -> None:
    asked = list[Tables | Fans]()
    tables = counted(rows_of(9), asked=asked)
    tables.fans([(1, 2)], np.array([[True, False, False, False]]))
    assert [query.sets for query in asked] == [((("b", "c"), ("a", "d")),)]


@pytest.mark.parametrize("arrays", [False, True])
def test_pairs_of_a_tree_are_counted_with_the_first_row(
    arrays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if arrays:
        monkeypatch.setattr(compiled, "gains", None)
    asked, schema = list[Tables | Fans](), schema_of()
    tables = counted(rows_of(9), asked=asked)
    assert tables._ask is not None
    tables.pairs = PairCounts.counted(schema, tables._ask(every_pair(schema.names)))
    score = bic(tables)
    nothing, others = np.empty((4, 0), dtype=np.intp), ~np.eye(4, dtype=bool)
    gains = np.triu(score.rows(np.arange(4), nothing, others), 1)
    x, y = divmod(int(gains.argmax()), 4)
    del asked[:]
    beside = np.array([[i not in (x, y) for i in range(4)]])
    score.rows(np.array([x]), indices((y,)), beside)
    (fans,) = asked
    bases = [base for base, _ in fans.sets]
    assert (schema.names[x], schema.names[y]) in bases and len(bases) <= 3
    joined = [{schema.names.index(name) for name in base} for base in bases]
    assert all(gains[min(pair), max(pair)] > 0 for pair in joined)


def test_what_was_counted_can_be_saved_and_searched_again(tmp_path: Path) -> None:
    schema, tables = schema_of(), counted(rows_of(8))
    before = bdeu(tables).local(3, indices((0, 1), (1, 2)))
    aside = bdeu(tables).rows(np.array([2]), indices((3,)), np.array([[True, True, False, False]]))
    bdeu(tables).gains(indices((0, 2)))
    saved = Saved(schema=schema, releases=tables.releases(), certificate={"private": False})
    (tmp_path / "evidence.json").write_text(evidence_file.to_json(saved))
    loaded = evidence_file.load(tmp_path / "evidence.json")
    again = ExactTables.from_releases(loaded.schema, loaded.releases)
    assert (bdeu(again).local(3, indices((0, 1), (1, 2))) == before).all()
    rows = bdeu(again).rows(np.array([2]), indices((3,)), np.array([[True, True, False, False]]))
    assert (rows == aside).all() and rows[0, :2].all()
    with pytest.raises(EvidenceError, match="table of a, b, c, d was never counted"):
        bdeu(again).local(3, indices((0, 1, 2)))
