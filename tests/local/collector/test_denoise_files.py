"""Denoised tables from files: the file is counted, never held; the same answer as from memory."""

from __future__ import annotations

from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.errors import MethodError
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.collector.collect import denoise
from privet.local.collector.ibu import CLOSE, denoised
from privet.local.collector.tally import tallies_of
from privet.local.device.files import randomize_file
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.reports import schema_of

SIZES = (2, 3, 2)
TABLES = {
    "planned-block": 4,
    "one-pair": 2,
    "one-triple": 3,
    "combined": 3,
    "parity": 1,
    "component-wise": 6,
    "geometric": 6,
    "geometric-combined": 3,
}
PEOPLE = 3000


def answers(sizes: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet(np.ones(prod(sizes)))
    return np.stack(np.unravel_index(rng.choice(prod(sizes), PEOPLE, p=shares), sizes), axis=1)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_gives_the_table_that_its_reports_give(name: str, kind: str, tmp_path: Path) -> None:
    """Counted by another way than in memory; nobody else's report gets in."""
    protocol = plan_protocol(schema_of(SIZES), TABLES[name], name)
    codes = answers(SIZES)
    header = ",".join(protocol.schema.names)
    lines = "\n".join(",".join(map(str, row)) for row in codes.tolist())
    (tmp_path / "answers.csv").write_text(f"{header}\n{lines}\n")
    path = randomize_file(tmp_path / "answers.csv", protocol, tmp_path / f"r.{kind}").reports
    read = read_back(path, protocol)
    for columns in (["x1"], ["x2", "x1"], ["x0", "x1", "x2"]):
        found = denoise(path, protocol, columns, most_steps=200)
        known = denoised(protocol, tallies_of(protocol, read), columns, most_steps=200)
        assert found.table == pytest.approx(known.table, abs=1e-9)
        assert (found.people, found.iterations) == (known.people, known.iterations)
        assert found.short == pytest.approx(known.short, rel=1e-6, abs=1e-6)
        assert found.converged == (found.short <= CLOSE)


def read_back(path: Path, protocol: Protocol) -> dict[str, Any]:
    import duckdb

    names = ", ".join(protocol.report_columns)
    shown = duckdb.execute(f"SELECT {names} FROM '{path}'").fetchnumpy()
    return {name: np.asarray(shown[name]).astype(np.int64) for name in protocol.report_columns}


def test_with_little_noise_it_is_the_table_of_the_answers() -> None:
    """Who is asked what is left to chance: 0.08 is more than 6 deviations of the least asked about
    pair's parities, so it is exceeded less than once in a million runs."""
    codes = np.tile(answers(SIZES), (10, 1))
    truth = np.zeros(SIZES)
    np.add.at(truth, tuple(codes.T), 1 / len(codes))
    for name in TABLES:
        protocol = plan_protocol(schema_of(SIZES), 60, name)
        made = Randomizer(protocol).report_codes(codes)
        reports = {"protocol": np.array([protocol.id] * len(codes), dtype=object), **made}
        for pair in combinations(range(3), 2):
            found = denoise(reports, protocol, [f"x{i}" for i in pair], most_steps=2000)
            other = ({0, 1, 2} - set(pair)).pop()
            assert found.table == pytest.approx(truth.sum(axis=other), abs=0.08), name


def test_signs_have_tables_and_products_have_none() -> None:
    columns = (Column(name=f"x{i}", kind="numeric", bounds=(-1.0, 1.0)) for i in range(3))
    schema = Schema(name="numbers", columns=tuple(columns))
    for name, epsilon in (("sign-bit", 1), ("sign-block", 4)):
        protocol = plan_protocol(schema, epsilon, name)
        made = Randomizer(protocol).report_codes(np.ones((PEOPLE, 3), dtype=np.int64))
        reports = {"protocol": np.array([protocol.id] * PEOPLE, dtype=object), **made}
        found = denoise(reports, protocol, ["x0", "x1"])
        assert found.table.shape == (2, 2) and found.table.sum() == pytest.approx(1)
        same = found.table[0, 0] + found.table[1, 1]
        assert same > 0.8  # both above their centres, so on the same side
    protocol = plan_protocol(schema, 4, "piecewise")
    made = Randomizer(protocol).report_codes(np.full((PEOPLE, 3), 64, dtype=np.int64))
    reports = {"protocol": np.array([protocol.id] * PEOPLE, dtype=object), **made}
    with pytest.raises(MethodError, match="products of numbers"):
        denoise(reports, protocol, ["x0", "x1"])
    with pytest.raises(MethodError, match="no column 'y'"):
        denoise(reports, protocol, ["y"])


def test_a_table_of_too_many_cells_is_refused() -> None:
    protocol = plan_protocol(schema_of((9,) * 8), 8, "component-wise")
    made = Randomizer(protocol).report_codes(np.zeros((10, 8), dtype=np.int64))
    reports = {"protocol": np.array([protocol.id] * 10, dtype=object), **made}
    with pytest.raises(MethodError, match="fewer columns"):
        denoise(reports, protocol, protocol.schema.names)
    assert denoise(reports, protocol, ["x7", "x3"]).table.shape == (9, 9)
