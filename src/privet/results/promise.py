"""The words of a promise to people in a table, and of what it assumes."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING

from privet.privacy.ledger.conversion import shorten
from privet.schema.model import CHOICE, Adjacency, Schema

MOST_FILLS = 12  # that are named; the schema has all


def promise(schema: Schema, epsilon: float, delta: float) -> str:
    rows = schema.rows_per_person
    owner = "any one person" if rows == 1 else f"any one person, who has at most {rows} rows,"
    change = (
        "is in the data or not"
        if schema.adjacency is Adjacency.ADD_REMOVE
        else "has given these data or any others"
    )
    beyond = f", plus {delta:g}" if delta else ""
    return (
        f"Whether {owner} {change} changes the probability of anything that can be concluded "
        f"from these results by at most {factor(epsilon)} (epsilon {epsilon:g}){beyond}."
    )


def factor(epsilon: float) -> str:
    try:
        return f"a factor of {shorten(math.exp(epsilon), ROUND_CEILING):g}"
    except OverflowError:
        return "a factor too large to mean anything"


def _fact(fact: str) -> str:
    return "the choice of columns" if fact == CHOICE else f"the schema's {fact}"


def at_most(sites: int) -> str:
    """How often one person is counted where the results of several sites are put together."""
    if sites == 1:
        return "no person is at more than one of the sites whose results are put together"
    return (
        f"no person is at more than {sites} of the sites whose results are put together; who is at "
        f"several is promised what the joint certificate says, which is less than this one does"
    )


def unconfirmed(schema: Schema) -> list[str]:
    """One line for all of them."""
    facts = [_fact(fact) for fact in schema.read]
    if len(facts) < 2:
        return [
            f"{fact} is public knowledge: it was read from the data and nobody has confirmed it"
            for fact in facts
        ]
    return [
        f"{len(facts)} facts are public knowledge: they were read from the data and nobody has "
        f"confirmed them ({', '.join(facts)})"
    ]


def of_missing(schema: Schema) -> list[str]:
    """What the schema takes cells to be that are missing, or no level or number: results rest on
    it, the promise does not."""
    filled = [c for c in schema.columns if c.missing == "value"]
    dropped = [repr(c.name) for c in schema.columns if c.missing == "drop"]
    found = []
    if filled:
        fills = ", ".join(f"{c.name!r} as {_value(c.missing_value)}" for c in filled[:MOST_FILLS])
        fills += f" and {len(filled) - MOST_FILLS} more" if len(filled) > MOST_FILLS else ""
        found.append(
            "cells that are missing, or no declared level or number, are few, or nearly what they "
            f"are counted as ({fills}): where many are missing, dependences are hidden or made up"
        )
    if dropped:
        found.append(
            f"rows in which a cell of {', '.join(dropped)} is missing, and which are left out, are "
            "like the others (missing completely at random)"
        )
    return found


def _value(value: str | float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def owned(schema: Schema, where: str = "in the table") -> str:
    """How it is known that a person has so many rows: it is enforced, or somebody says so."""
    rows = f"{schema.rows_per_person} row{'s' if schema.rows_per_person > 1 else ''}"
    if schema.person is None:
        return f"no person has more than {rows} {where}"
    return (
        f"column {schema.person!r} says whose row it is, and no person stands under two names in "
        f"it (no more than {rows} of each name are counted, and none without a name: that no "
        "person has more is enforced)"
    )


def assumptions(
    schema: Schema, durable: bool, site: str | None = None, engine: str = ""
) -> list[str]:
    found = unconfirmed(schema)
    found += [
        f"everything {'else ' if found else ''}in the schema (columns, kinds, levels, bounds, "
        f"knowledge) was known without looking at the rows",
        f"{owned(schema)}; a row is a parsed record; the table has at most {schema.most_rows} rows",
        f"the name {schema.name!r} stands for this table, and whatever else is released about "
        f"the same people is charged under the same name in the same ledger",
        "whoever runs Privet may see the rows, and the computer, its storage and its libraries "
        "do what they should; what an onlooker could learn from running time, memory or power "
        "is not covered",
    ]
    if schema.adjacency is Adjacency.REPLACE_ONE:
        found.insert(
            -2,
            f"the number of rows, {schema.rows}, is public knowledge (if the table has another "
            "number, answers may be wrong, but the promise holds)",
        )
    if schema.as_of is not None:
        found.append(
            f"the label as_of = {schema.as_of!r} comes from the calendar or the procedure of "
            "extraction, and not from whether something changed"
        )
    if engine:
        found.append(
            f"the table or view gives its rows without error, and {engine}, its logs and those who "
            "administer it are trusted as whoever runs Privet is"
        )
    if site is not None:
        found.append(at_most(schema.sites_per_person))
    found += of_missing(schema)
    if not durable:
        found.append("nothing else is released about these people: this ledger was in memory only")
    return found
