"""Delta and Iceberg tables: one version of each, without the rows that were deleted since.

Their files alone do not say which rows count, so the libraries of these formats read them. All
passes see the version at which the table was opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from privet.errors import DataError
from privet.privacy.engines.frames import Stream
from privet.privacy.engines.work import BLOCK_ROWS

METADATA = ".metadata.json"
OTHER_WAYS = "or give it to Spark, or as a relation of a DuckDB that has the extension for it"


def folder(path: Path) -> Stream | None:
    """The table whose folder this is, if it is one of these."""
    if any(path.glob("_delta_log/*.json")):
        return delta(_opened(path, "Delta", _delta_table))
    if not any(path.glob(f"metadata/*{METADATA}")):
        return None
    if not (path / "metadata" / "version-hint.text").exists():
        raise DataError(
            f"{str(path)!r} is an Iceberg table, and only its catalog knows which version counts; "
            f"name the file of that version, metadata/*{METADATA}, or give the table of pyiceberg"
        )
    return iceberg(_opened(path, "Iceberg", _iceberg_table))


def version(path: Path) -> Stream:
    """The version of an Iceberg table that a file of metadata describes."""
    return iceberg(_opened(path, "Iceberg", _iceberg_table))


def _opened(path: Path, kind: str, read: Any) -> Any:
    try:
        return read(path)
    except ImportError:
        raise DataError(
            f"{str(path)!r} is a {kind} table, which needs a library that is not installed; "
            f"pip install 'privet[{kind.lower()}]', {OTHER_WAYS}"
        ) from None
    except Exception:
        raise DataError(
            f"{str(path)!r} cannot be opened as a {kind} table; check that it is complete, "
            f"{OTHER_WAYS}"
        ) from None


def _delta_table(path: Path) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(path)


def _iceberg_table(path: Path) -> Any:
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(path))


def delta(table: Any) -> Stream:
    import pyarrow

    if not hasattr(table, "scan"):
        raise DataError(
            "this release of deltalake cannot leave out deleted rows; pip install 'privet[delta]'"
        )
    fields = pyarrow.schema(table.schema().to_arrow())

    def read(names: list[str]) -> Iterator[Sequence[Any]]:
        yield from _parts(pyarrow.RecordBatchReader.from_stream(table.scan(columns=names)))

    kinds = tuple(str(field.type) for field in fields)
    return Stream("the Delta table", tuple(fields.names), kinds, read, table.version)


def iceberg(table: Any) -> Stream:
    snapshot = table.current_snapshot()
    scan = table.scan(snapshot_id=None if snapshot is None else snapshot.snapshot_id)
    try:
        fields = scan.projection().as_arrow()
        for _ in scan.plan_files():  # which refuses deletions that it cannot apply
            pass
    except Exception:
        raise DataError(
            "pyiceberg cannot read this Iceberg table; rewrite its files so that none has "
            f"deletions, {OTHER_WAYS}"
        ) from None

    def read(names: list[str]) -> Iterator[Sequence[Any]]:
        yield from _parts(scan.select(*names).to_arrow_batch_reader(), names)

    kinds = tuple(str(field.type) for field in fields)
    return Stream("the Iceberg table", tuple(fields.names), kinds, read)


def _parts(reader: Any, names: list[str] | None = None) -> Iterator[Sequence[Any]]:
    """Columns of some rows at a time, in the order in which they were asked for; texts in the one
    layout that all of Arrow's functions know."""
    import pyarrow

    for batch in reader:
        whole = pyarrow.Table.from_batches([batch])
        chosen = whole.columns if names is None else [whole[name] for name in names]
        texts = [
            each.cast("string") if str(each.type) == "string_view" else each for each in chosen
        ]
        for start in range(0, len(whole), BLOCK_ROWS):
            yield [each[start : start + BLOCK_ROWS] for each in texts]
