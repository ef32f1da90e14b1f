"""The device: samples have the law of their protocol, cells their meaning, people one report.

Proof: proofs/local.md. False alarms: one in a million per fit.
"""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import DataError, MethodError
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.device.answers import Answers, number
from privet.local.device.blocks import HALF, cell, codes_of, make
from privet.local.device.files import randomize_file
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.memory import MemoryRows
from privet.privacy.engines.source import open_source
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.laws import categorical, fits, law, numeric
from tests.local.device.test_channels import OPTIONS, SMALL

PEOPLE = 40_000


def reports(made: dict[str, np.ndarray]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in made.values()), strict=True))


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_reports_have_the_exact_law_of_their_protocol(name: str, options: dict[str, Any]) -> None:
    protocol = plan_protocol(SMALL[name], 2, name, **options)
    sizes = protocol.sizes
    row, other = tuple(k - 1 for k in sizes), (0,) * len(sizes)
    if name == "sign-bit":  # the parity of the former is that of the latter
        row = (1, 0, 0)
    made = Randomizer(protocol).report_codes(np.tile(row, (PEOPLE, 1)))
    assert tuple(made) == protocol.report_columns
    assert fits(reports(made), law(protocol, row))
    assert not fits(reports(made), law(protocol, other))


def test_people_with_different_answers_are_not_mixed_up() -> None:
    """Rows of many kinds in one call, sorted back to their people; with an epsilon at which a
    report is the truth but for one in 10^40."""
    draw = np.random.default_rng(1)
    for name in ("combined", "planned-block", "component-wise", "geometric", "parity"):
        protocol = plan_protocol(categorical(2, 3, 4, 2, 3), 100, name)
        codes = np.stack([draw.integers(0, k, 3000) for k in protocol.sizes], axis=1)
        made = Randomizer(protocol).report_codes(codes)
        if name in ("component-wise", "geometric"):
            agree = np.stack(list(made.values()), axis=1) == codes
            assert agree.mean() > 0.9
            continue
        blocks = {block.mask: block for block in protocol.blocks}
        key = made.get("key", np.zeros(3000, dtype=np.int64))
        for at, mask in enumerate(made["block"].tolist()):
            block = blocks[mask]
            answers, own = codes[[at]][:, list(block.attributes)], key[[at]]
            truth = make(protocol.kind, protocol.sizes_of(block), answers, own, 1)
            assert truth[0] == made["cell"][at]


def test_cells_and_codes_are_inverse() -> None:
    sizes = (3, 2, 5)
    codes = codes_of(np.arange(30), sizes)
    assert cell(codes, sizes).tolist() == list(range(30))
    assert codes.tolist() == [list(index) for index in np.ndindex(*sizes)]


def test_products_stay_on_their_grid() -> None:
    values = np.arange(-HALF, HALF + 1)
    pairs = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2) + HALF
    zero = np.zeros(len(pairs), dtype=np.int64)
    made = make("product", (129, 129), pairs, zero, 1)
    exact = np.floor((pairs[:, 0] - HALF) * (pairs[:, 1] - HALF) / HALF + 0.5)
    assert (made == exact + HALF).all() and made.min() == 0 and made.max() == 2 * HALF
    square = make("product", (129,), (values + HALF)[:, None], zero[:129], 2)
    assert (square == np.floor(values**2 / HALF + 0.5) + HALF).all()
    same = make("product", (129,), (values + HALF)[:, None], zero[:129], 1)
    assert (same == values + HALF).all()


# --- what a cell means --------------------------------------------------------------------------

SCHEMA = Schema(
    name="cells",
    columns=(
        Column(name="word", kind="categorical", levels=("no", "yes"), missing="level"),
        Column(name="digit", kind="ordinal", levels=("1", "2.0", "-0.0"), missing="level"),
        Column(name="truth", kind="categorical", levels=("True", "false")),
        Column(name="size", kind="numeric", bounds=(0.0, 10.0), cuts=(2.5, 5.0), missing="level"),
        Column(
            name="rest", kind="numeric", bounds=(-1.0, 1.0), missing="value", missing_value=0.75
        ),
    ),
)
ODD: list[Any] = [
    "no",
    "yes",
    " yes",
    "yes\u3000",
    "\u00a0no\t",
    "NO",
    "1",
    "1.0",
    "2",
    "02",
    " 1 ",
    "-0.0",
    "0",
    "true",
    "TRUE",
    "True ",
    "False",
    "",
    " ",
    "nan",
    "no\0",
    "\ufeffno",
    "n\u00e9",
    None,
    1,
    2,
    1.0,
    2.0,
    -0.0,
    True,
    False,
    float("nan"),
    float("inf"),
    b"yes",
    b"\xff",
    "\ud800",
    [1],
    object,
    "inf",
    "-inf",
    "+-1",
    "+5",
    "++5",
    "1e400",
    "-1e400",
    "1_0",
    "1__0",
    "0x1",
    ".5",
    "5.",
    "1e1",
    "1e",
    "٣",
    "１",
    "\u20095",
    "5\x1c",
    "2.5",
    "2.4999999999999999",
    "5",
    "1,5",
    "t",
    "infinity",
    10**30,
    2.5,
    np.float32(2.5),
    np.int64(5),
    np.bool_(True),
]


