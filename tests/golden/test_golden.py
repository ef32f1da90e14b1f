"""Results are those that were kept: graphs, refusals, notes, and digests of evidence and of
certificates exactly, confidences nearly (another linear algebra may differ in the last bit).

A change of results that is wanted is written anew by ``python -m tests.golden.cases``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privet.evidence import tables
from privet.evidence.tables import TableEvidence
from privet.results import saved
from tests.golden.cases import HERE, KEPT, Outcome, cases

CASES = cases()
WANTED: dict[str, Outcome] = json.loads(KEPT.read_text("utf-8"))
CONFIDENCE = 0.1
MEANT = [
    2260.1264,
    2147.4625,
    35.31624,
    53.264326,
    24.083266,
    68.807982,
    8270.7033,
]  # of white.evidence.json
NUMBER = 1e-3  # of what a way to orient a pair says beside its direction, relative


def differs(found: Outcome, wanted: Outcome) -> list[str]:
    """The names of what is not as it was."""
    out = sorted(found.keys() ^ wanted.keys())
    for key in found.keys() & wanted.keys():
        same = SAME.get(key)
        if not (same(found[key], wanted[key]) if same else found[key] == wanted[key]):
            out.append(key)
    return out


def _same_edges(found: list[list[Any]], wanted: list[list[Any]]) -> bool:
    return len(found) == len(wanted) and all(
        (edge, origin) == (edge2, origin2) and _near(sure, sure2) and _near(arrow, arrow2)
        for (edge, sure, arrow, origin), (edge2, sure2, arrow2, origin2) in zip(
            found, wanted, strict=True
        )
    )


def _near(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= CONFIDENCE


def _same_answers(found: list[Outcome], wanted: list[Outcome]) -> bool:
    return len(found) == len(wanted) and all(
        one.keys() == two.keys() and all(_same_answer(one[key], two[key]) for key in one)
        for one, two in zip(found, wanted, strict=True)
    )


def _same_answer(found: object, wanted: object) -> bool:
    if isinstance(found, float) and isinstance(wanted, float):
        return found == pytest.approx(wanted, rel=NUMBER, abs=1e-9)
    return found == wanted


SAME: dict[str, Callable[[Any, Any], bool]] = {"graph": _same_edges, "answers": _same_answers}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_that_were_kept(name: str) -> None:
    found = json.loads(json.dumps(CASES[name]()))
    changed = differs(found, WANTED[name])
    assert not changed, f"{changed}: {found}, but kept was {WANTED[name]}"


def test_every_case_is_kept_and_no_other() -> None:
    assert set(CASES) == set(WANTED)


@pytest.mark.parametrize(("unit", "value"), [(None, 0), ("WEIGHT", 32), ("WHITE_GRID", 16)])
def test_kept_answers_about_weighed_rows_mean_what_they_meant(
    unit: str | None, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of rows, of a pair and of a triple; and, planted, other units of what was kept."""
    if unit:
        monkeypatch.setattr(tables, unit, value)
    kept = saved.load(HERE / "white.evidence.json")
    read = TableEvidence.from_releases(kept.schema, kept.schema.names, kept.releases)
    triple = read.blocks(np.array([[0, 1, 3]]))
    found = [read.rows, read.tables(np.array([[0, 1]])), *triple]
    numbers = np.concatenate([np.ravel(each) for each in found]).tolist()
    assert (numbers == pytest.approx(MEANT, rel=1e-6)) == (unit is None), numbers


def test_a_difference_is_found() -> None:
    """Planted: another mark, confidence, note, digest, answer, refusal."""
    graph, pair = WANTED["asia, interaction-pc"], WANTED["pair, loss-difference"]
    refused = next(outcome for outcome in WANTED.values() if "refused" in outcome)
    for outcome in (graph, pair, refused):
        assert not differs(copy.deepcopy(outcome), outcome)
    turned, unsure = copy.deepcopy(graph), copy.deepcopy(graph)
    turned["graph"][0][0] = turned["graph"][0][0].replace("-", "<", 1)
    unsure["graph"][0][1] -= 0.11
    assert differs(turned, graph) == differs(unsure, graph) == ["graph"]
    for key in ("notes", "certificate", "releases", "schema", "tests"):
        assert differs(graph | {key: "another"}, graph) == [key]
    other = copy.deepcopy(pair)
    other["answers"][0]["difference"] *= 1.01
    assert differs(other, pair) == ["answers"]
    assert differs({"refused": "otherwise"}, refused) == ["refused"]
    assert differs(refused, graph)
