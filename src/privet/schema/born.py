"""Columns whose names tell that nothing else in a table causes them: what people are born with.

Names are public, and a guess from a name is only ever a proposal: until somebody has confirmed it
(under [knowledge]) or struck it out (of `unconfirmed`), it is a question and directs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privet.schema.model import Schema


def words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # also of birthYear and DOB
_BORN = words_in(
    "age sex gender race ethnicity ethnic ancestry native nativity born dob yob birthday birthdate "
    "birthyear birthplace"
)
# Words that make another fact of it: age_at_death, birth weight, race time, child's age, number of
# births, age group of a spouse.
_OTHER = words_in(
    "at of weight weights rate rates order control interval first last onset death diagnosis start "
    "end retirement marriage married menarche menopause admission surgery ratio time times car "
    "house vehicle company firm building account tree stand "
    "count number n"
)
_OF_BIRTH = words_in("place date year month day country")


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters: those of `birthYear` are birth and year."""
    return tuple(word.lower() for word in _WORD.findall(name))


def born_with(names: Iterable[str]) -> tuple[str, ...]:
    """Those that speak of age, sex, race or birth."""
    return tuple(name for name in names if _speaks(words_of(name)))


def _speaks(words: tuple[str, ...]) -> bool:
    birth = "birth" in words and (len(words) == 1 or not _OF_BIRTH.isdisjoint(words))
    if birth:
        return "weight" not in words
    return not _BORN.isdisjoint(words) and _OTHER.isdisjoint(words)


def unsettled(schema: Schema) -> tuple[str, ...]:
    """The columns of which a draft asks, by their names, whether nothing here causes them, where
    nobody has answered yet: neither by deleting the entry, nor by tiers or a required cause."""
    known = schema.knowledge
    placed = {name for tier in known.tiers for name in tier} | {b for _, b in known.required}
    asked = {fact.rpartition(".")[0] for fact in schema.unconfirmed if fact.endswith(".tier")}
    return tuple(name for name in schema.names if name in asked - placed)


def knowing(schema: Schema, other: Schema) -> Schema:
    """The same table with the knowledge of another schema, and what that still asks."""
    asked = (fact for fact in other.unconfirmed if fact not in other.read)
    return replace(schema, knowledge=other.knowledge, unconfirmed=(*schema.read, *asked))
