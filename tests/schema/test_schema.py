from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.errors import KnowledgeError, SchemaError
from privet.graph.knowledge import Knowledge
from privet.schema.column import Column, Kind, Missing
from privet.schema.cuts import equal_width
from privet.schema.model import Adjacency, Schema
from privet.schema.names import name_key

EXAMPLE = """
name = "patients"
rows_per_person = 2
unconfirmed = ["smoker.levels"]

[columns.smoker]
kind = "categorical"
levels = ["no", "yes"]
missing = "level"

[columns.stage]
kind = "ordinal"
levels = [1, 2, 3]

[columns.age]
kind = "numeric"
bounds = [0, 110]
cuts = [18, 40, 65]
missing = { value = 50 }

[knowledge]
tiers = [["age"], ["smoker", "stage"]]
required = [["age", "smoker"]]
forbidden = [["stage", "smoker"]]
"""


def test_a_schema_is_read_as_written() -> None:
    schema = Schema.from_toml(EXAMPLE)
    assert schema.name == "patients"
    assert schema.names == ("smoker", "stage", "age")
    assert schema.adjacency is Adjacency.ADD_REMOVE and schema.rows is None
    assert schema.rows_per_person == 2
    assert schema.unconfirmed == ("smoker.levels",)
    smoker, stage, age = schema.columns
    assert smoker.levels == ("no", "yes") and smoker.missing == "level"
    assert stage.levels == ("1", "2", "3") and stage.missing_value == "2"
    assert age.bounds == (0.0, 110.0) and age.cuts == (18.0, 40.0, 65.0)
    assert age.missing == "value" and age.missing_value == 50.0
    assert schema.knowledge == Knowledge(
        tiers=(("age",), ("smoker", "stage")),
        required=frozenset({("age", "smoker")}),
        forbidden=frozenset({("stage", "smoker")}),
    )


def test_what_a_column_says_of_its_codes() -> None:
    smoker, stage, age = Schema.from_toml(EXAMPLE).columns
    assert smoker.labels == ("no", "yes", "missing") and smoker.cardinality == 3
    assert age.labels == ("[0, 18)", "[18, 40)", "[40, 65)", "[65, 110]") and age.cardinality == 4
    assert (smoker.ordered, stage.ordered, age.ordered) == (False, True, True)
    assert not replace(age, missing="level", missing_value=None).ordered


def test_defaults_of_a_column() -> None:
    assert Column(name="a", kind="categorical", levels=("x", "y")).missing_value == "x"
    assert Column(name="a", kind="ordinal", levels=("x", "y", "z")).missing_value == "y"
    numeric = Column(name="a", kind="numeric", bounds=(0, 8))
    assert numeric.missing_value == 4 and numeric.cuts == (2.0, 4.0, 6.0)


def test_labels_stay_distinct() -> None:
    taken = Column(name="a", kind="categorical", levels=("missing", "b"), missing="level")
    assert taken.labels == ("missing", "b", "(missing)")
    close = Column(name="a", kind="numeric", bounds=(1, 1 + 1e-9))
    assert len(set(close.labels)) == 4


def test_booleans_and_whole_numbers_are_levels_too() -> None:
    schema = Schema.from_toml(
        'name = "d"\n[columns.a]\nkind = "categorical"\nlevels = [true, false, 7]\n'
        "missing = { value = 7 }"
    )
    assert schema.columns[0].levels == ("true", "false", "7")
    assert schema.columns[0].missing_value == "7"


def test_one_column_is_a_schema() -> None:
    text = 'name = "d"\n[columns.a]\nkind = "numeric"\nbounds = [0, 1]\nbins = 2\n'
    assert Schema.from_toml(text).columns[0].cuts == (0.5,)


def test_replace_one_carries_the_public_number_of_rows() -> None:
    text = 'name = "d"\nadjacency = "replace-one"\nrows = 1000\n'
    schema = Schema.from_toml(text + '[columns.a]\nkind = "numeric"\nbounds = [0, 1]\n')
    assert schema.adjacency is Adjacency.REPLACE_ONE and schema.rows == 1000
    assert Schema.from_toml(schema.to_toml()) == schema


