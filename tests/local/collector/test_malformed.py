"""Whatever stands in a file of reports: what fits is counted once, all else is left out and
counted, or the file is refused in words. Seeds are fixed, so a failure can be looked at again."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.errors import DataError, PrivetError
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.collector import reports as reader
from privet.local.collector.collect import collect
from privet.local.collector.counts import LeftOut, Reported
from tests.helpers.asked import asked
from tests.helpers.reports import schema_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SIZES = (2, 3, 2, 4)
PEOPLE = 200
NAMES = ("planned-block", "parity", "component-wise", "geometric-combined")
ODD = [
    "",
    " ",
    "x",
    "-1",
    "-0",
    "007",
    "1.0",
    "1e0",
    "+1",
    "0x1",
    "\uff10",
    "99999999999999999999",
    "9" * 40,
    "nan",
    "inf",
    "None",
    "true",
    "1;2",
    "\x00",
    "\x01",
    "\u0141",
    "1 2",
    "'",
    "\t1",
    "18446744073709551615",
    "4611686018427387904",
]


def protocol_of(name: str) -> Protocol:
    return plan_protocol(schema_of(SIZES), 3, name)


def rows_of(protocol: Protocol, seed: int) -> list[list[str]]:
    """Reports as texts (protocol, person, numbers), one in five of them spoilt."""
    draw = random.Random(seed)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, k, PEOPLE) for k in protocol.sizes], axis=1)
    made = Randomizer(protocol).report_codes(codes)
    rows = []
    for at, numbers in enumerate(zip(*made.values(), strict=True)):
        who = draw.choice(["", f"p{at}", f"p{at}", f"p{at // 2}", "\u0141ukasz", "\u00c5sa"])
        row = [protocol.id, who, *(str(n) for n in numbers)]
        if draw.random() < 0.2:
            row[draw.randrange(2, len(row))] = draw.choice(ODD)
        if draw.random() < 0.005:
            row[0] = draw.choice([protocol.id[:-1], "", protocol.id.upper() + "x"])
        rows.append(row)
    return rows


def whole(text: str) -> int | None:
    bare = text.strip(" ")
    return int(bare) if re.fullmatch("-?[0-9]{1,18}", bare) else None


def fits(protocol: Protocol, numbers: list[int | None]) -> bool:
    if None in numbers:
        return False
    given = [number for number in numbers if number is not None]
    if protocol.family in ("attributes", "grid"):
        return all(0 <= n < k for n, k in zip(given, protocol.sizes, strict=True))
    blocks = {block.mask: block for block in protocol.blocks}
    key, cell = (0, given[1]) if protocol.family == "cell" else (given[1], given[2])
    block = blocks.get(given[0])
    if block is None:
        return False
    return 0 <= key < protocol.keys(block) and 0 <= cell < protocol.channel(block).cells


def judged(protocol: Protocol, rows: list[list[str]]) -> tuple[LeftOut, Counter[tuple[int, ...]]]:
    """One by one, in plain Python."""
    counts, seen = Counter[str](), dict[str, list[int | None]]()
    kept = Counter[tuple[int, ...]]()
    for protocol_id, who, *texts in rows:
        numbers = [whole(text) for text in texts]
        name, who = protocol_id.strip(" "), who.strip(" ")
        if name != protocol.id and re.fullmatch("[0-9a-f]{12}", name):
            counts["other_protocol"] += 1
        elif name != protocol.id or not fits(protocol, numbers):
            counts["malformed"] += 1
        elif who and who in seen:
            counts["repeated" if numbers == seen[who] else "further"] += 1
        else:
            seen[who] = numbers
            kept[tuple(n for n in numbers if n is not None)] += 1
    return LeftOut(**counts), kept


def counted(source: object, protocol: Protocol) -> tuple[LeftOut, Counter[tuple[int, ...]]]:
    """As it is read, put back into reports."""
    kept = Counter[tuple[int, ...]]()
    with reader.judged(source, protocol) as found:
        if protocol.family in ("attributes", "grid"):
            columns = [f"v{i}" for i in range(len(protocol.sizes))]
        else:
            columns = ["place", "key", "cell"]
        shown = found.con.execute(f"SELECT {', '.join(columns)} FROM kept").fetchall()
        for row in shown:
            if protocol.family == "cell":
                kept[protocol.blocks[row[0]].mask, row[2]] += 1
            elif protocol.family == "parity":
                kept[protocol.blocks[row[0]].mask, row[1], row[2]] += 1
            else:
                kept[row] += 1
        assert sum(kept.values()) == found.people
        return found.left_out, kept


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_spoilt_lines_of_a_text_file(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In small parts, so that lines lie across them; with any ends of lines and quotes."""
    monkeypatch.setattr(reader, "PART", 1 << (6 + 3 * seed))
    protocol = protocol_of(name)
    rows = rows_of(protocol, seed)
    quote = '"' if seed % 2 else ""
    lines = [",".join(f"{quote}{cell}{quote}" for cell in row) for row in rows]
    header = ",".join(["protocol", "person", *protocol.report_columns])
    end = ("\n", "\r\n", "\r", "\n\n")[seed]
    (tmp_path / "r.csv").write_bytes(end.join([header, *lines]).encode())
    assert counted(tmp_path / "r.csv", protocol) == judged(protocol, rows)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_spoilt_cells_of_a_parquet_file(name: str, seed: int, tmp_path: Path) -> None:
    """As texts; and as numbers, where a cell that is none is null."""
    protocol = protocol_of(name)
    rows = rows_of(protocol, seed)
    names = ["protocol", "person", *protocol.report_columns]
    columns = list(zip(*rows, strict=True))
    if seed:
        wholes = [pa.array(map(whole, column), pa.int64()) for column in columns[2:]]
        columns = [*columns[:2], *wholes]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), tmp_path / "r.parquet")
    assert counted(tmp_path / "r.parquet", protocol) == judged(protocol, rows)


