"""Tables of other libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from privet.errors import DataError
from privet.privacy.engines import spark
from privet.privacy.engines.cells import TYPES, as_array
from privet.privacy.engines.source import UNKNOWN, Block, Here, Source
from privet.privacy.engines.work import BLOCK_ROWS

# What may give other rows when it is asked again, in the words of a polars plan.
UNSTEADY = re.compile(r"\bSLICE\b|\.(sample|shuffle)\(")


def frame(data: Any, makers: set[str]) -> Source | None:
    """The table that an object is, if it is one of these."""
    if makers & {"pandas.DataFrame", "polars.DataFrame"}:
        return Frame(data, tuple(str(name) for name in data.columns))
    if "pyarrow.Table" in makers:
        return Frame(data, tuple(data.column_names))
    if "ibis.Table" in makers:
        from privet.privacy.engines import ibis_table

        return ibis_table.opened(data)
    if "pyspark.DataFrame" in makers:
        return spark.opened(data)
    if "duckdb.DuckDBPyRelation" in makers:
        from privet.privacy.engines import duck

        return duck.relation(data)
    if "polars.LazyFrame" in makers:
        return lazy(data)
    if "pyarrow.Dataset" in makers:
        return _dataset(data)
    if makers & {"deltalake.DeltaTable", "pyiceberg.Table"}:
        from privet.privacy.engines import layered

        return (layered.delta if "deltalake.DeltaTable" in makers else layered.iceberg)(data)
    if "pyarrow.RecordBatchReader" in makers:
        raise DataError(
            "a RecordBatchReader can be read only once; give a pyarrow Table or Dataset, or a file"
        )
    return None


def odd_kind(name: str) -> str | None:
    """The name of a type that is not read."""
    return None if name.lower().startswith(TYPES) else name.partition("(")[0].partition("[")[0]


@dataclass(frozen=True)
class Stream(Here):
    """A table that hands over its rows in parts, again for each pass. ``read`` gives some of its
    columns, part by part; ``odd`` names a type that is not read; ``version`` tells one state of
    the table from another, if it can."""

    label: str
    header: tuple[str, ...]
    types: tuple[str, ...]
    read: Callable[[list[str]], Iterator[Sequence[Any]]]
    version: Callable[[], object] = lambda: None
    odd: Callable[[str], str | None] = odd_kind

    def type_of(self, position: int) -> str:
        return self.types[position]

    def odd_type(self, position: int) -> str | None:
        return self.odd(self.types[position])

    def portions(self) -> int:
        return UNKNOWN

    def stamp(self) -> object:
        return self.version()

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        for part in self.read([self.header[i] for i in positions]):
            yield {f"c{i}": as_array(column) for i, column in zip(positions, part, strict=True)}


def lazy(data: Any) -> Stream:
    if UNSTEADY.search(data.explain(optimized=False)):
        raise DataError(
            "the LazyFrame has a slice, a sample or a random order in it, so that it may have "
            "other rows each time that it is read; collect it, or write it to a file, and give that"
        )
    kinds = data.collect_schema()

    def read(names: list[str]) -> Iterator[Sequence[Any]]:
        chosen = data.select(names)
        in_parts = hasattr(chosen, "collect_batches")
        for part in (
            chosen.collect_batches(chunk_size=BLOCK_ROWS) if in_parts else [chosen.collect()]
        ):
            yield part.get_columns()

    types = tuple(map(str, kinds.dtypes()))
    return Stream("the LazyFrame", tuple(kinds.names()), types, read)


def arrow_file(path: Path) -> Stream:
    """A file of Arrow (IPC, also called Feather)."""
    try:
        from pyarrow import dataset
    except ImportError:
        raise DataError(
            f"{str(path)!r} is an Arrow file, which needs pyarrow; pip install pyarrow, or save "
            "the table as Parquet"
        ) from None
    try:
        found = dataset.dataset(path, format="ipc")
    except (OSError, ValueError):
        raise DataError(f"{str(path)!r} cannot be read as Arrow; save the table anew") from None
    return replace(_dataset(found), label=repr(str(path)), version=partial(_stamp, path))


def _stamp(path: Path) -> object:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _dataset(data: Any) -> Stream:
    import pyarrow

    def read(names: list[str]) -> Iterator[Sequence[Any]]:
        for batch in data.to_batches(columns=names, batch_size=BLOCK_ROWS):
            yield pyarrow.Table.from_batches([batch]).columns

    kinds = tuple(str(field.type) for field in data.schema)
    return Stream("the Arrow dataset", tuple(data.schema.names), kinds, read)


@dataclass(frozen=True)
class Frame(Here):
    """Columns in memory: a dict, a pandas or polars DataFrame or an Arrow table."""

    data: Any
    header: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"the {type(self.data).__name__}"

    def type_of(self, position: int) -> str:
        column = self._column(position)
        return str(getattr(column, "type", None) or getattr(column, "dtype", None) or "object")

    def odd_type(self, position: int) -> str | None:
        return odd_kind(self.type_of(position))

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        yield {f"c{i}": as_array(self._column(i)) for i in positions}

    def _column(self, i: int) -> Any:
        if isinstance(self.data, dict):
            return self.data[self.header[i]]
        if hasattr(self.data, "iloc"):
            return self.data.iloc[:, i]
        if hasattr(self.data, "get_column"):
            return self.data.get_column(self.header[i])
        return self.data.column(i)


def columns(data: Mapping[Any, Any]) -> Frame:
    """A dict of columns, looked at no further than their shapes."""
    columns = {str(name): values for name, values in data.items()}
    for name, values in columns.items():
        if getattr(values, "ndim", 1) != 1:
            raise DataError(f"column {name!r} is not one-dimensional; give one value per row")
    names = list(columns)
    for name in names[1:]:
        if len(columns[name]) != len(columns[names[0]]):
            raise DataError(
                f"columns {names[0]!r} and {name!r} differ in length; give one value per row"
            )
    return Frame(columns, tuple(columns))
