"""How long one call takes, data in memory, after the imports; and how that compares.

    python bench/speed.py

The reference figures are CPU seconds of the published research code for the same job on one
core of a similar machine (Priv-PC on child, CURATE on child, EM-PC on asia).
"""

from __future__ import annotations

import time

import blas  # noqa: F401
import numpy as np
from common import markdown, network, table, write

import privet

REFERENCES = {
    "asia": [("EM-PC", 86.3), ("Priv-PC", 2.63), ("CURATE", 3.14)],
    "child": [("Priv-PC", 28.7), ("SVT-PC", 11.9), ("CURATE", 16.4)],
}
NETWORKS = ("cancer", "asia", "sachs", "child", "insurance", "alarm", "hailfinder")


def main() -> None:
    rows, records = [], []
    for name in NETWORKS:
        model = network(name)
        data, schema = table(model, 100_000, 1), model.schema()
        wall, cpu = [], []
        for _ in range(6):  # the first call pays for lazy imports and is left out
            start, busy = time.perf_counter(), time.process_time()
            privet.discover(data, schema, epsilon=1.0, ledger=":memory:")
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - busy)
        seconds, busy_seconds = float(np.median(wall[1:])), float(np.median(cpu[1:]))
        ratios = [f"{who} {took / busy_seconds:.0f}x" for who, took in REFERENCES.get(name, [])]
        rows.append([name, f"{seconds:.2f}", f"{busy_seconds:.2f}", ", ".join(ratios)])
        records.append({"network": name, "wall": wall, "cpu": cpu})
    header = ["network", "wall s", "CPU s", "faster than the research code, CPU"]
    title = "Time of one private run with confidence (100,000 rows, ε = 1; median of 5)"
    write("speed", title, markdown(header, rows), records)


if __name__ == "__main__":
    main()
