"""SIGTERM, as a batch system or ``timeout`` sends it: a process of its own is stopped at a point
that it announces itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from privet.cli.main import main
from privet.privacy.ledger.book import Ledger
from tests.helpers.garden import Ran, Run
from tests.helpers.patience import PATIENCE

# Runs a command in which one function, once it has done its work, says so and waits for ever.
WAITING = """
import importlib, sys, time
place, name, *argv = sys.argv[1:]
owner = importlib.import_module(place)
work = getattr(owner, name)
def announced(*args, **options):
    done = work(*args, **options)
    print("HERE", flush=True)
    while True:
        time.sleep(0.01)
setattr(owner, name, announced)
from privet.cli.main import main
sys.exit(main(argv))
"""
NUMBERS = """\
name = "people"
[columns.age]
kind = "numeric"
bounds = [0, 100]
[columns.pressure]
kind = "numeric"
bounds = [40, 160]
"""
DISCOVER = ("discover", "data.csv", "--schema", "schema.toml", "--epsilon", "1", "--output", "out")
ORIENT = ("orient", "d.csv", "--schema", "s.toml", "--epsilon", "2", "--output", "out")
BENCH = (
    "bench",
    "central",
    "--networks",
    "cancer",
    "--epsilons",
    "1",
    "--methods",
    "interaction-pc",
    "--runs",
    "2",
    "--rows",
    "500",
    "--output",
    "out",
)


def stopped(place: str, *argv: str) -> Ran:
    """What a command says that gets SIGTERM right after the function at this place."""
    module, _, name = place.rpartition(".")
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, module, name, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if line != "HERE\n":
        raise AssertionError(line + process.stderr.read())
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(
        timeout=PATIENCE
    )  # its helpers hold the pipes: they are gone too
    return Ran(process.returncode, out, err)


def state(home: Path) -> list[str]:
    account = Ledger(home / "ledger.db").account("people")
    return [] if account is None else [run.state for run in account.runs]


def test_a_search_leaves_what_was_paid_for(home: Path, run: Run) -> None:
    result = stopped("privet.methods.searches.pc.skeleton", *DISCOVER)
    assert result.code == 143 and result.out == ""
    assert result.err.startswith("privet: stopped by SIGTERM; epsilon ") and "spent" in result.err
    assert state(home) == ["closed"]
    assert [path.name for path in (home / "out").iterdir()] == ["rescued-evidence.json"]
    again = run("discover", *result.err.rpartition("privet discover ")[2].split())
    assert again.code == 0, again.err


def test_a_measurement_closes_its_run(home: Path) -> None:
    """Stopped after the first charge: that is kept, the rest of the reservation goes back."""
    Ledger(home / "ledger.db").create("people", epsilon=1, delta=1e-6)
    result = stopped("privet.methods.sources.tables.first_look", *DISCOVER)
    assert result.code == 143 and "was spent before that (run " in result.err
    assert state(home) == ["closed"] and not (home / "out").exists()
    account = Ledger(home / "ledger.db").account("people")
    assert account is not None and 0 < account.spent < account.cap
    assert not [path for path in home.iterdir() if path.name.startswith(".privet")]


def test_before_the_first_charge_nothing_is_spent(home: Path) -> None:
    result = stopped("privet.trust.central.Vault", *DISCOVER)
    assert result.code == 143
    assert result.err == "privet: stopped by SIGTERM; the same command begins anew\n"
    assert not (home / "out").exists()


@pytest.fixture
def numbers(home: Path) -> Path:
    rng = np.random.default_rng(1)
    age = rng.uniform(18, 80, 2000)
    pressure = 100 + 40 * np.tanh((age - 40) / 15) + rng.normal(0, 6, 2000)
    lines = (f"{a:.2f},{p:.2f}\n" for a, p in zip(age, pressure, strict=True))
    (home / "d.csv").write_text("age,pressure\n" + "".join(lines))
    (home / "s.toml").write_text(NUMBERS)
    return home


def test_orient_leaves_what_was_paid_for(numbers: Path, run: Run) -> None:
    result = stopped(
        "privet.pairs.ways.noisy_table.judge", *ORIENT, "--cause-effect", "age,pressure"
    )
    assert result.code == 143 and "was spent" in result.err
    assert state(numbers) == ["closed"]
    assert [path.name for path in (numbers / "out").iterdir()] == ["rescued-evidence.json"]
    again = run("orient", *result.err.rpartition("privet orient ")[2].split())
    assert again.code == 0, again.err


@pytest.mark.parametrize("kind", ("csv", "parquet"))
def test_randomize_leaves_no_report(home: Path, kind: str) -> None:
    words = (
        "randomize",
        "data.csv",
        "--schema",
        "schema.toml",
        "--epsilon",
        "2",
        "--protocol",
        "planned-block",
        "--output",
        f"out/reports.{kind}",
    )
    before = "privet.local.device.files._objects"  # within the first block of reports
    result = stopped(before, *words)
    assert (result.code, result.out) == (143, "")
    assert result.err == "privet: stopped by SIGTERM; the same command begins anew\n"
    assert list((home / "out").iterdir()) == []


@pytest.mark.parametrize("processes", ("1", "2"))
def test_a_benchmark_goes_on_from_where_it_was(home: Path, run: Run, processes: str) -> None:
    result = stopped("privet.bench.results.append", *BENCH, "--processes", processes)
    assert result.code == 143 and result.out == ""
    assert "privet: stopped by SIGTERM; 0 of " in result.err
    assert result.err.endswith("the same command goes on from there\n")
    done = (home / "out" / "runs.jsonl").read_text()
    assert done.count("\n") == 1
    again = run(*BENCH, "--processes", "1", "--quiet")
    assert again.code == 0, again.err
    assert (home / "out" / "runs.jsonl").read_text().startswith(done)


def test_the_handler_is_there_only_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    import privet.cli.main

    seen: list[object] = []
    parser = privet.cli.main.build_parser
    monkeypatch.setattr(
        privet.cli.main,
        "build_parser",
        lambda: seen.append(signal.getsignal(signal.SIGTERM)) or parser(),
    )
    before = signal.getsignal(signal.SIGTERM)
    assert main(["methods", "--markdown"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before and seen[0] is not before


def test_a_process_that_was_told_to_ignore_it_does(home: Path) -> None:
    code = (
        "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "import privet.cli.main\n"
        "parser = privet.cli.main.build_parser\n"
        "def build(): os.kill(os.getpid(), signal.SIGTERM); return parser()\n"
        "privet.cli.main.build_parser = build\n"
        "raise SystemExit(privet.cli.main.main(['--version']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, env=dict(os.environ))
    assert done.returncode == 0
