"""Without privacy, tests may have more columns given than interactions serve.

The tables here hold every row as often as the truth says, so nothing is left to chance: what is
independent in the truth is so in the table.
"""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import privet
from privet.cli.main import main
from privet.errors import EvidenceError, MethodError
from privet.evidence.exact_tables import ExactTables
from privet.evidence.table_replicas import PairNoise, table_replicas
from privet.evidence.tables import TableEvidence, components_query
from privet.independence import chi2
from privet.independence import exact_tables as counted
from privet.independence.exact_tables import ExactTableJudge
from privet.independence.tables import TableJudge
from privet.methods.sources import exact as exact_source
from privet.privacy.queries.base import Release
from privet.privacy.queries.tables import Components
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.central import Central

MIDDLES = "abcd"


def through(middles: int, copies: int = 1) -> dict[str, list[str]]:
    """x is a cause of each of the middles, and these of y: only all of them separate x and y."""
    rows: list[tuple[int, ...]] = []
    for x, *middle in product((0, 1), repeat=middles + 1):
        often = 3 ** sum(m == x for m in middle) * copies
        ones = 1 + sum(middle)  # of middles + 2
        for y, share in ((1, ones), (0, middles + 2 - ones)):
            rows += [(x, *middle, y)] * (often * share)
    names = ("x", *MIDDLES[:middles], "y")
    return {name: [str(row[i]) for row in rows] for i, name in enumerate(names)}


def binary(data: dict[str, list[str]]) -> Schema:
    columns = (Column(name=n, kind="categorical", levels=("0", "1")) for n in data)
    return Schema(name="people", columns=tuple(columns))


def discover(data: Any, order: int | None, method: str = "pc", **options: Any) -> privet.Discovery:
    return privet.discover(
        data, binary(data), private=False, method=method, max_order=order, **options
    )


def joined(found: privet.Discovery) -> set[frozenset[str]]:
    return {frozenset((edge.source, edge.target)) for edge in found.graph.edges}


def truth(middles: int) -> set[frozenset[str]]:
    return {frozenset((end, m)) for end in "xy" for m in MIDDLES[:middles]}


@pytest.mark.parametrize("method", ["pc", "fci", "rfci", "mmhc"])
@pytest.mark.parametrize("middles", [3, 4])
def test_an_edge_that_only_so_many_columns_explain(method: str, middles: int) -> None:
    data = through(middles, 20 if middles == 3 else 4)
    assert joined(discover(data, middles, method)) == truth(middles)
    fewer = discover(data, middles - 1, "pc")
    assert joined(fewer) == truth(middles) | {frozenset("xy")}


@pytest.mark.parametrize("middles", [3, 4])
def test_the_skeleton_is_that_of_causal_learn(middles: int) -> None:
    from causallearn.search.ConstraintBased.PC import pc

    data = through(middles, 20 if middles == 3 else 4)
    values = np.array([[int(cell) for cell in column] for column in data.values()]).T
    names = tuple(data)
    theirs = pc(values, 0.01, "chisq", show_progress=False).G.graph != 0
    pairs = {frozenset((names[i], names[j])) for i, j in np.argwhere(theirs).tolist()}
    assert joined(discover(data, middles)) == pairs


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(2, 4), min_size=4, max_size=4))
def test_counted_tables_give_the_test_that_interactions_give(seed: int, sizes: list[int]) -> None:
    """With two columns given both can be had. A stratum of exactly ten rows may count in the one
    and not in the other, by a rounding error."""
    counts = np.random.default_rng(seed).poisson(3, sizes)
    assume(not any((counts.sum(axis=pair) == 10).any() for pair in ((0, 1), (2, 0))))
    _, evidence, tables = exact(counts)
    question = np.array([[0, 1, 2, 3], [2, 0, 3, 1]], dtype=np.intp)
    old = chi2.pooled(evidence, question)
    new = chi2.pooled_counted(evidence, question, tables.tables)
    np.testing.assert_allclose(new.statistic, old.statistic, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(new.log_bayes, old.log_bayes, rtol=1e-6, atol=1e-6)
    assert (new.freedom == old.freedom).all()


def exact(counts: NDArray[np.int64]) -> tuple[Schema, TableEvidence, ExactTables]:
    """A schema, all interactions of up to three columns, and a source of tables."""
    names = [f"v{i}" for i in range(counts.ndim)]
    cells = [
        np.repeat(level.reshape(-1), counts.reshape(-1)).astype(str).tolist()
        for level in np.indices(counts.shape)
    ]
    columns = (
        Column(name=name, kind="categorical", levels=tuple(map(str, range(size))))
        for name, size in zip(names, counts.shape, strict=True)
    )
    schema = Schema(name="people", columns=tuple(columns))
    curator = Central.open(dict(zip(names, cells, strict=True)), schema, None)
    releases: list[Release] = [curator.exact(Components(((),)))]
    for order in (1, 2, 3):
        sets = list(combinations(range(counts.ndim), order))
        releases.append(curator.exact(components_query(schema.names, sets)))
    evidence = TableEvidence.from_releases(schema, schema.names, releases)
    return schema, evidence, ExactTables.from_releases(schema, (), curator.exact)


def test_a_table_that_is_too_wide_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    _, evidence, tables = exact(np.full((2, 2, 2, 2, 3), 10))
    judge = ExactTableJudge(evidence, tables, TableJudge(evidence, 0.1))
    question = np.array([[0, 1, 2, 3, 4]], dtype=np.intp)
    assert judge.margins(question)[0] < 0
    cells = tables.cells()
    assert cells == 2 * 2**3 * 3
    monkeypatch.setattr(counted, "WIDEST_TABLE", 2**3 * 3 - 1)
    assert judge.margins(question)[0] == np.inf and tables.cells() == cells


@pytest.mark.parametrize(("rows", "answered"), [(9, False), (10, True)])
def test_strata_must_hold_rows(rows: int, answered: bool) -> None:
    """So many for each cell of the whole table; with fewer given, tests pool what there is."""
    _, evidence, tables = exact(np.full((2, 2, 2, 2, 2), rows))
    judge = ExactTableJudge(evidence, tables, TableJudge(evidence, 0.1))
    assert (judge.margins(np.array([[0, 1, 2, 3, 4]]))[0] < 0) == answered
    assert np.isfinite(judge.margins(np.array([[0, 1, 2, 3]]))[0])
    assert tables.cells() == (2 * 2**4 if answered else 0)


def test_a_search_that_is_not_told_gives_three_columns() -> None:
    """Which explain an edge that two do not; the certificate says so. On saved evidence that lacks
    a table the question is left open, unless the search is told to ask it."""
    table = through(3, 20)
    told, found = discover(table, 3), discover(table, None)
    assert joined(found) == truth(3) == joined(told) != joined(discover(table, 2))
    assert found.certificate["options"]["max_order"] == 3
    assert found.absences == told.absences and len(found.absences)
    fewer = discover(table, 2).evidence
    assert joined(privet.discover(evidence=fewer)) == joined(discover(table, 2))
    assert discover(table, None, "fci").certificate["options"]["max_order"] == 2


def test_the_first_look_answers_what_the_search_would_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = discover(through(3, 20), None)
    nothing = property(lambda _: None, lambda _look, _pooled: None)
    monkeypatch.setattr(exact_source.FirstLook, "pooled", nothing, raising=False)
    anew = discover(through(3, 20), None)
    assert anew.graph == kept.graph and anew.absences == kept.absences


def test_too_many_cells_are_refused_in_these_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "MOST_CELLS", 20)
    monkeypatch.setattr(counted, "WIDEST_TABLE", 16)
    with pytest.raises(MethodError, match=r"16 cells|32 cells") as refused:
        discover(through(3, 20), 3)
    assert "max_order=2" in str(refused.value) and "budget" not in str(refused.value)


