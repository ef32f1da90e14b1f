"""Bytes over a local socket: eight bytes of length, then as many bytes; nothing else is said."""

from __future__ import annotations

import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from privet.errors import OutputError

LENGTH = struct.Struct(">Q")
BLOCK = 1 << 20


def send(to: socket.socket, text: bytes) -> None:
    to.sendall(LENGTH.pack(len(text)) + text)


def receive(of: socket.socket, most: int) -> bytes | None:
    """What was sent, or None if the other side has hung up or says that more would come."""
    head = _exactly(of, LENGTH.size)
    if head is None:
        return None
    (length,) = LENGTH.unpack(head)
    return _exactly(of, length) if length <= most else None


def _exactly(of: socket.socket, length: int) -> bytes | None:
    parts, left = [], length
    while left:
        part = of.recv(min(left, BLOCK))
        if not part:
            return None
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """A socket that its owner may connect to, until the block is left. One that nobody listens to
    any more is replaced."""
    if not hasattr(socket, "AF_UNIX"):
        raise OutputError("this system has no local sockets; carry the messages as files")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with closing(made):
        try:
            _clear(path)
            made.bind(str(path))
            path.chmod(0o600)
            made.listen()
        except OSError as error:
            raise OutputError(
                f"cannot listen at {str(path)!r} ({error.strerror or error}); choose another, "
                "shorter path in a folder that you may write to"
            ) from None
        try:
            yield made
        finally:
            with suppress(OSError):
                path.unlink()


def _clear(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise OutputError(f"{str(path)!r} exists and is no socket; choose another path")
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
            try:
                probe.connect(str(path))
            except OSError:
                path.unlink()
                return
        raise OutputError(
            f"another process listens at {str(path)!r}; stop it, or choose another path"
        )
