"""The front door for several sites: one graph, and on whom each edge rests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.errors import BudgetError, DataError, EvidenceError, MethodError
from privet.graph.knowledge import Knowledge
from privet.privacy.ledger.book import Ledger
from privet.results.folder import FILES, SITES
from privet.results.saved import Saved, load, to_json
from tests.helpers.hospitals import LABELS, NAMES, NUMBERS, SCHEMA, hospital, numbers, patients

# At this budget the noise is a fraction of a row, so that results follow from the seeds alone.
CLEAR = 1000.0


@pytest.fixture(scope="module")
def sites() -> list[Saved]:
    return [hospital(label, epsilon=CLEAR).evidence for label in LABELS]


def edges(found: privet.Discovery) -> set[str]:
    return {str(edge) for edge in found.graph.edges}


# -- one graph


def test_files_and_results_give_one_graph(sites: list[Saved], tmp_path: Path) -> None:
    files = []
    for site in sites:
        (file := tmp_path / f"{site.certificate['site']}.json").write_text(to_json(site))
        files.append(file)
    found = privet.combine(*sites)
    assert edges(found) == {"smoke --> cough", "dust --> cough"}
    assert edges(privet.combine(*map(str, files))) == edges(found)
    assert all(edge.confidence is not None for edge in found.graph.edges)
    assert found.certificate["trust"] == "sites" and not found.certificate["reused"]


def test_the_joint_evidence_is_searched_again_for_free(sites: list[Saved], tmp_path: Path) -> None:
    found = privet.combine(*sites)
    files = found.save(tmp_path / "joint")
    assert {file.name for file in files} == {*FILES, SITES}
    again = privet.discover(evidence=tmp_path / "joint" / "evidence.json", method="interaction-ges")
    assert edges(again) == edges(found) and again.certificate["reused"]
    assert again.certificate["sites"] == found.certificate["sites"]
    tiers = replace(SCHEMA, knowledge=Knowledge(required=frozenset({("smoke", "cough")})))
    known = privet.discover(schema=tiers, evidence=tmp_path / "joint" / "evidence.json")
    known.save(tmp_path / "known")
    assert load(tmp_path / "known" / "evidence.json").schema.knowledge == tiers.knowledge


def test_moments_of_several_sites(tmp_path: Path) -> None:
    own = [hospital(x, numbers(i), NUMBERS, epsilon=CLEAR).evidence for i, x in enumerate(LABELS)]
    found = privet.combine(*own)
    assert edges(found) == {"smoke --> cough", "dust --> cough"} and found.method == "moment-pc"
    assert found.sites is not None and all(site.triples == 0 for site in found.sites)
    found.save(tmp_path / "joint")
    with pytest.raises(MethodError, match="fits weights to one covariance"):
        privet.combine(*own, method="moment-notears")


def test_several_methods_and_options(sites: list[Saved]) -> None:
    found = privet.combine(*sites, method=["interaction-pc", "interaction-ges"], max_order=1)
    assert [other.method for other in found.others] == ["interaction-ges"]
    assert found.certificate["options"]["max_order"] == 1
    with pytest.raises(MethodError, match="no such option"):
        privet.combine(*sites, sparsity=0.1)
    with pytest.raises(EvidenceError, match="pairs are measured on data"):
        privet.combine(*sites, orient_pairs=0.2)
    with pytest.raises(MethodError, match="searches moments, which this evidence does not hold"):
        privet.combine(*sites, method="moment-pc")


@pytest.mark.parametrize("objective", ["worst", "sum"])
def test_regrets_of_several_sites_cost_nothing(sites: list[Saved], objective: str) -> None:
    """PERI on what was private before; the published protocol's messages are only counted."""
    found = privet.combine(*sites, method="interaction-peri", objective=objective)
    assert edges(found) == {"smoke --> cough", "dust --> cough"}
    assert found.certificate.private and found.certificate["spent"] is None
    assert found.certificate["sites"] == privet.combine(*sites).certificate["sites"]
    assert all(edge.confidence is not None for edge in found.graph.edges)
    assert any("3 site(s) send" in note and "nothing is sent" in note for note in found.notes)
    with pytest.raises(MethodError, match="no objective 'least'; choose worst or sum"):
        privet.combine(*sites, method="interaction-peri", objective="least")
    with pytest.raises(MethodError, match="objective"):
        privet.combine(*sites, method="interaction-ges", objective="sum")


