"""Hidden folders in which files are made before they are moved into place.

A process that is killed cannot tidy up, so the next run for the same output does. The name of a
folder says whose it is: ``.privet-``, twelve hex digits of the hash of the output's name, ``_`` and
twelve random ones. A living process holds a lock on its folder, which the operating system
takes away when the process dies, however it dies. Only a folder that has such a name, belongs
to the same user and is not locked counts as left. Where there are no such locks (some network
drives), nothing does. Windows locks no folders: there a file beside it is locked.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privet.errors import OutputError

PREFIX = ".privet-"
BESIDE = ".lock"

OnNote = Callable[[str], None]  # told in a sentence what was found and done


def ignore(_note: str) -> None:
    """For whoever does not want to be told."""


@contextmanager
def held_folder(home: Path, name: str, mode: int = 0o777) -> Iterator[Path]:
    """A new folder in ``home`` for the output of that name, locked until the block is left. It is
    not removed then: some are moved into place as they are."""
    while True:
        path = home / f"{_stem(name)}{secrets.token_hex(6)}"
        path.mkdir(mode)
        lock = _lock(path, wait=True)
        if lock is not None or path.exists():
            break  # else it was swept away before it could be locked
    try:
        yield path
    finally:
        _release(path, lock)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """One process at a time, where there are such locks."""
    lock = _lock(folder, wait=True)
    try:
        yield
    finally:
        _release(folder, lock)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """No second process at once, where there are such locks; refused if there is one."""
    path.mkdir(mode=0o700, exist_ok=True)
    lock = _lock(path, wait=False)
    if lock is None:
        raise OutputError(f"another process holds {str(path)!r}; stop it first")
    try:
        yield
    finally:
        _release(path, lock)
        with suppress(OSError):
            path.rmdir()


@contextmanager
def private_folder(home: Path, name: str) -> Iterator[Path]:
    """A folder that nobody else can read, and that is gone after the block."""
    with held_folder(home, name, 0o700) as path:
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def sweep(home: Path, name: str, on_note: OnNote, paid: str | None = None) -> None:
    """Removes what killed runs left of an output, and says so. A folder with the file ``paid`` is
    named and stays: what has been paid for is not thrown away unasked."""
    for path in _left(home, name):
        if paid is not None and (path / paid).exists():
            on_note(
                f"{str(path)!r} was left by a run that did not end well; it stays, since its "
                f"{paid} may have been paid for: search that by --evidence, or remove the folder"
            )
            continue
        shutil.rmtree(path, ignore_errors=True)
        gone = "is removed" if not path.exists() else "cannot be removed; remove it by hand"
        on_note(f"{str(path)!r} was left by a run that was killed, and {gone}")


def _stem(name: str) -> str:
    return f"{PREFIX}{hashlib.sha256(os.fsencode(name)).hexdigest()[:12]}_"


def _left(home: Path, name: str) -> Iterator[Path]:
    """The folders that nobody holds, each locked while it is looked at."""
    pattern = re.compile(re.escape(_stem(name)) + "[0-9a-f]{12}")
    found: list[Path] = []
    with suppress(OSError):
        found = sorted(path for path in home.iterdir() if pattern.fullmatch(path.name))
    for path in found:
        if (lock := _lock(path, wait=False)) is not None:
            try:
                yield path
            finally:
                _release(path, lock)


def _lock(path: Path, *, wait: bool) -> int | None:
    """A lock on a folder of ours; None if a living process has it, if it is gone or a link, or
    if there are no locks here."""
    if sys.platform == "win32":
        return _lock_beside(path, wait=wait)
    import fcntl

    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        found = os.fstat(lock)  # whoever had the lock before may have removed the folder
        if os.path.samestat(found, os.lstat(path)) and found.st_uid == os.geteuid():
            return lock
    os.close(lock)
    return None


def _lock_beside(path: Path, *, wait: bool) -> int | None:
    """The same on Windows, by a file: an open file inside would hold the folder in its place. No
    file can be removed there while it is open, so that two processes cannot lock two files."""
    if sys.platform != "win32":
        return None
    import msvcrt

    try:
        lock = os.open(_beside(path), os.O_RDWR | os.O_CREAT)
    except OSError:
        return None
    try:
        msvcrt.locking(lock, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    except OSError:
        os.close(lock)
        return None
    if path.is_dir() and not path.is_symlink():
        return lock
    _release(path, lock)  # whoever had it before has removed the folder
    return None


def _beside(path: Path) -> Path:
    return path.with_name(path.name + BESIDE)


def _release(path: Path, lock: int | None) -> None:
    if lock is None:
        return
    os.close(lock)
    if sys.platform == "win32":
        with suppress(OSError):  # another process may look at it
            _beside(path).unlink()
