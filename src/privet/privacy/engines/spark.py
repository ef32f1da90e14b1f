"""A table of a Spark cluster: encoded and counted by Privet's own code on the workers.

Each partition answers with one row, its totals; these are added up here. Nothing is shuffled,
unless a column says whose row it is. Only what a finished task returns is counted, so a task that
runs twice counts once.

Spark makes a DataFrame anew for each pass. Rows of files that are selected one by one are the same
each time, as long as the files are; all others (joins, aggregates, other databases) are kept by the
cluster when they are first read.
"""

from __future__ import annotations

import hashlib
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.arrays import Integers
from privet.errors import DataError
from privet.privacy.engines.cells import as_array
from privet.privacy.engines.meaning import SPACES, ZEROS
from privet.privacy.engines.source import CHANGED, UNREADABLE, Block, Here, in_blocks
from privet.privacy.engines.work import Columns, Work
from privet.schema.model import Schema

if TYPE_CHECKING:
    from privet.privacy.engines.encode import Encoder

SCHEME = "spark:"
READ = re.compile(
    r"(string|char|varchar|boolean|tinyint|smallint|int|bigint|float|double|decimal)\b"
)
# What may give other rows when it is asked again, in the words of a plan.
UNSTEADY = ("GlobalLimit", "LocalLimit", "Sample ", "monotonically_increasing_id", "Tail ")
OTHER_PARSERS = re.compile(r"Relation \[.*\] (csv|text|json|xml)\b")
# What a plan may do that makes the same rows of the same files each time.
STEADY = {"Project", "Filter", "SubqueryAlias", "View", "Union"}
GIVEN = {"LocalRelation", "Range", "OneRowRelation"}
_CHECKED: set[str] = set()  # applications whose workers have this code


@dataclass(frozen=True)
class SparkTable(Here):
    engine = "Spark"
    data: Any
    header: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def label(self) -> str:
        return "the Spark DataFrame"

    def type_of(self, position: int) -> str:
        return self.types[position]

    def odd_type(self, position: int) -> str | None:
        kind = self.types[position]
        return None if READ.match(kind) else kind

    def refuse(self, schema: Schema) -> None:
        read = schema.names if schema.person is None else (*schema.names, schema.person)
        for name in read:
            alike = [other for other in self.header if other.lower() == name.lower()]
            if len(alike) > 1:
                raise DataError(
                    f"{self.label} has the columns {' and '.join(map(repr, alike))}, which Spark "
                    "does not tell apart; rename one of them"
                )
        self._refuse_plan()
        _check_workers(self.data.sparkSession)

    def _refuse_plan(self) -> None:
        plan = getattr(self.data, "_jdf", None)
        if plan is None:
            raise DataError(
                "this DataFrame belongs to a Spark Connect client, whose plan cannot be checked; "
                "run on the driver, or give the table as Parquet files"
            )
        analysed = plan.queryExecution().analyzed()
        words = analysed.toString()
        if not analysed.deterministic() or any(each in words for each in UNSTEADY):
            raise DataError(
                f"{self.label} is made by a limit, a sample or random numbers, so that it may have "
                "other rows each time that it is read; write it to a table first, and give that"
            )
        if OTHER_PARSERS.search(words):
            raise DataError(
                f"{self.label} is read from text files by Spark, whose parser makes other rows of "
                "them; give the CSV file itself, or write a Parquet table"
            )

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        data = self.data
        chosen = data.select(*(data[_quoted(self.header[i])] for i in positions))
        yield from in_blocks(chosen.toLocalIterator(), positions)

    def is_steady(self) -> bool:
        """Whether the plan selects rows of files one by one."""
        plan = self.data._jdf.queryExecution().analyzed()
        return bool(plan.subqueriesAll().isEmpty()) and all(map(_is_steady, _nodes(plan)))

    def stamp(self) -> object:
        """Name, size and time of the files of the table."""
        context = self.data.sparkSession.sparkContext
        found = []
        for name in sorted(self.data.inputFiles()):
            path = context._jvm.org.apache.hadoop.fs.Path(name)
            status = path.getFileSystem(context._jsc.hadoopConfiguration()).getFileStatus(path)
            found.append((name, status.getLen(), status.getModificationTime()))
        return found

    def parts(self, encoder: Encoder) -> SparkParts:
        try:
            return SparkParts(encoder, self)
        except Exception:
            raise DataError(UNREADABLE) from None


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for i in range(children.size()):
        yield from _nodes(children.apply(i))


