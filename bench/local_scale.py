"""Local privacy at size: reports of 1e5, 1e6 and 1e7 people x 20 columns (child) from Parquet, and
what the device's side takes.

    python bench/local_scale.py [--largest 10000000]

Each run is a process of its own, so that its time includes imports and its peak memory is its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import markdown, network, write

from privet.local import Protocol, Randomizer, plan_protocol

EPSILON = 4
PROTOCOLS = ("planned-block", "component-wise")
CHUNK = 500_000
START = """
import sys, time
start = time.perf_counter()
"""
# The peak of this program alone: that of getrusage remembers the one that started it.
END = """
took = time.perf_counter() - start
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(took, time.process_time(), int(peak) / 1024)
"""
COLLECT = """
from privet.local import Protocol
from privet.local.collector.collect import collect
collect(sys.argv[1], Protocol.load(sys.argv[2]))
"""
RANDOMIZE = """
from privet.cli import main
assert not main(["randomize", *sys.argv[1:]])
"""
ONE = """
from privet.local import Protocol, Randomizer
Randomizer(Protocol.load(sys.argv[1])).report({})
"""


def run(code: str, *arguments: str) -> tuple[float, float, float]:
    """Seconds, seconds of CPU and peak memory in MiB."""
    command = [sys.executable, "-c", START + code + END, *arguments]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall, cpu, peak = map(float, out.splitlines()[-1].split())
    return wall, cpu, peak


def make(protocol: Protocol, people: int, path: Path) -> None:
    """A file of reports, a chunk at a time."""
    child, rng = network("child"), np.random.default_rng(1)
    randomizer = Randomizer(protocol)
    writer = None
    for start in range(0, people, CHUNK):
        size = min(CHUNK, people - start)
        drawn = child.sample(size, rng)
        codes = np.stack([drawn[name] for name in protocol.schema.names], axis=1, dtype=np.int64)
        ids: dict[str, Any] = {"protocol": pa.repeat(protocol.id, size)}
        table = pa.table(ids | randomizer.report_codes(codes))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def collected(name: str, people: int, folder: Path) -> dict[str, Any]:
    protocol = plan_protocol(network("child").schema("child"), EPSILON, name)
    public, reports = folder / "protocol.json", folder / "reports.parquet"
    public.write_text(protocol.to_json(), "utf-8")
    make(protocol, people, reports)
    wall, cpu, peak = run(COLLECT, str(reports), str(public))
    return {"what": f"{name}: collect", "people": people, "wall": wall, "cpu": cpu, "peak": peak}


def randomized(name: str, people: int, folder: Path) -> list[dict[str, Any]]:
    """Answers in a CSV file to reports in a Parquet file, by the command; and one report."""
    answers = folder / "answers.csv"
    simulate = [sys.executable, "-m", "privet", "simulate", "child", "--rows", str(people)]
    subprocess.run([*simulate, "--seed", "1", "--output", str(answers), "--quiet"], check=True)
    out = folder / name
    asked = ["--schema", str(folder / "answers.schema.toml"), "--epsilon", str(EPSILON)]
    asked += ["--protocol", name, "--output", str(out / "reports.parquet"), "--quiet"]
    many = run(RANDOMIZE, str(answers), *asked)
    one = run(ONE, str(out / "protocol.json"))
    answers.unlink()
    return [
        {"what": f"{name}: {what}", "people": count, "wall": wall, "cpu": cpu, "peak": peak}
        for what, count, (wall, cpu, peak) in (("randomize", people, many), ("one report", 1, one))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10_000_000)
    largest = parser.parse_args().largest
    records = []
    for name in PROTOCOLS:
        for people in (100_000, 1_000_000, 10_000_000):
            with tempfile.TemporaryDirectory() as folder:
                if people <= largest:
                    records.append(collected(name, people, Path(folder)))
                if people == 1_000_000:
                    records += randomized(name, people, Path(folder))
    rows = [
        [r["what"], f"{r['people']:,}", f"{r['wall']:.2g}", f"{r['cpu']:.2g}", f"{r['peak']:.0f}"]
        for r in records
    ]
    title = f"Reports at size (Parquet, 20 columns, ε = {EPSILON}, whole process with imports)"
    header = ["protocol: step", "people", "seconds", "CPU seconds", "peak MiB"]
    write("local_scale", title, markdown(header, rows), records)


if __name__ == "__main__":
    main()
