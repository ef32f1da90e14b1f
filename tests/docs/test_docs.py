"""The documents: their examples run, their tables are current, and the files they name exist.

``python tests/docs/test_docs.py`` rewrites the generated parts, which stand between
``<!-- name -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import ast
import configparser
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from privet.cli.main import main
from tests.docs import figures
from tests.docs.figures import markdown

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results"
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*ROOT.glob("*.md"), ROOT / "CITATION.cff", *(ROOT / "docs").rglob("*.md"))
)
FORBIDDEN = ("/tmp/", "/home/", "/root/", "/work/")  # paths of one machine
NOT_RUN = ("make ", "pip ", ".venv/")  # commands that set up, not examples

# Skeleton / directed F1 of the authors' code at a reported epsilon near 1, and CPU seconds of one
# run; docs/benchmarks.md says how they were measured and how to read them.
PUBLISHED = ("SVT-PC", "Priv-PC", "CURATE", "EM-PC")
PUBLISHED_F1 = {
    "cancer": ("0.23 / 0.17", "0.37 / 0.29", "0.34 / 0.25", "0.95 / 0.44"),
    "earthquake": ("0.25 / 0.20", "0.44 / 0.34", "0.32 / 0.25", "0.97 / 0.45"),
    "survey": ("0.22 / 0.11", "0.53 / 0.33", "0.48 / 0.36", "1.00 / 0.67"),
    "asia": ("0.13 / 0.08", "0.42 / 0.28", "0.14 / 0.10", "0.80 / 0.61"),
    "sachs": ("0.19 / 0.18", "0.30 / 0.21", "0.27 / 0.24", "not run"),
    "child": ("0.00 / 0.00", "0.06 / 0.00", "0.00 / 0.00", "not run"),
}
PUBLISHED_SECONDS = {
    "cancer": ("0.20", "0.75", "0.80", "16.1"),
    "asia": ("0.56", "2.63", "3.14", "86.3"),
    "child": ("11.9", "28.7", "16.4", "not run"),
}
COMPLETE = {
    "cancer": "0.57 / 0.33",
    "earthquake": "0.57 / 0.33",
    "survey": "0.57 / 0.33",
    "asia": "0.44 / 0.33",
    "sachs": "0.47 / 0.47",
    "child": "0.23 / 0.18",
}


def text(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


def blocks(document: str) -> Iterator[tuple[str, str]]:
    """The fenced blocks: what stands after the backticks, and the lines."""
    for found in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", text(document), re.MULTILINE):
        yield found[1], found[2]


# -- examples


SHELL = re.compile(r"[|&;<>$*`(]")  # what only a shell understands
STATEMENT = re.compile(r".*<<'END'\n(?:.*\n)*?END\n|.*\n")


def run(kind: str, code: str, folder: Path) -> tuple[int, str]:
    """The exit code of the example and all that was written; Python and plain commands of Privet
    run in this process, since to start one takes longer than most of these do."""
    out = io.StringIO()
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, {"PRIVET_LEDGER": str(folder / "ledger.sqlite")}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        if kind == "python":
            exec(compile(code, "example", "exec"), {"__name__": "__main__"})
            return 0, out.getvalue()
        for statement in STATEMENT.findall(code.replace("\\\n", " ")):
            if exit_code := run_statement(statement):
                return exit_code, out.getvalue()
    return 0, out.getvalue()


def run_statement(statement: str) -> int:
    if statement.startswith("privet ") and not SHELL.search(statement):
        return main(shlex.split(statement, comments=True)[1:])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["sh", "-e", "-c", statement]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    return done.returncode


def run_in_order(document: str, folder: Path) -> int:
    count = 0
    for kind, code in blocks(document):
        if kind not in ("sh", "sh fails", "python") or code.startswith(NOT_RUN):
            continue
        exit_code, written = run(kind, code, folder)
        assert exit_code == (2 if kind == "sh fails" else 0), f"{document}:\n{code}\n{written}"
        assert "Traceback" not in written
        count += 1
    return count


@pytest.mark.parametrize(
    ("document", "fewest"),
    [
        ("docs/searches.md", 3),
        ("docs/published.md", 2),
        ("docs/pairs.md", 8),
        ("docs/local.md", 7),
        ("docs/federated.md", 6),
        ("docs/how-to/epsilon.md", 3),
        ("docs/how-to/levels.md", 1),
        ("docs/how-to/knowledge.md", 1),
        ("docs/coming-from/causal-learn.md", 1),
        ("docs/coming-from/dowhy.md", 1),
    ],
)
def test_the_examples_run(document: str, fewest: int, tmp_path: Path) -> None:
    assert run_in_order(document, tmp_path) >= fewest
    assert not (tmp_path / "refused").exists()


def test_the_guide_goes_on_where_the_readme_ends(tmp_path: Path) -> None:
    assert run_in_order("README.md", tmp_path) >= 6
    assert run_in_order("docs/guide.md", tmp_path) >= 20
    assert not (tmp_path / "refused").exists()


def test_the_examples_of_the_formats_are_one_graph(tmp_path: Path) -> None:
    from privet.graph.formats.files import load
    from privet.graph.graph import Graph

    def bare(graph: Graph) -> tuple[Any, ...]:
        return graph.kind, graph.nodes, [(e.source, e.mark, e.target) for e in graph.edges]

    native = next(code for kind, code in blocks("docs/formats.md") if kind == "json")
    (tmp_path / "three.json").write_text(native, "utf-8")
    expected = bare(load(tmp_path / "three.json"))
    examples = re.findall(
        r"^### `(\.\w+)`$.*?^```\w+\n(.*?)^```$", text("docs/formats.md"), re.M | re.S
    )
    assert len(examples) == 5
    for suffix, example in examples:
        (tmp_path / f"three{suffix}").write_text(example, "utf-8")
        assert bare(load(tmp_path / f"three{suffix}")) == expected, suffix
    assert run_in_order("docs/formats.md", tmp_path) == 1


def test_the_schema_of_the_formats_is_valid() -> None:
    from privet import Schema

    example = next(code for kind, code in blocks("docs/formats.md") if kind == "toml")
    assert Schema.from_toml(example).names == ("smoker", "pain", "age")


def test_the_orientation_of_the_formats_has_all_keys() -> None:
    """Of a file, and of a pair; each key is explained."""
    from privet.pairs.way import Orientation

    example = [code for kind, code in blocks("docs/formats.md") if kind == "json"][1]
    (pair,) = json.loads(example)["pairs"]
    assert Orientation(**pair).to_dict() == pair
    explained = text("docs/formats.md").partition("## orientation.json")[2]
    assert all(f"`{key}`" in explained for key in (*json.loads(example), *pair) if key != "pairs")


# -- generated parts


def methods_table() -> str | None:
    from privet.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()) as written:
        assert main(["methods", "--markdown"]) == 0
    return written.getvalue().strip()


def map_of_rooms() -> str:
    """Every room in the order in which imports point down, in the words of its docstring."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", "utf-8")
    names = re.findall(r"[\w.]+", contracts["importlinter:contract:rooms"]["layers"])
    lines = []
    for path in (ROOT / "src" / name.replace(".", "/") for name in names):
        files = sorted(path.rglob("__init__.py")) or [path.with_suffix(".py")]
        for file in files:
            shown = file.parent if file.name == "__init__.py" else file
            lines.append([f"`{shown.relative_to(ROOT).as_posix()}`", said(file)])
    return markdown(["where", "what"], lines)


