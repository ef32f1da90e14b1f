"""Evidence of several sites: what is refused, what the joint file and its certificate hold."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.errors import EvidenceError, PrivetError
from privet.evidence.tables import TableEvidence
from privet.graph.knowledge import Knowledge
from privet.methods import catalogue
from privet.methods.options import Settings
from privet.privacy import mechanisms
from privet.privacy.ledger.conversion import Accounting, epsilon_for, rho_for
from privet.privacy.queries.tables import Components
from privet.results.certificate import Certificate
from privet.results.joint import Sent, combined
from privet.results.saved import Saved, load, to_json
from privet.results.words import FIRST, SECOND, words
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.hospitals import (
    LABELS,
    NAMES,
    NUMBERS,
    SCHEMA,
    Change,
    changed,
    hospital,
    numbers,
    patients,
    public_rows,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("sites")
    for label in LABELS:
        hospital(label).save(home / label)
    return home


@pytest.fixture
def files(folder: Path) -> list[Path]:
    return [folder / label / "evidence.json" for label in LABELS]


def joint(*files: Path, schema: Schema | None = None) -> Saved:
    return combined([Sent(origin=file.name, saved=load(file)) for file in files], schema)


def refused(files: list[Path], change: Change, match: str) -> None:
    """With the last of the files changed."""
    bad = changed(files[-1], change)
    with pytest.raises(EvidenceError, match=match) as error:
        joint(*files[:-1], bad)
    assert bad.name in str(error.value)


def put(*path: str | int, value: Any) -> Change:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


# -- what is put together


def test_all_releases_are_there_under_their_labels(files: list[Path]) -> None:
    saved = joint(*files)
    assert [release.site for release in saved.releases] == [x for x in LABELS for _ in range(8)]
    assert saved.schema == SCHEMA and [to_json(site) for site in saved.sites] == [
        file.read_text() for file in files
    ]


def test_the_joint_file_holds_what_the_sites_sent_and_is_put_together_anew(
    files: list[Path], tmp_path: Path
) -> None:
    saved = joint(*files)
    file = tmp_path / "evidence.json"
    file.write_text(to_json(saved))
    document = json.loads(file.read_text())
    assert document["sites"] == [json.loads(f.read_text()) for f in files]
    assert "releases" not in document and document["certificate"] == saved.certificate
    again = load(file)
    assert to_json(again) == to_json(saved)
    assert [r.site for r in again.releases] == [r.site for r in saved.releases]
    # what stands beside the sites' documents is not believed
    lie = changed(file, put("certificate", "epsilon", value=0.001))
    assert load(lie).certificate == saved.certificate
    worse = changed(file, put("sites", 1, "releases", 0, "variance", value=1.0))
    with pytest.raises(EvidenceError, match="damaged"):
        load(worse)


def test_a_file_of_one_site_names_no_site_in_its_releases(files: list[Path]) -> None:
    document = json.loads(files[0].read_text())
    assert document["certificate"]["site"] == LABELS[0] and "sites" not in document
    assert all(set(r) == {"query", "mechanism", "variance", "values"} for r in document["releases"])


def test_public_rows_become_an_exact_release() -> None:
    known = hospital("fixed", patients(7, 900), public_rows(SCHEMA, 900)).evidence
    private = hospital("other").evidence
    saved = combined([Sent(origin="x", saved=s) for s in (known, private)])
    assert saved.schema.rows is None and saved.schema.adjacency is privet.Adjacency.ADD_REMOVE
    counts = {r.site: r for r in saved.releases if r.query == Components(((),))}
    assert counts["fixed"].values.tolist() == [900] and counts["fixed"].variance == 0
    assert counts["other"].variance > 0
    assert len(saved.sites[0].releases) == 6  # not among what the site has sent


def test_a_whole_table_with_public_rows_keeps_them_exact() -> None:
    known = hospital("fixed", patients(7, 900), public_rows(SCHEMA, 900), delta=0.0).evidence
    other = hospital("other", delta=0.0).evidence
    saved = combined([Sent(origin="x", saved=s) for s in (known, other)])
    own = [release for release in saved.releases if release.site == "fixed"]
    evidence = TableEvidence.from_releases(saved.schema, NAMES, own)
    assert (evidence.rows, evidence.rows_variance) == (900, 0.0)
    alone = TableEvidence.from_releases(known.schema, NAMES, known.releases)
    for order, layer in alone.layers.items():
        assert (evidence.layers[order].values == layer.values).all()


def test_what_sites_asked_about_pairs_is_left_out() -> None:
    """Of a chain no edge has a direction, so that each site asks for some."""
    sites = []
    for i, label in enumerate(LABELS[:2]):
        data = numbers(i)
        data["dust"] = [a + b for a, b in zip(data["cough"], data["dust"], strict=True)]
        sites.append(hospital(label, data, NUMBERS, orient_pairs=0.2, epsilon=1000.0).evidence)
    assert all(len(site.releases) > 3 for site in sites)
    saved = combined([Sent(origin="x", saved=site) for site in sites])
    assert len(saved.releases) == 6 and {r.query.evidence for r in saved.releases} == {"moments"}


# -- what is refused, in this order


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two(files: list[Path], count: int) -> None:
    with pytest.raises(EvidenceError, match=rf"{count} file.*at least 2"):
        joint(*files[:count])


def test_what_is_not_private_or_not_central_or_not_tables(files: list[Path]) -> None:
    a, b = (load(file) for file in files[:2])
    exact = privet.discover(patients(1), SCHEMA, private=False).evidence
    steps = hospital("steps", method="em-pc").evidence
    mixed = hospital("mixed", numbers(1), NUMBERS).evidence
    pair = combined([Sent(origin="a", saved=a), Sent(origin="b", saved=b)])
    for saved, match in (
        (exact, "'odd' is not private"),
        (steps, "'odd' holds counts and decisions, measured by em-pc"),
        (pair, "'odd' is the evidence of several sites already"),
        (mixed, "'odd' holds moments, but 'a' holds tables"),
    ):
        with pytest.raises(EvidenceError, match=match):
            combined([Sent(origin="a", saved=a), Sent(origin="odd", saved=saved)])
    refused(files, put("certificate", "trust", value="local"), "damaged")  # by ``load``
    refused(files, put("certificate", "trust", value="somebody"), "has the trust 'somebody'")


@pytest.mark.parametrize("epsilon", [0, True, -1, 1e99])
def test_a_promise_that_is_none(files: list[Path], epsilon: object) -> None:
    refused(files, put("certificate", "epsilon", value=epsilon), "promises nothing: epsilon is")


@pytest.mark.parametrize("part", ["assumptions", "warnings"])
def test_a_certificate_that_is_not_whole(files: list[Path], part: str) -> None:
    refused(files, put("certificate", part, value=[{}]), "not whole")


def other(column: Column) -> Schema:
    return replace(SCHEMA, columns=(SCHEMA.columns[0], column, SCHEMA.columns[2]))


@pytest.mark.parametrize(
    ("column", "match"),
    [
        (
            {"kind": "categorical", "levels": ("yes", "no"), "missing_value": "no"},
            r"levels \['yes', 'no'\] in column 'cough', but 'one' has \['no', 'yes'\]",
        ),
        ({"kind": "ordinal", "levels": ("no", "yes")}, "kind 'ordinal' in column 'cough'"),
        (
            {"kind": "categorical", "levels": ("no", "yes"), "missing": "level"},
            "missing 'level' in column 'cough', but 'one' has 'value'",
        ),
        (
            {"kind": "categorical", "levels": ("no", "yes"), "missing_value": "yes"},
            "missing value 'yes' in column 'cough', but 'one' has 'no'",
        ),
    ],
)
def test_the_first_difference_of_columns_is_named(column: dict[str, Any], match: str) -> None:
    one = hospital("one").evidence
    two = hospital("two", schema=other(Column(name="cough", **column))).evidence
    with pytest.raises(EvidenceError, match=f"'two' has {match}"):
        combined([Sent(origin="one", saved=one), Sent(origin="two", saved=two)])


@pytest.mark.parametrize(
    ("column", "match"),
    [
        ({"bounds": (-8, 9)}, r"bounds \[-8.0, 9.0\] in column 'cough', but 'one' has"),
        ({"bounds": (-8, 8), "cuts": (0.0,)}, r"cuts \[0.0\] in column 'cough'"),
    ],
)
def test_differences_of_numbers_are_named(column: dict[str, Any], match: str) -> None:
    schema = replace(
        NUMBERS,
        columns=(
            NUMBERS.columns[0],
            Column(name="cough", kind="numeric", **column),
            NUMBERS.columns[2],
        ),
    )
    sites = [hospital("one", numbers(1), NUMBERS), hospital("two", numbers(2), schema)]
    with pytest.raises(EvidenceError, match=f"'two' has {match}"):
        combined(
            [Sent(origin=x, saved=s.evidence) for x, s in zip(("one", "two"), sites, strict=True)]
        )


def test_columns_in_another_order_or_missing(files: list[Path]) -> None:
    for columns in (SCHEMA.columns[::-1], SCHEMA.columns[:2]):
        odd = hospital("odd", schema=replace(SCHEMA, columns=columns)).evidence
        with pytest.raises(EvidenceError, match=r"'odd' has the columns .*same order"):
            combined([Sent(origin="a", saved=load(files[0])), Sent(origin="odd", saved=odd)])


def test_names_rows_per_person_adjacency_and_budgets_may_differ(files: list[Path]) -> None:
    schema = replace(public_rows(SCHEMA, 1200), name="ward 7", rows_per_person=2)
    odd = hospital("odd", schema=schema, epsilon=0.5, delta=1e-7).evidence
    saved = combined([Sent(origin="a", saved=load(files[0])), Sent(origin="odd", saved=odd)])
    assert saved.schema.name == "patients and ward 7" and saved.schema.rows_per_person == 2
    facts = saved.certificate
    assert (facts["epsilon"], facts["delta"]) == (4.0, 1e-6)
    assert facts["adjacency"] == "add-remove or replace-one"
    assert "(odd: has given these data or any others)" in facts["promise"]


def test_knowledge_must_agree_or_be_given(files: list[Path]) -> None:
    tiers = Knowledge(tiers=(("smoke", "dust"), ("cough",)))
    odd = hospital("odd", schema=replace(SCHEMA, knowledge=tiers)).evidence
    sent = [Sent(origin="a", saved=load(files[0])), Sent(origin="odd", saved=odd)]
    with pytest.raises(EvidenceError, match=r"'odd' has other knowledge.*schema='FILE'"):
        combined(sent)
    given = replace(SCHEMA, name="all", knowledge=tiers)
    saved = combined(sent, given)
    assert saved.schema.knowledge == tiers and saved.schema.name == "all"
    with pytest.raises(EvidenceError, match=r"'a' has the columns .*but 'the schema' has"):
        combined(sent, replace(given, columns=SCHEMA.columns[1:], knowledge=Knowledge()))


@pytest.mark.parametrize("factor", [1e-4, 0.99, 1.01, 1e4])
def test_an_edited_variance(files: list[Path], factor: float) -> None:
    def change(document: Any) -> None:
        document["releases"][2]["variance"] *= factor

    refused(files, change, r"gives the noise of .* the variance .*changed or damaged")


def test_a_mechanism_that_nobody_knows(files: list[Path]) -> None:
    for stated in ("Gaussian(rho=Fraction(0, 1))", "noise", "Gaussian(rho=Fraction(1, 1)) + 1"):
        refused(files, put("releases", 2, "mechanism", value=stated), "not that of its mechanism")
    tiny = f"Gaussian(rho=Fraction(1, {10**60}))"  # of a scale that no noise has
    refused(files, put("releases", 2, "mechanism", value=tiny), "not that of its mechanism")


def test_less_noise_than_was_promised(files: list[Path]) -> None:
    """Variance and mechanism fit each other, but the releases cost more than the promise."""
    refused(files, put("certificate", "epsilon", value=3.99), "does not cover the promise")
    refused(files, put("certificate", "delta", value=0.0), "does not go with its delta")

    def twice(document: Any) -> None:
        document["releases"].append(document["releases"][2])

    refused(files, twice, "does not cover the promise")


# -- how each site has counted


def counted(label: str, accounting: Accounting, **options: Any) -> Saved:
    """The evidence of a hospital whose cap was made with this accounting."""
    book = privet.Ledger(":memory:")
    book.create(SCHEMA.name, epsilon=9, delta=1e-6, accounting=accounting)
    return hospital(label, ledger=book, **options).evidence


def of_old(label: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A document from before there was a choice: noise without the tenth, and no accounting."""
    with monkeypatch.context() as then:
        then.setattr(mechanisms, "DISCRETE", Fraction(0))
        then.setattr(mechanisms, "LEAST_SQUARE", Fraction(0))
        document = json.loads(to_json(counted(label, "zcdp")))
    del document["certificate"]["accounting"]
    return document


