"""A site that answers by itself: a process of its own, behind one local socket.

Whatever carries messages between sites (an engine for federated learning, a mailbox, a script) runs
elsewhere, as a user who can read neither rows nor ledger nor keys, and hands bytes through the
socket. It is not trusted: requests are believed for the coordinator's signature alone.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from privet.api.checks import check_data
from privet.errors import StudyError
from privet.files import sockets
from privet.files.scratch import alone
from privet.privacy.together.wire import MOST_BYTES
from privet.trust import study
from privet.trust.session import LedgerLike, opened

ENGINES = ("nvflare", "flwr")
MOST_ANSWERS = 1 << 30  # bytes of all sites together
PATIENCE = 60.0  # seconds that a message may take to come in


@dataclass(frozen=True, kw_only=True)
class Postman:
    """The user who may connect; None for whoever runs the door."""

    name: str | None
    uid: int
    gid: int

    @staticmethod
    def named(name: str | None) -> Postman:
        if not hasattr(os, "getuid"):
            raise StudyError(
                "a site answers behind a local socket that belongs to one user, and this system "
                "has no such sockets; carry the messages as files"
            )
        if name is None:
            return Postman(name=None, uid=os.getuid(), gid=os.getgid())
        import pwd

        try:
            found = pwd.getpwnam(name)
        except KeyError:
            raise StudyError(
                f"there is no user {name!r} on this system; name the one that runs the postman"
            ) from None
        return Postman(name=name, uid=found.pw_uid, gid=found.pw_gid)

    def can_read(self, path: Path) -> bool:
        """By the modes of the file and of the folders above it; groups beside the first are not
        known, so whatever a group may read counts as readable."""
        shown = path.stat()
        readable = self._may(shown, stat.S_IRUSR, stat.S_IRGRP, stat.S_IROTH)
        return readable and all(
            self._may(above.stat(), stat.S_IXUSR, stat.S_IXGRP, stat.S_IXOTH)
            for above in path.resolve().parents
        )

    def _may(self, shown: os.stat_result, owner: int, group: int, other: int) -> bool:
        if self.uid == 0:
            return True
        if shown.st_uid == self.uid:
            return bool(shown.st_mode & owner)
        return bool(shown.st_mode & (group | other))


def serve_site(
    data: str | Path,
    lock: str | Path,
    keys: str | Path,
    socket_path: str | Path,
    *,
    ledger: LedgerLike = None,
    postman: str | None = None,
    on_ready: Callable[[], None] = lambda: None,
    on_refusal: Callable[[Exception], None] = lambda _error: None,
) -> None:
    """Answers until it is stopped. ``postman`` is the user who may connect; it must not be able to
    read what lies here. ``on_refusal`` gets the error behind each request that is not answered,
    which is for the site's own people."""
    check_data(data)
    carrier = Postman.named(postman)
    book = opened(ledger)
    site = study.site_of(Path(keys), study.read_lock(Path(lock)), data, book, on_refusal)
    site.check()
    _check_apart(carrier, [*study.files(data), book.path, Path(keys) / "secret.json"])
    with (
        alone(book.path.with_name(book.path.name + ".door")),
        sockets.listening(Path(socket_path)) as door,
    ):
        _hand_over(Path(socket_path), carrier)
        on_ready()
        while True:
            connection, _ = door.accept()
            with connection:
                _answer(connection, site.answer)


def _hand_over(path: Path, postman: Postman) -> None:
    if postman.uid == os.getuid():
        return
    try:
        os.chown(path, postman.uid, postman.gid)
    except OSError:
        raise StudyError(
            f"cannot give the socket {str(path)!r} to user {postman.name!r}, which only root may; "
            "start the site as root, or carry the messages as files"
        ) from None


def _answer(connection: socket.socket, answer: Callable[[bytes], bytes]) -> None:
    """One request, one answer; who hangs up or keeps silent gets none."""
    connection.settimeout(PATIENCE)
    with suppress(OSError):
        request = sockets.receive(connection, MOST_BYTES)
        if request is not None:
            sockets.send(connection, answer(request))


def _check_apart(postman: Postman, files: list[Path]) -> None:
    for engine in ENGINES:
        if find_spec(engine) is not None:
            raise StudyError(
                f"{engine} is installed beside Privet, so that whoever commands it can read what "
                "Privet can; install it in an environment of its own, for another user"
            )
    if postman.name is None:
        return
    for path in files:
        if postman.can_read(path):
            raise StudyError(
                f"user {postman.name!r}, who carries messages, can read {str(path)!r}; make it "
                "readable for its owner only (chmod 600), in a folder that others cannot enter"
            )


@contextmanager
def coordinator_socket(path: Path, wait: float) -> Iterator[Carrier]:
    """Where the coordinator's own postman connects."""
    with sockets.listening(path) as door:
        door.settimeout(wait)
        made = Carrier(door, wait)
        try:
            yield made
        finally:
            made.hang_up()


class Carrier:
    """Carries messages over one postman's connection. Who hangs up may connect again: the same
    message is handed over once more, and sites answer it with the same bytes."""

    def __init__(self, door: socket.socket, wait: float) -> None:
        self._door, self._wait = door, wait
        self._line: socket.socket | None = None

    def __call__(self, names: Sequence[str], request: bytes) -> Mapping[str, bytes]:
        letter = json.dumps({"to": list(names), "text": request.decode("ascii")}).encode("ascii")
        while True:
            line = self._connected()
            with suppress(OSError):
                sockets.send(line, letter)
                reply = sockets.receive(line, MOST_ANSWERS)
                if reply is not None:
                    return _letters(reply, names)
            self.hang_up()

    def _connected(self) -> socket.socket:
        if self._line is None:
            try:
                self._line, _ = self._door.accept()
            except TimeoutError:
                raise StudyError(
                    f"no postman has connected within {self._wait:g} seconds; start it, and run "
                    "the same command again: it goes on where it stopped"
                ) from None
            self._line.settimeout(self._wait)
        return self._line

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


def _letters(reply: bytes, names: Sequence[str]) -> dict[str, bytes]:
    """The answers of sites that were asked; whatever else comes is dropped."""
    try:
        found = json.loads(reply)
        return {n: found[n].encode("ascii") for n in names if isinstance(found.get(n), str)}
    except (ValueError, AttributeError, RecursionError):
        return {}
