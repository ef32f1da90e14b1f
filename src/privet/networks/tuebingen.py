"""The Tübingen cause-effect pairs [Mooij et al. 2016], as the Causal Discovery Toolbox has them.

99 pairs of numeric columns from meteorology, medicine, economy and other fields; A is the cause in
each. The Toolbox's file has neither names nor weights, and no pairs of more than two columns.
Several pairs share a source, so they are fewer than they seem.

A pair's bounds in its schema are mean ± 3 standard deviations of the rows themselves: the data are
public, and nobody has said what ranges one would have known without them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privet.errors import DataError, expect
from privet.schema.column import Column
from privet.schema.model import Adjacency, Schema

URL = (
    "https://raw.githubusercontent.com/FenTechSolutions/CausalDiscoveryToolbox/"
    "382c16d4d1729b352a1d583b70a992f763b33821/cdt/data/resources/"
)
PAIRS, TARGETS = "Tuebingen_pairs.csv", "Tuebingen_targets.csv"
SHA256 = {
    PAIRS: "e3726459486cf50642de62ce4ceb35669100f6867bd564863b4663546c1393cf",
    TARGETS: "a685bc4a610433a7b59f1deff71fb92333a4b1bb4764c6fec0603b6e559dba74",
}
FOLDER = "tuebingen"
CAUSE, EFFECT = "A", "B"
WEIGHTS = "weights.csv"  # may be added to the folder: lines like pair05,0.143
REACH = 3.0
DIGITS = 6  # of a bound
BOUNDS_NOTE = "Bounds: mean ± 3 standard deviations of the rows, which are public themselves."


@dataclass(frozen=True, kw_only=True, eq=False)
class RealPair:
    """Two columns of which A causes B, with what a schema would say of them."""

    name: str
    cause: NDArray[np.float64]
    effect: NDArray[np.float64]
    weight: float = 1.0  # less if others have the same source

    def schema(self) -> Schema:
        columns = (
            Column(name=name, kind="numeric", bounds=_bounds(values))
            for name, values in ((CAUSE, self.cause), (EFFECT, self.effect))
        )
        return Schema(
            name=f"{FOLDER}-{self.name}",
            columns=tuple(columns),
            adjacency=Adjacency.REPLACE_ONE,
            rows=len(self.cause),
        )

    def to_toml(self) -> str:
        """The schema, with where its bounds are from."""
        return f"# {BOUNDS_NOTE}\n{self.schema().to_toml()}"

    def to_csv(self) -> str:
        rows = zip(self.cause.tolist(), self.effect.tolist(), strict=True)
        return f"{CAUSE},{EFFECT}\n" + "".join(f"{a!r},{b!r}\n" for a, b in rows)


def _bounds(values: NDArray[np.float64]) -> tuple[float, float]:
    middle, reach = float(values.mean()), REACH * float(values.std())
    return float(f"{middle - reach:.{DIGITS}g}"), float(f"{middle + reach:.{DIGITS}g}")


def parsed(pairs: bytes, targets: bytes) -> Iterator[RealPair]:
    """The pairs of the Toolbox's two files: a line per pair, its numbers apart by spaces.

    A target of 1 says that A is the cause, -1 that B is.
    """
    causes = dict(line.split(",") for line in targets.decode("ascii").split()[1:])
    for line in pairs.decode("ascii").splitlines()[1:]:
        name, *texts = line.split(",")
        a, b = (np.array(text.split(), dtype=float) for text in texts)
        if float(causes[name]) < 0:
            a, b = b, a
        yield RealPair(name=f"pair{int(name.removeprefix('pair')):02}", cause=a, effect=b)


def load(folder: str | Path) -> list[RealPair]:
    """The pairs in a folder that ``privet datasets fetch tuebingen`` wrote."""
    expect(folder, (str, Path), "tuebingen", "give the path of a folder", DataError)
    files = sorted(Path(folder).glob("pair*.csv"))
    if not files:
        raise DataError(
            f"there are no pairs in {str(folder)!r}; fetch them with `privet datasets fetch "
            f"tuebingen --output DIR`, and give DIR/{FOLDER}"
        )
    weights = _weights(Path(folder) / WEIGHTS)
    pairs = []
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()[1:]
            cause, effect = np.array([line.split(",") for line in lines], dtype=float).T
        except (OSError, ValueError):
            raise DataError(
                f"{str(file)!r} is not a pair of columns of numbers; fetch the pairs again"
            ) from None
        weight = weights.get(file.stem, 1.0)
        pairs.append(RealPair(name=file.stem, cause=cause, effect=effect, weight=weight))
    return pairs


def _weights(file: Path) -> dict[str, float]:
    """What the folder says of weights: nothing, or a line per pair."""
    if not file.exists():
        return {}
    try:
        lines = file.read_text(encoding="utf-8").split()
        return {name: float(weight) for name, weight in (line.split(",") for line in lines)}
    except (OSError, ValueError):
        raise DataError(
            f"{str(file)!r} should have lines like pair05,0.143; correct or remove it"
        ) from None
