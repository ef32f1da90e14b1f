"""Where there is no POSIX: what needs it is asked for inside functions, and refuses plainly."""

from __future__ import annotations

import ast
import os
import socket
from pathlib import Path

import pytest

import privet
from privet.api.door import Postman
from privet.errors import OutputError, StudyError
from privet.files.sockets import listening

ROOT = Path(privet.__file__).parent
POSIX = {"fcntl", "grp", "pwd", "pty", "resource", "termios", "tty"}
KNOWN = {"files/scratch.py", "api/door.py"}  # each looks first whether there is such a thing


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {name.name.split(".")[0] for name in node.names}
    return {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()


def test_no_module_needs_posix_to_be_imported() -> None:
    found = set()
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        assert not any(imported(node) & POSIX for node in tree.body), path
        if any(imported(node) & POSIX for node in ast.walk(tree)):
            found.add(path.relative_to(ROOT).as_posix())
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not names & {"fork", "SIGKILL", "SIGALRM", "SIGHUP"}, path
    assert found == KNOWN


def test_a_site_behind_a_socket_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "getuid", raising=False)
    with pytest.raises(StudyError, match="carry the messages as files"):
        Postman.named(None)
    monkeypatch.delattr(socket, "AF_UNIX", raising=False)
    with pytest.raises(OutputError, match="carry the messages as files"), listening(tmp_path / "s"):
        pass
