"""A real PostgreSQL server gives the whole numbers of rows in memory, and no cell is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privet
from privet.errors import DataError
from privet.privacy.engines import postgres_rules
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines.postgres import PostgresParts, PostgresTable
from privet.privacy.engines.source import UNREADABLE, open_source, source_of
from privet.privacy.engines.streamed import StreamedRows
from privet.privacy.engines.texts import text_parts
from privet.schema.column import Column
from privet.schema.model import Schema
from tests.golden.cases import repeatable
from tests.helpers.odd_table import POLICIES, answers, free_cuts, odd_schema, odd_table
from tests.helpers.servers import no_postgres, postgres
from tests.privacy.engines.test_people import ONE_TRUTH, PEOPLE, table_of_people

pytestmark = pytest.mark.skipif(bool(no_postgres()), reason=no_postgres())

TYPES = {
    "string": "text",
    "bool": "boolean",
    "int64": "bigint",
    "double": "double precision",
    "float": "real",
    "decimal128(12, 4)": "numeric(12, 4)",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        con = connect(address)
        load(con, "odd", odd_table())
        con.execute(
            "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', "
            "deterministic = false)"
        )
        con.close()
        yield address


def connect(address: str) -> Any:
    import psycopg

    return psycopg.connect(address, autocommit=True)


def load(con: Any, name: str, table: Any, **types: str) -> None:
    columns = [
        f"{postgres_rules.identifier(field.name)} {types.get(field.name, TYPES[str(field.type)])}"
        for field in table.schema
    ]
    con.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    with con.cursor().copy(f"COPY {name} FROM STDIN") as copy:
        for row in table.to_pylist():
            copy.write_row(list(row.values()))


def in_memory(table: Any, schema: Schema) -> Any:
    source, positions = open_source(table, schema)
    return Encoder(schema=schema, positions=positions).rows(source)


def at(server: str, schema: Schema, table: str = "odd") -> StreamedRows:
    source, positions = open_source(f"{server}&table={table}", schema)
    rows = Encoder(schema=schema, positions=positions).rows(source)
    assert isinstance(rows, StreamedRows)
    return rows


@pytest.mark.parametrize("policy", POLICIES)
def test_the_server_gives_the_answers_of_memory(server: str, policy: str) -> None:
    schema = odd_schema(policy)
    assert answers(at(server, schema), schema) == answers(in_memory(odd_table(), schema), schema)


def test_merged_cuts_are_merged_here(server: str) -> None:
    schema, inner, query = free_cuts()
    memory = in_memory(odd_table(), inner)  # which has declared these cuts
    found = query.evaluate(at(server, schema), schema)
    assert np.array_equal(found, query.query.evaluate(memory, inner))
    sample = at(server, schema).cut(inner).sampled(1 << 32)  # of all rows
    assert np.array_equal(sample.counts(("x",)), memory.counts(("x",)))


@pytest.mark.parametrize("most", [1, 3])
def test_the_server_counts_the_same_rows_of_each_person(server: str, most: int) -> None:
    schema = odd_schema("drop", person="person", rows_per_person=most)
    assert answers(at(server, schema), schema) == answers(in_memory(odd_table(), schema), schema)


@pytest.mark.parametrize("kind", PEOPLE)
def test_a_name_is_the_same_on_the_server(server: str, kind: str) -> None:
    table, expected = table_of_people(kind)
    con = connect(server)
    load(con, f"people_{kind}", table)
    assert at(server, ONE_TRUTH, f"people_{kind}").counts(()).item() == expected
    con.execute(f"CREATE TABLE cents_{kind} AS SELECT truth, 1.5::numeric AS id FROM people_{kind}")
    con.close()
    with pytest.raises(DataError, match="has the type numeric"):
        open_source(f"{server}&table=cents_{kind}", ONE_TRUTH)


def test_a_row_less_moves_its_own_cells_only(server: str) -> None:
    schema = odd_schema()
    con = connect(server)
    con.execute("CREATE TABLE fewer AS SELECT * FROM odd")
    sets = [(name,) for name in schema.names]
    for _ in range(3):
        before = at(server, schema, "fewer").table_batch(sets)
        con.execute("DELETE FROM fewer WHERE ctid = (SELECT max(ctid) FROM fewer)")
        after = at(server, schema, "fewer").table_batch(sets)
        moved = [(one - two).tolist() for one, two in zip(before, after, strict=True)]
        assert all(sorted(each)[-1] == sum(each) == 1 and min(each) == 0 for each in moved)
    con.close()


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("collation", lambda name: f"btrim({name}::text, {postgres_rules.quoted(' ')})"),
        ("blanks alone", lambda name: f'btrim({name}::text COLLATE "C")'),
    ],
)
def test_a_rule_that_reads_texts_otherwise_is_seen(
    server: str, fault: str, rule: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column whose collation does not see case or accents; the true rule does not care."""
    schema = odd_schema()
    con = connect(server)
    with suppress(Exception):
        load(con, "blind", odd_table(), text="text COLLATE blind", Spelt="text COLLATE blind")
    expected = answers(in_memory(odd_table(), schema), schema)
    assert answers(at(server, schema, "blind"), schema) == expected
    monkeypatch.setattr(postgres_rules, "text_sql", rule)
    found = at(server, schema, "blind")
    assert found.counts(("text",)).tolist() != expected[1][:9]
    con.close()


