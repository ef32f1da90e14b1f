"""A query is one file: what is said of it there is all that a file of evidence needs.

The toy query below is defined in this file and named nowhere else in the project.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import privet
from privet.arrays import Integers
from privet.errors import EvidenceError, MethodError
from privet.methods.literature.decisions import Decisions
from privet.privacy.queries import base, codec
from privet.privacy.queries.base import Query, Release, Rows
from privet.privacy.queries.tables import Components, Tables
from privet.results import saved as evidence_file
from privet.results.saved import Saved

SCHEMA = privet.Schema(
    name="toys",
    columns=tuple(
        privet.Column(name=name, kind="categorical", levels=("0", "1")) for name in ("a", "b")
    ),
)


@dataclass(frozen=True, kw_only=True)
class Weighing:
    """A part of the toy."""

    power: int
    scale: float
    seed: bytes = field(default=b"", compare=False)  # never written


@base.codec("Toy", evidence="toys")
@dataclass(frozen=True, kw_only=True)
class Toy(Query):
    """How many rows have the first level of each column, weighed."""

    columns: tuple[str, ...]
    weighing: Weighing
    pairs: tuple[tuple[int, float], ...] = ()
    way: Literal["up", "down"] = "up"
    group: str | None = None

    def check(self, schema: privet.Schema) -> None:
        for name in self.columns:
            schema.column(name)

    def size(self, schema: privet.Schema) -> int:
        return len(self.columns)

    def linf(self, schema: privet.Schema) -> int:
        return schema.rows_per_person

    def evaluate(self, rows: Rows, schema: privet.Schema) -> Integers:
        return np.array([rows.counts((name,))[0] for name in self.columns])

    def check_answer(self, release: Release, schema: privet.Schema) -> None:
        if release.variance == 0 and (release.values < 0).any():
            raise ValueError("a negative count")


TOY = Toy(
    columns=("a", "b"),
    weighing=Weighing(power=2, scale=0.5, seed=b"secret"),
    pairs=((1, 0.25), (2, 3.0)),
    group="b",
)


def kept(query: Query = TOY, **of_release: Any) -> Saved:
    """Evidence as a run without privacy would keep it."""
    release = Release(
        query=query,
        **{"values": np.array([7, 9]), "variance": 4.0, "mechanism": "Toy noise", **of_release},
    )
    return Saved(schema=SCHEMA, releases=(release,), certificate={"private": False})


def loaded(text: str, folder: Path) -> Saved:
    path = folder / "evidence.json"
    path.write_text(text, encoding="utf-8")
    return evidence_file.load(path)


def test_a_new_query_round_trips_and_nothing_else_knows_it(tmp_path: Path) -> None:
    text = evidence_file.to_json(kept())
    assert json.loads(text)["releases"][0]["query"] == {
        "kind": "Toy",
        "columns": ["a", "b"],
        "weighing": {"power": 2, "scale": 0.5},
        "pairs": [[1, 0.25], [2, 3.0]],
        "way": "up",
        "group": "b",
    }
    found = loaded(text, tmp_path)
    assert found.releases[0].query == TOY and type(found.releases[0].query) is Toy
    assert found.releases[0].values.tolist() == [7, 9]
    assert evidence_file.to_json(found) == text
    assert "secret" not in text
    assert evidence_file.kind(found.releases[0], SCHEMA) == "toys"
    assert not evidence_file.step_by_step(found)
    source = Path(privet.__file__).parent
    assert not any('"Toy"' in path.read_text("utf-8") for path in source.rglob("*.py"))


def test_a_file_from_before_a_field_was_there_is_read(tmp_path: Path) -> None:
    """A field with a default is one that was added later."""
    document = json.loads(evidence_file.to_json(kept()))
    del document["releases"][0]["query"]["way"]
    assert loaded(json.dumps(document), tmp_path).releases[0].query == TOY


REMOVED = object()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("kind",), "Toys"),
        (("kind",), ["Toy"]),
        (("kind",), REMOVED),
        (("columns",), "ab"),
        (("columns",), ["a", 1]),
        (("columns",), ["a", "c"]),
        (("columns",), ["a"]),
        (("weighing",), REMOVED),
        (("weighing",), [2, 0.5]),
        (("weighing", "power"), 2.0),
        (("weighing", "power"), True),
        (("weighing", "power"), "2"),
        (("weighing", "scale"), "0.5"),
        (("weighing", "scale"), REMOVED),
        (("weighing", "seed"), "c2VjcmV0"),
        (("pairs",), None),
        (("pairs", 0), [1]),
        (("pairs", 0), [1, 0.25, 3]),
        (("pairs", 0), [0.25, 1]),
        (("way",), "sideways"),
        (("group",), 3),
        (("colour",), "red"),
    ],
)
def test_a_damaged_query_is_refused(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    document = json.loads(evidence_file.to_json(kept()))
    part = document["releases"][0]["query"]
    for step in place[:-1]:
        part = part[step]
    if value is REMOVED:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    with pytest.raises(EvidenceError, match="damaged"):
        loaded(json.dumps(document), tmp_path)


def test_a_query_refuses_the_answers_that_it_cannot_have(tmp_path: Path) -> None:
    noisy, exact = (kept(values=np.array([-1, 9]), variance=v) for v in (4.0, 0.0))
    assert loaded(evidence_file.to_json(noisy), tmp_path).releases[0].values[0] == -1
    with pytest.raises(EvidenceError, match="damaged"):
        loaded(evidence_file.to_json(exact), tmp_path)


@pytest.mark.parametrize(
    ("of_release", "private"),
    [
        ({}, True),
        ({"variance": 0.0}, False),
        ({"mechanism": "Exact"}, False),
        ({"mechanism": "Toy noise, as published"}, False),
    ],
)
def test_a_promise_of_privacy_needs_noise(
    of_release: dict[str, Any], private: bool, tmp_path: Path
) -> None:
    saved = replace(kept(**of_release), certificate={"private": True, "epsilon": 1.0})
    text = evidence_file.to_json(saved)
    if private:
        assert loaded(text, tmp_path).releases[0].query == TOY
    else:
        with pytest.raises(EvidenceError, match="damaged"):
            loaded(text, tmp_path)


def test_bounds_follow_from_that_of_each_number() -> None:
    people = replace(SCHEMA, rows_per_person=3)
    assert (TOY.linf(people), TOY.l1(people), TOY.l2_squared(people)) == (3, 6, 18)


def test_a_query_without_a_bound_is_none() -> None:
    class Boundless(Query):
        """It forgets to say how far one person moves it."""

        check, size, evaluate = Toy.check, Toy.size, Toy.evaluate

    with pytest.raises(TypeError, match="linf"):
        Boundless()  # type: ignore[abstract]


class Unkept(Query):
    """It may be asked, but files know nothing of it."""

    check, size, linf, evaluate = Toy.check, Toy.size, Toy.linf, Toy.evaluate


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="Toy"):
        base.codec("Toy", evidence="toys")(Unkept)
    assert Unkept.name == ""


def test_a_query_without_a_codec_is_not_written() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wider(Toy):
        """It has the name of another by inheritance only."""

    for query in (Unkept(), Wider(columns=(), weighing=TOY.weighing)):
        with pytest.raises(TypeError, match="has no codec"):
            base.to_document(query)


def test_a_release_gives_its_query_to_those_who_know_its_kind() -> None:
    (release,) = kept().releases
    assert release.asked(Toy) is TOY
    with pytest.raises(TypeError, match="no Tables"):
        release.asked(Tables)


def test_the_table_of_all_columns_serves_as_tables() -> None:
    assert Tables((("a", "b"),)).kind(SCHEMA) == "tables"
    assert Tables((("a",),)).kind(SCHEMA) == "counts"
    assert Components((("a",),)).kind(SCHEMA) == "tables"


def test_what_follows_from_answers_cannot_be_asked_of_rows() -> None:
    decisions = Decisions(tests=3, length=0)
    for asked in (decisions.l1, decisions.l2_squared, decisions.linf):
        with pytest.raises(MethodError, match="cannot be asked of rows"):
            asked(SCHEMA)
    with pytest.raises(MethodError, match="cannot be asked of rows"):
        decisions.evaluate(None, SCHEMA)  # type: ignore[arg-type]


def test_a_whole_number_may_stand_for_a_real_one_and_stays_what_it_is() -> None:
    found = codec.decoded(Weighing, {"power": 2, "scale": 3})
    assert found.scale == 3 and type(found.scale) is int


@pytest.mark.parametrize(
    ("file", "needed", "not_needed"),
    [
        ("interactions", "privet.privacy.queries.tables", "privet.methods.catalogue"),
        ("pairs", "privet.privacy.queries.pairs", "privet.pairs.quartiles"),
        ("weights", "privet.methods.literature.weights", "privet.api.discover"),
    ],
)
def test_a_query_is_found_when_a_file_names_it(file: str, needed: str, not_needed: str) -> None:
    """In a fresh interpreter: rooms are looked through only until the query is known."""
    path = Path(__file__).parents[2] / "golden" / f"{file}.evidence.json"
    code = (
        "import sys; from privet.results import saved\n"
        f"assert {needed!r} not in sys.modules\n"
        f"saved.load({str(path)!r})\n"
        f"assert {needed!r} in sys.modules and {not_needed!r} not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
