"""``privet plan``: what could be seen, from public facts alone."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from privet.cli.show import (
    Subparsers,
    about,
    add_json,
    command,
    console,
    print_json,
    print_warnings,
    printable,
    rows,
    table,
)
from privet.errors import BudgetError, DataError, MethodError

if TYPE_CHECKING:
    from privet.schema.model import Schema


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
    parser.add_argument(
        "--local",
        action="store_true",
        help="nobody is trusted with rows: say what randomised reports would tell, by protocol",
    )
    parser.add_argument(
        "--people", type=int, metavar="N", help="with --local: how many people would report"
    )
    parser.add_argument("--delta", type=float, metavar="D", help="1e-6; 0 where that shows more")
    parser.add_argument(
        "--effect",
        type=float,
        metavar="V",
        help="also say which epsilon (with --local, how many people) would detect an effect of "
        "this size (between 0 and 1)",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.api.checks import read_schema

    schema = read_schema(args.schema)
    foreign = {"rows": args.rows, "delta": args.delta} if args.local else {"people": args.people}
    for option, value in foreign.items():
        if value is not None:
            with_it = "was given with --local" if args.local else "is for --local only"
            fix = "there it is --people N and delta is 0" if args.local else "give --rows N"
            raise MethodError(f"--{option} {value} {with_it}; leave it away: {fix}")
    if args.local:
        _local(schema, args)
    else:
        _central(schema, args)


def _central(schema: Schema, args: argparse.Namespace) -> None:
    from privet.api.checks import check_budget_options
    from privet.api.methods import best_delta
    from privet.methods.plan import plan

    check_budget_options(args.epsilon, args.delta, True)
    delta = args.delta
    if delta is None:
        delta = best_delta(["auto"], schema, args.epsilon, None)
    size = _rows(schema, args.rows)
    made = plan(schema, size, args.epsilon, delta)
    needed, problem = _needed(schema, size, args.effect, delta)
    print_warnings(made.warnings)
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
        f"{args.epsilon:g}, delta {delta:g}:"
    )
    con.print(out)
    if needed is not None:
        con.print(f"An effect of {args.effect:g} in a typical pair needs epsilon {needed:.3g}.")
    elif problem:
        con.print(problem[0].upper() + problem[1:] + ".")


def _local(schema: Schema, args: argparse.Namespace) -> None:
    """What reports would tell, protocol by protocol."""
    from privet.local.collector.plan import plan_local

    if args.people is None:
        raise DataError(
            "how many people would report is not said; give --people with a guess, such as "
            "--people 100000"
        )
    made = plan_local(schema, args.people, args.epsilon, effect=args.effect)
    if args.json:
        known = {**asdict(made), "lines": [_finite(asdict(line)) for line in made.lines]}
        print_json(known)
        return
    effect = "" if args.effect is None else f"people for {args.effect:g}"
    figures = ("worth", "people per one", "smallest effect", *([effect] if effect else []), "given")
    out = table("protocol", *figures, right=figures)
    for line in made.lines:
        if line.refused is None:
            needed = [about(line.people) if line.people else "none"] if effect else []
            seen = f"{line.effect:.3f} {_SHORT[line.what]}" if line.effect < 1 else "none"
            told = (about(line.worth), about(line.cost), seen, *needed, line.order)
            rows(out, (line.protocol, *told))
    con = console()
    con.print(
        f"What {made.people:,} people tell who send one report each, with epsilon "
        f"{made.epsilon:g}. Worth: as many people without noise would tell as much about a pair of "
        f"columns. Smallest effect: found in 8 of 10 runs, in a typical pair (V: Cramér's V, r: "
        f"correlation). Given: how many columns a test can condition on."
    )
    con.print(out)
    for line in made.lines:
        if line.refused is not None:
            con.print(f"Not {line.protocol}: {printable(line.refused)}.")
    con.print(f"`privet randomize --protocol auto` would use {made.best}.")


_SHORT = {"Cramér's V": "V", "correlation": "r"}


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in line.items()
    }


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


def _needed(
    schema: Schema, size: int, effect: float | None, delta: float
) -> tuple[float | None, str]:
    """The epsilon that the wanted effect needs, or why there is none."""
    from privet.methods.plan import epsilon_for

    if effect is None:
        return None, ""
    if not 0 < effect < 1:
        raise MethodError(f"--effect is {effect!r}; give a size between 0 and 1, such as 0.1")
    try:
        return epsilon_for(schema, size, delta, effect), ""
    except BudgetError as error:
        return None, str(error)


def _size(value: float) -> str:
    return f"{value:.3f}" if value < 1 else "none"