def both(cells: list[Any]) -> tuple[list[list[int]], list[list[int]]]:
    """The codes of cells, each in every column: on the device, and in the vault."""
    data = {name: cells for name in SCHEMA.names}
    source, positions = open_source(data, SCHEMA)
    rows = Encoder(schema=SCHEMA, positions=positions).rows(source)
    assert isinstance(rows, MemoryRows)
    encoded = rows._codes
    answers = Answers(SCHEMA.columns)
    mine = [answers.of_row(dict.fromkeys(SCHEMA.names, each))[0].tolist() for each in cells]
    return mine, [
        list(row) for row in zip(*(encoded[n].tolist() for n in SCHEMA.names), strict=True)
    ]


def test_a_cell_means_the_same_on_a_device_and_in_the_vault() -> None:
    draw = random.Random(20240502)
    letters = "0123456789+-._eEinfatyrsul \t\x1c\u00a0"
    cells = ODD + ["".join(draw.choices(letters, k=draw.randint(1, 5))) for _ in range(3000)]
    mine, theirs = both(cells)
    for at, each in enumerate(cells):
        assert mine[at] == theirs[at], repr(each)


@settings(max_examples=25)
@given(st.lists(st.text(max_size=6) | st.floats() | st.integers() | st.booleans(), min_size=1))
def test_any_cell_means_the_same_on_both_sides(cells: list[Any]) -> None:
    mine, theirs = both(cells)
    assert mine == theirs


def test_a_column_that_is_not_there_is_missing() -> None:
    answers = Answers(SCHEMA.columns)
    missing = answers.of_row(dict.fromkeys(SCHEMA.names))
    assert (answers.of_row({}) == missing).all() and missing.tolist() == [[2, 3, 0, 3, 3]]


def test_numbers() -> None:
    assert (number(" 7 "), number("TRUE"), number("x"), number("nan")) == (7.0, 1.0, None, None)


def test_many_texts_are_read_with_little_memory() -> None:
    answers = Answers((SCHEMA.columns[3],))
    for start in range(3):
        texts = [f"{i / 1000}" for i in range(start * 15_000, (start + 1) * 15_000)]
        found = answers.of_columns([texts])[:, 0]
        wanted = np.searchsorted([2.5, 5.0], np.array(texts, dtype=float), side="right")
        assert (found == wanted).all()
    assert len(answers._readers[0]) < 40_000


def test_numeric_columns_are_coded_by_side_or_place() -> None:
    sign = plan_protocol(numeric(2), 1, "sign-bit")
    assert Answers(sign.columns).of_row({"x0": -0.01, "x1": "0"}).tolist() == [[0, 1]]
    grid = plan_protocol(numeric(2), 4, "piecewise")
    assert float(grid.clip) == pytest.approx(0.5)
    codes = Answers(grid.columns).of_row({"x0": -9, "x1": 0.75}).tolist()
    assert codes == [[0, 96]]  # clipped at -1.5; half of the way to 1.5
    assert Answers(grid.columns).of_row({}).tolist() == [[64, 64]]


# --- one person, one report ---------------------------------------------------------------------


def test_one_report_of_one_row() -> None:
    schema = categorical(2, 3, 2)
    made = Randomizer(schema, 4, protocol="one-pair").report({"a0": "v1", "a1": "v2", "a2": "v0"})
    protocol = plan_protocol(schema, 4, "one-pair")
    assert made["protocol"] == protocol.id and set(made) == {"protocol", "block", "cell"}
    assert made["block"] in {block.mask for block in protocol.blocks}
    assert all(type(made[name]) is int for name in ("block", "cell"))


@pytest.mark.parametrize(
    ("row", "match"),
    [
        (["no"], "this is a list"),
        ("a0", "this is a str"),
        (None, "this is a NoneType"),
        ({"aa0": "v1"}, "there is no column 'aa0' \\(did you mean 'a0'"),
        ({"a0": "v1", "a1": "v1", "id": 7}, "there is no column 'id'"),
        ({0: "v1"}, "no column 0"),
    ],
)
def test_a_row_that_answers_other_questions_is_refused(row: Any, match: str) -> None:
    """Else a name that is spelt wrong would be a missing answer."""
    with pytest.raises(DataError, match=match) as refused:
        Randomizer(categorical(2, 2), 4).report(row)
    assert "v1" not in str(refused.value)


def test_the_same_person_gets_the_same_report_again() -> None:
    randomizer = Randomizer(categorical(*(4,) * 8), 1, protocol="component-wise")
    row = {f"a{i}": "v0" for i in range(8)}
    first = randomizer.report(row, person="ada")
    assert first["person"] == "ada"
    assert all(randomizer.report(row, person="ada") == first for _ in range(20))
    others = [randomizer.report(row, person=f"p{i}") for i in range(20)]
    unnamed = [randomizer.report(row) for _ in range(20)]
    for many in (others, unnamed):  # 4^8 reports: 20 equal ones do not happen
        assert len({tuple(r[f"a{i}"] for i in range(8)) for r in many}) > 1
    with pytest.raises(DataError, match="named twice"):
        randomizer.report(row | {"a3": "v1"}, person="ada")
    assert randomizer.report(row, person="ada") == first


