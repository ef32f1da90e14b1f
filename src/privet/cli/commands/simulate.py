"""``privet simulate``: rows from a known model, with their schema and the truth."""

from __future__ import annotations

import argparse
import re

from privet.cli.show import Subparsers, command
from privet.errors import DataError

RANDOM_ONLY = ("nodes", "density", "levels", "gaussian")


def add(parsers: Subparsers) -> None:
    parser = command(parsers, "simulate", "draw rows from a benchmark network or a random one")
    parser.add_argument("name", metavar="NAME", help="a network (asia, sachs, ...) or `random`")
    parser.add_argument("--rows", type=int, required=True, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="FILE.csv or FILE.parquet; FILE.schema.toml and FILE.truth.json are written beside "
        "it; with --sites, a folder",
    )
    add_sites(parser)
    parser.add_argument("--force", action="store_true", help="replace the files if they exist")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    random = parser.add_argument_group("only for `random`")
    random.add_argument("--nodes", type=int, metavar="P", help="number of columns (default 10)")
    random.add_argument(
        "--density", type=float, metavar="SHARE", help="share of the pairs joined (default 0.2)"
    )
    random.add_argument("--levels", metavar="A-B", help="levels per column (default 2-5)")
    random.add_argument(
        "--gaussian", action="store_const", const=True, help="linear-Gaussian numbers"
    )
    parser.set_defaults(run=run)


def add_sites(parser: argparse.ArgumentParser, default: int | None = None) -> None:
    parser.add_argument(
        "--sites", type=int, default=default, metavar="D", help="so many tables of N rows each"
    )
    parser.add_argument(
        "--differ",
        default="none",
        metavar="HOW",
        help="how sites differ: none; root (one root leans); tilt (all roots lean together); all "
        "(every mechanism)",
    )


def run(args: argparse.Namespace) -> None:
    from privet.networks.simulate import simulate, simulate_random

    common = {"rows": args.rows, "seed": args.seed, "output": args.output, "force": args.force}
    common |= {"sites": args.sites, "differ": args.differ}
    if args.name == "random":
        files = simulate_random(
            nodes=10 if args.nodes is None else args.nodes,
            density=0.2 if args.density is None else args.density,
            levels=_levels(args.levels),
            gaussian=bool(args.gaussian),
            **common,
        )
    else:
        _check_network(args)
        files = simulate(args.name, **common)
    if not args.quiet:
        data = "\n        ".join(map(str, files.sites or (files.data,)))
        print(f"rows    {data}\nschema  {files.schema}\ntruth   {files.truth}")


def _check_network(args: argparse.Namespace) -> None:
    from privet.networks import available

    for option in RANDOM_ONLY:
        if getattr(args, option) is not None:
            raise DataError(
                f"--{option} is only for random models, but {args.name!r} was asked for; leave "
                f"it away, or simulate `random`"
            )
    if args.name not in available():
        from privet.schema.column import did_you_mean

        names = (*available(), "random")
        raise DataError(
            f"there is no network {args.name!r}{did_you_mean(args.name, names)}; "
            f"choose one of {', '.join(names)}"
        )


def _levels(text: str | None) -> tuple[int, int]:
    if text is None:
        return 2, 5
    found = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text)
    if not found:
        raise DataError(f"--levels is {text!r}; write a number such as 3, or a range such as 2-5")
    return int(found[1]), int(found[2] or found[1])