@pytest.mark.parametrize("fault", ["level by float", "no NaN test", "cast of text"])
def test_a_rule_that_reads_numbers_otherwise_is_seen(
    server: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = odd_schema()
    expected = answers(in_memory(odd_table(), schema), schema)
    if fault == "level by float":
        monkeypatch.setattr(postgres_rules, "WHOLE", ())
    elif fault == "no NaN test":
        monkeypatch.setattr(
            postgres_rules, "_number", lambda name, kind, nan=False: f"{name}::float8"
        )
        schema = replace(schema, columns=schema.columns[6:7])
        assert answers_of_x(at(server, schema)) != answers_of_x(in_memory(odd_table(), schema))
        return
    else:  # an error that depends on a cell
        monkeypatch.setattr(postgres_rules, "text_sql", lambda name: f"({name}::float8)::text")
        with pytest.raises(DataError) as caught:
            at(server, schema).counts(("text",))
        assert str(caught.value) == UNREADABLE
        return
    assert answers(at(server, schema), schema) != expected


def answers_of_x(rows: Any) -> list[int]:
    return list(rows.counts(("x",)).tolist())


def test_all_passes_see_one_snapshot(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = odd_schema()
    con = connect(server)
    con.execute("CREATE TABLE changing AS SELECT * FROM odd")
    for isolation in ("REPEATABLE READ", "READ COMMITTED"):
        if isolation == "READ COMMITTED":  # a planted fault
            monkeypatch.setattr(PostgresParts, "_connection", connect(server))
        rows = at(server, schema, "changing")
        before = rows.counts(("truth",)).sum()
        con.execute("INSERT INTO changing SELECT * FROM odd LIMIT 5")
        later = rows.counts(schema.names[:6]).sum()
        assert (before == later) == (isolation == "REPEATABLE READ")
    con.close()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=6),
            st.one_of(st.floats(), st.none()),
            st.one_of(st.decimals(), st.none()),
            st.integers(-(2**63), 2**63 - 1),
        ),
        max_size=8,
    )
)
def test_no_cell_is_an_error(server: str, rows: list[tuple[Any, ...]]) -> None:
    con = connect(server)
    con.execute("DROP TABLE IF EXISTS any_cell")
    con.execute("CREATE TABLE any_cell (t text, x double precision, d numeric, w bigint)")
    kept = [row for row in rows if row[2] is None or not row[2].is_snan()]
    with con.cursor().copy("COPY any_cell FROM STDIN") as copy:
        for row in kept:
            copy.write_row([row[0], row[1], _shown(row[2]), row[3]])
    con.close()
    for levels in (True, False):
        schema = Schema(
            name="t",
            columns=tuple(
                Column(name=name, kind="categorical", levels=("0", "1.5", "a"), missing="level")
                if levels or name == "t"
                else Column(name=name, kind="numeric", bounds=(-9, 9), missing="level")
                for name in "txdw"
            ),
        )
        found = at(server, schema, "any_cell")
        assert found.counts(()).item() == len(kept)
        assert found.total(("x", "d"), 1, count).item() == len(kept)


def _shown(value: Any) -> str | None:
    """Decimals beyond what the server takes are beyond what any double holds, too."""
    if value is None or abs(value.adjusted()) > 5000:
        return None
    return "NaN" if value.is_nan() else "-Infinity" if value < -(10**5000) else f"{value:f}"


def count(total: Any, block: Any) -> None:
    assert np.isfinite(block).all()
    total += len(block)


def test_a_view_that_fails_gives_the_constant_message(server: str) -> None:
    con = connect(server)
    con.execute("CREATE VIEW failing AS SELECT (text::int)::text AS text FROM odd")
    con.close()
    schema = replace(odd_schema(), columns=odd_schema().columns[:1])
    with pytest.raises(DataError) as caught:
        at(server, schema, "failing").counts(("text",))
    assert str(caught.value) == UNREADABLE


