"""Figures in sentences of the documents, held against what Privet works out.

Tables of such figures are generated (``figures.py``).
"""

from __future__ import annotations

import re
from dataclasses import fields
from math import exp
from pathlib import Path

import pytest

import privet
from privet.cli.main import main
from privet.methods.plan import plan_sites
from privet.networks import load
from privet.privacy.ledger.conversion import budget_for, epsilon_of
from privet.privacy.ledger.store import FORMAT
from privet.privacy.together.policy import Policy
from privet.results import diagnostics, orientations, saved
from tests.docs.figures import STUDIES, local_plan, lock

ROOT = Path(__file__).parents[2]
DELTA = 1e-6


def figures(document: str, sentence: str) -> list[float]:
    """The figures where a sentence of the document has groups."""
    said = " ".join((ROOT / document).read_text("utf-8").split())
    found = re.findall(sentence, said)
    assert len(found) == 1, f"{document} does not say once: {sentence}"
    groups = found[0] if isinstance(found[0], tuple) else (found[0],)
    return [float(each.replace(",", "")) for each in groups]


N = r"([\d.,]*\d)"


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def test_two_runs_cost_what_the_guide_says() -> None:
    together = epsilon_of(2 * budget_for(1, DELTA, "gdp"), DELTA, "gdp")
    assert figures("docs/guide.md", rf"two runs at ε = 1 cost about {N} together") == [
        rounded(together, 3)
    ]
    times = [budget_for(e, DELTA, "gdp") / budget_for(e, DELTA, "zcdp") for e in (0.1, 1)]
    sentence = rf"ρ is {N} times as large at ε = 0.1 and {N} times at ε = 1"
    assert figures("docs/guide.md", sentence) == [rounded(float(each), 3) for each in times]


def test_factors_are_those_of_epsilon() -> None:
    sentence = rf"e\^ε, so {N} for ε = 0.1 and {N} for ε = 1"
    assert figures("docs/officer.md", sentence) == [rounded(exp(e), 2) for e in (0.1, 1)]
    sentence = rf"by more than a factor of {N} at ε = 1, and {N} at ε = 0.1"
    assert figures("docs/guide.md", sentence) == [rounded(exp(e), 2) for e in (1, 0.1)]


def test_reports_tell_as_much_as_the_page_says() -> None:
    sentence = (
        "At ε = 4, reports of 100,000 people on 8 columns tell about as much on a pair of columns "
        rf"as {N} people without noise; on 20 columns, as {N}\."
    )
    worths = [local_plan(name, 4)["planned-block"].worth for name in ("asia", "child")]
    assert figures("docs/local.md", sentence) == [rounded(worth, 2) for worth in worths]


def test_formats_have_the_numbers_that_files_have() -> None:
    formats = (ROOT / "docs/formats.md").read_text("utf-8")
    said = re.findall(
        r"An SQLite file of format (\d+)|makes the file format (\d+)|Privet refuse format (\d+)",
        " ".join(formats.split()),
    )
    assert {int(number) for each in said for number in each if number} == {FORMAT}
    assert len(said) == 3
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    current = re.findall(r"Ledger: a SQLite file .* \(format (\d+)\)", changes)
    assert current == [str(FORMAT)]
    for name, module in (
        ("evidence", saved),
        ("diagnostics", diagnostics),
        ("orientation", orientations),
    ):
        sentence = rf"\| `privet {name}` \| version of the format, {N} \|"
        assert figures("docs/formats.md", sentence) == [module.VERSION]


def test_noise_of_sites_that_add_up() -> None:
    sentence = (
        rf"with {N} / {N} / {N} sites \| {N} / {N} / {N} \| {N} / {N} / {N} "
        r"\(a third may collude\)"
    )
    asia = load("asia").schema()
    sites = (5, 20, 50)
    factors = [plan_sites(asia, 1000, 1, sites=d).noise_factor for d in sites]
    assert factors == [d / lock(d, t, 1.0).honest for d, t in STUDIES if d in sites]
    expected = [*sites, *sites, *(rounded(each, 3) for each in factors)]
    assert figures("docs/together.md", sentence) == expected


def test_the_rules_of_a_site_are_its_defaults() -> None:
    page = (ROOT / "docs/together.md").read_text("utf-8")
    rules = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", page, re.M))
    shown = {"()": "any", "None": "never"}
    for field in fields(Policy):
        value = "as given" if field.name == "account" else str(field.default)
        assert rules.pop(field.name) == shown.get(value, value), field.name
    assert not rules


@pytest.mark.parametrize("rows", [500, 20_000])
def test_a_study_takes_as_many_questions_as_the_page_says(rows: int, tmp_path: Path) -> None:
    page = " ".join((ROOT / "docs/together.md").read_text("utf-8").split())
    assert "up to four rounds of e-mail" in page and "three questions, or four" in page
    assert "one for each of two to four questions" in (ROOT / "docs/officer.md").read_text("utf-8")
    words = f"--sites 3 --rows {rows} --epsilon 1 --together --output {tmp_path / 'out'}"
    assert main(["federate", "simulate", "asia", *words.split()]) == 0
    asked = {path.name.split("-")[1] for path in (tmp_path / "out").rglob("*.masked")}
    assert asked in ({"1", "2", "3"}, {"1", "2", "3", "4"})


def test_an_audit_says_what_the_page_shows() -> None:
    page = (ROOT / "docs/attacks.md").read_text("utf-8")
    (shown,) = re.findall(r"It says `([^`]*)`", page)
    said = str(privet.audit("lap-table", epsilon=1, runs=100))
    at_least = r"(?<=at least )[\d.]+"
    assert re.sub(at_least, "", shown) == re.sub(at_least, "", said)