def _is_steady(node: Any) -> bool:
    kind = node.getClass().getSimpleName()
    if kind == "LogicalRelation":
        return bool(node.relation().getClass().getSimpleName() == "HadoopFsRelation")
    return kind in STEADY or kind in GIVEN


@dataclass(frozen=True)
class SparkParts:
    encoder: Encoder
    source: SparkTable
    steady: bool = field(init=False)
    stamp: object = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "steady", self.source.is_steady())
        object.__setattr__(self, "stamp", self._files())

    def _files(self) -> object:
        return self.source.stamp() if self.steady else None

    @cached_property
    def _snapshot(self) -> Any:
        """The rows that all passes see. What the cluster keeps and loses is an error: it is not
        made anew."""
        data = self.source.data
        if self.steady:
            return data
        schema = self.encoder.schema
        names = [column.name for column in self.encoder.needed(schema.names)]
        names += [] if schema.person is None else [schema.person]
        return data.select(*(data[_quoted(name)] for name in names)).localCheckpoint()

    def fold(self, work: Work) -> list[Integers]:
        names = self._names(work.columns)
        job = partial(_answers, encoder=self.encoder, names=names, work=work)
        totals = work.start()
        for answer in self._run(names, job, lambda made: made.collect()):
            flat = np.frombuffer(zlib.decompress(answer), dtype=np.int64)
            cuts = np.cumsum([each.size for each in totals])[:-1]
            for total, part in zip(totals, np.split(flat, cuts), strict=True):
                total += part
        return totals

    def read(
        self, columns: tuple[str, ...], numbers: bool, keep: int | None = None
    ) -> Iterator[Columns]:
        names = self._names(columns)
        read = partial(_rows, encoder=self.encoder, names=names)
        job = partial(read, columns=columns, numbers=numbers, keep=keep)
        for block in self._run(names, job, lambda made: made.toLocalIterator()):
            with np.load(io.BytesIO(block), allow_pickle=False) as arrays:
                yield {name: arrays[f"a{i}"] for i, name in enumerate(columns)}

    def _names(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        """Those columns that must be read."""
        schema = self.encoder.schema
        wanted = schema.names if schema.person is not None else columns
        names = tuple(column.name for column in self.encoder.needed(wanted))
        return names if schema.person is None else (*names, schema.person)

    def _chosen(self, names: tuple[str, ...]) -> Any:
        """Columns under names that no engine folds. All rows of a person come to one partition."""
        from pyspark.sql import functions

        frame = self._snapshot
        chosen = frame.select(*(frame[_quoted(n)].alias(f"c{i}") for i, n in enumerate(names)))
        if self.encoder.schema.person is None:
            most = 2 * frame.sparkSession.sparkContext.defaultParallelism
            return chosen.coalesce(max(most, 1))
        text = functions.trim(chosen[f"c{len(names) - 1}"].cast("string"), functions.lit(SPACES))
        person = text
        for zero, other in ZEROS.items():
            person = functions.when(text == zero, functions.lit(other)).otherwise(person)
        return chosen.repartition(person)

    def _run(self, names: tuple[str, ...], job: Any, collect: Any) -> Iterator[bytes]:
        """Whatever fails, the message is constant, since Spark's might quote a cell."""
        try:
            with suppress(Exception):  # so that its logs do not, either
                self.source.data.sparkSession.sparkContext.setLogLevel("OFF")
            for (answer,) in collect(self._chosen(names).mapInArrow(job, "part binary")):
                yield bytes(answer)
            same = self._files() == self.stamp
        except Exception:
            raise DataError(UNREADABLE) from None
        if not same:
            raise DataError(CHANGED)


@dataclass(frozen=True)
class Batches(Here):
    """The record batches of one partition, on a worker."""

    batches: Iterator[Any]
    header: tuple[str, ...]
    label: str = "a partition"

    def odd_type(self, position: int) -> str | None:
        return None

    def blocks(self, positions: Sequence[int]) -> Iterator[Block]:
        import pyarrow

        for batch in self.batches:
            table = pyarrow.Table.from_batches([batch])
            yield {f"c{i}": as_array(table.column(i)) for i in positions}


def _answers(
    batches: Iterator[Any], encoder: Encoder, names: tuple[str, ...], work: Work
) -> Iterator[Any]:
    """What a worker does with a partition: one row of totals."""
    from privet.privacy.engines.encode import LocalParts

    totals = LocalParts(encoder, Batches(batches, names)).fold(work)
    yield _row(zlib.compress(np.concatenate(totals).tobytes(), 1))


def _rows(
    batches: Iterator[Any],
    encoder: Encoder,
    names: tuple[str, ...],
    columns: tuple[str, ...],
    numbers: bool,
    keep: int | None,
) -> Iterator[Any]:
    """The same for the few questions that need encoded rows."""
    from privet.privacy.engines.encode import LocalParts

    for part in LocalParts(encoder, Batches(batches, names)).read(columns, numbers, keep):
        block = io.BytesIO()
        arrays: Any = {f"a{i}": part[name] for i, name in enumerate(columns)}
        np.savez(block, **arrays)
        yield _row(block.getvalue())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _row(answer: bytes) -> Any:
    import pyarrow

    return pyarrow.RecordBatch.from_arrays([pyarrow.array([answer], pyarrow.binary())], ["part"])


def table(address: str) -> SparkTable:
    """The table or the Parquet files that ``spark:NAME`` names, or a table of the cluster of
    ``spark://host:port?table=NAME``."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError(
            "Spark tables need PySpark, which is not installed; pip install 'privet[spark]'"
        ) from None
    builder, name = SparkSession.builder, address.removeprefix(SCHEME)
    if name.startswith("//"):
        master, _, name = address.partition("?table=")
        builder = builder.master(master)
    if not name:
        raise DataError(
            f"{address!r} names no table; write spark:TABLE or spark://host:port?table=TABLE"
        )
    try:
        session = builder.getOrCreate()
        found = session.read.parquet(name) if "/" in name else session.table(name)
        return opened(found)
    except DataError:
        raise
    except Exception:
        raise DataError(
            f"Spark cannot open {address!r}; check that Java is there, that the cluster can be "
            "reached and that it has such a table"
        ) from None


def opened(frame: Any) -> SparkTable:
    kinds = [field.dataType.simpleString() for field in frame.schema.fields]
    return SparkTable(frame, tuple(frame.columns), tuple(kinds))


def _check_workers(session: Any) -> None:
    """Other code on a worker would be another rule; this is asked before anything is charged."""
    application = session.sparkContext.applicationId
    if application in _CHECKED:
        return
    try:
        count = max(session.sparkContext.defaultParallelism, 1)
        made = session.range(0, count, 1, count).mapInArrow(_codes, "part binary")
        found = {bytes(answer) for (answer,) in made.collect()}
    except Exception:
        raise DataError(
            "the workers of Spark cannot run Privet; install the same Privet with NumPy, pyarrow "
            "and DuckDB in their environment, or add its wheel with addPyFile"
        ) from None
    if found != {code_of_this()}:
        raise DataError(
            "the workers of Spark have another version of Privet, NumPy or DuckDB than this "
            "process; install the same everywhere"
        )
    _CHECKED.add(application)


def _codes(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        pass
    yield _row(code_of_this())


def code_of_this() -> bytes:
    """What tells one version of the code that reads and counts from another."""
    import duckdb

    digest = hashlib.sha256(f"{np.__version__} {duckdb.__version__}".encode())
    for name, text in sorted(_sources(resources.files("privet"))):
        digest.update(f"\0{name}\0{len(text)}\0".encode() + text)
    return digest.digest()


def _sources(folder: Any, path: str = "") -> Iterator[tuple[str, bytes]]:
    """All of Privet, in Python and in C: schemas, questions and what they import say what is
    counted. The package may lie in a wheel that Spark has handed to a worker."""
    for each in folder.iterdir():
        name = f"{path}/{each.name}"
        if each.name.endswith((".py", ".c", ".h")):
            yield name, each.read_bytes()
        elif each.is_dir():
            yield from _sources(each, name)
