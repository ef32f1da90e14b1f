"""Why two columns are joined: effects whose intervals hold, and a paragraph that says so."""

from __future__ import annotations

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import privet
from privet.cli.main import main
from privet.errors import EvidenceError, SchemaError
from privet.evidence.tables import TableEvidence
from privet.independence.tables import TableJudge
from privet.markup.pieces import share
from privet.privacy.queries.contrasts import GRID
from privet.results.discovery import Discovery
from privet.results.explanation import Answer, _of_tables
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.stacks import stack

ROWS, RUNS = 20_000, 100


def one_of(evidence: TableEvidence, run: int) -> TableEvidence:
    layers = {o: replace(layer, values=layer.values[run]) for o, layer in evidence.layers.items()}
    return replace(evidence, rows=np.array(float(evidence.rows[run])), layers=layers)


def drawn(levels: int, noise: float, effect: float) -> list[TableEvidence]:
    """Runs on tables with this Cramér's V, on their diagonal."""
    rng, move = np.random.default_rng(1), np.eye(levels) - 1 / levels
    phi = effect * sqrt(levels - 1)
    shares = np.full((levels, levels), 1 / levels**2) + move * phi / levels / np.linalg.norm(move)
    counts = rng.multinomial(ROWS, shares.ravel(), size=RUNS).reshape(RUNS, levels, levels)
    evidence = stack(counts, {order: noise * GRID ** (2 * order) for order in range(3)}, rng)
    return [one_of(evidence, run) for run in range(RUNS)]


def covered(runs: list[TableEvidence], effect: float) -> int:
    found = [_of_tables([TableJudge(run, 0.1)], [(0, 1)])[0] for run in runs]
    return sum(low <= effect <= high for _, low, high in found)


CASES = [(2, 0.0, 0.0), (2, 0.0, 0.1), (2, 20_000.0, 0.0), (2, 20_000.0, 0.1), (4, 4000.0, 0.2)]


@pytest.mark.parametrize(("levels", "noise", "effect"), CASES)
def test_intervals_hold_as_often_as_they_say(levels: int, noise: float, effect: float) -> None:
    """95 times in 100, up to first-order theory (0.04) and chance (1e-6)."""
    hits = covered(drawn(levels, noise, effect), effect)
    assert binomtest(hits, RUNS, 0.91, alternative="less").pvalue > 1e-6, hits / RUNS


def test_intervals_without_the_noise_would_not_hold() -> None:
    deaf = []
    for run in drawn(2, 20_000.0, 0.1):
        layers = {
            o: replace(x, variances=np.zeros_like(x.variances)) for o, x in run.layers.items()
        }
        deaf.append(replace(run, layers=layers, rows_variance=0.0))
    hits = covered(deaf, 0.1)
    assert binomtest(hits, RUNS, 0.91, alternative="less").pvalue < 1e-6, hits / RUNS


def chain(seed: int = 1, rows: int = ROWS) -> dict[str, Any]:
    """a --> b --> c as levels; none of it is a close call."""
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=rows)
    b = a ^ (rng.random(rows) < 0.2)
    c = b ^ (rng.random(rows) < 0.2)
    free = rng.integers(2, size=rows)
    columns = {"a": a, "b": b, "c": c, "free": free}
    return {name: np.where(codes, "yes", "no").tolist() for name, codes in columns.items()}


def schema() -> Schema:
    columns = (Column(name=n, kind="categorical", levels=("no", "yes")) for n in chain(rows=1))
    return Schema(name="people", columns=tuple(columns))


@pytest.fixture(scope="module")
def found() -> Discovery:
    """With an alpha at which noise joins or parts nothing in a million runs."""
    return privet.discover(chain(), schema(), epsilon=4, delta=1e-6, ledger=":memory:", alpha=1e-6)


def close(test: Answer, truth: float) -> bool:
    """Within 1.5 widths of its interval, which is nearly 6 deviations."""
    return abs(test.effect - truth) < 1.5 * (test.high - test.low) < 0.15


def test_what_is_not_certain_is_not_told_as_if_it_were() -> None:
    assert [share(each) for each in (0.17, 0.994, 0.999, 1.0)] == ["0.17", "0.99", "0.99", "1.00"]


