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
    from privet.evidence.plan import Plan, PlanLine
    from privet.schema.model import Schema


FIGURES = ("typical", "best", "worst")
MOST_PAIRS = 10  # that are named
CRAMER = "Cramér's V"


def add(parsers: Subparsers) -> None:
    parser = command(
        parsers, "plan", "say which effects a budget can detect; looks at no data, costs nothing"
    )
    parser.add_argument("schema", metavar="SCHEMA", help="schema file (TOML)")
    parser.add_argument(
        "--rows", type=int, metavar="N", help="about how many rows the table has (a public guess)"
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        metavar="E",
        help="smaller is more private; not with --effect alone",
    )
    parser.add_argument(
        "--margins",
        metavar="GUESS",
        help="how common levels are where the schema has no shares: even, or uneven (even)",
    )
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
    parser.add_argument("--delta", type=float, metavar="D", help="the largest allowed; 1e-6")
    parser.add_argument(
        "--effect",
        type=float,
        metavar="V",
        help="say which epsilon (with --local, how many people) would detect an effect of this "
        "size (between 0 and 1)",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    from privet.api.checks import read_schema

    schema = read_schema(args.schema)
    foreign = {"people": args.people}
    if args.local:
        given = ("rows", "delta", "sites", "margins")
        foreign = {name: getattr(args, name) for name in given}
    for option, value in foreign.items():
        if value is not None:
            with_it = "was given with --local" if args.local else "is for --local only"
            fix = "there it is --people N and delta is 0" if args.local else "give --rows N"
            raise MethodError(f"--{option} {value} {with_it}; leave it away: {fix}")
    if args.epsilon is None and (args.local or args.effect is None):
        raise BudgetError(
            "no epsilon was given; add --epsilon 1 to see what it shows"
            + ("" if args.local else ", or --effect 0.1 to see which epsilon that needs")
        )
    if args.local:
        _local(schema, args)
    elif args.epsilon is None:
        _wanted(schema, args)
    elif args.sites is not None:
        _sites(schema, args)
    else:
        _central(schema, args)


def _wanted(schema: Schema, args: argparse.Namespace) -> None:
    """Which epsilon an effect needs, where none is named."""
    from privet.api.methods import best_delta
    from privet.methods.method import USUAL_DELTA

    size = _rows(schema, args.rows)
    most = USUAL_DELTA if args.delta is None else args.delta
    needed, problem = _needed(schema, size, most, args)
    delta = most if needed is None else best_delta(["auto"], schema, needed, None, most)
    if args.json:
        print_json({"rows": size, "delta": delta, "epsilon_for_effect": needed})
        return
    _print_needed(args, needed, problem, f", with {size} rows and delta {delta:g}")


def _sites(schema: Schema, args: argparse.Namespace) -> None:
    """What several sites see apart, beside one of them alone and all rows in one place."""
    from privet.methods.plan import plan_sites

    delta, size = _delta(schema, args), _rows(schema, args.rows)
    made = plan_sites(
        schema, size, args.epsilon, delta, sites=args.sites, margins=args.margins or "even"
    )
    needed, problem = _needed(schema, size, delta, args)
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
    return best_delta(["auto"], schema, args.epsilon, None, args.delta)


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


def _print_needed(
    args: argparse.Namespace, needed: float | None, problem: str, more: str = ""
) -> None:
    if needed is not None:
        text = f"An effect of {args.effect:g} in a typical pair needs epsilon {needed:.3g}{more}."
        console().print(text)
    elif problem:
        console().print(problem[0].upper() + problem[1:] + ".")


def _central(schema: Schema, args: argparse.Namespace) -> None:
    from privet.methods.plan import plan

    delta, size = _delta(schema, args), _rows(schema, args.rows)
    made = plan(schema, size, args.epsilon, delta, margins=args.margins or "even")
    needed, problem = _needed(schema, size, delta, args)
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
    _print_margins(schema, args, made)
    _print_needed(args, needed, problem)


def _print_margins(schema: Schema, args: argparse.Namespace, made: Plan) -> None:
    """What the plan rests on, and the pairs that it has little hope for."""
    from privet.evidence.plan import STRONG
    from privet.methods.plan import few_rows, plan

    con = console()
    guessed = [column for column in schema.columns if not column.shares]
    if made.lines[0].what == CRAMER and made.margins == "even" and guessed:
        other = plan(schema, made.rows, made.epsilon, made.delta, margins="uneven").lines[0]
        con.print(
            f"Levels are taken to be equally common. If some are rare, a typical pair shows "
            f"{_size(other.typical)}, given nothing (--margins uneven). What you know better can "
            "be declared as shares in the schema.",
        )
    if made.invisible and not few_rows(schema, made.invisible, "", made.epsilon):
        shown = ", ".join(f"{a} and {b}" for a, b in made.invisible[:MOST_PAIRS])
        more = len(made.invisible) - MOST_PAIRS
        con.print(
            printable(
                f"Not even a strong effect ({STRONG:g}) would show in {len(made.invisible)} pairs: "
                f"{shown}{f' and {more} more' if more > 0 else ''}. Merge levels, leave columns "
                "out, or spend more."
            ),
        )


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


_SHORT = {CRAMER: "V", "correlation": "r"}


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
    schema: Schema, size: int, delta: float, args: argparse.Namespace
) -> tuple[float | None, str]:
    """The epsilon that the wanted effect needs, or why there is none."""
    from privet.evidence.plan import ALONE
    from privet.methods.plan import common_to, epsilon_for

    effect = args.effect
    reading = ALONE if args.sites is None else common_to(args.sites)
    if effect is None:
        return None, ""
    if not 0 < effect < 1:
        raise MethodError(f"--effect is {effect!r}; give a size between 0 and 1, such as 0.1")
    try:
        found = epsilon_for(
            schema, size, delta, effect, reading=reading, margins=args.margins or "even"
        )
        return found, ""
    except BudgetError as error:
        return None, error.in_shell


def _size(value: float) -> str:
    return f"{value:.3f}" if value < 1 else "none"
