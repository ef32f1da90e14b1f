"""Who is in a table more than once: a column that says whose row it is, and rows that stand for
several people. Judged from the rows, for the owner alone.

A column is proposed as the person if its cells repeat, and

- its name says so (`id`, `patient`, `subject`, ...) and at least 10 different ones are there, or
- at least 20 different ones are there, with two or more rows each on average and none with more
  than a tenth of all rows, and two other columns hardly ever change within one of them though
  they would by chance, and are no mere function of its order, as an age group is of age.

A name that speaks of a time, a place, a group or an age (`year`, `zip`, `school`, `age`) is never
proposed, and neither is a column of fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from privet.errors import DataError
from privet.schema.born import born_with, words_in, words_of
from privet.schema.cells import Cells, Look

PERSONS = words_in(
    "id ids nr hid pid uid uuid ident identifier subject subjects subj patient patients person "
    "persons people individual participant respondent user customer client member employee worker "
    "pupil student animal ssn mrn caseid patid subjid hhid household case"
)
NO_PERSON = words_in(
    "age year years yr month week day days date time hour hours minute period wave visit round "
    "session zip zipcode postcode postal plz fips state county country region province city town "
    "village district commune area block location place school class teacher college university "
    "department dept hospital ward clinic doctor physician site center centre station store shop "
    "firm company industry sector occupation occ job product item brand model make type group "
    "treatment dose cluster strata stratum batch lot plate run study trial team league score grade "
    "level rank order count number freq frequency weight weights n plot field farm variety race "
    "income wage wages salary price cost start stop end"
)
NAMED, UNNAMED = 10, 20  # different ones, from which on a column may say whose row it is
CONSTANT, BY_CHANCE = 0.98, 0.8  # shares of persons: a fact of a person, and one that may be
COUNTED = words_in("freq frequency frequencies count counts n cases")
FEW = 12  # levels of each column of a table that counts people


@dataclass(frozen=True, kw_only=True)
class Person:
    """The column that says whose row it is, and the most rows of one person."""

    column: str
    rows: int
    notes: dict[str, str]


def person_in(cells: Cells, looks: Mapping[str, Look]) -> Person | None:
    """The likeliest column that says whose row it is, if there is one."""
    found = []
    for i, (name, look) in enumerate(looks.items()):
        by_name = _is_named(words_of(name))
        if not _may_be(name, look, NAMED if by_name else UNNAMED):
            continue
        if not by_name and not _are_many(look):
            continue
        facts = _facts(cells, i, looks)
        if by_name or len(facts) >= 2:
            found.append((by_name, len(facts), look.distinct, i, facts))
    if not found:
        return None
    *_, i, facts = max(found, key=lambda one: one[:3])
    name = cells.names[i]
    look = looks[name]
    some = " and ".join(map(repr, facts[:3]))
    alike = f"; within one, {some} hardly ever change" if facts else ""
    said = f"it has {look.distinct:,} values in {look.rows - look.missing:,} rows{alike}"
    notes = {"person": said, "rows_per_person": "the most rows with one value of `person`"}
    return Person(column=name, rows=look.most, notes=notes)


def _is_named(words: Sequence[str]) -> bool:
    """`nr` counts what follows, unless it comes last."""
    return any(word in PERSONS and (word != "nr" or word == words[-1]) for word in words)


def _are_many(look: Look) -> bool:
    rows = look.rows - look.missing
    return 2 * look.distinct <= rows and 10 * look.most <= rows


def _may_be(name: str, look: Look, least: int) -> bool:
    rows = look.rows - look.missing
    words = frozenset(word.removesuffix("id") or word for word in words_of(name))
    return (
        least <= look.distinct < rows
        and look.missing * 10 <= look.rows
        and words.isdisjoint(NO_PERSON)
        and not born_with([name])
        and (not look.numeric or look.whole)
    )


def _facts(cells: Cells, person: int, looks: Mapping[str, Look]) -> list[str]:
    """The columns that hardly ever change within one person, though by chance they would."""
    names = cells.names
    others = [i for i in cells.mostly_constant(person) if looks[names[i]].distinct > 1]
    if not others:
        return []
    shares = zip(others, cells.constant_within(person, others), strict=True)
    return [
        names[i]
        for i, share in shares
        if share >= CONSTANT
        and cells.agreement(i) <= BY_CHANCE
        and cells.changes(person, i) >= looks[names[i]].distinct  # not one stretch for each value
    ]


def check_counted(cells: Cells, looks: Mapping[str, Look]) -> None:
    """Refuse a table in which a row is a combination of levels, with the number of its people."""
    for i, (name, look) in enumerate(looks.items()):
        others = [place for place in range(len(looks)) if place != i]
        if name.strip().lower() not in COUNTED or not (look.numeric and look.whole) or not others:
            continue
        levels = [looks[cells.names[place]].distinct for place in others]
        if look.range is None or look.range[0] < 0 or max(levels) > FEW:
            continue
        if look.rows > 1 and cells.combinations(others) == look.rows:
            raise DataError(
                f"column {name!r} seems to count people: no other two rows have the same levels, "
                "so a row is a group of people and not a person, and no promise would hold; write "
                "one row per person (with pandas: table.loc[table.index.repeat(table[name])]"
                f".drop(columns=name), with name = {name!r}), or rename the column if it counts "
                "something else"
            )