def test_the_unit_says_what_one_person_can_change() -> None:
    schema = Schema.from_toml(EXAMPLE)
    assert schema.unit == "add-remove, 2 row(s) per person"
    public = replace(schema, adjacency=Adjacency.REPLACE_ONE, rows=1000, rows_per_person=1)
    assert public.unit == "replace-one of 1000 rows, 1 row(s) per person"


def column(body: str) -> str:
    return f'name = "d"\n[columns.a]\n{body}\n'


LEVELS = 'kind = "categorical"\nlevels = ["x", "y"]\n'
RANGE = 'kind = "numeric"\nbounds = [0, 10]\n'
SIMPLE = column(LEVELS)
TEXTS = "[" + ", ".join(f'"{i}"' for i in range(65_536)) + "]"

REFUSED = {
    "bad TOML": ('name = "d"\nrows 5', "line 2"),
    "no name": ("[columns.a]\n" + LEVELS, "no name"),
    "empty name": ('name = " "\n[columns.a]\n' + LEVELS, "' '"),
    "space before the name": ('name = " d"\n[columns.a]\n' + LEVELS, "write 'd'"),
    "space after the name": ('name = "d\\u00a0"\n[columns.a]\n' + LEVELS, "'d\\xa0'"),
    "name is not NFC": ('name = "cafe\\u0301"\n[columns.a]\n' + LEVELS, "'cafe\\u0301'"),
    "name is a number": ("name = 3\n[columns.a]\n" + LEVELS, "3"),
    "no columns": ('name = "d"', "no columns"),
    "columns is a list": ('name = "d"\ncolumns = [1]', "[columns.NAME]"),
    "column is a text": ('name = "d"\n[columns]\na = "numeric"', "column 'a'"),
    "empty column name": ('name = "d"\n[columns.""]\n' + LEVELS, "''"),
    "unknown key": ("row = 3\n" + SIMPLE, "did you mean 'rows'"),
    "unknown column key": (column(LEVELS + "level = 3"), "did you mean 'levels'"),
    "no kind": (column('levels = ["x", "y"]'), "no kind"),
    "unknown kind": (column('kind = "categoric"\nlevels = ["x", "y"]'), "'categorical'"),
    "kind is a list": (column('kind = ["numeric"]\nbounds = [0, 1]'), "['numeric']"),
    "one level": (column('kind = "ordinal"\nlevels = ["x"]'), "at least 2"),
    "no levels": (column('kind = "categorical"'), "0 level(s)"),
    "levels is a text": (column('kind = "categorical"\nlevels = "xy"'), "'xy'"),
    "duplicate levels": (column('kind = "categorical"\nlevels = ["x", "y", "x"]'), "'x' twice"),
    "1 and '1'": (column('kind = "categorical"\nlevels = [1, "1"]'), "'1' twice"),
    "a float level": (column('kind = "categorical"\nlevels = [1.5, 2]'), "1.5"),
    "an empty level": (column('kind = "categorical"\nlevels = ["", "x"]'), "empty"),
    "a level with spaces": (column('kind = "categorical"\nlevels = [" x", "y"]'), "' x'"),
    "65,536 levels": (column(f'kind = "categorical"\nlevels = {TEXTS}'), "65535"),
    "categorical with bounds": (column(LEVELS + "bounds = [0, 1]"), "no bounds"),
    "categorical with bins": (column(LEVELS + "bins = 3"), "only numeric"),
    "numeric with levels": (column(RANGE + 'levels = ["x", "y"]'), "no levels"),
    "no bounds": (column('kind = "numeric"'), "needs bounds"),
    "three bounds": (column('kind = "numeric"\nbounds = [0, 1, 2]'), "needs bounds"),
    "bounds are texts": (column('kind = "numeric"\nbounds = ["0", 1]'), "'0'"),
    "bounds are booleans": (column('kind = "numeric"\nbounds = [false, true]'), "False"),
    "bounds upside down": (column('kind = "numeric"\nbounds = [5, 1]'), "[5.0, 1.0]"),
    "bounds equal": (column('kind = "numeric"\nbounds = [5, 5]'), "[5.0, 5.0]"),
    "bounds equal, with bins": (column('kind = "numeric"\nbounds = [5, 5]\nbins = 3'), "5.0"),
    "infinite bound": (column('kind = "numeric"\nbounds = [0, inf]'), "inf"),
    "NaN bound": (column('kind = "numeric"\nbounds = [nan, 1]\nbins = 3'), "nan"),
    "huge bound": (column(f'kind = "numeric"\nbounds = [0, 1{"0" * 400}]\nbins = 3'), "finite"),
    "huge width": (column('kind = "numeric"\nbounds = [-1e308, 1e308]'), "finite"),
    "one bin": (column(RANGE + "bins = 1"), "bins = 1"),
    "2.5 bins": (column(RANGE + "bins = 2.5"), "bins = 2.5"),
    "a million bins": (column(RANGE + "bins = 1_000_000"), "65535"),
    "bins and cuts": (column(RANGE + "bins = 2\ncuts = [5]"), "in place of"),
    "bins too narrow": (column('kind = "numeric"\nbounds = [0, 5e-324]\nbins = 3'), "fewer bins"),
    "no cuts": (column(RANGE + "cuts = []"), "at least one"),
    "cut outside": (column(RANGE + "cuts = [5, 12]"), "inside the bounds"),
    "cut on a bound": (column(RANGE + "cuts = [0, 5]"), "inside the bounds"),
    "cuts decrease": (column(RANGE + "cuts = [5, 3]"), "increase"),
    "NaN cut": (column(RANGE + "cuts = [nan]"), "nan"),
    "unknown policy": (column(LEVELS + 'missing = "ignore"'), "'ignore'"),
    "policy is 'value'": (column(LEVELS + 'missing = "value"'), "value = ..."),
    "missing value is no level": (column(LEVELS + 'missing = { value = "z" }'), "'z'"),
    "missing value outside": (column(RANGE + "missing = { value = 11 }"), "11.0"),
    "missing value is NaN": (column(RANGE + "missing = { value = nan }"), "nan"),
    "missing value is a text": (column(RANGE + 'missing = { value = "5" }'), "'5'"),
    "unknown adjacency": ('adjacency = "replace"\n' + SIMPLE, "'replace-one'"),
    "replace-one without rows": ('adjacency = "replace-one"\n' + SIMPLE, "needs rows"),
    "rows without replace-one": ("rows = 10\n" + SIMPLE, "rows = 10"),
    "no rows": ('adjacency = "replace-one"\nrows = 0\n' + SIMPLE, "rows = 0"),
    "rows is true": ('adjacency = "replace-one"\nrows = true\n' + SIMPLE, "rows = True"),
    "no rows per person": ("rows_per_person = 0\n" + SIMPLE, "at least 1"),
    "half a row per person": ("rows_per_person = 0.5\n" + SIMPLE, "0.5"),
    "unconfirmed is a text": ('unconfirmed = "a.levels"\n' + SIMPLE, "list"),
    "unconfirmed column unknown": ('unconfirmed = ["b.levels"]\n' + SIMPLE, "'b.levels'"),
    "unconfirmed fact unknown": ('unconfirmed = ["a.colour"]\n' + SIMPLE, "'a.colour'"),
    "knowledge is a list": ("knowledge = []\n" + SIMPLE, "[knowledge]"),
    "unknown knowledge": (SIMPLE + "[knowledge]\ntier = []", "did you mean 'tiers'"),
    "tiers are names": (SIMPLE + '[knowledge]\ntiers = ["a"]', "tiers"),
    "required is no pair": (SIMPLE + '[knowledge]\nrequired = [["a"]]', "pairs"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_schema_is_refused_by_value(text: str, said: str) -> None:
    with pytest.raises(SchemaError) as refusal:
        Schema.from_toml(text)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_knowledge_of_unknown_columns_is_refused() -> None:
    with pytest.raises(KnowledgeError, match="zz"):
        Schema.from_toml(SIMPLE + '[knowledge]\nforbidden = [["a", "zz"]]')


def test_columns_are_found_by_name() -> None:
    schema = Schema.from_toml(EXAMPLE)
    assert schema.column("age") is schema.columns[2]
    with pytest.raises(SchemaError, match="did you mean 'smoker'"):
        schema.column("smokr")


def test_a_column_is_declared_once() -> None:
    twice = Column(name="a", kind="numeric", bounds=(0, 1))
    with pytest.raises(SchemaError, match="declared twice"):
        Schema(name="d", columns=(twice, twice))


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.encode())
    assert Schema.load(path) == Schema.from_toml(EXAMPLE)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(SchemaError, match="UTF-8"):
        Schema.load(path)
    with pytest.raises(SchemaError, match=r"privet.draft"):
        Schema.load(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="cannot read"):
        Schema.load(tmp_path)


def test_the_file_marks_what_is_unconfirmed() -> None:
    text = Schema.from_toml(EXAMPLE).to_toml()
    marked = [line for line in text.splitlines() if line.endswith("# read from the data")]
    assert marked == ['levels = ["no", "yes"]  # read from the data']


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(
    ["a b", 'say "hi"', "it's", "x.y", "naïve", "\\n", "#", "a=b", "[k]", "\t", "\x00\x7f", "é😀"]
)
TIDY = NAMES.filter(lambda text: text == text.strip())
DATASETS = NAMES.map(lambda text: normalize("NFC", text).strip()).filter(name_key)
FINITE = st.floats(-1e300, 1e300)


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    policy = draw(st.sampled_from(get_args(Missing)))
    if draw(st.booleans()):
        levels = draw(st.lists(TIDY, min_size=2, max_size=5, unique=True))
        value = draw(st.sampled_from(levels)) if policy == "value" else None
        kind = draw(st.sampled_from(get_args(Kind)[:2]))
        return Column(
            name=name, kind=kind, levels=tuple(levels), missing=policy, missing_value=value
        )
    edges = sorted(draw(st.lists(FINITE, min_size=3, max_size=6, unique=True)))
    cuts = tuple(edges[1:-1])
    even = equal_width(edges[0], edges[-1], draw(st.integers(2, 6)))
    if draw(st.booleans()) and sorted({edges[0], *even, edges[-1]}) == [edges[0], *even, edges[-1]]:
        cuts = even
    number = draw(st.sampled_from(edges)) if policy == "value" else None
    bounds = (edges[0], edges[-1])
    return Column(
        name=name, kind="numeric", bounds=bounds, cuts=cuts, missing=policy, missing_value=number
    )


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    public = draw(st.none() | st.integers(1, 10**9))
    facts = st.sampled_from([f"{name}.{fact}" for name in names for fact in ("kind", "levels")])
    forbidden = {(a, b) for a in names for b in names if a != b and draw(st.booleans())}
    return Schema(
        name=draw(DATASETS),
        columns=tuple(draw(columns(name)) for name in names),
        adjacency=Adjacency.ADD_REMOVE if public is None else Adjacency.REPLACE_ONE,
        rows=public,
        rows_per_person=draw(st.integers(1, 5)),
        knowledge=Knowledge(
            tiers=tuple((name,) for name in names) if draw(st.booleans()) else (),
            forbidden=frozenset(forbidden),
        ),
        unconfirmed=tuple(draw(st.lists(facts, max_size=5, unique=True))),
    )


@given(schemas())
def test_a_schema_survives_its_file(schema: Schema) -> None:
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


@given(schemas())
def test_there_is_one_label_per_code(schema: Schema) -> None:
    for one in schema.columns:
        assert len(one.labels) == len(set(one.labels)) == one.cardinality >= 2


def test_a_schema_needs_no_heavy_library() -> None:
    heavy = "duckdb", "opendp", "scipy", "pandas", "networkx"
    code = f"import sys, privet.schema; assert not set(sys.modules) & set({heavy!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