def good_columns(protocol: Protocol) -> dict[str, Any]:
    codes = np.zeros((PEOPLE, len(SIZES)), dtype=np.int64)
    made = Randomizer(protocol).report_codes(codes)
    return {"protocol": [protocol.id] * PEOPLE, **made}


NO_NUMBERS = {
    "truth values": [True] * PEOPLE,
    "lists": [[1]] * PEOPLE,
    "structures": [{"a": 1}] * PEOPLE,
    "nothing": pa.nulls(PEOPLE),
    "dates": pa.array([1] * PEOPLE, pa.date32()),
    "times": pa.array([1] * PEOPLE, pa.timestamp("us")),
    "halves": [0.5] * PEOPLE,
    "no numbers": [float("nan")] * PEOPLE,
    "too large": pa.array([2**64 - 1] * PEOPLE, pa.uint64()),
    "infinite": [float("inf")] * PEOPLE,
}


@pytest.mark.parametrize("what", NO_NUMBERS)
@pytest.mark.parametrize("name", ["planned-block", "component-wise"])
def test_columns_of_any_type(name: str, what: str, tmp_path: Path) -> None:
    protocol = protocol_of(name)
    columns = good_columns(protocol) | {protocol.report_columns[-1]: NO_NUMBERS[what]}
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    with pytest.raises(DataError, match=f"none of the {PEOPLE} reports"):
        collect(tmp_path / "r.parquet", protocol)


