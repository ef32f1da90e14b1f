"""What the front doors share: what they refuse before anything costs, and what an error says
of what has been spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from privet.errors import BudgetError, DataError, EvidenceError, SchemaError
from privet.graph.knowledge import Knowledge
from privet.methods.method import USUAL_DELTA
from privet.privacy.ledger.conversion import check_asked
from privet.results import saved as evidence_file
from privet.results.folder import NOTE
from privet.results.saved import Saved
from privet.schema.model import Schema
from privet.schema.names import same_name

if TYPE_CHECKING:
    from privet.privacy.ledger.book import Run


def read_schema(schema: Schema | str | Path | None) -> Schema:
    """The schema, which must be there and have two columns to compare."""
    if schema is None:
        raise SchemaError(
            "there is no schema, and what is public about the data must not be learnt from them; "
            "propose one with `privet schema draft DATA > schema.toml`, correct it, and give it "
            "with --schema schema.toml"
        )
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"the schema is a {type(schema).__name__}; give a privet.Schema or the path of a "
            f"TOML file"
        )
    if len(schema.columns) < 2:
        raise SchemaError(
            f"schema {schema.name!r} has 1 column, {schema.names[0]!r}; a graph needs at least 2: "
            f"add a [columns.NAME] section"
        )
    return schema


def open_evidence(
    evidence: Saved | str | Path,
    *,
    data: object = None,
    schema: Schema | str | Path | None = None,
    epsilon: float | None = None,
) -> Saved:
    """Saved evidence; a schema may bring other knowledge, but no other columns."""
    if data is not None or epsilon is not None:
        given = "data" if data is not None else f"epsilon {epsilon!r}"
        raise EvidenceError(
            f"evidence was given together with {given}, but saved evidence is looked "
            f"at again without data and for nothing; leave one of the two away"
        )
    if not isinstance(evidence, Saved | str | Path):
        raise EvidenceError(
            f"the evidence is a {type(evidence).__name__}; give the .evidence of a result, or "
            f"the path of an evidence.json"
        )
    saved = evidence if isinstance(evidence, Saved) else evidence_file.load(evidence)
    if schema is not None:
        known = same_table(saved.schema, read_schema(schema))
        if known.knowledge != saved.schema.knowledge and evidence_file.told(saved):
            raise EvidenceError(
                "this evidence holds the answers of a search that knew what could not be an edge "
                "and asked nothing about that, so other knowledge would need other answers; leave "
                "the schema away, or run the method on the data with this one"
            )
        saved = replace(saved, schema=known)
    return saved


def same_table(old: Schema, new: Schema) -> Schema:
    """The old schema with the knowledge of the new one, which must not differ in anything else
    (in the name not more than one data set's may)."""

    def table(schema: Schema) -> Schema:
        return replace(schema, name=old.name, knowledge=Knowledge(), unconfirmed=())

    if table(old) != table(new) or not same_name(old.name, new.name):
        raise EvidenceError(
            f"the schema {new.name!r} is not the one that this was measured with "
            f"({old.name!r}), apart from its knowledge; use that one, or leave the schema away"
        )
    return replace(old, knowledge=new.knowledge)


def check_budget_options(epsilon: float | None, delta: float | None, private: bool) -> None:
    if not private:
        if epsilon is not None:
            raise BudgetError(
                f"epsilon {epsilon!r} was given together with --no-privacy (private=False), which "
                f"spends nothing and promises nothing; leave one of the two away"
            )
        return
    if epsilon is None:
        raise BudgetError(
            "there is no epsilon; give one, such as --epsilon 1 (smaller is more private), or "
            "--no-privacy to compute without protection"
        )
    check_asked(epsilon, USUAL_DELTA if delta is None else delta)


def check_data(data: object) -> None:
    if data is None:
        raise DataError("there are no data; give a CSV or Parquet file, a DataFrame or a table")
    if isinstance(data, str | Path):
        path = Path(data)
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DataError(
                f"{str(data)!r} is a pipe or a device, which can be read only once; save the "
                f"table as a file first"
            )


@contextmanager
def told(run: Run) -> Iterator[None]:
    """Whatever stops a run, its error says what had been spent by then."""
    try:
        yield
    except BaseException as error:
        if run.entries:
            error.add_note(
                f"{NOTE}epsilon {run.spent_epsilon:.6g} of data set {run.dataset!r} was spent "
                f"before that (run {run.id} in the ledger)"
            )
        raise


@contextmanager
def paid(saved: Saved) -> Iterator[None]:
    """Whatever stops a search, its error holds the evidence and says what that has cost."""
    try:
        yield
    except BaseException as error:
        error.evidence = saved  # type: ignore[attr-defined]
        if saved.certificate["spent"]:
            spent, name = saved.certificate["spent"]["epsilon"], saved.schema.name
            error.add_note(f"{NOTE}epsilon {spent:.6g} of data set {name!r} was spent before that")
        raise
