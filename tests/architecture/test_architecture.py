"""The shape of the house: who may import whom, who may hold rows, who may draw noise.

"Is it private?" is answered by a few small files; these tests keep it that way.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

import privet

ROOT = Path(privet.__file__).parent
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))

# From the ground up. A file may import from lower layers and from its own package, never from
# above. An entry is a file or a package; the longest that matches counts.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "prior", "scratch", "delimited", "names"),
    ("graph", "output"),
    ("schema", "schema_text", "contrasts", "accounting"),
    ("account", "ledger_file", "queries", "statistics", "ridge", "pairwise", "mechanisms",
     "engines", "networks", "draft", "tuebingen"),
    ("ledger", "moment_queries", "box_query", "distance_query", "gradient_query",
     "statistic_queries", "lingam_query", "simulate", "pair_queries", "datasets", "local"),
    ("anm_query", "pair_scores_query"),
    ("residual_queries",),
    ("tested_queries",),
    ("vault", "evidence"),
    ("trust", "ci", "certificate"),
    ("scores",),
    ("search",),
    ("published",),
    ("methods", "orientation"),
    ("report",),
    ("discovery", "orientations", "options", "front", "choice"),
    ("discover", "orient"),
    ("bench",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
# Two files that are one thing: the schema as an object and as text.
TOGETHER = {("schema", "schema_text"), ("schema_text", "schema")}
# Who may know the vault and the ledger: the trust models, the front door and the ledger command.
MAY_IMPORT = {
    "vault": {"trust"},
    "ledger": {"vault", "trust", "discover", "orient", "commands"},
    "engines": {"vault", "local"},  # a device is the vault of its own row
    "opendp": {"mechanisms"},
    "trust": {"published", "methods", "orientation", "discover", "orient"},
}
# The files that the promise rests on; none of them may use a generator that can be seeded.
PRIVATE_SIDE = (
    "queries", "moment_queries", "box_query", "distance_query", "gradient_query", "statistics",
    "statistic_queries", "mechanisms", "pair_queries", "ridge", "anm_query", "residual_queries",
    "tested_queries", "vault", "ledger", "names",
    "ledger_file", "engines", "local.answers", "local.bits", "local.blocks", "local.channel",
    "local.files", "local.geometric", "local.levels", "local.protocol", "local.randomizer",
    "local.recipes", "local.shuffle", "delimited",
)  # fmt: skip
LONGEST_FILE = 400


def module(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@lru_cache
def tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def imports(file: str) -> Iterator[str]:
    """Every module that running this file's code imports, at the top or inside a function.

    Imports for the type checker only are left out; they are erased.
    """
    erased = {
        id(node)
        for test in ast.walk(tree(file))
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test)
        for statement in test.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree(file)):
        if id(node) in erased:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            source = node.module or ""
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)


def inner(file: str) -> set[str]:
    """The files and packages of privet that a file imports."""
    known = {module(other) for other in FILES}
    names = {name.removeprefix("privet.") for name in imports(file) if name.startswith("privet.")}
    return names & known


def layer(name: str) -> tuple[int, str]:
    """The height of a module and the entry of LAYERS that it belongs to."""
    found = [
        (len(entry), height, entry)
        for height, entries in enumerate(LAYERS)
        for entry in entries
        if name == entry or name.startswith(entry + ".")
    ]
    assert found, f"{name} stands in no layer; say in LAYERS where it belongs"
    return max(found)[1:]


ALL_BUT_ROOT = [file for file in FILES if file != "__init__.py"]


@pytest.mark.parametrize("file", ALL_BUT_ROOT)
def test_imports_point_down(file: str) -> None:
    height, entry = layer(module(file))
    for name in inner(file):
        below, other = layer(name)
        assert below < height or other == entry or (entry, other) in TOGETHER, (
            f"{file} imports {name}, which is not below it"
        )


@pytest.mark.parametrize("guarded", MAY_IMPORT)
def test_only_few_may_know(guarded: str) -> None:
    for file in ALL_BUT_ROOT:
        own = module(file).split(".")[0]
        known = {name.removeprefix("privet.").split(".")[0] for name in imports(file)}
        if guarded in known and own != guarded:
            assert own in MAY_IMPORT[guarded], f"{file} imports {guarded}"


def test_rows_are_touched_by_the_vault_alone() -> None:
    """``_rows`` of a vault, and the classes that hold codes."""
    for file in ALL_BUT_ROOT:
        if file == "vault.py" or file.startswith("engines/"):
            continue
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"_rows", "_source", "_encoder", "_evaluate"}, file
            if isinstance(node, ast.Name):
                assert node.id not in {"MemoryRows", "Encoder"}, file


def test_no_seeded_generator_on_the_private_side() -> None:
    for file in ALL_BUT_ROOT:
        if any(f"{module(file)}.".startswith(f"{own}.") for own in PRIVATE_SIDE):
            for node in ast.walk(tree(file)):
                assert not (isinstance(node, ast.Attribute) and node.attr == "random"), file
            roots = {name.split(".")[0] for name in imports(file)}
            assert "random" not in roots and "numpy.random" not in set(imports(file)), file


def test_randomness_elsewhere_is_passed_in_or_seeded() -> None:
    """No hidden global state: only Generator and default_rng(seed) of numpy.random are used."""
    for file in ALL_BUT_ROOT:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np.random":
                assert node.attr in {"Generator", "default_rng"}, f"{file}: np.random.{node.attr}"
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("default_rng"):
                assert node.args, f"{file}: default_rng() without a seed"


def test_the_library_prints_nothing() -> None:
    """Only the command line speaks."""
    for file in ALL_BUT_ROOT:
        if module(file).split(".")[0] in {"cli", "commands"}:
            continue
        for node in ast.walk(tree(file)):
            printing = isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
            assert not printing, f"{file}:{node.lineno} prints"


@pytest.mark.parametrize("file", FILES)
def test_files_stay_short(file: str) -> None:
    lines = len((ROOT / file).read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{file} has {lines} lines; split it by what changes together"


def test_no_error_is_bare_or_swallowed() -> None:
    """Nothing raises a bare Exception, and nothing swallows every error."""
    for file in ALL_BUT_ROOT:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{file}:{node.lineno} catches everything"
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                assert ast.unparse(node.exc.func) not in {"Exception", "BaseException"}, file


HEAVY = ("numpy", "opendp", "duckdb", "scipy", "networkx", "rich", "pandas", "polars", "pyarrow")


@pytest.mark.parametrize("name", ["privet", "privet.cli", "privet.errors", "privet.schema",
                                  "privet.ledger"])
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
    """Each rule, on a name that breaks it."""
    assert layer("methods.pc")[0] > layer("search.pc")[0] > layer("evidence.components")[0]
    with pytest.raises(AssertionError, match="LAYERS"):
        layer("somewhere_new")
    assert "vault" in inner("trust/central.py") and "ledger" in inner("discover.py")
    assert "opendp.prelude" in set(imports("mechanisms.py"))


def test_every_proof_is_named_by_the_code_it_proves() -> None:
    proofs = ROOT.parent.parent / "proofs"
    if not proofs.is_dir():
        pytest.skip("an installed package has no proofs beside it")
    source = "".join((ROOT / file).read_text(encoding="utf-8") for file in FILES)
    for page in proofs.glob("*.md"):
        assert page.name in source, f"no file names proofs/{page.name}"
        text = page.read_text(encoding="utf-8")
        assert "test_" in text, f"{page.name} names no test"
