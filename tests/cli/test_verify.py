"""A folder of results is as it was written, belongs together, was paid for and was signed by whom
it says; whatever was changed is named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.api.explain import explain
from privet.api.rival import rival
from privet.api.verify import new_key, sign, verify
from privet.errors import EvidenceError, StudyError
from privet.results import seal
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.trust.receipt import uncovered
from tests.helpers.garden import Run

LEVELS = ("no", "yes")
NAMES = ("a", "b")
SCHEMA = Schema(
    name="people",
    columns=tuple(Column(name=n, kind="categorical", levels=LEVELS) for n in NAMES),
)
TABLE = {"a": ["no", "yes"] * 500, "b": ["no", "yes"] * 500}
Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("verify")
    book = home / "ledger.sqlite"
    privet.Ledger(book).create(SCHEMA.name, epsilon=1, delta=1e-6)
    found = privet.discover(TABLE, SCHEMA, epsilon=1, ledger=book)
    found.save(home / "out")
    return home


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "out", tmp_path / "out")
    return tmp_path / "out"


def test_what_a_run_wrote_is_good(out: Path, made: Path) -> None:
    (out / "notes.txt").write_text("of a reader")
    found = verify(out, ledger=made / "ledger.sqlite")
    assert found.good and found.ledger and found.signer is None


def test_pairs_and_further_graphs_are_sealed_too(made: Path, tmp_path: Path) -> None:
    methods = ["interaction-pc", "interaction-ges"]
    found = privet.discover(TABLE, SCHEMA, private=False, method=methods)
    found.save(tmp_path / "many")
    assert verify(tmp_path / "many").good
    other = next((tmp_path / "many" / "others").glob("*.json"))
    other.write_text(other.read_text().replace("a", "b"))
    assert verify(tmp_path / "many").faults[0] == f"others/{other.name} was changed"


def edited(name: str, change: Callable[[dict[str, Any]], object]) -> Change:
    def edit(out: Path) -> None:
        facts = json.loads((out / name).read_text())
        change(facts)
        (out / name).write_text(json.dumps(facts))

    return edit


def _further(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("")


CHANGES: dict[str, tuple[Change, str]] = {
    "a smaller epsilon": (edited("certificate.json", lambda f: f.update(epsilon=0.1)), "changed"),
    "an arrow": (edited("graph.json", lambda f: f["edges"].clear()), "graph.json was changed"),
    "a missing file": (lambda out: (out / "graph.svg").unlink(), "graph.svg is missing"),
    "a further file": (lambda out: (out / "x.html").write_text(""), "x.html was added"),
    "in capitals": (lambda out: (out / "x.HTML").write_text(""), "x.HTML was added"),
    "in others": (lambda out: _further(out / "others" / "x.Svg"), "others/x.Svg was added"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_named(name: str, out: Path) -> None:
    change, said = CHANGES[name]
    change(out)
    assert any(said in fault for fault in verify(out).faults)


def page(old: str, new: str) -> Change:
    def edit(out: Path) -> None:
        path = out / "report.html"
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    return edit


def shown(**changed: object) -> Change:
    return edited("certificate.json", lambda facts: facts.update(changed))


RESEALED: dict[str, tuple[Change, str]] = {
    "an unknown trust": (shown(trust="x"), "another trust"),
    "another trust": (shown(trust="local"), "another trust"),
    "another run": (
        edited("certificate.json", lambda f: f["ledger"].update(run="0" * 16)),
        "another ledger",
    ),
    "another person limit": (shown(rows_per_person=9), "another rows_per_person"),
    "a warning less": (shown(warnings=["all is well"]), "another warnings"),
    "an assumption less": (edited("certificate.json", lambda f: f["assumptions"].pop()), "another"),
    "a word more": (shown(approved_by="the board"), "another approved_by"),
    "a word less": (
        edited("certificate.json", lambda f: f.pop("accounting")),
        "another accounting",
    ),
    "another option": (
        edited("certificate.json", lambda f: f["options"].update(alpha=0.001)),
        "another options than the evidence gives",
    ),
    "another seed": (edited("certificate.json", lambda f: f["options"].update(seed=-3)), "seed"),
    "options that are none": (shown(options=3), "does not say how the evidence was searched"),
    "another method": (shown(method="interaction-ges"), "report.html is not what"),
    "no such method": (shown(method="magic"), "magic"),
    "reused": (shown(reused=True, identical_run="0" * 16), "another run than the evidence"),
    "an edge less": (edited("graph.json", lambda f: f["edges"].clear()), "graph.json is not what"),
    "a surer edge": (
        edited("graph.json", lambda f: f["edges"][0].update(confidence=0.5)),
        "graph.json is not what",
    ),
    "a page with another epsilon": (page("epsilon 1", "epsilon 0.1"), "report.html is not what"),
    "another picture": (
        lambda out: (out / "graph.svg").write_text("<svg/>"),
        "graph.svg is not what",
    ),
    "a diagnosis": (
        lambda out: (out / "diagnostics.json").write_text("[1]"),
        "diagnostics.json is not what",
    ),
    "a further page": (lambda out: (out / "x.HTML").write_text(""), "x.HTML is not what"),
    "no evidence": (lambda out: (out / "evidence.json").unlink(), "evidence.json is missing"),
    "one row per person in the evidence": (
        edited("evidence.json", lambda f: f["schema"].update(rows_per_person=3)),
        "another rows_per_person than its schema",
    ),
    "a smaller epsilon": (
        edited("certificate.json", lambda f: f.update(epsilon=0.1)),
        "another epsilon than the evidence",
    ),
    "another graph": (
        edited("graph.json", lambda f: f["nodes"].reverse()),
        "other columns than the evidence",
    ),
    "evidence with less noise": (
        edited("evidence.json", lambda f: f["releases"][0].update(variance="1/100")),
        "damaged",
    ),
}


@pytest.mark.parametrize("name", RESEALED)
def test_a_new_seal_does_not_make_it_fit(name: str, out: Path) -> None:
    change, said = RESEALED[name]
    change(out)
    (out / seal.SEAL).write_text(seal.sealed(out))
    assert any(said in fault for fault in verify(out).faults)


def test_another_ledger_does_not_cover_it(out: Path, made: Path, tmp_path: Path) -> None:
    book = tmp_path / "other.sqlite"
    assert verify(out, ledger=book).faults == ("the ledger has no data set 'people'",)
    privet.discover(TABLE, SCHEMA, epsilon=1, delta=1e-6, ledger=book)
    assert "no run" in verify(out, ledger=book).faults[0]


def test_a_charge_that_is_missing_is_named(out: Path, made: Path, tmp_path: Path) -> None:
    import sqlite3

    shutil.copy(made / "ledger.sqlite", tmp_path / "short.sqlite")
    with sqlite3.connect(tmp_path / "short.sqlite") as db:
        db.execute("UPDATE entries SET cost = '1/1000000000' WHERE rowid = 1")
    assert any(
        "no charge of" in fault for fault in verify(out, ledger=tmp_path / "short.sqlite").faults
    )


def test_signatures(out: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    mine, theirs = (new_key(name, tmp_path / name) for name in ("mine", "theirs"))
    assert "by nobody" in verify(out, key=mine).faults[0]
    sign(out, mine.parent)
    found = verify(out, key=mine)
    assert found.good and found.signer == "mine" and found.known
    assert not verify(out).known
    assert "another key, of 'mine'" in verify(out, key=theirs).faults[0]


def test_a_signature_holds_the_files_and_the_name(out: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    key = new_key("mine", tmp_path / "mine")
    sign(out, key.parent)
    whole = json.loads((out / seal.SEAL).read_text())
    (out / "graph.svg").write_text("<svg/>")
    fresh = json.loads(seal.sealed(out))
    for forged in (
        {**fresh, "signature": whole["signature"]},
        {**whole, "signature": {**whole["signature"], "name": "somebody"}},
    ):
        (out / seal.SEAL).write_text(json.dumps(forged))
        assert "the signature does not fit the files" in verify(out, key=key).faults


def test_what_was_changed_is_not_signed(out: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    key = new_key("mine", tmp_path / "mine")
    (out / "graph.svg").write_text("<svg/>")
    with pytest.raises(EvidenceError, match=r"graph\.svg was changed"):
        sign(out, key.parent)
    with pytest.raises(StudyError, match="named 'My Key'"):
        new_key("My Key", tmp_path / "k")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"privet seal": 1, "files": 3}', "\x00", "[" * 100_000]
)
def test_a_broken_seal_is_refused(text: str, out: Path) -> None:
    (out / seal.SEAL).write_text(text)
    with pytest.raises(EvidenceError, match="no seal"):
        verify(out)


def resealed(out: Path, **changed: object) -> None:
    """The certificate of the folder and that in its evidence say the same, and the seal is new."""
    shown(**changed)(out)
    edited("evidence.json", lambda f: f["certificate"].update(changed))(out)
    (out / seal.SEAL).write_text(seal.sealed(out))


@pytest.mark.parametrize("kept", [None, {}, "x"])
def test_a_certificate_that_names_no_run_is_a_fault(out: Path, made: Path, kept: object) -> None:
    resealed(out, ledger=kept)
    assert verify(out, ledger=made / "ledger.sqlite").faults


@pytest.mark.parametrize("trust", ["x", "", None, "Central", "local", "sites", "together"])
def test_a_ledger_that_is_given_is_asked(trust: object, out: Path, made: Path) -> None:
    """The folder that is checked does not say whether."""
    resealed(out, trust=trust)
    assert verify(out, ledger=made / "ledger.sqlite").faults
    if trust not in ("together",):  # which nothing beside the ledger contradicts
        assert verify(out).faults


def test_an_unknown_trust_is_not_read_as_central(out: Path) -> None:
    resealed(out, trust="x")
    for use in (
        lambda: explain(out, "a", "b"),
        lambda: privet.discover(evidence=out / "evidence.json"),
        lambda: privet.combine(out / "evidence.json", out / "evidence.json"),
    ):
        with pytest.raises(EvidenceError, match="trust 'x'"):
            use()


def test_results_without_a_ledger_are_not_held_against_one(made: Path, tmp_path: Path) -> None:
    privet.discover(TABLE, SCHEMA, private=False).save(tmp_path / "exact")
    assert verify(tmp_path / "exact").good
    (fault,) = verify(tmp_path / "exact", ledger=made / "ledger.sqlite").faults
    assert "not paid for from a single ledger" in fault


def test_a_folder_without_evidence_is_not_said_to_be_what_that_gives(
    run: Run, tmp_path: Path
) -> None:
    numbers = {"x": [0.1, 0.5, 0.9] * 50, "y": [0.2, 0.4, 0.7] * 50}
    schema = Schema.of(numbers, name="numbers", bounds={"x": [0, 1], "y": [0, 1]})
    rival(numbers, numbers, schema=schema, private=False).save(tmp_path / "peri")
    assert verify(tmp_path / "peri").good and verify(tmp_path / "peri").unchecked
    assert "Not checked: the folder has no evidence" in run("verify", str(tmp_path / "peri")).out


def test_the_ledger_knows_people_days_and_charges(out: Path, made: Path) -> None:
    book = made / "ledger.sqlite"
    said = json.loads((out / "certificate.json").read_text())
    resealed(out, ledger={**said["ledger"], "people": "0" * 32})
    assert any(
        "another number for these people" in fault for fault in verify(out, ledger=book).faults
    )
    hidden = uncovered(book, {**said, "queries": []})
    assert hidden and all("does not list the charge" in each for each in hidden)
    for key, wrong in (("rho_exact", "1/9"), ("rho_exact", "0/1")):
        (less,) = uncovered(book, {**said, "spent": {**said["spent"], key: wrong}})
        assert "the ledger has charged" in less
    (day,) = uncovered(book, {**said, "measured_on": "1999-12-31"})
    assert "not on 1999-12-31" in day


def test_another_version_switches_nothing_off(out: Path, run: Run) -> None:
    """What it wrote is good if this one would write the same, and else that one is named."""
    shown(version="0.0.1")(out)
    (out / seal.SEAL).write_text(seal.sealed(out))
    assert verify(out).good
    edited("graph.json", lambda facts: facts["edges"].clear())(out)
    (out / seal.SEAL).write_text(seal.sealed(out))
    (fault,) = verify(out).faults
    assert fault.startswith("graph.json is not what the evidence gives") and "0.0.1" in fault
    done = run("verify", str(out))
    assert done.code == 2 and "cannot be verified" in done.err


@pytest.mark.parametrize("nodes", [None, 3, "abc", {}])
def test_nodes_that_are_no_list_are_a_fault(out: Path, nodes: object) -> None:
    graph = json.loads((out / "graph.json").read_text())
    (out / "graph.json").write_text(json.dumps({**graph, "nodes": nodes}))
    assert "graph.json has other columns than the evidence" in verify(out).faults


def test_a_certificate_without_end_is_a_fault(out: Path) -> None:
    (out / "certificate.json").write_text("[" * 100_000)
    assert "certificate.json was changed" in " ".join(verify(out).faults)


def test_a_key_of_half_a_character_is_none(out: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    secret = new_key("mine", tmp_path / "mine").with_name("secret.json")
    secret.write_text(secret.read_text().replace('"mine"', '"\\ud800"'))
    with pytest.raises(StudyError, match="holds no keys"):
        sign(out, secret.parent)


def test_a_folder_is_told_from_its_public_half(out: Path, tmp_path: Path) -> None:
    """Readers give a file and whoever signs a folder; a refusal asks for the right one."""
    key = new_key("officer", tmp_path / "key").parent
    with pytest.raises(StudyError, match=r"give the file public\.json that"):
        verify(out, key=key)
    with pytest.raises(StudyError, match="give the folder that"):
        sign(out, key / "public.json")


def test_two_dashes_are_no_value(run: Run) -> None:
    done = run("measure", "data.csv", "--study=--", "--keys", "k", "--output", "o")
    assert done.code == 2 and "--study is '--'" in done.err


def test_the_command(out: Path, made: Path, run: Run, tmp_path: Path) -> None:
    done = run("verify", str(out), "--ledger", str(made / "ledger.sqlite"))
    assert done.code == 0 and "The ledger has the run and its charges" in done.out
    (out / "graph.json").unlink()
    done = run("verify", str(out), "--json")
    assert done.code == 2 and "graph.json is missing" in done.err
    assert json.loads(done.out)["good"] is False
    assert run("verify", str(tmp_path / "none")).code == 2
