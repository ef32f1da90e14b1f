"""Sites of one graph: the same arrows, and mechanisms that differ as asked."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from privet.errors import DataError, OutputError
from privet.graph.formats.files import load as load_graph
from privet.networks import LinearGaussian, Network, load, random_linear_gaussian
from privet.networks.simulate import simulate, simulate_random
from privet.networks.sites import DIFFER, LEAN, Site, sites_of
from privet.schema.model import Schema

LABEL = re.compile(r"[a-z0-9-]{1,40}")


def numbers() -> LinearGaussian:
    return random_linear_gaussian(6, density=0.5, rng=np.random.default_rng(1))


def tables(site: Site) -> dict[str, np.ndarray]:
    assert isinstance(site.model, Network)
    return dict(site.model.tables)


def odds(table: np.ndarray) -> float:
    """Of the last level against the first, as a logarithm."""
    return float(np.log(table[0, -1] / table[0, 0]))


@pytest.mark.parametrize("differ", DIFFER)
def test_a_site_is_fixed_by_the_seed_and_its_number(differ: str) -> None:
    model = load("survey")
    few, many = (sites_of(model, count, differ=differ, seed=4) for count in (3, 7))
    assert [site.name for site in few] == ["site-1", "site-2", "site-3"]
    assert all(LABEL.fullmatch(site.name) for site in many)
    for one, same in zip(few, many, strict=False):
        rows, again = one.sample(50), same.sample(50)
        assert all(np.array_equal(rows[name], again[name]) for name in model.names)
        blocks = list(one.blocks(50))
        assert all(np.array_equal(rows[name], blocks[0][name]) for name in model.names)
    first, second = few[0].sample(500), few[1].sample(500)
    assert any(not np.array_equal(first[name], second[name]) for name in model.names)
    other = sites_of(model, 3, differ=differ, seed=5)[0].sample(500)
    assert any(not np.array_equal(first[name], other[name]) for name in model.names)


@pytest.mark.parametrize("model", [load("survey"), numbers()], ids=["tables", "numbers"])
@pytest.mark.parametrize("differ", DIFFER)
def test_all_sites_have_one_graph_and_one_schema(
    model: Network | LinearGaussian, differ: str
) -> None:
    for site in sites_of(model, 4, differ=differ, seed=2):
        assert site.model.graph() == model.graph()
        assert site.model.schema() == model.schema()


def test_alike_sites_share_their_mechanisms() -> None:
    model = load("survey")
    assert all(site.model is model for site in sites_of(model, 3, seed=1))


@pytest.mark.parametrize(("differ", "leaning"), [("root", ["A"]), ("tilt", ["A", "S"])])
def test_roots_lean_the_same_way_at_a_site(differ: str, leaning: list[str]) -> None:
    model = load("survey")
    assert [name for name in model.names if not model.parents[name]] == ["A", "S"]
    for number, site in enumerate(sites_of(model, 4, differ=differ, seed=1), 1):
        lean = LEAN if number % 2 else -LEAN
        for name, table in tables(site).items():
            moved = odds(table) - odds(model.tables[name])
            assert moved == pytest.approx(lean if name in leaning else 0.0)


def test_every_mechanism_differs_at_every_site() -> None:
    model = load("asia")
    first, second = sites_of(model, 2, differ="all", seed=1)
    for name in model.names:
        old, one, other = model.tables[name], tables(first)[name], tables(second)[name]
        certain = np.isin(old, (0, 1))  # what cannot be otherwise stays so
        assert np.array_equal(one[certain], old[certain])
        assert certain.all() or not (np.allclose(one, old) or np.allclose(one, other))


def test_numbers_lean_by_their_means_and_differ_by_weights_and_noise() -> None:
    model = numbers()
    roots = ~(model.weights != 0).any(axis=0)
    for differ, expected in (("tilt", roots), ("root", np.cumsum(roots) * roots == 1)):
        up, down = (site.model for site in sites_of(model, 2, differ=differ, seed=1))
        assert isinstance(up, LinearGaussian) and isinstance(down, LinearGaussian)
        assert up.means is not None and down.means is not None
        assert np.array_equal(up.means > 0, expected) and np.array_equal(down.means < 0, expected)
        drawn = up.sample(40_000, np.random.default_rng(3))
        mean = np.array([drawn[name].mean() for name in model.names])
        error = 6 / np.sqrt(40_000)  # variances are 1: six deviations
        assert np.allclose(mean[expected], LEAN / 2, atol=error)
    changed = sites_of(model, 2, differ="all", seed=1)[0].model
    assert isinstance(changed, LinearGaussian)
    assert np.allclose(np.diag(changed.covariance()), 1.0)
    assert not np.allclose(changed.covariance(), model.covariance(), atol=0.05)


def test_files_of_sites(tmp_path: Path) -> None:
    files = simulate("asia", rows=30, seed=3, output=tmp_path / "out", sites=3, differ="all")
    names = ["schema.toml", "site-1.csv", "site-2.csv", "site-3.csv", "truth.json"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    assert files.data == tmp_path / "out" and [p.name for p in files.sites] == names[1:4]
    assert Schema.load(files.schema) == load("asia").schema()
    assert load_graph(files.truth) == load("asia").graph()
    for site, path in zip(
        sites_of(load("asia"), 3, differ="all", seed=3), files.sites, strict=True
    ):
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        assert isinstance(site.model, Network)
        drawn = site.sample(30)
        assert header == list(drawn) and len(rows) == 30
        labels = [[site.model.levels[n][c] for c in drawn[n]] for n in header]
        assert [list(row) for row in zip(*rows, strict=True)] == labels
    with pytest.raises(OutputError, match="exists"):
        simulate("asia", rows=30, seed=3, output=tmp_path / "out", sites=3)
    simulate("asia", rows=30, seed=3, output=tmp_path / "out", sites=3, force=True)


def test_random_models_have_sites_too(tmp_path: Path) -> None:
    files = simulate_random(
        nodes=4, density=0.5, rows=9, seed=1, output=tmp_path, gaussian=True, sites=2
    )
    assert [len(path.read_text().splitlines()) for path in files.sites] == [10, 10]


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    good = {"rows": 10, "seed": 1, "output": tmp_path / "out"}
    for bad, message in (
        ({"sites": 1}, "from 2 to 1000"),
        ({"sites": True}, "from 2 to 1000"),
        ({"sites": 2, "differ": "tild"}, "did you mean 'tilt'"),
        ({"differ": "all", "output": tmp_path / "a.csv"}, "there are none"),
    ):
        with pytest.raises(DataError, match=message):
            simulate("asia", **{**good, **bad})  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="name a folder"):
        simulate("asia", rows=10, seed=1, output=tmp_path / "a.csv", sites=2)
    assert not any(tmp_path.iterdir())
