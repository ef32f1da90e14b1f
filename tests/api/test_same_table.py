"""Which table a run was about, by public facts: what may be reused, what is refused, and what says
so. No answer here depends on a row."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.errors import BudgetError, DataError, MethodError, PrivetError, SchemaError
from privet.privacy.ledger.book import Ledger
from tests.api.test_reuse import DAY, SCHEMA, as_file, runs, table

BARE = replace(SCHEMA, as_of=None)
LOUD = re.compile(
    r"REUSED, NOT MEASURED\. These are the numbers of run [0-9a-f]{16} of \d{4}-\d\d-\d\d about "
    r"'people'( as of \S+)?\. "
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    book = tmp_path / "ledger.db"
    Ledger(book).create("people", epsilon=9, delta=1e-6)
    return book


def ask(ledger: Any, data: Any, schema: privet.Schema = BARE, **more: Any) -> privet.Discovery:
    return privet.discover(data, schema, epsilon=1, ledger=ledger, **more)


def test_a_frame_without_a_label_is_always_measured(path: Path) -> None:
    assert not any(ask(path, table()).reused for _ in range(2))
    assert runs(path) == ["closed", "closed"]
    with pytest.raises(DataError, match=r"reuse=True.*as_of='2026-10-31'"):
        ask(path, table(), reuse=True)
    assert ask(path, table(), reuse=True, as_of=DAY).reused is False  # the first of this label
    assert ask(path, table(2), as_of=DAY).reused


def test_a_file_without_a_label_is_a_choice(path: Path, tmp_path: Path) -> None:
    file = as_file(tmp_path / "people.csv", table())
    first = ask(path, file)
    run = first.certificate["ledger"]["run"]
    with pytest.raises(BudgetError, match=f"run {run} of .*reuse=True.*reuse=False.*as_of="):
        ask(path, file)
    as_file(file, table(2))  # which nobody sees
    with pytest.raises(BudgetError, match=f"run {run} of "):
        ask(path, str(file))
    assert runs(path) == ["closed"]
    again = ask(path, file, reuse=True)
    assert again.certificate["identical_run"] == run and runs(path) == ["closed"]
    assert not ask(path, file, reuse=False).reused and len(runs(path)) == 2


def test_one_place_has_many_spellings(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = as_file(tmp_path / "people.csv", table())
    ask(path, file)
    monkeypatch.chdir(tmp_path)
    Path("link.csv").symlink_to(file)
    for same in ("people.csv", "./people.csv", Path("link.csv")):
        assert ask(path, same, reuse=True).reused
    assert not ask(path, as_file(tmp_path / "copy.csv", table()), reuse=True).reused


def test_a_table_of_a_database_has_a_place(path: Path, tmp_path: Path) -> None:
    import duckdb

    for name in ("one.duckdb", "two.duckdb"):
        with duckdb.connect(str(tmp_path / name)) as base:
            base.execute("CREATE TABLE t AS SELECT 'no' AS a, 'yes' AS b, 'no' AS c FROM range(9)")
    ask(path, f"duckdb:{tmp_path}/one.duckdb")
    with pytest.raises(BudgetError, match="has asked just this"):
        ask(path, f"duckdb:{tmp_path}/one.duckdb?table=t")
    assert not ask(path, f"duckdb:{tmp_path}/two.duckdb?table=t").reused


def test_the_source_is_opened_before_anything_is_handed_out(path: Path, tmp_path: Path) -> None:
    """As a run that pays would; and nothing is charged."""
    file = as_file(tmp_path / "people.csv", table())
    for schema in (SCHEMA, BARE):
        ask(path, file, schema)
    lacking = as_file(tmp_path / "lacking.csv", {"a": ["no"], "b": ["no"]})
    folder = tmp_path / "empty"
    folder.mkdir()
    for data in (tmp_path / "gone.csv", lacking, folder, {"a": ["no"]}):
        with pytest.raises(DataError) as paying:
            ask(path, data, SCHEMA, reuse=False)
        with pytest.raises(DataError) as reusing:
            ask(path, data, SCHEMA)
        assert str(reusing.value) == str(paying.value)
    file.unlink()
    for reuse in (None, True, False):
        with pytest.raises(DataError, match="cannot read"):
            ask(path, file, reuse=reuse)
    assert len(runs(path)) == 2


def test_what_is_said_does_not_depend_on_rows(path: Path, tmp_path: Path) -> None:
    """The refusal and the reused result are the same, letter for letter, whatever the rows are."""
    file = as_file(tmp_path / "people.csv", table())
    ask(path, file)
    said: set[str] = set()
    for seed, rows in ((1, 300), (2, 300), (3, 1), (4, 5000)):
        as_file(file, table(seed, rows))
        with pytest.raises(BudgetError) as refusal:
            ask(path, file)
        found = ask(path, file, reuse=True)
        said.add(f"{refusal.value}\n{found}\n{found.evidence.certificate}")
    assert len(said) == 1


def test_reuse_is_loud(path: Path, tmp_path: Path) -> None:
    first = ask(path, table(), as_of=DAY)
    found = ask(path, table(2), as_of=DAY)
    assert found.certificate["measured_on"] == Ledger(path).account("people").runs[0].when[:10]  # type: ignore[union-attr]
    for text in (str(found), repr(found), found.certificate.not_measured or ""):
        assert LOUD.match(text) and f"as of {DAY}" in text
    assert LOUD.search(str(found.certificate)) and LOUD.search(
        found._repr_html_().replace("&#x27;", "'")
    )
    found.save(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8").replace("&#x27;", "'")
    assert LOUD.search(page[: page.index("<svg")]) and "reuse=False" in page
    assert privet.verify(tmp_path / "out", ledger=path).good
    for text in (str(first), repr(first), first._repr_html_()):
        assert not LOUD.search(text)
    assert first.certificate["as_of"] == DAY
    assert any("comes from the calendar" in each for each in first.certificate["assumptions"])


def test_labels(path: Path) -> None:
    assert privet.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    text = SCHEMA.to_toml().replace(f'"{DAY}"', DAY)  # a date of TOML
    assert privet.Schema.from_toml(text) == SCHEMA
    for bad in ("", " x", "x" * 41, "a\nb", 7):
        with pytest.raises(SchemaError, match="as_of"):
            ask(path, table(), as_of=bad)
    with pytest.raises(MethodError, match="reuse"):
        ask(path, table(), reuse="yes")
    found = ask(path, table(), as_of=DAY)
    other = replace(BARE, as_of="2027-01-31")  # a second search need not have the same label
    again = privet.discover(evidence=found.evidence, schema=other)
    assert again.evidence.schema.as_of == DAY
    with pytest.raises(PrivetError, match="as_of"):
        privet.discover(evidence=found.evidence, as_of=DAY)


def test_a_frame_needs_a_name_where_budgets_are_kept(path: Path, tmp_path: Path) -> None:
    """Two frames that nobody has named had one budget and one answer."""
    levels = {name: ["no", "yes"] for name in ("a", "b", "c")}
    for schema in (privet.Schema.of(table(), levels=levels), privet.draft(table())):
        for label in (None, DAY):
            with pytest.raises(SchemaError, match=r"called 'table'.*name='clinic'"):
                ask(path, table(), schema, as_of=label)
        assert Ledger(path).account("table") is None
        assert not ask(":memory:", table(), schema).reused
        assert privet.plan(schema, rows=300, epsilon=1)
        assert not privet.discover(table(), schema, private=False).certificate.private
    assert not ask(path, table(), privet.draft(table(), name="people")).reused


def test_sites_need_not_have_one_label(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"ledger": ":memory:", "delta": 1e-6, "method": "interaction-pc"}
    sent = [
        ask(data=table(i), site=f"site-{i}", as_of=f"2026-1{i}-01", **asked).evidence
        for i in (1, 2)
    ]
    assert privet.combine(*sent).evidence.schema.as_of is None


def test_pairs_have_the_same_rule(tmp_path: Path) -> None:
    numbers = privet.Schema.of(["x", "y"], name="numbers", bounds={"x": [0, 1], "y": [0, 1]})
    data = {"x": [0.1, 0.5, 0.9] * 50, "y": [0.2, 0.4, 0.7] * 50}
    book = Ledger(tmp_path / "ledger.db")
    book.create("numbers", epsilon=9, delta=0)
    file = as_file(tmp_path / "n.csv", {k: [str(v) for v in vs] for k, vs in data.items()})
    asked: dict[str, Any] = {"cause_effect": ("x", "y"), "epsilon": 1.0, "ledger": book}
    assert not privet.orient(file, numbers, **asked).reused
    with pytest.raises(BudgetError, match="has asked just this"):
        privet.orient(file, numbers, **asked)
    found = privet.orient(file, numbers, reuse=True, **asked)
    for text in (str(found), repr(found), found._repr_html_()):
        assert text.count("REUSED, NOT MEASURED") >= 1
    assert not any(privet.orient(data, numbers, **asked).reused for _ in range(2))
    with pytest.raises(DataError):
        privet.orient(tmp_path / "gone.csv", numbers, reuse=True, **asked)
