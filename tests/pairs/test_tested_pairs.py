"""Pairs by scores that a noisy test must find stable first: answers, none, and their price."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet import Adjacency, Column, Ledger, Schema
from privet.cli import main as cli
from privet.errors import BudgetError, MethodError
from privet.pairs import stable
from privet.pairs import way as registry
from privet.pairs.flips import flipped_difference, flipped_scores, flipped_sums
from privet.privacy.mechanisms import Laplace
from privet.privacy.queries.additive_noise import Anm, AnmScores
from privet.privacy.queries.residuals import UNIT, IqrStability, LogIqr
from privet.privacy.queries.tested import RankStability

TESTED = [way.name for way in registry.all_ways() if way.tested]
RANKS = ("anm-kendall", "anm-spearman")
DELTA = Fraction(1, 10**6)


def table(rows: int = 1500) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, rows)
    y = np.exp(2 * x) + rng.uniform(-0.5, 0.5, rows)
    return {"x": x, "y": y, "z": rng.normal(size=rows)}


def schema(rows: int = 1500, **more: Any) -> Schema:
    ends = {"x": (-1.8, 1.8), "y": (-4, 8), "z": (-3, 3)}
    columns = tuple(Column(name=name, kind="numeric", bounds=b) for name, b in ends.items())
    return Schema(
        name="people", columns=columns, adjacency=Adjacency.REPLACE_ONE, rows=rows, **more
    )


def orient(method: str, **options: Any) -> Any:
    given = {"cause_effect": ("x", "y"), "epsilon": 4.0, "delta": 1e-6, "ledger": ":memory:"}
    return privet.orient(table(), schema(), method=method, **{**given, **options})


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test passes, whatever the noise."""
    monkeypatch.setattr(Laplace, "unlikely", lambda self, l1, delta: -(10**9))
    monkeypatch.setattr(stable, "_hoped", lambda curator, share, unstable: 40)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test passes, whatever the noise."""
    monkeypatch.setattr(Laplace, "unlikely", lambda self, l1, delta: 10**9)
    monkeypatch.setattr(stable, "_hoped", lambda curator, share, unstable: 40)


def test_there_are_three_such_ways() -> None:
    assert TESTED == ["anm-iqr-tested", "anm-kendall", "anm-spearman"]
    assert all(registry.way_named(name).private for name in TESTED)


@pytest.mark.parametrize("method", TESTED)
def test_the_promise_is_pure_but_for_the_tests(method: str, passing: None) -> None:
    """All of epsilon and nine tenths of delta are spent: a tenth is for the coarse table, which
    needs no test."""
    book = Ledger(":memory:")
    found = orient(method, ledger=book)
    certificate, account = found.certificate, book.account("people")
    assert account is not None and account.currency == "pure" and account.left == 0
    assert account.test_delta == DELTA and account.tested == Fraction(9, 10) * DELTA
    assert (certificate["epsilon"], certificate["delta"]) == (4.0, 1e-6)
    assert ", plus 1e-06" in certificate["promise"]
    assert certificate["spent"]["test_delta"] == certificate["spent"]["delta"] == 9e-7
    assert certificate["ledger"]["cap_delta"] == certificate["ledger"]["cap_test_delta"] == 1e-6
    coarse, *tested = certificate["queries"]
    assert coarse["test_delta"] == 0 and coarse["mechanism"] == "Laplace"
    assert {query["mechanism"] for query in tested} == {"Laplace after a test"}
    assert len(tested) == (1 if method in RANKS else 4)
    assert "tests of stability, which mislead with a small probability, have used 9e-07" in str(
        certificate
    )


@pytest.mark.parametrize("method", TESTED)
def test_no_answer_is_undecided_says_why_and_costs_the_whole(
    method: str, failing: None, tmp_path: Path
) -> None:
    """Of a range that did not pass, the price of all that was asked until then: one of four."""
    book = Ledger(":memory:")
    found = orient(method, ledger=book)
    pair, account = found[0], book.account("people")
    assert pair.direction == "undecided" and pair.difference is None and pair.flipped is None
    assert pair.reason == "no answer: it was not found stable" and "not released" in pair.notes[-1]
    shares = Fraction(1) if method in RANKS else Fraction(1, 4)
    assert account is not None
    assert account.spent == 4 * (Fraction(1, 10) + Fraction(9, 10) * shares)
    assert account.tested == Fraction(9, 10) * DELTA * shares
    assert found.certificate["queries"][-1]["mechanism"] == "no answer: the test did not pass"
    found.save(tmp_path / "out")
    again = privet.orient(evidence=tmp_path / "out" / "evidence.json")
    assert again.pairs == found.pairs
    kinds = {type(release.query) for release in found.evidence.releases[1:]}
    assert kinds == {RankStability if method in RANKS else IqrStability}


@pytest.mark.parametrize("method", RANKS)
@pytest.mark.parametrize("release", ["sign", "scores"])
def test_scores_by_ranks_have_noise_for_both_halves(
    method: str, release: str, passing: None
) -> None:
    """Half of the price is the answer's; Theorem 2 tells how likely noise has turned it."""
    found = orient(method, release=release)
    _, test, told = found.evidence.releases
    query: AnmScores = told.query
    assert query.protect == "both" and query.pairs == test.query.pairs
    known = schema()
    assert query.pairs == stable.turned_pairs(query.model, known, 40)
    epsilon = 4 * 0.9 / 2
    scale = query.size(known) * query.bound(known) / epsilon
    assert sqrt(told.variance / 2) == pytest.approx(scale, rel=1e-6)
    assert query.bound(known) > AnmScores(
        model=query.model, score=query.score, protect="test", release=query.release
    ).bound(known)
    law = flipped_difference if release == "sign" else flipped_scores
    turned = law(min(abs(found[0].difference), 1.0), scale * query.unit(known))
    assert found[0].flipped == pytest.approx(turned, rel=1e-6)