def test_a_joined_pair(found: Discovery) -> None:
    told = found.explain("b", "a")
    assert told.mark is not None and told.text.startswith("b and a are joined (")
    assert told.what == "Cramér's V" and told.confidence is not None
    first, *more = told.tests
    assert first.given == () and close(first, 0.6)
    assert first.joins and "more than a billion to 1 for a dependence" in told.text
    assert {"c"} in [set(test.given) for test in more] and share(told.confidence) in told.text


def test_a_pair_that_a_third_column_explains(found: Discovery) -> None:
    told = found.explain("a", "c")
    assert told.mark is None and told.text.startswith("a and c are not joined.")
    nothing, given = told.tests[:2]
    assert nothing.joins and nothing.low > 0.25 and given.given == ("b",)
    assert not given.joins and given.low < 0.05 and given.high < 0.1
    assert "Given b, " in told.text and told.decided_by == "tests"
    assert told.decided_given == ("b",) and told.association is not None
    assert told.association.sign == "+" and "a = yes goes with c = yes" in told.text


def test_numbers_have_partial_correlations() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=ROWS)
    y = x + rng.normal(size=ROWS)
    z = y + rng.normal(size=ROWS)
    bounds = (-20.0, 20.0)
    columns = tuple(Column(name=n, kind="numeric", bounds=bounds) for n in "xyz")
    table = {"x": x.tolist(), "y": y.tolist(), "z": z.tolist()}
    budget = {"epsilon": 4, "delta": 1e-6, "ledger": ":memory:", "alpha": 1e-6}
    result = privet.discover(table, Schema(name="n", columns=columns), **budget)  # type: ignore[arg-type]
    told = result.explain("x", "z")
    assert told.what == "partial correlation"
    nothing, given = told.tests[:2]
    assert close(nothing, 1 / sqrt(3)) and given.given == ("y",) and close(given, 0.0)


def test_what_knowledge_settles_is_said(found: Discovery) -> None:
    known = replace(
        schema(),
        knowledge=privet.Knowledge(
            required=frozenset({("a", "b")}), forbidden=frozenset({("b", "c"), ("c", "b")})
        ),
    )
    again = privet.discover(evidence=found.evidence, schema=known)
    assert "requires this arrow" in again.explain("a", "b").text
    assert "forbids it" in again.explain("b", "c").text


def test_several_sites_are_read_together(tmp_path: Path) -> None:
    sent = [
        privet.discover(
            chain(seed),
            schema(),
            epsilon=4,
            delta=1e-6,
            ledger=tmp_path / f"{seed}.db",
            site=f"site-{seed}",
        ).evidence
        for seed in (1, 2)
    ]
    told = privet.combine(*sent).explain("a", "b")
    assert close(told.tests[0], 0.6)


def test_the_command_reads_the_folder_and_nothing_else(
    found: Discovery, tmp_path: Path, capsys: Any
) -> None:
    found.save(tmp_path / "out")
    assert main(["explain", str(tmp_path / "out"), "a", "c"]) == 0
    shown = capsys.readouterr().out
    assert found.explain("a", "c").text in shown and "nothing" in shown
    assert main(["explain", str(tmp_path / "out"), "a", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps(found.explain("a", "c").to_dict())
    )


def test_bad_questions_are_refused(found: Discovery, tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SchemaError, match="did you mean 'free'"):
        found.explain("a", "fre")
    with pytest.raises(SchemaError, match="two different"):
        found.explain("a", "a")
    other = privet.discover(
        chain(rows=2000), schema(), epsilon=4, delta=1e-6, ledger=":memory:", method="svt-pc"
    )
    with pytest.raises(EvidenceError, match="no effects of pairs"):
        other.explain("a", "b")
    found.save(tmp_path / "out")
    cases = {
        "no folder": [str(tmp_path / "nowhere"), "a", "b"],
        "did you mean 'free'": [str(tmp_path / "out"), "a", "fre"],
    }
    for said, words in cases.items():
        assert main(["explain", *words]) == 2 and said in capsys.readouterr().err
    (tmp_path / "out" / "certificate.json").write_text("{}")
    assert main(["explain", str(tmp_path / "out"), "a", "b"]) == 2
    assert "damaged" in capsys.readouterr().err
    (tmp_path / "out" / "graph.json").rename(tmp_path / "out" / "orientation.json")
    assert main(["explain", str(tmp_path / "out"), "a", "b"]) == 2
    assert "no graph" in capsys.readouterr().err
