"""Commands in processes that were born warm: everything is imported already, so that one takes
a few hundredths of a second and a kill can hit any part of it."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from privet.cli.main import main
from stress.door import PATIENCE, Ran


@dataclass(frozen=True)
class Worker:
    """A forked process; what it says goes into a pipe, which no broken disk can stop."""

    pid: int
    said: int

    def kill(self) -> int:
        os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        """Its exit code; that of a killed one is negative."""
        end = time.monotonic() + PATIENCE
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise AssertionError(f"process {self.pid} did not end")
            time.sleep(0.001)

    def text(self) -> str:
        """What it has said, once it is gone."""
        with open(self.said, "rb") as pipe:
            return pipe.read().decode("utf-8", "replace")


def start(home: Path, work: Callable[[], int]) -> Worker:
    """``work`` in a fork of this process whose current folder is ``home``."""
    sys.stdout.flush()
    sys.stderr.flush()
    said, file = os.pipe()
    pid = os.fork()
    if pid:
        os.close(file)
        return Worker(pid, said)
    code = 70
    try:
        signal.alarm(0)
        os.environ["PRIVET_LEDGER"] = str(home / "ledger.db")
        os.chdir(home)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.stdout, sys.stderr = (os.fdopen(n, "w", encoding="utf-8") for n in (1, 2))
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def command(home: Path, argv: Sequence[str]) -> Worker:
    return start(home, lambda: main(argv))


def finish(home: Path, argv: Sequence[str]) -> Ran:
    worker = command(home, argv)
    code = worker.wait()
    return Ran(code, "", worker.text())
