"""Messages speak Python in Python and the shell in the shell: an option is named once, between
brackets that ``errors.py`` translates."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import privet
from privet.cli.main import build_parser
from privet.errors import PrivetError, both
from privet.local.device.files import randomize_file
from privet.methods.options import Settings
from privet.networks.fetch import fetch
from privet.options.option import options_of
from privet.pairs.options import Choices

ROOT = Path(privet.__file__).parent
# These speak to the shell alone, or are documents that everybody reads.
OWN_WORDS = ("cli/", "bench/")
SHELL_ONLY = re.compile("`privet (site|federate|measure|randomize|datasets|combine --study)[^`]*`")
BRACKETS = re.compile("⟦([^⟦⟧]*)⟧")
FLAG = re.compile(r"(?<![\w-])--[a-z]{2}")
COMMANDS = re.compile(r"privet (schema|discover|orient|combine|ledger|convert|explain|plan)\b")


def raised() -> Iterator[tuple[str, str]]:
    """The texts of all errors that are raised, each with its place."""
    for path in sorted(ROOT.rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and node.exc is not None:
                parts = [n.value for n in ast.walk(node.exc) if isinstance(n, ast.Constant)]
                text = "".join(part for part in parts if isinstance(part, str))
                yield f"{file}:{node.lineno}", text


def flags() -> set[str]:
    """Every flag of every command."""
    found: set[str] = set()
    todo = [build_parser()]
    while todo:
        for action in todo.pop()._actions:
            found.update(action.option_strings)
            if isinstance(action, argparse._SubParsersAction):
                todo += action.choices.values()
    return found


def arguments() -> set[str]:
    """Every argument by name of a public function, and every option."""
    public = [getattr(privet, name) for name in privet.__all__] + [fetch, randomize_file]
    methods = [m for one in public if inspect.isclass(one) for m in vars(one).values()]
    functions = [f for f in public + methods if inspect.isfunction(f)]
    named = {name for f in functions for name in inspect.signature(f).parameters}
    return named | {option.name for kind in (Settings, Choices) for option in options_of(kind)}


def test_no_message_of_the_library_names_a_flag_or_a_command() -> None:
    """Commands without a function of the same kind, such as `privet site key`, are named."""
    for place, text in raised():
        if not place.startswith(OWN_WORDS):
            rest = SHELL_ONLY.sub("", BRACKETS.sub("", text))
            assert not FLAG.search(rest), f"{place} names a flag; write ⟦name=value⟧"
            assert not COMMANDS.search(rest), f"{place} names a command; write ⟦call()¦command⟧"


def test_what_stands_in_brackets_is_there_in_both_worlds() -> None:
    known, given, seen = flags(), arguments(), 0
    for place, text in raised():
        for named in BRACKETS.findall(text):
            if not re.match(r"\w", named):
                continue  # a name that is put in when it runs
            seen += 1
            python, _, shell = named.partition("¦")
            name = python.partition("=")[0]
            flag = (re.findall(r"--[a-z-]+", PrivetError(f"⟦{named}⟧").in_shell) or [None])[0]
            assert flag is None or flag in known, f"{place}: no command has {flag}"
            assert shell or "." in name or name in given, f"{place}: nothing has {name}"
            assert shell == "" or "--" in shell or shell.startswith("`privet"), place
    assert seen > 40  # the rule looks at something


@pytest.mark.parametrize(
    ("said", "python", "shell"),
    [
        ("give ⟦epsilon=1⟧", "give epsilon=1", "give --epsilon 1"),
        ("use ⟦method='auto'⟧", "use method='auto'", "use --method auto"),
        ("⟦max_order⟧ is 9", "max_order is 9", "--max-order is 9"),
        ("add ⟦private=False⟧", "add private=False", "add --no-privacy"),
        ("add ⟦reuse=False⟧", "add reuse=False", "add --no-reuse"),
        ("⟦as_published=True⟧!", "as_published=True!", "--as-published!"),
        (f"call {both('f(x=1)', 'privet f --x 1')}", "call f(x=1)", "call privet f --x 1"),
    ],
)
def test_one_message_in_two_languages(said: str, python: str, shell: str) -> None:
    error = PrivetError(said)
    assert (str(error), error.in_shell, error.said) == (python, shell, said)
