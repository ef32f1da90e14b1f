"""Real tables for benchmarks, with what is public about each.

Adult, Sachs' cytometry and Galton's families are what ``privet datasets fetch`` makes of the files
of their archives. Two more are carried by statsmodels: Fair's survey of married women (1978) and
the RAND health insurance experiment (Newhouse 1993). Levels and cuts follow the code books.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.graph.graph import Graph
from privet.networks.fetch import FIELDS, SHA256, URL, archive, fetch
from privet.networks.measured import CYTOMETRY, STATURE, Measured
from privet.schema.column import Column
from privet.schema.model import Schema

Source = str | Path | None


@dataclass(frozen=True, kw_only=True)
class Real:
    """A table as cells, its schema, and the graph that is thought to be true, if there is one."""

    cells: dict[str, list[Any]]
    schema: Schema
    truth: Graph | None = None

    def codes(self) -> list[NDArray[Any]]:
        """The level or bin of each cell."""
        out = []
        for column in self.schema.columns:
            cells = self.cells[column.name]
            if column.kind == "numeric":
                numbers = np.array(cells, dtype=float)
                out.append(np.searchsorted(column.cuts, numbers, side="right"))
            else:
                out.append(np.array([column.levels.index(cell) for cell in cells]))
        return out

    def covariance(self) -> NDArray[Any]:
        return np.cov(np.array([self.cells[name] for name in self.schema.names], dtype=float))


def adult(source: Source) -> Real:
    """In 2 to 4 levels per column, as it is fetched."""
    with tempfile.TemporaryDirectory() as folder:
        files = fetch("adult", folder, source=source)
        header, *rows = csv.reader(files.data.read_text("utf-8").splitlines())
        schema = Schema.load(files.schema)
    return Real(
        cells=dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)), schema=schema
    )


CUTS = {
    "age": (25, 32, 40, 48, 58),
    "hours-per-week": (30, 40, 41, 50),
    "capital-gain": (1, 5000),
    "capital-loss": (1,),
}
PLAIN = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex")


def adult_fine(source: Source) -> Real:
    """All its answers: 13 columns of 2 to 16 levels."""
    lines = [line for part in archive(URL, SHA256, source) for line in part.decode().splitlines()]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.count(",") == 14]
    cells = dict(zip(FIELDS, map(list, zip(*rows, strict=True)), strict=True))
    cells["income"] = [cell.removesuffix(".") for cell in cells["income"]]
    cells["native"] = [str(cell == "United-States") for cell in cells["native-country"]]
    columns = []
    for name, cuts in CUTS.items():
        bins = np.searchsorted(cuts, np.array(cells[name], dtype=float), side="right")
        cells[name] = [str(bin) for bin in bins]
        levels = tuple(map(str, range(len(cuts) + 1)))
        columns.append(Column(name=name, kind="ordinal", levels=levels))
    for name in (*PLAIN, "income", "native"):
        levels = tuple(sorted(set(cells[name])))  # every answer of the questionnaire is given
        columns.append(Column(name=name, kind="categorical", levels=levels))
    schema = Schema(name="adult-fine", columns=tuple(columns))
    return Real(cells={name: cells[name] for name in schema.names}, schema=schema)


def measured(table: Measured, source: Source) -> Real:
    with tempfile.TemporaryDirectory() as folder:
        fetch(table.name, folder, source=source)
        cells = {name: column.tolist() for name, column in table.load(folder).items()}
    return Real(cells=cells, schema=table.schema(), truth=table.graph())


def fair(_source: Source) -> Real:
    scales = {
        "rate_marriage": range(1, 6),
        "religious": range(1, 5),
        "educ": (9, 12, 14, 16, 17, 20),
        "occupation": range(1, 7),
        "occupation_husb": range(1, 7),
    }
    numbers = {
        "age": ((15.0, 45.0), (20.0, 25.0, 30.0, 35.0)),
        "yrs_married": ((0.0, 25.0), (2.0, 5.0, 10.0, 15.0)),
        "children": ((0.0, 6.0), (0.5, 1.5, 2.5)),
        "affairs": ((0.0, 60.0), (0.01, 1.0)),
    }
    return _carried("fair", scales, numbers)


def randhie(_source: Source) -> Real:
    scales = {name: range(2) for name in ("idp", "hlthg", "hlthf", "hlthp")}
    numbers = {
        "mdvis": ((0.0, 80.0), (1.0, 3.0, 6.0)),
        "lncoins": ((0.0, 4.7), (0.1, 3.5, 4.2)),
        "lpi": ((0.0, 7.5), (0.1, 6.0, 6.8)),
        "fmde": ((0.0, 8.5), (0.1, 6.5, 7.5)),
        "physlm": ((0.0, 1.0), (0.5,)),
        "disea": ((0.0, 60.0), (5.0, 10.0, 15.0)),
    }
    return _carried("randhie", scales, numbers)


def _carried(
    name: str,
    scales: dict[str, Any],
    numbers: dict[str, tuple[tuple[float, float], tuple[float, ...]]],
) -> Real:
    """A table of statsmodels: some columns on a scale, others numbers that are cut."""
    import statsmodels.api as sm

    data = getattr(sm.datasets, name).load_pandas().data
    columns = [
        Column(
            name=column,
            kind="ordinal" if len(scale) > 2 else "categorical",
            levels=tuple(map(str, scale)),
        )
        for column, scale in scales.items()
    ] + [
        Column(name=column, kind="numeric", bounds=bounds, cuts=cuts)
        for column, (bounds, cuts) in numbers.items()
    ]
    cells: dict[str, list[Any]] = {}
    for column in columns:
        values = data[column.name].tolist()
        cells[column.name] = values if column.kind == "numeric" else [str(int(v)) for v in values]
    return Real(cells=cells, schema=Schema(name=name, columns=tuple(columns)))


TABLES: dict[str, Callable[[Source], Real]] = {
    "adult": adult,
    "adult, all answers": adult_fine,
    "sachs-cytometry": lambda source: measured(CYTOMETRY, source),
    "galton": lambda source: measured(STATURE, source),
    "fair": fair,
    "randhie": randhie,
}
