"""A real Spark in one process gives the whole numbers of rows in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privet
from privet.errors import DataError
from privet.privacy.engines import spark
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.source import CHANGED, UNREADABLE, open_source
from privet.privacy.engines.streamed import StreamedRows
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.golden.cases import repeatable
from tests.helpers.odd_table import POLICIES, answers, free_cuts, odd_schema, odd_table
from tests.privacy.engines.test_people import ONE_TRUTH, PEOPLE, table_of_people


def missing() -> str:
    if find_spec("pyspark") is None:
        return "pyspark is not installed; see make test-engines"
    java = which("java") or os.environ.get("JAVA_HOME")
    return "" if java else "there is no Java here; see make test-engines"


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    root = Path(privet.__file__).parent.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", f"{root}:{Path(__file__).parents[2]}")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.chdir(tmp_path_factory.mktemp("spark"))
        made = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.eventLog.enabled", "false")
            .config("spark.log.level", "OFF")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "701")
            .getOrCreate()
        )
        yield made
        made.stop()


@pytest.fixture(scope="module")
def frame(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("odd")
    table = odd_table()
    for i in range(4):
        parquet.write_table(table[750 * i : 750 * (i + 1)], folder / f"{i}.parquet")
    return session.read.parquet(str(folder))


def in_memory(table: Any, schema: Schema) -> Any:
    source, positions = open_source(table, schema)
    return Encoder(schema=schema, positions=positions).rows(source)


def at(frame: Any, schema: Schema) -> StreamedRows:
    source, positions = open_source(frame, schema)
    rows = Encoder(schema=schema, positions=positions).rows(source)
    assert isinstance(rows, StreamedRows)
    return rows


@pytest.mark.parametrize("policy", POLICIES)
def test_workers_give_the_answers_of_memory(frame: Any, policy: str) -> None:
    schema = odd_schema(policy)
    assert answers(at(frame, schema), schema) == answers(in_memory(odd_table(), schema), schema)


@pytest.mark.parametrize("kind", PEOPLE)
def test_a_name_is_the_same_in_every_partition(session: Any, kind: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table, expected = table_of_people(kind)
    for i in range(6):
        parquet.write_table(table[100 * i : 100 * i + 100], tmp_path / f"{i}.parquet")
    frame = session.read.parquet(str(tmp_path))
    assert at(frame, ONE_TRUTH).counts(()).item() == expected
    with pytest.raises(DataError, match="has the type decimal"):
        open_source(frame.selectExpr("truth", "cast(1 AS decimal(5, 2)) AS id"), ONE_TRUTH)


def test_workers_count_the_same_rows_of_each_person(frame: Any) -> None:
    schema = odd_schema("drop", person="person", rows_per_person=2)
    assert answers(at(frame, schema), schema) == answers(in_memory(odd_table(), schema), schema)


def test_a_row_less_moves_its_own_cells_only(session: Any) -> None:
    schema, table = odd_schema(), odd_table(200)
    sets = [(name,) for name in schema.names]
    both = (session.createDataFrame(each) for each in (table, table[1:]))
    before, after = (at(each, schema).table_batch(sets) for each in both)
    moved = [(one - two).tolist() for one, two in zip(before, after, strict=True)]
    assert all(sorted(each)[-1] == sum(each) == 1 and min(each) == 0 for each in moved)


def test_people_who_are_spread_over_partitions_would_be_seen(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: the rows of a person are limited in each partition by itself."""
    schema = odd_schema("level", person="person")
    expected = in_memory(odd_table(), schema).counts(()).item()
    assert at(frame, schema).counts(()).item() == expected
    monkeypatch.setattr(type(frame), "repartition", lambda self, *_: self)
    assert at(frame, schema).counts(()).item() > expected


def failing_once(batches: Iterator[Any], job: Any) -> Iterator[Any]:
    """The first attempt of a task fails after it has answered."""
    from pyspark import TaskContext

    yield from job(batches)
    context = TaskContext.get()
    assert context is not None
    if context.attemptNumber() == 0:
        raise OSError("this attempt fails")


