from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from privet.errors import DataError, OutputError
from privet.graph.formats.files import load as load_graph
from privet.networks import Network, load, random_linear_gaussian
from privet.networks.network import BLOCK
from privet.networks.simulate import Simulated, simulate, simulate_random
from privet.schema.model import Schema


def rows_of(path: Path) -> list[tuple[str, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [tuple(row) for row in csv.reader(file)]


def test_three_files_are_written(tmp_path: Path) -> None:
    files = simulate("asia", rows=100, seed=0, output=tmp_path / "new" / "asia.csv")
    folder = tmp_path / "new"
    assert files == Simulated(
        data=folder / "asia.csv",
        schema=folder / "asia.schema.toml",
        truth=folder / "asia.truth.json",
    )
    assert sorted(os.listdir(folder)) == ["asia.csv", "asia.schema.toml", "asia.truth.json"]
    assert Schema.load(files.schema) == load("asia").schema()
    assert load_graph(files.truth) == load("asia").graph()
    truth = json.loads(files.truth.read_text())
    assert truth["kind"] == "dag" and {"from": "asia", "to": "tub", "mark": "-->"} in truth["edges"]


def test_cells_are_the_labels_of_the_sample(tmp_path: Path) -> None:
    rows = BLOCK + 7
    files = simulate("survey", rows=rows, seed=3, output=tmp_path / "s.csv")
    network = load("survey")
    sample = network.sample(rows, np.random.default_rng(3))
    header, *cells = rows_of(files.data)
    assert header == network.names and len(cells) == rows
    for j, name in enumerate(network.names):
        assert [row[j] for row in cells] == [network.levels[name][c] for c in sample[name]]


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    rows = BLOCK + 7
    text = simulate("survey", rows=rows, seed=3, output=tmp_path / "s.csv")
    packed = simulate("survey", rows=rows, seed=3, output=tmp_path / "it's.parquet")
    relation = duckdb.read_parquet(str(packed.data))
    assert [tuple(relation.columns), *relation.fetchall()] == rows_of(text.data)
    assert "it's.duckdb" not in os.listdir(tmp_path)


def test_seeds_reproduce_bytes(tmp_path: Path) -> None:
    written = [
        simulate("asia", rows=500, seed=seed, output=tmp_path / f"{i}.csv").data.read_bytes()
        for i, seed in enumerate((1, 1, 2))
    ]
    assert written[0] == written[1] != written[2]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_odd_names_and_levels(tmp_path: Path, suffix: str) -> None:
    name, levels = 'a "b", c', ("it's", 'say "x", y')
    half = np.full((1, 2), 0.5)
    network = Network(
        name="odd",
        names=(name, "z"),
        levels={name: levels, "z": ("0", "1")},
        parents={name: (), "z": ()},
        tables={name: half, "z": half},
    )
    files = simulate(network, rows=50, seed=0, output=tmp_path / f"odd{suffix}")
    relation = duckdb.sql(f"FROM '{files.data}'")
    assert relation is not None
    assert relation.columns == [name, "z"]
    assert {row[0] for row in relation.fetchall()} == set(levels)
    assert Schema.load(files.schema).column(name).levels == levels


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_gaussian_rows_are_written_to_the_last_digit(tmp_path: Path, suffix: str) -> None:
    options: dict[str, Any] = {"nodes": 4, "density": 0.5, "gaussian": True}
    files = simulate_random(**options, rows=200, seed=9, output=tmp_path / f"g{suffix}")
    rng = np.random.default_rng(9)
    model = random_linear_gaussian(4, density=0.5, rng=rng)
    sample = model.sample(200, rng)
    if suffix == ".csv":
        cells = np.array(rows_of(files.data)[1:], dtype=float)
    else:
        cells = np.array(duckdb.read_parquet(str(files.data)).fetchall())
    assert np.array_equal(cells, np.column_stack([sample[name] for name in model.names]))
    assert load_graph(files.truth) == model.graph()
    assert Schema.load(files.schema).columns[0].bounds == (-4, 4)


def test_the_seed_fixes_the_random_model(tmp_path: Path) -> None:
    wish: dict[str, Any] = {"nodes": 10, "density": 0.2, "levels": (2, 4), "seed": 4}
    small = simulate_random(**wish, rows=10, output=tmp_path / "small.csv")
    large = simulate_random(**wish, rows=1000, output=tmp_path / "large.csv")
    assert small.truth.read_text() == large.truth.read_text()
    assert rows_of(small.data) == rows_of(large.data)[:1] + rows_of(small.data)[1:]
    schema = Schema.load(large.schema)
    assert schema.name == "large" and all(2 <= len(c.levels) <= 4 for c in schema.columns)


@pytest.mark.parametrize("taken", ["asia.csv", "asia.schema.toml", "asia.truth.json"])
def test_nothing_is_overwritten_without_force(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_text("mine")
    with pytest.raises(OutputError, match=f"{taken}.*force=True"):
        simulate("asia", rows=5, seed=0, output=tmp_path / "asia.csv")
    assert os.listdir(tmp_path) == [taken] and (tmp_path / taken).read_text() == "mine"
    simulate("asia", rows=5, seed=0, output=tmp_path / "asia.csv", force=True)
    assert len(os.listdir(tmp_path)) == 3 and (tmp_path / taken).read_text() != "mine"


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"rows": 0}, DataError, "rows = 0"),
        ({"rows": 1.5}, DataError, "1.5"),
        ({"rows": True}, DataError, "True"),
        ({"seed": -1}, DataError, "seed = -1"),
        ({"seed": "1"}, DataError, "'1'"),
        ({"seed": None}, DataError, "None"),
        ({"model": "asai"}, DataError, "'asia'"),
        ({"output": "asia.txt"}, OutputError, ".csv or .parquet"),
        ({"output": "asia"}, OutputError, ".csv or .parquet"),
        ({"output": "folder.csv", "force": True}, OutputError, "folder"),
        ({"output": "file/asia.csv"}, OutputError, "cannot write"),
    ],
)
def test_bad_wishes_write_nothing(
    tmp_path: Path, change: dict[str, Any], error: type[Exception], said: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    wish: dict[str, Any] = {"model": "asia", "rows": 5, "seed": 0, "output": "asia.csv"}
    wish |= change
    model, output = wish.pop("model"), tmp_path / wish.pop("output")
    with pytest.raises(error, match=said):
        simulate(model, output=output, **wish)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.csv"]


def test_a_failure_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Network, "blocks", fail)
    with pytest.raises(OutputError, match="No space"):
        simulate("asia", rows=5, seed=0, output=tmp_path / "asia.csv")
    assert os.listdir(tmp_path) == []
