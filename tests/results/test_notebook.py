"""What a notebook shows of each object: its picture, its edges, its promise; and a short repr."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import privet
from privet.errors import DataError

EVIL = "<b>&evil"
NAMES = (EVIL, "cancer", "cough")
VOID = {"meta", "br"}


def levels() -> dict[str, list[str]]:
    rng = np.random.default_rng(0)
    first = rng.random(300) < 0.4
    second = rng.random(300) < np.where(first, 0.95, 0.05)
    cells = (first, second, rng.random(300) < 0.5)
    return {n: np.where(c, "yes", "no").tolist() for n, c in zip(NAMES, cells, strict=True)}


SCHEMA = privet.Schema.of(
    levels(), name="clinic", levels={name: ["no", "yes"] for name in NAMES}, tiers=[[EVIL]]
)
BODIES = {"height": [0.1, 0.5, 0.8] * 30, "weight": [0.3, 0.4, 0.9] * 30}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    bounds = privet.Schema.of(BODIES, bounds={name: [0, 1] for name in BODIES})
    found = privet.discover(levels(), SCHEMA, epsilon=20, ledger=":memory:")
    pairs = privet.orient(BODIES, bounds, all_pairs=True, epsilon=1, ledger=":memory:")
    return {
        "discovery": found,
        "graph": found.graph,
        "certificate": found.certificate,
        "exact": privet.discover(levels(), SCHEMA, private=False),
        "schema": SCHEMA,
        "draft": privet.draft(levels(), name="clinic"),
        "plan": privet.plan(SCHEMA, rows=1000, epsilon=1),
        "sites": privet.plan_sites(SCHEMA, rows=1000, epsilon=1, sites=3),
        "orientations": pairs,
        "orientation": pairs[0],
        "comparison": privet.compare(found.graph, found),
        "explanation": found.explain(EVIL, "cancer"),
    }


class Tags(HTMLParser):
    """Whether tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


KINDS = (
    *("discovery", "graph", "certificate", "exact", "schema", "draft", "plan", "sites"),
    *("orientations", "orientation", "comparison", "explanation"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_object_shows_itself(kind: str, shown: dict[str, Any]) -> None:
    html, text = shown[kind]._repr_html_(), repr(shown[kind])
    tags = Tags()
    tags.feed(html)
    assert tags.open == [] and html.startswith('<div class="privet">') and "<script" not in html
    assert EVIL not in html
    assert len(text.splitlines()) <= 12 and len(text) < 1500, text


def test_a_result_has_picture_edges_and_promise(shown: dict[str, Any]) -> None:
    html = shown["discovery"]._repr_html_()
    for needed in ("<svg", "confidence", "epsilon 20", shown["certificate"]["promise"][:30]):
        assert needed in html
    assert "NOT PRIVATE" in shown["exact"]._repr_html_() and "NOT PRIVATE" in repr(shown["exact"])


def test_a_draft_says_that_it_has_looked(shown: dict[str, Any]) -> None:
    draft = shown["draft"]
    assert "DRAFT" in repr(draft) and "DRAFT" in draft._repr_html_()
    assert draft.to_toml().startswith("# DRAFT") and "read from the data" in draft.to_toml()
    assert "DRAFT" not in repr(SCHEMA) and not SCHEMA.to_toml().startswith("# DRAFT")


def test_drafts_of_all_frames_are_one() -> None:
    table = {
        "age": [20.0 + i for i in range(40)],
        "kids": [i % 4 for i in range(40)],
        "sex": ["f", "m"] * 20,
        "smoker": [True, False] * 20,
        "pain": ["none", None] * 20,
    }
    frames = (table, pd.DataFrame(table), pl.DataFrame(table), pa.table(table))
    drafts = [privet.draft(frame, name="clinic") for frame in frames]
    assert all(draft == drafts[0] for draft in drafts)
    assert drafts[0].unconfirmed == drafts[1].unconfirmed != ()
    assert {c.name: c.kind for c in drafts[0].columns} == {
        **{"age": "numeric", "kids": "ordinal", "sex": "categorical", "smoker": "categorical"}
    }
    assert "left out" in drafts[0].to_toml()  # pain has one value
    privet.discover(frames[1], drafts[1], private=False)


def test_a_file_and_a_frame_are_drafted_alike(tmp_path: Any) -> None:
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "age": range(20, 60)})
    frame.to_csv(tmp_path / "clinic.csv", index=False)
    frame.to_parquet(tmp_path / "clinic.parquet")
    files = [privet.draft(tmp_path / f"clinic.{end}") for end in ("csv", "parquet")]
    assert files == [privet.draft(frame, "clinic")] * 2


def test_a_builder_reads_names_alone() -> None:
    schema = privet.Schema.of(
        pl.DataFrame({"id": [1], "sex": ["?"], "age": [999]}),
        name="clinic",
        levels={"sex": ["f", "m"]},
        bounds={"age": [18, 100]},
        missing={"sex": "level", "age": {"value": 40}},
        tiers=[["sex", "age"]],
    )
    assert schema.names == ("sex", "age") and schema.unconfirmed == ()
    assert schema.column("sex").missing == "level" and schema.column("age").missing_value == 40
    with pytest.raises(DataError, match="did you mean 'sex'"):
        privet.Schema.of(["sex"], levels={"sxe": ["f", "m"]})
