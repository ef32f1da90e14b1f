"""A table with every odd cell that a test could think of, what is public about it, and questions of
every kind: each engine must give the same whole numbers."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from privet.arrays import Integers
from privet.privacy.queries.base import Query
from privet.privacy.queries.box_moments import BoxMoments
from privet.privacy.queries.cut import Cut
from privet.privacy.queries.dependence import Dependence, Removals
from privet.privacy.queries.gradient import FINE, Gradient
from privet.privacy.queries.moments import Locations, Moments
from privet.privacy.queries.pairs import LossDifference, PairTable, QuantileRanks
from privet.privacy.queries.tables import Components, Tables
from privet.privacy.queries.white import Clip, White
from privet.schema.column import Column, Missing
from privet.schema.model import Schema

TEXTS = [
    "no",
    "yes",
    " yes",
    "yes\u3000",
    "\u00a0no\t",
    "\x1cno",
    "\u200bno",
    "\ufeffno",
    "NO",
    "Øl",
    "øl",
    "\u00d6l",
    "O\u0308l",
    "straße",
    "strasse",
    "\u0131",
    "i",
    "ﬁ",
    "fi",
    "1",
    "1.0",
    "01",
    "+1",
    "1e0",
    "true",
    "TRUE",
    "tRUE",
    "",
    " ",
    "it's",
    'say "hi"',
    "back\\slash",
    "\N{GRINNING FACE}",
    "nan",
    "inf",
    "null",
    None,
]
REALS = [
    0.0,
    -0.0,
    0.1,
    0.30000000000000004,
    0.3,
    1.0,
    2.5,
    1e16,
    1e20,
    5e-324,
    1e300,
    -1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
    None,
]
WHOLES = [0, 1, 2, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), None]
DECIMALS = [Decimal("0.1000"), Decimal("0.3000"), Decimal("2.5"), Decimal("-1"), Decimal(0), None]
TRUTHS = [True, False, None]
POLICIES = ("level", "value", "drop")


def odd_schema(policy: str = "level", **more: Any) -> Schema:
    """``drop`` drops by one column of levels and one of numbers; else few rows would be left."""

    def missing(may_drop: bool) -> Missing:
        if policy == "drop":
            return "drop" if may_drop else "level"
        return "level" if policy == "level" else "value"

    def levels(name: str, *texts: str, drops: bool = False) -> Column:
        return Column(name=name, kind="categorical", levels=texts, missing=missing(drops))

    def number(name: str, *cuts: float, drops: bool = False) -> Column:
        return Column(name=name, kind="numeric", bounds=(-3, 10), cuts=cuts, missing=missing(drops))

    columns = (
        levels("text", "no", "yes", "Øl", "\u00d6l", "straße", "i", "1", "true", drops=True),
        levels("Spelt", "it's", 'say "hi"', "back\\slash", "\N{GRINNING FACE}", "fi", "1.0"),
        levels("truth", "false", "true"),
        levels("whole", "0", "1", "9007199254740993", "9223372036854775807"),
        levels("real", "0.1", "0.3", "1", "1e+16", "0"),
        levels("cents", "0.1", "0.3", "2.5", "0"),
        number("x", 0.1, 0.3, 2.5, drops=True),
        number("narrow", 0.1, 1.0),
        number("count", 0.0, 1.0),
        number("price", 0.1, 0.3, 2.5),
        number("flag", 0.5),
    )
    return Schema(name="odd", columns=columns, **more)


def free_cuts() -> tuple[Schema, Schema, Cut]:
    """A schema that leaves two columns free, the same with other cuts, and a question that names
    these: it is answered from merged fine bins."""
    free = tuple(
        Column(name=name, kind="numeric", bounds=(-3, 10), missing="level")
        for name in ("x", "price")
    )
    schema = replace(odd_schema(), columns=(*odd_schema().columns[:3], *free))
    tables = Tables((("x", "price"), ("text", "x"), ("price", "truth")))
    query = Cut((("x", (50, 61, 62, 130)), ("price", (59, 255))), tables)
    query.check(schema)
    return schema, query.schema(schema), query


def odd_table(rows: int = 3000, seed: int = 20261116) -> Any:
    """As an Arrow table, whose columns have the types that a file or a database would have."""
    pyarrow = pytest.importorskip("pyarrow")
    draw = random.Random(seed)
    real = [*REALS, *(draw.gauss(1, 2) for _ in range(9))]
    cents = [*DECIMALS, *(Decimal(draw.randrange(-300, 1000)).scaleb(-2) for _ in range(9))]
    kinds: dict[str, tuple[list[Any], Any]] = {
        "count": (WHOLES, pyarrow.int64()),
        "text": (TEXTS, pyarrow.string()),
        "Spelt": (TEXTS, pyarrow.string()),
        "truth": (TRUTHS, pyarrow.bool_()),
        "unused": (["a", "b"], pyarrow.string()),
        "whole": (WHOLES, pyarrow.int64()),
        "real": (real, pyarrow.float64()),
        "cents": (cents, pyarrow.decimal128(12, 4)),
        "x": (real, pyarrow.float64()),
        "narrow": (real, pyarrow.float32()),
        "price": (cents, pyarrow.decimal128(12, 4)),
        "flag": (TRUTHS, pyarrow.bool_()),
        "person": ([*(f"p{i}" for i in range(rows // 3)), " p1", "", None], pyarrow.string()),
    }
    with np.errstate(over="ignore"):
        return pyarrow.table(
            {
                name: pyarrow.array(_drawn(draw, cells, rows), kind)
                for name, (cells, kind) in kinds.items()
            }
        )


def _drawn(draw: random.Random, cells: list[Any], rows: int) -> list[Any]:
    return [cells[i] if i < len(cells) else draw.choice(cells) for i in range(rows)]


def questions(schema: Schema) -> list[Query]:
    """Of every kind that is answered from sums over rows."""
    names = schema.names
    numbers = tuple(column.name for column in schema.columns if column.bounds)
    p = len(numbers)
    reach = {"centres": (1.0,) * p, "reaches": (4.0,) * p}
    weights = tuple(tuple(7 * FINE // 64 if i < j else 0 for j in range(p)) for i in range(p))
    unit = tuple(tuple(FINE if i == j else 0 for j in range(p)) for i in range(p))
    asked = tuple(
        (a, b, c) for (a, b), c in zip(combinations(names[:5], 2), names[5:], strict=False)
    )
    found: list[Query] = [
        Components(((),)),
        Tables(tuple((name,) for name in names)),
        Components(tuple(combinations(names, 2))),
        Tables((names[:3], names[4:1:-1])),
        Dependence("t1", (("truth", "flag"), ("truth", "flag", "text"))),
        Removals("g2", (asked[:2], asked[2:]), ((5, 7), (3,) * (len(asked) - 2))),
        _white(schema),
        Locations(columns=numbers),
        BoxMoments(columns=numbers),
        Moments(columns=numbers, **reach, transform=unit, radius=3.0 * FINE, constant=99),
        Gradient(columns=numbers, **reach, weights=weights, clip=2.0, constant=5),
        PairTable(x="x", y="price", bins=7),
        LossDifference(x="x", y="narrow", bins=5),
        LossDifference(x="x", y="price", bins=5, loss="squared"),
        QuantileRanks(column="x", share=Fraction(1, 4), steps=16),
    ]
    for query in found:
        query.check(schema)
    return found


def _white(schema: Schema) -> White:
    """Components of weighed rows: some features are long, so that weights differ."""
    sizes = [column.cardinality for column in schema.columns]
    features = tuple(
        tuple(tuple((40 + 9 * x) * (x == j + 1) - 7 for j in range(k - 1)) for x in range(k))
        for k in sizes
    )
    clips = tuple(
        Clip(sets=tuple(combinations(schema.names, order)), multipliers=(1, 2, 1), radius=radius)
        for order, radius in ((1, 9000), (2, 500_000))
    )
    return White(columns=schema.names, features=features, clips=clips)


def answers(rows: Any, schema: Schema) -> list[list[int]]:
    """What the rows answer to each of these; only a test asks without paying."""
    found: list[Integers] = [query.evaluate(rows, schema) for query in questions(schema)]
    return [values.tolist() for values in found]