def test_regrets_of_moments() -> None:
    own = [hospital(x, numbers(i), NUMBERS, epsilon=CLEAR).evidence for i, x in enumerate(LABELS)]
    found = privet.combine(*own, method="moment-peri")
    assert edges(found) == {"smoke --> cough", "dust --> cough"}


def leaning(share: float, strength: float, seed: int, rows: int = 4000) -> dict[str, list[str]]:
    """smoke --> cough --> dust: so many smoke, and of these so many cough."""
    rng = np.random.default_rng(seed)
    smoke = rng.random(rows) < share
    cough = rng.random(rows) < np.where(smoke, strength, 0.2)
    dust = rng.random(rows) < np.where(cough, 0.8, 0.2)
    words = np.array(["no", "yes"])
    return {
        n: words[x.astype(int)].tolist() for n, x in zip(NAMES, (smoke, cough, dust), strict=True)
    }


def test_differences_between_sites_give_directions(tmp_path: Path) -> None:
    def sites(*what: tuple[float, float]) -> list[Saved]:
        data = [leaning(*one, seed=i) for i, one in enumerate(what)]
        pairs = zip(LABELS, data, strict=True)
        return [hospital(x, one, epsilon=CLEAR, delta=1e-6).evidence for x, one in pairs]

    lines = {"smoke --- cough", "cough --- dust"}
    differ = sites((0.2, 0.8), (0.5, 0.8), (0.8, 0.8))
    assert edges(privet.combine(*differ)) == lines
    found = privet.combine(*differ, use_differences=True)
    assert edges(found) == {"smoke --> cough", "cough --> dust"}
    assert all(e.origin == "differences" and e.arrow_confidence is None for e in found.graph.edges)
    assert any("is the same everywhere given smoke" in note for note in found.notes)
    assert found.certificate["options"]["use_differences"] is True
    assert found.certificate["sites"] == privet.combine(*differ).certificate["sites"]
    assert "from differences" in (found.save(tmp_path / "joint")[-2]).read_text()
    alike, everything = sites(*[(0.5, 0.8)] * 3), sites((0.2, 0.9), (0.5, 0.7), (0.8, 0.5))
    assert edges(privet.combine(*alike, use_differences=True)) == lines
    assert "smoke --> cough" not in edges(privet.combine(*everything, use_differences=True))


def test_differences_are_for_lines_and_tables(sites: list[Saved]) -> None:
    with pytest.raises(MethodError, match="finds a PAG"):
        privet.combine(*sites, method="interaction-fci", use_differences=True)
    own = [hospital(x, numbers(i), NUMBERS, epsilon=CLEAR).evidence for i, x in enumerate(LABELS)]
    with pytest.raises(MethodError, match="no difference of means is left"):
        privet.combine(*own, use_differences=True)


def test_knowledge_of_all(sites: list[Saved]) -> None:
    forbidden = Knowledge(forbidden=frozenset({("smoke", "cough"), ("cough", "smoke")}))
    found = privet.combine(*sites, schema=replace(SCHEMA, knowledge=forbidden))
    assert edges(found) == {"cough --- dust"} or edges(found) == {"dust --- cough"}


def test_refusals_name_the_file(sites: list[Saved], tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="at least 2"):
        privet.combine()
    with pytest.raises(EvidenceError, match="cannot read 'nowhere"):
        privet.combine(sites[0], "nowhere.json")
    with pytest.raises(EvidenceError, match="the evidence is a list"):
        privet.combine(sites)  # type: ignore[arg-type]
    with pytest.raises(EvidenceError, match="'evidence 1' and 'evidence 3' have the same run"):
        privet.combine(sites[0], sites[1], sites[0])


