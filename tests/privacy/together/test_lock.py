"""The lock of a study: what it must not be, and what changes its code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet.api.study import join_study
from privet.errors import PrivetError, StudyError
from privet.privacy.together.lock import Lock, load, read
from privet.results.together import code
from privet.schema.model import Adjacency
from tests.helpers.studies import SITES, Study


def test_a_lock_is_read_as_it_was_written(shared: Study) -> None:
    again = load(shared.path)
    assert again == shared.lock and again.study == shared.lock.study
    assert again.honest == 4 and again.fewest == 3 and len(code(again).split()) == 8


def changed(lock: Lock, **facts: Any) -> bytes:
    return json.dumps(
        {**json.loads(lock.text), **facts}, sort_keys=True, separators=(",", ":")
    ).encode()


def test_what_no_lock_may_be_is_refused(lock: Lock) -> None:
    site = json.loads(lock.text)["sites"][0]
    others = json.loads(lock.text)["sites"][1:]
    bad: tuple[dict[str, Any], ...] = (
        {"tolerated": 5},
        {"tolerated": -1},
        {"tolerated": True},
        {"tolerated": 1.0},
        {"fewest": 1},
        {"fewest": 6},
        {"epsilon": 0.0},
        {"epsilon": "1"},
        {"delta": 0.0},
        {"delta": 0.5},
        {"nonce": ""},
        {"sites": []},
        {"sites": [site]},
        {"sites": [site, site, *others]},
        {"sites": [*others, site]},
        {"sites": [{**site, "name": "Hospital-A"}, *others]},
        {"sites": [{**site, "name": "hospital-a\0"}, *others]},
        {"sites": [{**site, "agree": others[0]["agree"]}, *others]},
        {"sites": [{**site, "sign": others[0]["sign"]}, *others]},
        {"sites": [{**site, "sign": "zz" * 32}, *others]},
        {"sites": [{**site, "more": ""}, *others]},
        {"coordinator": {**site, "name": "coordinator"}},
        {"compare_sites": 1},
        {"compare_sites": True},
        {"extra": 1},
        {"privet study": 2},
        {"schema": "{}"},
        {"schema": "[" * 100_000},
        {"schema": 1},
    )
    for facts in bad:
        with pytest.raises(PrivetError):
            read(changed(lock, **facts))
    assert read(changed(lock)) == lock


def test_another_spelling_is_no_lock(lock: Lock) -> None:
    text = lock.text.encode()
    for odd in (
        b" " + text.replace(b":", b": ", 1),
        text.replace(b'"epsilon":1.0', b'"epsilon":1.0,"epsilon":1.0'),
        text[:-1],
        b"",
        b"[]",
        b"\xff",
    ):
        with pytest.raises(StudyError, match=r"no lock|changed"):
            read(odd)


def test_replace_one_is_refused(lock: Lock) -> None:
    schema = replace(lock.schema, adjacency=Adjacency.REPLACE_ONE, rows=100)
    with pytest.raises(StudyError, match="add-remove"):
        replace(lock, schema=schema)


def test_everything_changes_the_code(lock: Lock) -> None:
    others = [
        replace(lock, tolerated=2, fewest=4),
        replace(lock, epsilon=1.1),
        replace(lock, nonce="00" * 16),
        replace(lock, sites=lock.sites[1:]),
        replace(lock, coordinator=replace(lock.coordinator, name="c")),
        replace(lock, schema=replace(lock.schema, sites_per_person=2)),
    ]
    assert len({code(one) for one in (lock, *others)}) == len(others) + 1


def test_the_code_is_typed_in(shared: Study, tmp_path: Path) -> None:
    right = code(shared.lock)
    wrong = " ".join([*right.split()[:-1], "babel" if right.split()[-1] != "babel" else "babin"])
    for typed in (wrong, "", right.replace(" ", ""), "y"):
        with pytest.raises(StudyError, match="is not that of this lock"):
            join_study(shared.path, shared.folder / SITES[0], typed)
    join_study(shared.path, shared.folder / SITES[0], f"  {right.upper()} ")
    other = tmp_path / "study.lock"
    other.write_text(replace(shared.lock, epsilon=2.0).text, "ascii")
    with pytest.raises(StudyError, match="largest_epsilon"):
        join_study(other, shared.folder / SITES[0], code(load(other)))


def test_keys_of_another_study_are_no_keys(shared: Study, tmp_path: Path) -> None:
    from privet.trust.study import new_site

    new_site(SITES[0], tmp_path / "again", "people")
    with pytest.raises(StudyError, match="other keys for"):
        join_study(shared.path, tmp_path / "again", code(shared.lock))
    new_site("hospital-z", tmp_path / "z", "people")
    with pytest.raises(StudyError, match="no site 'hospital-z'"):
        join_study(shared.path, tmp_path / "z", code(shared.lock))
    with pytest.raises(StudyError, match="the account is ''"):
        new_site(SITES[0], tmp_path / "nobody", "")
    assert not (tmp_path / "nobody").exists()
    with pytest.raises(StudyError, match="never written over"):
        new_site(SITES[0], tmp_path / "z", "people")
