"""What the benchmark of local privacy looks at: rows, what is public about them, and the truth.

* sachs-cytometry: 902 cells of the second experiment, as many as Binkyte et al. (2023) had, and
  galton: 934 people, where they had 898; both on the scale and within the bounds of
  ``networks/measured.py``, in 10 bins. Fetched before.
* synth10 and synth5: fresh random linear Gaussian models in each run, bounds of 3 standard
  deviations; of 10 columns in 10 bins with 3 neighbours each, 5,000 rows; and of 5 columns in 5
  bins with 2 neighbours each, 50,000 rows.
* any network that Privet comes with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.bench.local_published import binned, bins_for, coded
from privet.errors import MethodError
from privet.graph.graph import Graph
from privet.networks import load, tuebingen
from privet.networks.generated import random_linear_gaussian
from privet.networks.measured import CYTOMETRY, STATURE, Measured
from privet.schema.column import did_you_mean
from privet.schema.model import Schema

SECOND = slice(853, 1755)  # rows of the second experiment
TEN = 10
MEASURED: Mapping[str, tuple[Measured, slice]] = {
    "sachs-cytometry": (CYTOMETRY, SECOND),
    "galton": (STATURE, slice(None)),
}
REACH = 3.0  # standard deviations


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    nodes: int
    neighbours: float
    bins: int
    rows: int


SYNTHETIC = {
    "synth10": Synthetic(nodes=10, neighbours=3, bins=10, rows=5000),
    "synth5": Synthetic(nodes=5, neighbours=2, bins=5, rows=50_000),
}
FETCHED = (*MEASURED, tuebingen.FOLDER)
PAPER = ("sachs-cytometry", "galton", "synth10", "synth5", tuebingen.FOLDER)


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """Rows (numbers, or numbers of levels), in bins that the schema says, and their graph."""

    data: Mapping[str, NDArray[Any]]
    schema: Schema
    graph: Graph


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """A pair of columns as codes; 1 if the first causes the second, otherwise -1."""

    codes: NDArray[np.int64]
    schema: Schema
    truth: int
    weight: float


def check_source(name: str, folder: str | None) -> None:
    """Whether there are such rows of the paper's."""
    if name not in PAPER:
        raise MethodError(
            f"there are no rows {name!r}{did_you_mean(name, PAPER)}; choose from {', '.join(PAPER)}"
        )
    if name in SYNTHETIC:
        return
    if folder is None:
        raise MethodError(
            f"{name} has to be fetched first (`privet datasets fetch {name} --output DIR`); name "
            f"that folder, or leave {name} away"
        )
    if name in MEASURED:
        MEASURED[name][0].load(folder)
    else:
        tuebingen.load(_pairs_folder(folder))


@lru_cache(maxsize=2)
def source(name: str, rows: int, run: int, folder: str | None) -> Source:
    """The same rows for all that is done in a run; of real ones, in every run."""
    if name in MEASURED:
        assert folder is not None
        table, chosen = MEASURED[name]
        data = {column: values[chosen] for column, values in table.load(folder).items()}
        schema = binned(table.schema(), [TEN] * len(data))
        return Source(data=data, schema=schema, graph=table.graph())
    if name in SYNTHETIC:
        return _synthetic(SYNTHETIC[name], rows or SYNTHETIC[name].rows, run)
    network = load(name)
    codes = network.sample(rows, np.random.default_rng(run))
    return Source(data=codes, schema=_numbered(network.schema()), graph=network.graph())


def _synthetic(kind: Synthetic, rows: int, run: int) -> Source:
    rng = np.random.default_rng([run, kind.nodes])
    density = kind.neighbours / (kind.nodes - 1)
    model = random_linear_gaussian(kind.nodes, density=density, rng=rng)
    schema = model.schema(f"synth{kind.nodes}")
    columns = tuple(replace(c, bounds=(-REACH, REACH), cuts=()) for c in schema.columns)
    schema = binned(replace(schema, columns=columns), [kind.bins] * kind.nodes)
    return Source(data=model.sample(rows, rng), schema=schema, graph=model.graph())


def _numbered(schema: Schema) -> Schema:
    """With the numbers of the levels in place of their names."""
    columns = tuple(
        replace(c, levels=tuple(map(str, range(len(c.levels)))), missing_value=None)
        for c in schema.columns
    )
    return replace(schema, columns=columns)


def _pairs_folder(folder: str) -> str:
    return f"{folder}/{tuebingen.FOLDER}"


@lru_cache(maxsize=2)
def questions(run: int, folder: str) -> tuple[Question, ...]:
    """The Tübingen pairs, in bins by table 1 of the paper, within the smallest and the largest
    value; a coin decides for each pair and run which column comes first."""
    rng = np.random.default_rng(run)
    return tuple(_question(pair, rng) for pair in tuebingen.load(_pairs_folder(folder)))


def _question(pair: tuebingen.RealPair, rng: np.random.Generator) -> Question:
    values = {tuebingen.CAUSE: pair.cause, tuebingen.EFFECT: pair.effect}
    truth = 1 if rng.random() < 0.5 else -1
    columns = []
    for column in pair.schema().columns[::truth]:
        mine = values[column.name]
        columns.append(replace(column, bounds=(float(mine.min()), float(mine.max())), cuts=()))
    schema = replace(pair.schema(), columns=tuple(columns))
    schema = binned(schema, [bins_for(values[c.name]) for c in columns])
    codes = coded(values, schema.columns)
    return Question(codes=codes, schema=schema, truth=truth, weight=pair.weight)
