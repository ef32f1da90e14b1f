"""A site behind a local socket, and a coordinator whose postman may come and go."""

from __future__ import annotations

import json
import os
import pwd
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from privet.api import door
from privet.api.door import Postman, coordinator_socket, serve_site
from privet.cli.main import main
from privet.errors import OutputError, StudyError
from privet.files import sockets
from privet.files.scratch import alone
from privet.trust import study as trust
from tests.helpers.hospitals import NAMES, patients
from tests.helpers.studies import SITES, Study, ask_for, found

A = SITES[0]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = found(tmp_path)
    rows = zip(*patients(0, 60).values(), strict=True)
    lines = [",".join(NAMES), *(",".join(row) for row in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(lines), "utf-8")
    return made


class Stopped(Exception):
    """The site is told to stop after so many connections."""


@contextmanager
def served(
    study: Study, monkeypatch: pytest.MonkeyPatch, connections: int, why: list[str] | None = None
) -> Iterator[Path]:
    """A door in a thread, which ends after so many connections."""
    answered, ready = door._answer, threading.Event()
    left = [connections]

    def answer(connection: socket.socket, ask: Callable[[bytes], bytes]) -> None:
        answered(connection, ask)
        left[0] -= 1
        if not left[0]:
            raise Stopped

    monkeypatch.setattr(door, "_answer", answer)
    path = study.folder / "socket"

    def run() -> None:
        with pytest.raises(Stopped):
            serve_site(
                study.folder / "rows.csv",
                study.path,
                study.folder / A,
                path,
                ledger=study.folder / f"{A}.sqlite",
                on_ready=ready.set,
                on_refusal=lambda error: (why if why is not None else []).append(repr(error)),
            )

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(60)
    yield path
    thread.join(60)
    assert not thread.is_alive() and not path.exists()


def spoken(path: Path, text: bytes) -> bytes | None:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
        sockets.send(line, text)
        return sockets.receive(line, 1 << 20)


def test_bytes_in_bytes_out(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    request = study.signed("ask", ask_for(study.lock))
    why: list[str] = []
    with served(study, monkeypatch, connections=6, why=why) as path:
        assert path.stat().st_mode & 0o077 == 0
        first = spoken(path, request)
        assert first is not None and trust.signer(first, study.lock, A) == A
        assert spoken(path, request) == first
        odd = spoken(path, b"anything")
        assert odd is not None and trust.refusal_in(odd, study.lock, A) == "request"
        with socket.socket(socket.AF_UNIX) as line:  # says that too much will come
            line.connect(str(path))
            line.sendall(sockets.LENGTH.pack(1 << 40))
            assert sockets.receive(line, 1 << 20) is None
        with socket.socket(socket.AF_UNIX) as line:  # hangs up in the middle
            line.connect(str(path))
            line.sendall(sockets.LENGTH.pack(100) + b"x")
        held = study.folder / f"{A}.sqlite.door"
        with pytest.raises(OutputError, match="another process holds"), alone(held):
            pass
        assert spoken(path, study.signed("open")) is not None
    assert study.entries(A) == 1 and len(why) == 1


def test_a_path_that_is_taken_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="no socket"), sockets.listening(tmp_path / "file"):
        pass
    taken = pytest.raises(OutputError, match="another process listens")
    with sockets.listening(tmp_path / "socket"), taken, sockets.listening(tmp_path / "socket"):
        pass
    for never in ("long" * 60, "long" * 70, "file/within"):
        refused = pytest.raises(OutputError, match="cannot listen")
        with refused, sockets.listening(tmp_path / never):
            pass
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(tmp_path / "stale"))
    stale.close()
    with sockets.listening(tmp_path / "stale"):
        pass