def test_four_ranges_have_one_noise_and_theorem_4_holds(passing: None) -> None:
    found = orient("anm-iqr-tested")
    told = [r for r in found.evidence.releases if isinstance(r.query, LogIqr)]
    assert len(told) == 4 and len({r.variance for r in told}) == 1
    assert all(release.query.protect == "both" for release in told)
    width = told[0].query.width
    assert width == stable.bin_width(told[0].query.model, schema(), 40)
    scale = width / (4 * 0.9 / 8)
    assert sqrt(told[0].variance / 2) / UNIT == pytest.approx(scale, rel=1e-5)
    gap = min(abs(found[0].difference), 2 * log(1 << 14))  # a range is 2^-12 to 4
    assert found[0].flipped == pytest.approx(flipped_sums(gap, scale), rel=1e-5)
    assert found[0].forward - found[0].backward == pytest.approx(found[0].difference)


def test_noise_that_is_larger_than_any_score_is_no_answer(passing: None) -> None:
    """However far it goes: rank correlations are never more than 1 apart. With noise of scale 1,
    the sign would be another with exp(-1) / 2 at least."""
    found = [orient("anm-spearman", epsilon=1.0) for _ in range(20)]
    query, known = found[0].evidence.releases[-1].query, schema()
    assert query.bound(known) * query.unit(known) / (0.9 / 2) > 10
    assert max(abs(one[0].difference) for one in found) > 1  # noise below 2 twenty times: 10^-14
    for one in found:
        assert one[0].direction == "undecided" and one[0].flipped > exp(-1) / 2


def test_pairs_share_the_delta_of_tests(passing: None) -> None:
    book = Ledger(":memory:")
    found = orient("anm-kendall", ledger=book, cause_effect=None, all_pairs=True)
    used = [query["test_delta"] for query in found.certificate["queries"]]
    assert used == pytest.approx([0, 3e-7] * 3)
    account = book.account("people")
    assert account is not None and account.tested == Fraction(9, 10) * DELTA


def test_bell_shaped_columns_pass_as_was_hoped() -> None:
    """What must be stable is chosen so that such columns are four scales of the test's noise
    beyond what it needs. Then it fails with exp(-4) / 2 at most, one of four with 0.04, and nine
    times in a row with less than 10^-12."""
    rng = np.random.default_rng(2)
    x = np.clip(rng.normal(size=4000) / 3, -1, 1)
    y = np.clip(rng.normal(size=4000) / 3, -1, 1)
    ends = {"x": (-1, 1), "y": (-1, 1)}
    known = Schema(
        name="people",
        adjacency=Adjacency.REPLACE_ONE,
        rows=4000,
        columns=tuple(Column(name=n, kind="numeric", bounds=b) for n, b in ends.items()),
    )
    for method in TESTED:
        passed = [
            privet.orient(
                {"x": x, "y": y},
                known,
                cause_effect=("x", "y"),
                epsilon=40,
                delta=1e-6,
                method=method,
                ledger=":memory:",
            )[0].difference
            is not None
            for _ in range(9)
        ]
        assert any(passed)


