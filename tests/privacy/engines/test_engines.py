"""Reading, encoding and counting: the same codes from every source, and no cell is an error."""

from __future__ import annotations

import csv
import gzip
import io
import random
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import DataError
from privet.privacy.engines import plain
from privet.privacy.engines.database import connection
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.meaning import spellings
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import UNREADABLE, open_source
from privet.schema.column import Column, Missing
from privet.schema.model import Schema

LEVELS = ("no", "yes")


def schema_of(*columns: Column) -> Schema:
    return Schema(name="t", columns=columns)


def categorical(name: str, levels: tuple[str, ...] = LEVELS, **more: Any) -> Column:
    return Column(name=name, kind="categorical", levels=levels, **more)


def numeric(name: str, **more: Any) -> Column:
    return Column(name=name, kind="numeric", bounds=(0.0, 10.0), cuts=(2.5, 5.0), **more)


def encode(data: object, schema: Schema) -> MemoryRows:
    source, positions = open_source(data, schema)
    rows = Encoder(schema=schema, positions=positions).rows(source)
    assert isinstance(rows, MemoryRows)
    return rows


def codes(data: object, schema: Schema) -> list[tuple[int, ...]]:
    """The encoded rows; only a test looks at them."""
    found = encode(data, schema)._codes
    return sorted(zip(*(found[name].tolist() for name in schema.names), strict=True))


def numbers(data: object, schema: Schema, *names: str) -> list[list[float]]:
    blocks = list(encode(data, schema).numbers(names))
    return sorted(row for block in blocks for row in block.tolist())


# --- the same codes from every source ---------------------------------------------------------

TABLE: dict[str, list[Any]] = {
    "text": ["no", "yes", " yes ", None, "maybe", "no"],
    "whole": [1, 2, 3, 2, 1, 9],
    "real": [1.0, 2.0, float("nan"), 2.0, 0.5, 3.0],
    "truth": [True, False, True, True, False, False],
    "size": [-5.0, 0.0, 2.5, 9.99, float("inf"), float("nan")],
    "Size": [1, 2, 3, 4, 5, 6],
    "unused": ["p", "q", "r", "s", "t", "u"],
}
SCHEMA = schema_of(
    categorical("text", missing="level"),
    categorical("whole", ("1", "2", "3"), missing="level"),
    categorical("real", ("1", "2", "3"), missing="level"),
    categorical("truth", ("false", "true"), missing="level"),
    numeric("size", missing="level"),
    numeric("Size"),
)
EXPECTED = sorted(
    [
        (0, 0, 0, 1, 0, 0),
        (1, 1, 1, 0, 0, 0),
        (1, 2, 3, 1, 1, 1),
        (2, 1, 1, 1, 2, 1),
        (2, 0, 3, 0, 2, 2),
        (0, 3, 2, 0, 3, 2),
    ]
)


def written(path: Path, delimiter: str = ",", newline: str = "\n") -> Path:
    text = io.StringIO()
    out = csv.writer(text, delimiter=delimiter, lineterminator=newline)
    out.writerow(TABLE)
    out.writerows(zip(*TABLE.values(), strict=True))
    raw = text.getvalue().encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def source(kind: str, tmp_path: Path) -> object:
    if kind.startswith("csv"):
        return written(tmp_path / "t.csv", newline="\r\n" if kind == "csv crlf" else "\n")
    if kind in ("gz", "txt", "tsv", "semicolon"):
        name = {"gz": "t.csv.gz", "txt": "t.txt", "tsv": "t.tsv", "semicolon": "s.csv"}[kind]
        return written(tmp_path / name, {"tsv": "\t", "semicolon": ";", "txt": "|"}.get(kind, ","))
    if kind == "dict":
        return TABLE
    if kind == "numpy":
        return {name: np.array(cells) for name, cells in TABLE.items()}
    if kind == "pandas":
        return pytest.importorskip("pandas").DataFrame(TABLE)
    if kind == "pandas object":
        return pytest.importorskip("pandas").DataFrame(TABLE, dtype=object)
    if kind == "pandas category":
        return pytest.importorskip("pandas").DataFrame(TABLE).astype("category")
    if kind == "pandas nullable":
        return pytest.importorskip("pandas").DataFrame(TABLE).convert_dtypes()
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(TABLE)
    return pytest.importorskip("pyarrow").table(TABLE)