def test_repeated_people_in_bulk() -> None:
    randomizer = Randomizer(categorical(*(4,) * 8), 1, protocol="component-wise")
    codes = np.zeros((6, 8), dtype=np.int64)
    names = ["a", "b", "a", None, None, "b"]
    rows = np.stack(list(randomizer.report_codes(codes, names).values()), axis=1)
    assert (rows[0] == rows[2]).all() and (rows[1] == rows[5]).all()
    again = np.stack(list(randomizer.report_codes(codes[:1], ["b"]).values()), axis=1)
    assert (again[0] == rows[1]).all()
    codes[2, 0] = 1
    for people in (["a"], ["c", "c"]):
        with pytest.raises(DataError, match="named twice"):
            randomizer.report_codes(codes[[2, 1][: len(people)]], people)
    with pytest.raises(DataError):  # and whoever was beside them has not reported
        randomizer.report_codes(codes[[0, 2]], ["d", "a"])
    assert "d" not in randomizer._sent


def test_memoised_reports_are_drawn_once_from_the_law() -> None:
    protocol = plan_protocol(categorical(2, 3), 1, "one-pair")
    people = [str(i % 20_000) for i in range(40_000)]
    made = Randomizer(protocol).report_codes(np.tile((1, 2), (40_000, 1)), people)
    found = reports(made)
    assert found[:20_000] == found[20_000:]
    assert fits(found[:20_000], law(protocol, (1, 2)))


@pytest.mark.parametrize("person", [" ada", "ada ", "ada\n", "\tada\r\n"])
def test_a_name_is_one_name_whatever_stands_around_it(person: str) -> None:
    randomizer = Randomizer(categorical(*(4,) * 8), 1, protocol="component-wise")
    first = randomizer.report({}, person="ada")
    assert randomizer.report({}, person=person) == first
    assert randomizer.report({}, person="x\ny")["person"] == "x y"


def test_threads_that_ask_for_one_person_get_one_report() -> None:
    """Each round would fail about every second time without the lock."""
    row = {f"a{i}": "v0" for i in range(8)}
    with ThreadPoolExecutor(4) as pool:
        for _ in range(50):
            randomizer = Randomizer(categorical(*(4,) * 8), 1, protocol="component-wise")
            ask = partial(randomizer.report, row, "ada")
            found = [future.result() for future in [pool.submit(ask) for _ in range(4)]]
            assert all(one == found[0] for one in found)


def test_codes_that_do_not_fit_are_refused() -> None:
    randomizer = Randomizer(categorical(2, 3), 1, protocol="one-pair")
    for bad in ([[0, 3]], [[-1, 0]], [[0]], [0, 1], [[0, 0, 0]]):
        with pytest.raises(MethodError, match="codes must be"):
            randomizer.report_codes(np.array(bad))
    assert randomizer.report_codes(np.empty((0, 2), dtype=np.int64))["cell"].size == 0
    with pytest.raises(MethodError, match="no more"):
        Randomizer(randomizer.protocol, 1)


# --- at size ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_is_randomised_in_blocks(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an epsilon at which a report is the truth, every row must come out as it went in."""
    monkeypatch.setattr("privet.privacy.engines.source.BLOCK_ROWS", 100)
    draw = np.random.default_rng(3)
    codes = np.stack([draw.integers(0, k, 950) for k in (2, 3, 4)], axis=1)
    lines = [f"p{i // 2 * 2},v{a}, v{b} ,v{c}" for i, (a, b, c) in enumerate(codes.tolist())]
    lines = [line for i, line in enumerate(lines) if i % 2 == 0] * 2
    (tmp_path / "a.csv").write_text("id,a0,a1,a2\n" + "\n".join(lines) + "\n")
    protocol = plan_protocol(categorical(2, 3, 4), 100, "combined")
    done = randomize_file(tmp_path / "a.csv", protocol, tmp_path / f"r{suffix}", person="id")
    assert done.rows == len(lines) == 950
    assert Protocol.load(tmp_path / "protocol.json") == protocol
    wanted = [(f"p{i}", 7, int(cell(codes[i : i + 1], (2, 3, 4))[0])) for i in range(0, 950, 2)]
    assert sorted(read(done.reports)) == sorted(wanted * 2)
    assert sorted(os.listdir(tmp_path)) == sorted(["a.csv", f"r{suffix}", "protocol.json"])


def read(path: Path) -> list[tuple[str, int, int]]:
    import duckdb

    # the whole of each file, so that a wrong name or type of a column is found
    shown = duckdb.execute(f"SELECT protocol, person, block, cell FROM '{path}'").fetchall()
    assert len({row[0] for row in shown}) == 1
    return [(person, block, cell) for _, person, block, cell in shown]
