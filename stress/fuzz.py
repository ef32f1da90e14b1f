"""Generated inputs through the front door: each ends in exit code 0 or 2, and what is refused
costs nothing and leaves nothing behind.

    python -m stress.fuzz --seed 7 --inputs 10000
    python -m stress.fuzz --seed 7 --only ledger:31      # one of them again
"""

from __future__ import annotations

import argparse
import random
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stress import lines, mutate
from stress.corpus import SUFFIXES, grow, plant
from stress.door import Endless, Ran, inside, run
from stress.mutate import Mutator, flipped, nearby, revalued, reworded

MEMORY = 12 << 30  # a file of a few bytes may not ask for more
PAID = "could not be read to its end"
TEXT = nearby(flipped, reworded, reworded)
JSON = nearby(flipped, reworded, revalued, revalued, revalued)
PRIVATE = "--schema schema.toml --epsilon 1 --no-reuse --output new"


@dataclass(frozen=True)
class Kind:
    """Files of one kind, how they are made wrong, and who reads them ({} is the file)."""

    files: tuple[str, ...]
    mutator: Mutator
    commands: tuple[str, ...]


KINDS: Mapping[str, Kind] = {
    "CSV": Kind(
        ("data.csv",),
        nearby(flipped, reworded),
        (
            "schema draft {}",
            "schema check {} --schema schema.toml",
            f"discover {{}} {PRIVATE}",
            "discover {} --schema schema.toml --no-privacy --output new",
            "randomize {} --schema schema.toml --epsilon 2 --output new.csv",
        ),
    ),
    "numbers": Kind(
        ("numbers.csv",),
        nearby(flipped, reworded),
        (
            "schema draft {}",
            "schema check {} --schema numbers.toml",
            "discover {} --schema numbers.toml --epsilon 1 --no-reuse --output new",
            "orient {} --schema numbers.toml --cause-effect age,pressure --epsilon 1 --output new",
        ),
    ),
    "Parquet": Kind(
        ("new.parquet",),
        mutate.parquet,
        (
            "schema draft {}",
            "schema check {} --schema schema.toml",
            f"discover {{}} {PRIVATE}",
            "randomize {} --schema schema.toml --epsilon 2 --output new.csv",
        ),
    ),
    "schema": Kind(
        ("schema.toml",),
        TEXT,
        (
            "plan {} --rows 1000 --epsilon 1",
            "plan {} --people 1000 --epsilon 1 --local",
            "schema check data.csv --schema {}",
            f"discover data.csv {PRIVATE}",
            "randomize data.csv --schema {} --epsilon 2 --output new.csv",
        ),
    ),
    "schema of numbers": Kind(
        ("numbers.toml",),
        TEXT,
        (
            "plan {} --rows 1000 --epsilon 1",
            "schema check numbers.csv --schema {}",
            "discover numbers.csv --schema {} --epsilon 1 --no-reuse --output new",
            "orient numbers.csv --schema {} --all-pairs --epsilon 1 --output new",
        ),
    ),
    "protocol": Kind(
        ("protocol.json",),
        JSON,
        (
            "discover reports.csv --protocol {} --output new",
            "randomize data.csv --protocol {} --output new/reports.csv",
        ),
    ),
    "reports": Kind(
        ("reports.csv",),
        nearby(flipped, reworded),
        ("discover {} --protocol protocol.json --output new",),
    ),
    "evidence": Kind(
        tuple(f"{run}/evidence.json" for run in ("out", "more", "exact", "tables")),
        JSON,
        (
            "discover --evidence {} --output new",
            "combine {} more/evidence.json --output new",
            "verify out",
            "explain out rain wet",
        ),
    ),
    "evidence of pairs": Kind(
        ("pair/evidence.json",), JSON, ("orient --evidence {} --output new", "verify pair")
    ),
    "ledger": Kind(
        ("ledger.db",),
        mutate.ledger,
        (
            "ledger show",
            "ledger show people --json",
            "ledger create new --epsilon 1",
            "ledger grant people --epsilon 1e6",
            "ledger close 0123456789abcdef",
            "verify out --ledger {}",
            f"discover data.csv {PRIVATE}",
        ),
    ),
    "graph": Kind(
        tuple(f"graph.{suffix}" for suffix in SUFFIXES),
        TEXT,
        ("convert {} new.dot", "convert {} new.json", "convert {} new.svg", "compare {} dag.edges"),
    ),
    "graph as JSON": Kind(
        ("graph.json",),
        JSON,
        ("convert {} new.edges", "compare dag.edges {}", "convert {} new.gml"),
    ),
    "results and seal": Kind(
        tuple(f"out/{name}.json" for name in ("seal", "certificate", "graph", "diagnostics")),
        JSON,
        (
            "verify out --key key/public.json",
            "verify out --ledger ledger.db",
            "explain out rain wet",
            "sign results out --key key",
        ),
    ),
    "keys": Kind(
        ("key/public.json", "key/secret.json"),
        JSON,
        ("verify out --key {}", "sign results out --key key"),
    ),
    "study": Kind(
        ("study/study.lock", "hospital-a/public.json", "hospital-a/secret.json", "a.masked"),
        nearby(flipped, reworded, flipped),
        (
            "site code study/study.lock",
            "site join study/study.lock --keys hospital-c --code a-b-c",
            "measure data.csv --study study/study.lock --keys hospital-a --output new",
            "federate ask a.masked --study study/study.lock --keys study --output new",
            "combine a.masked --study study/study.lock --output new",
        ),
    ),
    "policy": Kind(
        ("hospital-a/policy.toml",),
        TEXT,
        ("measure data.csv --study study/study.lock --keys hospital-a --output new",),
    ),
}
LINES = "command line"
NAMES = (*KINDS, LINES, LINES, LINES)  # commands are many


