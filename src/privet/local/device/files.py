"""Reports of many people from a table of answers, a block of rows at a time.

This is for whoever holds answers and may randomise them, and for trying things out: a device has
one row and calls ``Randomizer.report``.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.arrays import OnStep, say_nothing
from privet.errors import DataError, OutputError, expect
from privet.files.bar import without_bar
from privet.files.scratch import OnNote, ignore, private_folder, sweep
from privet.local.device.bits import Bits
from privet.local.device.protocol import RESERVED, Protocol
from privet.local.device.randomizer import Randomizer, named
from privet.local.device.shuffle import Columns, shuffled
from privet.privacy.engines.source import CsvFile, Source, open_source
from privet.privacy.engines.texts import text_parts
from privet.schema.column import did_you_mean

PROTOCOL_FILE = "protocol.json"
KINDS = (".csv", ".parquet")

GZIP = b"\x1f\x8b"
SAMPLE = 1 << 20  # bytes from which the number of lines is guessed


@dataclass(frozen=True, kw_only=True)
class Written:
    """The files of one run."""

    reports: Path
    protocol: Path
    rows: int


def randomize_file(
    answers: str | Path,
    protocol: Protocol,
    output: str | Path,
    *,
    person: str | None = None,
    force: bool = False,
    on_step: OnStep = say_nothing,
    on_note: OnNote = ignore,
) -> Written:
    """One report per row of a table in a secret random order, and the protocol beside them.

    ``person`` names the column that says whose row it is; with it, memory grows by some 300 bytes
    per person, to know who has reported. Rows without such a name are different people.
    ``on_note`` is told of what a killed run for the same output left, which is removed.
    """
    expect(output, (str, Path), "output", "give the path of a file to write", OutputError)
    sweep(Path(output).parent, Path(output).name, on_note)
    names = ("protocol", *(() if person is None else ("person",)), *protocol.report_columns)
    reports = _checked(Path(output), protocol, names, force)
    source, positions = open_source(answers, protocol.schema)
    at = None if person is None else _person(source, person)
    fresh = _blocks(Randomizer(protocol), source, list(positions.values()), at)
    lines = _lines(source.path) if isinstance(source, CsvFile) else math.inf
    blocks = _watched(fresh, lines, on_step)
    write = _write_csv if reports.suffix == ".csv" else _write_parquet
    folder = reports.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with private_folder(folder, reports.name) as scratch:
            made = scratch / reports.name
            rows = write(names, shuffled(names, blocks, scratch / "shards", Bits()), made)
            (scratch / PROTOCOL_FILE).write_text(protocol.to_json(), encoding="utf-8")
            os.replace(scratch / PROTOCOL_FILE, folder / PROTOCOL_FILE)
            os.replace(made, reports)
    except OSError as error:
        raise OutputError(
            f"cannot write {str(reports)!r} ({error.strerror}); choose another place"
        ) from None
    return Written(reports=reports, protocol=folder / PROTOCOL_FILE, rows=rows)


def _checked(reports: Path, protocol: Protocol, names: tuple[str, ...], force: bool) -> Path:
    """The file of reports, if it may be written."""
    if reports.suffix not in KINDS:
        raise OutputError(
            f"{str(reports)!r} does not say what to write; name a file that ends in "
            f"{' or '.join(KINDS)}"
        )
    beside = reports.parent / PROTOCOL_FILE
    for path in (reports, beside):
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder; choose another name for the output")
    if reports.exists() and not force:
        raise OutputError(
            f"{str(reports)!r} exists; choose another name, or use ⟦force=True⟧ to replace it"
        )
    if beside.exists() and not force and beside.read_bytes() != protocol.to_json().encode():
        raise OutputError(
            f"{str(beside)!r} is another protocol, and reports of two do not mix; choose another "
            f"folder, or use ⟦force=True⟧ to replace it"
        )
    if reports.suffix == ".parquet" and len({name.casefold() for name in names}) < len(names):
        raise OutputError(
            "two columns differ in upper and lower case only, which a Parquet file does not tell "
            "apart here; write the reports as .csv, or rename one"
        )
    return reports


def _person(source: Source, name: str) -> int:
    if name not in source.header:
        raise DataError(
            f"column {name!r}, which should say whose row it is, is not in the header of "
            f"{source.label}{did_you_mean(name, source.header)}; name another, or none"
        )
    return source.header.index(name)


def _blocks(
    randomizer: Randomizer, source: Source, positions: list[int], person: int | None
) -> Iterator[Columns]:
    wanted = positions if person is None else [*positions, person]
    for texts in text_parts(source, wanted):
        made = {"protocol": _objects([randomizer.protocol.id] * len(texts[0]))}
        people = None
        if person is not None:
            people = [named(text) for text in texts.pop()]
            made["person"] = _objects(people)
        yield made | randomizer.report_texts(texts, people)


def _watched(blocks: Iterator[Columns], lines: float, on_step: OnStep) -> Iterator[Columns]:
    """The blocks, told about once they are out of hand."""
    rows = 0
    on_step("randomising", 0.0)
    for block in blocks:
        yield block
        rows += len(block["protocol"])
        on_step(f"randomising: {rows:,} rows", min(rows / lines, 1.0))


def _lines(path: Path) -> float:
    """About how many lines a file has, from its size and its beginning; infinitely many if that
    does not tell."""
    with path.open("rb") as file:
        start = file.read(SAMPLE)
    if start.startswith(GZIP):
        return math.inf
    return max(1.0, path.stat().st_size * start.count(b"\n") / len(start))


def _objects(texts: list[Any]) -> NDArray[Any]:
    return np.array(texts, dtype=object)


def _write_csv(names: tuple[str, ...], blocks: Iterator[Columns], path: Path) -> int:
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for block in blocks:
            writer.writerows(zip(*(block[name].tolist() for name in names), strict=True))
            rows += len(block["protocol"])
    return rows


def _write_parquet(names: tuple[str, ...], blocks: Iterator[Columns], path: Path) -> int:
    """By way of a DuckDB file beside it, so that memory stays small."""
    import duckdb

    rows, plain = 0, [f"c{i}" for i in range(len(names))]
    kinds = ["VARCHAR" if name in RESERVED else "BIGINT" for name in names]
    try:
        with duckdb.connect(str(path.with_suffix(".duckdb"))) as base:
            without_bar(base).execute("SET memory_limit = '1GB'")
            declared = ", ".join(map(" ".join, zip(plain, kinds, strict=True)))
            base.execute(f"CREATE TABLE made ({declared})")
            for block in blocks:
                base.register("block", {c: block[n] for c, n in zip(plain, names, strict=True)})
                base.execute("INSERT INTO made SELECT * FROM block")
                base.unregister("block")
                rows += len(block["protocol"])
            picked = ", ".join(f"{c} AS {_quoted(n)}" for c, n in zip(plain, names, strict=True))
            target = "'" + str(path).replace("'", "''") + "'"
            base.execute(f"COPY (SELECT {picked} FROM made) TO {target} (FORMAT parquet)")
    except duckdb.Error:
        raise OutputError(
            f"cannot write {path.name!r} as Parquet; is there space on the disk?"
        ) from None
    return rows


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