TYPES = [
    pa.int8(),
    pa.uint16(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.large_string(),
    pa.decimal128(25, 2),
]


@pytest.mark.parametrize("kind", TYPES)
def test_whole_numbers_of_any_type(kind: Any, tmp_path: Path) -> None:
    protocol = protocol_of("planned-block")
    columns = good_columns(protocol)
    columns["cell"] = pa.array(columns["cell"]).cast(kind)
    pq.write_table(pa.table(columns), tmp_path / "r.parquet")
    query = asked(collect(tmp_path / "r.parquet", protocol), Reported)
    assert sum(query.people) == PEOPLE and query.left_out == LeftOut()


def test_texts_that_are_none_and_odd_names_of_files(tmp_path: Path) -> None:
    protocol = protocol_of("planned-block")
    columns = good_columns(protocol)
    raw = pa.array([b"\xff", *(b"p%d" % i for i in range(1, PEOPLE))])
    columns["person"] = pa.Array.from_buffers(pa.string(), PEOPLE, raw.buffers())
    for name in ("r.parquet", "r [1]*?.parquet", "it's.parquet"):
        pq.write_table(pa.table(columns), tmp_path / name)
        assert sum(asked(collect(tmp_path / name, protocol), Reported).people) == PEOPLE
        (tmp_path / name).unlink()


@pytest.mark.parametrize("name", ["planned-block", "component-wise"])
@pytest.mark.parametrize("packed", ["snappy", "none"])
def test_damaged_parquet_files(name: str, packed: str, tmp_path: Path) -> None:
    """Cut anywhere, or bytes changed: every report is accounted for, or the file is refused."""
    protocol = protocol_of(name)
    columns = good_columns(protocol) | {"person": [f"p{i}" for i in range(PEOPLE)]}
    path = tmp_path / "r.parquet"
    pq.write_table(pa.table(columns), path, compression=packed)
    whole, draw = path.read_bytes(), random.Random(7)
    outcomes = Counter[str]()
    for at in range(24):
        data = bytearray(whole)
        if at % 2:
            data = data[: draw.randrange(4, len(data))]
        else:
            for _ in range(draw.randint(1, 3)):
                data[draw.randrange(4, len(data) - 4)] = draw.randrange(256)
        path.write_bytes(data)
        try:
            query = asked(collect(path, protocol), Reported)
        except DataError:
            outcomes["refused"] += 1
        else:
            assert sum(query.people) + query.left_out.total == PEOPLE
            outcomes["counted"] += 1
    assert outcomes["refused"] >= 12


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\n\n\n",
        "protocol",
        "\x00" * 100,
        "PAR1",
        "PAR1" * 9,
        "a;b;c\n1;2;3\n",
        '"',
        '"protocol',
        "\ufeff",
    ],
)
def test_files_that_are_no_reports(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(text, "utf-8")
    with pytest.raises(DataError):
        collect(tmp_path / "r.csv", protocol_of("planned-block"))


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"protocol": "x", "block": 1, "cell": 0},
        {"protocol": ["x"], "block": [1, 2], "cell": [0]},
        {"protocol": ["x"], "block": [object()], "cell": [{}]},
        None,
        [1, 2],
        b"reports",
        {"protocol": ["x"] * 2, "block": np.zeros((2, 2)), "cell": [0, 1]},
    ],
)
def test_tables_that_are_no_reports(table: Any) -> None:
    with pytest.raises(DataError):
        collect(table, protocol_of("planned-block"))


def test_a_line_that_is_too_long_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "PART", 1 << 12)
    monkeypatch.setattr(reader, "LONGEST", 1 << 10)
    protocol = protocol_of("planned-block")
    mask = protocol.blocks[0].mask
    lines = [f"{protocol.id},p{i},{mask},0" for i in range(500)]
    lines[100:100] = [f"{protocol.id},q,{mask},{'0' * 50_000}"]
    lines[300:300] = ["," * 50_000]
    (tmp_path / "r.csv").write_text("\n".join(["protocol,person,block,cell", *lines]))
    query = asked(collect(tmp_path / "r.csv", protocol), Reported)
    assert sum(query.people) == 500
    assert query.left_out == LeftOut(malformed=2)


SPOILT: list[Any] = [
    None,
    True,
    0,
    -1,
    3,
    1.5,
    float("nan"),
    float("inf"),
    10**30,
    "",
    "x",
    "1/0",
    "1/3",
    "3/2",
    "1e400",
    "1e99999999",
    "nan",
    "9" * 3000,
    [],
    [[]],
    {},
    {"a": 1},
    [1, 2, 3],
    "\ud800",
    "\uff10",
    [["3", "1"]],
    [[3, 1], [3, 1]],
    [[3, 1, 1]],
    [[1 << 70 | 3, 1]],
    [[3]],
    [[3, 1, 2, 4]],
]


def places(document: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = document.items() if isinstance(document, dict) else enumerate(document)
    found = []
    for key, value in items:
        found.append((*before, key))
        if isinstance(value, dict | list):
            found += places(value, (*before, key))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_protocol_that_was_tampered_with(name: str) -> None:
    """It is refused, or it is another protocol: one whose reports are not taken for the first's."""
    protocol = protocol_of(name)
    first = json.loads(protocol.to_json())
    draw = random.Random(3)
    for _ in range(150):
        document = deepcopy(first)
        where = places(document)
        at = draw.choice([p for p in where if len(p) == 1] if draw.random() < 0.5 else where)
        inner = document
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = draw.choice(SPOILT)
        try:
            read = Protocol.from_json(json.dumps(document))
        except PrivetError:
            continue
        assert Protocol.from_json(read.to_json()) == read
        assert (read.id == protocol.id) == (read == protocol)
        assert read.loss <= read.epsilon


def test_blocks_of_a_protocol_are_listed_once() -> None:
    """A block listed twice would count its reports twice."""
    document = json.loads(protocol_of("planned-block").to_json())
    document["blocks"].append(document["blocks"][0])
    with pytest.raises(PrivetError, match="parameters do not make"):
        Protocol.from_json(json.dumps(document))
