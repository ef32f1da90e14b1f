"""A postman for NVIDIA FLARE 2.9: hands the bytes of a study from door to door, and knows no more.

This file runs in FLARE's own environment, beside neither Privet nor rows; ``privet federate
postman`` writes a copy of it. At each site the FLARE client finds the door of that site at the path
in PRIVET_SITE_SOCKET, at the server the coordinator at PRIVET_COORDINATOR_SOCKET; a job's
configuration names neither, since it is the server's. To submit the job:

    python postman.py ADMIN_KIT admin@example.org
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from typing import Any

try:
    from nvflare.collab import CollabRecipe, collab
    from nvflare.recipe.prod_env import ProdEnv
except ImportError:
    sys.exit(
        "this file runs in an environment of its own with NVIDIA FLARE; make one: "
        "python -m venv flare && flare/bin/pip install 'nvflare>=2.9,<2.10'"
    )

LENGTH = struct.Struct(">Q")
WAIT = float(os.environ.get("PRIVET_WAIT", "120"))  # seconds for a site to answer one message
BUSY = ("SUBMITTED", "APPROVED", "DISPATCHED", "RUNNING")


def say(line: socket.socket, text: bytes) -> None:
    line.sendall(LENGTH.pack(len(text)) + text)


def hear(line: socket.socket) -> bytes:
    """What was said; nothing if the other side has hung up."""
    head = exactly(line, LENGTH.size)
    return exactly(line, LENGTH.unpack(head)[0]) if head else b""


def exactly(line: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        part = line.recv(min(length - len(found), 1 << 20))
        if not part:
            return b""
        found += part
    return found


def connected(variable: str) -> socket.socket:
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.connect(os.environ[variable])
    return line


class Site:
    """At each site: one message in, one answer out. No error travels, and nobody is believed."""

    @collab.publish
    def answer(self, text: str) -> str:
        try:
            with connected("PRIVET_SITE_SOCKET") as line:
                say(line, text.encode("ascii"))
                return hear(line).decode("ascii")
        except (OSError, KeyError, UnicodeError):
            return ""


class Server:
    """At the server: carries what the coordinator writes until it hangs up."""

    @collab.main
    def run(self) -> str:
        try:
            with connected("PRIVET_COORDINATOR_SOCKET") as line:
                while letter := hear(line):
                    say(line, json.dumps(self._carried(json.loads(letter))).encode("ascii"))
        except (OSError, KeyError):
            return "no coordinator"
        return "done"

    def _carried(self, letter: dict[str, Any]) -> dict[str, str]:
        names = [client.name for client in collab.clients if client.name in letter["to"]]
        if not names:
            return {}
        found = collab.get_clients(names)(timeout=WAIT).answer(letter["text"])
        return {name: text for name, text in found if isinstance(text, str) and text}


def submit(kit: str, user: str) -> None:
    """Submits the job to whatever sites are connected, and waits for its end."""
    recipe = CollabRecipe("privet", server=Server(), client=Site(), min_clients=1)
    env = ProdEnv(kit, username=user, login_timeout=30.0)
    job = env.deploy(recipe.finalize())
    while str(env.get_job_status(job)).startswith(BUSY):
        time.sleep(1.0)
    sys.stdout.write(f"job {job}: {env.get_job_status(job)}\n")


if __name__ == "__main__":
    import postman  # so that the job names the classes by this file

    if len(sys.argv) != 3:
        sys.exit(f"{__doc__}")
    postman.submit(*sys.argv[1:])
