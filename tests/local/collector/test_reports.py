"""Reports are read from whatever they stand in; what does not fit is left out and counted."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet.errors import DataError
from privet.local import Protocol, Randomizer, plan_protocol
from privet.local.collector import collect as trust
from privet.local.collector import counts as local_counts
from privet.local.collector.collect import collect, cover
from privet.local.collector.counts import LeftOut, Reported
from privet.local.collector.tables import LocalEvidence
from privet.local.device.blocks import GRID
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.helpers.asked import asked
from tests.helpers.reports import schema_of

SIZES = (2, 3, 2, 4)
TABLES = (
    "planned-block",
    "one-pair",
    "one-triple",
    "combined",
    "parity",
    "component-wise",
    "geometric",
    "geometric-combined",
)
PEOPLE = 500


def numbers() -> Schema:
    columns = tuple(
        Column(name=f"x{i}", kind="numeric", bounds=(-1.0, 1.0), cuts=(0.0,)) for i in range(3)
    )
    return Schema(name="numbers", columns=columns)


def protocol_of(name: str) -> Protocol:
    schema = numbers() if name in ("sign-bit", "sign-block", "piecewise") else schema_of(SIZES)
    return plan_protocol(schema, 3, name)


def made(protocol: Protocol, people: int = PEOPLE) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, size, people) for size in protocol.sizes], axis=1)
    return Randomizer(protocol).report_codes(codes)


def with_id(protocol: Protocol, reports: dict[str, Any]) -> dict[str, Any]:
    size = len(next(iter(reports.values())))
    return {"protocol": np.array([protocol.id] * size, dtype=object), **reports}


def write(path: Path, header: Sequence[str], lines: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)
    return path


def slowly(protocol: Protocol, reports: dict[str, Any]) -> dict[tuple[int, ...], Any]:
    """Counted one by one: how often each (key, cell) was reported to each block; or, where
    everybody reports on all columns, how often each row was."""
    columns = [np.asarray(reports[name]).tolist() for name in protocol.report_columns]
    out: dict[tuple[int, ...], Any] = {}
    for row in zip(*columns, strict=True):
        out[row] = out.get(row, 0) + 1
    return out


@pytest.mark.parametrize("name", [*TABLES, "sign-bit", "sign-block", "piecewise"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "dict", "frame"])
def test_every_report_is_counted_once(
    name: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tallies, put back together, are the reports; a few blocks at a time makes no difference."""
    protocol = protocol_of(name)
    reports = with_id(protocol, made(protocol))
    source: Any = reports
    if kind == "csv":
        source = write(tmp_path / "r.csv", list(reports), list(zip(*reports.values(), strict=True)))
    elif kind != "dict":
        pd = pytest.importorskip("pandas")
        source = pd.DataFrame(reports)
        if kind == "parquet":
            source.to_parquet(tmp_path / "r.parquet")
            source = tmp_path / "r.parquet"
    monkeypatch.setattr(trust, "TOGETHER", 100)
    heard: list[Any] = []

    def listening(protocol: Protocol, tallies: Any, *rest: Any) -> Any:
        heard.extend(tallies)
        return local_counts.as_release(protocol, heard, *rest)

    monkeypatch.setattr(trust, "as_release", listening)
    release = collect(source, protocol)
    assert asked(release, Reported).left_out == LeftOut()
    known = slowly(protocol, reports)
    if protocol.family in ("attributes", "grid"):
        assert asked(release, Reported).people == (PEOPLE,)
        for tally in heard:
            assert tally.people.sum() == PEOPLE
            assert len(set(tally.cell.tolist())) == len(tally.cell)
            assert tally.cell.max() < prod(protocol.sizes[i] for i in tally.attributes)
        wanted = min(asked(release, Reported).largest, len(protocol.sizes))
        every = {s for tally in heard for s in combinations(tally.attributes, wanted)}
        assert every == set(combinations(range(len(protocol.sizes)), wanted))
        return
    found: dict[tuple[int, ...], int] = {}
    for block, tally in zip(protocol.blocks, heard, strict=True):
        for key, cell, people in zip(tally.key, tally.cell, tally.people, strict=True):
            said = (block.mask, int(key), int(cell))
            found[said if len(protocol.report_columns) == 3 else (said[0], said[2])] = int(people)
    assert found == known and sum(asked(release, Reported).people) == PEOPLE


