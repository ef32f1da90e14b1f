"""The page of a comparison shows what is right, turned, extra and missing."""

from __future__ import annotations

from pathlib import Path

from privet.graph.formats.files import save
from privet.graph.graph import Graph
from tests.helpers.garden import Run

# v-structures, so that arrows are those of the class
TRUTH = ["a --> c", "b --> c", "c --> d", "e --> f", "g --> f"]
FOUND = ["a --> c", "b --> c", "d --> c", "a --> e", "e --> f", "g --> f"]


def test_the_page(home: Path, run: Run) -> None:
    save(Graph.from_edges(TRUTH), home / "truth.json")
    save(Graph.from_edges(FOUND), home / "found.json")
    done = run("compare", "truth.json", "found.json", "--output", "page.html")
    assert done.code == 0, done.err
    page = (home / "page.html").read_text("utf-8")
    assert page.count('class="edge right"') == 4
    assert page.count('class="edge turned"') == 1 and "The truth has c --&gt; d." in page
    assert page.count('class="edge extra"') == 1 and "does not join them" in page
    assert "The edges that are missing" not in page
    again = run("compare", "truth.json", "found.json", "--output", "page.html")
    assert again.code == 2 and "exists" in again.err


def test_missing_edges_are_drawn_and_listed(home: Path, run: Run) -> None:
    save(Graph.from_edges(TRUTH), home / "truth.json")
    save(Graph.from_edges(FOUND[:2], nodes=list("abcdefg")), home / "found.json")
    assert run("compare", "truth.json", "found.json", "--output", "page.html").code == 0
    page = (home / "page.html").read_text("utf-8")
    assert page.count('class="undecided"') == 3 and "The edges that are missing" in page
    assert "missing pairs (3)" in page
