"""The shape of the house, as far as no linter sees it: who may hold rows, draw noise or print.

Which room may import which is said in ``.importlinter`` and checked by ``make lint``. "Is it
private?" is answered by one folder, ``privacy/``; a device, which is the vault of its own row,
answers it in ``local/device/``.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pydoc
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import privet

ROOT = Path(privet.__file__).parent
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))
# What lies in the hallway; everything else has a room.
HALLWAY = {"__init__.py", "__main__.py", "errors.py", "arrays.py", "py.typed"}
# What the promise rests on; nothing here may use a generator that can be seeded.
PRIVATE_SIDE = ("privacy/", "local/device/")
# A protocol is planned from public facts before anybody answers, and comes out the same twice.
PUBLIC_PLANS = {"local/device/planner.py"}
LONGEST_FILE = 400


def module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def imports(file: str) -> Iterator[str]:
    """Every module that a file imports, at the top or inside a function."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            yield node.module or ""


def test_the_hallway_holds_nothing_else() -> None:
    assert {path.name for path in ROOT.iterdir() if path.is_file()} == HALLWAY


def test_every_room_says_what_it_may_know() -> None:
    for file in FILES:
        if file.endswith("__init__.py"):
            said = ast.get_docstring(tree(file))
            assert said, f"{file} has no docstring; the map in CONTRIBUTING.md is made of these"


def test_no_module_shadows_another() -> None:
    """Started inside its folder, or imported by a star, a module must not stand for another."""
    for file in FILES:
        name = Path(file).stem
        assert name == "__main__" or name not in sys.stdlib_module_names, file
    rooms = {module(file) for file in FILES if "/" in file}
    assert not {room.split(".")[0] for room in rooms} & set(privet.__all__)


def test_noise_is_drawn_by_the_mechanisms_alone() -> None:
    for file in FILES:
        known = {name.split(".")[0] for name in imports(file)}
        assert "opendp" not in known or file == "privacy/mechanisms.py", file


def test_rows_are_touched_by_the_vault_alone() -> None:
    """``_rows`` of a vault, and the classes that hold codes."""
    for file in FILES:
        if file == "privacy/vault.py" or file.startswith("privacy/engines/"):
            continue
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"_rows", "_source", "_encoder", "_evaluate"}, file
            if isinstance(node, ast.Name):
                assert node.id not in {"MemoryRows", "StreamedRows", "Encoder"}, file


def test_no_seeded_generator_on_the_private_side() -> None:
    for file in FILES:
        if file.startswith(PRIVATE_SIDE) and file not in PUBLIC_PLANS:
            for node in ast.walk(tree(file)):
                assert not (isinstance(node, ast.Attribute) and node.attr == "random"), file
            assert not {"random", "numpy.random"} & set(imports(file)), file


def test_randomness_elsewhere_is_passed_in_or_seeded() -> None:
    """No hidden global state: only Generator and default_rng(seed) of numpy.random are used."""
    for file in FILES:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
                assert node.attr in {"Generator", "default_rng"}, f"{file}: np.random.{node.attr}"
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
                assert node.args, f"{file}: default_rng() without a seed"


def test_the_library_prints_nothing() -> None:
    """Only the command line speaks."""
    for file in FILES:
        if file.startswith("cli/"):
            continue
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) != "print", f"{file}:{node.lineno} prints"


def test_files_stay_short() -> None:
    lines = {file: len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in FILES}
    long = {file: count for file, count in lines.items() if count > LONGEST_FILE}
    assert not long, f"{long}: split them by what changes together"


def test_no_error_is_bare_or_swallowed() -> None:
    """Nothing raises a bare Exception, and nothing swallows every error."""
    for file in FILES:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{file}:{node.lineno} catches everything"
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                assert ast.unparse(node.exc.func) not in {"Exception", "BaseException"}, file


HEAVY = ("numpy", "opendp", "duckdb", "scipy", "networkx", "rich", "pandas", "polars", "pyarrow")


