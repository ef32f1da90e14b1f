"""A federation of real processes over mutual TLS: a server, four sites, their doors, a coordinator.

``make federated`` runs this; it needs NVIDIA FLARE in an environment of its own, whose programs are
in $PRIVET_FLARE. All that is started here is stopped here.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from privet.privacy.ledger.book import Ledger

FLARE = os.environ.get("PRIVET_FLARE")
pytestmark = pytest.mark.skipif(FLARE is None, reason="make federated runs this")
SITES = tuple(f"hospital-{letter}" for letter in "abcd")
ADMIN = "admin@privet.org"
QUESTIONS = 3  # of a study: columns, pairs, triples
PATIENCE = 180.0  # seconds after which a step counts as hung, however busy the machine


def privet(*words: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "privet", *words]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stderr
    return run.stdout + run.stderr


def wait_for(what: str, ready: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, f"no {what} after {PATIENCE:g} s"
        time.sleep(0.2)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kill_all(folder: Path) -> None:
    """Whatever was started from a folder: FLARE puts its jobs into groups of their own."""
    for found in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = found.read_bytes().decode("utf-8", "replace")
            if str(folder) in words and int(found.parent.name) != os.getpid():
                os.kill(int(found.parent.name), signal.SIGKILL)


class Federation:
    """FLARE's own processes. Each party makes its own key; the coordinator signs requests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.env = {
            **os.environ,
            "PATH": f"{Path(str(FLARE)).resolve()}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PRIVET_COORDINATOR_SOCKET": str(folder / "coordinator"),
            "PRIVET_WAIT": "30",
        }
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def flare(self, *words: str) -> dict[str, Any]:
        run = subprocess.run(
            ["nvflare", "--format", "json", *words],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return dict(json.loads(run.stdout.strip().splitlines()[-1])["data"])

    def provision(self) -> None:
        server = {"host": "localhost", "fed_learn_port": self.port, "admin_port": self.port}
        profile = {"name": "privet", "scheme": "tcp", "connection_security": "mtls"}
        self._write("profile.yaml", {**profile, "server": server})
        made = self.flare("cert", "init", "--profile", "profile.yaml", "-o", "ca")
        self.fingerprint = made["rootca_fingerprint_sha256"]
        parties = {"localhost": {"type": "server"}, ADMIN: {"type": "admin", "role": "lead"}}
        parties |= {name: {"type": "client"} for name in SITES}
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(self._provision_one, parties, parties.values()))

    def _provision_one(self, name: str, facts: dict[str, str]) -> None:
        party = {"name": "privet", "participants": [{"name": name, "org": "privet", **facts}]}
        self._write(f"{name}.yaml", party)
        self.flare("cert", "request", "-p", f"{name}.yaml", "--out", f"request-{name}")
        sent = f"request-{name}/{name}.request.zip"
        signed = ("--ca-dir", "ca", "--profile", "profile.yaml", "--out", f"{name}.signed.zip")
        self.flare("cert", "approve", sent, *signed)
        own = ("--request-dir", f"request-{name}", "--fingerprint", self.fingerprint)
        place = f"kits/{name}"  # as everywhere: two that are packed in one place lose their files
        self.flare("package", f"{name}.signed.zip", *own, "-w", place)
        local = self.kit(name) / "local"
        if (local / "resources.json.default").exists():  # jobs are stored here, not with others'
            text = (local / "resources.json.default").read_text("utf-8")
            kept = text.replace("/tmp/nvflare", str(self.folder / "jobs"))
            (local / "resources.json").write_text(kept, "utf-8")

    def _write(self, name: str, facts: dict[str, Any]) -> None:
        (self.folder / name).write_text(json.dumps(facts), "utf-8")  # which is YAML, too

    def kit(self, name: str) -> Path:
        return self.folder / "kits" / name / "privet" / "prod_00" / name

    def start(self, name: str, *command: str, **variables: str) -> subprocess.Popen[str]:
        """In a group of its own, so that all it starts can be stopped with it."""
        log = (self.folder / f"{name}.log").open("w", encoding="utf-8")
        with log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**self.env, **variables},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
            )
        return self.processes[name]

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text("utf-8", errors="replace") if path.exists() else ""

    def start_all(self) -> None:
        self.start("server", str(self.kit("localhost") / "startup" / "sub_start.sh"))
        wait_for("server", self._listens)
        for name in SITES:
            door = {"PRIVET_SITE_SOCKET": str(self.folder / f"{name}.door")}
            self.start(f"{name}-flare", str(self.kit(name) / "startup" / "sub_start.sh"), **door)
        for name in SITES:
            wait_for(name, lambda n=name: "Successfully registered" in self.log(f"{n}-flare"))  # type: ignore[misc]

    def _listens(self) -> bool:
        with closing(socket.socket()) as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def submit(self) -> subprocess.Popen[str]:
        kit = str(self.kit(ADMIN))
        return self.start("postman", "python", "postman.py", kit, ADMIN)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    made = Federation(tmp_path_factory.mktemp("flare"))
    try:
        privet("federate", "postman", "--output", str(made.folder / "postman.py"))
        made.provision()
        made.start_all()
        yield made
    finally:
        for name in list(made.processes):
            made.kill(name)
        kill_all(made.folder)
    wait_for("end of the server", lambda: not made._listens())