# -- on whom an edge rests


def independent(seed: int) -> dict[str, list[str]]:
    """Of nobody's column follows anything about another."""
    rng = np.random.default_rng(seed)
    words = np.array(["no", "yes"])
    return {name: words[(rng.random(1200) < 0.5).astype(int)].tolist() for name in NAMES}


def test_an_edge_that_one_site_alone_has_seen(tmp_path: Path) -> None:
    own = [hospital(x, independent(i), epsilon=CLEAR).evidence for i, x in enumerate(LABELS[:2])]
    own.append(hospital("hospital-x", patients(5, 4000), epsilon=CLEAR).evidence)
    found = privet.combine(*own)
    assert found.sites is not None and found.graph.edges
    assert {rest.needs for rest in found.sites.edges} == {("hospital-x",)}
    for edge in found.graph.edges:
        assert f"{edge} rests on hospital-x alone." in found.notes
    found.save(tmp_path / "joint")
    kept = json.loads((tmp_path / "joint" / SITES).read_text())
    assert [edge["needs"] for edge in kept["edges"]] == [["hospital-x"]] * len(kept["edges"])
    page = (tmp_path / "joint" / "report.html").read_text()
    assert "rests on hospital-x alone" in page and "private at each of 3 sites" in page
    for site in found.certificate["sites"]:
        assert site["words"] in page


def test_an_edge_that_all_have_seen(sites: list[Saved]) -> None:
    found = privet.combine(*sites)
    assert found.sites is not None and [rest.needs for rest in found.sites.edges] == [(), ()]
    assert found.notes == ()
    assert {rest.said() for rest in found.sites.edges} == {"needs no single site"}


def test_who_abstained_is_said(sites: list[Saved]) -> None:
    """Sites with nothing to see have measured no triple, or not this one."""
    own = [hospital(x, independent(i), epsilon=CLEAR).evidence for i, x in enumerate(LABELS[:2])]
    found = privet.combine(*own, hospital("hospital-x", epsilon=CLEAR).evidence)
    assert found.sites is not None
    told = {site.label: (site.triples, site.abstained) for site in found.sites}
    assert told["hospital-x"] == (1, 0)
    for label in LABELS[:2]:
        triples, abstained = told[label]
        assert triples + abstained == 1
        assert (f"{label} abstained on 1 triple" in " ".join(found.notes)) == bool(abstained)
    assert any(told[label] == (0, 1) for label in LABELS[:2])


# -- the label of a site


@pytest.mark.parametrize("label", ["Hospital A", "", "ä", "a" * 41, 7, "a\n"])
def test_a_label_that_others_cannot_write(label: Any, tmp_path: Path) -> None:
    book = tmp_path / "ledger"
    with pytest.raises(DataError, match=r"the site is .*1 to 40 of the letters .*hospital-a"):
        privet.discover(patients(1), SCHEMA, epsilon=1, site=label, ledger=book)
    assert not book.exists() and Ledger(book).accounts() == ()


def test_a_site_is_for_what_may_leave_it(sites: list[Saved]) -> None:
    with pytest.raises(BudgetError, match="nothing that may leave a site"):
        privet.discover(patients(1), SCHEMA, private=False, site="a")
    with pytest.raises(BudgetError, match="nothing that may leave a site"):
        privet.discover(patients(1), SCHEMA, epsilon=1, method="em-pc", as_published=True, site="a")
    with pytest.raises(EvidenceError, match="together with a site"):
        privet.discover(evidence=sites[0], site="a")


def test_a_stopped_site_keeps_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was paid for outlives an error, and can be sent."""

    def stop(_saved: Saved) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        hospital("hospital-a", on_measured=stop)
    assert stopped.value.evidence.certificate["site"] == "hospital-a"  # type: ignore[attr-defined]
