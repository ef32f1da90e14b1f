"""``privet plan``: what could be seen, from public facts alone."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from privet.commands.show import Subparsers, add_json, command, console, print_json, rows, table
from privet.errors import BudgetError, DataError, MethodError

if TYPE_CHECKING:
    from privet.schema import Schema


FIGURES = ("typical", "best", "worst")


def add(parsers: Subparsers) -> None:
    parser = command(
        parsers, "plan", "say which effects a budget can detect; looks at no data, costs nothing"
    )
    parser.add_argument("schema", metavar="SCHEMA", help="schema file (TOML)")
    parser.add_argument(
        "--rows", type=int, metavar="N", help="about how many rows the table has (a public guess)"
    )
    parser.add_argument("--epsilon", type=float, required=True, metavar="E")
    parser.add_argument("--delta", type=float, default=1e-6, metavar="D", help="default 1e-6")
    parser.add_argument(
        "--effect", type=float, metavar="V",
        help="also say which epsilon would detect an effect of this size (between 0 and 1)",
    )  # fmt: skip
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.evidence.plan import plan
    from privet.front import read_schema

    schema = read_schema(args.schema)
    size = _rows(schema, args.rows)
    made = plan(schema, size, args.epsilon, args.delta)
    needed, problem = _needed(schema, size, args)
    if args.json:
        lines = [
            {key: None if key in FIGURES and value > 1 else value for key, value in line.items()}
            for line in asdict(made)["lines"]
        ]
        print_json({**asdict(made), "lines": lines, "epsilon_for_effect": needed})
        return
    figures = ("typical pair", "best pair", "worst pair")
    out = table("given", "effect", *figures, right=figures)
    for line in made.lines:
        given = "nothing" if line.order == 0 else f"{line.order} column(s)"
        rows(out, (given, line.what, *map(_size, (line.typical, line.best, line.worst))))
    con = console()
    con.print(
        f"Smallest effect that {made.method} finds in 8 of 10 runs, with {size} rows at epsilon "
        f"{args.epsilon:g}, delta {args.delta:g}:",
        soft_wrap=True,
    )
    con.print(out)
    if needed is not None:
        con.print(f"An effect of {args.effect:g} in a typical pair needs epsilon {needed:.3g}.")
    elif problem:
        con.print(problem[0].upper() + problem[1:] + ".")


def _rows(schema: Schema, given: int | None) -> int:
    found = schema.rows if given is None else given
    if found is None:
        raise DataError(
            "how many rows the table has is not said; give --rows with a public guess, such as "
            "--rows 10000"
        )
    if found < 1:
        raise DataError(f"--rows is {found}; give a whole number of at least 1")
    return found


def _needed(schema: Schema, size: int, args: argparse.Namespace) -> tuple[float | None, str]:
    """The epsilon that the wanted effect needs, or why there is none."""
    from privet.evidence.plan import epsilon_for

    if args.effect is None:
        return None, ""
    if not 0 < args.effect < 1:
        raise MethodError(f"--effect is {args.effect!r}; give a size between 0 and 1, such as 0.1")
    try:
        return epsilon_for(schema, size, args.delta, args.effect), ""
    except BudgetError as error:
        return None, str(error)


def _size(value: float) -> str:
    return f"{value:.3f}" if value < 1 else "none"