def test_a_task_that_runs_twice_counts_once(frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = odd_schema()
    expected = in_memory(odd_table(), schema).table_batch([("text", "x"), ("truth",)])
    real = spark.SparkParts._run
    heard = []

    def run(self: Any, frame: Any, job: Any, collect: Any) -> Iterator[bytes]:
        for answer in real(self, frame, partial(failing_once, job=job), collect):
            heard.append(answer)
            yield answer

    monkeypatch.setattr(spark.SparkParts, "_run", run)
    found = at(frame, schema).table_batch([("text", "x"), ("truth",)])
    assert all(np.array_equal(one, two) for one, two in zip(found, expected, strict=True)) and heard


def test_an_accumulator_would_count_twice(
    session: Any, frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: workers add to a counter on the side, which Spark keeps for each time that
    a task is run."""
    schema = odd_schema()
    expected = in_memory(odd_table(), schema).counts(("truth",))
    counter = session.sparkContext.accumulator(0)

    def fold(self: Any, work: Any) -> Any:
        names = self._names(work.columns)
        job = partial(counting, counter=counter, encoder=self.encoder, names=names, work=work)
        made = self._chosen(names).mapInArrow(job, "part binary")
        made.repartition(2, "part").collect(), made.count()
        return [np.full(each.size, counter.value) for each in work.start()]

    assert np.array_equal(at(frame, schema).counts(("truth",)), expected)
    monkeypatch.setattr(spark.SparkParts, "fold", fold)
    assert at(frame, schema).counts(("truth",)).max() > expected.sum()


def counting(batches: Iterator[Any], counter: Any, **job: Any) -> Iterator[Any]:
    kept = list(batches)
    counter.add(sum(batch.num_rows for batch in kept))
    yield from spark._answers(iter(kept), **job)


def test_merged_cuts_are_merged_where_the_rows_are(frame: Any) -> None:
    schema, inner, query = free_cuts()
    memory = in_memory(odd_table(), inner)  # which has declared these cuts
    found = query.evaluate(at(frame, schema), schema)
    assert np.array_equal(found, query.query.evaluate(memory, inner))
    sample = at(frame, schema).cut(inner).sampled(1 << 32)  # of all rows
    assert np.array_equal(sample.counts(("x",)), memory.counts(("x",)))


def changing(places: Iterator[Any]) -> Iterator[Any]:
    """Rows that are others each time, though Spark does not know."""
    for _ in range(50):
        yield (bool(os.urandom(1)[0] & 1),)


def test_all_passes_see_one_table(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """That two draws of 100 truth values are the same has a probability below 10^-29."""
    schema = replace(odd_schema(), columns=odd_schema().columns[2:3])
    made = session.sparkContext.parallelize([0, 1], 2).mapPartitions(changing)
    source, positions = open_source(made.toDF("truth boolean"), schema)
    for snapshot in (True, False):
        if not snapshot:  # a planted fault
            fault = property(lambda parts: parts.source.data)
            monkeypatch.setattr(spark.SparkParts, "_snapshot", fault)
        parts = source.parts(Encoder(schema=schema, positions=positions))
        one, two = (codes_of(parts) for _ in range(2))
        assert len(one) == 100 and (one == two) == snapshot


def codes_of(parts: Any) -> list[int]:
    return [int(code) for part in parts.read(("truth",), False) for code in part["truth"]]


@pytest.mark.parametrize("change", ["steady", "files", "join"])
def test_what_makes_the_same_rows_each_time_is_read_again(
    frame: Any, change: str, tmp_path: Path
) -> None:
    schema = odd_schema()
    frame.write.parquet(str(tmp_path / "t"))
    again = frame.sparkSession.read.parquet(str(tmp_path / "t")).where("unused IN ('a', 'b')")
    if change == "join":
        again = again.join(again.select("unused").distinct(), "unused")
    rows = at(again, schema)
    before = rows.counts(("truth",)).sum()
    if change == "files":
        for file in (tmp_path / "t").glob("*.parquet"):
            os.utime(file, ns=(1, 1))
        with pytest.raises(DataError) as caught:
            rows.counts(schema.names[:6])
        assert str(caught.value) == CHANGED
        return
    if change == "join":  # kept by the cluster
        for file in (tmp_path / "t").glob("*.parquet"):
            file.unlink()
    assert rows.counts(schema.names[:6]).sum() == before == 3000


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=6)),
            st.one_of(st.floats(), st.none()),
            st.integers(-(2**63), 2**63 - 1),
            st.decimals(-(10**6), 10**6, places=4),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_no_cell_is_an_error_or_reads_otherwise(session: Any, rows: list[tuple[Any, ...]]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    kinds = [pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.decimal128(12, 4)]
    cells = [pyarrow.array(c, kind) for c, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    table = pyarrow.table(dict(zip("txwd", cells, strict=True)))
    frame = session.createDataFrame(table)
    for levels in (True, False):
        schema = Schema(
            name="t",
            columns=tuple(
                Column(name=name, kind="categorical", levels=("0", "1.5", "a"), missing="level")
                if levels or name == "t"
                else Column(
                    name=name, kind="numeric", bounds=(-9, 9), cuts=(-1, 1), missing="level"
                )
                for name in "txwd"
            ),
        )
        sets = [(name,) for name in "txwd"]
        found, expected = at(frame, schema), in_memory(table, schema)
        for one, two in zip(found.table_batch(sets), expected.table_batch(sets), strict=True):
            assert one.tolist() == two.tolist()


def test_a_collation_that_overlooks_case_changes_nothing(session: Any, frame: Any) -> None:
    schema = odd_schema()
    blind = frame.selectExpr(
        "text COLLATE UTF8_LCASE AS text",
        *(f"`{name}`" for name in schema.names if name != "text"),
    )
    expected = in_memory(odd_table(), schema).counts(("text",))
    assert np.array_equal(at(blind, schema).counts(("text",)), expected)


def test_a_sample_is_drawn_where_the_rows_are(frame: Any) -> None:
    """Half of 3,000 rows: outside 1,300 to 1,700 less often than once in 10^12."""
    schema = odd_schema()
    sample = at(frame, schema).sampled(1 << 31)
    counts = [sample.counts(()).item() for _ in range(2)]
    assert 1300 < counts[0] < 1700 and counts[0] == counts[1]


def test_what_cannot_be_promised_is_refused(
    session: Any, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = odd_schema()

    def refused(data: Any, word: str, schema: Schema = schema) -> None:
        with pytest.raises(DataError, match=word):
            open_source(data, schema)

    refused(frame.limit(10), "limit, a sample or random")
    refused(frame.sample(0.5), "limit, a sample or random")
    refused(frame.selectExpr("*", "rand() AS r"), "limit, a sample or random")
    refused(frame.selectExpr("*", "monotonically_increasing_id() AS r"), "limit, a sample")
    refused(frame.selectExpr("*", "text AS TEXT"), "does not tell apart")
    dated = frame.drop("text").selectExpr("*", "date'2020-01-01' AS text")
    refused(dated, "has the type date")
    (tmp_path / "t.csv").write_text("truth\ntrue\n")
    csv = session.read.option("header", True).csv(str(tmp_path / "t.csv"))
    refused(csv, "by Spark, whose parser", replace(schema, columns=schema.columns[2:3]))
    monkeypatch.setattr(spark, "_CHECKED", set())
    monkeypatch.setattr(spark, "code_of_this", lambda: b"other")
    refused(frame, "another version")


def test_a_view_that_fails_gives_the_constant_message(frame: Any) -> None:
    schema = replace(odd_schema(), columns=odd_schema().columns[:1])
    failing = frame.selectExpr("CAST(CAST(text AS INT) AS STRING) AS text")
    with pytest.raises(DataError) as caught:
        at(failing, schema).counts(("text",))
    assert str(caught.value) == UNREADABLE


def test_a_draft_of_a_table(session: Any, frame: Any) -> None:
    frame.createOrReplaceTempView("people")
    made = privet.draft("spark:people")
    assert "truth" in made.names and "the first 100,000 rows" in made.to_toml()


def test_a_table_by_its_name(session: Any, frame: Any) -> None:
    schema = odd_schema()
    frame.createOrReplaceTempView("people")
    source, _ = open_source("spark:people", schema)
    assert source.header == tuple(frame.columns)
    for address in ("spark:absent", "spark:"):
        with pytest.raises(DataError, match="spark:"):
            open_source(address, schema)


def test_an_ibis_table_is_counted_by_its_workers(session: Any, frame: Any) -> None:
    ibis = pytest.importorskip("ibis")
    frame.createOrReplaceTempView("people")
    schema = odd_schema()
    made = ibis.pyspark.connect(session).table("people")
    rows = at(made.filter(made.unused.isin(["a", "b"])), schema)
    assert answers(rows, schema) == answers(in_memory(odd_table(), schema), schema)


def test_a_whole_run_is_the_same(frame: Any) -> None:
    schema, table = odd_schema(), odd_table()
    found = []
    for data in (table, frame):
        with repeatable():
            result = privet.discover(
                data, schema, epsilon=1.0, delta=1e-6, method="interaction-pc", ledger=":memory:"
            )
        values = [release.values.tolist() for release in result.evidence.releases]
        found.append((str(result.graph), values))
    assert found[0] == found[1]