def test_what_is_read_is_what_was_told() -> None:
    """Columns in their right places: with hardly any noise, tables are those of the answers."""
    for name in ("planned-block", "one-triple", "component-wise", "geometric-combined", "parity"):
        protocol = plan_protocol(schema_of(SIZES), 60, name)
        rng = np.random.default_rng(2)
        codes = np.stack([rng.integers(0, size, 3000) ** 2 % size for size in SIZES], axis=1)
        codes[:, 3] = codes[:, 1]
        reports = with_id(protocol, Randomizer(protocol).report_codes(codes))
        evidence = LocalEvidence.from_release(collect(reports, protocol))
        table = evidence.tables(np.array([(1, 3)]))[0]
        known = np.zeros((3, 4))
        np.add.at(known, (codes[:, 1], codes[:, 3]), 1 / 3000)
        assert table == pytest.approx(known, abs=0.2)
        assert table[np.arange(3), np.arange(3)].sum() > 0.7


BAD = {
    "too short": "{id},b,{block}",
    "cell too large": "{id},b,{block},{cells}",
    "cell below 0": "{id},b,{block},-1",
    "unknown block": "{id},b,1,0",
    "no whole number": "{id},b,{block},1.5",
    "no number": "{id},b,{block},x",
    "nothing": "{id},b,,0",
    "far too large": "{id},b,{block},99999999999999999999999",
    "no UTF-8": "{id},b,{block},\xff0",
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_report_is_left_out_and_counted(what: str, tmp_path: Path) -> None:
    """Wherever it stands, and nobody else's is lost with it."""
    protocol = protocol_of("planned-block")
    block = protocol.blocks[0]
    bad = BAD[what].format(id=protocol.id, block=block.mask, cells=protocol.channel(block).cells)
    reports = made(protocol)
    lines = [
        f"{protocol.id},p{i},{b},{c}"
        for i, (b, c) in enumerate(zip(reports["block"], reports["cell"], strict=True))
    ]
    path = tmp_path / "r.csv"
    for at in (0, PEOPLE // 2, PEOPLE):
        text = "\n".join(["protocol,person,block,cell", *lines[:at], bad, *lines[at:]])
        path.write_bytes(text.encode("latin-1"))
        query = asked(collect(path, protocol), Reported)
        assert query.left_out == LeftOut(malformed=1) and sum(query.people) == PEOPLE


def test_an_open_quote_does_not_swallow_other_reports(tmp_path: Path) -> None:
    protocol = protocol_of("planned-block")
    reports = made(protocol)
    good = [f"{protocol.id},p{i},{b},{c}" for i, (b, c) in enumerate(zip(*reports.values()))]  # noqa: B905
    odd = [f'{protocol.id},"q,{protocol.blocks[0].mask},0', f'{protocol.id},"a, ""b""",1,0', ""]
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["protocol,person,block,cell", *odd, *good]))
    query = asked(collect(path, protocol), Reported)
    assert sum(query.people) + query.left_out.total == PEOPLE + 2
    assert sum(query.people) >= PEOPLE


def test_keys_and_powers_are_checked() -> None:
    protocol = protocol_of("parity")
    reports = with_id(protocol, made(protocol))
    largest = max(protocol.keys(block) for block in protocol.blocks)
    reports["key"][:3] = (-1, largest, 0)
    query = asked(collect(reports, protocol), Reported)
    assert query.left_out == LeftOut(malformed=2)
    protocol = protocol_of("piecewise")
    reports = with_id(protocol, made(protocol))
    reports["key"][:2] = (0, 7)
    reports["cell"][2] = GRID + protocol.width - 1
    assert asked(collect(reports, protocol), Reported).left_out == LeftOut(malformed=3)


