"""Missing cells: the draft leaves the choice open, and nothing is spent until it is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.cli.main import main
from privet.errors import SchemaError
from privet.privacy.vault import Vault
from privet.schema.missing import CHOICES
from privet.schema.model import Schema

ROWS = 300
TABLE: dict[str, list[Any]] = {
    "ward": ["ab"[i % 2] for i in range(ROWS)],
    "weight": [None if i % 10 < 7 else 60 + 0.1 * i for i in range(ROWS)],
    "smokes": [None if i % 50 == 0 else "yes" if i % 3 else "no" for i in range(ROWS)],
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data, schema = tmp_path / "icu.csv", tmp_path / "icu.toml"
    rows = [",".join("" if cell is None else str(cell) for cell in row) for row in _rows()]
    data.write_text("\n".join([",".join(TABLE), *rows]) + "\n", encoding="utf-8")
    assert main(["schema", "draft", str(data), "--output", str(schema)]) == 0
    return data, schema


def _rows() -> list[tuple[Any, ...]]:
    return list(zip(*TABLE.values(), strict=True))


def test_a_draft_counts_missing_cells_and_fills_none(files: tuple[Path, Path]) -> None:
    text = files[1].read_text(encoding="utf-8")
    assert 'missing = "choose"  # read from the data: 210 cells are missing, 70%' in text
    assert 'missing = "choose"  # read from the data: 6 cells are missing, 2%' in text
    assert "value = 1" not in text  # nothing is filled
    assert all(choice in text for choice in CHOICES)
    assert Schema.from_toml(text) == privet.draft(TABLE, name="icu")
    assert Schema.from_toml(text).column("ward").missing == "value"


Door = Callable[[Path, Path, Path], list[Any]]
DOORS: dict[str, Door] = {
    "discover": lambda d, s, b: ["discover", d, "--schema", s, "--epsilon", "1", *_to(b)],
    "orient": lambda d, s, b: [
        *["orient", d, "--schema", s, "--epsilon", "1", "--cause-effect", "ward,smokes", *_to(b)]
    ],
    "plan": lambda d, s, b: ["plan", s, "--rows", "300", "--epsilon", "1"],
    "no privacy": lambda d, s, b: ["discover", d, "--schema", s, "--no-privacy", *_to(b)[2:]],
    "randomize": lambda d, s, b: [*["randomize", d, "--schema", s, "--epsilon", "4", *_to(b)[2:]]],
}


def _to(book: Any) -> list[Any]:
    return ["--ledger", book, "--output", book.with_suffix(".out")]


@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_spent_before_the_choice_is_made(
    door: str, files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "book.sqlite"
    line = [str(word) for word in DOORS[door](*files, book)]
    assert main(line) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "'weight', 'smokes'" in said and '"drop"' in said and "--missing drop" in said
    assert not book.exists() and not book.with_suffix(".out").exists()


def test_the_refusal_is_of_the_text_and_not_of_the_rows(files: tuple[Path, Path]) -> None:
    """A table without a missing cell is refused in the same words."""
    _, schema = files
    full = {"ward": ["a", "b"] * 9, "weight": [60.0, 70.0] * 9, "smokes": ["yes", "no"] * 9}
    said = []
    for data in (TABLE, full, "there-is-no-such-file.csv"):
        with pytest.raises(SchemaError) as caught:
            privet.discover(data, schema, epsilon=1, ledger=":memory:")
        said.append(str(caught.value))
    assert len(set(said)) == 1


@pytest.mark.parametrize(
    ("missing", "weight", "smokes"),
    [
        ("drop", ("drop", None), ("drop", None)),
        ("level", ("level", None), ("level", None)),
        ({"weight": {"value": 70}, "smokes": "level"}, ("value", 70.0), ("level", None)),
    ],
)
def test_python_chooses_while_it_drafts(
    missing: Any, weight: tuple[str, object], smokes: tuple[str, object]
) -> None:
    made = privet.draft(TABLE, name="icu", missing=missing)
    chosen = [(made.column(n).missing, made.column(n).missing_value) for n in ("weight", "smokes")]
    assert chosen == [weight, smokes] and made.column("ward").missing == "value"
    assert "weight.missing" in made.unconfirmed
    found = privet.discover(TABLE, made, epsilon=1, ledger=":memory:")
    assert found.graph.nodes == tuple(TABLE)


def test_one_column_may_stay_open() -> None:
    made = privet.draft(TABLE, name="icu", missing={"weight": "drop"})
    with pytest.raises(SchemaError, match=r"in 'smokes', but"):
        privet.discover(TABLE, made, epsilon=1, ledger=":memory:")


@pytest.mark.parametrize("missing", ["fill", "choose", 70, {"wieght": "drop"}, {"weight": "mean"}])
def test_what_is_no_choice_is_refused(missing: Any) -> None:
    with pytest.raises(privet.PrivetError):
        privet.draft(TABLE, name="icu", missing=missing)


def test_the_command_chooses_for_all(files: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    line = ["schema", "draft", str(files[0]), "--missing", "level", "--output", str(other)]
    assert main(line) == 0
    made = Schema.load(other)
    assert [column.missing for column in made.columns] == ["value", "level", "level"]


def test_what_missing_cells_count_as_is_an_assumption() -> None:
    missing = {"weight": {"value": 70}, "smokes": "drop"}
    made = privet.draft(TABLE, name="icu", missing=missing)
    found = privet.discover(TABLE, made, epsilon=1, ledger=":memory:")
    assumed = " ".join(found.certificate["assumptions"])
    assert "'ward' as 'a', 'weight' as 70" in assumed
    assert "rows in which a cell of 'smokes' is missing" in assumed


def test_a_missing_cell_is_safe_where_nothing_is_declared() -> None:
    """It counts as the middle, and is no error; nothing is charged that is not asked."""
    made = Schema.of(list(TABLE), levels={"ward": ["a", "b"]}, bounds={"weight": [50, 90]})
    assert made.column("weight").missing_value == 70
    found = privet.discover(TABLE, made, epsilon=1, ledger=":memory:")
    assert any("'weight' as 70" in text for text in found.certificate["assumptions"])


def test_the_owner_checks_an_unfinished_schema(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", "check", str(files[0]), "--schema", str(files[1])]) == 0
    assert "210 (70%)" in capsys.readouterr().out


def test_python_plans_only_what_is_finished() -> None:
    made = privet.draft(TABLE, name="icu")
    with pytest.raises(SchemaError, match=r"'weight', 'smokes'"):
        privet.plan(made, 300, 1.0)
    with pytest.raises(SchemaError, match=r"'weight', 'smokes'"):
        privet.plan_sites(made, 300, 1.0, sites=3)


def test_the_vault_opens_nothing_for_an_unfinished_schema() -> None:
    with pytest.raises(SchemaError, match=r"'weight', 'smokes'"):
        Vault(TABLE, privet.draft(TABLE, name="icu"), None)


def test_frames_count_as_files_do() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    plain = privet.draft(TABLE, name="icu")
    for frame in (pandas.DataFrame(TABLE), polars.DataFrame(TABLE)):
        made = privet.draft(frame, name="icu")
        assert made == plain and made.notes == plain.notes
