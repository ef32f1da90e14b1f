"""Parquet files: one, those of a folder, or those that a pattern names. DuckDB reads them."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from privet.errors import DataError
from privet.privacy.engines.database import connection, odd
from privet.privacy.engines.source import PORTION, Here, size, stamps


@dataclass(frozen=True)
class ParquetFiles(Here):
    """Files with the same columns, as one table."""

    paths: tuple[Path, ...]
    label: str
    header: tuple[str, ...]
    types: tuple[str, ...]

    def type_of(self, position: int) -> str:
        return self.types[position]

    def odd_type(self, position: int) -> str | None:
        return odd(self.types[position])

    def attach(self) -> str | None:
        # by position, because SQL does not tell ``a`` from ``A``
        return (
            f"{_item(self.paths)} AS source({', '.join(f'c{i}' for i in range(len(self.header)))})"
        )

    def portions(self) -> int:
        return 1 + size(self.paths) // PORTION

    def stamp(self) -> object:
        return stamps(self.paths)


def folder(path: Path) -> ParquetFiles:
    within = (each for each in path.rglob("*.parquet") if each.is_file())
    try:
        found = sorted(each for each in within if not _is_hidden(each.relative_to(path)))
    except OSError as error:  # a directory within that is gone while they are listed
        raise DataError(
            f"cannot list the directory {str(path)!r} ({error.strerror}); try again when nobody "
            "writes to it"
        ) from None
    if not found:
        raise DataError(
            f"{str(path)!r} is a directory without Parquet files; name a CSV or Parquet file in it"
        )
    return opened(found, repr(str(path)))


def _is_hidden(path: Path) -> bool:
    """What programs that write tables keep for themselves, such as unfinished files."""
    return any(name.startswith(("_", ".")) for name in path.parts)


def is_pattern(path: Path) -> bool:
    return glob.has_magic(str(path))


def pattern(path: Path) -> ParquetFiles:
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    files = [each for each in found if each.is_file()]
    if not files:
        raise DataError(f"no file is named like {str(path)!r}; check the pattern of the data files")
    return opened(files, repr(str(path)))


def opened(paths: Sequence[Path], label: str) -> ParquetFiles:
    """The files, each of which must have the columns of the first."""
    import duckdb

    shapes = []
    with connection() as con:
        for path in paths:
            try:
                found = con.execute(f"DESCRIBE SELECT * FROM {_item([path])}").fetchall()
            except duckdb.Error:
                raise DataError(
                    f"{str(path)!r} is not a complete Parquet file; write it again"
                ) from None
            shapes.append([(str(row[0]), str(row[1])) for row in found])
            if shapes[-1] != shapes[0]:
                raise DataError(
                    f"{str(path)!r} has other columns or types than {str(paths[0])!r}; give files "
                    "of one table, with the same columns in the same order"
                )
    header, types = zip(*shapes[0], strict=True)
    return ParquetFiles(tuple(paths), label, header, types)


def _item(paths: Sequence[Path]) -> str:
    files = ", ".join(map(_quoted, paths))
    return f"read_parquet([{files}], utf8_validation='replace', hive_partitioning=false)"


def _quoted(path: Path) -> str:
    """The path as SQL text, read as it stands: for DuckDB *, ? and [ would be patterns."""
    literal = re.sub(r"([*?\[])", r"[\1]", str(path))
    return "'" + literal.replace("'", "''") + "'"
