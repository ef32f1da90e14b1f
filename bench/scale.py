"""Cost against rows and columns: whole calls on Parquet files, and single passes of each engine.

    python bench/scale.py [--largest 10000000] [--columns 400] [--spark]

Each run is a process of its own, so that its peak memory is its own. A pass counts all pairs of 20
mixed columns: texts with unknown levels and spaces, numbers with NaN and NULL, truth values. From
10^8 rows on the table is a folder with one file of 10^7 rows many times, and its counts must be
that many times those of the file. The last line of the passes is an extrapolation and says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import markdown, write

CALL = """
import json, resource, sys, time
import privet
start, cpu = time.perf_counter(), time.process_time()
found = privet.discover(sys.argv[1], sys.argv[2], epsilon=1.0, delta=1e-6, ledger=":memory:")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
seconds = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps([*seconds, peak, len(found.graph.edges)]))
"""
PASS = """
import hashlib, json, resource, sys, time
from itertools import combinations
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines import encode
from privet.privacy.engines.source import open_source
from privet.schema.model import Schema
encode.MOST_PORTIONS = 10**9 if sys.argv[3] == "memory" else 0
schema = Schema.load(sys.argv[2])
source, positions = open_source(sys.argv[1], schema)
rows = Encoder(schema=schema, positions=positions).rows(source)
times = int(sys.argv[4])
start = time.perf_counter()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
tables = rows.table_batch(list(combinations(schema.names, 2)))
wall = time.perf_counter() - start
now = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu = sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(used, now))
assert all((table % times == 0).all() for table in tables)
digest = hashlib.sha256(b"".join((table // times).tobytes() for table in tables)).hexdigest()
print(json.dumps([wall, cpu, now[0].ru_maxrss / 1024, digest]))
"""
MIXED = """
COPY (SELECT {columns} FROM range({rows}) AS r(i)) TO '{path}' (FORMAT parquet)
"""
LEVELS = ("no", "yes", "often", "never")


def mixed(path: Path, rows: int) -> Path:
    """20 columns that depend on each other a little, and their schema beside them."""
    import duckdb

    picks, lines = [], ['name = "mixed"']
    for j in range(20):
        draw = f"(hash(i * 31 + {j // 2 * 7}) % 1000 + hash(i * 17 + {j}) % 500)::INTEGER"
        if j % 5 in (0, 1, 2):
            texts = [*LEVELS, " yes ", "other"]
            whens = " ".join(f"WHEN {i} THEN '{text}'" for i, text in enumerate(texts))
            picks.append(f"CASE ({draw} * 6 // 1500) {whens} END AS t{j}")
            lines.append(f'[columns.t{j}]\nkind = "categorical"\nlevels = {json.dumps(LEVELS)}')
        elif j % 5 == 3:
            odd = f"CASE WHEN {draw} < 9 THEN 'NaN'::DOUBLE WHEN {draw} < 30 THEN NULL"
            picks.append(f"{odd} ELSE ({draw} - 750) / 250.0 END AS x{j}")
            lines.append(f'[columns.x{j}]\nkind = "numeric"\nbounds = [-3, 3]\nbins = 5')
        else:
            picks.append(f"{draw} > 700 AS b{j}")
            lines.append(f'[columns.b{j}]\nkind = "categorical"\nlevels = ["false", "true"]')
        lines.append('missing = "level"')
    with duckdb.connect() as con:
        con.execute(MIXED.format(columns=", ".join(picks), rows=rows, path=path))
    path.with_suffix(".schema.toml").write_text("\n".join(lines))
    return path


def ran(code: str, *arguments: object) -> list[Any]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: list[Any] = json.loads(out.splitlines()[-1])
    return found


def calls(folder: Path, largest: int, columns: int) -> list[dict[str, Any]]:
    """Whole calls: more rows of 20 columns, then more columns of 10^5 rows."""
    asked = [("child", count) for count in (10**5, 10**6, 10**7) if count <= largest]
    wide = [(f"synthetic-{p}-{k}", 10**5) for p in (100, 200, 300, 400) for k in (2, 4)]
    found = []
    for name, count in [*asked, *(one for one in wide if int(one[0].split("-")[1]) <= columns)]:
        data = folder / f"{name}-{count}.parquet"
        if name == "child":
            command = [sys.executable, "-m", "privet", "simulate", name, "--rows", str(count)]
            subprocess.run([*command, "--seed", "1", "--output", str(data), "--quiet"], check=True)
        else:
            synthetic(data, count, *map(int, name.split("-")[1:]))
        wall, cpu, peak, _ = ran(CALL, data, data.with_suffix(".schema.toml"))
        found.append({"table": name, "rows": count, "s": wall, "CPU s": cpu, "peak MiB": peak})
    return found


def synthetic(path: Path, rows: int, columns: int, levels: int) -> None:
    """Columns in threes, each a noisy copy of the one before."""
    import duckdb

    picks, lines = [], ['name = "synthetic"']
    for j in range(columns):
        own, before = f"hash(i * 13 + {j}) % {levels}", f"hash(i * 13 + {j - 1}) % {levels}"
        copy = f"CASE WHEN hash(i * 29 + {j}) % 10 < 4 THEN {before} ELSE {own} END"
        picks.append(f"CAST({copy if j % 3 else own} AS VARCHAR) AS c{j}")
        texts = json.dumps([str(level) for level in range(levels)])
        lines.append(f'[columns.c{j}]\nkind = "categorical"\nlevels = {texts}')
    with duckdb.connect() as con:
        con.execute(MIXED.format(columns=", ".join(picks), rows=rows, path=path))
    path.with_suffix(".schema.toml").write_text("\n".join(lines))


def passes(folder: Path, largest: int, others: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for count in (10**5, 10**6, 10**7, 10**8):
        if count > largest:
            break
        times = max(count // 10**7, 1)
        data = folder / f"{count // times}.parquet"
        schema = data.with_suffix(".schema.toml")
        if not data.exists():
            mixed(data, count)
        table: object = data
        if times > 1:
            table = folder / "many"
            (folder / "many").mkdir()
            for i in range(times):
                (folder / "many" / f"{i}.parquet").symlink_to(data)
        digests = set()
        for engine in ("memory", "stream", *others) if times == 1 else ("stream",):
            where = engine if ":" in engine else table
            if engine == "spark:":
                where = f"spark:{table}"
            wall, cpu, peak, digest = ran(PASS, where, schema, engine, times)
            digests.add(digest)
            line = {"engine": engine.split(":")[0], "rows": count, "s": wall, "CPU s": cpu}
            found.append({**line, "µs a row": 1e6 * cpu / count, "peak MiB": peak})
        assert len(digests) == 1, "engines count differently"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=100, help="largest number of columns")
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = passes(folder, asked.largest, ["spark:"] if asked.spark else [])
        whole = calls(folder, min(asked.largest, 10**7), asked.columns)
    last = [line for line in one if line["engine"] == "stream"][-1]
    core = last["µs a row"] * 10**9 / 1e6
    note = (
        f"10⁹ rows were not measured: linear in rows from {last['rows']:,}, a streamed pass would "
        f"take {core:.0f} core seconds, which is {core / 160:.0f} s on ten machines of 16 cores "
        "if nothing but the counting took time."
    )
    text = "\n\n".join([_table(one), note, _table(whole)])
    title = "Cost against rows and columns (Parquet, whole calls with ε = 1, and single passes)"
    write("scale", title, text, [*one, *whole])


def _table(lines: list[dict[str, Any]]) -> str:
    shown = [
        [f"{value:,.4g}" if isinstance(value, float) else f"{value}" for value in line.values()]
        for line in lines
    ]
    return markdown(list(lines[0]), shown)


if __name__ == "__main__":
    main()
