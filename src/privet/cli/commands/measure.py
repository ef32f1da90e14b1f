"""``privet measure``: a site's masked part of a sum over all sites of a study."""

from __future__ import annotations

import argparse

from privet.cli.commands.sites import add_keys
from privet.cli.show import Subparsers, add_ledger, command, console, printable


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "measure", "count a site's part of a study, under masks")
    parser.add_argument("data", metavar="DATA", help="the site's rows: CSV or Parquet")
    parser.add_argument("--study", required=True, metavar="LOCK", help="the study.lock")
    add_keys(parser)
    parser.add_argument(
        "--request", metavar="FILE", help="what the coordinator asks next (else the first question)"
    )
    add_ledger(parser)
    parser.add_argument("--output", required=True, metavar="FILE", help="to send, such as a.masked")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from privet.api.study import measure_share
    from privet.errors import OutputError, expect

    expect(args.output, (str, Path), "output", "give the path of a file to write", OutputError)
    target = Path(args.output)
    if not target.parent.is_dir():  # before anything is charged
        raise OutputError(
            f"there is no folder {str(target.parent)!r} to write to; make it, or choose another"
        )
    sent = measure_share(args.data, args.study, args.keys, request=args.request, ledger=args.ledger)
    try:
        target.write_bytes(sent)
    except OSError as error:
        raise OutputError(
            f"cannot write {str(target)!r} ({error.strerror}). The answer is kept in the ledger: "
            "the same command with another --output writes the same bytes, for nothing"
        ) from None
    console().print(f"Send to the coordinator: {printable(target)}", soft_wrap=True)
