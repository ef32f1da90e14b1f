"""The door of a site: bytes in, bytes out, and nothing else leaves it.

A question is charged, with its digest, before a row is read; its answer is kept before it is sent.
So the same question gets the same bytes again for nothing, whatever was lost or restarted; and if
the site dies in between, that question never gets an answer: the next attempt is another question.
Noise is drawn once for a question and never kept for another: with kept noise, two rosters that
differ by one site would show the difference.

Who asks is believed for the signature alone, and what is asked is acted upon as it is parsed here.
No error's text travels: a refusal to take part is one of a few words, which follow from the lock,
the policy, the ledger and the header of the data. A question that is not answered gets the same
word whatever the cause is: one of its own for data that have changed would tell that they did.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import BudgetError, LedgerError, MethodError, PrivetError, StudyError
from privet.files.scratch import held
from privet.privacy.engines.place import files
from privet.privacy.ledger import studies
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.run import Run
from privet.privacy.mechanisms import GaussianShare
from privet.privacy.queries import cut, moments, tables, white
from privet.privacy.queries.codec import encoded
from privet.privacy.together import keys, policy, wire
from privet.privacy.together.keys import SecretKeys
from privet.privacy.together.lock import SITE_COLUMN, Lock
from privet.privacy.together.masks import total_mask
from privet.privacy.together.policy import Policy
from privet.privacy.together.wire import UNIT, Answer, Ask, canonical
from privet.privacy.vault import Vault
from privet.schema.model import Schema

JOINED, CHARGED, DATA = "joined", "charged", "data.sha256"
FAILED = "failed"
QUERIES = (
    tables.Components,
    tables.Tables,
    white.White,
    cut.Cut,
    moments.Locations,
    moments.Moments,
)
MOST_NUMBERS = 1 << 22  # of one answer: 32 MB, and a third more as text
MOST_ANSWER = 1 << 26


class Refusal(StudyError):
    """Why a site does not answer: the word is for others, the sentence for its own people."""

    def __init__(self, word: str, sentence: str) -> None:
        super().__init__(sentence)
        self.word = word


@dataclass(frozen=True, kw_only=True)
class Door:
    """Of one site in one study. ``folder`` holds its keys and its policy. ``on_refusal`` tells the
    site's own people why others get no answer."""

    folder: Path
    lock: Lock
    ledger: Ledger
    data: object
    on_refusal: Callable[[Exception], None] = lambda _error: None

    def __repr__(self) -> str:
        return f"Door({str(self.folder)!r})"

    @cached_property
    def _keys(self) -> SecretKeys:
        return keys.load_secret(self.folder)

    @cached_property
    def _policy(self) -> Policy:
        return policy.load(self.folder)

    @cached_property
    def _schema(self) -> Schema:
        """The study's, under the name that this site gives its people."""
        return replace(self.lock.schema, name=self._policy.account)

    @property
    def _terms(self) -> studies.Terms:
        return studies.Terms(
            study=self.lock.study,
            dataset=self._policy.account,
            epsilon=self.lock.epsilon,
            delta=self.lock.delta,
            rho=Fraction(self.lock.budget, UNIT),
            method=self.lock.method,
            unit=self._schema.unit,
        )

    # -- for the coordinator

    def answer(self, request: bytes) -> bytes:
        """The answer to whatever arrives; it never raises."""
        try:
            said = keys.opened(request, wire.REQUEST, self.lock.coordinator.sign)
            kind, ask = wire.read_request(said)
            if said["study"] != self.lock.study:
                raise Refusal("request", "this is another study")
            if kind == "ask" and ask is not None:
                return self._asked(ask)
            handlers: dict[str, Callable[[], None]] = {"open": self.check, "close": self.close}
            handlers[kind]()
            return self._signed({"done": kind})
        except Exception as error:
            return self._refused(error, _word(error))

    def _asked(self, ask: Ask) -> bytes:
        try:
            return self.ask(ask)
        except Exception as error:  # whatever it is, and whatever it depends on
            return self._refused(error, FAILED)

    def _refused(self, error: Exception, word: str) -> bytes:
        self.on_refusal(error)
        return self._signed({"refused": word})

    # -- for the site's own people

    def check(self) -> None:
        """Refuses what this site would refuse, before anything is charged or read."""
        self.check_lock()
        if self._joined != self.lock.study:
            raise Refusal(
                "policy",
                "this site has not joined this study; compare the code of the lock with the other "
                "sites and type it in: privet site join",
            )
        studies.check_room(self.ledger, self._terms)
        if isinstance(self.data, str | Path) and files(self.data) is None:
            raise Refusal(
                "data",
                "the data are a table of a server, of which nobody can tell whether all questions "
                "of a study see the same rows; export the table as a file",
            )
        self._vault(None)  # holds the header against the schema

    def check_lock(self) -> None:
        """Whether this site is meant by the lock, and its policy allows the study."""
        mine = self.lock.site(self._keys.name)
        if mine != self._keys.public():
            raise Refusal(
                "sites",
                f"the lock has {'other keys for' if mine else 'no site'} {self._keys.name!r}; "
                "these are the keys of another study, or somebody has changed the lock",
            )
        if (problem := self._policy.refusal(self.lock)) is not None:
            raise Refusal(*problem)

    def ask(self, ask: Ask) -> bytes:
        """The signed answer to a question; it is charged if it is new."""
        with held(self.folder):
            self._check_place(ask)
            self.check()
            now = self._fingerprint()  # before a charge, which stays whatever fails after it
            run = studies.enter(self.ledger, self._terms)
            digest = ask.digest(self.lock.study, self.lock.tolerated)
            context = f"{self._keys.name} {digest}"  # two sites may pay from one ledger
            kept = studies.message_of(self.ledger, run, context)
            if kept is not None:
                return kept
            self._check_memory(run, now)
            message = self._measured(ask, run, digest, context, now)
            studies.keep(self.ledger, run, context, message)
            return message

    def close(self) -> None:
        """Gives back what was not spent, and destroys the keys: what was recorded stays closed."""
        self.check_lock()  # and the keys are read for a last time
        studies.leave(self.ledger, self._terms)
        (self.folder / keys.SECRET).unlink(missing_ok=True)

    # -- inside

    def _vault(self, run: Run | None) -> Vault:
        """Where sites are compared, every row here has this site's name in one column more."""
        here = self._keys.name
        names = [site.name for site in self.lock.sites]
        constant = {SITE_COLUMN: names.index(here)} if self.lock.compare_sites else None
        return Vault(self.data, self._schema, run, constant)

    def _measured(
        self, ask: Ask, run: Run, digest: str, context: str, fingerprint: str | None
    ) -> bytes:
        honest = len(ask.place.roster) - self.lock.tolerated
        asked = [
            (question.query, GaussianShare(rho=question.rho, honest=honest))
            for question in ask.questions
        ]
        what = f"stage {ask.place.stage} of study {self.lock.name!r}, attempt {ask.place.attempt}"
        shares = self._vault(run).share(asked, what, lambda db: studies.claim(db, run.id, context))
        self._remember(run, fingerprint)
        numbers = np.concatenate(shares).astype(np.uint64)
        everybody = [site for site in self.lock.sites if site.name in ask.place.roster]
        numbers += total_mask(self._keys, everybody, self.lock.study, digest, len(numbers))
        account = self.ledger.balance(self._policy.account)
        assert account is not None  # the run is in it
        answer = Answer(
            study=self.lock.study,
            site=self._keys.name,
            place=ask.place,
            digest=digest,
            price=sum(question.price for question in ask.questions),
            people=str(account.people),
            numbers=Answer.text(numbers),
        )
        return self._signed(encoded(answer))

    def _check_place(self, ask: Ask) -> None:
        place, names = ask.place, {site.name for site in self.lock.sites}
        if list(place.roster) != sorted(set(place.roster)) or not set(place.roster) <= names:
            raise Refusal("sites", "the roster is not sorted, or names sites outside the lock")
        if self._keys.name not in place.roster:
            raise Refusal("sites", f"{self._keys.name!r} is not in the roster of this question")
        if len(place.roster) < self.lock.fewest:
            raise Refusal(
                "sites",
                f"{len(place.roster)} sites are asked, but the lock wants {self.lock.fewest}",
            )
        if ask.price * UNIT > place.budget or place.budget > self.lock.budget:
            raise Refusal("budget", "the question costs more than the study may")
        size = 0
        for question in ask.questions:
            if not isinstance(question.query, QUERIES):
                raise Refusal("method", f"{question.query} is not asked where sites add up")
            question.query.check(self.lock.schema)
            size += question.query.size(self.lock.schema)
        if size > MOST_NUMBERS:
            raise Refusal("request", f"{size} numbers are asked for; at most {MOST_NUMBERS}")

    def _check_memory(self, run: Run, fingerprint: str | None) -> None:
        """A ledger that was restored from a backup has forgotten charges, and data that were
        changed since the first stage belong to other answers."""
        told = self.folder / CHARGED
        if told.exists() and int(told.read_text("ascii")) > studies.charged(self.ledger, run):
            raise Refusal(
                "budget",
                "the ledger knows of fewer charges than this site has made: it was restored from "
                "an older copy. Close the study, and count what was forgotten as spent",
            )
        known = self.folder / DATA
        if known.exists() and known.read_text("ascii") != fingerprint:
            raise Refusal(
                "data", "the data have changed since the first stage of this study; restore them"
            )

    def _remember(self, run: Run, fingerprint: str | None) -> None:
        """Notes beside the ledger how often was charged, and of which data; both stay here."""
        _write(self.folder / CHARGED, str(studies.charged(self.ledger, run)))
        if not (self.folder / DATA).exists() and fingerprint is not None:
            _write(self.folder / DATA, fingerprint)

    def _fingerprint(self) -> str | None:
        """Of all files that hold the rows; None of a frame. It stays at this site."""
        found = files(self.data)
        if found is None:
            return None
        try:
            each = [_digest(path) for path in found]
        except OSError as error:
            raise Refusal("data", f"the data cannot be read ({error.strerror})") from None
        if len(each) == 1:
            return each[0]
        names = (str(path.absolute()) for path in found)
        return sha256(canonical(dict(zip(names, each, strict=True)))).hexdigest()

    @property
    def _joined(self) -> str | None:
        path = self.folder / JOINED
        return path.read_text("ascii").strip() if path.exists() else None

    def _signed(self, said: dict[str, object]) -> bytes:
        named = {"study": self.lock.study, "site": self._keys.name}
        return self._keys.signed(wire.ANSWER, {**said, **named})


def join(folder: Path, lock: Lock) -> None:
    """Writes down that the code of this lock was compared with the other sites."""
    _write(folder / JOINED, lock.study)


def _write(path: Path, text: str) -> None:
    """Whole or not at all, and for the owner's eyes."""
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    keys.write_secret(part, text)
    os.replace(part, path)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        total = sha256()
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()


def _word(error: Exception) -> str:
    if isinstance(error, Refusal):
        return error.word
    if isinstance(error, BudgetError | LedgerError):
        return "budget"
    if isinstance(error, MethodError):
        return "method"
    if isinstance(error, PrivetError):
        return "data"
    return "request" if isinstance(error, KeyError | TypeError | ValueError) else FAILED


def said_by(text: bytes, lock: Lock, origin: str) -> dict[str, Any]:
    """What a site of this study has signed: an answer, a refusal or a word that it is done."""
    for site in lock.sites:
        try:
            said = keys.opened(text, wire.ANSWER, site.sign, most=MOST_ANSWER)
        except ValueError:
            continue
        if (said.get("site"), said.get("study")) == (site.name, lock.study):
            return said
    raise StudyError(
        f"{origin!r} is signed by no site of this study, or was changed on its way; ask the site "
        "for a fresh copy"
    )
