"""Without privacy, beside other tools: the same jobs on the same arrays, in one run.

    python bench/peers.py [--only "PC, numbers"] [--limit 60] [--sets 5] [--large] [--processes 2]
    python bench/peers.py --large --only sparse --peers pybnesian --limit 120

What a package registry has is installed into a folder of its own; bnlearn and pcalg take part if R
and they are there. Every call is timed in a process of its own, in CPU seconds of one thread,
without imports; Privet's is the whole call, without confidence, which others do not give. A peer
that is slower than the limit on the first data set is not asked again. Tables of 500 and of 1,000
columns (``--large``) are sparse, with 2 neighbours to each column, and at most 3 of each. F1 is the
mean over the data sets with its standard error, and the ratio is the fastest peer's seconds by
Privet's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

import blas  # noqa: F401
import numpy as np
from common import markdown, network, parallel, table, write
from peer_ours import ours

from privet.graph.meek import cpdag, is_acyclic
from privet.networks import random_linear_gaussian
from privet.networks.generated import random_network

HERE = Path(__file__).parent
PACKAGES = ("causal-learn", "ges", "pgmpy", "lingam", "dagma", "pybnesian", "gcastle")
Matrix = np.ndarray[Any, Any]
ROWS = 10_000  # of numbers
LARGE_SETS = 3  # data sets of a large job, at most
IN_R = ("bnlearn", "pcalg")


@dataclass(frozen=True)
class Data:
    """Numbers or codes, how many levels each column has (0: numbers), and the true CPDAG."""

    numbers: Matrix
    levels: Matrix
    truth: Matrix
    data: Any
    schema: Any


@dataclass(frozen=True)
class Job:
    what: str
    on: str
    method: str
    peers: tuple[str, ...]
    make: Callable[[int], Data]
    large: bool = False


@dataclass
class Outcome:
    seconds: list[float] = field(default_factory=list)
    scores: list[tuple[float, float]] = field(default_factory=list)
    failed: bool = False

    def cell(self, limit: float) -> str:
        if not self.seconds:
            return "failed" if self.failed else f"over {limit:.0f}"
        scores = np.array(self.scores)
        means, sets = scores.mean(axis=0), len(scores)
        errors = scores.std(axis=0, ddof=1) / sets**0.5 if sets > 1 else np.full(2, nan)
        both = [_beside(*each) for each in zip(means, errors, strict=True) if not np.isnan(each[0])]
        return f"{np.median(self.seconds):.3g} ({' / '.join(both)})"


def _beside(mean: float, error: float) -> str:
    return f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"


# --- the jobs --------------------------------------------------------------------------------


def from_network(name: str, rows: int) -> Callable[[int], Data]:
    return lambda seed: tabulated(network(name), rows, seed)


def from_random(nodes: int, levels: tuple[int, int], rows: int) -> Callable[[int], Data]:
    def make(seed: int) -> Data:
        rng = np.random.default_rng(seed)
        return tabulated(
            random_network(nodes, density=3 / (nodes - 1), levels=levels, rng=rng), rows, seed
        )

    return make


def tabulated(model: Any, rows: int, seed: int) -> Data:
    data, schema = table(model, rows, seed), model.schema()
    codes = [data.column(name).combine_chunks().indices.to_numpy() for name in schema.names]
    levels = np.array([len(model.levels[name]) for name in schema.names])
    return Data(np.stack(codes, 1), levels, model.graph().cpdag().matrix(), data, schema)


def linear(nodes: int, neighbours: float = 3.0, uniform: bool = False) -> Callable[[int], Data]:
    """10,000 rows of a linear model; its noise is normal or, for what needs that, uniform."""

    def make(seed: int) -> Data:
        rng = np.random.default_rng(seed)
        model = random_linear_gaussian(nodes, density=neighbours / (nodes - 1), rng=rng)
        size, side = (ROWS, nodes), 3**0.5
        draw = rng.uniform(-side, side, size) if uniform else rng.normal(size=size)
        numbers = draw * model.noise @ np.linalg.inv(np.eye(nodes) - model.weights)
        graph, schema = model.graph(), model.schema()
        truth = graph.matrix() if uniform else graph.cpdag().matrix()
        columns = np.asfortranarray(numbers)  # each in one piece, as in the frames of peers
        data = {name: columns[:, i] for i, name in enumerate(schema.names)}
        return Data(numbers, np.zeros(nodes, dtype=int), truth, data, schema)

    return make


PC = ("causal-learn PC", "pybnesian PC", "pgmpy PC")
GES = ("causal-learn GES", "pybnesian hc", "pgmpy GES")


def jobs() -> list[Job]:
    out: list[Job] = []
    for name in ("asia", "sachs", "child", "alarm", "insurance", "hailfinder"):
        tables, few = from_network(name, 100_000), from_network(name, 10_000)
        out.append(Job("PC, tables of 100,000 rows", name, "pc", (*PC, "bnlearn PC"), tables))
        out.append(Job("PC, tables of 10,000 rows", name, "pc", (*PC, "bnlearn PC"), few))
        out.append(Job("GES, tables of 10,000 rows", name, "ges", (*GES, "bnlearn hc"), few))
    for columns, levels in ((76, (2, 2)), (70, (2, 4))):
        on, tables = f"{columns} columns, random", from_random(columns, levels, 10_000)
        out.append(Job("PC, tables of 10,000 rows", on, "pc", (*PC, "bnlearn PC"), tables))
        out.append(Job("GES, tables of 10,000 rows", on, "ges", (*GES, "bnlearn hc"), tables))
    numeric = (*PC, "gcastle PC", "pcalg PC")
    scored = ("causal-learn GES", "ges", "gcastle GES", "pybnesian hc", "pcalg GES")
    for columns in (20, 50, 100, 200, 500, 1_000):
        on, made, large = f"{columns} columns", linear(columns), columns > 200
        if large:
            on, made = f"{on}, sparse", linear(columns, neighbours=2)
        out.append(Job("PC, numbers", on, "pc", numeric, made, large))
        out.append(Job("GES, numbers", on, "ges", scored, made, large))
    dense = linear(20, neighbours=6)
    out.append(Job("PC, numbers", "20 columns, dense", "pc", numeric, dense))
    out.append(Job("GES, numbers", "20 columns, dense", "ges", scored, dense))
    out.append(Job("FCI, numbers", "50 columns", "fci", ("causal-learn FCI",), linear(50)))
    alarm = from_network("alarm", 100_000)
    mixed = ("pybnesian MMHC", "bnlearn MMHC")
    out.append(Job("MMHC, tables of 100,000 rows", "alarm", "mmhc", mixed, alarm))
    out.append(Job("DAGMA, numbers", "50 columns", "dagma", ("dagma DAGMA",), linear(50)))
    directed = ("lingam DirectLiNGAM", "gcastle DirectLiNGAM")
    out.append(
        Job("DirectLiNGAM, numbers", "20 columns", "lingam", directed, linear(20, uniform=True))
    )
    return sorted(out, key=lambda job: job.what)


# --- running ---------------------------------------------------------------------------------


def install(folder: Path) -> Path:
    """The Python of an environment with all the peers."""
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    ask = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES]
    subprocess.run(ask, check=True)
    return python


def versions(python: Path) -> list[str]:
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    known = [line.replace("==", " ") for line in listed if line.split("==")[0] in PACKAGES]
    return known + [f"{name} {version}" for name, version in in_r().items()]


def in_r() -> dict[str, str]:
    """Which packages of R there are, with their versions."""
    if shutil.which("Rscript") is None:
        return {}
    ask = 'x <- installed.packages()[, "Version"]; cat(paste(names(x), x), sep = "\\n")'
    said = subprocess.run(["Rscript", "-e", ask], capture_output=True, text=True, check=False)
    found = dict(line.split(" ", 1) for line in said.stdout.splitlines() if " " in line)
    return {name: found[name] for name in IN_R if name in found}


def theirs(python: Path, peer: str, given: Data, limit: float) -> tuple[float, Matrix] | None:
    """Seconds and graph of a peer; None if it does not end in time. A RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in"), Path(folder, "out")
        r = peer.split()[0] in IN_R
        if r:
            names = ",".join(f"v{i}" for i in range(len(given.levels)))
            np.savetxt(source, given.numbers, delimiter=",", header=names, comments="", fmt="%.17g")
            command = ["Rscript", str(HERE / "peer_jobs.R"), peer, str(source), str(target)]
        else:
            source, target = source.with_suffix(".npz"), target.with_suffix(".npz")
            np.savez(source, numbers=given.numbers, levels=given.levels)
            command = [str(python), str(HERE / "peer_jobs.py"), peer, str(source), str(target)]
        if not ended(command, limit):
            return None
        if r:
            first, *rest = target.read_text().splitlines()
            matrix = np.array([line.split(",") for line in rest], dtype=float) != 0
            return float(np.median([float(s) for s in first.split(",")])), matrix
        done = np.load(target)
        return float(np.median(done["seconds"])), done["matrix"]


