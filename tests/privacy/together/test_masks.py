"""Masks cancel in the sum over a whole roster that was asked one question, and nowhere else."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from privet.errors import StudyError
from privet.privacy.queries.tables import Components
from privet.privacy.together.keys import SecretKeys
from privet.privacy.together.masks import total_mask
from privet.privacy.together.wire import Ask, Place, Question, Words
from privet.trust.together import FAR, added
from tests.helpers.laws import FALSE_ALARM
from tests.helpers.studies import SITES, ask_for, found

SIZE = 20_000
STUDY, DIGEST = "ab" * 32, "cd" * 32


@pytest.fixture(scope="module")
def masks() -> list[Words]:
    keys = [SecretKeys.make(name) for name in SITES]
    public = [key.public() for key in keys]
    return [total_mask(key, public, STUDY, DIGEST, SIZE) for key in keys]


def test_all_together_are_nothing(masks: list[Words]) -> None:
    assert not sum(masks[1:], start=masks[0]).any()


def test_any_fewer_are_uniform(masks: list[Words]) -> None:
    """Every bit of every proper part of the sum is set in half of the numbers, and no two parts
    go together."""
    limit = norm.isf(FALSE_ALARM / (2 * 64 * 30)) / 2 * np.sqrt(SIZE)
    for count in range(1, len(masks)):
        for chosen in combinations(masks, count):
            part = sum(chosen[1:], start=chosen[0])
            bits = np.unpackbits(part.view(np.uint8)).reshape(SIZE, 64).sum(axis=0)
            assert np.abs(bits - SIZE / 2).max() < limit
    first, second = (mask.astype(float) - 2.0**63 for mask in masks[:2])
    assert abs(np.corrcoef(first, second)[0, 1]) < norm.isf(FALSE_ALARM / 2) / np.sqrt(SIZE)


def test_another_question_has_another_mask() -> None:
    keys = [SecretKeys.make(name) for name in SITES[:2]]
    public = [key.public() for key in keys]
    seen = {
        total_mask(keys[0], public, study, digest, 4).tobytes()
        for study in (STUDY, "ef" * 32)
        for digest in (DIGEST, "01" * 32)
    }
    assert len(seen) == 4


def changes(ask: Ask) -> list[Ask]:
    """The question with one field after the other changed: all fields there are, so that a new one
    cannot be forgotten."""
    other: dict[str, dict[str, object]] = {
        "place": {
            "attempt": 2,
            "stage": 2,
            "roster": SITES[:4],
            "budget": ask.place.budget - 1,
        },
        "questions": {"query": Components((("smoke",),)), "price": ask.questions[0].price - 1},
    }
    assert {field.name for field in fields(Ask)} == set(other)
    assert {field.name for field in fields(Place)} == set(other["place"])
    assert {field.name for field in fields(Question)} == set(other["questions"])
    made = [replace(ask, place=replace(ask.place, **{k: v})) for k, v in other["place"].items()]  # type: ignore[arg-type]
    made += [
        replace(ask, questions=(replace(ask.questions[0], **{k: v}),))  # type: ignore[arg-type]
        for k, v in other["questions"].items()
    ]
    return [*made, replace(ask, questions=ask.questions * 2)]


def test_a_field_told_differently_to_one_site_makes_garbage(
    tmp_path: Path,
) -> None:
    """The coordinator may even ask the victim with its own signature: the sum is useless."""
    study = found(tmp_path)
    ask = ask_for(study.lock, rho=0.002, sets=[("cough",), ("dust",)])
    rest = [study.answer(name, ask) for name in SITES[1:]]
    digest = ask.digest(study.lock.study, study.lock.tolerated)
    for changed in changes(ask):
        odd = study.answer(SITES[0], changed)
        assert odd.digest != digest
        with pytest.raises(StudyError, match="another question"):
            added([odd, *rest], ask, study.lock)
        count = min(len(odd.words()), 2)
        forged = odd.words()[:count] + sum(
            (answer.words()[:count] for answer in rest), start=np.zeros(count, dtype=np.uint64)
        )
        # a uniform number lies below 2^22, where counts are, with probability 2^-41
        assert (np.abs(forged.astype(np.int64)) > FAR >> 40).all()
    right = study.answer(SITES[0], ask)
    assert (np.abs(added([right, *rest], ask, study.lock).astype(np.int64)) < FAR >> 30).all()


def test_another_study_has_other_masks(tmp_path: Path) -> None:
    """t, the schema, the budget and the keys are in the lock, whose hash is in every digest."""
    lock = found(tmp_path).lock
    ask = ask_for(lock)
    digest = ask.digest(lock.study, lock.tolerated)
    for changed in (
        replace(lock, tolerated=2, fewest=4),
        replace(lock, epsilon=0.5),
        replace(lock, delta=1e-7),
        replace(lock, schema=replace(lock.schema, rows_per_person=2)),
        replace(lock, nonce="00" * 16),
        replace(lock, sites=lock.sites[:4]),
        replace(lock, method="interaction-ges"),
        replace(lock, name="other"),
    ):
        assert ask.digest(changed.study, lock.tolerated) != digest
    assert ask.digest(lock.study, 2) != digest
