"""What the benchmarks share: data of a network as a table, one run, tables in Markdown."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import blas  # noqa: F401
import numpy as np
import pyarrow as pa

import privet
from privet.graph.graph import Graph
from privet.networks import load
from privet.networks.network import Network

RESULTS = Path(__file__).parent / "results"


def table(network: Network, rows: int, seed: int) -> pa.Table:
    """A sample, as an Arrow table with the labels of the levels as cells."""
    codes = network.sample(rows, np.random.default_rng(seed))
    columns = {
        name: pa.DictionaryArray.from_arrays(codes[name], list(network.levels[name]))
        for name in network.names
    }
    return pa.table(columns)


def complete_graph(names: Sequence[str]) -> Graph:
    joined = ~np.eye(len(names), dtype=bool)
    return Graph.from_matrix(tuple(names), joined, "cpdag")


def network(name: str) -> Network:
    return load(name)


def spread(values: Iterable[float]) -> str:
    """Mean ± standard deviation."""
    numbers = np.array(list(values), dtype=float)
    return f"{numbers.mean():.3f} ± {numbers.std():.3f}"


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def parallel(
    work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], processes: int
) -> list[Any]:
    """The results of all jobs, with a progress bar, one process per core."""
    from concurrent.futures import ProcessPoolExecutor, as_completed

    from rich.progress import track

    with ProcessPoolExecutor(processes) as pool:
        futures = {pool.submit(work, *job): at for at, job in enumerate(jobs)}
        out: list[Any] = [None] * len(jobs)
        for done in track(as_completed(futures), total=len(jobs), description="runs"):
            out[futures[done]] = done.result()
    return out


def write(name: str, title: str, body: str, records: Any) -> None:
    """A dated result: Markdown for people, JSON for machines."""
    RESULTS.mkdir(exist_ok=True)
    command = "python " + " ".join([f"bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    head = (
        f"# {title}\n\n{date.today()}, Privet {privet.__version__}, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores, at {_commit()}: `{command}`\n\n"
    )
    (RESULTS / f"{name}.md").write_text(head + body, "utf-8")
    (RESULTS / f"{name}.json").write_text(json.dumps(records, indent=1), "utf-8")
    print(head + body)


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "an unknown commit"