class Fuzz:
    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.seed = home, seed
        self.lost: list[str] = []
        self.codes: dict[str, Counter[int]] = {}
        plant(home)
        grow(home)
        self.whole = snapshot(home)
        self.lines = lines.commands()

    def one(self, name: str, number: int) -> None:
        rng = random.Random(f"{self.seed}:{name}:{number}")
        argv = self._line(rng) if name == LINES else self._file(rng, KINDS[name])
        before = snapshot(self.home)
        with inside(self.home):
            done = attempt(argv)
        after = snapshot(self.home)
        self.codes.setdefault(name, Counter())[done.code] += 1
        if problem := wrong(done, before, after):
            self.lost.append(f"{name}:{number}: {problem}: privet {' '.join(argv)!r}")
            print(f"LOST {self.lost[-1]}\n     {done.err.strip()[-400:]!r}", flush=True)
        self._restore(after)

    def _line(self, rng: random.Random) -> list[str]:
        return lines.line(rng, self.lines)

    def _file(self, rng: random.Random, kind: Kind) -> list[str]:
        name = rng.choice(kind.files)
        path = self.home / name
        path.write_bytes(kind.mutator(rng, self.whole.get(name, b"")))
        return [word.format(name) for word in rng.choice(kind.commands).split()]

    def _restore(self, found: Mapping[str, bytes]) -> None:
        for name in sorted(found, reverse=True):
            if name not in self.whole:
                path = self.home / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, content in self.whole.items():
            if found.get(name) != content:
                path = self.home / name
                path.mkdir(parents=True) if content == FOLDER else path.write_bytes(content)


FOLDER = b"a folder"


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file and folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else FOLDER
        for path in sorted(folder.rglob("*"))
    }


def attempt(argv: list[str]) -> Ran:
    try:
        return run(*argv)
    except Endless:
        return Ran(-1, "", "it did not end")


def wrong(done: Ran, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str | None:
    """What must not be, if it is."""
    if done.code not in (0, 2):
        return f"exit code {done.code}"
    if "Traceback" in done.err:
        return "a traceback"
    if done.code == 2 and PAID in done.err:
        return None  # damage inside a file is met after the charge, which stays
    if done.code == 2 and before != after:
        names = [n for n in {**before, **after} if before.get(n) != after.get(n)]
        return f"refused, but {', '.join(sorted(names))} changed"
    if done.code == 2 and done.err.strip().count("\n"):
        return "a refusal of more than one line"
    return None


def fuzz(seed: int, inputs: int, only: str = "") -> tuple[dict[str, int], list[str]]:
    """How many of each kind were tried, and what was lost."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    folder = Path(tempfile.mkdtemp(prefix="privet-stress-"))
    try:
        work = Fuzz(folder / "home", seed)
        if only:
            name, _, number = only.rpartition(":")
            work.one(name, int(number))
        else:
            for place in range(inputs):
                work.one(NAMES[place % len(NAMES)], place)
        return {name: sum(codes.values()) for name, codes in work.codes.items()}, work.lost
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--only", default="", metavar="KIND:NUMBER")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    tried, lost = fuzz(args.seed, args.inputs, args.only)
    print(tried, f"{len(lost)} lost")
    return bool(lost)


if __name__ == "__main__":
    raise SystemExit(main())
