"""Numbers on a scale of logarithms: the same as a table of their logarithms, in every answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import privet
from privet.errors import SchemaError
from privet.privacy.queries.box_moments import BoxMoments
from privet.schema.column import Column
from privet.schema.model import Schema

ROWS = 4000


def column(**more: object) -> Column:
    facts = {"name": "income", "kind": "numeric", "bounds": (1.0, 1e6), "scale": "log", **more}
    return Column(**facts)  # type: ignore[arg-type]


def test_bins_are_even_in_their_logarithms() -> None:
    edges = np.log((1.0, *column().cuts, 1e6))
    assert np.allclose(np.diff(edges), np.log(1e6) / 4) and column().free
    assert column().missing_value == pytest.approx(1000)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"bounds": (0.0, 1.0)}, "above 0"),
        ({"bounds": (-1.0, 1.0)}, "above 0"),
        ({"scale": "root"}, "linear, log"),
        ({"scale": 3}, "linear, log"),
        ({"kind": "categorical", "bounds": None, "levels": ("a", "b")}, "scale"),
    ],
)
def test_what_has_no_logarithm_is_refused(facts: dict[str, object], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        column(**facts)


@pytest.mark.parametrize("cuts", [(), (10.0, 500.0)])
def test_a_schema_with_a_scale_survives_its_file(cuts: tuple[float, ...]) -> None:
    schema = Schema(name="t", columns=(column(cuts=cuts),))
    assert Schema.from_toml(schema.to_toml()) == schema
    assert 'scale = "log"' in schema.to_toml()
    seven = schema.to_toml().replace('scale = "log"', 'scale = "log"\nbins = 7')
    if not cuts:
        found = Schema.from_toml(seven).columns[0]
        steps = np.diff(np.log((1.0, *found.cuts, 1e6)))
        assert len(steps) == 7 and np.allclose(steps, steps[0])
        assert all(a < b for a, b in pairwise(found.cuts))


def data() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(8)
    a, e = rng.normal(size=(2, ROWS))
    return {"a": np.exp(2 * a), "b": np.exp(2 * (0.8 * a + 0.6 * e)), "c": rng.normal(size=ROWS)}


def schemas() -> tuple[Schema, Schema]:
    low, high = np.exp(-8.0), np.exp(8.0)
    scaled = [column(name=name, bounds=(low, high)) for name in "ab"]
    third = Column(name="c", kind="numeric", bounds=(-5.0, 5.0))
    own = Schema(name="t", columns=(*scaled, third))
    plain = [
        replace(
            each, bounds=(np.log(low), np.log(high)), scale="linear", cuts=(), missing_value=None
        )
        for each in scaled
    ]
    return own, Schema(name="t", columns=(*plain, third))


@pytest.mark.parametrize("method", ["moment-pc", "moment-ges", "interaction-pc"])
@pytest.mark.parametrize("source", ["dict", "csv", "parquet"])
def test_answers_are_those_of_the_logarithms(method: str, source: str, tmp_path: Path) -> None:
    """Moments to the rounding of one cell on their grid; tables to cells on an edge."""
    raw, (own, plain) = data(), schemas()
    table: object = raw
    if source != "dict":
        import pandas as pd

        frame = pd.DataFrame(raw)
        path = tmp_path / f"t.{source}"
        frame.to_csv(path, index=False) if source == "csv" else frame.to_parquet(path)
        table = path
    logs = {name: np.log(values) if name != "c" else values for name, values in raw.items()}
    found = privet.discover(table, own, private=False, method=method)
    other = privet.discover(logs, plain, private=False, method=method)
    assert found.graph == other.graph
    for mine, theirs in zip(found.evidence.releases, other.evidence.releases, strict=True):
        near = np.abs(mine.values.astype(float) - theirs.values)
        assert near.max() <= 1e-6 * max(np.abs(theirs.values.astype(float)).max(), 1) + 4


def test_moments_within_bounds_are_those_of_the_logarithms() -> None:
    """The rows come as logarithms; so do the bounds that they are held against."""
    own, plain = schemas()
    logs = np.column_stack([np.log(data()[name]) for name in "ab"])
    query = BoxMoments(columns=("a", "b"))
    assert np.array_equal(query.vectors(logs, own), query.vectors(logs, plain))


def test_pairs_are_oriented_on_the_scale() -> None:
    raw, (own, plain) = data(), schemas()
    logs = {name: np.log(values) if name != "c" else values for name, values in raw.items()}
    found = privet.orient(raw, own, cause_effect=("a", "b"), private=False)
    other = privet.orient(logs, plain, cause_effect=("a", "b"), private=False)
    assert found.pairs[0].difference == pytest.approx(other.pairs[0].difference, rel=1e-3)


def test_a_person_who_is_far_out_changes_no_more_than_the_bound() -> None:
    """Numbers beyond the bounds, zero and below count as the bound, so no cell is without a
    logarithm."""
    _, own = data(), schemas()[0]
    odd = {"a": [0.0, -5.0, 1e300, float("inf")], "b": [1.0] * 4, "c": [0.0] * 4}
    found = privet.discover(odd, own, private=False, method="moment-pc")
    assert all(np.isfinite(release.values).all() for release in found.evidence.releases)
