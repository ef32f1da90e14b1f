"""PERI as published is convicted by what one site sends, also where its sensitivity would hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.methods.literature.as_published import peri as noisy
from privet.methods.literature.as_published.site_scores import local_scores
from privet.schema.column import Column
from privet.schema.model import Schema
from privet.search.peri import peri
from privet.search.regret import Scored
from privet.trust.session import without_privacy
from tests.helpers.population import Floats
from tests.privacy.test_audit import refuted
from tests.search.test_pc import no_knowledge

NAMES = ("a", "b", "c", "d")
NUMBERS = Schema(
    name="site",
    columns=tuple(Column(name=name, kind="numeric", bounds=(-8, 8)) for name in NAMES),
)
WORDS = Schema(
    name="site",
    columns=tuple(Column(name=n, kind="categorical", levels=("no", "yes")) for n in NAMES),
)
EPSILON = 1.0
RUNS = 8000


def numbers(last: bool) -> dict[str, list[float]]:
    """Independent columns of 200 people; the last person is far out in all of them."""
    rows = np.random.default_rng(1).normal(size=(200, 4))
    if last:
        rows = np.concatenate([rows, np.full((1, 4), 8.0)])
    return dict(zip(NAMES, rows.T.tolist(), strict=True))


def words(last: bool) -> dict[str, list[str]]:
    """2,000 people who answer no to everything, and one who does not."""
    rows = np.full((2000, 4), "no", dtype=object)
    if last:
        rows = np.concatenate([rows, np.full((1, 4), "yes", dtype=object)])
    return dict(zip(NAMES, rows.T.tolist(), strict=True))


def first_message(data: dict[str, Any], schema: Schema, score: str) -> Floats:
    """The regrets that the site would send first, without noise."""
    site = Scored(local_scores([without_privacy(data, schema)], score))
    return peri([site], no_knowledge(4), rounds=1).sent[0][0]


def heard(without: Floats, present: Floats, seed: int) -> tuple[Floats, Floats]:
    """Log likelihood ratios of messages with the paper's noise, for either table."""
    scale, draw = noisy.SENSITIVITY / EPSILON, noisy.noise(EPSILON, seed)
    first, second = (
        truth + draw(RUNS * len(truth)).reshape(RUNS, -1) for truth in (without, present)
    )
    first, second = (
        (abs(messages - without) - abs(messages - present)).sum(axis=1) / scale
        for messages in (first, second)
    )
    return first, second


def test_it_is_convicted_by_the_first_message_of_one_site() -> None:
    """Of twelve iterations and more. The claim is epsilon 1 for the whole run."""
    for score in ("bic", "aic"):
        without, present = (first_message(numbers(last), NUMBERS, score) for last in (False, True))
        assert len(without) == 1 + 4 * 3
        assert refuted(*heard(without, present, 1), 2 * EPSILON, 0.0)


def test_it_is_convicted_where_one_regret_keeps_to_the_sensitivity() -> None:
    """With noise for as much as one person moves any of the numbers, all of them together tell:
    the regret of the empty graph by 14.4 nats, those after each step by 5.8."""
    without, present = (first_message(words(last), WORDS, "bic") for last in (False, True))
    fair = noisy.SENSITIVITY / abs(without - present).max()
    assert refuted(*heard(fair * without, fair * present, 2), 1.5 * EPSILON, 0.0)


def test_the_auditor_finds_no_more_than_there_is() -> None:
    """What a message gives away is at most the sum of what one person moves over the scale."""
    without, present = (first_message(numbers(last), NUMBERS, "bic") for last in (False, True))
    little = present - 0.9 * (present - without)
    there = abs(present - little).sum() / (noisy.SENSITIVITY / EPSILON)
    assert not refuted(*heard(little, present, 3), there, 0.0)
    assert not refuted(*heard(without, without, 4), 0.2, 0.0)
