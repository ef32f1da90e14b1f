"""A thousand runs on one ledger in one process: memory and time for each stay flat.

    python -m stress.long_run --runs 1000

No two runs ask for the same budget, so that no two charges are alike. Time is that of the
processor, so that a busy machine tells nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import privet
from stress.corpus import plant

BLOCK = 50
MOST_TIME = 1.5  # what a run takes after a thousand others, as a multiple of what it took at first
MOST_MEMORY = 1.2


@dataclass(frozen=True)
class Figures:
    """Of a block of runs: milliseconds for each, and megabytes at its end."""

    runs: int
    milliseconds: float
    megabytes: float


def long_run(runs: int) -> tuple[list[Figures], list[str]]:
    folder = Path(tempfile.mkdtemp(prefix="privet-stress-"))
    try:
        plant(folder, 200)
        book = privet.Ledger(folder / "long.db")
        book.create("people", epsilon=10 * runs, delta=1e-3)
        starts = range(0, max(runs - BLOCK, 0) + 1, BLOCK)
        found = [_block(folder, book, start, min(BLOCK, runs)) for start in starts]
        account = book.account("people")
        assert account is not None
        lost = [] if len(account.runs) == sum(f.runs for f in found) else ["runs are missing"]
        total = 0
        named = []
        for figures in found:
            total += figures.runs
            named.append(Figures(total, figures.milliseconds, figures.megabytes))
        return named, lost + _grown(named)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _block(folder: Path, book: privet.Ledger, start: int, runs: int) -> Figures:
    begin = time.process_time()
    for number in range(start, start + runs):
        privet.discover(
            folder / "data.csv",
            folder / "schema.toml",
            epsilon=1 + number / 10_000,
            delta=1e-6,
            ledger=book,
            reuse=False,
        )
    took = time.process_time() - begin
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Figures(runs, 1000 * took / runs, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)


def _grown(found: list[Figures]) -> list[str]:
    """Against the second block, since the first one imports."""
    if len(found) < 3:
        return []
    first, last = found[1], found[-1]
    problems = []
    if last.milliseconds > MOST_TIME * first.milliseconds:
        problems.append(f"time grew from {first.milliseconds:.1f} to {last.milliseconds:.1f} ms")
    if last.megabytes > MOST_MEMORY * first.megabytes:
        problems.append(f"memory grew from {first.megabytes:.0f} to {last.megabytes:.0f} MB")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    found, lost = long_run(parser.parse_args().runs)
    for figures in found:
        print(f"{figures.runs:5} {figures.milliseconds:7.1f} ms {figures.megabytes:7.1f} MB")
    print(f"lost: {lost}")
    return bool(lost)


if __name__ == "__main__":
    raise SystemExit(main())
