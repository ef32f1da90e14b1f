from __future__ import annotations

import gzip
import math
import tomllib
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privet
from privet.errors import DataError
from privet.schema.born import born_with
from privet.schema.draft import _round_outward
from privet.schema.draft import draft as drafted
from privet.schema.model import Schema


def draft(path: Path) -> str:
    return drafted(path).to_toml()


def table(tmp_path: Path, header: str, rows: list[str], name: str = "people.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_a_draft_proposes_kinds_levels_and_bounds(tmp_path: Path) -> None:
    rows = [
        f"{'yes' if i % 3 else 'no'},{17 + i * 0.71:.2f},{i % 4},{i % 2},town{i % 20}"
        for i in range(100)
    ]
    schema = Schema.from_toml(draft(table(tmp_path, "smoker,age,grade,sex,town", rows)))
    smoker, age, grade, sex, town = schema.columns
    assert schema.name == "people"
    assert smoker.kind == "categorical" and smoker.levels == ("no", "yes")
    assert age.kind == "numeric" and age.bounds == (10, 90) and age.cardinality == 4
    assert grade.kind == "ordinal" and grade.levels == ("0", "1", "2", "3")
    assert sex.kind == "categorical" and sex.levels == ("0", "1")
    assert town.kind == "categorical" and len(town.levels) == 20
    assert all(column.missing == "value" for column in schema.columns)


def test_every_fact_read_is_marked_and_listed(tmp_path: Path) -> None:
    rows = ["a,1", ",2", *(f"b,{i}" for i in range(20))]
    text = draft(table(tmp_path, "x,y", rows))
    facts = {"x.kind", "x.levels", "x.missing", "y.kind", "y.bounds"}
    assert set(Schema.from_toml(text).unconfirmed) == facts
    marked = [line for line in text.splitlines() if "# read from the data" in line]
    assert len(marked) == len(facts)
    assert text.startswith("# DRAFT") and "without paying" in text and "certificate" in text


def test_a_confirmed_entry_can_be_deleted(tmp_path: Path) -> None:
    lines = draft(table(tmp_path, "long_name", ["a", "b"])).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("unconfirmed"))
    del lines[start + 1 : next(i for i in range(start, len(lines)) if lines[i] == "]")]
    assert Schema.from_toml("\n".join(lines)).unconfirmed == ()


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "null", "?", " ", "nan", "N/A", "."])
def test_missing_cells_are_seen(tmp_path: Path, cell: str) -> None:
    numbers = [f"{'ab'[i % 2]},{i}" for i in range(30)]
    path = table(tmp_path, "text,number", [*numbers, f"{cell},{cell}"])
    text, number = Schema.from_toml(draft(path)).columns
    assert text.levels == ("a", "b") and text.missing == "choose"
    assert number.bounds == (0, 30) and number.missing == "choose"
    assert draft(path).count("# read from the data: 1 cell is missing, 3%") == 2


def test_levels_of_whole_numbers_are_in_their_order(tmp_path: Path) -> None:
    path = table(tmp_path, "x", [str(i) for i in (10, 9, -1, 2)])
    assert Schema.from_toml(draft(path)).columns[0].levels == ("-1", "2", "9", "10")


def test_columns_that_cannot_be_used_are_left_out_and_named(tmp_path: Path) -> None:
    rows = [f"id{i},same,,{i % 2},{i}" for i in range(60)]
    text = draft(table(tmp_path, "key\\,one,none,fine,", rows))
    assert Schema.from_toml(text).names == ("fine",)
    out = [line for line in text.splitlines() if line.startswith("# left out")]
    assert len(out) == 4 and '"key\\\\"' in out[0]
    assert "identifier" in out[0] and "fewer than two" in out[1] and "identifier" in out[3]


def test_odd_names_and_levels_survive(tmp_path: Path) -> None:
    names = ["a b", 'say ""hi""', "x.y", "naïve", "[k]", "#", "it's", "c,d", "é😀", "="]
    header = ",".join(f'"{name}"' for name in names)
    rows = [",".join(f'"{level}"' for _ in names) for level in ('q""q', "b,\\", "]'")]
    schema = Schema.from_toml(draft(table(tmp_path, header, rows, "odd [1]*.csv")))
    assert schema.names == tuple(name.replace('""', '"') for name in names)
    assert all(column.levels == ("]'", "b,\\", 'q"q') for column in schema.columns)
    assert schema.name == "odd [1]*"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_header_tells_the_delimiter(tmp_path: Path, delimiter: str) -> None:
    rows = [delimiter.join(("a,b", cell)) for cell in "abc"]
    text = draft(table(tmp_path, delimiter.join(("n", "c")), [*rows, f"c,d{delimiter}a"]))
    assert Schema.from_toml(text).column("n").levels == ("a,b", "c,d")