class Study:
    """A study on simulated rows: keys, ledgers, a lock, and doors that are open."""

    def __init__(self, federation: Federation, name: str) -> None:
        self.federation, self.home = federation, federation.folder / name
        self.home.mkdir()
        rows = ("--sites", str(len(SITES)), "--rows", "3000")
        privet("simulate", "cancer", *rows, "--output", str(self.home / "rows"))
        for site in SITES:
            privet("site", "key", site, "--account", site, "--output", str(self.home / site))
            cap = ("--epsilon", "1", "--ledger", self.ledger(site))
            privet("ledger", "create", site, *cap)
        keys = [str(self.home / site / "public.json") for site in SITES]
        asked = ("--schema", str(self.home / "rows" / "schema.toml"), "--epsilon", "1")
        self.lock, folder = str(self.home / "study" / "study.lock"), str(self.home / "study")
        privet("federate", "lock", *keys, *asked, "--fewest", "3", "--output", folder)
        code = privet("site", "code", self.lock).strip()
        for site in SITES:
            keys = ["--keys", str(self.home / site), "--code", code]
            privet("site", "join", self.lock, *keys)

    def ledger(self, site: str) -> str:
        return str(self.home / f"{site}.sqlite")

    def charges(self, site: str) -> int:
        account = Ledger(self.ledger(site)).account(site)
        assert account is not None
        return sum(len(run.entries) for run in account.runs)

    def open(self, site: str) -> None:
        rows = str(self.home / "rows" / f"site-{SITES.index(site) + 1}.csv")
        kept = ("--keys", str(self.home / site), "--ledger", self.ledger(site))
        door = ("--socket", str(self.federation.folder / f"{site}.door"), "--same-user")
        command = ("site", "start", rows, "--study", self.lock, *kept, *door)
        self.federation.start(f"{site}-door", sys.executable, "-m", "privet", *command)
        wait_for("door", lambda: "Listening" in self.federation.log(f"{site}-door"))

    def close(self) -> None:
        for site in SITES:
            if f"{site}-door" in self.federation.processes:
                self.federation.kill(f"{site}-door")

    def discover(self) -> subprocess.Popen[str]:
        keys = ("--keys", str(self.home / "study"), "--wait", str(PATIENCE), "--force")
        place = ("--socket", str(self.federation.folder / "coordinator"))
        to = ("--output", str(self.home / "out"))
        words = ("federate", "discover", self.lock, *keys, *place, *to)
        return self.federation.start("coordinator", sys.executable, "-m", "privet", *words)

    def certificate(self) -> dict[str, Any]:
        path = self.home / "out" / "joint" / "certificate.json"
        return dict(json.loads(path.read_text("utf-8")))


def test_a_killed_coordinator_goes_on_and_all_sites_answer(federation: Federation) -> None:
    """When it is killed all sites have answered once. Until it is dead they may be asked again,
    some sooner than others: then the next question has been charged at some of them only."""
    with closing(Study(federation, "first")) as study:
        for site in SITES:
            study.open(site)
        study.discover()
        federation.submit()
        answers = study.home / "out" / "answers"
        wait_for("answer", lambda: len(list(answers.glob("1-1-*.masked"))) == len(SITES))
        federation.kill("coordinator")
        charged = [study.charges(site) for site in SITES]
        wait_for("end of the job", lambda: federation.processes["postman"].poll() is not None)
        process = study.discover()
        federation.submit()
        wait_for("graph", lambda: process.poll() is not None)
        assert process.returncode == 0, federation.log("coordinator")
        assert all(1 <= each <= QUESTIONS for each in charged)
        assert [study.charges(site) for site in SITES] == [QUESTIONS] * 4, (
            "no question was charged twice"
        )
        assert [line["label"] for line in study.certificate()["sites"]] == list(SITES)


def test_who_refuses_or_is_killed_is_left_out(federation: Federation) -> None:
    """First two of four cannot answer, which is too few; then one of them can."""
    with closing(Study(federation, "second")) as study:
        for site in SITES:
            study.open(site)
        policy = study.home / SITES[0] / "policy.toml"
        allowed = policy.read_text("utf-8")
        federation.kill(f"{SITES[0]}-door")
        policy.write_text(
            allowed.replace("largest_epsilon = 1.0", "largest_epsilon = 0.5"), "utf-8"
        )
        federation.kill(f"{SITES[3]}-flare")
        kill_all(federation.kit(SITES[3]))
        process = study.discover()
        federation.submit()
        wait_for("refusal", lambda: process.poll() is not None)
        assert process.returncode == 2
        assert "2 of 4 sites would answer" in federation.log("coordinator")
        assert not any(study.charges(site) for site in SITES)
        wait_for("end of the job", lambda: federation.processes["postman"].poll() is not None)
        policy.write_text(allowed, "utf-8")
        study.open(SITES[0])
        process = study.discover()
        federation.submit()
        wait_for("graph", lambda: process.poll() is not None)
        assert process.returncode == 0, federation.log("coordinator")
        assert [line["label"] for line in study.certificate()["sites"]] == list(SITES[:3])
        assert [study.charges(site) for site in SITES] == [*[QUESTIONS] * 3, 0]
