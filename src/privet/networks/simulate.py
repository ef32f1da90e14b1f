"""Rows from a known model, with what a user would know of them and what is true of them.

`asia.csv` comes with `asia.schema.toml`, all that is public, and `asia.truth.json`, the graph.
Rows of several sites are a folder: `site-1.csv`, `site-2.csv`, ..., one `schema.toml` and one
`truth.json`.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError, OutputError, expect
from privet.files.bar import without_bar
from privet.graph.formats.files import to_json
from privet.networks import LinearGaussian, load, random_linear_gaussian, random_network
from privet.networks.sites import Model, check_sites, site_name, sites_of
from privet.schema.model import MOST_ROWS
from privet.schema.names import clean_name

Source = Model | str
Writer = Callable[[Path], object]


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """The files of one simulation; of several sites, ``data`` is their folder."""

    data: Path
    schema: Path
    truth: Path
    sites: tuple[Path, ...] = ()


def simulate(
    model: Source,
    *,
    rows: int,
    seed: int,
    output: str | Path,
    force: bool = False,
    sites: int | None = None,
    differ: str = "none",
) -> Simulated:
    """Draw `rows` rows from a benchmark network (by name) or a model, into .csv or .parquet.

    The same seed gives the same rows as `model.sample(rows, numpy.random.default_rng(seed))`.
    With `sites`, so many rows at each of so many sites of one graph, into the folder `output`;
    `differ` says how their mechanisms differ (none, root, tilt, all: see `networks.sites`).

    >>> made = privet.simulate("asia", rows=10, seed=1, output="asia.csv")
    >>> made.schema.name, made.truth.name
    ('asia.schema.toml', 'asia.truth.json')
    """
    files = _check(rows, seed, output, force, sites, differ)
    if not isinstance(model, str) and not hasattr(model, "sample"):
        raise DataError(f"the model is a {type(model).__name__}; give the name of a network")
    known = load(model) if isinstance(model, str) else model
    if sites is not None:
        return _write_sites(known, rows, seed, files, differ)
    return _write(known, rows, np.random.default_rng(seed), files)


def simulate_random(
    *,
    nodes: int,
    density: float,
    rows: int,
    seed: int,
    output: str | Path,
    levels: tuple[int, int] = (2, 5),
    gaussian: bool = False,
    force: bool = False,
    sites: int | None = None,
    differ: str = "none",
) -> Simulated:
    """The same from a random model; the seed fixes the model whatever the number of rows.

    `levels` is the range of numbers of levels; a Gaussian model has none.

    >>> made = privet.simulate_random(
    ...     nodes=5, density=0.4, rows=10, seed=1, output="random.csv", gaussian=True
    ... )
    >>> privet.load_graph(made.truth).kind
    'dag'
    """
    files = _check(rows, seed, output, force, sites, differ)
    expect(density, (int, float), "density", "give a number from 0 to 1", DataError)
    expect(levels, (list, tuple), "levels", "give the fewest and the most levels", DataError)
    if len(levels) != 2:
        raise DataError(f"levels = {levels!r}; give the fewest and the most levels")
    expect(gaussian, bool, "gaussian", "give True or False", DataError)
    rng = np.random.default_rng(seed)
    model: Model
    if gaussian:
        model = random_linear_gaussian(nodes, density=density, rng=rng)
    else:
        model = random_network(nodes, density=density, levels=levels, rng=rng)
    if sites is not None:
        return _write_sites(model, rows, seed, files, differ)
    return _write(model, rows, rng, files)


def _check(
    rows: int, seed: int, output: str | Path, force: bool, sites: int | None, differ: str
) -> Simulated:
    for what, value, least in (("rows", rows, 1), ("seed", seed, 0)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise DataError(f"{what} = {value!r}; give a whole number of at least {least}")
    if rows > MOST_ROWS:
        raise DataError(f"more than {MOST_ROWS:,} rows were asked for; give a smaller number")
    expect(output, (str, Path), "output", "give the path of a file to write", OutputError)
    expect(force, bool, "force", "give True or False", OutputError)
    expect(differ, str, "differ", "give none, root, tilt or all", DataError)
    files = _files(Path(output)) if sites is None else _site_files(Path(output), sites, differ)
    if sites is None and differ != "none":
        raise DataError(
            f"differ = {differ!r} says how sites differ, but there are none; give a number of "
            "sites, such as 5, or leave it away"
        )
    for path in _paths(files):
        expect(path, Path, "output", "give a shorter path of a file to write", OutputError)
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; choose another name for the output")
        if path.exists() and not force:
            raise OutputError(
                f"{str(path)!r} exists; choose another name, or use ⟦force=True⟧ to replace it"
            )
    return files


def _files(data: Path) -> Simulated:
    if data.suffix not in _WRITERS:
        raise OutputError(
            f"{str(data)!r} does not say what to write; "
            f"name a file that ends in {' or '.join(_WRITERS)}"
        )
    schema, truth = (data.with_suffix(suffix) for suffix in (".schema.toml", ".truth.json"))
    return Simulated(data=data, schema=schema, truth=truth)


def _site_files(folder: Path, sites: int, differ: str) -> Simulated:
    check_sites(sites, differ)
    if folder.suffix in _WRITERS or (folder.exists() and not folder.is_dir()):
        raise OutputError(
            f"{str(folder)!r} is no folder, but the rows of {sites} sites are one file each; name "
            "a folder"
        )
    return Simulated(
        data=folder,
        schema=folder / "schema.toml",
        truth=folder / "truth.json",
        sites=tuple(folder / f"{site_name(number)}.csv" for number in range(1, sites + 1)),
    )


def _paths(files: Simulated) -> tuple[Path, ...]:
    return (*(files.sites or (files.data,)), files.schema, files.truth)


def _write(model: Model, rows: int, rng: np.random.Generator, files: Simulated) -> Simulated:
    writer = partial(_WRITERS[files.data.suffix], model, rows, rng)
    _write_all(model, files, {files.data: writer}, clean_name(files.data.stem))
    return files


def _write_sites(model: Model, rows: int, seed: int, files: Simulated, differ: str) -> Simulated:
    made = sites_of(model, len(files.sites), differ=differ, seed=seed)
    writers = {
        path: partial(_write_csv, site.model, rows, site.rng())
        for path, site in zip(files.sites, made, strict=True)
    }
    _write_all(model, files, writers, model.name)
    return files


def _write_all(model: Model, files: Simulated, writers: Mapping[Path, Writer], name: str) -> None:
    """Write beside the targets and move into place at the end: no half-written files."""
    folder, schema = files.schema.parent, model.schema(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".privet-") as scratch:
            parts = {path: Path(scratch) / path.name for path in _paths(files)}
            for path, write in writers.items():
                write(parts[path])
            parts[files.schema].write_text(schema.to_toml(), encoding="utf-8")
            parts[files.truth].write_text(to_json(model.graph()), encoding="utf-8")
            for path, part in parts.items():
                os.replace(part, path)
    except OSError as error:
        raise OutputError(
            f"cannot write {str(files.data)!r} ({error.strerror}); choose another place"
        ) from None


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
            without_bar(base).execute("SET memory_limit = '1GB'")
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
