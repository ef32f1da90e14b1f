"""The coordinator of a study, whatever carries the messages: asks, waits, and goes on with fewer.

Before each question all sites are asked whether they would answer, which costs nothing; those that
refuse or are gone are left out. When a site is lost, the attempt is lost with it, and the next one
begins with the other sites and what is left of the budget. Answers are kept in a folder as they
come, so that a coordinator that was stopped goes on where it was; sites answer the same question
with the same bytes again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from privet.api.study import run_study
from privet.errors import StudyError
from privet.methods.options import Settings
from privet.privacy.together.lock import Lock
from privet.privacy.together.wire import Answer, Ask, Place
from privet.results.discovery import Discovery
from privet.trust import study
from privet.trust.together import Waiting, first_place, next_place

# Carries one message to several sites and brings the answers of those who have answered.
Send = Callable[[Sequence[str], bytes], Mapping[str, bytes]]
OnNote = Callable[[str], None]
STATE = "state.json"


@dataclass(kw_only=True)
class Conductor:
    """``keys`` is the coordinator's folder; ``kept`` where answers and the state are kept."""

    lock: Lock
    keys: Path
    kept: Path
    send: Send
    on_note: OnNote = lambda _note: None
    messages: int = 0
    received: int = 0
    _spent: int = field(default=0, init=False)

    def run(self, settings: Settings, method: str | Sequence[str] = "auto") -> Discovery:
        """The graph; attempts follow each other until one has all its answers."""
        self.kept.mkdir(parents=True, exist_ok=True)
        place = self._resumed() or self._opened()
        while True:
            self._write(place)
            try:
                found = run_study(self.lock, self._post, settings, place=place, method=method)
            except Waiting as waiting:
                self.on_note(
                    f"{', '.join(waiting.missing)} did not answer stage {waiting.ask.place.stage}; "
                    "the others are asked anew, with what is left of the budget"
                )
                left = tuple(n for n in place.roster if n not in waiting.missing)
                place = next_place(self.lock, place.attempt + 1, left, self._spent)
                continue
            self._close(place.roster)
            return found

    def _opened(self) -> Place:
        """The first attempt, with all sites that would answer."""
        first = first_place(self.lock)
        out = self._not_ready(first.roster)
        ready = tuple(name for name in first.roster if name not in out)
        for name, word in out.items():
            self.on_note(f"{name} is left out: {word}")
        if len(ready) < self.lock.fewest:
            why = ", ".join(f"{name}: {word}" for name, word in out.items())
            raise StudyError(
                f"{len(ready)} of {len(first.roster)} sites would answer, but the lock wants "
                f"{self.lock.fewest} ({why}); nothing was spent"
            )
        return first if ready == first.roster else next_place(self.lock, 1, ready, 0)

    def _not_ready(self, names: Sequence[str]) -> dict[str, str]:
        """Who would not answer, and why."""
        answers = self._carried(names, study.request(self.keys, self.lock, "open"))
        words = {name: study.refusal_in(text, self.lock, name) for name, text in answers.items()}
        ready = {name for name, word in words.items() if word is None}
        return {name: words.get(name) or "no answer" for name in names if name not in ready}

    def _post(self, ask: Ask) -> Sequence[Answer]:
        known = {name: self._read(ask, name) for name in ask.place.roster}
        wanted = [name for name, answer in known.items() if answer is None]
        if gone := self._not_ready(wanted):
            raise Waiting(ask, list(gone))
        request = study.request(self.keys, self.lock, "ask", ask)
        for name, text in self._carried(wanted, request).items():
            if (word := study.refusal_in(text, self.lock, name)) is not None:
                self.on_note(f"{name} refuses: {word}")
                continue
            known[name] = study.read_answer(text, self.lock, name)
            self._file(ask, name).write_bytes(text)
        answers = [answer for answer in known.values() if answer is not None]
        if answers:
            self._spent += sum(question.price for question in ask.questions)
        missing = [name for name, answer in known.items() if answer is None]
        if missing:
            raise Waiting(ask, missing)
        return answers

    def _carried(self, names: Sequence[str], request: bytes) -> Mapping[str, bytes]:
        """One message to each, and what came back; a garbled answer is no answer."""
        if not names:
            return {}
        answers = dict(self.send(names, request))
        self.messages += len(names)
        self.received += sum(map(len, answers.values()))
        return {name: text for name, text in answers.items() if self._is_of(name, text)}

    def _is_of(self, name: str, text: bytes) -> bool:
        try:
            return study.signer(text, self.lock, name) == name
        except StudyError:
            return False

    def _close(self, roster: Sequence[str]) -> None:
        self._carried(roster, study.request(self.keys, self.lock, "close"))

    def _file(self, ask: Ask, name: str) -> Path:
        digest = ask.digest(self.lock.study, self.lock.tolerated)
        return self.kept / f"{ask.place.attempt}-{ask.place.stage}-{name}-{digest[:16]}.masked"

    def _read(self, ask: Ask, name: str) -> Answer | None:
        path = self._file(ask, name)
        return study.read_answer(path.read_bytes(), self.lock, str(path)) if path.exists() else None

    def _write(self, place: Place) -> None:
        said = {
            "study": self.lock.study,
            "attempt": place.attempt,
            "roster": place.roster,
            "budget": place.budget,
        }
        (self.kept / STATE).write_text(json.dumps(said), "ascii")

    def _resumed(self) -> Place | None:
        """Where a coordinator was stopped. What stands in the file is no secret; changed, it makes
        the sites refuse or the sums useless."""
        path = self.kept / STATE
        if not path.exists():
            return None
        try:
            said = json.loads(path.read_text("ascii"))
            if said.pop("study") != self.lock.study:
                raise ValueError("another study")
            place = Place(**{**said, "roster": tuple(said["roster"])}, stage=1)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            raise StudyError(
                f"{str(path)!r} is not the state of this study; choose another folder"
            ) from None
        self._spent = self.lock.budget - place.budget
        return place
