"""A schema as a TOML document: reading it strictly, writing it for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, cast

from privet.errors import SchemaError
from privet.graph.knowledge import Knowledge
from privet.schema.born import unsettled
from privet.schema.column import MOST_LEVELS, Column, check_kind, did_you_mean
from privet.schema.cuts import equal_width
from privet.schema.missing import CHOOSE, choices
from privet.schema.model import MOST_ROWS, PER_PERSON, Adjacency, Schema

if TYPE_CHECKING:
    from privet.schema.column import Kind

SCHEMA_KEYS = (
    "name",
    "as_of",
    "adjacency",
    "rows",
    "rows_per_person",
    "person",
    "most_rows",
    "sites_per_person",
    "unconfirmed",
    "columns",
    "knowledge",
)
COLUMN_KEYS = ("kind", "levels", "bounds", "scale", "bins", "cuts", "missing", "shares")
KNOWLEDGE_KEYS = ("tiers", "required", "forbidden")

HEADER = """\
# What is public about this table before anybody looks at its rows.
# Privet reads nothing else about it for free, so nothing here may be learnt from the rows.
"""
NOTES = {
    "as_of": "the snapshot's label: from the calendar, not from whether something changed",
    "adjacency": "neighbours differ by one person: added or removed, or replaced",
    "rows": "the public number of rows",
    **PER_PERSON,
    "person": "the column that says whose row it is",
    "most_rows": "the most rows that the table can have",
    "unconfirmed": "delete an entry once you know that it is public knowledge",
}
READ = "read from the data"
LONG = 100  # characters


NOTE = f"""\
# DRAFT. To write it, Privet looked at the data without paying for it from any privacy budget.
# Every line marked "{READ}" may tell something about the people in the data. For each:
#   - if it is public knowledge anyway (code book, questionnaire, law of nature), confirm it:
#     delete its entry from the list `unconfirmed`;
#   - if not, put in what is public instead (all possible levels, a range known beforehand),
#     and then delete its entry.
# What stays in `unconfirmed` is listed on the certificate as an assumption.
# A column without a line `missing` had no missing cell. Should one come, it counts as the number
# or level in the middle (of unordered levels: the first), unless you write such a line.
# If results will be put together with those of other sites, and one person may be at several of
# them, add below: sites_per_person = N, the most sites at which one person can be.
"""
TIERS = """
# By their names, some columns come before all others: nothing here causes them. Such knowledge
# directs edges that data cannot. It is a question until you answer it, and directs nothing:
#   - if it is right, delete the # of the two lines below (split the second list further if you
#     know more: earlier causes later), and the entries NAME.tier of `unconfirmed`;
#   - if it is wrong for a column, take that column out of the first list, and delete its entry.
"""


# reading


def schema_from_dict(document: Mapping[str, Any]) -> Schema:
    _check_keys(document, SCHEMA_KEYS, "the schema")
    if "name" not in document:
        raise SchemaError('the schema has no name; add name = "..." as its first line')
    columns = document.get("columns", {})
    if not isinstance(columns, Mapping):
        raise SchemaError(f"columns = {columns!r}; write one [columns.NAME] section per column")
    unconfirmed = document.get("unconfirmed", [])
    if not _is_texts(unconfirmed):
        raise SchemaError(f"unconfirmed = {unconfirmed!r}; write a list of texts, or delete it")
    return Schema(
        name=document["name"],
        as_of=_label(document.get("as_of")),
        columns=tuple(_column(name, body) for name, body in columns.items()),
        adjacency=_adjacency(document.get("adjacency", Adjacency.ADD_REMOVE.value)),
        rows=document.get("rows"),
        **{key: document.get(key, 1) for key in PER_PERSON},
        person=document.get("person"),
        most_rows=document.get("most_rows", MOST_ROWS),
        knowledge=_knowledge(document.get("knowledge", {})),
        unconfirmed=tuple(unconfirmed),
    )


def _column(name: str, body: object) -> Column:
    where = f"column {name!r}"
    if not isinstance(body, Mapping):
        raise SchemaError(f"{where} is {body!r}; write a [columns.NAME] section with its kind")
    _check_keys(body, COLUMN_KEYS, where)
    if "kind" not in body:
        raise SchemaError(f'{where} has no kind; add kind = "categorical", "ordinal" or "numeric"')
    check_kind(name, body["kind"])
    for key in ("levels", "bounds", "cuts", "shares"):
        if key in body and not isinstance(body[key], list):
            raise SchemaError(f"{where} has {key} = {body[key]!r}; write a list: {key} = [...]")
    bounds = body.get("bounds")
    if "cuts" in body and not body["cuts"]:
        raise SchemaError(f"{where} has no cuts in its list; name at least one, or write bins = 2")
    return Column(
        name=name,
        kind=cast("Kind", body["kind"]),
        levels=tuple(body.get("levels", ())),
        bounds=None if bounds is None else cast("tuple[float, float]", tuple(bounds)),
        cuts=_bins(where, body) if "bins" in body else tuple(body.get("cuts", ())),
        scale=body.get("scale", "linear"),
        shares=tuple(body.get("shares", ())),
        **_missing(where, body.get("missing")),
    )


def _label(value: Any) -> Any:
    """As text; TOML has dates of its own."""
    return value.isoformat() if isinstance(value, date) else value


def _bins(where: str, body: Mapping[str, Any]) -> tuple[float, ...]:
    bins = body["bins"]
    if "cuts" in body or body["kind"] != "numeric":
        raise SchemaError(
            f"{where} has bins = {bins!r}; only numeric columns have bins, "
            f"and only in place of cuts: remove one of them"
        )
    if not isinstance(bins, int) or isinstance(bins, bool) or not 2 <= bins <= MOST_LEVELS:
        raise SchemaError(
            f"{where} has bins = {bins!r}; write a whole number from 2 to {MOST_LEVELS}"
        )
    bounds = body.get("bounds", [])
    if len(bounds) != 2 or not all(isinstance(bound, int | float) for bound in bounds):
        return ()  # Column refuses such bounds
    try:
        return equal_width(float(bounds[0]), float(bounds[1]), bins, body.get("scale", "linear"))
    except (OverflowError, ValueError):
        return ()


def _missing(where: str, policy: object) -> dict[str, Any]:
    if policy is None:
        return {}
    if isinstance(policy, str) and policy in ("level", "drop", CHOOSE):
        return {"missing": policy}
    if isinstance(policy, Mapping) and set(policy) == {"value"}:
        return {"missing": "value", "missing_value": policy["value"]}
    raise SchemaError(f'{where} has missing = {policy!r}; use "level", "drop" or {{ value = ... }}')


def _adjacency(value: object) -> Adjacency:
    options = [adjacency.value for adjacency in Adjacency]
    if value not in options:
        raise SchemaError(
            f"adjacency = {value!r}; use {' or '.join(options)}{did_you_mean(value, options)}"
        )
    return Adjacency(value)


def _knowledge(body: object) -> Knowledge:
    if not isinstance(body, Mapping):
        raise SchemaError(f"knowledge = {body!r}; write a [knowledge] section")
    _check_keys(body, KNOWLEDGE_KEYS, "knowledge")
    lists = {key: body.get(key, []) for key in KNOWLEDGE_KEYS}
    for key, value in lists.items():
        pairs = key != "tiers"
        if not isinstance(value, list) or not all(
            _is_texts(item) and (len(item) == 2 or not pairs) for item in value
        ):
            raise SchemaError(
                f"knowledge has {key} = {value!r}; write "
                + ('pairs [["cause", "effect"], ...]' if pairs else 'lists [["first"], ["later"]]')
            )
    return Knowledge(
        tiers=tuple(tuple(tier) for tier in lists["tiers"]),
        required=frozenset((a, b) for a, b in lists["required"]),
        forbidden=frozenset((a, b) for a, b in lists["forbidden"]),
    )


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise SchemaError(
                f"{where} has the unknown key {key!r}{did_you_mean(key, known)}; "
                f"use only {', '.join(known)}"
            )


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# writing


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    document: dict[str, Any] = {"name": schema.name}
    if schema.as_of is not None:
        document["as_of"] = schema.as_of
    document["adjacency"] = schema.adjacency.value
    if schema.rows is not None:
        document["rows"] = schema.rows
    document["rows_per_person"] = schema.rows_per_person
    if schema.person is not None:
        document["person"] = schema.person
    if schema.most_rows != MOST_ROWS:
        document["most_rows"] = schema.most_rows
    if schema.sites_per_person != 1:
        document["sites_per_person"] = schema.sites_per_person
    if schema.unconfirmed:
        document["unconfirmed"] = list(schema.unconfirmed)
    document["columns"] = {column.name: _column_to_dict(column) for column in schema.columns}
    knowledge = {
        "tiers": [list(tier) for tier in schema.knowledge.tiers],
        "required": [list(pair) for pair in sorted(schema.knowledge.required)],
        "forbidden": [list(pair) for pair in sorted(schema.knowledge.forbidden)],
    }
    if any(knowledge.values()):
        document["knowledge"] = {key: value for key, value in knowledge.items() if value}
    return document


def _column_to_dict(column: Column) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": column.kind}
    if column.bounds is None:
        body["levels"] = list(column.levels)
    else:
        bins = len(column.cuts) + 1
        body["bounds"] = list(column.bounds)
        if column.scale != "linear":
            body["scale"] = column.scale
        if column.free:
            pass  # nobody has declared any
        elif column.cuts == equal_width(*column.bounds, bins, column.scale):
            body["bins"] = bins
        else:
            body["cuts"] = list(column.cuts)
    value = column.missing == "value"
    body["missing"] = {"value": column.missing_value} if value else column.missing
    if column.shares:
        body["shares"] = list(column.shares)
    return body


def schema_to_toml(schema: Schema) -> str:
    """The schema as a file for a person; facts still unconfirmed are marked on their line."""
    document = schema_to_dict(schema)
    columns, knowledge = document.pop("columns"), document.pop("knowledge", {})
    lines = [NOTE if schema.unconfirmed else HEADER]
    for key, value in document.items():
        note = schema.notes.get(key, NOTES.get(key))
        lines.append(_line(key, value, f"{READ}: {note}" if key in schema.unconfirmed else note))
    if any(column.missing == CHOOSE for column in schema.columns):
        lines.append("\n" + choices())
    for column in schema.columns:
        lines.append(f"\n[columns.{_key(column.name)}]")
        for key, value in columns[column.name].items():
            if key == "missing" and column.missing_value == column.middle:
                continue  # what is taken where nothing is declared
            fact = f"{column.name}.{'cuts' if key == 'bins' else key}"
            note = f"{READ}: {schema.notes[fact]}" if fact in schema.notes else READ
            lines.append(_line(key, value, note if fact in schema.unconfirmed else None))
    if knowledge:
        lines.append("\n[knowledge]")
        if "tiers" in knowledge:
            lines.append("# an earlier tier may cause a later one, never the reverse")
        lines += [_line(key, value, None) for key, value in knowledge.items()]
    elif schema.unconfirmed:
        lines += _proposed_tiers(schema.names, unsettled(schema))
    lines += [f"\n# {remark}" for remark in schema.remarks]
    return "\n".join(lines) + "\n"


def _proposed_tiers(names: tuple[str, ...], first: tuple[str, ...]) -> list[str]:
    """A proposal, as a comment, of what comes first; from names alone."""
    later = tuple(name for name in names if name not in first)
    if not first or not later:
        return []
    tiers = ", ".join(f"[{', '.join(map(toml_text, tier))}]" for tier in (first, later))
    return [TIERS + f"# [knowledge]\n# tiers = [{tiers}]"]


def _line(key: str, value: object, note: str | None) -> str:
    """One line, or one per item of a list that would be too long to read."""
    comment = f"  # {note}" if note else ""
    line = f"{_key(key)} = {_value(value)}{comment}"
    if len(line) <= LONG or not isinstance(value, list):
        return line
    items = "".join(f"    {_value(item)},\n" for item in value)
    return f"{_key(key)} = [{comment}\n{items}]"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_text(key)


def _value(value: object) -> str:
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return repr(value)


def toml_text(text: str) -> str:
    """A TOML basic string: quotes, backslashes and control characters escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'
