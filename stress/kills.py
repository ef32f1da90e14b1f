"""``kill -9`` at random moments of discover, orient, randomize and ledger commands.

python -m stress.kills --seed 7 --kills 1000
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from privet.privacy.ledger.book import Ledger
from stress.corpus import plant
from stress.crew import Worker, command, finish
from stress.door import good, inside
from stress.invariants import accounts, broken, left

ROWS = 400
CAP = 40  # epsilon of each data set: some runs fit, then one is refused, then there is a new ledger
COMMANDS = {
    "discover": "discover data.csv --schema schema.toml --epsilon 1 --delta 1e-6 --output new",
    "discover again": "discover data.csv --schema schema.toml --epsilon 1 --output new --force",
    "orient": "orient numbers.csv --schema numbers.toml --epsilon 1 --cause-effect age,pressure "
    "--output new --no-reuse",
    "randomize": "randomize data.csv --schema schema.toml --epsilon 2 --output new/reports.csv",
    "ledger create": "ledger create fresh --epsilon 2 --delta 1e-6",
    "ledger grant": f"ledger grant people --epsilon {CAP + 1}",
    "ledger close": "ledger close RUN",
}


class Kills:
    def __init__(self, folder: Path, seed: int) -> None:
        self.home = folder / "home"
        self.rng = random.Random(seed)
        self.killed: Counter[str] = Counter()
        self.begun: Counter[str] = Counter()  # kills that hit a run between its ends
        self.lost: list[str] = []
        plant(self.home, ROWS)
        self._renew()
        self.longest = {name: self._measured(name) for name in COMMANDS}
        print({name: round(took, 3) for name, took in self.longest.items()}, flush=True)

    def _renew(self) -> None:
        for path in (self.home / "ledger.db", self.home / "ledger.db-journal"):
            path.unlink(missing_ok=True)
        shutil.rmtree(self.home / "ledger.db.evidence", ignore_errors=True)
        with inside(self.home):
            for name in ("people", "patients"):
                good("ledger", "create", name, "--epsilon", str(CAP), "--delta", "1e-5")

    def _clear(self) -> None:
        shutil.rmtree(self.home / "new", ignore_errors=True)
        for path in left(self.home):
            shutil.rmtree(path)

    def _argv(self, name: str) -> list[str]:
        """The command, with a ledger that has what it speaks of."""
        book = Ledger(self.home / "ledger.db")
        words = COMMANDS[name].split()
        if name == "ledger close":
            made = book.begin("people", epsilon=1, delta=0, method="mine", unit="a row")
            words[-1] = made.id
        if name == "ledger create":
            words[2] = f"fresh {self.rng.random()}"
        if name == "ledger grant":
            account = book.account("people")
            assert account is not None
            words[-1] = str(int(account.epsilon) + 1)
        return words

    def _measured(self, name: str) -> float:
        """How long it takes as a fork; commands before have imported what it needs."""
        took = []
        for _ in range(3):
            self._clear()
            self._renew()
            with inside(self.home):
                good(*self._argv(name))  # here, so that the next process is warm
            self._clear()
            self._renew()
            argv = self._argv(name)
            begin = time.monotonic()
            done = finish(self.home, argv)
            took.append(time.monotonic() - begin)
            assert done.code == 0, done.err
        self._clear()
        self._renew()
        return sorted(took)[1]

    def one(self, name: str) -> None:
        argv = self._argv(name)
        worker = command(self.home, argv)
        time.sleep(self.rng.random() * self.longest[name] * 1.05)
        try:
            self._look(name, worker)
        except Exception as error:
            self._lose(name, f"{type(error).__name__}: {error}")
        self._after(name)

    def _look(self, name: str, worker: Worker) -> None:
        code = worker.kill()
        self.killed[name] += code == -9
        said = worker.text()
        if code not in (-9, 0, 2):
            self._lose(name, f"exit code {code}: {said[-300:]}")
        runs = [run for account in accounts(self.home) for run in account.runs]
        if name in ("discover", "orient", "discover again"):
            self.begun[name] += any(run.state == "open" for run in runs)
        for problem in broken(self.home):
            self._lose(name, problem)

    def _after(self, name: str) -> None:
        """The same command again: it works, and names and removes what was left."""
        before = left(self.home)
        if name.startswith("ledger") or self.rng.random() < 0.1:
            self._clear()
            self._renew()
            return
        shutil.rmtree(self.home / "new", ignore_errors=True) if not any(
            path.parent.name == "new" for path in before
        ) else None
        argv = self._argv(name)
        done = finish(self.home, argv if "--force" in argv else [*argv, "--force"])
        if done.code == 2 and "left of its cap" in done.err:
            self._renew()
        elif done.code != 0:
            self._lose(name, f"afterwards exit code {done.code}: {done.err[-300:]}")
        for path in before:
            if path.name not in done.err:
                self._lose(name, f"{path} was left and not named")
            elif path.exists() and not (path / "evidence.json").exists():
                self._lose(name, f"{path} was left and not removed")
        for problem in broken(self.home):
            self._lose(name, f"afterwards {problem}")
        self._clear()

    def _lose(self, name: str, problem: str) -> None:
        self.lost.append(f"{name}: {problem}")
        print(f"LOST {name}: {problem}", flush=True)


def kills(seed: int, wanted: int) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """How many of each command were killed, how many of them within a run, what was lost."""
    folder = Path(tempfile.mkdtemp(prefix="privet-stress-"))
    try:
        work = Kills(folder, seed)
        names = list(COMMANDS)
        for place in range(10 * wanted):
            if sum(work.killed.values()) >= wanted:
                break
            work.one(names[place % len(names)])
        return dict(work.killed), dict(work.begun), work.lost
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--kills", type=int, default=1000)
    args = parser.parse_args()
    print(f"seed {args.seed}, process {os.getpid()}", flush=True)
    killed, begun, lost = kills(args.seed, args.kills)
    print(killed, "within a run", begun, f"{len(lost)} lost")
    return bool(lost)


if __name__ == "__main__":
    raise SystemExit(main())