def test_bad_addresses_and_types_are_refused_before_anything_is_read(server: str) -> None:
    con = connect(server)
    con.execute('CREATE TABLE types (text date, x text, "Spelt" jsonb)')
    con.close()

    def refused(address: str, word: str, schema: Schema) -> None:
        with pytest.raises(DataError, match=word) as caught:
            open_source(address, schema)
        assert "secret" not in str(caught.value)

    one = odd_schema()
    refused(server, "names no table", one)
    refused(f"{server}&table=absent", "no table 'absent'", one)
    refused("postgresql://u:secret@localhost/db?table=t", "holds a password", one)
    refused("postgresql://u@127.0.0.1:1/db?table=t", "cannot be reached", one)
    dated = replace(one, columns=one.columns[:1])
    refused(f"{server}&table=types", "has the type date", dated)
    numeric = replace(one, columns=one.columns[6:7])
    refused(f"{server}&table=types", "make it a number in a table", numeric)
    refused(f"{server}&table=odd", "is not in the header", replace(one, person="Person"))


def test_no_rows_and_many_levels(server: str) -> None:
    con = connect(server)
    con.execute("CREATE TABLE many AS SELECT 'n' || i AS a FROM generate_series(0, 19999) AS s(i)")
    con.execute("CREATE TABLE none AS SELECT * FROM odd LIMIT 0")
    con.close()
    levels = tuple(f"n{i}" for i in range(400))
    column = Column(name="a", kind="categorical", levels=levels, missing="level")
    found = at(server, Schema(name="t", columns=(column,)), "many").counts(("a",))
    assert found.tolist() == [1] * 400 + [19600]
    assert at(server, odd_schema(), "none").counts(()).item() == 0
    assert not any(answers_of_x(at(server, odd_schema(), "none")))


def test_the_query_has_no_cast_of_a_text(server: str) -> None:
    schema = odd_schema("drop", person="person")
    source, positions = open_source(f"{server}&table=odd", schema)
    assert isinstance(source, PostgresTable)
    parts = PostgresParts(Encoder(schema=schema, positions=positions), source)
    query = parts.query(schema.columns, True)
    assert query.isascii() and query.isprintable()
    for name in ("text", "Spelt", "person"):
        casts = set(re.findall(rf'"{name}"::(\w+)', query))
        assert casts == {"text"}
    assert 'COLLATE "C"' in query and "READ COMMITTED" not in query


def test_a_draft_and_texts_of_its_cells(server: str) -> None:
    """The cells that come here are those of memory, as texts."""
    made = privet.draft(f"{server}&table=odd")
    assert made.name == "odd" and "the first 100,000 rows" in made.to_toml()
    found, table = source_of(f"{server}&table=odd"), source_of(odd_table())
    for name in ("Spelt", "truth", "whole", "real", "cents", "narrow"):
        both = (text_parts(each, [each.header.index(name)]) for each in (found, table))
        one, two = (sorted(map(plainly, next(each)[0])) for each in both)
        assert one == two


def plainly(text: str | None) -> str:
    """Engines write numbers and truth values in their own ways."""
    with suppress(ValueError):
        return repr(float(text or ""))
    return str(text).lower() if str(text).lower() in ("true", "false") else str(text)


def test_an_ibis_table_is_counted_by_its_server(server: str) -> None:
    ibis = pytest.importorskip("ibis")
    schema, asked = odd_schema(), dict(parse_qsl(urlsplit(server).query))
    made = ibis.postgres.connect(
        host=asked["host"], port=int(asked["port"]), user=asked["user"], database="postgres"
    ).table("odd")
    source, positions = open_source(made, schema)
    assert isinstance(source, PostgresTable)
    rows = Encoder(schema=schema, positions=positions).rows(source)
    assert answers(rows, schema) == answers(in_memory(odd_table(), schema), schema)
    with pytest.raises(DataError, match="make it a table or a view"):
        open_source(made.filter(made.truth), schema)


@pytest.mark.parametrize("method", ["interaction-pc"])
def test_a_whole_run_is_the_same(server: str, method: str) -> None:
    schema, table = odd_schema(), odd_table()
    found = []
    for data in (table, f"{server}&table=odd"):
        with repeatable():
            result = privet.discover(
                data, schema, epsilon=1.0, delta=1e-6, method=method, ledger=":memory:"
            )
        values = [release.values.tolist() for release in result.evidence.releases]
        found.append((str(result.graph), values))
    assert found[0] == found[1]