KINDS = [
    "csv",
    "csv crlf",
    "gz",
    "txt",
    "tsv",
    "semicolon",
    "dict",
    "numpy",
    "pandas",
    "pandas object",
    "pandas category",
    "pandas nullable",
    "polars",
    "arrow",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_codes(kind: str, tmp_path: Path) -> None:
    assert codes(source(kind, tmp_path), SCHEMA) == EXPECTED


# DuckDB reads the names without their case, so the twin columns stay away.


def test_a_parquet_file_gives_the_same_codes(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pytest.importorskip("pyarrow").table(TABLE).drop_columns(["Size"])
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    assert codes(path, schema_of(*SCHEMA.columns[:5])) == sorted(row[:5] for row in EXPECTED)


# --- cells ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("no", 0),
        ("yes", 1),
        (" yes\t", 1),
        ("\u00a0no", 0),
        ("YES", 2),
        ("", 2),
        (None, 2),
        ("y", 2),
        (float("nan"), 2),
        (1, 2),
        ([1], 2),
        ("\ud800", 2),
        (b"yes", 1),
        (object(), 2),
    ],
)
def test_categorical_cells(cell: Any, code: int) -> None:
    assert codes({"a": [cell]}, schema_of(categorical("a", missing="level"))) == [(code,)]


@pytest.mark.parametrize(
    ("cell", "code", "value"),
    [
        (-1, 0, 0),
        ("-inf", 0, 0),
        (2.4999, 0, 2.4999),
        (2.5, 1, 2.5),
        ("4.9", 1, 4.9),
        (5, 2, 5),
        (" 7 ", 2, 7),
        ("\t7\n", 2, 7),
        (11, 2, 10),
        ("1e400", 2, 10),
        (None, 3, 5),
        ("x", 3, 5),
        ("nan", 3, 5),
        ("", 3, 5),
        (float("nan"), 3, 5),
        ("True", 0, 1),
        (True, 0, 1),
    ],
)
def test_numeric_cells_are_clamped_and_binned(cell: Any, code: int, value: float) -> None:
    schema = schema_of(numeric("a", missing="level"))
    assert codes({"a": [cell]}, schema) == [(code,)]
    assert numbers({"a": [cell]}, schema, "a") == [[value]]
    if isinstance(cell, float | int):
        assert codes({"a": np.array([cell])}, schema) == [(code,)]


def test_missing_policies() -> None:
    data = {"a": ["no", "?", "yes", None], "x": [1.0, 3.0, None, 9.0]}
    default = schema_of(categorical("a"), numeric("x"))
    assert codes(data, default) == [(0, 0), (0, 1), (0, 2), (1, 2)]
    declared = schema_of(
        categorical("a", missing="value", missing_value="yes"),
        numeric("x", missing="value", missing_value=1.5),
    )
    assert codes(data, declared) == [(0, 0), (1, 0), (1, 1), (1, 2)]
    assert numbers(data, declared, "x") == [[1.0], [1.5], [3.0], [9.0]]
    either = schema_of(categorical("a", missing="drop"), numeric("x", missing="drop"))
    assert codes(data, either) == [(0, 0)] and numbers(data, either, "x") == [[1.0]]


def test_a_dropped_row_is_gone_for_every_query() -> None:
    data = {"a": ["no", "?"], "b": ["no", "yes"], "x": [1.0, 9.0]}
    schema = schema_of(categorical("a", missing="drop"), categorical("b"), numeric("x"))
    rows = encode(data, schema)
    assert rows.counts(()).tolist() == 1 and rows.counts(("b",)).tolist() == [1, 0]
    assert [block.tolist() for block in rows.numbers(("x",))] == [[[1.0]]]


