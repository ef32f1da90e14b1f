"""Disks that are full, read-only, lost or slow: every single call of a command that writes fails
once, or it and all that follow.

    python -m stress.disk

``disk.c`` stands in front of the C library, so that SQLite, Python and DuckDB meet the same disk.
Without a C compiler only a small tmpfs (for root) and limits on the size of files are tried.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from privet.cli.main import main as privet
from stress.corpus import plant
from stress.crew import start
from stress.door import good, inside
from stress.invariants import broken, left

NOTHING = "nothing"  # breaks: to count the calls
SHIM = "PRIVET_STRESS_DISK"
COMMANDS = (
    "discover data.csv --schema schema.toml --epsilon 1 --delta 1e-6 --output new",
    "orient numbers.csv --schema numbers.toml --epsilon 1 --cause-effect age,pressure --output new",
    "randomize data.csv --schema schema.toml --epsilon 2 --output new/reports.csv",
    "ledger create fresh --epsilon 2",
    "ledger grant people --epsilon 2e5",
)


@dataclass(frozen=True)
class Fault:
    """What a call gets, whether all later ones do, and whether reading is hit too."""

    name: str
    number: int
    ever: bool
    reads: bool = False
    delay: int = 0


FAULTS = (
    Fault("full", errno.ENOSPC, True),
    Fault("full for a moment", errno.ENOSPC, False),
    Fault("read-only", errno.EROFS, True),
    Fault("broken for a moment", errno.EIO, False, reads=True),
    Fault("lost", errno.EIO, True, reads=True),
)
SLOW = Fault("slow", 0, False, delay=3000)  # microseconds for each call


def loaded() -> ctypes.CDLL | None:
    """The disk that can fail, if this process was started with it."""
    return ctypes.CDLL(os.environ[SHIM]) if os.environ.get(SHIM) else None


def compiled(folder: Path) -> Path | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    made = folder / "disk.so"
    source = Path(__file__).with_name("disk.c")
    line = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"]
    return made if subprocess.run(line, check=False).returncode == 0 else None


class Disk:
    """One folder with data and a ledger, as it was before each attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.tried: Counter[str] = Counter()
        self.lost: list[str] = []
        plant(folder / "whole", 100)
        shutil.copytree(folder / "whole", folder / "warm")
        with inside(folder / "warm"):
            for line in COMMANDS:
                good(*line.split())
                shutil.rmtree("new", ignore_errors=True)

    def attempt(
        self,
        name: str,
        line: str,
        before: Callable[[], None] = lambda: None,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        """One command in its process; ``before`` breaks the disk."""

        def work() -> int:
            before()
            code = privet(line.split())
            after()
            return code

        worker = start(self.home, work)
        code, said = worker.wait(), worker.text()
        self.tried[name] += 1
        if code not in (0, 2) or "Traceback" in said:
            self._lose(name, line, f"exit code {code}: {said[:400]}")

    def look(self, name: str, line: str) -> None:
        for problem in broken(self.home):
            self._lose(name, line, problem)

    def again(self, name: str, line: str) -> None:
        """On a good disk the same command works, and what was left is gone."""
        shutil.rmtree(self.home / "new", ignore_errors=True)
        worker = start(self.home, lambda: privet(line.split()))
        code, said = worker.wait(), worker.text()
        if code != 0 and "has a cap already" not in said:
            self._lose(name, line, f"afterwards exit code {code}: {said[:400]}")
        for path in left(self.home):
            if not (path / "evidence.json").exists():
                self._lose(name, line, f"{path} is left")

    def _lose(self, name: str, line: str, problem: str) -> None:
        self.lost.append(f"{name}, {line.split()[0]}: {problem}")
        print(f"LOST {self.lost[-1]}", flush=True)

    def renew(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.folder / "whole", self.home)


def every_call(disk: Disk, shim: ctypes.CDLL, line: str, fault: Fault, most: int) -> None:
    """The first call fails, then the second, and so on; of many, these are spread evenly."""

    def arm(at: int) -> None:
        where = str(disk.home).encode()
        shim.disk_arm(where, at, fault.number, fault.ever, fault.reads, fault.delay, -1)

    def count() -> None:
        (disk.folder / "count").write_text(str(shim.disk_count()))

    disk.renew()
    disk.attempt(NOTHING, line, partial(arm, 0), count)
    calls = int((disk.folder / "count").read_text())
    for at in range(1, calls + 1, calls // most + 1):
        disk.renew()
        disk.attempt(fault.name, line, partial(arm, at))
        disk.look(fault.name, line)
        if at % 4 == 0:
            disk.again(fault.name, line)


def small_tmpfs(disk: Disk) -> None:
    """A real file system of a few pages, which root can mount, with less and less space."""
    line = COMMANDS[0]
    for pages in range(12, 60, 2):
        disk.home.mkdir(exist_ok=True)
        size = f"size={pages * 4096}"
        mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(disk.home)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            return
        try:
            for path in (disk.folder / "whole").iterdir():
                if path.is_file():
                    shutil.copy(path, disk.home)
            disk.attempt("tmpfs of a few pages", line)
            disk.look("tmpfs of a few pages", line)
        except OSError:
            continue  # not even the data fit
        finally:
            subprocess.run(["umount", str(disk.home)], check=True)


def read_only_mount(disk: Disk) -> None:
    disk.renew()
    bind = ["mount", "--bind", str(disk.home), str(disk.home)]
    if subprocess.run(bind, check=False, capture_output=True).returncode:
        return
    try:
        remount = ["mount", "-o", "remount,ro,bind", str(disk.home)]
        subprocess.run(remount, check=True)
        for line in COMMANDS:
            disk.attempt("read-only mount", line)
            disk.look("read-only mount", line)
    finally:
        subprocess.run(["umount", str(disk.home)], check=True)


def small_files(disk: Disk) -> None:
    """No file may be larger than this; the system says so to whoever writes on."""
    for line in COMMANDS[:3]:
        for size in (0, 100, 512, 1024, 2000, 4096, 8192, 12288, 20000, 30000, 40000, 60000):
            disk.renew()
            limit = (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1])

            def before(limit: tuple[int, int] = limit) -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, limit)

            disk.attempt("limit on the size of files", line, before)
            disk.look("limit on the size of files", line)


