"""Adding a search is one file, which gives a method for every source of evidence that serves it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.cli.main import main
from privet.errors import MethodError
from privet.graph.knowledge import Knowledge
from privet.methods import catalogue, searches
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.docs.test_docs import methods_table
from tests.golden import cases
from tests.helpers.garden import SCHEMA, rows

TOY = '''
"""toy: joins the pairs that depend on each other."""

from itertools import combinations

import numpy as np

from privet.graph.graph import Graph
from privet.methods.search import Search


def find(basis, schema, settings, rng):
    pairs = np.array(list(combinations(range(len(schema.names)), 2)))
    joined = np.zeros((len(schema.names),) * 2, dtype=bool)
    joined[tuple(pairs.T)] = basis.judge.margins(pairs) > 0
    return Graph.from_matrix(schema.names, joined | joined.T, "cpdag")


SEARCHES = (
    Search(
        name="toy",
        summary="joins what depends",
        cite="nobody",
        graph="cpdag",
        needs="tests",
        find=find,
    ),
)
'''
METHODS = ("toy", "interaction-toy", "moment-toy", "local-toy")
NUMERIC = """\
name = "numbers"

[columns.x]
kind = "numeric"
bounds = [-4, 4]

[columns.y]
kind = "numeric"
bounds = [-4, 4]

[columns.z]
kind = "numeric"
bounds = [-4, 4]
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One file more in ``methods/searches``, and nothing else."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "toy.py").write_text(TOY)
    monkeypatch.setattr(searches, "__path__", [*searches.__path__, str(tmp_path / "more")])
    catalogue._modules.cache_clear()
    yield
    catalogue._modules.cache_clear()
    sys.modules.pop("privet.methods.searches.toy", None)
    vars(searches).pop("toy", None)


@pytest.mark.usefixtures("toy")
def test_one_file_gives_a_method_for_every_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert {source.prefix + "toy" for source in catalogue.sources()} == set(METHODS)
    found = {m.name: m for m in catalogue.available() if m.name.endswith("toy")}
    assert set(found) == set(METHODS)
    assert [found[name].private for name in METHODS] == [False, True, True, True]
    assert main(["methods", "--json"]) == 0
    listed = {line["method"] for line in json.loads(capsys.readouterr().out)}
    assert set(METHODS) <= listed
    written = methods_table()
    assert written is not None
    assert all(f"| `{name}` |" in written for name in METHODS)


def test_without_the_file_there_is_no_such_method() -> None:
    assert not [m.name for m in catalogue.available() if "toy" in m.name]
    with pytest.raises(MethodError, match="no method 'toy'"):
        catalogue.get("toy")


def asked(method: str, folder: Path) -> list[str]:
    """Rows, or reports, and what the command line needs to search them with this method."""
    if method == "local-toy":
        protocol = cases.HERE / "categories.protocol.json"
        reports = protocol.with_name("categories.reports.csv")
        return [str(reports), "--protocol", str(protocol)]
    schema, text = SCHEMA, rows(3000)
    if method == "moment-toy":
        x, y, z = np.random.default_rng(1).normal(size=(3, 3000))
        lines = np.clip(np.stack([x, (x + y) / 2, z], axis=1), -4, 4).tolist()
        schema = NUMERIC
        text = "x,y,z\n" + "".join(",".join(map(str, line)) + "\n" for line in lines)
    (folder / "data.csv").write_text(text)
    (folder / "schema.toml").write_text(schema)
    words = [str(folder / "data.csv"), "--schema", str(folder / "schema.toml")]
    if method == "toy":
        return [*words, "--no-privacy"]
    budget = ["--epsilon", "4", "--ledger", str(folder / "ledger.sqlite")]
    return [*words, *budget, "--delta", "1e-6"]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("method", METHODS)
def test_it_runs_on_every_source(method: str, tmp_path: Path) -> None:
    """By the command line; the pair that surely depends is joined, with a confidence."""
    out = tmp_path / "out"
    assert (
        main(["discover", *asked(method, tmp_path), "--method", method, "--output", str(out)]) == 0
    )
    graph = json.loads((out / "graph.json").read_text())
    sure = {"moment-toy": {"x", "y"}, "local-toy": {"a", "b"}}.get(method, {"rain", "wet"})
    (edge,) = [edge for edge in graph["edges"] if {edge["from"], edge["to"]} == sure]
    assert edge["mark"] == "---" and edge["confidence"] > 0.9
    assert json.loads((out / "certificate.json").read_text())["method"] == method


@pytest.mark.parametrize(
    ("columns", "numeric", "private", "expected"),
    [
        (3, True, False, "ges"),
        (100, True, False, "ges"),
        (101, True, False, "pc"),
        (3, False, False, "pc"),
        (3, True, True, "moment-ges"),
        (101, True, True, "moment-pc"),
        (3, False, True, "interaction-pc"),
    ],
)
def test_what_auto_takes(columns: int, numeric: bool, private: bool, expected: str) -> None:
    """GES where it is better than PC: on numbers, if there are not too many."""
    kinds: dict[str, Any] = {"kind": "numeric", "bounds": (0.0, 1.0)}
    if not numeric:
        kinds = {"kind": "categorical", "levels": ("a", "b")}
    made = tuple(Column(name=f"c{i}", **kinds) for i in range(columns))
    schema = Schema(name="s", columns=made)
    assert catalogue.auto(schema, 1e-6, private).name == expected


def test_private_numbers_with_knowledge_are_left_to_pc() -> None:
    made = tuple(Column(name=name, kind="numeric", bounds=(0.0, 1.0)) for name in "abc")
    schema = Schema(name="s", columns=made, knowledge=Knowledge(required=frozenset({("a", "b")})))
    assert catalogue.auto(schema, 1e-6, private=True).name == "moment-pc"
    assert catalogue.auto(schema, 1e-6, private=False).name == "ges"
