"""Two to eight processes on one ledger, and a clock that jumps.

python -m stress.races --seed 7 --seconds 180
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import privet.privacy.ledger.book as book_module
from privet.errors import BudgetError, LedgerError
from privet.privacy.ledger.book import Ledger
from stress.crew import start
from stress.invariants import broken

CAP = 3


class Jumping(datetime):
    """A clock that goes forth and back by decades."""

    rng = random.Random(0)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz or UTC) + timedelta(days=cls.rng.randrange(-15_000, 15_000))


def worker(home: Path, seed: int, until: float) -> int:
    """Begins runs, charges and closes them, leaves some open, raises the cap now and then; what was
    charged is told in a file of its own, after the charge."""
    rng, spent = random.Random(seed), Fraction(0)
    Jumping.rng = random.Random(seed)
    setattr(book_module, "datetime", Jumping)  # noqa: B010
    book = Ledger(home / "ledger.db")
    done = {"runs": 0, "charges": 0, "refused": 0, "busy": 0}
    while time.monotonic() < until:
        try:
            if rng.random() < 0.02:  # also when nothing is left, so that there is more to race for
                account = book.account("people")
                assert account is not None
                book.grant("people", epsilon=account.epsilon + 1)
            epsilon = rng.choice((0.01, 0.05, 0.2))
            run = book.begin("people", epsilon=epsilon, delta=0, method="race", unit="a row")
            done["runs"] += 1
            for _ in range(rng.randrange(4)):
                run.spend(run.budget / 3, what="a question")
                spent += run.budget / 3
                done["charges"] += 1
            if rng.random() < 0.9:
                run.close()
        except BudgetError:
            done["refused"] += 1
        except LedgerError as error:
            if "locked by another process" not in str(error):
                raise
            done["busy"] += 1
    told = {"spent": str(spent), **done}
    (home / f"worker-{seed}.told").write_text(json.dumps(told))
    return 0


def race(seed: int, processes: int, seconds: float) -> tuple[dict[str, int], list[str]]:
    home = Path(tempfile.mkdtemp(prefix="privet-stress-"))
    try:
        Ledger(home / "ledger.db").create("people", epsilon=CAP, delta=0)
        until = time.monotonic() + seconds
        seeds = [1000 * seed + number for number in range(processes)]
        crew = [start(home, lambda s=s: worker(home, s, until)) for s in seeds]  # type: ignore[misc]
        lost = []
        for one in crew:
            if code := one.wait():
                lost.append(f"a process ended with {code}: {one.text()[-300:]}")
        told = [json.loads(path.read_text()) for path in home.glob("*.told")]
        account = Ledger(home / "ledger.db").account("people")
        assert account is not None
        charged = sum((run.spent for run in account.runs), Fraction(0))
        spent = sum((Fraction(one["spent"]) for one in told), Fraction(0))
        if charged != spent:
            lost.append(f"{float(charged)} is charged, but {float(spent)} was answered")
        lost += broken(home)
        names = ("runs", "charges", "refused", "busy")
        return {name: sum(one[name] for one in told) for name in names}, lost
    finally:
        shutil.rmtree(home, ignore_errors=True)


def races(seed: int, seconds: float) -> tuple[dict[str, int], list[str]]:
    """What all crews have done, and what was lost."""
    total: dict[str, int] = {}
    lost: list[str] = []
    for processes in (2, 4, 8):
        done, problems = race(seed, processes, seconds / 3)
        lost += problems
        for name, count in done.items():
            total[name] = total.get(name, 0) + count
    return total, lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--seconds", type=float, default=180)
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    total, lost = races(args.seed, args.seconds)
    print(total, "lost:", lost)
    return bool(lost)


if __name__ == "__main__":
    raise SystemExit(main())
