"""The front door inside this process: one command line, its exit code and what it said."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from privet.cli.main import main

PATIENCE = 300  # seconds until a command counts as one that never ends


class Endless(BaseException):
    """No command catches this."""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def run(*argv: str) -> Ran:
    """As a shell would have it: streams of bytes, and a wrong name cannot be printed."""
    before = sys.stdout, sys.stderr
    pipes = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in before]
    sys.stdout, sys.stderr = pipes
    try:
        with bounded():
            code = main(argv)
    finally:
        sys.stdout, sys.stderr = before
    said = []
    for pipe in pipes:
        pipe.flush()
        raw = pipe.buffer
        assert isinstance(raw, io.BytesIO)
        said.append(raw.getvalue().decode("utf-8", "replace"))
    return Ran(code, *said)


@contextmanager
def bounded() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Endless

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Its default ledger is ledger.db in it."""
    before = Path.cwd()
    os.environ["PRIVET_LEDGER"] = str(folder / "ledger.db")
    os.environ["COLUMNS"] = "200"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def good(*argv: str) -> Ran:
    """A command that must succeed."""
    done = run(*argv)
    if done.code != 0:
        raise AssertionError(f"{' '.join(argv)}: exit code {done.code}: {done.err}")
    return done


def words(line: str) -> Sequence[str]:
    return line.split()
