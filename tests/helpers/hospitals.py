"""Three hospitals that have measured the same columns of people of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import privet
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.budgets import capped

LABELS = ("hospital-a", "hospital-b", "hospital-c")
NAMES = ("smoke", "cough", "dust")
SCHEMA = Schema(
    name="patients",
    columns=tuple(Column(name=n, kind="categorical", levels=("no", "yes")) for n in NAMES),
)
NUMBERS = Schema(
    name="patients",
    columns=tuple(Column(name=n, kind="numeric", bounds=(-8, 8)) for n in NAMES),
)
Change = Callable[[dict[str, Any]], object]


def patients(seed: int, rows: int = 1200) -> dict[str, list[str]]:
    """smoke --> cough <-- dust."""
    rng = np.random.default_rng(seed)
    smoke, dust = rng.random((2, rows)) < 0.5
    cough = rng.random(rows) < np.where(smoke & dust, 0.95, 0.1)
    words = np.array(["no", "yes"])
    return dict(
        zip(NAMES, (words[x.astype(int)].tolist() for x in (smoke, cough, dust)), strict=True)
    )


def numbers(seed: int, rows: int = 1200) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    smoke, dust, rest = rng.normal(size=(3, rows))
    return dict(zip(NAMES, ((x).tolist() for x in (smoke, smoke + dust + rest, dust)), strict=True))


def hospital(
    label: str | None, data: Any = None, schema: Schema = SCHEMA, **options: Any
) -> privet.Discovery:
    """What a hospital finds on its own; its ledger is gone afterwards."""
    options = {"epsilon": 4.0, "delta": 1e-6, "site": label, **options}
    if "ledger" not in options:
        options["ledger"] = capped(schema.name, epsilon=options["epsilon"], delta=options["delta"])
    seed = sum(map(ord, label or ""))
    return privet.discover(patients(seed) if data is None else data, schema, **options)


def public_rows(schema: Schema, rows: int) -> Schema:
    return replace(schema, adjacency=privet.Adjacency.REPLACE_ONE, rows=rows)


def changed(file: Path, change: Change) -> Path:
    """A copy of a JSON file in which something is not as it was."""
    document = json.loads(file.read_text("utf-8"))
    change(document)
    copy = file.with_name(f"changed-{file.name}")
    copy.write_text(json.dumps(document), "utf-8")
    return copy
