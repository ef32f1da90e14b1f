"""``privet convert``: a graph from one format into another."""

from __future__ import annotations

import argparse

from privet.cli.show import Subparsers, command
from privet.graph.formats.names import SUFFIXES, listed


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "convert", "turn a graph file into another format, by suffix")
    parser.epilog = f"formats:\n{listed()}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("source", metavar="IN", help="graph file")
    parser.add_argument(
        "target",
        metavar="OUT",
        help=f"file to write: {', '.join(SUFFIXES)}",
    )
    parser.add_argument("--force", action="store_true", help="replace OUT if it exists")
    parser.add_argument(
        "--pag", action="store_true", help="turn a DAG or CPDAG into its PAG, as FCI may find it"
    )
    parser.add_argument("--hide", metavar="A,B,…", help="with --pag: these nodes are not seen")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from pathlib import Path

    from privet.errors import GraphError, OutputError, expect
    from privet.graph.formats.files import load, save

    expect(args.target, (str, Path), "target¦OUT", "give the path of a file to write", OutputError)
    target = Path(args.target)
    graph = load(args.source)
    if args.hide and not args.pag:
        raise GraphError(f"--hide {args.hide} was given without --pag; hidden nodes make a PAG")
    if args.pag:
        graph = graph.pag([name for name in (args.hide or "").split(",") if name])
    if target.exists() and not args.force:
        raise OutputError(
            f"{args.target!r} exists; choose another name, or use --force to replace it"
        )
    save(graph, target)
