"""A question about tables whose free numeric columns are cut at places that it names."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from privet.arrays import Integers
from privet.errors import SchemaError
from privet.privacy.queries.base import (
    Query,
    Release,
    Rows,
    codec,
    from_document,
    to_document,
)
from privet.privacy.queries.codec import decoded
from privet.privacy.queries.fans import Fans
from privet.privacy.queries.tables import Components, Tables
from privet.privacy.queries.white import White
from privet.schema.cuts import FINE, Cuts, cut, free_columns
from privet.schema.model import Schema

INNER = (Components, Fans, Tables, White)  # what is counted in tables, and adds up over rows


@dataclass(frozen=True)
class _Places:
    """How cuts are written."""

    cuts: Cuts


@codec("Cut", evidence="tables")
@dataclass(frozen=True)
class Cut(Query):
    """The answer to ``query`` as if the schema had declared these cuts.

    Sensitivity (``proofs/cuts.md``). That of ``query`` under that schema: cuts are a part of the
    question, so a row's codes still depend on that row and on public facts alone.
    """

    additive = True

    cuts: Cuts
    query: Query

    def __str__(self) -> str:
        return f"{self.query}, {len(self.cuts)} numeric columns cut anew"

    def schema(self, schema: Schema) -> Schema:
        """The one under which ``query`` is asked."""
        return cut(schema, self.cuts)

    def check(self, schema: Schema) -> None:
        free, names = set(free_columns(schema)), [name for name, _ in self.cuts]
        if not names or len(set(names)) < len(names) or not free.issuperset(names):
            raise SchemaError(
                f"columns {', '.join(names)} are to be cut, but only numeric columns for which the "
                f"schema declares neither bins nor cuts may be, each once; name some of "
                f"{', '.join(sorted(free)) or 'these, of which there are none here'}"
            )
        for name, places in self.cuts:
            if not places or any(a >= b for a, b in pairwise((0, *places, FINE))):
                raise SchemaError(
                    f"column {name!r} is cut at {list(places)}; places are whole numbers from 1 to "
                    f"{FINE - 1} that increase strictly"
                )
        if not isinstance(self.query, INNER):
            raise SchemaError(f"{self.query} is not asked of tables, so that cuts mean nothing")
        self.query.check(self.schema(schema))

    def size(self, schema: Schema) -> int:
        return self.query.size(self.schema(schema))

    def l1(self, schema: Schema) -> int:
        return self.query.l1(self.schema(schema))

    def l2_squared(self, schema: Schema) -> int:
        return self.query.l2_squared(self.schema(schema))

    def linf(self, schema: Schema) -> int:
        return self.query.linf(self.schema(schema))

    def evaluate(self, rows: Rows, schema: Schema) -> Integers:
        inner = self.schema(schema)
        return self.query.evaluate(rows.cut(inner), inner)

    def check_answer(self, release: Release, schema: Schema) -> None:
        self.query.check_answer(release, self.schema(schema))

    def to_json(self) -> dict[str, Any]:
        cuts = [[name, list(places)] for name, places in self.cuts]
        return {"cuts": cuts, "query": to_document(self.query)}

    @staticmethod
    def from_json(document: dict[str, Any]) -> Cut:
        inner = from_document(document["query"])
        rest = {key: value for key, value in document.items() if key != "query"}
        return Cut(decoded(_Places, rest).cuts, inner)
