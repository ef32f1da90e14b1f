"""Everything public has a docstring with an example, and the examples run."""

from __future__ import annotations

import contextlib
import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.evidence.plan import Plan
from privet.graph.exports import Exports, Picture
from privet.graph.metrics import Comparison
from privet.methods.plan import SitesPlan
from privet.results.orientations import Orientations

HANDED_OUT = (Plan, SitesPlan, Orientations, Comparison, Picture, Exports)
# What only the library itself calls: a folder in the making, words in a line, a run's reservation.
INNER = {
    *("Discovery.write", "Orientations.write", "Graph.told", "Graph.first_edges", "Ledger.begin"),
    *("Schema.told", "Schema.warning", "Schema.known"),
}


def public() -> Iterator[tuple[str, Any]]:
    """Names of __all__, what they hand out, and the methods of these."""
    named = {name: getattr(privet, name) for name in privet.__all__ if name != "__version__"}
    named |= {one.__name__: one for one in HANDED_OUT}
    for name, one in named.items():
        yield name, one
        for inner, member in vars(one).items() if inspect.isclass(one) else ():
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and not inner.startswith("_"):
                yield f"{name}.{inner}", function


PUBLIC = {name: one for name, one in public() if name not in INNER}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """One small run, which all examples share, in a folder of their own."""
    rng = np.random.default_rng(0)
    smoke = rng.random(400) < 0.4
    cancer = rng.random(400) < np.where(smoke, 0.9, 0.1)
    data = {"smoke": smoke, "cancer": cancer, "cough": rng.random(400) < 0.5}
    texts = {name: np.where(values, "yes", "no").tolist() for name, values in data.items()}
    schema = privet.Schema.of(texts, name="clinic", levels={name: ["no", "yes"] for name in texts})
    numbers = {"height": rng.random(100).tolist(), "weight": rng.random(100).tolist()}
    bounds = privet.Schema.of(numbers, name="bodies", bounds={n: [0, 1] for n in numbers})
    with contextlib.chdir(tmp_path_factory.mktemp("examples")):
        yield {
            "privet": privet,
            "data": texts,
            "schema": schema,
            "numbers": numbers,
            "bounds": bounds,
            "found": privet.discover(texts, schema, epsilon=1, delta=0, ledger=":memory:"),
            "oriented": privet.orient(
                numbers, bounds, cause_effect=("height", "weight"), epsilon=1, ledger=":memory:"
            ),
        }


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_the_docstring_runs(name: str, shown: dict[str, Any]) -> None:
    told = inspect.getdoc(PUBLIC[name]) if name != "Adjacency" else PUBLIC[name].__doc__
    assert told and ">>>" in told, f"{name} has no example in its docstring"
    test = doctest.DocTestParser().get_doctest(told, dict(shown), name, None, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_a_wrong_example_is_found() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    runner = doctest.DocTestRunner()
    runner.run(test, out=lambda _text: None)
    assert runner.failures == 1


def test_files_of_examples_are_in_a_folder_of_their_own(shown: dict[str, Any]) -> None:
    assert Path.cwd().name.startswith("examples")