def said(file: Path) -> str:
    """The first paragraph of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8")))
    assert docstring, f"{file} has no docstring"
    return " ".join(docstring.partition("\n\n")[0].split())


def search_options() -> str | None:
    """Which option of a search may be what, and which methods use it."""
    from privet.methods.catalogue import available
    from privet.methods.options import Settings

    return options_table(Settings, available())


def pair_options() -> str | None:
    from privet.pairs.options import Choices
    from privet.pairs.way import all_ways

    return options_table(Choices, all_ways())


def options_table(settings: type, methods: Sequence[Any]) -> str:
    from privet.options.option import options_of

    lines = []
    for option in options_of(settings):
        value = f" {option.metavar}" if option.metavar else ""
        users = [f"`{method.name}`" for method in methods if option.name in method.uses]
        default = "" if option.default is None or option.kind == "flag" else str(option.default)
        by = option.taken_by or ", ".join(users)
        lines.append([f"`{option.flag}{value}`", option.help, default, option.rule, by])
    return markdown(["option", "what it is", "default", "it must", "taken by"], lines)


def result(name: str) -> str | None:
    """All results of one benchmark, their titles as bold lines."""
    found = [path.read_text("utf-8").strip() for path in sorted(RESULTS.glob(f"{name}*.md"))]
    return "\n\n".join(re.sub(r"^# (.*)$", r"**\1**", part, flags=re.M) for part in found) or None


def accuracy_table() -> str | None:
    records = read_json("accuracy")
    if records is None:
        return None
    header = ["network", *PUBLISHED, "**Privet, ε = 1**", "**Privet, ε = 0.1**"]
    lines = []
    for name, others in PUBLISHED_F1.items():
        mine = [
            " / ".join(
                f"{mean(records, name, epsilon, key):.2f}" for key in ("skeleton", "directed")
            )
            for epsilon in (1.0, 0.1, float("inf"))
        ]
        lines.append([name, *others, f"**{mine[0]}**", f"**{mine[1]}**", mine[2], COMPLETE[name]])
    return markdown([*header, "no privacy", "complete graph"], lines)


def speed_table() -> str | None:
    records = read_json("speed")
    if records is None:
        return None
    lines = []
    for name, others in PUBLISHED_SECONDS.items():
        seconds = next(r["cpu"] for r in records if r["network"] == name)[1:]
        lines.append([name, *others, f"**{sorted(seconds)[len(seconds) // 2]:.2f}**"])
    return markdown(["network", *PUBLISHED, "**Privet, ε = 1**"], lines)


def central_tables() -> str | None:
    """Skeleton / directed F1 of every central method, a table for each epsilon."""
    path = RESULTS / "central" / "runs.jsonl"
    if not path.exists():
        return None
    runs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    networks = list(dict.fromkeys(run["network"] for run in runs))
    methods = [
        m
        for m in dict.fromkeys(r["method"] for r in runs)
        if any(r["method"] == m and r["epsilon"] is not None for r in runs)
    ]
    free = [m for m in dict.fromkeys(run["method"] for run in runs) if m not in methods]
    parts = []
    for epsilon in sorted({run["epsilon"] for run in runs} - {None}):
        lines = [
            [m, *(_both(runs, name, m, epsilon if m in methods else None) for name in networks)]
            for m in (*methods, *free)
        ]
        parts.append(f"**ε = {epsilon:g}**\n\n" + markdown(["method", *networks], lines))
    return "\n\n".join(parts)


def _both(runs: list[dict[str, Any]], network: str, method: str, epsilon: float | None) -> str:
    wanted = (network, method, epsilon)
    latest = {  # a run that was made again, with another delta, counts once
        r["run"]: r
        for r in sorted(runs, key=lambda r: -(r["delta"] or 0))
        if (r["network"], r["method"], r["epsilon"]) == wanted
    }.values()
    scored = [r for r in latest if r["refused"] is None]
    if not scored:
        return "refused" if latest else ""
    f1 = [sum(r[key] for r in scored) / len(scored) for key in ("skeleton_f1", "directed_f1")]
    return f"{f1[0]:.2f} / {f1[1]:.2f}"


PAIR_METHODS = ("table-collisions", "table-both", "loss-difference", "anm-sqrt-hsic")
PAIR_ROWS = (500, 1000, 2000, 10_000)


def pairs_table() -> str | None:
    """Right and answered at epsilon 1; of pairs that nothing can tell, answered."""
    path = RESULTS / "pairs" / "runs.jsonl"
    if not path.exists():
        return None
    runs = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    at = {(r["method"], r["source"], r["rows"]): r for r in runs if r["epsilon"] == 1.0}
    lines = []
    for method in PAIR_METHODS:
        for kind in ("additive", "other", "gaussian"):
            found = [at[method, kind, rows] for rows in PAIR_ROWS]
            shown = [f"{r['right']:.2f} / {r['decided']:.2f}" for r in found]
            lines.append([f"`{method}`", kind, *shown])
    return markdown(["method", "pairs", *(f"{rows:,} rows" for rows in PAIR_ROWS)], lines)


def read_json(name: str) -> list[dict[str, Any]] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def mean(records: list[dict[str, Any]], name: str, epsilon: float, key: str) -> float:
    values = [
        r[key]
        for r in records
        if (r["network"], r["epsilon"], r["rows"]) == (name, epsilon, 100_000)
    ]
    assert values, f"bench/results/accuracy.json has no runs of {name} at epsilon {epsilon:g}"
    return float(sum(values)) / len(values)


HELPERS = {"common", "peer_jobs", "peer_ours", "blas", "effects", "tables"}
BENCHMARKS = sorted({path.stem for path in (ROOT / "bench").glob("*.py")} - HELPERS - {"papers"})
GENERATED: dict[tuple[str, str], Callable[[], str | None]] = {
    ("CONTRIBUTING.md", "map"): map_of_rooms,
    ("docs/methods.md", "methods"): methods_table,
    ("docs/guide.md", "options"): search_options,
    ("docs/pairs.md", "options"): pair_options,
    ("docs/together.md", "alone"): figures.alone,
    ("docs/local.md", "people"): figures.people_per_one,
    ("docs/how-to/epsilon.md", "suspicions"): figures.suspicions,
    ("README.md", "accuracy"): accuracy_table,
    ("docs/published.md", "speed"): speed_table,
    ("docs/published.md", "central"): central_tables,
    ("docs/published.md", "papers"): partial(result, "papers"),
    ("docs/benchmarks.md", "pairs"): partial(result, "pairs/summary"),
    ("docs/benchmarks.md", "peri"): partial(result, "federated/federated"),
    ("docs/pairs.md", "pairs"): pairs_table,
    **{("docs/benchmarks.md", name): partial(result, name) for name in BENCHMARKS},
}


def part(document: str, name: str) -> re.Match[str]:
    found = re.search(f"(?<=<!-- {name} -->\n)(.*?)\n?(?=<!-- end -->)", text(document), re.S)
    assert found, f"{document} has no part <!-- {name} --> ... <!-- end -->"
    return found


@pytest.mark.parametrize(("document", "name"), GENERATED)
def test_generated_parts_are_current(document: str, name: str) -> None:
    new = GENERATED[document, name]()
    shown = part(document, name)[1]
    assert shown.strip()
    assert new is None or shown == new, "run `python tests/docs/test_docs.py`"


def rewrite() -> None:
    for (document, name), make in GENERATED.items():
        new = make()
        if new is not None:
            at = part(document, name)
            old = text(document)
            (ROOT / document).write_text(f"{old[: at.start()]}{new}\n{old[at.end() :]}", "utf-8")


# -- words and paths


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_exists(document: str) -> None:
    here, content = (ROOT / document).parent, text(document)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", content)]
    missing = [link for link in links if "://" not in link and not (here / link).exists()]
    named = re.findall(r"\b(?:src|docs|bench|tests|proofs)/[\w./-]*[\w/]", content)
    missing += [name for name in named if not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_anchors_exist(document: str) -> None:
    here = (ROOT / document).parent
    for target, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", text(document)):
        path = here / target if target else ROOT / document
        headings = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.M)
        slugs = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
        assert anchor in slugs, f"{target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_speak_of_privet_only(document: str) -> None:
    found = [word for word in FORBIDDEN if word in text(document).lower()]
    assert not found


def test_the_readme_names_the_two_commands_and_the_picture() -> None:
    for needed in ("make demo", "make test", "docs/picture.svg", "docs/benchmarks.md"):
        assert needed in text("README.md")
    assert text("docs/picture.svg").startswith("<svg")


if __name__ == "__main__":
    rewrite()
