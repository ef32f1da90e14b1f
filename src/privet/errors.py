"""Every refusal that a user can meet: one sentence with the value, the rule and the fix.

A message may depend on what is public (schema, budget, options), never on a row.

Messages name options once, in brackets that nobody sees: ``⟦epsilon=1⟧`` reads epsilon=1 in Python
and --epsilon 1 in the shell. Where they differ otherwise, both are written: ``⟦call()¦command⟧``.
"""

from __future__ import annotations

import os
import re
from errno import ENAMETOOLONG
from pathlib import Path
from typing import Any

_NAMED = re.compile("⟦([^⟦⟧]*)⟧")
_UNNAMEABLE = re.compile("[\0\ud800-\udfff]")
_ADDRESS = re.compile("[a-z]{2,}:")  # of a table elsewhere; a drive has one letter
LONGEST = 200  # characters of a value that a message shows
_WITHOUT = {"private=False": "--no-privacy", "reuse=False": "--no-reuse"}


class PrivetError(Exception):
    """Something the user can put right; the command line shows it and exits with code 2.

    >>> import privet
    >>> try:
    ...     privet.discover({"a": [1, 0]}, None)
    ... except privet.PrivetError as error:
    ...     print(error)
    there is no schema, and what is public about the data must not be learnt from them; propose \
one with privet.draft(data), correct it, and give it with schema='schema.toml'
    """

    @property
    def said(self) -> str:
        """The message with its brackets, for an error that quotes this one."""
        return super().__str__()

    def __str__(self) -> str:
        """In the words of Python."""
        return _NAMED.sub(lambda named: named[1].partition("¦")[0], self.said)

    @property
    def in_shell(self) -> str:
        """In the words of the command line."""
        return _NAMED.sub(lambda named: _flag(named[1]), self.said)


def _flag(named: str) -> str:
    python, _, shell = named.partition("¦")
    name, _, value = python.partition("=")
    flag = _WITHOUT.get(python, f"--{name.replace('_', '-')}")
    bare = value in ("", "True") or python in _WITHOUT
    return shell or (flag if bare else f"{flag} {value.strip(chr(39))}")


def both(python: str, shell: str) -> str:
    """What a message says in Python, and what in the shell."""
    return "⟦{}¦{}⟧".format(*(re.sub("[⟦¦⟧]", "", text) for text in (python, shell)))


class SchemaError(PrivetError):
    """The schema does not describe a table."""


class DataError(PrivetError):
    """The file or frame cannot be opened, or its header does not fit the schema."""


class BudgetError(PrivetError):
    """A charge was refused; nothing was read and nothing was spent."""


class LedgerError(PrivetError):
    """The ledger file cannot be used."""


class KnowledgeError(PrivetError):
    """Background knowledge contradicts itself or the schema."""


class GraphError(PrivetError):
    """A graph is not of the kind that it claims, or a file is not a graph."""


class MethodError(PrivetError):
    """No such method, or it cannot serve these columns or this budget."""


class EvidenceError(PrivetError):
    """The evidence at hand does not hold what a test asks for."""


class StudyError(PrivetError):
    """A study of several sites, its keys, or a message in it is not what it should be."""


class OutputError(PrivetError):
    """The output cannot be written."""


def expect(
    value: Any, kinds: type | tuple[type, ...], name: str, fix: str, error: type[PrivetError]
) -> None:
    """Refuse a value of another kind, before something stumbles over it. No truth is a number, and
    where a path is taken, a text is one that a file can be named by."""
    known = kinds if isinstance(kinds, tuple) else (kinds,)
    fits = isinstance(value, known) and (bool in known or not isinstance(value, bool))
    nameless = Path in known and isinstance(value, str | Path) and not _is_nameable(value)
    if not fits or nameless:
        found = f"{_short(value)} (of type {type(value).__name__})"
        rule = ", which no file can be called" if nameless else ""
        raise error(f"⟦{name}⟧ is {found}{rule}; {fix}")


def _is_nameable(path: str | Path) -> bool:
    """Whether a file can have this name: systems refuse some texts, and what is too long."""
    if _UNNAMEABLE.search(str(path)):
        return False
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno != ENAMETOOLONG or _ADDRESS.match(str(path)) is not None
    except ValueError:
        return False
    return True


def _short(value: object) -> str:
    """Simple values are shown, if they are not long; others may hold rows."""
    if not isinstance(value, str | int | float | Path | None):
        return "no such thing"
    shown = repr(str(value) if isinstance(value, Path) else value)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST // 2]}...{shown[-9:]}"


NOTE = "privet: "  # how a note on an error begins that the command line may show
