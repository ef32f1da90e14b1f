"""Workers run the code of this process, whatever file of it is another."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

import pytest

import privet
from privet.privacy.engines import spark

pytest.importorskip("duckdb")
HOME = Path(privet.__file__).parent


def code_in(folder: object, monkeypatch: pytest.MonkeyPatch) -> bytes:
    with monkeypatch.context() as patch:
        patch.setattr(resources, "files", lambda _: folder)
        return spark.code_of_this()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("worker") / "privet"
    shutil.copytree(HOME, made, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.json"))
    return made


@pytest.mark.parametrize(
    "name",
    [
        "privacy/engines/_counts.c",
        "privacy/queries/_moments.c",
        "privacy/queries/_white.c",
        "independence/_questions.h",
        "schema/column.py",
        "schema/cuts.py",
        "privacy/engines/meaning.py",
        "privacy/queries/tables.py",
        "files/delimited.py",
        "arrays.py",
    ],
)
def test_another_byte_of_any_source_is_seen(
    name: str, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy / name
    before, text = spark.code_of_this(), path.read_bytes()
    assert code_in(copy, monkeypatch) == before
    path.write_bytes(text + b"\n")
    assert code_in(copy, monkeypatch) != before
    path.write_bytes(text)


def test_everything_that_a_worker_imports_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that are loaded where rows are encoded and questions answered."""
    program = (
        "import sys, pkgutil, importlib\n"
        "import privet.privacy.engines.encode, privet.privacy.queries as q\n"
        "for m in pkgutil.iter_modules(q.__path__):\n"
        "    importlib.import_module(f'{q.__name__}.{m.name}')\n"
        "print(*(m.__file__ for n, m in list(sys.modules.items()) if n.startswith('privet') and"
        " m.__file__), sep='\\n')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    loaded = {Path(line) for line in ran.stdout.split("\n") if line}
    held = {HOME / name.lstrip("/") for name, _ in spark._sources(HOME)}
    compiled = {
        HOME / name.removesuffix(".c").lstrip("/")
        for name, _ in spark._sources(HOME)
        if name.endswith(".c")
    }
    rest = loaded - held
    assert {each.parent / each.name.partition(".")[0] for each in rest} <= compiled
    assert HOME / "schema" / "column.py" in loaded


def test_a_wheel_that_was_handed_over_has_the_same_code(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "privet.whl", "w") as wheel:
        for path in copy.rglob("*"):
            wheel.write(path, path.relative_to(copy.parent))
    inside = zipfile.Path(tmp_path / "privet.whl", "privet/")
    assert code_in(inside, monkeypatch) == spark.code_of_this()