def ended(command: list[str], limit: float) -> bool:
    """Whether a peer ends in time, once it has said that it is ready: its imports and the reading
    of the data are not timed. Other work on the machine may make a second of its own take two."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said)
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.communicate(timeout=2 * limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return False
        if process.returncode:
            said.seek(0)
            raise RuntimeError(f"{command[2]} failed:\n{said.read().decode()[-400:]}")
        return True


def f1(truth: Matrix, found: Matrix) -> tuple[float, float]:
    """Of the skeleton and of the arcs, where a line is an arc both ways."""

    def score(a: Matrix, b: Matrix) -> float:
        return float(2 * (a & b).sum() / max(1, a.sum() + b.sum()))

    return score(truth | truth.T, found | found.T), score(truth, found)


def compared(job: Job, matrix: Matrix) -> Matrix:
    """The class of a DAG, where no more can be known."""
    one_way = not (matrix & matrix.T).any()
    if job.method in ("lingam", "fci") or not one_way or not is_acyclic(matrix):
        return matrix
    return np.asarray(cpdag(matrix))


def run(at: int, python: Path, sets: int, limit: float, peers: str) -> dict[str, Outcome]:
    """One of the jobs, in a process of its own."""
    job = jobs()[at]
    missing = {*IN_R} - {*in_r()}
    there = [peer for peer in job.peers if peers in peer and peer.split()[0] not in missing]
    outcomes = {name: Outcome() for name in ("Privet", *there)}
    for seed in range(1, (min(sets, LARGE_SETS) if job.large else sets) + 1):
        given = job.make(seed)
        for name, outcome in outcomes.items():
            if seed > 1 and not outcome.seconds:
                continue
            try:
                done = (
                    ours(given.data, given.schema, job.method)
                    if name == "Privet"
                    else theirs(python, name, given, limit)
                )
            except RuntimeError as error:
                sys.stderr.write(f"{error}\n")
                outcome.failed, done = True, None
            if done is not None and (name == "Privet" or done[0] <= limit):
                outcome.seconds.append(done[0])
                skeleton, directed = f1(given.truth, compared(job, done[1]))
                outcome.scores.append((skeleton, nan if job.method == "fci" else directed))
    return outcomes


def line(job: Job, outcomes: dict[str, Outcome], limit: float) -> Sequence[str]:
    own = float(np.median(outcomes["Privet"].seconds))
    others = {name: o for name, o in outcomes.items() if name != "Privet"}
    ended = {name: float(np.median(o.seconds)) for name, o in others.items() if o.seconds}
    best = min(ended, key=lambda name: ended[name]) if ended else None
    slow = any(not outcome.failed for outcome in others.values())
    ratio = f"over {limit / own:.0f}" if slow else "-"
    ratio = f"{ended[best] / own:.1f} ({best})" if best else ratio
    cells = [f"{name} {outcome.cell(limit)}" for name, outcome in others.items()]
    return [job.what, job.on, outcomes["Privet"].cell(limit), ratio, "; ".join(cells)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    parser.add_argument("--peers", default="", help="peers whose name contains this")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for one call")
    parser.add_argument("--sets", type=int, default=5, help="data sets of each job")
    parser.add_argument("--large", action="store_true", help="500 and 1,000 columns too")
    parser.add_argument("--processes", type=int, default=1, help="jobs at a time, a core for each")
    parser.add_argument("--folder", type=Path, default=Path(".venv-peers"))
    asked = parser.parse_args()
    python, rows, records = install(asked.folder), [], []
    every = jobs()
    chosen = [
        (at, python, asked.sets, asked.limit, asked.peers)
        for at, job in enumerate(every)
        if asked.only in f"{job.what}, {job.on}" and (asked.large or not job.large)
    ]
    for (at, *_), outcomes in zip(chosen, parallel(run, chosen, asked.processes), strict=True):
        job = every[at]
        rows.append(line(job, outcomes, asked.limit))
        for name, outcome in outcomes.items():
            records.append({"job": job.what, "on": job.on, "tool": name, **vars(outcome)})
    header = ["job", "data", "Privet: CPU s (skeleton / directed F1)", "ratio", "others"]
    body = markdown(header, rows) + "\n" + ", ".join(versions(python)) + ".\n"
    write("peers", "Without privacy, beside other tools (whole calls, one thread)", body, records)


if __name__ == "__main__":
    main()
