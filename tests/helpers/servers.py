"""A PostgreSQL server of a test's own, on a socket in a folder of its own, if there is one here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlencode

PORT = 55432  # of the name of a socket, in a folder of its own


def no_postgres() -> str:
    """Why there is no server, or nothing."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed; see make test-engines"
    return "" if _programs() else "there is no PostgreSQL server here; see make test-engines"


def _programs() -> Path | None:
    """The folder of the server's programs: named, on the path, or where Debian puts them."""
    named = os.environ.get("PRIVET_POSTGRES")
    found = shutil.which("pg_ctl")
    places = [Path(named)] if named else []
    places += [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a database of a server that runs as long as this does; its user is not root,
    since the server refuses that."""
    programs = _programs()
    assert programs is not None
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:
        user = "postgres" if os.geteuid() == 0 else None
        if user:
            shutil.chown(folder, user)

        def run(program: str, *arguments: str) -> None:
            command = [str(programs / program), "-D", f"{folder}/data", *arguments]
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

        run("initdb", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-U", "privet")
        options = f"-p {PORT} -k {folder} -c listen_addresses= -c fsync=off"
        run("pg_ctl", "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            asked = urlencode({"host": folder, "port": PORT, "user": "privet"})
            yield f"postgresql:///postgres?{asked}"
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