def test_what_must_be_stable_grows_with_the_noise_of_the_test() -> None:
    model, known = Anm(x="x", y="y"), schema()
    pairs = [stable.turned_pairs(model, known, steps) for steps in (1, 2, 10, 100, 10**6)]
    assert pairs == sorted(pairs) and pairs[0] > 0 and pairs[-1] == 750**2
    widths = [stable.bin_width(model, known, steps) for steps in (1, 2, 10, 100, 10**6)]
    assert widths == sorted(widths) and widths[-1] == stable.LARGEST_WIDTH
    for rows in (1, 2, 3):  # no error, which would tell nothing but cost everything
        few = schema(rows)
        assert stable.turned_pairs(model, few, 5) <= (rows // 2) ** 2
        assert stable.LEAST_WIDTH <= stable.bin_width(model, few, 5) <= stable.LARGEST_WIDTH


# -- refusals


@pytest.mark.parametrize("method", TESTED)
def test_a_person_with_several_rows_is_refused_before_anything_costs(
    method: str, tmp_path: Path
) -> None:
    book = tmp_path / "ledger.sqlite"
    with pytest.raises(MethodError, match=r"rows_per_person = 2, but .* against one record"):
        privet.orient(
            table(),
            schema(rows_per_person=2),
            cause_effect=("x", "y"),
            epsilon=1,
            delta=1e-6,
            method=method,
            ledger=book,
        )
    assert not book.exists()


def test_a_cap_without_tests_refuses_them_until_it_is_raised(passing: None) -> None:
    book = Ledger(":memory:")
    book.create("people", epsilon=9, delta=0)
    with pytest.raises(BudgetError, match=r"0 left .*grant\(.people., epsilon=9, test_delta=1e-06"):
        orient("anm-kendall", ledger=book)
    book.grant("people", epsilon=9, test_delta=1e-6)
    orient("anm-kendall", ledger=book)


def run(*words: str) -> int:
    try:
        return cli.main([*words])
    except SystemExit as stopped:
        return int(stopped.code or 0)


def test_the_command_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    passing: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_LEDGER", str(tmp_path / "ledger.sqlite"))
    rows = zip(*(values.tolist() for values in table().values()), strict=True)
    text = "x,y,z\n" + "".join(f"{x},{y},{z}\n" for x, y, z in rows)
    Path("d.csv").write_text(text)
    Path("s.toml").write_text(schema().to_toml())
    words = ("orient", "d.csv", "--schema", "s.toml", "--cause-effect", "x,y", "--epsilon", "2")
    ranks = (*words, "--method", "anm-kendall", "--output")
    assert run(*ranks, "out") == 2
    assert "delta is 0.0, but anm-kendall" in capsys.readouterr().err
    assert not Path("ledger.sqlite").exists()
    assert run(*ranks, "out", "--delta", "1e-6") == 0
    certificate = json.loads(Path("out/certificate.json").read_text())
    assert certificate["spent"]["test_delta"] == 9e-7
    assert run(*ranks, "more", "--delta", "1e-6", "--no-reuse") == 2
    assert "privet ledger grant people --epsilon 4 --test-delta 1.9e-06" in capsys.readouterr().err
    assert run("ledger", "grant", "people", "--epsilon", "4", "--test-delta", "1.9e-06") == 0
    assert run(*ranks, "more", "--delta", "1e-6", "--no-reuse") == 0
    capsys.readouterr()
    assert run("ledger", "show", "people") == 0
    shown = capsys.readouterr().out
    assert "for tests" in shown and " delta \n" in shown and " 9e-07 \n" in shown
    assert "Of its delta, 1.9e-06 is for noisy tests of stability; 1.8e-06 of that is" in shown
    assert run("ledger", "show", "--json") == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["delta"] == facts["test_delta"] == 1.9e-06
    assert facts["runs"][0]["test_delta"] == 1e-6
    assert facts["runs"][0]["queries"][1]["test_delta"] == 9e-7
