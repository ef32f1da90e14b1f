"""Windows locks a file beside a folder; what a killed run left is found there as elsewhere.

On Windows these tests use its own locks, elsewhere ones that do the same.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from privet.errors import OutputError
from privet.files.scratch import alone, held_folder, private_folder, sweep
from tests.helpers.patience import PATIENCE

# Whatever is imported is imported first: a library of this platform is made for no other.
STANDS_IN = """
import sys
from privet.files import scratch
if sys.platform != "win32":
    import fcntl
    from types import ModuleType
    def locking(lock, mode, size):
        fcntl.flock(lock, fcntl.LOCK_EX | (fcntl.LOCK_NB if mode else 0))
    module = sys.modules["msvcrt"] = ModuleType("msvcrt")
    module.locking, module.LK_LOCK, module.LK_NBLCK = locking, 0, 1
    sys.platform = "win32"
"""
CHILD = """
from pathlib import Path
from privet.files.scratch import held_folder
with held_folder(Path.cwd(), "out") as path:
    (path / "reports.csv").write_text("secret")
    print(path.name, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", sys.platform)  # both are put back
    monkeypatch.setitem(sys.modules, "msvcrt", sys.modules.get("msvcrt", ModuleType("msvcrt")))
    exec(STANDS_IN, {})


@pytest.fixture
def living(tmp_path: Path) -> subprocess.Popen[str]:
    line = [sys.executable, "-c", f"{STANDS_IN}\n{CHILD}"]
    child = subprocess.Popen(
        line, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline().startswith(".privet-")
    return child


def test_what_a_killed_run_left_is_found_and_that_of_a_living_one_stays(
    tmp_path: Path, living: subprocess.Popen[str]
) -> None:
    said: list[str] = []
    sweep(tmp_path, "out", said.append)
    assert said == [] and len(list(tmp_path.glob(".privet-*/reports.csv"))) == 1
    living.kill()
    living.communicate(timeout=PATIENCE)
    sweep(tmp_path, "other", said.append)
    assert said == []
    sweep(tmp_path, "out", said.append)
    assert len(said) == 1 and said[0].endswith("was left by a run that was killed, and is removed")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_goes_with_its_run(tmp_path: Path) -> None:
    with private_folder(tmp_path, "out") as path:
        (path / "part").write_text("")
        sweep(tmp_path, "out", pytest.fail)
    assert list(tmp_path.iterdir()) == []
    with held_folder(tmp_path, "out") as path:
        os.replace(path, tmp_path / "out")  # moved into place as it is
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_one_at_a_time(tmp_path: Path) -> None:
    door = tmp_path / "door"
    refused = pytest.raises(OutputError, match="another process holds")
    with alone(door), refused, alone(door):
        pass
    with alone(door):
        pass
    assert list(tmp_path.iterdir()) == []