def disks(most: int) -> tuple[dict[str, int], list[str]]:
    """How often each fault was tried, and what was lost."""
    folder = Path(tempfile.mkdtemp(prefix="privet-stress-")).resolve()
    try:
        disk, shim = Disk(folder), loaded()
        small_tmpfs(disk)
        read_only_mount(disk)
        small_files(disk)
        if shim is not None:
            for line in COMMANDS:
                for fault in FAULTS:
                    every_call(disk, shim, line, fault, most)
                disk.renew()
                slow = (str(disk.home).encode(), 0, 0, 0, 1, SLOW.delay, -1)
                disk.attempt(SLOW.name, line, lambda slow=slow: shim.disk_arm(*slow))  # type: ignore[misc]
                disk.look(SLOW.name, line)
        disk.tried.pop(NOTHING, None)
        return dict(disk.tried), disk.lost
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def again_with_shim(argv: Sequence[str]) -> int | None:
    """This module in a process that has the disk in front of its C library; None if it has it, or
    if there is none."""
    if SHIM in os.environ:
        return None
    with tempfile.TemporaryDirectory(prefix="privet-stress-") as folder:
        made = compiled(Path(folder))
        shim = "" if made is None else str(made)
        env = {**os.environ, SHIM: shim, **({"LD_PRELOAD": shim} if shim else {})}
        return subprocess.run([sys.executable, "-m", *argv], env=env, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=40, help="of one command that fail in turn")
    args = parser.parse_args()
    if (code := again_with_shim(["stress.disk", "--calls", str(args.calls)])) is not None:
        return code
    tried, lost = disks(args.calls)
    print(tried, f"{len(lost)} lost")
    return bool(lost)


if __name__ == "__main__":
    raise SystemExit(main())