def test_a_postman_who_can_read_what_lies_here_is_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By modes, so that it holds whoever runs this test."""
    stranger = Postman(name="postman", uid=54321, gid=54321)
    path = study.folder / "rows.csv"
    path.chmod(0o600)
    assert not stranger.can_read(path)
    mine = Postman.named(None)
    assert mine.can_read(path)
    path.chmod(0o640)
    study.folder.chmod(0o755)
    monkeypatch.setattr(Path, "parents", property(lambda self: [study.folder]), raising=False)
    assert stranger.can_read(path), "a group's rights count: nobody knows all groups"
    path.chmod(0o604)
    assert stranger.can_read(path)
    study.folder.chmod(0o700)
    assert not stranger.can_read(path), "a folder that it cannot enter hides all"
    with pytest.raises(StudyError, match="can read"):
        door._check_apart(Postman(name="root", uid=0, gid=0), [path])


def test_a_socket_that_cannot_be_given_away_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(StudyError, match="only root may"):
        door._hand_over(tmp_path, Postman(name="postman", uid=54321, gid=54321))
    door._hand_over(tmp_path, Postman.named(None))


def test_an_engine_beside_privet_is_refused(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ENGINES", ("pytest",))
    with pytest.raises(StudyError, match="environment of its own"):
        serve_site(
            study.folder / "rows.csv",
            study.path,
            study.folder / A,
            study.folder / "socket",
            ledger=study.folder / f"{A}.sqlite",
        )
    assert not (study.folder / "socket").exists()


def test_a_site_says_who_its_postman_is(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--study", str(study.path), "--keys", str(study.folder / A), "--socket", "s"]
    assert main(["site", "start", str(study.folder / "rows.csv"), *given]) == 2
    assert "--postman" in capsys.readouterr().err
    ledger = ["--ledger", str(study.folder / f"{A}.sqlite"), "--postman", "no-such-user"]
    assert main(["site", "start", str(study.folder / "rows.csv"), *given, *ledger]) == 2
    assert "no user 'no-such-user'" in capsys.readouterr().err
    me = pwd.getpwuid(os.getuid()).pw_name
    ledger[-1] = me
    assert main(["site", "start", str(study.folder / "rows.csv"), *given, *ledger]) == 2
    assert "chmod 600" in capsys.readouterr().err


def test_a_postman_may_come_and_go(tmp_path: Path) -> None:
    """The message is handed over once more; what comes back from strangers is dropped."""
    heard: list[dict[str, object]] = []

    def postman(path: Path, replies: list[bytes | None]) -> None:
        for reply in replies:
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(str(path))
                letter = sockets.receive(line, 1 << 20)
                assert letter is not None
                heard.append(json.loads(letter))
                if reply is not None:
                    sockets.send(line, reply)

    with coordinator_socket(tmp_path / "s", 60.0) as send:
        good = json.dumps({"a": "yes", "z": "stranger", "b": 1}).encode()
        thread = threading.Thread(target=postman, args=(tmp_path / "s", [None, good]))
        thread.start()
        assert send(["a", "b"], b"text") == {"a": b"yes"}
        thread.join()
    assert heard == [{"to": ["a", "b"], "text": "text"}] * 2


def test_garbage_from_a_postman_is_no_answer(tmp_path: Path) -> None:
    for reply in (b"", b"[]", b"\xff", b"[" * 100_000, b'{"a": {}}'):
        assert door._letters(reply, ["a"]) == {}


def test_without_a_postman_the_coordinator_says_so(tmp_path: Path) -> None:
    nobody = pytest.raises(StudyError, match="no postman has connected")
    with coordinator_socket(tmp_path / "s", 0.01) as send, nobody:
        send(["a"], b"text")


def test_the_postman_is_written_and_says_what_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "postman.py"
    assert main(["federate", "postman", "--output", str(path)]) == 0
    with pytest.raises(SystemExit, match=r"nvflare>=2\.9,<2\.10"):
        exec(compile(path.read_text("utf-8"), str(path), "exec"), {"__name__": "postman"})
    assert "privet" not in [
        line.split()[1].split(".")[0]
        for line in path.read_text("utf-8").splitlines()
        if line.startswith(("import ", "from "))
    ]
