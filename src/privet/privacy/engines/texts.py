"""The cells of a table as texts, some rows at a time: for what needs rows and is no question of a
vault, which is the owner's draft of a schema and reports of many people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from privet.errors import DataError
from privet.privacy.engines.cells import as_texts
from privet.privacy.engines.database import connection
from privet.privacy.engines.pick import spread
from privet.privacy.engines.rules import FRACTIONS
from privet.privacy.engines.source import Source
from privet.privacy.engines.work import BLOCK_ROWS

Texts = list[list[str | None]]  # of each column, the texts of some rows
UNREADABLE = (
    "the data could not be read to its end; check that the table is still there and complete, and "
    "that there is enough memory"
)


def text_parts(source: Source, positions: Sequence[int]) -> Iterator[Texts]:
    """All rows, once."""
    try:
        if source.attach() is None:
            for block in source.blocks(positions):
                arrays = (spread(block[f"c{i}"]) for i in positions)
                yield [list(as_texts(array.tolist())) for array in arrays]
        else:
            yield from _attached(source, positions)
    except Exception:  # whose message might quote a cell
        raise DataError(UNREADABLE) from None


def first_texts(source: Source, positions: Sequence[int], most: int) -> Iterator[Texts]:
    """No more rows than these, and no more are read than must be."""
    for part in text_parts(source, positions):
        yield [texts[:most] for texts in part]
        most -= len(part[0])
        if most <= 0:
            return


def _attached(source: Source, positions: Sequence[int]) -> Iterator[Texts]:
    item = source.attach()
    with connection() as con:
        source.prepare(con)
        names = [f"c{i}" for i in positions]
        kinds = con.execute(f"DESCRIBE SELECT {', '.join(names)} FROM {item}").fetchall()
        picks = [_text(name, str(kind[1])) for name, kind in zip(names, kinds, strict=True)]
        found = con.execute(f"SELECT {', '.join(picks)} FROM {item}")
        while rows := found.fetchmany(BLOCK_ROWS):
            yield [list(column) for column in zip(*rows, strict=True)]


def _text(name: str, kind: str) -> str:
    """A number with a fraction as the nearest double, as everywhere."""
    if kind.split("(")[0] in FRACTIONS:
        name = f"nullif(TRY_CAST({name} AS DOUBLE), CAST('NaN' AS DOUBLE))"
    return f"TRY_CAST({name} AS VARCHAR)"
