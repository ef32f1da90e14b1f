"""``privet demo``: from simulated rows to a graph and a page, by commands that you can repeat."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path

from privet.cli.show import Subparsers, command, console
from privet.errors import OutputError, expect

STEPS = (
    "simulate child --rows 100000 --seed 1 --output {here}/child.csv",
    "discover {here}/child.csv --schema {here}/child.schema.toml --epsilon 1 --delta 1e-6"
    " --ledger {here}/ledger.sqlite --output {here}/out",
    "compare {here}/child.truth.json {here}/out/graph.json",
)


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "demo", "simulate a table, find its graph, and leave a page of it")
    parser.add_argument("--output", default="demo", metavar="DIR", help="folder (demo)")
    parser.add_argument("--force", action="store_true", help="replace what is in DIR")
    parser.set_defaults(run=partial(run, parsers.choices))


def run(commands: dict[str, argparse.ArgumentParser], args: argparse.Namespace) -> None:
    expect(args.output, (str, Path), "output", "give the path of a folder", OutputError)
    out, folder = console(), Path(args.output)
    if folder.is_dir() and any(folder.iterdir()) and not args.force:
        raise OutputError(
            f"the folder {args.output!r} exists and is not empty; choose another with --output, or "
            f"use --force to replace what a demo left there"
        )
    here = shlex.quote(args.output)
    for step in STEPS:
        line = step.format(here=here)
        if args.force and not step.startswith("compare"):
            line += " --force"
        if args.force and step.startswith("discover"):
            line += " --reuse"  # the same seed has made the same rows
        out.print(f"$ privet {line}", style="bold", soft_wrap=True)
        name, *words = shlex.split(line)
        chosen = commands[name].parse_args(words)
        chosen.words = [name, *words]
        chosen.run(chosen)
    out.print("Open this page in a browser; the table above says how close the graph is:")
    out.print(str((folder / "out" / "report.html").absolute()), style="bold", soft_wrap=True)