def test_values_of_columns_are_checked() -> None:
    protocol = protocol_of("component-wise")
    reports = with_id(protocol, made(protocol))
    reports["x1"] = reports["x1"].astype(float)
    reports["x1"][:4] = (3.0, -1.0, 0.5, np.nan)
    query = asked(collect(reports, protocol), Reported)
    assert query.left_out == LeftOut(malformed=4) and query.people == (PEOPLE - 4,)


@pytest.mark.parametrize("kind", ["csv", "dict"])
def test_the_first_report_of_a_person_counts(kind: str, tmp_path: Path) -> None:
    """Later ones are left out, wherever they stand; people without a name are all different."""
    protocol = protocol_of("planned-block")
    block = protocol.blocks[0]
    size = 60_000
    lines = [(protocol.id, f"p{i}", block.mask, 0) for i in range(size)]
    lines += [(protocol.id, f" p{i}", block.mask, 1) for i in range(0, size, 3)]
    lines += [(protocol.id, f"p{i} ", block.mask, 0) for i in range(0, size, 5)]
    lines += [(protocol.id, "", block.mask, 2)] * 5
    header = ("protocol", "person", "block", "cell")
    source: Any = write(tmp_path / "r.csv", header, lines)
    if kind == "dict":
        source = dict(zip(header, map(np.array, zip(*lines, strict=True)), strict=True))
    release = collect(source, protocol)
    assert asked(release, Reported).left_out == LeftOut(further=size // 3, repeated=size // 5)
    assert asked(release, Reported).people[0] == size + 5
    i, j = block.attributes[:2]
    table = LocalEvidence.from_release(release).tables(np.array([(i, j)]))[0]
    assert np.unravel_index(table.argmax(), table.shape) == (0, 0)
    left = float(protocol.channel(block).attenuation)
    share = 1 / left - (1 / left - 1) / table.size  # everybody in one cell, the noise undone
    assert table[0, 0] == pytest.approx(share, abs=1e-3)


def test_a_malformed_report_does_not_use_up_a_person() -> None:
    protocol = protocol_of("planned-block")
    mask = protocol.blocks[0].mask
    reports = {
        "protocol": np.array([protocol.id] * 3, dtype=object),
        "person": np.array(["a", "a", "a"], dtype=object),
        "block": np.array([mask, mask, mask]),
        "cell": np.array([10**6, 0, 1]),
    }
    query = asked(collect(reports, protocol), Reported)
    assert query.left_out == LeftOut(malformed=1, further=1) and sum(query.people) == 1


def test_two_protocols_do_not_mix() -> None:
    protocol, other = protocol_of("planned-block"), plan_protocol(schema_of(SIZES), 2)
    reports = with_id(protocol, made(protocol))
    with pytest.raises(DataError, match=r"all 500 reports .* another protocol"):
        collect(reports, other)
    reports["protocol"][:50] = other.id
    with pytest.raises(DataError, match=r"50 of the 500 reports .* another protocol"):
        collect(reports, protocol)
    reports["protocol"][:] = protocol.id
    reports["protocol"][:5] = [other.id, None, "", "x", other.id]
    query = asked(collect(reports, protocol), Reported)
    assert query.left_out == LeftOut(other_protocol=2, malformed=3) and query.left_out.total == 5


def test_what_is_no_report_is_refused(tmp_path: Path) -> None:
    protocol = protocol_of("planned-block")
    with pytest.raises(DataError, match="cannot read"):
        collect(tmp_path / "nothing.csv", protocol)
    cut_off = tmp_path / "r.parquet"
    cut_off.write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="neither a complete Parquet"):
        collect(cut_off, protocol)
    with pytest.raises(DataError, match="'cell', which a report by planned-block has, is not in"):
        collect(write(tmp_path / "a.csv", ["protocol", "block"], []), protocol)
    header = ["protocol", "block", "cell"]
    with pytest.raises(DataError, match=r"'block'.* is twice in"):
        collect(write(tmp_path / "b.csv", [*header, "block"], []), protocol)
    with pytest.raises(DataError, match="there are no reports"):
        collect(write(tmp_path / "c.csv", header, []), protocol)
    lines = [(protocol.id, 1, 5)] * 3
    with pytest.raises(DataError, match="none of the 3 reports"):
        collect(write(tmp_path / "d.csv", header, lines), protocol)
    with pytest.raises(DataError, match="cannot read rows from a int"):
        collect(3, protocol)