def test_spellings_never_take_another_levels_text() -> None:
    assert spellings(("1", "1.0")) == {"1": 0, "1.0": 1}
    assert spellings(("True", "true", "0"))["TRUE"] == 0
    assert spellings(("9007199254740993", "x")).keys() >= {"9007199254740993"}
    assert "9007199254740992" not in spellings(("9007199254740993", "x"))
    assert spellings(("0", "1e3"))["1000"] == 1 and spellings(("0", "x"))["-0.0"] == 0


def test_more_than_256_levels_and_awkward_texts() -> None:
    levels = (*(f"n{i}" for i in range(400)), "it's", 'say "hi"', "é", "a,b", "漢字", "7")
    cells = [levels[i] for i in (0, 255, 256, 399, 400, 401, 402, 403, 404)] + [7.0]
    schema = schema_of(categorical("a", levels))
    assert codes({"a": cells}, schema) == [
        (i,) for i in (0, 255, 256, 399, 400, 401, 402, 403, 404, 405)
    ]


def test_many_cuts_agree_with_their_definition() -> None:
    cuts = tuple(float(c) for c in np.sort(np.random.default_rng(1).uniform(0, 1, 300)))
    column = Column(name="x", kind="numeric", bounds=(-1.0, 2.0), cuts=cuts)
    values = np.concatenate([np.random.default_rng(2).normal(0.5, 0.5, 500), cuts])
    expected = sorted((int((np.array(cuts) <= v).sum()),) for v in values)
    assert codes({"x": values}, schema_of(column)) == expected


# --- two readers, one meaning ------------------------------------------------------------------

TEXTS = [
    "no",
    "yes",
    " yes",
    "yes\u3000",
    "\u00a0no\t",
    "NO",
    "1",
    "1.0",
    "01",
    " 1 ",
    "-0.0",
    "true",
    "TRUE",
    "True ",
    "",
    " ",
    "nan",
    "no\0",
    "\0no",
    "\ufeffno",
    "\u200bno",
    "n\u0065\u0301",
    "n\u00e9",
    "it's",
    "漢字",
    None,
]
NUMBERS = [
    0.0,
    -0.0,
    1.0,
    2.5,
    np.nextafter(2.5, 0),
    5.0,
    10.0,
    10.5,
    -1.0,
    1e308,
    -1e308,
    5e-324,
    float("inf"),
    float("-inf"),
    float("nan"),
    7.3,
]
LEVEL_SETS = [
    ("no", "yes"),
    ("1", "-0.0", "0"),
    ("True", "false"),
    ("nan", "né", "漢字"),
    ("1.0", "it's", "\u200bno"),
]


def read_twice(data: object, schema: Schema) -> tuple[list[Any], list[Any]]:
    """All that the plain reader makes of a table, and all that SQL makes of it."""
    source, positions = open_source(data, schema)
    encoder, found = Encoder(schema=schema, positions=positions), []
    for plainly in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(plain, "is_plain", lambda *_, plainly=plainly: plainly)
            rows = encoder.rows(source)
            assert isinstance(rows, MemoryRows)
            kinds = [rows._codes[name].dtype for name in schema.names]
            coded = sorted(zip(*(rows._codes[name].tolist() for name in schema.names), strict=True))
            reals = sorted(row for block in rows.numbers(schema.names) for row in block.tolist())
            found.append([kinds, coded, reals])
    return found[0], found[1]


