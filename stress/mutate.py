"""Valid files made wrong: by bytes, by words, by values of JSON, by cells of a ledger."""

from __future__ import annotations

import io
import json
import random
import re
import sqlite3
from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from typing import Any

Mutator = Callable[[random.Random, bytes], bytes]

BYTES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b'"', b"'", b",", b";", b"\t"),
    *(b"\x1a", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"NaN", b"1e999", b"-", b"[", b"{", b"}"),
    *(b"\x1f\x8b", b"PAR1", b"SQLite format 3\x00", b"\xe2\x80\xae", b"\xcc\x81" * 50),
    *(b"a" * 70000,),
)
WORDS = (
    *("", "0", "-1", "1", "2", "1e308", "1e-308", "1e999", "nan", "inf", "-inf", "true", "null"),
    *("9" * 400, "0.1", "1/3", "[]", "{}", '""', "''", "[[[[[[", '"no"', "no", "rain", "wet", "–"),
    *("\u202e", "é", "e\u0301", "\U0001f600", "x" * 3000, "../..", "/dev/null", "--", "#", "="),
    *("9223372036854775808", "-9223372036854775809", "4294967296", "1_000", "0x10", "1979-05-27"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**9, 10**18, -(10**18), 10**400, 0.5, -0.5, 1e308, 1e-9),
    *(float("nan"), float("inf"), "", "x", "rain", "no", "1/0", "1/3", "-1/3", "9" * 400, "\ud800"),
    *("\x00", "⟦a⟧", [], [None], [[]], {}, {"": None}, {"x": 1}, "a" * 5000, [0] * 2000),
)


def flipped(rng: random.Random, text: bytes) -> bytes:
    """Bytes changed, taken out, doubled, moved or put in, at a few places."""
    made = bytearray(text)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at, long = rng.randrange(len(made) + 1), rng.choice((1, 1, 2, 8, 64, 1000))
        step = rng.randrange(6)
        if step == 0 and at < len(made):
            made[at] ^= 1 << rng.randrange(8)
        elif step == 1:
            del made[at : at + long]
        elif step == 2:
            made[at:at] = made[at : at + long]
        elif step == 3:
            made[at:at] = rng.choice(BYTES)
        elif step == 4:
            made[at : at + long] = rng.randbytes(long)
        else:
            other = rng.randrange(len(made) + 1)
            made[at:at] = made[other : other + long]
    return bytes(made[: rng.randrange(len(made) + 1)] if rng.random() < 0.05 else made)


def reworded(rng: random.Random, text: bytes) -> bytes:
    """Words, numbers and strings replaced by others of the text or by awkward ones; lines moved."""
    parts = re.split(r'("[^"\n]*"|[\w.+-]+|\n)', text.decode("utf-8", "surrogateescape"))
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(parts))
        fresh = rng.choice((rng.choice(parts), rng.choice(WORDS), f'"{rng.choice(WORDS)}"', ""))
        parts[at : at + rng.choice((0, 1, 1, 1, 6))] = [fresh]
        if not parts:
            return b""
    return "".join(parts).encode("utf-8", "surrogatepass" if rng.random() < 0.1 else "replace")


