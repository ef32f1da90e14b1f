"""``privet datasets``: public data sets to try things on."""

from __future__ import annotations

import argparse

from privet.cli.show import Subparsers, add_json, command, console, print_json, rows, table


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "datasets", "fetch a public data set")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    listed = command(actions, "list", "what can be fetched")
    add_json(listed)
    listed.set_defaults(run=run_list)
    fetch = command(actions, "fetch", "download a data set; write NAME.csv and NAME.schema.toml")
    fetch.add_argument("name", metavar="NAME", help="such as adult or tuebingen")
    fetch.add_argument("--output", required=True, metavar="DIR", help="the folder for the files")
    fetch.add_argument(
        "--from",
        dest="source",
        metavar="DIR",
        help="a folder with the files of the archive, in place of the network",
    )
    fetch.add_argument("--force", action="store_true", help="replace the files if they exist")
    fetch.add_argument("--quiet", action="store_true", help="print nothing but errors")
    fetch.set_defaults(run=run_fetch)


def run_list(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from privet.networks.fetch import DATASETS

    if args.json:
        print_json([asdict(dataset) for dataset in DATASETS])
        return
    made = table("name", "rows", "columns", "what", "source", right=("rows", "columns"))
    lines = ((d.name, d.rows, d.columns, d.what, d.source) for d in DATASETS)
    console().print(rows(made, *lines))


def run_fetch(args: argparse.Namespace) -> None:
    from privet.networks.fetch import fetch

    files = fetch(args.name, args.output, source=args.source, force=args.force)
    if not args.quiet:
        print(f"rows    {files.data}\nschema  {files.schema}")
