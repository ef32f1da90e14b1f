"""A study whose sites add up: one site's side of it, and the coordinator's."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from privet.errors import StudyError
from privet.privacy.engines import place
from privet.privacy.together import door, keys, lock, policy, wire
from privet.privacy.together.door import Door
from privet.privacy.together.keys import PublicKeys, SecretKeys
from privet.privacy.together.lock import FEWEST, Lock
from privet.privacy.together.wire import Answer, Ask
from privet.schema.model import Schema
from privet.schema.names import SITE, SITE_RULE
from privet.trust.session import LedgerLike, opened

COORDINATOR = "coordinator"


def new_site(name: str, folder: Path, account: str) -> Path:
    """Fresh keys and a policy to begin with, in a new folder; the public keys are for others."""
    if not SITE.fullmatch(name):
        raise StudyError(f"the site is named {name!r}, but a name {SITE_RULE}")
    if not account.strip():
        raise StudyError(
            f"the account is {account!r}, but it names the site's people in its own ledger; give "
            "them a name, such as 'patients of hospital a'"
        )
    made = SecretKeys.make(name)
    _new_folder(folder)
    (folder / policy.POLICY).write_text(policy.text(account), "utf-8")
    policy.load(folder)
    return keys.save(made, folder)


def new_key(name: str, folder: Path) -> Path:
    """A key to sign results with, in a new folder; returns the public half."""
    if not SITE.fullmatch(name):
        raise StudyError(f"the key is named {name!r}, but a name {SITE_RULE}")
    made = SecretKeys.make(name)
    _new_folder(folder)
    return keys.save(made, folder)


def new_study(
    name: str,
    schema: Schema,
    sites: Sequence[PublicKeys],
    folder: Path,
    *,
    method: str,
    epsilon: float,
    delta: float,
    tolerated: int | None,
    fewest: int | None,
    compare_sites: bool,
) -> Lock:
    """A lock, and the coordinator's keys, in a new folder."""
    mine = SecretKeys.make(COORDINATOR)
    spared = default_tolerated(len(sites)) if tolerated is None else tolerated
    made = Lock(
        name=name,
        nonce=secrets.token_hex(16),
        schema=schema,
        method=method,
        epsilon=float(epsilon),
        delta=float(delta),
        tolerated=spared,
        fewest=min(max(FEWEST, spared + 2), len(sites)) if fewest is None else fewest,
        compare_sites=compare_sites,
        coordinator=mine.public(),
        sites=tuple(sorted(sites, key=lambda site: site.name)),
    )
    _new_folder(folder)
    keys.save(mine, folder)
    (folder / "study.lock").write_text(made.text + "\n", "ascii")
    return made


def default_tolerated(sites: int) -> int:
    """A third; at least one, or another site could subtract its own share from the sum."""
    return max(1, (sites - 1) // 3)


def site_of(
    folder: Path,
    study: Lock,
    data: object,
    ledger: LedgerLike,
    on_refusal: Callable[[Exception], None] = lambda _error: None,
) -> Door:
    return Door(folder=folder, lock=study, data=data, ledger=opened(ledger), on_refusal=on_refusal)


def join(folder: Path, study: Lock) -> None:
    """A site takes part, after its people have compared the code. Refuses what its policy does."""
    site = Door(folder=folder, lock=study, data=None, ledger=opened(":memory:"))
    site.check_lock()
    door.join(folder, study)


def request(folder: Path, study: Lock, kind: str, ask: Ask | None = None) -> bytes:
    """Signed by the coordinator, whose keys are in the folder."""
    mine = keys.load_secret(folder)
    if mine.public() != study.coordinator:
        raise StudyError(
            f"{str(folder)!r} does not hold the coordinator's keys of this study; give the folder "
            "that `privet federate lock` wrote"
        )
    return mine.signed(wire.REQUEST, wire.request(kind, study.study, ask))


def read_request(text: bytes, study: Lock) -> Ask:
    """The question of a request that the coordinator has signed."""
    try:
        said = keys.opened(text, wire.REQUEST, study.coordinator.sign)
        _, ask = wire.read_request(said)
        if said["study"] != study.study or ask is None:
            raise ValueError("another study")
    except (KeyError, TypeError, ValueError):
        raise StudyError(
            "this is no question of this study's coordinator, or it was changed on its way; ask "
            "for a fresh copy"
        ) from None
    return ask


def read_answer(text: bytes, study: Lock, origin: str) -> Answer:
    return wire.read_answer(door.said_by(text, study, origin), origin)


def signer(text: bytes, study: Lock, origin: str) -> str:
    """The site that has signed this."""
    return str(door.said_by(text, study, origin)["site"])


def refusal_in(text: bytes, study: Lock, origin: str) -> str | None:
    """The word of a site that does not answer; None if it has not refused."""
    word = door.said_by(text, study, origin).get("refused")
    return None if word is None else str(word)


def files(data: object) -> Sequence[Path]:
    """The files that hold a site's rows."""
    return place.files(data) or ()


read_lock = lock.load
read_public = keys.load_public


def _new_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise StudyError(
            f"cannot write to {str(folder)!r} ({error.strerror}); choose another place"
        ) from None
    if taken:
        raise StudyError(
            f"{str(folder)!r} is not empty, and keys are never written over others; choose "
            "another folder"
        )
