"""The site and the package as far as they can be seen without building them; `make docs` and
`make wheel` do that."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

import privet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SITE = (ROOT / "mkdocs.yml").read_text("utf-8")
MADE = {"index.md", "reference/commands.md", "CHANGELOG.md", "CONTRIBUTING.md"}  # by the site


def links() -> ModuleType:
    spec = importlib.util.spec_from_file_location("links", ROOT / "docs/site/links.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_menu() -> None:
    menu = set(re.findall(r": ([\w/-]+\.(?:md|py))$", SITE.partition("nav:\n  -")[2], re.M))
    docs = ROOT / "docs"
    there = {p.relative_to(docs).as_posix() for p in docs.rglob("*.md")}
    there |= {p.relative_to(docs).as_posix() for p in docs.glob("tutorials/*.py")}
    assert menu == there | MADE


def test_the_reference_has_every_public_name() -> None:
    page = (ROOT / "docs/reference/python.md").read_text("utf-8")
    names = re.findall(r"^::: privet\.(\w+)$", page, re.M)
    assert sorted(names) == sorted(set(privet.__all__) - {"__version__"})


@pytest.mark.parametrize("path", sorted((ROOT / "docs/tutorials").glob("*.py")), ids=str)
def test_tutorials_ask_for_no_more_than_is_there(path: Path) -> None:
    """They are run by `make docs`; here only the names of the library that they use are looked
    up."""
    used = [
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "privet"
    ]
    assert used and not set(used) - set(privet.__all__)


def test_broken_links_and_what_comes_from_afar_are_found(tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1>', "utf-8")
    good = '<a href="b.html#here">b</a><a href="https://example.org">far</a>'
    (tmp_path / "a.html").write_text(good, "utf-8")
    assert links().broken(tmp_path) == []
    bad = '<a href="b.html#gone"></a><a href="c.html"></a><script src="https://example.org/x.js">'
    (tmp_path / "a.html").write_text(bad, "utf-8")
    found = links().broken(tmp_path)
    assert [line.split(": ")[1] for line in found] == [
        "b.html#gone",
        "c.html",
        "loads https://example.org/x.js",
    ]


# -- the package


def test_whatever_is_no_code_is_declared() -> None:
    declared = PROJECT["tool"]["setuptools"]["package-data"]["privet"]
    source = ROOT / "src/privet"
    files = [p.relative_to(source).as_posix() for p in source.rglob("*") if p.is_file()]
    code = (".py", ".pyc", ".c", ".h", ".so", ".pyd")
    files = [file for file in files if not file.endswith(code)]
    assert {"py.typed", "networks/asia.json", "results/report/page.css"} <= set(files)
    assert [f for f in files if not any(fnmatch(f, pattern) for pattern in declared)] == []
    folders = {p.parent for p in source.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_version_licence_and_citation_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    project = PROJECT["project"]
    for field in ("version", "license"):
        assert f"\n{field}: {project[field]}\n" in citation
    assert project["license-files"] == ["LICENSE", "NOTICE"]
    assert "networks/*.json" in (ROOT / "NOTICE").read_text("utf-8")
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
