"""Loss of power: what was written and not synced may be gone, in any order and in part.

    python -m stress.power --seed 7 --images 1000

A process makes runs on a ledger and tells, after each charge, that the answer is out. Every write,
sync, creation and removal of a file is written down (``disk.c``). Then the power fails after a
random one of them: of the writes since the last sync of their file each is there, gone or torn, and
so is each creation and removal since the last sync of the folder. Such a disk must have a ledger
that opens, is sound, and has the charge of every answer that was out.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import privet.privacy.ledger.book as book_module
from privet.privacy.ledger.book import Ledger
from privet.privacy.ledger.store import connect
from stress.crew import start
from stress.disk import again_with_shim, loaded
from stress.invariants import broken

SECTOR = 512
RUNS = 12
TOLD = "told"


@dataclass(frozen=True)
class Step:
    """One call: C(reated), W(ritten), T(runcated), S(ynced), U(nlinked) or R(enamed)."""

    kind: str
    path: str
    to: str
    offset: int
    data: bytes


def work(home: Path, careless: bool) -> int:
    """Runs with charges, and a sign after each of them. A careless ledger, which does not sync, is
    there to show that the loss would be found."""
    if careless:
        setattr(book_module, "connect", _careless)  # noqa: B010
    book = Ledger(home / "ledger.db")
    book.create("people", epsilon=100, delta=0)
    file = os.open(home / TOLD, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in range(RUNS):
        with book.begin("people", epsilon=1, delta=0, method="power", unit="a row") as run:
            for _ in range(3):
                run.spend(run.budget / 3, what=f"question {number}")
                os.write(file, b".")
    return 0


def _careless(path: str) -> sqlite3.Connection:
    db = connect(path)
    db.execute("PRAGMA synchronous = OFF")
    return db


def steps(home: Path, log: Path, careless: bool) -> list[Step]:
    shim = loaded()
    assert shim is not None

    def recorded() -> int:
        file = os.open(log, os.O_WRONLY | os.O_CREAT)
        shim.disk_arm(str(home).encode(), 0, 0, 0, 0, 0, file)
        return work(home, careless)

    made = start(home, recorded)
    if made.wait():
        raise AssertionError(made.text())
    return list(_read(log.read_bytes()))


def _read(text: bytes) -> list[Step]:
    at, found = 0, []

    def number() -> int:
        nonlocal at
        at += 8
        return int(struct.unpack("<q", text[at - 8 : at])[0])

    def part(size: int) -> bytes:
        nonlocal at
        at += size
        return text[at - size : at]

    while at < len(text):
        kind = part(1).decode()
        path, to = os.fsdecode(part(number())), os.fsdecode(part(number()))
        offset, size = number(), number()
        found.append(Step(kind, path, to, offset, part(size) if kind == "W" else b""))
    return found


def image(rng: random.Random, done: list[Step], home: Path, into: Path) -> int:
    """The disk after these steps and a loss of power; returns how many answers were out."""
    told, last = 0, {}
    folder_synced = -1
    for place, step in enumerate(done):
        told += step.kind == "W" and step.path.endswith(TOLD)
        if step.kind == "S":
            last[step.path] = place
            if Path(step.path) == home:
                folder_synced = place
    files: dict[str, bytearray] = {}
    for place, step in enumerate(done):
        if step.path.endswith(TOLD):
            continue
        if step.kind in "CUR":
            if place < folder_synced or _is_safe_name(step, last, place) or rng.random() < 0.5:
                _name(files, step)
        elif place < last.get(step.path, -1):
            _write(files, step, step.data)
        elif step.kind != "S" and (fate := rng.random()) > 1 / 3:
            torn = rng.randrange(len(step.data) // SECTOR + 1) * SECTOR
            _write(files, step, step.data if fate > 2 / 3 else step.data[:torn])
    into.mkdir()
    for path, content in files.items():
        (into / Path(path).name).write_bytes(content)
    return told


def _is_safe_name(step: Step, last: dict[str, int], place: int) -> bool:
    """The sync of a new file brings its name to disk, too, as every file system in use does."""
    return step.kind == "C" and place < last.get(step.path, -1)


def _name(files: dict[str, bytearray], step: Step) -> None:
    if step.kind == "C":
        files.setdefault(step.path, bytearray())
    elif step.kind == "U":
        files.pop(step.path, None)
    elif step.path in files:
        files[step.to] = files.pop(step.path)


def _write(files: dict[str, bytearray], step: Step, data: bytes) -> None:
    if step.path not in files:
        return  # its name is gone
    content = files[step.path]
    if step.kind == "T":
        content[:] = content[: step.offset].ljust(step.offset, b"\0")
    elif data:
        end = step.offset + len(data)
        content.extend(b"\0" * (end - len(content)))
        content[step.offset : end] = data


def power(seed: int, images: int, careless: bool = False) -> tuple[dict[str, int], list[str]]:
    """How many losses of power were tried, how many answers were out then, and what was lost."""
    folder = Path(tempfile.mkdtemp(prefix="privet-stress-")).resolve()
    rng, lost, answers = random.Random(seed), [], 0
    try:
        home = folder / "home"
        home.mkdir()
        found = steps(home, folder / "log", careless)
        for _ in range(images):
            cut = rng.randrange(1, len(found) + 1)
            disk = folder / "image"
            told = image(rng, found[:cut], home, disk)
            answers += told
            problems = broken(disk)
            path = disk / "ledger.db"
            there = Ledger(path).accounts() if not problems and path.exists() else ()
            charged = sum(len(run.entries) for account in there for run in account.runs)
            if charged < told:
                problems.append(f"{charged} charges for {told} answers")
            if problems:
                lost.append(f"after step {cut}: {'; '.join(problems)}")
            shutil.rmtree(disk)
        return {"steps": len(found), "images": images, "answers": answers}, lost
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--images", type=int, default=1000)
    args = parser.parse_args()
    line = ["stress.power", "--seed", str(args.seed), "--images", str(args.images)]
    if (code := again_with_shim(line)) is not None:
        return code
    if loaded() is None:
        print("there is no C compiler, so this was not tried")
        return 0
    print(f"seed {args.seed}", flush=True)
    tried, lost = power(args.seed, args.images)
    _, found = power(args.seed, 50, careless=True)
    if not found:
        lost.append("a ledger that does not sync was not found out")
    print(tried, f"{len(lost)} lost; {len(found)} of 50 with a ledger that does not sync")
    print(*lost[:10], sep="\n")
    return bool(lost)


if __name__ == "__main__":
    raise SystemExit(main())