@pytest.mark.parametrize("method", ["pc", "fci", "mmhc"])
def test_saved_evidence_gives_the_same_graph_again(method: str, tmp_path: Path) -> None:
    found = discover(through(3, 20), 3, method)
    found.save(tmp_path / "out")
    again = privet.discover(evidence=tmp_path / "out" / "evidence.json", max_order=3)
    assert again.graph == found.graph
    if method == "mmhc":  # whose scores have asked for larger tables anyway
        return
    fewer = discover(through(3, 20), 2, method)
    with pytest.raises(EvidenceError, match=r"never counted.*private=False"):
        privet.discover(evidence=fewer.evidence, max_order=3)


def test_another_seed_asks_nothing_that_is_not_there() -> None:
    found = discover(through(3, 20), 3)
    again = privet.discover(evidence=found.evidence, max_order=3, seed=7)
    assert joined(again) == truth(3)


def test_replicas_doubt_a_separation_as_they_should() -> None:
    """Where the table says independence exactly, most replicas do so too."""
    found = discover(through(3, 20), 3)
    assert all(edge.confidence and edge.confidence > 0.5 for edge in found.graph.edges)
    _, evidence, tables = exact(np.full((2, 2, 2, 2, 2), 50))
    few = TableJudge(evidence, 0.1)
    question = np.array([[0, 1, 2, 3, 4]], dtype=np.intp)
    noise = PairNoise(evidence, table_replicas(evidence, 10_000, np.random.default_rng(0)))
    tested = chi2.pooled_counted(evidence, question, tables.tables, noise)
    assert tested.statistic.shape == (10_000, 1)
    # a chi-square with 1 degree of freedom: its mean is within 5 standard errors (1e-6)
    assert abs(tested.statistic.mean() - 1) < 5 * np.sqrt(2 / 10_000)
    assert ExactTableJudge(evidence, tables, few).margins(question)[0] < 0


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = through(4)
    lines = [",".join(data), *(",".join(row) for row in zip(*data.values(), strict=True))]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "s.toml").write_text(binary(data).to_toml())
    words = ["discover", str(tmp_path / "d.csv"), "--schema", str(tmp_path / "s.toml")]
    words += ["--no-privacy", "--output", str(tmp_path / "out"), "--force", "--max-order"]
    assert main([*words, "5"]) == 0
    assert main([*words, "9"]) == 2
    said = capsys.readouterr().err
    assert "--max-order is 9" in said and "use 0 to 8" in said and "budget" not in said


def test_numbers_too(tmp_path: Path) -> None:
    """Fisher's z with four columns given; 16 rows for each corner of a design, so all is exact."""
    rows = []
    for x, a, b, c, d, e in product((-1, 1), repeat=6):
        rows.append((x, x + 2 * a, x + 2 * b, x + 2 * c, x + 2 * d, 0))
        m = rows[-1]
        rows[-1] = (*m[:5], sum(m[1:5]) + 4 * e)
    values = np.array(rows * 40, dtype=float)
    names = ("x", "a", "b", "c", "d", "y")
    columns = tuple(Column(name=n, kind="numeric", bounds=(-20, 20), missing="drop") for n in names)
    data = {n: values[:, i].tolist() for i, n in enumerate(names)}
    schema = Schema(name="p", columns=columns)
    for order, more in ((4, set()), (3, {frozenset("xy")})):
        found = privet.discover(data, schema, private=False, method="pc", max_order=order)
        assert joined(found) == truth(4) | more
    refined = privet.discover(data, schema, private=False, method="refined-pc", max_order=2)
    assert joined(refined) == truth(4), "the graph that two columns leave is held against four"
