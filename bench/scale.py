"""Cost against rows: Parquet files of 1e5, 1e6 and 1e7 rows x 20 columns (child).

    python bench/scale.py [--largest 10000000]

Each run is a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common import markdown, write

CHILD = """
import resource, sys, time
import privet
start = time.perf_counter()
privet.discover(sys.argv[1], sys.argv[2], epsilon=1.0, delta=1e-6, ledger=":memory:")
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10_000_000)
    asked = parser.parse_args()
    rows, records = [], []
    with tempfile.TemporaryDirectory() as folder:
        for count in (100_000, 1_000_000, 10_000_000):
            if count > asked.largest:
                break
            data = Path(folder) / f"child{count}.parquet"
            simulate = [sys.executable, "-m", "privet", "simulate", "child", "--rows", str(count)]
            subprocess.run([*simulate, "--seed", "1", "--output", str(data), "--quiet"], check=True)
            schema = data.with_suffix(".schema.toml")
            command = [sys.executable, "-c", CHILD, str(data), str(schema)]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds, peak = map(float, out.split())
            rows.append([f"{count:,}", f"{seconds:.1f}", f"{peak:.0f}"])
            records.append({"rows": count, "seconds": seconds, "peak MiB": peak})
            data.unlink()
    title = "Cost against rows (Parquet, 20 columns, ε = 1, whole call with imports)"
    write("scale", title, markdown(["rows", "seconds", "peak MiB"], rows), records)


if __name__ == "__main__":
    main()
