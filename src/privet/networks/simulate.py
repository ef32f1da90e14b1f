"""Rows from a known model, with what a user would know of them and what is true of them.

`asia.csv` comes with `asia.schema.toml`, all that is public, and `asia.truth.json`, the graph.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError, OutputError
from privet.graph.formats.files import to_json
from privet.networks import LinearGaussian, Network, load, random_linear_gaussian, random_network
from privet.schema.names import clean_name

Model = Network | LinearGaussian


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """The files of one simulation."""

    data: Path
    schema: Path
    truth: Path


def simulate(
    model: str | Model, *, rows: int, seed: int, output: str | Path, force: bool = False
) -> Simulated:
    """Draw `rows` rows from a benchmark network (by name) or a model, into .csv or .parquet.

    The same seed gives the same rows as `model.sample(rows, numpy.random.default_rng(seed))`.
    """
    files = _check(rows, seed, output, force)
    model = load(model) if isinstance(model, str) else model
    return _write(model, rows, np.random.default_rng(seed), files)


def simulate_random(
    *,
    nodes: int,
    sparseness: float,
    rows: int,
    seed: int,
    output: str | Path,
    levels: tuple[int, int] = (2, 5),
    gaussian: bool = False,
    force: bool = False,
) -> Simulated:
    """The same from a random model; the seed fixes the model whatever the number of rows.

    `levels` is the range of numbers of levels; a Gaussian model has none.
    """
    files = _check(rows, seed, output, force)
    rng = np.random.default_rng(seed)
    model: Model
    if gaussian:
        model = random_linear_gaussian(nodes, density=sparseness, rng=rng)
    else:
        model = random_network(nodes, sparseness=sparseness, levels=levels, rng=rng)
    return _write(model, rows, rng, files)


def _check(rows: int, seed: int, output: str | Path, force: bool) -> Simulated:
    for what, value, least in (("rows", rows, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise DataError(f"{what} = {value!r}; give a whole number of at least {least}")
    data = Path(output)
    if data.suffix not in _WRITERS:
        raise OutputError(
            f"{str(output)!r} does not say what to write; "
            f"name a file that ends in {' or '.join(_WRITERS)}"
        )
    schema, truth = (data.with_suffix(suffix) for suffix in (".schema.toml", ".truth.json"))
    for path in (data, schema, truth):
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; choose another name for the output")
        if path.exists() and not force:
            raise OutputError(
                f"{str(path)!r} exists; choose another name, or use --force to replace it"
            )
    return Simulated(data=data, schema=schema, truth=truth)


def _write(model: Model, rows: int, rng: np.random.Generator, files: Simulated) -> Simulated:
    """Write beside the targets and move into place at the end: no half-written files."""
    folder = files.data.parent
    schema = model.schema(clean_name(files.data.stem))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".privet-") as scratch:
            paths = (files.data, files.schema, files.truth)
            parts = {path: Path(scratch) / path.name for path in paths}
            _WRITERS[files.data.suffix](model, rows, rng, parts[files.data])
            parts[files.schema].write_text(schema.to_toml(), encoding="utf-8")
            parts[files.truth].write_text(to_json(model.graph()), encoding="utf-8")
            for path, part in parts.items():
                os.replace(part, path)
    except OSError as error:
        raise OutputError(
            f"cannot write {str(files.data)!r} ({error.strerror}); choose another place"
        ) from None
    return files


def _write_csv(model: Model, rows: int, rng: np.random.Generator, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(model.names)
        for block in model.blocks(rows, rng):
            cells = (_texts(model, name, drawn) for name, drawn in block.items())
            writer.writerows(zip(*cells, strict=True))


def _texts(model: Model, name: str, drawn: NDArray[Any]) -> list[Any]:
    """The cells of a column from what was drawn: numbers, or the labels of levels."""
    if isinstance(model, LinearGaussian):
        return list(drawn.tolist())
    return list(np.array(model.levels[name], dtype=object)[drawn])


def _write_parquet(model: Model, rows: int, rng: np.random.Generator, path: Path) -> None:
    """By way of a DuckDB file in the scratch folder, so that memory stays small."""
    import duckdb

    plain = [f"c{i}" for i in range(len(model.names))]
    kind = "DOUBLE" if isinstance(model, LinearGaussian) else "UTINYINT"
    try:
        with duckdb.connect(str(path.with_suffix(".duckdb"))) as base:
            base.execute("SET enable_progress_bar = false; SET memory_limit = '1GB'")
            base.execute(f"CREATE TABLE drawn ({', '.join(f'{c} {kind}' for c in plain)})")
            for block in model.blocks(rows, rng):
                base.register("block", dict(zip(plain, block.values(), strict=True)))
                base.execute("INSERT INTO drawn SELECT * FROM block")
                base.unregister("block")
            cells = ", ".join(_cell(model, i) for i in range(len(plain)))
            base.execute(f"COPY (SELECT {cells} FROM drawn) TO {_quoted(path)} (FORMAT parquet)")
    except duckdb.Error:
        raise OutputError(
            f"cannot write {str(path.name)!r} as Parquet; is there space on the disk?"
        ) from None


def _cell(model: Model, column: int) -> str:
    """SQL for the cells of a column from what was drawn."""
    name = '"' + model.names[column].replace('"', '""') + '"'
    if isinstance(model, LinearGaussian):
        return f"c{column} AS {name}"
    levels = ", ".join(_quoted(level) for level in model.levels[model.names[column]])
    return f"([{levels}]::ENUM({levels})[])[c{column} + 1] AS {name}"  # much faster than texts


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


_WRITERS: dict[str, Callable[[Model, int, np.random.Generator, Path], None]] = {
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