@pytest.mark.parametrize("largest", [2, 3])
@pytest.mark.parametrize("sizes", [(2,) * 9, (2, 3, 4, 5, 6, 70), (64, 64, 64), (2, 2)])
def test_groups_of_columns_cover_all_sets(sizes: tuple[int, ...], largest: int) -> None:
    groups = list(cover(sizes, largest))
    wanted = min(largest, len(sizes))
    seen = {s for group in groups for s in combinations(group, wanted)}
    assert seen == set(combinations(range(len(sizes)), wanted))
    small = [g for g in groups if len(g) > wanted]
    assert all(prod(sizes[i] for i in group) <= trust.COVER_CELLS for group in small)


ODD_CELLS = ["abc", 2**70, [1], {}, b"\xff", True, object(), "\ud800", 0.5, None]


@pytest.mark.parametrize("odd", ODD_CELLS, ids=lambda odd: ascii(odd).partition(" at ")[0])
@pytest.mark.parametrize("kind", ["dict", "frame"])
def test_one_odd_cell_of_a_table_is_one_odd_report(kind: str, odd: object) -> None:
    protocol = protocol_of("planned-block")
    reports: Any = with_id(protocol, made(protocol))
    cells = reports["cell"].astype(object)
    cells[PEOPLE // 2] = odd
    reports = {**reports, "cell": cells}
    if kind == "frame":
        reports = pytest.importorskip("pandas").DataFrame(reports)
    query = asked(collect(reports, protocol), Reported)
    assert query.left_out == LeftOut(malformed=1) and sum(query.people) == PEOPLE - 1


def test_some_junk_stops_no_collection(tmp_path: Path) -> None:
    protocol = protocol_of("planned-block")
    mask = protocol.blocks[0].mask
    lines = [*([(protocol.id, mask, 0)] * 50), *([("junk", "", "")] * 40)]
    query = asked(
        collect(write(tmp_path / "r.csv", ("protocol", "block", "cell"), lines), protocol), Reported
    )
    assert query.left_out == LeftOut(malformed=40) and sum(query.people) == 50


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("named", [False, True])
def test_the_order_of_reports_is_no_matter(name: str, named: bool, tmp_path: Path) -> None:
    """Reports come in a secret order; copies of a person's report, wherever they stand, are one."""
    protocol = protocol_of(name)
    reports = with_id(protocol, made(protocol))
    if named:
        people = np.array([f"p{i}" for i in range(PEOPLE)], dtype=object)
        reports |= {"person": people}
        reports = {n: np.concatenate([column, column[:50]]) for n, column in reports.items()}
    lines = list(zip(*(column.tolist() for column in reports.values()), strict=True))
    orders = (lines, lines[::-1], sorted(lines, key=repr), lines[9:])
    first, *others, fewer = (
        collect(write(tmp_path / "r.csv", list(reports), order), protocol) for order in orders
    )
    assert asked(first, Reported).left_out == LeftOut(repeated=50 * named)
    for other in others:
        assert other.query == first.query
        assert np.asarray(other.values).tolist() == np.asarray(first.values).tolist()
    assert fewer.query != first.query
