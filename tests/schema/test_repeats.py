"""Who is in a table more than once, and rows that count people, as a draft sees them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import privet
from privet.errors import DataError
from privet.schema.born import unsettled
from privet.schema.model import Schema

Table = dict[str, list[Any]]


def panel(people: int = 60, times: int = 8, name: str = "nr") -> Table:
    """Two facts of each person that never change, and one that does."""
    rng = random.Random(1)
    facts = [(13 + 7 * i, rng.randrange(2), rng.randrange(3)) for i in range(people)]
    rows = [(*fact, 1980 + t, rng.gauss(0, 1)) for fact in facts for t in range(times)]
    return dict(
        zip(
            (name, "union", "ethn", "year", "wage"), map(list, zip(*rows, strict=True)), strict=True
        )
    )


def plain(rows: int = 900) -> Table:
    """A row is a person. Some columns repeat, and others follow from these."""
    rng = random.Random(2)
    ages = [rng.randrange(18, 90) for _ in range(rows)]
    zips = [10000 + 7 * rng.randrange(40) for _ in range(rows)]
    pay = [100 * rng.randrange(10, 99) for _ in range(rows)]
    return {
        "age": ages,
        "young": [int(age < 40) for age in ages],
        "generation": [age // 20 for age in ages],
        "zip": zips,
        "north": [z % 2 for z in zips],
        "region": ["abc"[z % 3] for z in zips],
        "year": [rng.randrange(1950, 2000) for _ in range(rows)],
        "pay": pay,
        "rich": [int(x > 5000) for x in pay],
        "class": [x // 2000 for x in pay],
    }


@pytest.mark.parametrize("name", ["nr", "id", "patientId", "subject_no", "whose"])
def test_repeated_people_are_proposed(name: str) -> None:
    made = privet.draft(panel(name=name), name="panel")
    assert made.person == name and made.rows_per_person == 8
    assert name not in made.names and {"person", "rows_per_person"} <= set(made.unconfirmed)
    text = made.to_toml()
    assert f'person = "{name}"  # read from the data: it has 60 values in 480 rows' in text
    assert "rows_per_person = 8  # read from the data: the most rows" in text
    assert Schema.from_toml(text) == made
    found = privet.discover(panel(name=name), made, epsilon=1, ledger=":memory:")
    assumed = " ".join(found.certificate["assumptions"])
    assert f"column {name!r} says whose row it is" in assumed
    assert "nobody has confirmed them (the schema's person, " in assumed


def test_files_and_frames_agree(tmp_path: Path) -> None:
    table = panel()
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    (tmp_path / "panel.csv").write_text("\n".join([",".join(table), *rows]))
    assert privet.draft(tmp_path / "panel.csv") == privet.draft(table, name="panel")


def test_ages_years_and_places_are_no_people() -> None:
    made = privet.draft(plain(), name="plain")
    assert made.person is None and made.rows_per_person == 1


@pytest.mark.parametrize(
    "name", ["school", "school_id", "townid", "year", "zip", "firm", "n", "age"]
)
def test_names_of_groups_and_counts_are_no_people(name: str) -> None:
    assert privet.draft(panel(name=name), name="panel").person is None


def test_a_number_that_others_are_made_from_is_no_person() -> None:
    """Its groups follow its order, as age groups follow age."""
    x = [i // 5 for i in range(500)]
    table = {"x": x, "low": [v // 50 for v in x], "mid": [v // 10 for v in x], "y": [0, 1] * 250}
    assert privet.draft(table, name="made").person is None


@pytest.mark.parametrize("name", ["Freq", "count", "n"])
def test_a_table_of_counts_is_refused(name: str) -> None:
    cells = [(a, b, c) for a in "xyz" for b in "uv" for c in ("no", "yes")]
    table = dict(zip("abc", map(list, zip(*cells, strict=True)), strict=True))
    counts = {name: [7 * i for i in range(len(cells))]}
    with pytest.raises(DataError, match=rf"{name!r} seems to count people.*one row per person"):
        privet.draft({**table, **counts}, name="titanic")
    assert privet.draft({**table, "size": counts[name]}, name="titanic").names[-1] == "size"
    twice = {key: values * 2 for key, values in {**table, **counts}.items()}
    assert name in privet.draft(twice, name="twice").names


# -- what names ask


def test_what_comes_first_is_asked_until_it_is_answered() -> None:
    table = {"sex": ["f", "m"] * 9, "Age": list(range(18)), "age_at_death": list(range(30, 48))}
    made = privet.draft(table, name="names")
    assert made.unconfirmed[-2:] == ("sex.tier", "Age.tier") and unsettled(made) == ("sex", "Age")
    assert made.knowledge.tiers == ()  # nothing is directed by itself
    text = made.to_toml()
    assert '# tiers = [["sex", "Age"], ["age_at_death"]]' in text
    confirmed = text.replace("# [knowledge]", "[knowledge]").replace("# tiers =", "tiers =")
    assert unsettled(Schema.from_toml(confirmed)) == ()
    struck = Schema.from_toml(text.replace('    "Age.tier",\n', ""))
    assert (
        unsettled(struck) == ("sex",) and '[["sex"], ["Age", "age_at_death"]]' in struck.to_toml()
    )


def test_a_question_is_no_assumption() -> None:
    made = privet.draft({"sex": ["f", "m"] * 40, "pain": ["a", "b", "a", "c"] * 20}, name="names")
    found = privet.discover(
        {"sex": ["f", "m"] * 40, "pain": ["a", "b", "a", "c"] * 20},
        made,
        epsilon=1,
        ledger=":memory:",
    )
    assert not any(".tier" in text for text in found.certificate["assumptions"])
    assert "4 facts were read from the data and 1 guessed from names" in made.warning()
