"""One question of a study whose sites add up, heard by a coordinator with whom one site colludes.

Sites have real keys, policies, ledgers, noise and masks. The one that colludes takes its mask and
its noise away from the sum, which the promise allows for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from privet.api.rehearse_together import allow
from privet.api.study import join_study, lock_study
from privet.arrays import Floats
from privet.attacks.evidence import Outcome
from privet.attacks.worst_cases import Data, Neighbours
from privet.privacy.ledger.conversion import budget_for
from privet.privacy.queries.tables import Tables
from privet.privacy.together import keys
from privet.privacy.together.lock import ACCOUNTING, Lock
from privet.privacy.together.masks import total_mask
from privet.privacy.together.wire import MOST_QUESTIONS, UNIT, Ask, Place, Question
from privet.results.together import code
from privet.trust import study
from privet.trust.session import opened, without_privacy

TOGETHER = "together"
SITES = ("a", "b", "c")
PLENTY = 1e9  # the study's epsilon, which pays for many questions; each has its own promise


def shares(
    two: Neighbours, epsilon: float, delta: float
) -> tuple[Callable[[int, int], list[Outcome]], int]:
    """``listen``, and how many questions are asked at once; each is one run, paid with all that
    (epsilon, delta) buys."""
    query = Tables((two.schema.names,))
    answers = [without_privacy(table, two.schema).exact(query).values for table in two.tables]
    moved = (answers[1] - answers[0]).astype(np.float64)
    price = int(budget_for(epsilon, delta, ACCOUNTING) * UNIT)
    question = Question(query=query, price=price)

    def listen(side: int, runs: int) -> list[Outcome]:
        with TemporaryDirectory() as folder:
            rehearsal = Rehearsal(Path(folder), two, side, delta)
            asks = [min(MOST_QUESTIONS, runs - done) for done in range(0, runs, MOST_QUESTIONS)]
            heard = [rehearsal.ask((question,) * size) for size in asks]
        return [Outcome(known=float(seen @ moved)) for each in heard for seen in each]

    return listen, 16 * MOST_QUESTIONS


class Rehearsal:
    """Three sites in one process: the first has the table or its neighbour, the last colludes."""

    def __init__(self, folder: Path, two: Neighbours, side: int, delta: float) -> None:
        for name in SITES:
            study.new_site(name, folder / name, name)
            allow(folder / name / "policy.toml")
        public = [folder / name / "public.json" for name in SITES]
        made = folder / "study"
        self._lock: Lock = lock_study(
            public, two.schema, made, epsilon=PLENTY, delta=delta, tolerate=1
        )
        self._spy = keys.load_secret(folder / SITES[-1])
        self._doors = []
        for name, data in zip(SITES, (two.tables[side], two.tables[0], _empty(two)), strict=True):
            book = opened(":memory:")
            book.create(name, epsilon=PLENTY, delta=delta)
            join_study(made / "study.lock", folder / name, code(self._lock))
            self._doors.append(study.site_of(folder / name, self._lock, data, book))
        self._stage = count(1)

    def ask(self, questions: tuple[Question, ...]) -> Floats:
        """The sums of honest shares, one line for each question."""
        lock = self._lock
        place = Place(attempt=1, stage=next(self._stage), roster=SITES, budget=lock.budget)
        ask = Ask(place=place, questions=questions)
        texts = [door.ask(ask) for door in self._doors]
        words = [study.read_answer(text, lock, "a site").words() for text in texts]
        mask = total_mask(
            self._spy, lock.sites, lock.study, ask.digest(lock.study, 1), len(words[-1])
        )
        honest = words[0] + words[1] + mask  # as the masks of all three cancel
        return honest.astype(np.int64).reshape(len(questions), -1).astype(np.float64)


def _empty(two: Neighbours) -> Data:
    return {name: [] for name in two.schema.names}
