"""Delta and Iceberg tables give the whole numbers of the rows that were not deleted."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from privet.errors import DataError
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.source import CHANGED, open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.schema.model import Schema
from tests.helpers.odd_table import answers, odd_schema, odd_table

needs_delta = pytest.mark.skipif(
    find_spec("deltalake") is None, reason="deltalake is not installed; see make test-engines"
)
needs_iceberg = pytest.mark.skipif(
    find_spec("pyiceberg") is None, reason="pyiceberg is not installed; see make test-engines"
)
# The letters in which Delta writes bytes as text, and those of Python.
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def rows_of(data: Any, schema: Schema) -> Any:
    source, positions = open_source(data, schema)
    return Encoder(schema=schema, positions=positions).rows(source)


def expected(schema: Schema, gone: Any = ("p1",)) -> list[list[int]]:
    table = odd_table()
    kept = [name not in gone for name in table["person"].to_pylist()]
    return answers(rows_of(table.filter(kept), schema), schema)


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    from deltalake import DeltaTable, write_deltalake

    table = odd_table()
    write_deltalake(tmp_path / "t", table[:2000])
    write_deltalake(tmp_path / "t", table[2000:], mode="append")
    DeltaTable(tmp_path / "t").delete("person = 'p1'")
    return tmp_path / "t"


@needs_delta
@pytest.mark.parametrize("kind", ["folder", "object"])
def test_a_delta_table_gives_the_answers_of_memory(delta: Path, kind: str) -> None:
    from deltalake import DeltaTable

    schema = odd_schema("drop")
    rows = rows_of(delta if kind == "folder" else DeltaTable(delta), schema)
    assert isinstance(rows, StreamedRows)
    assert answers(rows, schema) == expected(schema)


@needs_delta
def test_the_files_alone_would_count_deleted_rows(
    delta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: the folder is taken for one of Parquet files."""
    monkeypatch.setattr("privet.privacy.engines.layered.folder", lambda path: None)
    schema = odd_schema("drop")
    assert answers(rows_of(delta, schema), schema) != expected(schema)


@needs_delta
def test_rows_that_a_deletion_vector_names_do_not_count(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(tmp_path, odd_table())
    log = tmp_path / "_delta_log"
    first = (log / f"{0:020}.json").read_text().splitlines()
    (add,) = (each["add"] for each in map(json.loads, first) if "add" in each)
    removed = {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    lines = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": removed},
        {"add": {**add, "deletionVector": vector(range(0, 3000, 3))}},
    ]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, lines)))
    schema, table = odd_schema(), odd_table()
    kept = table.filter([bool(i % 3) for i in range(3000)])
    found = answers(rows_of(tmp_path, schema), schema)
    assert found == answers(rows_of(kept, schema), schema)


def vector(places: range) -> dict[str, Any]:
    """A set of places as Delta writes it into its log."""
    numbers = list(places)
    container = struct.pack("<iiHHI", 12346, 1, 0, len(numbers) - 1, 16)
    container += struct.pack(f"<{len(numbers)}H", *numbers)
    data = struct.pack("<iqi", 1681511377, 1, 0) + container
    text = base64.b85encode(data + b"\0" * (-len(data) % 4)).decode()
    return {
        "storageType": "i",
        "pathOrInlineDv": text.translate(str.maketrans(B85, Z85)),
        "sizeInBytes": len(data),
        "cardinality": len(numbers),
    }


@needs_delta
def test_all_passes_see_one_version(delta: Path) -> None:
    from deltalake import DeltaTable, write_deltalake

    schema, given = odd_schema(), DeltaTable(delta)
    rows = rows_of(given, schema)
    before = rows.counts(("truth",)).sum()
    write_deltalake(delta, odd_table(), mode="append")
    assert rows.counts(schema.names[:6]).sum() == before
    given.update_incremental()
    with pytest.raises(DataError) as caught:
        rows.counts(schema.names[4:])
    assert str(caught.value) == CHANGED


@pytest.fixture
def iceberg(tmp_path: Path) -> Iterator[Any]:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    table = odd_table()
    made = catalog.create_table("n.t", schema=table.schema)
    made.append(table[:2000])
    made.append(table[2000:])
    made.delete("person = 'p1'")
    yield made
    catalog.close()


@needs_iceberg
@pytest.mark.parametrize("kind", ["file", "folder", "object"])
def test_an_iceberg_table_gives_the_answers_of_memory(iceberg: Any, kind: str) -> None:
    schema, data = odd_schema("drop"), iceberg
    file = Path(iceberg.metadata_location.removeprefix("file://"))
    if kind == "file":
        data = file
    elif kind == "folder":
        (file.parent / "version-hint.text").write_text(file.name.removesuffix(".metadata.json"))
        data = file.parent.parent
    rows = rows_of(data, schema)
    assert isinstance(rows, StreamedRows)
    before = rows.counts(()).item()
    iceberg.append(odd_table())  # another version, which does not count
    assert answers(rows, schema) == expected(schema) and rows.counts(()).item() == before


@needs_iceberg
def test_an_iceberg_folder_without_a_hint_is_refused(iceberg: Any) -> None:
    folder = Path(iceberg.location().removeprefix("file://"))
    with pytest.raises(DataError, match="only its catalog knows"):
        open_source(folder, odd_schema())
