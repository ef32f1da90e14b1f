"""What killed runs leave is found by the next run for the same output, and by no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from privet.files.scratch import PREFIX, held_folder, private_folder, sweep
from privet.results.folder import Stage
from tests.helpers.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")

TABLE = 'name = "t"\n' + "".join(
    f'[columns.{c}]\nkind = "categorical"\nlevels = ["no", "yes"]\n' for c in "abc"
)
RANDOMIZE = """
import os, sys
import privet.local.device.files as files
from privet.cli.main import main
def stop(*_): {stop}
files.os.replace = stop
words = "randomize answers.csv --schema schema.toml --epsilon 2 --quiet".split()
main([*words, *sys.argv[1:]])
"""
KILLED = "os.kill(os.getpid(), 9)"
STAGE = """
import os
from privet.results.folder import Stage
with Stage("out", force=True) as stage:
    stage.write({file!r}, "{{}}")
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text("a,b,c\n" + "no,yes,no\n" * 50)
    (tmp_path / "schema.toml").write_text(TABLE)
    return tmp_path


def start(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(code: str, *words: str) -> None:
    process = start(code, *words)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -9


def hidden(home: Path) -> list[Path]:
    return sorted(home.glob(f"{PREFIX}*"))


def randomize(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "privet",
            "randomize",
            "answers.csv",
            "--schema",
            "schema.toml",
            "--epsilon",
            "2",
            *words,
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_reports_of_a_killed_run_are_named_and_removed(home: Path, name: str) -> None:
    killed(RANDOMIZE.format(stop=KILLED), "--output", name)
    (left,) = hidden(home)
    assert (left / name).stat().st_size > 0 and left.stat().st_mode & 0o077 == 0
    other = randomize("--output", f"other-{name}")  # another output leaves it alone
    assert other.returncode == 0 and other.stderr == "" and hidden(home) == [left]
    done = randomize("--output", name)
    assert done.returncode == 0 and hidden(home) == []
    assert left.name in done.stderr and "is removed" in done.stderr
    assert done.stderr.count("\n") == 1


def test_they_are_removed_by_a_run_that_is_refused_too(home: Path) -> None:
    assert randomize("--output", "r.csv", "--quiet").returncode == 0
    killed(RANDOMIZE.format(stop=KILLED), "--output", "r.csv", "--force")
    (left,) = hidden(home)
    refused = randomize("--output", "r.csv")
    assert refused.returncode == 2 and "exists" in refused.stderr
    assert left.name in refused.stderr and hidden(home) == []


def test_the_folder_of_a_living_run_stays(home: Path) -> None:
    waits = "print('ready', flush=True); sys.stdin.readline(); os._exit(7)"
    living = start(RANDOMIZE.format(stop=waits), "--output", "r.csv")
    assert living.stdout is not None and living.stdout.readline() == "ready\n"
    (held,) = hidden(home)
    done = randomize("--output", "r.csv")
    assert done.returncode == 0 and done.stderr == "" and hidden(home) == [held]
    living.communicate("go on\n", timeout=PATIENCE)
    assert living.returncode == 7
    assert held.name in randomize("--output", "r.csv", "--force").stderr and hidden(home) == []


def test_nothing_else_is_removed(home: Path) -> None:
    """Folders and links that only look alike, and those of other outputs."""
    with held_folder(home, "out") as made:
        pass
    other = home / "somewhere"
    other.mkdir()
    stem = made.name[:-12]
    (home / f"{stem}{'0' * 12}").symlink_to(other)
    (home / f"{stem}{'1' * 12}").write_text("a file")
    for name in (f"{stem}{'2' * 11}", f"{stem}{'2' * 12}x", ".privet-mine", f"{PREFIX}{'3' * 12}"):
        (home / name).mkdir()
    with held_folder(home, "other"):
        pass
    before, notes = set(home.iterdir()), list[str]()
    sweep(home, "out", notes.append)
    assert before - set(home.iterdir()) == {made} and len(notes) == 1
    sweep(home / "none", "out", notes.append)
    assert len(notes) == 1


def test_a_folder_is_locked_as_long_as_it_is_used(home: Path) -> None:
    notes: list[str] = []
    with private_folder(home, "out") as path:
        sweep(home, "out", notes.append)
        assert path.exists() and notes == []
    assert not path.exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may look just between the two."""
    mkdir, swept = Path.mkdir, list[str]()

    def made(path: Path, mode: int = 0o777) -> None:
        mkdir(path, mode)
        if not swept:
            sweep(home, "out", swept.append)

    monkeypatch.setattr(Path, "mkdir", made)
    with held_folder(home, "out") as path:
        assert path.exists() and len(swept) == 1
        assert hidden(home) == [path]


@pytest.mark.parametrize("inside", [False, True])
def test_results_of_a_killed_run(home: Path, inside: bool) -> None:
    """They go, but for what may have been paid for, which is named as long as it is there."""
    if inside:
        (home / "out").mkdir()
    where = home / "out" if inside else home
    killed(STAGE.format(file="graph.json"))
    (left,) = hidden(where)
    notes: list[str] = []
    with pytest.raises(RuntimeError), Stage(home / "out", on_note=notes.append):
        raise RuntimeError
    assert hidden(where) == [] and left.name in notes[0] and "is removed" in notes[0]
    killed(STAGE.format(file="evidence.json"))
    (left,) = hidden(where)
    for _ in range(2):
        notes.clear()
        stage = Stage(home / "out", force=True, on_note=notes.append)
        with pytest.raises(RuntimeError), stage:
            raise RuntimeError
        assert hidden(where) == [left] and len(notes) == 1
        assert left.name in notes[0] and "--evidence" in notes[0]


def test_what_was_left_beside_a_folder_is_found_when_the_folder_is_there(home: Path) -> None:
    killed(STAGE.format(file="graph.json"))
    assert len(hidden(home)) == 1
    os.mkdir("out")
    notes: list[str] = []
    with Stage("out", on_note=notes.append) as stage:
        stage.write("graph.json", "{}")
    assert hidden(home) == [] and len(notes) == 1
    assert [path.name for path in (home / "out").iterdir()] == ["graph.json"]
