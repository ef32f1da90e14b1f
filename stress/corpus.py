"""Small valid files of every kind that Privet reads, made by Privet itself."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from stress.door import good, inside

SCHEMA = """\
name = "people"
[columns.rain]
kind = "categorical"
levels = ["no", "yes"]
[columns.sprinkler]
kind = "ordinal"
levels = ["no", "yes"]
missing = "level"
[columns.wet]
kind = "categorical"
levels = ["no", "yes"]
[knowledge]
forbidden = [["wet", "rain"]]
"""
NUMBERS = """\
name = "patients"
adjacency = "add-remove"
rows_per_person = 2
[columns.age]
kind = "numeric"
bounds = [0, 100]
[columns.pressure]
kind = "numeric"
bounds = [40.5, 160]
bins = 4
[columns.smoker]
kind = "categorical"
levels = [0, 1]
"""
SUFFIXES = ("json", "dot", "gv", "graphml", "gml", "csv", "edges", "dagitty", "txt")
SITES = ("hospital-a", "hospital-b", "hospital-c")


def garden(size: int, seed: int = 0) -> str:
    """A CSV text: rain and sprinkler make it wet."""
    rng = np.random.default_rng(seed)
    rain, sprinkler = rng.random((2, size)) < 0.4
    wet = rng.random(size) < np.where(rain | sprinkler, 0.9, 0.1)
    name = np.array(["no", "yes"])
    cells = np.stack([name[column.astype(int)] for column in (rain, sprinkler, wet)], axis=1)
    return "rain,sprinkler,wet\n" + "".join(",".join(row) + "\n" for row in cells)


def clinic(size: int, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    age = rng.uniform(18, 80, size)
    pressure = 100 + 40 * np.tanh((age - 40) / 15) + rng.normal(0, 6, size)
    lines = zip(age, pressure, rng.integers(0, 2, size), strict=True)
    return "age,pressure,smoker\n" + "".join(f"{a:.2f},{p:.2f},{s}\n" for a, p, s in lines)


def plant(home: Path, rows: int = 40) -> None:
    """Tables, schemas and a ledger with room for all."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "data.csv").write_text(garden(rows))
    (home / "schema.toml").write_text(SCHEMA)
    (home / "numbers.csv").write_text(clinic(rows))
    (home / "numbers.toml").write_text(NUMBERS)
    with inside(home):
        for name in ("people", "patients"):
            good("ledger", "create", name, "--epsilon", "1e5", "--delta", "1e-2")


def grow(home: Path) -> None:
    """All other kinds of files, from those."""
    with inside(home):
        free = ("--no-reuse", "--quiet")
        ask = ("--schema", "schema.toml", "--epsilon", "1", *free)
        good("discover", "data.csv", *ask, "--output", "out", "--site", "a")
        shutil.copytree("out", "other")
        good("discover", "data.csv", *ask, "--output", "more", "--delta", "1e-6", "--site", "b")
        pair = ("--schema", "numbers.toml", "--epsilon", "2", "--cause-effect", "age,pressure")
        good("orient", "numbers.csv", *pair, *free, "--output", "pair")
        private = ("--schema", "schema.toml", "--epsilon", "4", "--quiet")
        good("randomize", "data.csv", *private, "--output", "reports.csv")
        exact = ("--schema", "numbers.toml", "--no-privacy", "--quiet")
        good("discover", "numbers.csv", *exact, "--output", "exact", "--method", "pc")
        counted = ("--schema", "schema.toml", "--no-privacy", "--quiet")
        good("discover", "data.csv", *counted, "--output", "tables", "--method", "ges")
        for suffix in SUFFIXES:
            plain = () if suffix != "gml" else ("--force",)
            source = "dag.edges" if suffix == "gml" else "out/graph.json"
            Path("dag.edges").write_text("rain --> wet\nsprinkler --> wet\n")
            good("convert", source, f"graph.{suffix}", *plain)
        good("sign", "key", "officer", "--output", "key")
        good("sign", "results", "out", "--key", "key")
        for site in SITES:
            good("site", "key", site, "--account", "people", "--output", site)
        publics = [f"{site}/public.json" for site in SITES]
        made = ("--schema", "schema.toml", "--epsilon", "1", "--output", "study")
        good("federate", "lock", *publics, *made)
        code = good("site", "code", "study/study.lock").out.strip()
        for site in SITES[:2]:
            good("site", "join", "study/study.lock", "--keys", site, "--code", code)
        study = ("--study", "study/study.lock", "--keys", SITES[0])
        good("measure", "data.csv", *study, "--output", "a.masked")
