"""Cost against rows and columns: whole calls on Parquet files, and single passes of each engine.

    python bench/scale.py [--largest 10000000] [--columns 400] [--spark] [--postgres]

Each run is a process of its own, so that its peak memory is its own; CPU seconds and memory are
those of all its processes (Linux only), CPU seconds also those of the server. A pass counts all
pairs of 20 mixed columns: texts with unknown levels and spaces, numbers with NaN and NULL, truth
values. From 10^8 rows on the table is a folder with one file of 10^7 rows many times, and its
counts must be that many times those of the file. What is extrapolated says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

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
import hashlib, json, os, sys, time
from itertools import combinations
from pathlib import Path
from privet.privacy.engines.encode import Encoder
from privet.privacy.engines import encode
from privet.privacy.engines.source import open_source
from privet.schema.model import Schema

def processes(roots):
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1]), fields
    found = set(roots)
    while more := {pid for pid, (parent, _) in parents.items() if parent in found} - found:
        found |= more
    return {pid: parents[pid][1] for pid in found if pid in parents}

def spent(roots):
    fields = processes(roots).values()
    return sum(int(ticks) for each in fields for ticks in each[11:15]) / os.sysconf("SC_CLK_TCK")

def peak(roots):
    kilobytes = 0
    for pid in processes(roots):
        try:
            said = Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2]
        except OSError:  # it has gone meanwhile
            continue
        kilobytes += int(said.split()[0]) if said else 0
    return kilobytes / 1024

def one_pass():
    rows = Encoder(schema=schema, positions=positions).rows(source)
    return rows.table_batch(list(combinations(schema.names, 2)))

data, schema, engine, times, server = sys.argv[1:]
encode.MOST_PORTIONS = 10**9 if engine == "memory" else 0
schema = Schema.load(schema)
source, positions = open_source(data, schema)
if engine == "spark":
    one_pass()  # what is compiled and started once is no cost of a row
roots = [os.getpid()] + ([int(server)] if server else [])
start, used = time.perf_counter(), spent(roots)
tables = one_pass()
wall, cpu = time.perf_counter() - start, spent(roots) - used
assert all((table % int(times) == 0).all() for table in tables)
whole = b"".join((table // int(times)).tobytes() for table in tables)
print(json.dumps([wall, cpu, peak(roots[:1]), hashlib.sha256(whole).hexdigest()]))
"""
MIXED = """
COPY (SELECT {columns} FROM range({rows}) AS r(i)) TO '{path}' (FORMAT parquet)
"""
MOST_LOADED = 10**6  # rows that are loaded into a server
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
        print(found[-1], flush=True)
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


def passes(folder: Path, largest: int, others: tuple[str, ...]) -> list[dict[str, Any]]:
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
            if engine == "postgres" and count > MOST_LOADED:
                continue
            with _where(engine, table) as (where, server):
                wall, cpu, peak, digest = ran(PASS, where, schema, engine, times, server)
            digests.add(digest)
            line = {"engine": engine, "rows": count, "s": wall, "CPU s": cpu}
            found.append({**line, "µs a row": 1e6 * cpu / count, "peak MiB": peak})
            print(found[-1], flush=True)
        assert len(digests) == 1, "engines count differently"
    return found


@contextmanager
def _where(engine: str, table: object) -> Iterator[tuple[object, object]]:
    """Where the table is for an engine, and the number of the process that serves it."""
    if engine != "postgres":
        yield (f"spark:{table}" if engine == "spark" else table), ""
        return
    import psycopg
    import pyarrow.parquet

    sys.path.append(str(Path(__file__).parents[1]))
    from tests.helpers.servers import postgres

    kinds = {"string": "text", "double": "double precision", "bool": "boolean"}
    with postgres() as address:
        file = pyarrow.parquet.ParquetFile(table)
        columns = ", ".join(f"{field.name} {kinds[str(field.type)]}" for field in file.schema_arrow)
        with psycopg.connect(address) as con:
            con.execute(f"CREATE TABLE mixed ({columns})")
            with con.cursor().copy("COPY mixed FROM STDIN") as copy:
                for batch in file.iter_batches():
                    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        copy.write_row(row)
        with psycopg.connect(address, autocommit=True) as con:
            con.execute("VACUUM ANALYZE mixed")  # its first reader would tidy up what was loaded
        home = dict(parse_qsl(urlsplit(address).query))["host"]
        yield (
            f"{address}&table=mixed",
            (Path(home) / "data" / "postmaster.pid").read_text().split()[0],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=100, help="largest number of columns")
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--postgres", action="store_true", help="a server of its own, to 10^6 rows")
    asked = parser.parse_args()
    others = tuple(name for name in ("spark", "postgres") if getattr(asked, name))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = passes(folder, asked.largest, others)
        whole = calls(folder, min(asked.largest, 10**7), asked.columns)
    note = " ".join(_extrapolated(one, engine) for engine in ("stream", *others))
    text = "\n\n".join([_table(one), note, _table(whole)])
    title = "Cost against rows and columns (Parquet, whole calls with ε = 1, and single passes)"
    write("scale", title, text, [*one, *whole])


def _extrapolated(lines: list[dict[str, Any]], engine: str) -> str:
    last = [line for line in lines if line["engine"] == engine][-1]
    core = last["µs a row"] * 10**9 / 1e6
    said = f"10⁹ rows were not measured: linear in rows from {last['rows']:,}, a pass ({engine}) "
    said += f"would take {core:,.0f} core seconds"
    if engine == "spark":
        said += (
            f", which is {core / 160:.0f} s on ten machines of 16 cores if nothing but that took "
            "time; no cluster was measured either"
        )
    return said + "."


def _table(lines: list[dict[str, Any]]) -> str:
    shown = [
        [f"{value:,.4g}" if isinstance(value, float) else f"{value}" for value in line.values()]
        for line in lines
    ]
    return markdown(list(lines[0]), shown)


if __name__ == "__main__":
    main()
