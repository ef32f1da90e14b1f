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
    from privet.evidence.plan import PlanLine, Reading
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
    parser.add_argument(
        "--sites", type=int, metavar="D", help="so many sites, with N rows each, each with noise"
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
    foreign = {"people": args.people}
    if args.local:
        foreign = {"rows": args.rows, "delta": args.delta, "sites": args.sites}
    for option, value in foreign.items():
        if value is not None:
            with_it = "was given with --local" if args.local else "is for --local only"
            fix = "there it is --people N and delta is 0" if args.local else "give --rows N"
            raise MethodError(f"--{option} {value} {with_it}; leave it away: {fix}")
    if args.local:
        _local(schema, args)
    elif args.sites is not None:
        _sites(schema, args)
    else:
        _central(schema, args)


def _sites(schema: Schema, args: argparse.Namespace) -> None:
    """What several sites see apart, beside one of them alone and all rows in one place."""
    from privet.methods.plan import common_to, plan_sites

    delta, size = _delta(schema, args), _rows(schema, args.rows)
    made = plan_sites(schema, size, args.epsilon, delta, sites=args.sites)
    needed, problem = _needed(schema, size, args.effect, delta, common_to(args.sites))
    print_warnings(made.warnings)
    known = {key: _shown(value) for key, value in asdict(made).items()}
    if args.json:
        print_json({**known, "epsilon_for_effect": needed})
        return
    ways = {
        "one site alone": made.alone,
        "apart, one effect": made.common,
        "apart, own effects": made.own,
        "one place": made.central,
        **({} if made.together is None else {"together": made.together}),
    }
    out = table("given", "effect", *ways, right=tuple(ways))
    for lines in zip(*ways.values(), strict=True):
        rows(out, (_given(lines[0]), lines[0].what, *(_size(line.typical) for line in lines)))
    con = console()
    con.print(
        f"Smallest effect in a typical pair that {made.method} finds in 8 of 10 runs, with {size} "
        f"rows at each of {made.sites} sites, each at epsilon {args.epsilon:g}, delta {delta:g}. "
        f"Apart: each site adds noise of its own; one effect is common to all sites, own effects "
        f"have this size at each site but may differ in direction. One place: all rows in one "
        f"hand, to compare with."
    )
    con.print(out)
    if made.together is not None:
        con.print(
            f"Together (sites that share one noise, {made.noise_factor:.3g} times as large in "
            f"variance as in one place, against {made.colluders} of them): `privet federate lock`. "
            f"It is right for sites that are samples of one population."
        )
    _print_needed(args, needed, problem)


def _delta(schema: Schema, args: argparse.Namespace) -> float:
    from privet.api.checks import check_budget_options
    from privet.api.methods import best_delta

    check_budget_options(args.epsilon, args.delta, True)
    if args.delta is not None:
        return float(args.delta)
    return best_delta(["auto"], schema, args.epsilon, None)


def _shown(value: Any) -> Any:
    """Lines of a plan as JSON, in which an effect that does not show is null."""
    if not isinstance(value, tuple):
        return value
    return [
        {key: None if key in FIGURES and figure > 1 else figure for key, figure in line.items()}
        if isinstance(line, dict)
        else line
        for line in value
    ]


def _given(line: PlanLine) -> str:
    return "nothing" if line.order == 0 else f"{line.order} column(s)"


def _print_needed(args: argparse.Namespace, needed: float | None, problem: str) -> None:
    if needed is not None:
        text = f"An effect of {args.effect:g} in a typical pair needs epsilon {needed:.3g}."
        console().print(text)
    elif problem:
        console().print(problem[0].upper() + problem[1:] + ".")


def _central(schema: Schema, args: argparse.Namespace) -> None:
    from privet.methods.plan import plan

    delta, size = _delta(schema, args), _rows(schema, args.rows)
    made = plan(schema, size, args.epsilon, delta)
    needed, problem = _needed(schema, size, args.effect, delta)
    print_warnings(made.warnings)
    if args.json:
        known = {key: _shown(value) for key, value in asdict(made).items()}
        print_json({**known, "epsilon_for_effect": needed})
        return
    figures = ("typical pair", "best pair", "worst pair")
    out = table("given", "effect", *figures, right=figures)
    for line in made.lines:
        rows(out, (_given(line), line.what, *map(_size, (line.typical, line.best, line.worst))))
    con = console()
    con.print(
        f"Smallest effect that {made.method} finds in 8 of 10 runs, with {size} rows at epsilon "
        f"{args.epsilon:g}, delta {delta:g}:"
    )
    con.print(out)
    _print_needed(args, needed, problem)


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
    schema: Schema, size: int, effect: float | None, delta: float, reading: Reading | None = None
) -> tuple[float | None, str]:
    """The epsilon that the wanted effect needs, or why there is none."""
    from privet.evidence.plan import ALONE
    from privet.methods.plan import epsilon_for

    if effect is None:
        return None, ""
    if not 0 < effect < 1:
        raise MethodError(f"--effect is {effect!r}; give a size between 0 and 1, such as 0.1")
    try:
        return epsilon_for(schema, size, delta, effect, reading=reading or ALONE), ""
    except BudgetError as error:
        return None, str(error)


def _size(value: float) -> str:
    return f"{value:.3f}" if value < 1 else "none"
