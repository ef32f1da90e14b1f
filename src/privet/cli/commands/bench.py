"""``privet bench``: methods side by side where the truth is known."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from privet.cli.progress import progress
from privet.cli.show import Subparsers, command, console, printable, rows, table
from privet.errors import MethodError

if TYPE_CHECKING:
    from privet.bench.central import Grid
    from privet.bench.results import Results
    from privet.bench.runner import OnDone


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "bench", "set methods side by side where the truth is known")
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    central = command(
        actions, "central", "every central method, beside graphs that cost nothing and plain pc"
    )
    for option, example in (
        ("--networks", "cancer,asia"),
        ("--epsilons", "0.1,1"),
        ("--methods", "em-pc,curate"),
    ):
        central.add_argument(option, metavar="A,B,...", help=f"such as {example}")
    central.add_argument("--delta", type=float, default=1e-6, metavar="D", help="default 1e-6")
    central.add_argument("--runs", type=int, default=10, metavar="N", help="default 10")
    central.add_argument("--rows", type=int, default=100_000, metavar="N", help="default 100000")
    central.add_argument(
        "--as-published",
        action="store_true",
        help="also each method with the noise of its paper, which is not private",
    )
    _add_common(central)
    central.set_defaults(run=run_central)
    _add_pairs(actions)
    _add_local(actions)
    _add_federated(actions)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--processes",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many runs at once (default: one per core)",
    )
    parser.add_argument(
        "--output",
        required=True,
        metavar="DIR",
        help="for runs.jsonl, tables and pictures; runs that are there are not done again",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def _add_pairs(actions: Subparsers) -> None:
    pairs = command(actions, "pairs", "every way to tell a cause from its effect, on known pairs")
    for option, example in (
        ("--methods", "table-collisions,anm"),
        ("--epsilons", "0.5,1"),
        ("--rows", "500,2000"),
    ):
        pairs.add_argument(option, metavar="A,B,...", help=f"such as {example}")
    pairs.add_argument("--delta", type=float, default=0.0, metavar="D", help="default 0")
    pairs.add_argument("--pairs", type=int, default=150, metavar="N", help="default 150")
    pairs.add_argument("--runs", type=int, default=1, metavar="N", help="default 1")
    pairs.add_argument(
        "--tuebingen", metavar="DIR", help="also the pairs of `privet datasets fetch tuebingen`"
    )
    _add_common(pairs)
    pairs.set_defaults(run=run_pairs)


def _add_local(actions: Subparsers) -> None:
    local = command(
        actions, "local", "reports that devices have randomised: published ways and protocols"
    )
    local.add_argument(
        "--data",
        metavar="DIR",
        help="where `privet datasets fetch` has put sachs-cytometry, galton and tuebingen",
    )
    for option, example in (
        ("--sources", "synth10,synth5 or none"),
        ("--successes", "0.1,0.5"),
        ("--paper-epsilons", "4,20"),
        ("--searches", "pc,mmhc"),
        ("--networks", "cancer,asia or none"),
        ("--epsilons", "1,4"),
        ("--protocols", "planned-block,parity"),
    ):
        local.add_argument(option, metavar="A,B,...", help=f"such as {example}")
    local.add_argument("--runs", type=int, default=5, metavar="N", help="default 5")
    local.add_argument("--rows", type=int, default=100_000, metavar="N", help="default 100000")
    _add_common(local)
    local.set_defaults(run=run_local)


def _add_federated(actions: Subparsers) -> None:
    parser = command(
        actions, "federated", "one graph from several sites: PERI, its rivals and our own ways"
    )
    for option, example in (
        ("--tables", "synthetic,unlike,many,noise,cytometry,private"),
        ("--columns", "5,10"),
        ("--sites", "3,5"),
        ("--shares", "0.2,1"),
        ("--noises", "1,10"),
        ("--networks", "asia,sachs"),
        ("--differ", "none,all"),
    ):
        parser.add_argument(option, metavar="A,B,...", help=f"such as {example}")
    for option, usual, what in (
        ("--rows", 5000, "of each site, on random graphs"),
        ("--many", 100, "sites of asia and waste"),
        ("--many-rows", 1000, "of each of these"),
        ("--many-runs", 3, "with so many sites"),
        ("--private-sites", 5, "with privacy"),
        ("--private-rows", 20_000, "of each of these"),
        ("--runs", 5, "of everything else"),
    ):
        parser.add_argument(option, type=int, default=usual, metavar="N", help=f"{what} ({usual})")
    parser.add_argument("--epsilon", type=float, default=1.0, metavar="E", help="of a site (1)")
    parser.add_argument(
        "--sachs", metavar="DIR", help="where `privet datasets fetch` has put sachs-cytometry"
    )
    _add_common(parser)
    parser.set_defaults(run=run_federated)


def run_federated(args: argparse.Namespace) -> None:
    from privet.bench import federated

    _check_processes(args)
    usual = federated.Grid
    grid = usual(
        tables=_list(args.tables, usual.tables),
        columns=_wholes("--columns", args.columns, usual.columns),
        sites=_wholes("--sites", args.sites, usual.sites),
        rows=args.rows,
        many=args.many,
        many_rows=args.many_rows,
        many_runs=args.many_runs,
        shares=_numbers("--shares", args.shares, usual.shares),
        noises=_numbers("--noises", args.noises, usual.noises),
        networks=_list(args.networks, usual.networks),
        differ=_list(args.differ, usual.differ),
        private_sites=args.private_sites,
        private_rows=args.private_rows,
        epsilon=args.epsilon,
        runs=args.runs,
        folder=args.sachs,
    )
    with _progress(args) as on_done:
        found = federated.run(grid, args.output, processes=args.processes, on_done=on_done)
    _print_files(args, federated.publish(grid, found, args.output))


def _wholes(option: str, text: str | None, usual: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(number) for number in _numbers(option, text, usual))


def run_local(args: argparse.Namespace) -> None:
    from privet.bench import local

    _check_processes(args)
    usual = local.Grid
    grid = usual(
        folder=args.data,
        sources=None if args.sources is None else _or_none(args.sources),
        networks=usual.networks if args.networks is None else _or_none(args.networks),
        successes=_numbers("--successes", args.successes, usual.successes),
        paper_epsilons=_numbers("--paper-epsilons", args.paper_epsilons, usual.paper_epsilons),
        searches=_list(args.searches, usual.searches),
        epsilons=_numbers("--epsilons", args.epsilons, usual.epsilons),
        protocols=_list(args.protocols, usual.protocols),
        runs=args.runs,
        rows=args.rows,
    )
    with _progress(args) as on_done:
        found = local.run(grid, args.output, processes=args.processes, on_done=on_done)
    _print_files(args, local.publish(grid, found, args.output))


def _or_none(text: str) -> tuple[str, ...]:
    return () if text.strip() == "none" else _list(text)


def run_pairs(args: argparse.Namespace) -> None:
    from privet.bench import pairs
    from privet.pairs.way import way_named

    _check_processes(args)
    for method in _list(args.methods):
        way_named(method)
    grid = pairs.Grid(
        methods=_list(args.methods, pairs.METHODS),
        epsilons=_numbers("--epsilons", args.epsilons, pairs.EPSILONS),
        rows=tuple(int(n) for n in _numbers("--rows", args.rows, pairs.ROWS)),
        pairs=args.pairs,
        runs=args.runs,
        delta=args.delta,
        folder=args.tuebingen,
    )
    with _progress(args) as on_done:
        found = pairs.run(grid, args.output, processes=args.processes, on_done=on_done)
    _print_files(args, pairs.publish(grid, found, args.output))


def _print_files(args: argparse.Namespace, files: Sequence[Path]) -> None:
    for path in () if args.quiet else files:
        console().print(printable(path), soft_wrap=True)


def _check_processes(args: argparse.Namespace) -> None:
    if args.processes < 1:
        raise MethodError(
            f"--processes is {args.processes}; give how many runs to do at once, at least 1"
        )


def run_central(args: argparse.Namespace) -> None:
    from privet.bench import central

    _check_processes(args)
    grid = _grid(args)
    with _progress(args) as on_done:
        found = central.run(grid, args.output, processes=args.processes, on_done=on_done)
    files = central.publish(grid, found, args.output)
    if not args.quiet:
        _print(grid, found)
    _print_files(args, files)


def _grid(args: argparse.Namespace) -> Grid:
    from privet.bench import central

    return central.Grid(
        networks=_list(args.networks, central.NETWORKS),
        epsilons=_numbers("--epsilons", args.epsilons, central.EPSILONS),
        methods=_list(args.methods, central.known_methods()),
        runs=args.runs,
        rows=args.rows,
        delta=args.delta,
        as_published=args.as_published,
    )


def _list(text: str | None, usual: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The parts of A,B,...; the usual ones if nothing is named."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip()) or usual


def _numbers(option: str, text: str | None, usual: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(_number(option, part) for part in _list(text)) or tuple(usual)


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MethodError(
            f"{option} has {text!r}, which is not a number; write them like 1,5,10"
        ) from None


@contextmanager
def _progress(args: argparse.Namespace) -> Iterator[OnDone]:
    with progress(args) as on_step:
        yield lambda done, total: on_step(f"{done} of {total} runs", done / max(total, 1))


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
