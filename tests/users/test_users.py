"""Scripts that a new user would write. Noise may hide an edge, so what is looked at is there with
any noise; the graph that R reads is one without."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import privet
from tests.helpers.garden import rows

HERE = Path(__file__).parent
NAMES = ["rain", "sprinkler", "wet"]
RICHEST = ("text/html", "image/svg+xml", "text/plain")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(rows(3000))
    return tmp_path


def output(script: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(HERE / script), run_name="__main__")
    return out.getvalue()


def started(*command: str) -> str:
    """What a process of its own prints, with this Python's commands first in its path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pandas(folder: Path) -> None:
    said = output("with_pandas.py")
    assert "# read from the data" in said and "Cramér's V" in said
    assert "factor of 2.719" in said
    for column in ("source", "mark", "target", "confidence"):
        assert re.search(rf"^{column} ", said, re.M), column
    assert (folder / "pandas-out/report.html").exists()


def test_odd_tables(folder: Path) -> None:
    """No sentence of a draft contradicts its table, and nothing is spent on a wrong schema."""
    said = output("with_odd_tables.py").splitlines()
    assert said[0].startswith("refused: schema 'icu' has missing = \"choose\" in 'weight', but")
    assert "icu: ward weight; spent only after the choice" in said
    assert "visits: person pid, 6 rows per person, columns ward year pain" in said
    assert any(line.startswith("refused: column 'Freq' seems to count people") for line in said)
    assert "doses: ordinal 0.5 1 2.5 10 20" in said
    for what in ("numbers with a comma", "differ in spelling only", "999 lies far", "like codes"):
        assert any(what in line for line in said), what
    assert "asked: sex age" in said and "directed by itself: nothing" in said
    assert any("rows are too few for these 12 columns" in line for line in said)


def test_polars(folder: Path) -> None:
    said = output("with_polars.py")
    assert "shape: (" in said and "reused: True" in said


def test_shell(folder: Path) -> None:
    said = started("sh", str(HERE / "with_shell.sh"))
    assert "survey" in said and "1" in said
    found = json.loads((folder / "found.json").read_text("utf-8"))
    assert found["certificate"]["epsilon"] == 1
    assert (folder / "graph.csv").read_text("utf-8").startswith("cpdag,rain,sprinkler,wet")
    assert all(len(line) <= 80 for line in (folder / "plan.txt").read_text("utf-8").splitlines())


@pytest.mark.skipif(not shutil.which("Rscript"), reason="needs Rscript")
def test_r(folder: Path) -> None:
    levels = {name: ["no", "yes"] for name in NAMES}
    tiers = [NAMES[:2], NAMES[2:]]
    schema = privet.Schema.of("survey.csv", name="survey", levels=levels, tiers=tiers)
    found = privet.discover("survey.csv", schema, private=False)
    for suffix in ("csv", "graphml"):
        privet.save_graph(found.graph, f"graph.{suffix}")
    found.edges_frame().to_csv("edges.csv", index=False)
    said = started("Rscript", "--vanilla", str(HERE / "with_r.R"))
    assert "rain --> wet" in said and "sprinkler --> wet" in said and "confidence" in said
    assert "igraph:" not in said or "igraph: rain sprinkler wet" in said


@pytest.mark.skipif(
    not (find_spec("jupytext") and find_spec("nbconvert") and find_spec("ipykernel")),
    reason="needs jupytext, nbconvert and ipykernel: the extra docs",
)
def test_notebook(folder: Path) -> None:
    """As a page: the picture, the edges and the promise are in it."""
    notebook = str(folder / "notebook.ipynb")
    started(
        sys.executable, "-m", "jupytext", "--to", "ipynb", "-o", notebook, f"{HERE}/notebook.py"
    )
    convert = (sys.executable, "-m", "nbconvert", "--execute", "--to")
    started(*convert, "notebook", "--output", "run.ipynb", notebook)
    cells = json.loads((folder / "run.ipynb").read_text("utf-8"))["cells"]
    shown = [
        "".join(next(o["data"][kind] for kind in RICHEST if kind in o["data"]))
        for c in cells
        for o in c.get("outputs", ())
        if "data" in o
    ]
    schema, found, picture, reused = shown
    assert "unconfirmed" in schema or "nobody has confirmed" in schema
    assert "<svg" in found and "factor of 2.719" in found
    assert "<svg" in picture and reused == "True"
