"""``privet schema``: propose what is public, for a person to correct, and hold a table against it.

Both look at rows without paying, and say so.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from privet.cli.show import (
    Subparsers,
    add_json,
    command,
    console,
    print_json,
    printable,
    rows,
    table,
    write_new,
)
from privet.errors import DataError

if TYPE_CHECKING:
    from privet.trust.owner import ColumnFit, Fit

KEYS = ("missing", "undeclared", "outside")
SECRET = "For your eyes: these are exact figures about the rows, not private; do not send this."


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "schema", "write down what is public about a table")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    what = "propose a schema (TOML) and mark what was read from the data"
    draft = command(actions, "draft", what)
    draft.add_argument("data", metavar="DATA", help="CSV or Parquet file, or a table of an engine")
    draft.add_argument("--output", metavar="FILE", help="write it there (default: print it)")
    draft.add_argument(
        "--missing",
        metavar="CHOICE",
        help="what to do in every column with missing cells: drop (their rows) or level (one more "
        "level); default: leave it open, column by column",
    )
    draft.set_defaults(run=run)
    check = command(actions, "check", "hold a table against its schema; exact, for its owner only")
    check.add_argument("data", metavar="DATA", help="CSV or Parquet file")
    check.add_argument("--schema", required=True, metavar="FILE", help="what is public (TOML)")
    add_json(check)
    check.set_defaults(run=run_check)


def run(args: argparse.Namespace) -> None:
    from privet.trust.owner import draft

    text = draft(args.data, missing=args.missing).to_toml()
    if args.output is not None:
        write_new(args.output, text)
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # a schema is read as UTF-8 everywhere
    sys.stdout.write(text)


def run_check(args: argparse.Namespace) -> None:
    from privet.schema.model import Schema
    from privet.trust.owner import fit

    found = fit(args.data, Schema.load(args.schema))
    if args.json:
        print_json(_facts(found))
    else:
        _print(found)
    if not found.fits:
        odd = [column.name for column in found.columns if column.undeclared or column.outside]
        raise DataError(
            f"{len(odd)} column(s) hold cells that do not fit the schema ({', '.join(odd)}); a run "
            "would take them as missing, or move them to the bounds: correct the data, or the "
            "schema, from a code book and not from these cells"
        )


def _facts(found: Fit) -> dict[str, Any]:
    columns = {
        column.name: {key: getattr(column, key) for key in (*KEYS, "named")}
        for column in found.columns
    }
    return {"careful": SECRET, "rows": found.rows, "fits": found.fits, "columns": columns}


def _print(found: Fit) -> None:
    out = console()
    out.print(SECRET, soft_wrap=True)
    figures = ("missing", "undeclared", "out of bounds")
    made = table("column", *figures, "which", right=figures)
    for column in found.columns:
        shares = (_share(getattr(column, key), found.rows) for key in KEYS)
        rows(made, (column.name, *shares, _which(column)))
    out.print(made)
    out.print(printable(f"{found.rows:,} rows were read, and nothing was charged."))


def _share(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.3g}%)" if count else "0"


def _which(column: ColumnFit) -> str:
    more = len(column.texts) - len(column.named)
    return ", ".join(map(repr, column.named)) + (f" and {more} more" if more else "")
