"""A small table for the command line: what makes the lawn wet?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SCHEMA = """\
name = "people"

[columns.rain]
kind = "categorical"
levels = ["no", "yes"]

[columns.sprinkler]
kind = "categorical"
levels = ["no", "yes"]

[columns.wet]
kind = "categorical"
levels = ["no", "yes"]
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def rows(size: int, seed: int = 0) -> str:
    """A CSV text: rain and sprinkler make it wet."""
    rng = np.random.default_rng(seed)
    rain, sprinkler = rng.random((2, size)) < 0.4
    wet = rng.random(size) < np.where(rain | sprinkler, 0.9, 0.1)
    words = np.array(["no", "yes"])
    cells = np.stack([words[column.astype(int)] for column in (rain, sprinkler, wet)], axis=1)
    return "rain,sprinkler,wet\n" + "".join(",".join(row) + "\n" for row in cells)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file and folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"folder"
        for path in folder.rglob("*")
    }
