"""Ibis tables, read by the engine that they stand for: its own relation, frame or table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from privet.errors import DataError
from privet.privacy.engines import duck, frames, postgres, spark
from privet.privacy.engines.cells import as_array
from privet.privacy.engines.postgres_rules import identifier
from privet.privacy.engines.source import Block, Source
from privet.privacy.engines.work import BLOCK_ROWS


def opened(data: Any) -> Source:
    """Nothing is executed."""
    import ibis
    from ibis.expr import operations

    try:
        backend, operation = ibis.get_backend(data), data.op()
    except Exception:
        raise DataError(
            "the engine of the Ibis table cannot be used; check that its package is installed and "
            "known to this release of Ibis, and that the table belongs to an engine"
        ) from None
    if operation.find((operations.Limit, operations.Sample, operations.Impure)):
        raise DataError(
            "the Ibis table has a limit, a sample or random numbers in it, so that it may have "
            "other rows each time that it is read; write it to a table first, and give that"
        )
    if operation.find(operations.InMemoryTable):
        return InMemory(data, tuple(data.columns))
    if backend.name == "polars":
        return frames.lazy(backend.compile(data))
    if backend.name == "duckdb":
        return duck.relation(_asked(backend.con.sql, data))
    if backend.name == "pyspark":
        return spark.opened(_asked(backend._session.sql, data))
    if backend.name == "postgres":
        return _of_postgres(backend, operation, operations)

    def read(names: list[str]) -> Iterator[Sequence[Any]]:
        import pyarrow

        for batch in data.select(*names).to_pyarrow_batches(chunk_size=BLOCK_ROWS):
            yield pyarrow.Table.from_batches([batch]).columns

    kinds = tuple(map(_type, data.schema().types))
    return frames.Stream("the Ibis table", tuple(data.columns), kinds, read)


def _asked(run: Any, data: Any) -> Any:
    """What an engine makes of the table's SQL, not executed yet."""
    import ibis

    try:
        return run(str(ibis.to_sql(data)))
    except Exception:
        raise DataError(
            "the engine of the Ibis table does not take its SQL; check that the table is there, or "
            "write it to a table first"
        ) from None


def _of_postgres(backend: Any, operation: Any, operations: Any) -> Source:
    if not isinstance(operation, operations.DatabaseTable):
        raise DataError(
            "the Ibis table is an expression over a PostgreSQL database; make it a table or a view "
            "there, and give that"
        )
    where = (operation.namespace.database, operation.name)
    name = ".".join(identifier(each) for each in where if each)
    return postgres.found(backend.con.info.dsn, name, operation.name)


def _type(kind: object) -> str:
    return str(kind).strip("!")


class InMemory(frames.Frame):
    """An Ibis table over columns in memory."""

    @property
    def label(self) -> str:
        return "the Ibis table"

    def type_of(self, position: int) -> str:
        return _type(self.data.schema()[self.header[position]])

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        table = self.data.select(*(self.header[i] for i in positions)).to_pyarrow()
        yield {f"c{i}": as_array(table.column(at)) for at, i in enumerate(positions)}