def test_sites_may_count_otherwise(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old := tmp_path / "old.json").write_text(json.dumps(of_old("old", monkeypatch)))
    saved = [load(files[0]), counted("zcdp", "zcdp"), load(old)]
    facts = combined([Sent(origin="x", saved=each) for each in saved]).certificate
    assert [site["accounting"] for site in facts["sites"]] == ["gdp", "zcdp", "zcdp"]
    assert facts["accounting"] == "zcdp"
    assert "(Gaussian differential privacy); spent" in str(Certificate(facts))
    assert joint(*files).certificate["accounting"] == "gdp"


def test_noise_must_cover_the_promise_as_the_site_has_counted(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget is worth more in GDP, and old noise is not enough there."""
    stated = put("certificate", "accounting", value="zcdp")
    refused(files, stated, "does not cover the promise")
    for wrong in ("pure", "rdp", ["gdp"], None):
        refused(files, put("certificate", "accounting", value=wrong), "not go with|not whole")
    (old := tmp_path / "old.json").write_text(json.dumps(of_old("old", monkeypatch)))
    better = put("certificate", "accounting", value="gdp")
    refused([files[0], old], better, "not that of its mechanism")
    (new := tmp_path / "new.json").write_text(to_json(counted("new", "zcdp")))
    joint(files[0], changed(new, better))  # whose noise does for either


def test_a_person_with_more_rows_needs_more_noise(files: list[Path]) -> None:
    refused(files, put("schema", "rows_per_person", value=2), "not that of its mechanism")


def test_laplace_noise_is_priced_too(tmp_path: Path) -> None:
    for label in LABELS[:2]:
        hospital(label, delta=0.0).save(tmp_path / label)
    files = [tmp_path / label / "evidence.json" for label in LABELS[:2]]
    assert joint(*files).certificate["delta"] == 0.0
    refused(files, put("certificate", "epsilon", value=3.999), "does not cover the promise")

    def change(document: Any) -> None:
        document["releases"][0]["variance"] *= 0.5

    refused(files, change, "not that of its mechanism")


def test_doubles(files: list[Path]) -> None:
    facts = json.loads(files[0].read_text())["certificate"]
    for path, value in (
        (("site",), facts["site"]),
        (("ledger", "run"), facts["ledger"]["run"]),
        (("ledger", "people"), facts["ledger"]["people"]),
    ):
        name = {"people": "people id"}.get(path[-1], path[-1])
        match = f"the same {name} '{value}', so the same people would be measured twice: leave one"
        refused(files, put("certificate", *path, value=value), match)
    with pytest.raises(EvidenceError, match="measured twice"):
        joint(*files, files[1])


def test_two_runs_on_the_same_people(tmp_path: Path) -> None:
    """Under two labels, but in one ledger."""
    book = tmp_path / "ledger"
    privet.Ledger(book).create("patients", epsilon=10, delta=1e-6)
    sites = [hospital(x, ledger=book, epsilon=1.0).evidence for x in LABELS[:2]]
    with pytest.raises(EvidenceError, match=r"'a' and 'b' have the same people id .*leave one out"):
        combined([Sent(origin=x, saved=site) for x, site in zip("ab", sites, strict=True)])


def test_labels(files: list[Path]) -> None:
    refused(files, put("certificate", "site", value=None), "has no site, .*site='LABEL'")
    refused(files, lambda document: document["certificate"].pop("site"), "has no site")
    for label in ("Hospital", "", 3, "a" * 41, "a b"):
        refused(files, put("certificate", "site", value=label), "but a label must be 1 to 40")
    refused(files, put("certificate", "ledger", "people", value=None), "no people id")


# -- what is promised


def test_each_site_finds_its_words(files: list[Path], folder: Path) -> None:
    lines = {site["label"]: site for site in joint(*files).certificate["sites"]}
    for label, file in zip(LABELS, files, strict=True):
        own = json.loads((folder / label / "certificate.json").read_text())
        assert own["words"] == lines[label]["words"] == words(file.read_text())
        assert own["ledger"]["people"] == lines[label]["people"]
        assert own["words"] in str(Certificate(own))


def test_any_change_changes_the_words(files: list[Path]) -> None:
    def change(document: Any) -> None:
        document["releases"][0]["values"][0] += 1

    bad = changed(files[2], change)
    before, after = joint(*files).certificate, joint(*files[:2], bad).certificate
    same = [a["words"] == b["words"] for a, b in zip(before["sites"], after["sites"], strict=True)]
    assert same == [True, True, False]


def test_words_tell_80_bits() -> None:
    every = {a + b for a in FIRST for b in SECOND}
    assert len(every) == 1024 and len(words("").split()) == 8
    # SHA-256 of nothing begins e3b0c442 98fc1c14 9afb
    bits = f"{0xE3B0C44298FC1C149AFB:080b}"
    parts = [int(bits[i : i + 10], 2) for i in range(0, 80, 10)]
    assert words("") == " ".join(FIRST[p // 32] + SECOND[p % 32] for p in parts)


def test_the_certificate_says_who_promised_what(files: list[Path]) -> None:
    certificate = Certificate(joint(*files).certificate)
    assert certificate.private and certificate["trust"] == "sites" and not certificate.local
    assert (certificate["epsilon"], certificate["delta"]) == (4.0, 1e-6)
    text = str(certificate)
    for label in LABELS:
        assert f"{label}: has promised its people epsilon 4, delta 1e-06" in text
    assert "Each of 3 sites has blurred its own numbers" in text
    assert "no person is at more than one of the sites" in text
    assert text.count("was known without looking at the rows") == 1
    assert "left_epsilon" not in to_json(joint(*files))


def test_what_is_left_of_a_cap_stays_at_the_site(tmp_path: Path) -> None:
    book = tmp_path / "ledger"
    privet.Ledger(book).create("patients", epsilon=10, delta=1e-6)
    own = hospital("a", ledger=book, epsilon=1.0)
    alone = hospital(None, ledger=book, epsilon=1.0)
    assert "left_epsilon" not in to_json(own.evidence)
    assert "left_epsilon" in alone.certificate["ledger"] and alone.certificate["site"] is None
    assert "`privet ledger show` tells what is left" in str(own.certificate)
    assert "words" not in alone.certificate


def test_a_person_at_several_sites() -> None:
    """Two sites with epsilon 1, delta 1e-6 make it 1.45; see federation."""
    schema = replace(SCHEMA, sites_per_person=2)
    sites = [hospital(x, schema=schema, epsilon=1.0).evidence for x in LABELS[:2]]
    sites.append(hospital(LABELS[2], epsilon=0.5).evidence)
    saved = combined([Sent(origin="x", saved=site) for site in sites])
    facts = saved.certificate
    assert facts["epsilon"] == epsilon_for(2 * rho_for(1, 1e-6, "gdp"), 1e-6, "gdp")
    assert round(facts["epsilon"], 2) == 1.45 and facts["delta"] == 1e-6
    assert (facts["epsilon_at_one_site"], facts["sites_per_person"]) == (1.0, 2)
    assert "who is at up to 2 of them" in facts["promise"]
    assert "To a person at one site only, it is epsilon 1." in str(Certificate(facts))
    assert any("at more than 2 of the sites" in text for text in facts["assumptions"])
    mine = sites[0].certificate["assumptions"]
    assert any("no person is at more than 2 of the sites" in text for text in mine)


def test_a_person_at_several_sites_with_and_without_delta() -> None:
    schema = replace(SCHEMA, sites_per_person=5)
    pure = [hospital(x, schema=schema, epsilon=0.5, delta=0.0).evidence for x in LABELS]
    facts = combined([Sent(origin="x", saved=site) for site in pure]).certificate
    assert (facts["epsilon"], facts["delta"]) == (1.5, 0.0)  # there are no more than three
    mixed = [*pure[:2], hospital("d", schema=schema, epsilon=1.0).evidence]
    facts = combined([Sent(origin="x", saved=site) for site in mixed]).certificate
    rho = rho_for(1, 1e-6, "gdp") + 2 * Fraction(11, 14) * Fraction(1, 2) ** 2
    assert (facts["epsilon"], facts["delta"]) == (epsilon_for(rho, 1e-6, "gdp"), 1e-6)


def test_a_person_at_sites_that_count_otherwise() -> None:
    """What was paid in GDP is worth as much in zCDP, and pure charges have a price in both."""
    schema = replace(SCHEMA, sites_per_person=5)
    sites = [
        hospital("a", schema=schema, epsilon=0.5, delta=0.0).evidence,
        counted("b", "gdp", schema=schema, epsilon=1.0),
        counted("c", "zcdp", schema=schema, epsilon=1.0),
    ]
    facts = combined([Sent(origin="x", saved=site) for site in sites]).certificate
    rho = rho_for(1, 1e-6, "gdp") + rho_for(1, 1e-6, "zcdp") + Fraction(1, 8)
    assert facts["epsilon"] == epsilon_for(rho, 1e-6, "zcdp") and facts["accounting"] == "zcdp"


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_sites_per_person_is_a_whole_number(number: Any) -> None:
    with pytest.raises(PrivetError, match=r"sites_per_person = .*whole number of at least 1"):
        replace(SCHEMA, sites_per_person=number)


def test_sites_per_person_is_kept_in_schema_files() -> None:
    assert "sites_per_person" not in SCHEMA.to_dict()
    schema = replace(SCHEMA, sites_per_person=3)
    assert Schema.from_toml(schema.to_toml()) == schema == Schema.from_dict(schema.to_dict())
    assert "the most sites at which one person can be" in schema.to_toml()
    assert schema.unit == SCHEMA.unit and schema.names == NAMES


def test_one_site_is_the_central_search_bit_for_bit() -> None:
    found = hospital("hospital-a")
    method = catalogue.get(found.method)
    labelled = tuple(replace(release, site="hospital-a") for release in found.evidence.releases)
    alone, central = (
        method.search(found.evidence.schema, releases, Settings())
        for releases in (labelled, found.evidence.releases)
    )
    assert alone == central and central.graph.edges
