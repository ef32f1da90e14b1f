"""Time and memory of HSIC, alone and as a score of additive-noise models, on 10,000 rows.

    python bench/hsic.py [--rows 10000]

Each line is a process of its own, so that its peak memory is its own; imports count for memory,
not for time. The first line is one HSIC; ``anm`` takes two of them and two regressions by Gaussian
processes, the other methods two regressions by kernel ridge and a coarse table besides.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from common import markdown, write

START = """
import resource, sys, time
import numpy as np
import privet
from privet.networks.pairs import random_pair
from privet.pairs.algorithms.hsic import hsic

rows, method = int(sys.argv[1]), sys.argv[2]
pair = random_pair("gp", rows, np.random.default_rng(1))
columns = [
    privet.Column(name=name, kind="numeric", bounds=bounds)
    for name, bounds in zip("xy", pair.bounds())
]
known = privet.Schema(
    name="pair", columns=tuple(columns), adjacency=privet.Adjacency.REPLACE_ONE, rows=rows
)
options = {"private": False} if len(sys.argv) > 3 else {"epsilon": 1.0, "ledger": ":memory:"}


def once():
    if method == "hsic":
        return hsic(pair.x, pair.y)
    data = {"x": pair.x, "y": pair.y}
    return privet.orient(data, known, cause_effect=("x", "y"), method=method, **options)


once()
start = time.perf_counter()
once()
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
WORK = (
    ("hsic", "none", "HSIC of two columns, median bandwidths"),
    ("anm", "none", "`anm`"),
    ("anm-hsic", "none", "`anm-hsic`"),
    ("anm-hsic", "ε = 1", "`anm-hsic`"),
    ("anm-sqrt-hsic", "ε = 1", "`anm-sqrt-hsic`"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    asked = parser.parse_args()
    lines, records = [], []
    for method, privacy, name in WORK:
        command = [sys.executable, "-c", START, str(asked.rows), method]
        command += ["exact"] if privacy == "none" else []
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds, peak = map(float, out.split())
        lines.append([name, privacy, f"{seconds:.2f}", f"{peak:.0f}"])
        records.append({"what": name, "privacy": privacy, "seconds": seconds, "peak MiB": peak})
    title = f"HSIC and what is made of it, {asked.rows:,} rows"
    write("hsic", title, markdown(["what", "privacy", "seconds", "peak MiB"], lines), records)


if __name__ == "__main__":
    main()