@pytest.mark.parametrize("policy", ["level", "default", "drop text", "drop number", "drop both"])
@pytest.mark.parametrize("chunks", [1, 3])
def test_both_readers_give_every_cell_the_same_meaning(policy: str, chunks: int) -> None:
    """Every odd text and some random ones beside every odd number and some random ones, for each
    set of levels and each type."""
    pyarrow = pytest.importorskip("pyarrow")
    draw = random.Random(20240502)
    spelt = [
        *TEXTS,
        *("".join(map(chr, draw.choices(range(0x20, 0xD7FF), k=3))) for _ in range(20)),
    ]
    reals = [*NUMBERS, *(draw.gauss(5, 5) for _ in range(20))]
    texts = [text for text in spelt for _ in reals]
    values = np.array(reals * len(spelt))
    with np.errstate(all="ignore"):
        kinds = [
            values,
            values.astype(np.float32),
            np.nan_to_num(values).astype(np.int64),
            (np.nan_to_num(values) % 17).astype(np.uint8),
        ]
    array = pyarrow.array(texts)
    step = -(-len(texts) // chunks)
    parts = [array.slice(at, step).dictionary_encode() for at in range(0, len(texts), step)]
    coded = pyarrow.chunked_array(parts)  # every second column of texts, the others are lists
    data = {f"t{i}": coded if i % 2 else texts for i in range(len(LEVEL_SETS))}
    data |= {f"x{i}": kind for i, kind in enumerate(kinds)}
    plainest: dict[str, Any] = {} if policy == "default" else {"missing": "level"}

    def chosen(at: int, what: str) -> dict[str, Any]:
        return {"missing": "drop"} if at == 0 and policy in (what, "drop both") else plainest

    schema = schema_of(
        *(
            categorical(f"t{i}", levels, **chosen(i, "drop text"))
            for i, levels in enumerate(LEVEL_SETS)
        ),
        *(numeric(f"x{i}", **chosen(i, "drop number")) for i in range(len(kinds))),
    )
    one, other = read_twice(data, schema)
    assert one == other and one[1]
    assert (len(one[1]) < len(texts)) == policy.startswith("drop")


def test_both_readers_agree_on_many_levels_cuts_and_declared_values() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    draw = np.random.default_rng(1)
    levels = tuple(f"n{i}" for i in range(400))
    cuts = tuple(np.sort(draw.uniform(0, 1, 300)).tolist())
    schema = schema_of(
        categorical("a", levels, missing="value", missing_value="n399"),
        Column(
            name="x",
            kind="numeric",
            bounds=(-1.0, 2.0),
            cuts=cuts,
            missing="value",
            missing_value=0.5,
        ),
    )
    cells = np.array([*levels, "other", None], dtype=object)[draw.integers(0, 402, 1000)]
    values = np.concatenate([cuts, draw.normal(0.5, 1.0, 690), [np.nan] * 10])
    one, other = read_twice({"a": pyarrow.chunked_array([cells.tolist()]), "x": values}, schema)
    assert one == other and len(one[1]) == 1000


def test_a_plain_table_needs_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting one takes longer than a whole search; a table with one odd column still has it."""
    pyarrow = pytest.importorskip("pyarrow")
    started = []
    monkeypatch.setattr(
        "privet.privacy.engines.encode.connection", lambda: started.append(1) or connection()
    )
    schema = schema_of(categorical("a"), numeric("x"))
    texts = pyarrow.array(["no", "yes", " yes"]).dictionary_encode()
    table = {"a": pyarrow.chunked_array([texts]), "x": np.array([1.0, 3.0, 9.0])}
    assert codes(table, schema) == [(0, 0), (1, 1), (1, 2)] and not started
    assert codes(table | {"a": ["no", "yes", " yes"]}, schema) == codes(table, schema)
    (tmp_path / "t.csv").write_text("a\nno\n yes\n")
    assert codes(tmp_path / "t.csv", schema_of(categorical("a"))) == [(0,), (1,)] and not started
    assert codes({**table, "x": ["1", "3", "9"]}, schema) == codes(table, schema) and started


@pytest.mark.parametrize("place", [-1, 2, 100])
@pytest.mark.parametrize("texts", [["no", "yes"], ["yes", "no"], ["yes", "other"]])
def test_a_dictionary_whose_places_no_text_has_is_refused(place: int, texts: list[str]) -> None:
    """It is not read as a level, whether or not its texts are those of the schema."""
    pyarrow = pytest.importorskip("pyarrow")
    places = pyarrow.array([0, 1, place], pyarrow.int8())
    broken = pyarrow.DictionaryArray.from_arrays(places, pyarrow.array(texts), safe=False)
    with pytest.raises(DataError, match="could not be read"):
        codes({"a": pyarrow.chunked_array([broken])}, schema_of(categorical("a")))


def test_a_decimal_is_read_the_same_from_everywhere(tmp_path: Path) -> None:
    """``0.1000`` is the level ``0.1``, and the nearest double lies on the right side of a cut."""
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    parquet, pandas = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pandas")
    draw = random.Random(20261116)
    cents = [Decimal(draw.randrange(-100, 2000)) / 100 for _ in range(500)]
    values = [Decimal("0.10"), Decimal("1.00"), Decimal("0.30"), Decimal("0.00"), None, *cents]
    cells = [None if value is None else value.quantize(Decimal("1.0000")) for value in values]
    levels = ("0.1", "1", "0", *(str(float(cent)) for cent in dict.fromkeys(cents[:50])))
    schema = schema_of(
        categorical("a", tuple(dict.fromkeys(levels)), missing="level"),
        Column(
            name="b",
            kind="numeric",
            bounds=(-1.0, 20.0),
            cuts=tuple(sorted({0.1, 0.3, 1.0, *(float(cent) for cent in cents[:100])})),
            missing="level",
        ),
    )
    table = pyarrow.table({"a": pyarrow.array(cells, pyarrow.decimal128(12, 4))})
    table = table.append_column("b", table.column("a"))
    parquet.write_table(table, tmp_path / "t.parquet")
    expected = codes(tmp_path / "t.parquet", schema)
    assert {row[0] for row in expected} >= {0, 1, 2}
    wide = table.cast(pyarrow.schema([(name, pyarrow.decimal256(40, 20)) for name in "ab"]))
    frames = [table, wide, polars.from_arrow(table), {"a": cells, "b": cells}]
    frames.append(pandas.DataFrame({"a": cells, "b": cells}))
    for frame in frames:
        assert codes(frame, schema) == expected


def test_arrows_own_cast_of_decimals_would_be_seen() -> None:
    """It is not rounded rightly in all releases; a cut on the nearest double shows it."""
    pyarrow = pytest.importorskip("pyarrow")
    cents = [Decimal(i).scaleb(-2) for i in range(1, 10**8, 70_001)]
    array = pyarrow.array(cents, pyarrow.decimal128(9, 2))
    cast = array.cast(pyarrow.float64()).to_pylist()
    off = [i for i, cent in enumerate(cents) if cast[i] != float(cent)]
    if not off:
        pytest.skip("this release of pyarrow rounds rightly")
    at = off[0]
    cut = max(float(cents[at]), cast[at])
    schema = schema_of(Column(name="x", kind="numeric", bounds=(0, 1e6), cuts=(cut,)))
    one = array[at : at + 1]
    right = codes(pyarrow.table({"x": one}), schema)
    assert right == [(int(float(cents[at]) >= cut),)]
    assert right != codes(pyarrow.table({"x": one.cast(pyarrow.float64())}), schema)


# --- hostile files ----------------------------------------------------------------------------

TWO = schema_of(categorical("a", missing="level"), categorical("b", missing="level"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", []),
        (b"no,yes", [(0, 1)]),
        (b"no,yes\r\nyes,no\r\n", [(0, 1), (1, 0)]),
        (b"no,yes\ryes,no\r", [(0, 1), (1, 0)]),
        (b"no\nyes,no\n", [(0, 2), (1, 0)]),
        (b"no,yes,surplus\n\n\nyes,no\n", [(0, 1), (1, 0)]),
        (b"\xff\xfe,yes\nyes,no\n", [(1, 0), (2, 1)]),
        (b"\x00,yes\nyes,no\n", [(1, 0), (2, 1)]),
        (b'no,"yes"\n"ye\ns",no\n"yes",no\n', [(0, 1), (1, 0), (2, 0)]),
        (b'yes,no\nno,"unterminated\nno,no\n', [(0, 2), (1, 0)]),
        (b'no,y"es\nyes,no\n', [(0, 2), (1, 0)]),
        (b"no," + b"x" * 3_000_000 + b"\nyes,no\n", [(0, 2), (1, 0)]),
        (b'no,"' + b"x\n" * 200_000 + b'"\nyes,no\n', [(0, 2), (1, 0)]),
        (b"a,b\n#no,yes\n", [(2, 1), (2, 2)]),
    ],
)
def test_hostile_csv(body: bytes, expected: list[tuple[int, ...]], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for start in (b"a,b\n", b"\xef\xbb\xbfa,b\n", b'"a" , "b"\r\n'):
        path.write_bytes(start + body)
        assert codes(path, TWO) == expected


def test_latin_1_files_keep_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\ncafé,yes\nthé,no\n".encode("latin-1"))
    assert codes(path, schema_of(categorical("a", ("thé", "café")), TWO.columns[1])) == [
        (0, 0),
        (1, 1),
    ]


def test_no_bytes_raise_and_every_sound_row_counts(tmp_path: Path) -> None:
    """Sound rows stand first; whatever follows them can neither raise nor take them away."""
    draw = random.Random(20240501)
    parts = [
        b"no",
        b"yes",
        b",",
        b"\n",
        b'"',
        b"\r\n",
        b"\r",
        b" ",
        b"\xff",
        b"\xc3\xa9",
        b"\x00",
        b'""',
        b'","',
        b"\\",
        b"#",
        b"'",
        b"\t",
        b"\x80",
        b"no,yes\n",
    ]
    path = tmp_path / "t.csv"
    for trial in range(120):
        sound = draw.randrange(4)
        if trial % 3:
            junk = b"".join(draw.choices(parts, k=draw.randrange(25)))
        else:
            junk = draw.randbytes(draw.randrange(60))
        path.write_bytes(b"a,b\n" + b"yes,no\n" * sound + junk)
        assert codes(path, TWO).count((1, 0)) >= sound, junk


@settings(max_examples=50)
@given(
    st.lists(
        st.lists(
            st.sampled_from(["no", "yes", "", "a b", "x,y", 'q"q', "l\nl", "é"]),
            min_size=2,
            max_size=2,
        ),
        max_size=8,
    )
)
def test_a_well_formed_file_has_the_rows_that_were_written(rows: list[list[str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["a", "b"], *rows])
        place = {"no": 0, "yes": 1}
        assert codes(path, TWO) == sorted((place.get(a, 2), place.get(b, 2)) for a, b in rows)


def test_one_column(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for newline in ("\n", "\r\n"):
        path.write_bytes(newline.join(["a", "no", "", "yes", ""]).encode())
        assert codes(path, schema_of(categorical("a", missing="level"))) == [(0,), (1,), (2,)]


def test_a_late_odd_cell_is_no_error() -> None:
    """Libraries guess the type of a column from its first rows; a late cell may not fit."""
    odd = [1] * 3000 + ["abc", b"\xff", {"k": 1}, 2]
    schema = schema_of(categorical("a", ("1", "2"), missing="level"))
    counts = {0: 3000, 1: 1, 2: 3}
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frames = [
        {"a": odd},
        pandas.DataFrame({"a": odd}),
        polars.DataFrame({"a": polars.Series(odd, dtype=polars.Object)}),
    ]
    for data in frames:
        assert Counter(row[0] for row in codes(data, schema)) == counts


def test_broken_text_in_arrow_and_parquet_is_a_missing_cell(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    offsets = pyarrow.py_buffer(np.array([0, 2, 5], dtype=np.int32).tobytes())
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 2, [None, offsets, pyarrow.py_buffer(b"\xff\xfeyes")]
    )
    table = pyarrow.table({"a": broken})
    schema = schema_of(categorical("a", missing="level"))
    assert codes(table, schema) == [(1,), (2,)]
    path = tmp_path / "t.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    assert codes(path, schema) == [(1,), (2,)]


# --- headers ----------------------------------------------------------------------------------


def test_header_errors(tmp_path: Path) -> None:
    def refused(data: object, *words: str) -> None:
        with pytest.raises(DataError) as caught:
            open_source(data, TWO)
        assert all(word in str(caught.value) for word in words), str(caught.value)

    def file(name: str, content: bytes) -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    refused(tmp_path / "absent.csv", "absent.csv", "path")
    refused(tmp_path, "directory")
    refused(file("empty.csv", b""), "is empty")
    refused(file("blank.csv", b"\na,b\n"), "first line")
    refused(file("double.csv", b"a,b,a\n"), "two columns named 'a'")
    refused(file("other.csv", b"a,bb\n"), "'b'", "did you mean 'bb'")
    refused(file("fake.parquet", b"a,b\nno,yes\n"), "not a Parquet file")
    refused(file("cut.parquet", b"PAR1" + b"\0" * 20), "not a complete Parquet file")
    refused(file("wide.csv", "a,b\n".encode("utf-16")), "not a text file")
    refused(file("cut.csv.gz", gzip.compress(b"a,b\nno,yes\n")[:12]), "complete file")
    refused(7, "int", "CSV or Parquet")
    refused({"a": [1], "b": [1, 2]}, "differ in length")
    refused({"a": [1]}, "'b'")
    refused({"a": np.zeros((2, 2)), "b": [1, 2]}, "one-dimensional")
    pandas = pytest.importorskip("pandas")
    refused(pandas.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "two columns named 'a'")


def test_a_truncated_gzip_file_gives_the_constant_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    rows = "".join(f"{random.Random(i).random()},yes\n" for i in range(5000))
    path.write_bytes(gzip.compress(f"a,b\n{rows}".encode())[:-2000])
    with pytest.raises(DataError) as caught:
        encode(path, TWO).counts(("a",))
    assert str(caught.value) == UNREADABLE


def test_paths_and_names_with_quotes(tmp_path: Path) -> None:
    path = tmp_path / 'it\'s; a "file".csv'
    path.write_text('it\'s "a"\tb\nyes\tno\n')
    schema = schema_of(categorical('it\'s "a"'), TWO.columns[1])
    assert codes(str(path), schema) == [(1, 0)]


def test_no_rows_and_no_columns_of_interest() -> None:
    rows = encode({"a": [], "b": []}, TWO)
    assert rows.counts(("a", "b")).tolist() == [[0] * 3] * 3 and rows.counts(()) == 0
    assert list(rows.numbers(())) == []


def test_a_path_is_no_pattern(tmp_path: Path) -> None:
    """DuckDB would take d[1].csv for a pattern and read d1.csv instead."""
    (tmp_path / "d1.csv").write_text("a,b\nx,x\nx,x\nx,x\n")
    path = tmp_path / "d[1].csv"
    path.write_text("a,b\nx,x\ny,x\n")
    column = {"kind": "categorical", "levels": ["x", "y"]}
    schema = Schema.from_dict({"name": "t", "columns": {"a": column, "b": column}})
    source, positions = open_source(path, schema)
    counts = Encoder(schema=schema, positions=positions).rows(source).counts(("a",))
    assert counts.tolist() == [1, 1]


# --- one row must not change how the others are read --------------------------------------------


def difference(before: object, after: object, schema: Schema) -> Counter[tuple[int, ...]]:
    """What one row more has changed, as rows that came minus rows that went."""
    came = Counter(codes(after, schema))
    came.subtract(Counter(codes(before, schema)))
    return Counter({row: count for row, count in came.items() if count})


NUMERIC = Column(name="x", kind="numeric", bounds=(0, 4), missing="level")


@pytest.mark.parametrize("cell", [0.0, float("nan"), 4.0])
@pytest.mark.parametrize("policy", ["level", "drop"])
def test_nan_in_parquet_is_missing_whatever_another_row_holds(
    tmp_path: Path, cell: float, policy: Missing
) -> None:
    """The statistics of row groups overlook NaN; a reader that trusts them may not see it."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    schema = schema_of(Column(name="x", kind="numeric", bounds=(0, 4), missing=policy))
    some = [0.5] * 70 + [float("nan")] * 30
    for groups in ([some, some], [[float("nan")] * 100, some], [[float("nan")] * 100]):
        paths = []
        for at, extra in enumerate(([], [[cell]])):
            paths.append(tmp_path / f"{at}.parquet")
            whole = pyarrow.table({"x": pyarrow.array([0.0])}).slice(0, 0)
            with parquet.ParquetWriter(paths[-1], whole.schema) as writer:
                for group in [*groups, *extra]:
                    writer.write_table(pyarrow.table({"x": pyarrow.array(group)}))
        moved = difference(paths[0], paths[1], schema)
        missing = cell != cell
        assert sum(moved.values()) == (0 if missing and policy == "drop" else 1)
        assert len(moved) <= 1


SPACED = st.text(alphabet='ab ,"\n\r', max_size=12)


@settings(max_examples=300)
@given(st.lists(SPACED, max_size=6), st.sampled_from(["a", "a,", '"a" "b",a', "a,b,c", " a , b "]))
def test_a_malformed_line_does_not_change_how_others_are_read(lines: list[str], extra: str) -> None:
    """Records are those of the parsed table: one line more is one record more, or it is joined
    to a record that an open quote has left unfinished."""
    schema = schema_of(
        categorical("a", ("a", "b"), missing="level"), categorical("b", ("a", "b"), missing="level")
    )
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "1.csv", Path(folder) / "2.csv"
        body = "".join(f"{line}\n" for line in lines if line.count('"') % 2 == 0)
        before.write_text("a,b\n" + body, newline="")
        after.write_text("a,b\n" + extra + "\n" + body, newline="")
        moved = difference(before, after, schema)
        assert sum(moved.values()) == 1 and len(moved) == 1


def test_types_that_a_cell_could_break_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    schema = schema_of(categorical("x"))
    moments = pyarrow.table({"x": pyarrow.array([0], type=pyarrow.timestamp("us"))})
    parquet.write_table(moments, tmp_path / "t.parquet")
    broken = polars.DataFrame({"x": polars.Series([2**62], dtype=polars.Datetime("ms"))})
    for data in (
        moments,
        tmp_path / "t.parquet",
        pandas.DataFrame({"x": pandas.to_datetime(["2020-01-01"])}),
        broken,
        {"x": np.array(["2020-01-01"], dtype="datetime64[s]")},
        pyarrow.table({"x": pyarrow.array([b"no"])}),
    ):
        with pytest.raises(DataError, match="neither number, truth value nor text"):
            open_source(data, schema)


def test_one_broken_cell_does_not_respell_the_other_column() -> None:
    """Arrow decimals, big integers and texts are read the same beside broken text."""
    pyarrow = pytest.importorskip("pyarrow")
    offsets = pyarrow.py_buffer(np.array([0, 2, 2], dtype=np.int32).tobytes())
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 2, [None, offsets, pyarrow.py_buffer(b"\xff\xfe")]
    )
    sound = pyarrow.array(["no", "yes"])
    values = pyarrow.array([2**60 + 1, None])
    schema = schema_of(
        categorical("x", missing="level"), categorical("y", (str(2**60 + 1), "2"), missing="level")
    )
    for first in (sound, broken):
        table = pyarrow.table({"x": first, "y": values})
        assert sorted(row[1] for row in codes(table, schema)) == [0, 2]


def test_tables_asked_for_one_by_one_are_those_of_a_batch() -> None:
    """Blocks and answers that are kept never change what is answered, in whatever order."""
    rng = np.random.default_rng(3)
    sizes = {f"c{i}": int(rng.integers(2, 9)) for i in range(9)}
    columns = tuple(
        Column(
            name=name,
            kind="categorical",
            levels=tuple(map(str, range(k))),
            missing="value",
            missing_value="0",
        )
        for name, k in sizes.items()
    )
    codes = {name: rng.integers(0, k, 500).astype(np.uint8) for name, k in sizes.items()}
    schema = Schema(name="toy", columns=columns)
    rows = MemoryRows(schema, lambda: codes, dict)
    names = list(sizes)
    for _ in range(300):
        asked = [
            tuple(rng.permutation(names)[: rng.integers(0, 5)].tolist())
            for _ in range(int(rng.integers(1, 12)))
        ]
        for members, table in zip(asked, rows.table_batch(asked), strict=True):
            expected = np.zeros([sizes[name] for name in members], dtype=np.int64)
            if members:
                np.add.at(expected, tuple(codes[name] for name in members), 1)
            else:
                expected = np.array(500)
            assert np.array_equal(table, expected)
