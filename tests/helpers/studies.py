"""A study of five small hospitals that add up, in one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from privet.api.study import join_study, lock_study
from privet.privacy.ledger.book import Ledger
from privet.privacy.queries.tables import Components
from privet.privacy.together.door import Door
from privet.privacy.together.lock import Lock
from privet.privacy.together.wire import UNIT, Answer, Ask, Place, Question
from privet.results.together import code
from privet.trust import study
from privet.trust.together import added, first_place
from tests.helpers.hospitals import SCHEMA, patients

SITES = tuple(f"hospital-{letter}" for letter in "abcde")


@dataclass(frozen=True, kw_only=True)
class Study:
    folder: Path
    lock: Lock
    rows: Mapping[str, Any]

    @property
    def path(self) -> Path:
        return self.folder / "study" / "study.lock"

    def door(self, name: str, **changed: Any) -> Door:
        """As after a restart; anything may be changed."""
        made = study.site_of(
            self.folder / name, self.lock, self.rows[name], self.folder / f"{name}.sqlite"
        )
        return replace(made, **changed)

    def ledger(self, name: str) -> Ledger:
        return Ledger(self.folder / f"{name}.sqlite")

    def entries(self, name: str) -> int:
        account = self.ledger(name).account(f"people of {name}")
        assert account is not None
        return sum(len(run.entries) for run in account.runs)

    def signed(self, kind: str, ask: Ask | None = None) -> bytes:
        return study.request(self.folder / "study", self.lock, kind, ask)

    def answer(self, name: str, ask: Ask) -> Answer:
        return study.read_answer(self.door(name).answer(self.signed("ask", ask)), self.lock, name)

    def refusal(self, name: str, request: bytes, **changed: Any) -> str | None:
        return study.refusal_in(self.door(name, **changed).answer(request), self.lock, name)

    def total(self, ask: Ask) -> list[int]:
        answers = [self.answer(name, ask) for name in ask.place.roster]
        return [int(value) for value in added(answers, ask, self.lock).astype("int64")]


def ask_for(
    lock: Lock,
    *,
    sets: Sequence[tuple[str, ...]] = ((),),
    rho: float = 0.01,
    **place: Any,
) -> Ask:
    """A question about components; of the number of rows, unless said otherwise."""
    query = Components(tuple(sets))
    return Ask(
        place=replace(first_place(lock), **place),
        questions=(Question(query=query, price=int(rho * UNIT)),),
    )


def place(lock: Lock, **changed: Any) -> Place:
    return replace(first_place(lock), **changed)


def found(folder: Path, *, rows: int = 400, names: Sequence[str] = SITES, **asked: Any) -> Study:
    """Keys, ledgers, a lock, and sites that have joined."""
    for name in names:
        study.new_site(name, folder / name, f"people of {name}")
        Ledger(folder / f"{name}.sqlite").create(f"people of {name}", epsilon=4, delta=1e-5)
    lock = lock_study(
        [folder / name / "public.json" for name in names],
        asked.pop("schema", SCHEMA),
        folder / "study",
        **{"epsilon": 1.0, **asked},
    )
    for name in names:
        join_study(folder / "study" / "study.lock", folder / name, code(lock))
    data = {name: patients(seed, rows) for seed, name in enumerate(names)}
    return Study(folder=folder, lock=lock, rows=data)
