"""Odd questions about weighed rows are refused, and files hold sound ones as they are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.errors import PrivetError, SchemaError
from privet.privacy.queries.base import Release
from privet.privacy.queries.white import LARGEST_FEATURE, LARGEST_RADIUS, White
from privet.results import saved as evidence_file
from privet.results.saved import Saved
from tests.privacy.queries.test_white import FEATURES, PAIRS, QUERY, SCHEMA


@pytest.mark.parametrize(
    "change",
    [
        {"columns": ("c0", "c1")},
        {"columns": ("c1", "c0", "c2")},
        {"columns": ("c0", "c2", "c1")},  # of as many levels
        {"features": FEATURES[:2]},
        {"features": (((1,), (2,), (3,)), *FEATURES[1:])},
        {"features": (((1,), (LARGEST_FEATURE + 1,)), *FEATURES[1:])},
        {"features": (((1,), (-(10**30),)), *FEATURES[1:])},
        {"features": (((7,), (7,)), *FEATURES[1:])},
        {"clips": ()},
        {"clips": (replace(PAIRS, radius=0),)},
        {"clips": (replace(PAIRS, radius=-5),)},
        {"clips": (replace(PAIRS, radius=LARGEST_RADIUS + 1), PAIRS)},
        {"clips": (replace(PAIRS, multipliers=(1, 1)),)},
        {"clips": (replace(PAIRS, multipliers=(1, 0, 1)),)},
        {"clips": (replace(PAIRS, multipliers=(1, 1, 10**30)),)},
        {"clips": (replace(PAIRS, sets=()),)},
        {"clips": (replace(PAIRS, sets=(("c0",), ("c0",))),)},
        {"clips": (replace(PAIRS, sets=(("c0", "c0"),)),)},
        {"clips": (replace(PAIRS, sets=(("nobody",),)),)},
    ],
    ids=str,
)
def test_odd_queries_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        replace(QUERY, **change).check(SCHEMA)


def saved(query: White) -> Saved:
    release = Release(
        query=query,
        values=np.arange(query.size(SCHEMA)),
        variance=9.0,
        mechanism="Gaussian noise",
    )
    return Saved(schema=SCHEMA, releases=(release,), certificate={"private": False})


def loaded(document: Any, folder: Path) -> Saved:
    path = folder / "evidence.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return evidence_file.load(path)


def test_evidence_files_hold_weighed_components(tmp_path: Path) -> None:
    text = evidence_file.to_json(saved(QUERY))
    found = loaded(json.loads(text), tmp_path)
    assert found.releases[0].query == QUERY and evidence_file.to_json(found) == text


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("features", 0, 0, 0), 1 << 40),
        (("features", 0, 0, 0), 10**40),
        (("features", 0, 0, 0), 0.5),
        (("features", 0), [[3], [3]]),
        (("clips",), []),
        (("clips", 0, "radius"), -1),
        (("clips", 1, "radius"), 10**40),
        (("clips", 1, "multipliers"), []),
        (("clips", 1, "sets", 0), ["c0", "c0"]),
        (("clips", 1, "sets", 0), ["c0", "c1", "c2", "c0"]),
    ],
    ids=str,
)
def test_odd_files_are_refused(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    document = json.loads(evidence_file.to_json(saved(QUERY)))
    part = document["releases"][0]["query"]
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    with pytest.raises(PrivetError):
        loaded(document, tmp_path)
