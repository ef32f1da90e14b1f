"""``privet schema draft``: propose what is public, for a person to correct."""

from __future__ import annotations

import argparse
import sys

from privet.cli.show import Subparsers, command


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "schema", "write down what is public about a table")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    what = "propose a schema (TOML) and mark what was read from the data"
    draft = command(actions, "draft", what)
    draft.add_argument("data", metavar="DATA", help="CSV or Parquet file")
    draft.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.schema.draft import draft

    text = draft(args.data)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # a schema is read as UTF-8 everywhere
    sys.stdout.write(text)