def revalued(rng: random.Random, text: bytes) -> bytes:
    """A JSON document with a few values changed, removed, doubled or swapped, and still JSON."""
    tree = [json.loads(text)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places: list[tuple[Any, Any]] = []
        todo: list[Any] = [tree]
        while todo:
            here = todo.pop()
            inner = list(here.items() if isinstance(here, dict) else enumerate(here))
            places += [(here, key) for key, _ in inner]
            todo += [value for _, value in inner if isinstance(value, dict | list)]
        if not places:
            break
        _change(rng, places, *rng.choice(places))
    if not tree:
        return b""
    made = json.dumps(tree[0])
    return (made if rng.random() > 0.01 else "[" * 100_000 + made).encode()


def _change(rng: random.Random, places: list[tuple[Any, Any]], holder: Any, key: Any) -> None:
    step, old = rng.randrange(6), holder[key]
    if step == 0:
        del holder[key]
    elif step == 1 and isinstance(holder, list):
        holder.insert(key, old)
    elif step == 2:
        other, there = rng.choice(places)
        if key in other if isinstance(other, dict) else True:
            holder[key] = json.loads(json.dumps(other[there])) if there in _keys(other) else None
    elif step == 3 and isinstance(old, int | float) and not isinstance(old, bool):
        holder[key] = rng.choice((-old, old + 1, old * 2, str(old), old // 3))
    elif step == 4 and isinstance(holder, dict):
        holder[rng.choice(WORDS)] = holder.pop(key)
    else:
        holder[key] = deepcopy(rng.choice(VALUES))


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def nearby(*mutators: Mutator) -> Mutator:
    return lambda rng, text: rng.choice(mutators)(rng, text)


def ledger(rng: random.Random, text: bytes) -> bytes:
    """Bytes of the file, or cells, tables and the format by SQL."""
    if rng.random() < 0.3:
        return flipped(rng, text)
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.deserialize(text)
    for _ in range(rng.choice((1, 1, 2))):
        found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = [name for (name,) in found]
        if not tables:
            break
        table = rng.choice(tables)
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        try:
            _damage(rng, db, table, rng.choice(columns))
        except sqlite3.Error:
            continue  # the tables forbid it
    made = db.serialize()
    db.close()
    return made


def _damage(rng: random.Random, db: sqlite3.Connection, table: str, column: str) -> None:
    cells = (v for v in VALUES if isinstance(v, str | float) or v is None)
    value = rng.choice((*cells, b"\xff", 7))
    if isinstance(value, str) and "\ud800" in value:
        value = "1/3"
    step = rng.randrange(8)
    if step <= 3:
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
    elif step == 4:
        db.execute(f"DROP TABLE {table}")
    elif step == 5:
        db.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
    elif step == 6:
        db.execute(f"PRAGMA user_version = {rng.choice((0, 1, 2, 3, 4, 5, 6, 7, -1, 2**31 - 1))}")
    else:
        db.execute(f"DELETE FROM {table}")


def parquet(rng: random.Random, _text: bytes) -> bytes:
    """A table of the garden whose columns have any type that Arrow can write."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = rng.choice((0, 1, 7, 40))
    names = ["rain", "sprinkler", "wet"]
    if rng.random() < 0.1:
        names[rng.randrange(3)] = rng.choice(WORDS)
    while True:
        try:
            columns = [_column(rng, pa, size) for _ in names]
            out = io.BytesIO()
            pq.write_table(pa.table(columns, names=names), out)
            break
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            continue
    made = out.getvalue()
    return flipped(rng, made) if rng.random() < 0.2 else made


def _column(rng: random.Random, pa: Any, size: int) -> Any:
    kinds = (
        *(pa.string(), pa.large_string(), pa.binary(), pa.bool_(), pa.int8(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.decimal128(20, 4), pa.null()),
        *(pa.date32(), pa.date64(), pa.timestamp("us", tz="UTC"), pa.timestamp("ns")),
        *(
            pa.time64("us"),
            pa.duration("ms"),
            pa.list_(pa.int8()),
            pa.struct([("a", pa.int8())]),
            pa.binary(3),
        ),
        *(pa.dictionary(pa.int8(), pa.string()), pa.map_(pa.string(), pa.int8())),
    )
    pools: tuple[tuple[Any, ...], ...] = (
        ("no", "yes", None),
        ("no", "yes", "", "maybe", "n\x00o"),
        (b"no", b"yes", b"\xff"),
        (0, 1, None),
        (0.5, float("nan"), float("inf")),
        (True, False),
        ([1], [], None),
        ({"a": 1}, None),
        (Decimal("1.5"), None),
        ([("k", 1)], None),
    )
    pool = rng.choice(pools)
    values = [rng.choice(pool) for _ in range(size)]
    if rng.random() < 0.4:
        return pa.array(values)
    return pa.array(values, type=rng.choice(kinds))