def test_compressed_files(tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfx\r\na\r\nb\r\n"))
    schema = Schema.from_toml(draft(path))
    assert schema.name == "people" and schema.columns[0].levels == ("a", "b")


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a=1" / "people.parquet"
    path.parent.mkdir()
    rows = duckdb.sql(
        'SELECT (i % 3)::DOUBLE AS grade, i % 2 = 0 AS "is ""x""", i * 0.5 AS size,'
        " CASE WHEN i > 5 THEN 'b' WHEN i > 3 THEN 'a' END AS t FROM range(50) r(i)"
    )
    assert rows is not None
    rows.write_parquet(str(path))
    schema = Schema.from_toml(draft(path))
    grade, flag, size, text = schema.columns
    assert grade.levels == ("0", "1", "2") and grade.kind == "ordinal"
    assert flag.name == 'is "x"' and flag.levels == ("false", "true")
    assert size.bounds == (0, 30)
    assert text.levels == ("a", "b") and text.missing == "choose"


BAD_FILES = {
    "no header": (b"", "empty"),
    "blank header": (b"\n1,2\n", "empty"),
    "duplicate names": (b"a,b,a\n1,2,3\n", "'a' more than once"),
    "no rows": (b"a,b\n", "no column"),
    "nothing varies": (b"a\n1\n1\n", "no column"),
    "not text": (b"\xff\xfe\x00\x81,\n\x00", "cannot be read"),
}


@pytest.mark.parametrize(("content", "said"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_bad_files_are_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        draft(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(DataError, match="no file"):
            draft(path)
    broken = tmp_path / "bad.parquet"
    broken.write_bytes(b"PAR1")
    with pytest.raises(DataError, match="Parquet"):
        draft(broken)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bounds_are_finite_and_hold_the_range(a: float, b: float) -> None:
    low, high = sorted((a, b))
    bounds = _round_outward(low, high)
    if bounds is None:
        assert low == high or math.isinf(high - low)
    else:
        assert bounds[0] <= low < high <= bounds[1] and math.isfinite(bounds[1] - bounds[0])


def test_a_draft_is_toml_with_nothing_but_the_schema(tmp_path: Path) -> None:
    text = draft(table(tmp_path, "x", ["a", "b"]))
    assert Schema.from_dict(tomllib.loads(text)) == Schema.from_toml(
        Schema.from_toml(text).to_toml()
    )


def test_spaces_around_names_and_cells_do_not_count(tmp_path: Path) -> None:
    schema = Schema.from_toml(draft(table(tmp_path, 'x , "y z"', [" a, 1", "b ,2", "a,2 "])))
    assert schema.names == ("x", "y z")
    assert [column.levels for column in schema.columns] == [("a", "b"), ("1", "2")]


def test_a_draft_proposes_what_comes_first_by_names_alone(tmp_path: Path) -> None:
    path = table(
        tmp_path, "income,age,stage,birthYear", [",".join([str(2 * i % 31)] * 4) for i in range(60)]
    )
    text = draft(path)
    assert Schema.from_toml(text).knowledge.tiers == ()
    at = text.index("# [knowledge]")
    confirmed = text[:at] + text[at:].replace("# [knowledge]", "[knowledge]").replace(
        "# tiers", "tiers"
    )
    tiers = (("age", "birthYear"), ("income", "stage"))
    assert Schema.from_toml(confirmed).knowledge.tiers == tiers


@pytest.mark.parametrize("header", ["income,stage", "age,sex"])
def test_names_that_tell_nothing_propose_nothing(tmp_path: Path, header: str) -> None:
    path = table(tmp_path, header, [f"{2 * i % 31},{i % 17}" for i in range(60)])
    assert "tiers" not in draft(path)


@pytest.mark.parametrize(
    ("name", "born"),
    [
        *[(name, True) for name in ("age", "Age", "SEX", "native-country", "DOB", "birthYear")],
        *[(name, True) for name in ("mother age", "place_of_birth", "race")],
        *[(name, False) for name in ("stage", "wage", "sexton", "embrace", "agent", "income")],
        *[(name, False) for name in ("age_at_death", "birthweight", "birth_weight", "birth rate")],
        *[(name, False) for name in ("ageAtDiagnosis", "age_of_car", "race_time", "births")],
    ],
)
def test_which_names_speak_of_birth(name: str, born: bool) -> None:
    assert bool(born_with([name])) is born


# --- what a draft does not take at its word --------------------------------------------------


def of(tmp_path: Path, **columns: list[object]) -> Path:
    rows = zip(*columns.values(), strict=True)
    return table(tmp_path, ",".join(columns), [",".join(map(str, row)) for row in rows])


FLAGS: list[object] = ["yes", "no"] * 20
WORDS: list[object] = [f"a{i}" for i in range(40)]


@pytest.mark.parametrize(
    ("name", "cells", "why"),
    [
        ("visit", [f"2020-01-{1 + i % 28:02d}" for i in range(40)], "holds dates"),
        ("visit", [f"{1 + i % 28}.1.2020" for i in range(40)], "holds dates"),
        ("when", [f"2020-01-01 10:{i:02d}:00" for i in range(40)], "holds dates"),
        ("code", WORDS, "looks like an identifier"),
        ("row", list(range(40)), "looks like an identifier"),
        ("patient_id", [100 + 7 * i for i in range(40)], "looks like an identifier"),
    ],
)
@pytest.mark.parametrize("frame", [False, True])
def test_dates_and_identifiers_are_left_out(
    name: str, cells: list[object], why: str, frame: bool, tmp_path: Path
) -> None:
    columns = {"smokes": FLAGS, name: cells}
    made = privet.draft(columns if frame else of(tmp_path, **columns))
    assert made.names == ("smokes",) and any(why in remark for remark in made.remarks)
    assert why in made.to_toml()


def test_measurements_that_all_differ_are_kept(tmp_path: Path) -> None:
    made = privet.draft(of(tmp_path, smokes=FLAGS, weight=[50 + 1.37 * i for i in range(40)]))
    assert made.names == ("smokes", "weight")
    made = privet.draft(of(tmp_path, smokes=FLAGS, income=[1000 + 37 * i for i in range(40)]))
    assert made.names == ("smokes", "income")


def test_skewed_numbers_get_an_offer(tmp_path: Path) -> None:
    skewed: list[object] = [i**6 / 10 for i in range(1, 41)]
    made = privet.draft(of(tmp_path, smokes=FLAGS, income=skewed))
    assert any("'income' is skewed" in r and 'scale = "log"' in r for r in made.remarks)
    even = privet.draft(of(tmp_path, x=[1.5 * i for i in range(40)], y=FLAGS))
    assert not any("skewed" in remark for remark in even.remarks)


def test_a_row_in_the_place_of_the_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("yes,31\n" + "no,40\nyes,52\n" * 30)
    with pytest.raises(DataError, match="looks like a row"):
        privet.draft(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("2019,2020\n" + "no,yes\nyes,no\n" * 30)
    assert privet.draft(tmp_path / "t.csv").names == ("2019", "2020")


# --- what it says of single columns ----------------------------------------------------------


def test_levels_that_are_numbers_are_in_their_order(tmp_path: Path) -> None:
    doses: list[object] = [0.5, 1, 2.5, 10, 20] * 8
    for data in ({"dose": doses, "y": FLAGS}, of(tmp_path, dose=doses, y=FLAGS)):
        dose = privet.draft(data, name="doses").column("dose")
        assert dose.kind == "ordinal" and dose.levels == ("0.5", "1", "2.5", "10", "20")


@pytest.mark.parametrize("count", [10, 40])
def test_decimal_commas_are_no_levels(count: int, tmp_path: Path) -> None:
    rows = [f"{i % count},5;{'ab'[i % 2]}" for i in range(80)]
    made = privet.draft(table(tmp_path, "size;x", rows))
    assert made.names == ("x",)
    assert any('"size" (it holds numbers with a comma, such as' in r for r in made.remarks)


def test_spellings_of_one_level_are_named(tmp_path: Path) -> None:
    rows = ["Yes", "yes", "YES ", "no"] * 10
    made = privet.draft(table(tmp_path, "smokes", rows))
    assert made.column("smokes").levels == ("YES", "Yes", "no", "yes")
    assert any("'YES' and 'Yes' and 'yes'" in r and "spelling" in r for r in made.remarks)
    assert not any("spelling" in r for r in privet.draft({"a": ["x", "y"]}, name="n").remarks)


@pytest.mark.parametrize("code", [999, -99, 9999])
def test_codes_for_missing_are_named(code: int) -> None:
    cells = [code if i % 8 == 0 else i % 60 for i in range(200)]
    made = privet.draft({"weight": cells, "y": [0, 1] * 100}, name="codes")
    (said,) = made.remarks
    assert f"{code} lies far from all other numbers" in said and "code for missing" in said
    even = [10 * (i % 100) + 9 for i in range(200)]  # up to 999, without a gap
    assert privet.draft({"x": even, "y": [0, 1] * 100}, name="even").remarks == ()


@pytest.mark.parametrize("name", ["zip", "postal_code", "commune"])
def test_codes_of_places_are_no_numbers(name: str) -> None:
    made = privet.draft({name: [10000 + 37 * i for i in range(60)] * 2, "y": [0, 1] * 60}, name="z")
    assert made.names == ("y",) and "codes" in made.remarks[0]
    few = privet.draft({name: [10000 + 37 * i for i in range(20)] * 6, "y": [0, 1] * 60}, name="z")
    assert few.column(name).kind == "categorical"


def test_numbers_that_begin_with_a_zero_are_codes(tmp_path: Path) -> None:
    made = privet.draft(of(tmp_path, key=[f"{i:04d}" for i in range(40)], y=FLAGS))
    assert made.names == ("y",)


@pytest.mark.parametrize(
    ("data", "said"), [({}, "no columns"), ({"a": [1, 2, 3], "b": [1]}, "'b' has 1 rows and 'a'")]
)
def test_what_is_no_table_is_refused(data: dict[str, list[int]], said: str) -> None:
    with pytest.raises(DataError, match=said):
        privet.draft(data, name="odd")
