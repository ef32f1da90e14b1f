"""Completion knows every command and option, and a misspelt one is named with its neighbour."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.garden import Run

BASH = """source {0}
for line in "privet le" "privet ledger clo" "privet ledger show --le" "privet discover --epsi"; do
  COMP_WORDS=($line); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _privet; echo "${{COMPREPLY[*]}}"
done
"""
FISH = """source {0}
for line in "privet le" "privet ledger clo" "privet discover --epsi"; complete -C $line; end
"""


@pytest.mark.parametrize(
    ("shell", "script", "expected"),
    [
        ("bash", BASH, ["ledger", "close", "--ledger", "--epsilon"]),
        ("fish", FISH, ["ledger", "close", "--epsilon"]),
    ],
)
def test_a_shell_completes(
    shell: str, script: str, expected: list[str], run: Run, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    done = run("completion", shell)
    assert done.code == 0, done.err
    (tmp_path / "words").write_text(done.out)
    command = [shell, "-c", script.format(tmp_path / "words")]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split("\t")[0] for line in out.splitlines()] == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_offered(shell: str, run: Run) -> None:
    offered = run("completion", shell).out
    for word in ("discover", "draft", "test-delta", "min-confidence", "completion"):
        assert word in offered


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("discover", "d.csv", "--epsilonn", "1"), "--epsilon"),
        (("discover", "d.csv", "--outptu=o"), "--output"),
        (("ledger", "show", "--josn"), "--json"),
        (("ledger", "shwo"), "show"),
        (("discovr",), "discover"),
        (("completion", "bsh"), "bash"),
    ],
)
def test_what_was_meant_is_named(words: tuple[str, ...], near: str, run: Run) -> None:
    done = run(*words)
    assert done.code == 2 and "did you mean" in done.err and repr(near) in done.err
    assert "--help" in done.err