@pytest.mark.parametrize(
    "name",
    [
        "privet",
        "privet.cli.main",
        "privet.errors",
        "privet.schema.model",
        "privet.privacy.ledger.book",
    ],
)
def test_a_light_import_stays_light(name: str) -> None:
    """In a fresh interpreter: what `import privet` and `privet --help` do not need, they do not
    load."""
    code = f"import sys, {name}; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_a_device_loads_little() -> None:
    """In a fresh interpreter: to make a report takes numpy and nothing else that is big."""
    columns = "".join(f"[columns.{c}]\nkind='ordinal'\nlevels=['0', '1']\n" for c in "abcd")
    text = f"name = 'people'\n{columns}"
    code = (
        "import sys; from privet import Schema; from privet.local import Randomizer\n"
        f"Randomizer(Schema.from_toml({text!r}), 4).report({{}})\n"
        f"print(*[m for m in {HEAVY!r} if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["numpy"]


def test_the_rules_can_fail() -> None:
    """Each rule finds what it looks for where it is allowed."""
    assert "opendp.measurements" in set(imports("privacy/mechanisms.py"))
    attributes = {
        n.attr for n in ast.walk(tree("privacy/vault.py")) if isinstance(n, ast.Attribute)
    }
    assert "_rows" in attributes
    assert any(file.startswith("local/device/") for file in FILES)


def test_every_proof_is_named_by_the_code_it_proves() -> None:
    proofs = ROOT.parent.parent / "proofs"
    if not proofs.is_dir():
        pytest.skip("an installed package has no proofs beside it")
    source = "".join((ROOT / file).read_text(encoding="utf-8") for file in FILES)
    for page in proofs.glob("*.md"):
        assert page.name in source, f"no file names proofs/{page.name}"
        text = page.read_text(encoding="utf-8")
        assert "test_" in text, f"{page.name} names no test"


def test_the_oldest_releases_are_those_that_are_allowed() -> None:
    """``tests/oldest.txt`` holds what a user may have, at the lower bounds of pyproject.toml."""
    root = ROOT.parent.parent
    if not (root / "pyproject.toml").is_file():
        pytest.skip("an installed package has no pyproject.toml beside it")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    bounds: dict[str, set[str]] = {}
    for needed in (
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ):
        name, version = re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\d.]+)", needed)[0]
        bounds.setdefault(name, set()).add(version)
    lines = (root / "tests" / "oldest.txt").read_text("utf-8").splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    names = {re.split(r"[\[><=]", needed)[0] for needed in project["dependencies"]}
    assert names <= set(oldest)
    assert {name: {version} for name, version in oldest.items()} == {
        name: bounds[name] for name in oldest
    }


def test_what_is_installed_with_privet_has_an_upper_bound() -> None:
    """A release that nobody has tried does not come in by itself; tools of developers may."""
    root = ROOT.parent.parent
    if not (root / "pyproject.toml").is_file():
        pytest.skip("an installed package has no pyproject.toml beside it")
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = (one for name in extras if name not in ("bench", "test") for one in extras[name])
    for needed in (*project["dependencies"], *users):
        assert re.search(r">=[\d.]+,<[\d.]+$", needed), f"{needed} needs both bounds"


DOTTED = re.compile(r"`(privet(?:\.\w+)+)`")
IN_CODE = re.compile(r"``((?:[a-z_]+/)*[a-z_]+\.py)``")


def test_code_that_documents_name_is_there() -> None:
    """Modules and what is in them, by their full names in the documents and proofs."""
    top = ROOT.parent.parent
    pages = [*top.glob("*.md"), *(top / "docs").glob("*.md"), *(top / "proofs").glob("*.md")]
    for page in pages:
        for name in DOTTED.findall(page.read_text(encoding="utf-8")):
            *before, last = name.split(".")
            if importlib.util.find_spec(name) if _is_package(before) else None:
                continue
            owner = pydoc.locate(".".join(before))
            assert owner is not None and hasattr(owner, last), f"{page.name}: there is no {name}"


def _is_package(names: list[str]) -> bool:
    return (ROOT.parent / Path(*names)).is_dir()


def test_files_that_the_code_names_are_there() -> None:
    for file in FILES:
        for name in IN_CODE.findall((ROOT / file).read_text(encoding="utf-8")):
            places = (ROOT / Path(file).parent, ROOT, ROOT.parent.parent)
            assert any((place / name).exists() for place in places), f"{file} names {name}"
