"""``privet bench``: methods side by side on networks whose graph is known."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from privet.commands.show import Subparsers, command, console, printable, rows, table
from privet.errors import MethodError

if TYPE_CHECKING:
    from privet.bench.central import Grid
    from privet.bench.results import Results
    from privet.bench.runner import OnDone


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "bench", "set methods side by side on networks with known graphs")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    central = command(
        actions, "central", "every central method, beside graphs that cost nothing and plain pc"
    )
    for option, example in (
        ("--networks", "cancer,asia"), ("--epsilons", "0.1,1"), ("--methods", "em-pc,curate"),
    ):  # fmt: skip
        central.add_argument(option, metavar="A,B,...", help=f"such as {example}")
    central.add_argument("--delta", type=float, default=1e-6, metavar="D", help="default 1e-6")
    central.add_argument("--runs", type=int, default=10, metavar="N", help="default 10")
    central.add_argument("--rows", type=int, default=100_000, metavar="N", help="default 100000")
    central.add_argument(
        "--as-published", action="store_true",
        help="also each method with the noise of its paper, which is not private",
    )  # fmt: skip
    central.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, metavar="N",
        help="how many runs at once (default: one per core)",
    )  # fmt: skip
    central.add_argument(
        "--output", required=True, metavar="DIR",
        help="for runs.jsonl, central.md and central.svg; runs that are there are not done again",
    )  # fmt: skip
    central.add_argument("--quiet", action="store_true", help="print nothing but errors")
    central.set_defaults(run=run_central)


def run_central(args: argparse.Namespace) -> None:
    from privet.bench import central

    if args.processes < 1:
        raise MethodError(
            f"--processes is {args.processes}; give how many runs to do at once, at least 1"
        )
    grid = _grid(args)
    with _progress(args) as on_done:
        found = central.run(grid, args.output, processes=args.processes, on_done=on_done)
    files = central.publish(grid, found, args.output)
    if not args.quiet:
        _print(grid, found)
        for path in files:
            console().print(printable(path), soft_wrap=True)


def _grid(args: argparse.Namespace) -> Grid:
    from privet.bench import central

    return central.Grid(
        networks=_list(args.networks) or central.NETWORKS,
        epsilons=tuple(map(_number, _list(args.epsilons))) or central.EPSILONS,
        methods=_list(args.methods) or central.known_methods(),
        runs=args.runs,
        rows=args.rows,
        delta=args.delta,
        as_published=args.as_published,
    )


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MethodError(
            f"--epsilons has {text!r}, which is not a number; write them like 0.1,1,5"
        ) from None


@contextmanager
def _progress(args: argparse.Namespace) -> Iterator[OnDone]:
    """A bar on standard error, if somebody is watching."""
    if args.quiet or not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left"), TimeRemainingColumn(), console=console(stderr=True), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("runs", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(grid: Grid, found: Results) -> None:
    """Mean skeleton F1; the rest is in the files."""
    from privet.bench.central import FREE
    from privet.bench.results import average, where

    out = console()
    numbers = tuple(f"{epsilon:g}" for epsilon in grid.epsilons)
    for network in grid.networks:
        made = table(network, *numbers, "no ε", right=(*numbers, "no ε"))
        for method in (*grid.private, *grid.open, *FREE):
            cells = []
            for epsilon in (*grid.epsilons, None):
                runs = where(found, network, method, epsilon)
                mean = average(runs, lambda result: result.skeleton_f1)
                cells.append(f"{mean.mean:.2f}" if mean else "refused" if runs else "")
            rows(made, (method, *cells))
        out.print(made)
    out.print("Mean skeleton F1 by epsilon; what is as published is not private.")
