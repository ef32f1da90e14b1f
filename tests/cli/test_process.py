"""The command line as a process of its own: how fast it starts, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from privet.cli import version
from privet.cli.main import main
from tests.helpers.patience import PATIENCE

HEAVY = {
    "numpy",
    "scipy",
    "opendp",
    "duckdb",
    "rich",
    "networkx",
    "pandas",
    "polars",
    "pyarrow",
    "sqlite3",
}


def privet(*argv: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "privet", *argv],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **options},
    )


@pytest.mark.parametrize(
    "code",
    (
        "import privet; privet.Schema",
        "from privet.cli.main import main; main(['--help'])",
        "from privet.cli.main import main; main(['--version'])",
        "from privet.cli.main import main; main(['discover', '--help'])",
        "from privet.cli.main import main; main(['discover', 'nil.csv', '--output', '/dev/null'])",
    ),
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str) -> None:
    """What ``privet --help`` and ``import privet`` take depends on this alone."""
    check = "import sys; print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, timeout=PATIENCE
    )
    loaded = done.stdout.rpartition("LOADED")[2].split()
    assert "privet" in loaded, done.stderr
    assert not HEAVY & set(loaded)


def test_the_functions_are_not_hidden_by_the_files_of_the_same_name() -> None:
    code = (
        "import privet, privet.api.discover, privet.networks.simulate, privet.schema.draft\n"
        "from privet.results.discovery import Discovery\n"
        "for name in privet.__all__: assert getattr(privet, name) is not None, name\n"
        "assert all(map(callable, (privet.discover, privet.simulate, privet.draft)))\n"
        "assert privet.Discovery is Discovery and set(privet.__all__) <= set(dir(privet))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr


def test_a_whole_run(tmp_path: Path) -> None:
    data, out = tmp_path / "asia.csv", tmp_path / "out"
    assert privet("simulate", "asia", "--rows", "500", "--output", str(data)).returncode == 0
    words = ["discover", str(data), "--schema", str(tmp_path / "asia.schema.toml")]
    words += ["--epsilon", "1", "--output", str(out)]
    done = privet(*words, PRIVET_LEDGER=str(tmp_path / "ledger.db"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and "certificate" in done.stdout
    again = privet(*words, PRIVET_LEDGER=str(tmp_path / "ledger.db"))
    assert again.returncode == 2 and again.stdout == "" and "not empty" in again.stderr
    assert "Traceback" not in again.stderr


@pytest.mark.parametrize("words", ("methods --markdown", "methods", "--help"))
def test_a_reader_that_stops_early_is_no_error(words: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m privet {words} | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_version() -> None:
    assert privet("--version").stdout.startswith("privet ")


def test_version_says_whether_the_inner_loops_were_compiled(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_c = {f"privet.{path.with_suffix('').as_posix().replace('/', '.')}" for path in sources()}
    assert set(version.IN_C) == in_c
    monkeypatch.setattr(version, "find_spec", lambda name: object())
    assert main(["--version"]) == 0 and "compiled" not in capsys.readouterr().out
    monkeypatch.setattr(version, "find_spec", lambda name: None if "_pc" in name else object())
    assert main(["--version"]) == 0
    said = capsys.readouterr().out
    assert "up to 8 times as long" in said and "gcc python3-dev" in said


def sources() -> list[Path]:
    """What setup.py compiles."""
    root = Path(version.__file__).parents[1]
    return [path.relative_to(root) for path in root.rglob("_*.c")]
